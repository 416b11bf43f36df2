//! How the time between two frames is shared with events (R-002-19).
//!
//! Knows the target frequency and when the last frame began and ended; answers when the next one is due. It
//! neither draws nor waits: `trantor_runtime::frames` asks it, and R-X-24 lets any two kinds of work use it.

use crate::units::{NANOS, RealSpan, RealTime};

/// The share of an interval by which a frame may start late and still count as having started on time.
///
/// Without it the oversleep of every wait would add up and 60 Hz would become 59.8 (R-002-24). With the
/// whole interval, a loop that was overloaded would afterwards draw two frames at almost the same moment.
const LATENESS_FORGIVEN_DIVISOR: i64 = 4;

/// The fairness rule between frames and events.
///
/// With start `s`, end `e`, duration `d = e - s` and target frequency `f`, queued events may be handled until
/// the later of `s + 1/f` and `e + d/2`; with no event queued the next frame is due at `s + 1/f`. So neither
/// frames nor events fall below a third of the time, and frames keep to `f` where the machine can.
#[derive(Clone, Debug)]
pub struct FrameBudget {
    interval: RealSpan,
    last: Option<LastFrame>,
}

#[derive(Clone, Copy, Debug)]
struct LastFrame {
    /// `s` for the purpose of pacing: the instant the frame was due, where it began only a little later.
    paced_start: RealTime,
    /// When it really began.
    start: RealTime,
    /// When it ended; `None` while it is being made.
    end: Option<RealTime>,
}

impl FrameBudget {
    /// A budget for `millihertz` thousandths of a frame per second, the unit in which displays report.
    ///
    /// # Panics
    /// If `millihertz` is zero: a loop without frames needs no frame budget.
    pub fn new(millihertz: u32) -> Self {
        Self {
            interval: interval_of(millihertz),
            last: None,
        }
    }

    /// Changes the target, from the next question on; the frame already drawn counts as it was drawn.
    ///
    /// # Panics
    /// If `millihertz` is zero.
    pub fn set_millihertz(&mut self, millihertz: u32) {
        self.interval = interval_of(millihertz);
    }

    /// `1/f`, rounded up to a nanosecond.
    pub fn interval(&self) -> RealSpan {
        self.interval
    }

    /// A frame begins at `now`.
    pub fn begin(&mut self, now: RealTime) {
        let paced_start = match self.frame_target() {
            Some(target) => {
                let forgiven = RealSpan::from_nanos(self.interval.as_nanos() / LATENESS_FORGIVEN_DIVISOR);
                // Early only if the caller drew without being asked to; then it simply counts from there.
                target.max(now - forgiven).min(now)
            }
            None => now,
        };
        self.last = Some(LastFrame {
            paced_start,
            start: now,
            end: None,
        });
    }

    /// The frame that began last ends at `now`.
    ///
    /// # Panics
    /// If no frame was begun.
    pub fn end(&mut self, now: RealTime) {
        let last = self.last.as_mut().expect("a frame ends only after it began");
        last.end = Some(now.max(last.start));
    }

    /// `s + 1/f`: when the next frame is due if no event waits. `None` before the first frame, which is due at once.
    pub fn frame_target(&self) -> Option<RealTime> {
        self.last
            .map(|last| last.paced_start.saturating_add(self.interval))
    }

    /// The later of `s + 1/f` and `e + d/2`: when queued events must give way to the next frame.
    ///
    /// `None` before the first frame, which gives way to nothing.
    pub fn events_until(&self) -> Option<RealTime> {
        let last = self.last?;
        let target = last.paced_start.saturating_add(self.interval);
        let Some(end) = last.end else { return Some(target) };
        let duration_ns = end.since(last.start).as_nanos();
        let half = RealSpan::from_nanos(duration_ns / 2 + duration_ns % 2);
        Some(target.max(end.saturating_add(half)))
    }

    /// How long the last whole frame took; `None` until one has ended.
    pub fn last_duration(&self) -> Option<RealSpan> {
        self.last
            .and_then(|last| last.end.map(|end| end.since(last.start)))
    }
}

fn interval_of(millihertz: u32) -> RealSpan {
    assert!(millihertz > 0, "a target frequency is positive");
    let millihertz = i64::from(millihertz);
    RealSpan::from_nanos((NANOS * 1_000 + millihertz - 1) / millihertz)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn r_002_19_events_have_until_the_later_of_interval_and_half_the_duration() {
        let mut budget = FrameBudget::new(100_000); // 10 ms
        assert_eq!(budget.events_until(), None, "the first frame is due at once");
        budget.begin(ms(0));
        budget.end(ms(2));
        assert_eq!(budget.events_until(), Some(ms(10)), "short frame: s + 1/f");
        budget.begin(ms(10));
        budget.end(ms(40));
        assert_eq!(budget.frame_target(), Some(ms(20)));
        assert_eq!(budget.events_until(), Some(ms(55)), "long frame: e + d/2");
    }

    #[test]
    fn r_002_24_a_little_lateness_does_not_move_the_next_frame() {
        let mut budget = FrameBudget::new(100_000);
        budget.begin(ms(0));
        budget.end(ms(1));
        budget.begin(ms(12)); // 2 ms late, of 2.5 ms forgiven
        budget.end(ms(13));
        assert_eq!(budget.frame_target(), Some(ms(20)));
    }

    #[test]
    fn r_002_24_much_lateness_is_not_made_up_by_a_burst() {
        let mut budget = FrameBudget::new(100_000);
        budget.begin(ms(0));
        budget.end(ms(1));
        budget.begin(ms(1_000));
        budget.end(ms(1_001));
        assert_eq!(
            budget.frame_target(),
            Some(ms(1_010) - RealSpan::from_micros(2_500))
        );
    }

    #[test]
    fn the_interval_is_never_rounded_down() {
        assert_eq!(
            FrameBudget::new(60_000).interval(),
            RealSpan::from_nanos(16_666_667)
        );
        assert_eq!(
            FrameBudget::new(59_940).interval(),
            RealSpan::from_nanos(16_683_351)
        );
    }
}
