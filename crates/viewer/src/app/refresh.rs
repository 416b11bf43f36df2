//! How often the displays show a new picture (R-002-16).
//!
//! On X11 the server is asked directly once a second, since winit keeps the values it found at its start. Elsewhere
//! winit is right, and is asked.

use trantor_runtime::frames::target_rate;
use trantor_time::{Rate, RealSpan, RealTime};
use winit::window::Window;
use x11rb::connection::Connection as _;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// How often the displays are asked.
const ASK_EVERY: RealSpan = RealSpan::from_secs(1);

/// Follows the displays.
#[derive(Debug)]
pub(super) struct RefreshRate {
    x11: Option<(RustConnection, u32)>,
    asked_at: Option<RealTime>,
    rate: Rate,
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
        }
    }

    /// The rate to aim at, asked for anew when the last answer is old. Without a window, that of the last one.
    pub(super) fn follow(&mut self, window: Option<&Window>, now: RealTime) -> Rate {
        let Some(window) = window else { return self.rate };
        if self.asked_at.is_some_and(|at| now.since(at) < ASK_EVERY) {
            return self.rate;
        }
        self.asked_at = Some(now);
        let rates = match &self.x11 {
            Some((connection, root)) => match ask_x11(connection, *root) {
                Ok(rates) => rates,
                Err(error) => {
                    log::warn!("the X server does not tell refresh rates: {error}");
                    self.x11 = None;
                    Vec::new()
                }
            },
            None => window
                .available_monitors()
                .filter_map(|monitor| monitor.refresh_rate_millihertz())
                .map(|millihertz| f64::from(millihertz) / 1e3)
                .collect(),
        };
        self.rate = target_rate(rates);
        self.rate
    }
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
