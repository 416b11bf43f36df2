//! How often the display that shows the window shows a new picture, and whether it shows the window at all.
//!
//! A window that has moved to another display, or whose display has changed its mode, is noticed within a second.

use trantor_time::frame_budget::target_rate;
use trantor_time::{Rate, RealSpan, RealTime};
use winit::raw_window_handle::{HasWindowHandle as _, RawWindowHandle};
use winit::window::Window;
use x11rb::errors::ReplyError;
use x11rb::protocol::xproto::{ConnectionExt as _, MapState};
use x11rb::rust_connection::RustConnection;

/// How often the displays are asked.
const ASK_EVERY: RealSpan = RealSpan::from_secs(1);

/// Frames a second of a hidden window: they draw nothing, and sounds and events go on in time.
const HIDDEN_PER_SECOND: f64 = 10.0;

#[derive(Debug)]
pub(super) struct RefreshRate {
    /// On X11, to ask whether the window is mapped: winit does not tell.
    x11: Option<RustConnection>,
    asked_at: Option<RealTime>,
    rate: Rate,
    /// Whether other windows lie over all of it.
    is_covered: bool,
    /// Whether it is minimised, or on another desk.
    is_put_away: bool,
}

impl RefreshRate {
    /// Nothing asked yet; the target is that of displays that say nothing.
    pub(super) fn new() -> Self {
        Self {
            x11: x11rb::connect(None).ok().map(|(connection, _)| connection),
            asked_at: None,
            rate: target_rate([]),
            is_covered: false,
            is_put_away: false,
        }
    }

    /// Other windows lie over all of it, or no longer.
    pub(super) fn occluded(&mut self, is_covered: bool) {
        self.is_covered = is_covered;
        self.is_put_away &= is_covered;
    }

    /// Whether nothing of the window is seen.
    pub(super) fn is_hidden(&self) -> bool {
        self.is_covered || self.is_put_away
    }

    /// The rate to aim at while it is hidden.
    pub(super) fn hidden_rate(&self) -> Rate {
        Rate::per_second(HIDDEN_PER_SECOND).expect("it is a rate")
    }

    /// The rate to aim at, asked for anew when the last answer is old. Without a window, that of the last one.
    pub(super) fn follow(&mut self, window: Option<&Window>, now: RealTime) -> Rate {
        let Some(window) = window else { return self.rate };
        // One that is put away is looked for in each of its few frames, so that it is drawn as soon as it is back.
        if !self.is_put_away && self.asked_at.is_some_and(|at| now.since(at) < ASK_EVERY) {
            return self.rate;
        }
        self.asked_at = Some(now);
        let is_mapped = self.x11.as_ref().map_or(Ok(true), |x11| is_mapped(x11, window));
        self.is_put_away = !is_mapped.unwrap_or_else(|error| {
            log::warn!("the X server does not tell whether the window is mapped: {error}");
            self.x11 = None;
            true
        }) || window.is_minimized() == Some(true);
        // What winit knows of the window's own display may be older than its list. Of two displays that show the same the
        // faster one counts; where the system does not say which display it is, the fastest of all.
        let place = window.current_monitor().map(|display| display.position());
        let displays = window.available_monitors();
        let shown = displays.filter(|display| place.is_none_or(|place| display.position() == place));
        let rates = shown.filter_map(|display| display.refresh_rate_millihertz());
        self.rate = target_rate(rates.map(|millihertz| f64::from(millihertz) / 1e3));
        self.rate
    }
}

/// Whether the window and all that it lies in are on the screen. One that is none of X11's always is.
fn is_mapped(x11: &RustConnection, window: &Window) -> Result<bool, ReplyError> {
    let Some(RawWindowHandle::Xlib(handle)) = window.window_handle().ok().map(|handle| handle.as_raw())
    else {
        return Ok(true);
    };
    let id = u32::try_from(handle.window).unwrap_or_default();
    let attributes = x11.get_window_attributes(id)?.reply()?;
    Ok(attributes.map_state == MapState::VIEWABLE)
}
