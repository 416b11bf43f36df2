//! Where a new window is, and how large.

use winit::dpi::{LogicalSize, Size};
use winit::event_loop::ActiveEventLoop;

use crate::options::Cli;

/// The size of a first window: so many points, as panels are measured in, but no larger than a monitor shows.
pub(super) fn first_size(event_loop: &ActiveEventLoop) -> Size {
    let monitor = event_loop
        .primary_monitor()
        .or_else(|| event_loop.available_monitors().next());
    let room = monitor.map(|monitor| monitor.size().to_logical(monitor.scale_factor()));
    within(room).into()
}

/// [`Cli::SIZE`] in points, or what of it there is room for. A desk with bars makes room for them itself.
fn within(room: Option<LogicalSize<f64>>) -> LogicalSize<f64> {
    let (width, height) = (f64::from(Cli::SIZE.0), f64::from(Cli::SIZE.1));
    match room {
        Some(room) => LogicalSize::new(width.min(room.width), height.min(room.height)),
        None => LogicalSize::new(width, height),
    }
}

/// A place that was remembered may be on a monitor that is gone.
pub(super) fn is_on_a_monitor(event_loop: &ActiveEventLoop, (x, y): (i32, i32)) -> bool {
    event_loop.available_monitors().any(|monitor| {
        let (from, size) = (monitor.position(), monitor.size());
        let (width, height) = (size.width as i32, size.height as i32);
        (from.x..from.x.saturating_add(width)).contains(&x)
            && (from.y..from.y.saturating_add(height)).contains(&y)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_window_is_as_large_as_its_panels_need_and_the_monitor_allows() {
        let usual = LogicalSize::new(1280.0, 720.0);
        assert_eq!(within(None), usual);
        for monitor in [LogicalSize::new(1920.0, 1080.0), usual] {
            assert_eq!(within(Some(monitor)), usual);
        }
        let small = LogicalSize::new(1000.0, 500.0);
        assert_eq!(within(Some(small)), small);
    }
}
