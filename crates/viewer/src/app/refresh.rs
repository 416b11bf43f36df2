//! How often the display that shows the window shows a new picture, and whether it shows the window at all.
//!
//! On X11 the server is asked once a second for two things that winit does not report: whether the window is mapped, and the rates of
//! the displays now (winit keeps those that it found first). Elsewhere winit is right.

use trantor_time::frame_budget::target_rate;
use trantor_time::{Rate, RealSpan, RealTime};
use winit::monitor::MonitorHandle;
use winit::raw_window_handle::{HasWindowHandle as _, RawWindowHandle};
use winit::window::Window;
use x11rb::connection::Connection as _;
use x11rb::errors::ReplyError;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::protocol::xproto::{ConnectionExt as _, MapState};
use x11rb::rust_connection::RustConnection;

const ASK_EVERY: RealSpan = RealSpan::from_secs(1);

/// Frames a second of a hidden window: they draw nothing, and events stay in time.
pub(super) const HIDDEN_PER_SECOND: f64 = 10.0;

struct Display {
    /// On the desktop, in pixels.
    place: (i32, i32),
    hertz: f64,
}

#[derive(Debug)]
pub(super) struct RefreshRate {
    /// On X11, the connection and the screen.
    x11: Option<(RustConnection, usize)>,
    asked_at: Option<RealTime>,
    rate: Rate,
    /// Whether other windows lie over all of it.
    is_covered: bool,
    /// Whether it is minimised, or on another workspace.
    is_put_away: bool,
}

impl RefreshRate {
    /// Nothing asked yet; the target is the default rate.
    pub(super) fn new() -> Self {
        Self {
            x11: x11rb::connect(None).ok(),
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

    pub(super) fn is_hidden(&self) -> bool {
        self.is_covered || self.is_put_away
    }

    /// The rate to aim at, asked again when the last answer is old. Without a window, the last answer.
    pub(super) fn follow(&mut self, window: Option<&Window>, now: RealTime) -> Rate {
        let Some(window) = window else { return self.rate };
        // One that is put away is looked for in each of its few frames, so that it is drawn as soon as it is back.
        if !self.is_put_away && self.asked_at.is_some_and(|at| now.since(at) < ASK_EVERY) {
            return self.rate;
        }
        self.asked_at = Some(now);
        let asked = self.x11.as_ref().map(|(x11, screen)| {
            self.is_put_away = !is_mapped(x11, window)?;
            displays(x11, *screen)
        });
        let displays = match asked {
            Some(Ok(displays)) => displays,
            Some(Err(error)) => {
                log::warn!("the X server does not tell about displays: {error}");
                self.x11 = None;
                self.is_put_away = false;
                Vec::new()
            }
            None => {
                self.is_put_away = window.is_minimized() == Some(true);
                let display = |display: MonitorHandle| Display {
                    place: display.position().into(),
                    hertz: f64::from(display.refresh_rate_millihertz().unwrap_or_default()) / 1e3,
                };
                window.available_monitors().map(display).collect()
            }
        };
        // The display that shows most of the window. Of two that show the same the faster one counts; where the system does
        // not say which display it is, the fastest of all.
        let shows = window.current_monitor().map(|display| display.position().into());
        let is_there = |display: &Display| shows == Some(display.place);
        let is_known = displays.iter().any(is_there);
        let shown = displays.iter().filter(|display| !is_known || is_there(display));
        self.rate = target_rate(shown.map(|display| display.hertz));
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

fn displays(x11: &RustConnection, screen: usize) -> Result<Vec<Display>, ReplyError> {
    let root = x11.setup().roots[screen].root;
    let resources = x11.randr_get_screen_resources_current(root)?.reply()?;
    let mut displays = Vec::new();
    for &crtc in &resources.crtcs {
        let crtc = x11
            .randr_get_crtc_info(crtc, resources.config_timestamp)?
            .reply()?;
        if let Some(mode) = resources.modes.iter().find(|mode| mode.id == crtc.mode) {
            // Without dots it is no number, and no rate.
            let dots = f64::from(mode.htotal) * f64::from(mode.vtotal);
            displays.push(Display {
                place: (crtc.x.into(), crtc.y.into()),
                hertz: f64::from(mode.dot_clock) / dots,
            });
        }
    }
    Ok(displays)
}
