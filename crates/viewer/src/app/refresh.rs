//! How often the display that shows the window shows a new picture, and whether it shows the window at all.
//!
//! On X11 the server is asked directly once a second, since winit keeps the values it found at its start. Elsewhere
//! winit is right, and is asked. A window that has moved to another display is noticed within that second.

use trantor_time::frame_budget::target_rate;
use trantor_time::{Rate, RealSpan, RealTime};
use winit::monitor::MonitorHandle;
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

/// A rectangle of the desktop, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    left: i32,
    top: i32,
    width: i32,
    height: i32,
}

/// A display that is on: what it shows of the desktop, and how often, in hertz.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shown {
    area: Area,
    hertz: f64,
}

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
        self.rate = match &self.x11 {
            Some((connection, root)) => {
                let asked = ask_x11(connection, *root, x11_window(window)).and_then(|rate| {
                    self.is_put_away = !is_mapped(connection, window)?;
                    Ok(rate)
                });
                asked.unwrap_or_else(|error| {
                    log::warn!("the X server does not tell refresh rates: {error}");
                    self.x11 = None;
                    self.is_put_away = false;
                    target_rate([])
                })
            }
            None => {
                self.is_put_away = window.is_minimized() == Some(true);
                let rate = |monitor: MonitorHandle| monitor.refresh_rate_millihertz();
                let rates: Vec<u32> = match window.current_monitor().and_then(rate) {
                    Some(rate) => vec![rate],
                    None => window.available_monitors().filter_map(rate).collect(),
                };
                target_rate(rates.into_iter().map(|millihertz| f64::from(millihertz) / 1e3))
            }
        };
        self.rate
    }
}

/// Whether the window and all that it lies in are on the screen. One that is none of X11's always is.
fn is_mapped(connection: &RustConnection, window: &Window) -> Result<bool, x11rb::errors::ReplyError> {
    let Some(id) = x11_window(window) else {
        return Ok(true);
    };
    let attributes = connection.get_window_attributes(id)?.reply()?;
    Ok(attributes.map_state == MapState::VIEWABLE)
}

/// The window as X11 numbers it, if it is one of X11's.
fn x11_window(window: &Window) -> Option<u32> {
    match window.window_handle().ok()?.as_raw() {
        RawWindowHandle::Xlib(handle) => u32::try_from(handle.window).ok(),
        _ => None,
    }
}

/// The rate to aim at for `window`, as the X server knows it.
fn ask_x11(
    connection: &RustConnection,
    root: u32,
    window: Option<u32>,
) -> Result<Rate, x11rb::errors::ReplyError> {
    let displays = ask_displays(connection, root)?;
    let area = match window {
        Some(window) => {
            let size = connection.get_geometry(window)?.reply()?;
            // Window managers put it into windows of their own: its place within those says nothing.
            let place = connection.translate_coordinates(window, root, 0, 0)?.reply()?;
            Some(Area {
                left: place.dst_x.into(),
                top: place.dst_y.into(),
                width: size.width.into(),
                height: size.height.into(),
            })
        }
        None => None,
    };
    Ok(rate_of(area, &displays))
}

/// The rate to aim at for a window there: that of the display that shows most of it, the higher one of two that show the
/// same. Of a window that is on none, the highest of all.
fn rate_of(window: Option<Area>, displays: &[Shown]) -> Rate {
    let shown = |display: &Shown| window.map_or(0, |window| window.common_with(display.area));
    let most = displays.iter().map(shown).max().unwrap_or(0);
    target_rate(
        displays
            .iter()
            .filter(|display| shown(display) == most)
            .map(|display| display.hertz),
    )
}

impl Area {
    /// Pixels that are in both.
    fn common_with(self, other: Self) -> i64 {
        let along = |start: i32, length: i32, other_start: i32, other_length: i32| {
            let end = start
                .saturating_add(length)
                .min(other_start.saturating_add(other_length));
            i64::from(end.saturating_sub(start.max(other_start)).max(0))
        };
        along(self.left, self.width, other.left, other.width)
            * along(self.top, self.height, other.top, other.height)
    }
}

/// All displays that are on and say how often they show a picture.
fn ask_displays(connection: &RustConnection, root: u32) -> Result<Vec<Shown>, x11rb::errors::ReplyError> {
    let resources = connection.randr_get_screen_resources_current(root)?.reply()?;
    let mut displays = Vec::new();
    for &crtc in &resources.crtcs {
        let shown = connection
            .randr_get_crtc_info(crtc, resources.config_timestamp)?
            .reply()?;
        let mode = resources.modes.iter().find(|mode| mode.id == shown.mode);
        if let Some(mode) = mode {
            let dots = u32::from(mode.htotal) * u32::from(mode.vtotal);
            if dots > 0 && mode.dot_clock > 0 {
                displays.push(Shown {
                    area: Area {
                        left: shown.x.into(),
                        top: shown.y.into(),
                        width: shown.width.into(),
                        height: shown.height.into(),
                    },
                    hertz: f64::from(mode.dot_clock) / f64::from(dots),
                });
            }
        }
    }
    Ok(displays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_display_the_window_is_on() {
        let area = |left, top, width, height| Area {
            left,
            top,
            width,
            height,
        };
        let displays = [
            Shown {
                area: area(0, 0, 1920, 1080),
                hertz: 60.0,
            },
            Shown {
                area: area(1920, 0, 2560, 1440),
                hertz: 144.0,
            },
            // The same desktop on a projector.
            Shown {
                area: area(0, 0, 1920, 1080),
                hertz: 75.0,
            },
        ];
        let rate = |window| rate_of(window, &displays).as_per_second();
        assert_eq!(
            rate(Some(area(100, 100, 800, 600))),
            75.0,
            "not 144: another display"
        );
        assert_eq!(
            rate(Some(area(1300, 100, 800, 600))),
            75.0,
            "most of it is on the left"
        );
        assert_eq!(rate(Some(area(1700, 100, 800, 600))), 144.0);
        assert_eq!(rate(Some(area(9_000, 0, 800, 600))), 144.0, "on none");
        assert_eq!(rate(None), 144.0);
        assert_eq!(rate_of(None, &[]), target_rate([]));
    }
}
