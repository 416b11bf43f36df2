//! How often the displays show a new picture (R-002-16), and whether they show the window at all.
//!
//! On X11 the server is asked directly once a second, since winit keeps the values it found at its start. Elsewhere
//! winit is right, and is asked.

use trantor_runtime::frames::target_rate;
use trantor_time::{Rate, RealSpan, RealTime};
use winit::raw_window_handle::{HasWindowHandle as _, RawWindowHandle};
use winit::window::Window;
use x11rb::connection::Connection as _;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::protocol::xproto::{ConnectionExt as _, MapState};
use x11rb::rust_connection::RustConnection;

/// How often the displays are asked.
const ASK_EVERY: RealSpan = RealSpan::from_secs(1);

/// Frames a second of a window that nobody sees: they draw nothing, and sounds and news go on in time.
const HIDDEN_PER_SECOND: f64 = 10.0;

/// Follows the displays.
#[derive(Debug)]
pub(super) struct RefreshRate {
    x11: Option<(RustConnection, u32)>,
    asked_at: Option<RealTime>,
    rate: Rate,
    hidden_rate: Rate,
    /// Whether other windows lie over all of it, as the system tells.
    is_covered: bool,
    /// Whether it is minimised, or on another desk.
    is_put_away: bool,
}

impl RefreshRate {
    /// Nothing asked yet; the target is that of displays that say nothing.
    pub(super) fn new() -> Self {
        let x11 = x11rb::connect(None)
            .inspect_err(|error| log::debug!("no X11 to ask for refresh rates: {error}"))
            .ok()
            .map(|(connection, screen)| {
                let root = connection.setup().roots[screen].root;
                (connection, root)
            });
        Self {
            x11,
            asked_at: None,
            rate: target_rate([]),
            hidden_rate: Rate::per_second(HIDDEN_PER_SECOND).expect("it is a rate"),
            is_covered: false,
            is_put_away: false,
        }
    }

    /// The system tells that nothing of the window is seen, or that something is.
    pub(super) fn occluded(&mut self, is_covered: bool) {
        self.is_covered = is_covered;
        self.is_put_away &= is_covered;
    }

    /// Whether nobody can see the window.
    pub(super) fn is_hidden(&self) -> bool {
        self.is_covered || self.is_put_away
    }

    /// The rate to aim at while nobody can.
    pub(super) fn hidden_rate(&self) -> Rate {
        self.hidden_rate
    }

    /// The rate to aim at, asked for anew when the last answer is old. Without a window, that of the last one.
    pub(super) fn follow(&mut self, window: Option<&Window>, now: RealTime) -> Rate {
        let Some(window) = window else { return self.rate };
        // One that is put away is looked for in each of its few frames, so that it is drawn as soon as it is back.
        if !self.is_put_away && self.asked_at.is_some_and(|at| now.since(at) < ASK_EVERY) {
            return self.rate;
        }
        self.asked_at = Some(now);
        let rates = match &self.x11 {
            Some((connection, root)) => {
                let asked = ask_x11(connection, *root).and_then(|rates| {
                    self.is_put_away = !is_mapped(connection, window)?;
                    Ok(rates)
                });
                match asked {
                    Ok(rates) => rates,
                    Err(error) => {
                        log::warn!("the X server does not tell refresh rates: {error}");
                        self.x11 = None;
                        self.is_put_away = false;
                        Vec::new()
                    }
                }
            }
            None => {
                self.is_put_away = window.is_minimized() == Some(true);
                window
                    .available_monitors()
                    .filter_map(|monitor| monitor.refresh_rate_millihertz())
                    .map(|millihertz| f64::from(millihertz) / 1e3)
                    .collect()
            }
        };
        self.rate = target_rate(rates);
        self.rate
    }
}

/// Whether the window and all that it lies in are on the screen. One that is none of X11's always is.
fn is_mapped(connection: &RustConnection, window: &Window) -> Result<bool, x11rb::errors::ReplyError> {
    let Ok(RawWindowHandle::Xlib(handle)) = window.window_handle().map(|handle| handle.as_raw()) else {
        return Ok(true);
    };
    let Ok(id) = u32::try_from(handle.window) else {
        return Ok(true);
    };
    let attributes = connection.get_window_attributes(id)?.reply()?;
    Ok(attributes.map_state == MapState::VIEWABLE)
}

/// The rates of all displays that are on.
fn ask_x11(connection: &RustConnection, root: u32) -> Result<Vec<f64>, x11rb::errors::ReplyError> {
    let resources = connection.randr_get_screen_resources_current(root)?.reply()?;
    let mut rates = Vec::new();
    for &crtc in &resources.crtcs {
        let shown = connection
            .randr_get_crtc_info(crtc, resources.config_timestamp)?
            .reply()?;
        let mode = resources.modes.iter().find(|mode| mode.id == shown.mode);
        if let Some(mode) = mode {
            let dots = u32::from(mode.htotal) * u32::from(mode.vtotal);
            if dots > 0 && mode.dot_clock > 0 {
                rates.push(f64::from(mode.dot_clock) / f64::from(dots));
            }
        }
    }
    Ok(rates)
}
