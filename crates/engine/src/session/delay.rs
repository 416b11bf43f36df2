//! What viewers are told later than it happened, so that watching helps nobody who plays (`--spectator-delay`).
//!
//! One line for all of them: what is put in leaves in the same order, after the delay. It leaves on a grid, so that a
//! busy game does not wake the loop for each event. What is the same for several viewers is kept once.

use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use trantor_time::{RealSpan, RealTime};

use crate::input::ConnId;
use crate::limits::{DELAYED_NEWS_BYTES, RELEASED_BYTES_PER_TURN};

/// The grid on which things leave: as long as a tick, which is how finely our viewers see anyway.
const GRID_SPAN: RealSpan = RealSpan::from_millis(50);

/// Bytes that an entry is counted with, besides what it says.
const ENTRY_BYTES: usize = 96;

/// Pieces shorter than this are not looked through for one that says the same.
const SHARED_BYTES_MIN: usize = 256;

/// What waits to be told.
#[derive(Debug)]
pub(crate) struct Delay {
    line: VecDeque<Held>,
    bytes: usize,
    bytes_max: usize,
    /// The last long piece for a single viewer: the next viewer is often told the same.
    recent: Weak<Vec<u8>>,
}

#[derive(Debug)]
struct Held {
    leaves: RealTime,
    to: To,
    what: Rc<Vec<u8>>,
}

/// Whom something is for.
#[derive(Clone, Debug)]
pub(crate) enum To {
    /// One viewer.
    One(ConnId),
    /// All text viewers there were.
    Several(Rc<[ConnId]>),
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelayFull;

impl Delay {
    /// An empty line, with room for so many bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            line: VecDeque::new(),
            bytes: 0,
            bytes_max,
            recent: Weak::new(),
        }
    }

    /// Puts something in for one viewer, whose count of bytes held is `held_bytes`, of at most `held_bytes_max`. Some room
    /// is left for what everybody is told: that one viewer comes too many lets nobody else go.
    pub(crate) fn hold(
        &mut self,
        now: RealTime,
        span: RealSpan,
        conn: ConnId,
        (held_bytes, held_bytes_max): (&mut usize, usize),
        what: Vec<u8>,
    ) -> Result<(), DelayFull> {
        if *held_bytes + what.len() > held_bytes_max
            || self.bytes + what.len() + DELAYED_NEWS_BYTES > self.bytes_max
        {
            return Err(DelayFull);
        }
        let len = what.len();
        let what = match self.recent.upgrade().filter(|recent| **recent == what) {
            Some(recent) => recent,
            None => Rc::new(what),
        };
        if len >= SHARED_BYTES_MIN {
            self.recent = Rc::downgrade(&what);
        }
        self.put(now, span, To::One(conn), what)?;
        *held_bytes += len;
        Ok(())
    }

    /// Puts something in for several viewers; they are the same `Rc` as long as they are the same viewers.
    pub(crate) fn hold_for_several(
        &mut self,
        now: RealTime,
        span: RealSpan,
        to: &Rc<[ConnId]>,
        what: &[u8],
    ) -> Result<(), DelayFull> {
        let leaves = self.leaves(now, span);
        if let Some(last) = self.line.back_mut()
            && last.leaves == leaves
            && matches!(&last.to, To::Several(same) if Rc::ptr_eq(same, to))
            // What is more than is told at one time is told at several.
            && last.what.len() < RELEASED_BYTES_PER_TURN
            && self.bytes + what.len() <= self.bytes_max
            && let Some(so_far) = Rc::get_mut(&mut last.what)
        {
            so_far.extend_from_slice(what);
            self.bytes += what.len();
            return Ok(());
        }
        self.put(now, span, To::Several(Rc::clone(to)), Rc::new(what.to_vec()))
    }

    /// The next thing that is to be told at `now`.
    pub(crate) fn take_due(&mut self, now: RealTime) -> Option<(To, Rc<Vec<u8>>)> {
        let held = self.line.pop_front_if(|held| held.leaves <= now)?;
        self.bytes -= counted(&held);
        Some((held.to, held.what))
    }

    /// When the next thing is to be told.
    pub(crate) fn next_deadline(&self) -> Option<RealTime> {
        self.line.front().map(|held| held.leaves)
    }

    /// Forgets what was for one viewer alone: it is gone.
    pub(crate) fn forget(&mut self, conn: ConnId) {
        for held in std::mem::take(&mut self.line) {
            if matches!(held.to, To::One(to) if to == conn) {
                self.bytes -= counted(&held);
            } else {
                self.line.push_back(held);
            }
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.bytes_max);
    }

    fn put(&mut self, now: RealTime, span: RealSpan, to: To, what: Rc<Vec<u8>>) -> Result<(), DelayFull> {
        let leaves = self.leaves(now, span);
        let held = Held { leaves, to, what };
        let counted = counted(&held);
        if self.bytes + counted > self.bytes_max {
            return Err(DelayFull);
        }
        self.bytes += counted;
        self.line.push_back(held);
        Ok(())
    }

    /// No earlier than what was put in before, also if the delay has become shorter since.
    fn leaves(&self, now: RealTime, span: RealSpan) -> RealTime {
        let grid = GRID_SPAN.as_nanos();
        let due = now.saturating_add(span).as_nanos();
        let on_grid = RealTime::from_nanos(due.saturating_add(grid - 1) / grid * grid);
        self.line.back().map_or(on_grid, |last| last.leaves.max(on_grid))
    }
}

/// What an entry is counted with: its bytes if it alone has them, which does not change while another one comes and
/// goes, since of several with the same bytes the first to come is the first to go.
fn counted(held: &Held) -> usize {
    match Rc::strong_count(&held.what) {
        1 => ENTRY_BYTES + held.what.len(),
        _ => ENTRY_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::limits::{DELAYED_BYTES_MAX, DELAYED_BYTES_PER_VIEWER_MAX};
    use proptest::prelude::*;

    fn conn(slot: u32) -> ConnId {
        ConnId { slot, generation: 0 }
    }

    /// What is counted is what is there: each text once, however many have it, and so much for each entry.
    fn check(delay: &Delay) {
        let texts: BTreeSet<_> = delay.line.iter().map(|held| Rc::as_ptr(&held.what)).collect();
        let mut bytes = delay.line.len() * ENTRY_BYTES;
        for held in &delay.line {
            if texts.contains(&Rc::as_ptr(&held.what)) {
                bytes += held.what.len() / Rc::strong_count(&held.what);
            }
        }
        // Texts of three viewers are divided by three, and lose at most two bytes by that.
        assert!(
            delay.bytes.abs_diff(bytes) <= 2 * delay.line.len(),
            "{} {bytes}",
            delay.bytes
        );
        assert!(delay.line.iter().is_sorted_by_key(|held| held.leaves));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Pass(i64),
        Tell(u32, Vec<u8>),
        TellAll(Vec<u8>),
        Forget(u32),
        Span(i64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let what = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..8),
            (0_u8..3).prop_map(|byte| vec![byte; 300]),
        ];
        let step = prop_oneof![
            3 => (0_i64..400).prop_map(Step::Pass),
            4 => (0_u32..3, what.clone()).prop_map(|(slot, what)| Step::Tell(slot, what)),
            3 => what.prop_map(Step::TellAll),
            1 => (0_u32..3).prop_map(Step::Forget),
            1 => (0_i64..2_000).prop_map(Step::Span),
        ];
        prop::collection::vec(step, 0..80)
    }

    proptest! {
        /// Against a plain list: everybody hears all, in order, never early, and hardly late.
        #[test]
        fn what_leaves_is_what_was_put_in_later(steps in steps()) {
            let everybody: Rc<[ConnId]> = (0..3).map(conn).collect();
            let mut delay = Delay::new(DELAYED_BYTES_MAX);
            let mut held_bytes = 0;
            let mut span = RealSpan::from_millis(1_000);
            let mut now = RealTime::ZERO;
            // Slot, earliest instant, text.
            let mut model: Vec<(u32, RealTime, Vec<u8>)> = Vec::new();
            for step in steps {
                match step {
                    Step::Pass(ms) => now += RealSpan::from_millis(ms),
                    Step::Tell(slot, what) => {
                        delay.hold(now, span, conn(slot), (&mut held_bytes, usize::MAX), what.clone()).unwrap();
                        model.push((slot, now + span, what));
                    }
                    Step::TellAll(what) => {
                        delay.hold_for_several(now, span, &everybody, &what).unwrap();
                        model.extend((0..3).map(|slot| (slot, now + span, what.clone())));
                    }
                    Step::Forget(slot) => {
                        delay.forget(conn(slot));
                        let line = std::mem::take(&mut model);
                        // What was for all of them stays, and is for nobody by then; here it is left in.
                        let shared = delay.line.iter().any(|held| matches!(held.to, To::Several(_)));
                        model = line.into_iter().filter(|(to, ..)| *to != slot || shared).collect();
                        if shared {
                            return Ok(());
                        }
                    }
                    Step::Span(ms) => span = RealSpan::from_millis(ms),
                }
                check(&delay);
                let mut heard: [Vec<u8>; 3] = Default::default();
                while let Some((to, what)) = delay.take_due(now) {
                    let to = match to {
                        To::One(conn) => vec![conn],
                        To::Several(all) => all.to_vec(),
                    };
                    for conn in to {
                        heard[conn.slot as usize].extend_from_slice(&what);
                    }
                }
                check(&delay);
                for (slot, heard) in heard.iter().enumerate() {
                    let mut rest = heard.as_slice();
                    while !rest.is_empty() {
                        let at = model.iter().position(|(to, ..)| *to as usize == slot).expect("it was told");
                        let (_, earliest, what) = model.remove(at);
                        prop_assert!(earliest <= now, "never early");
                        prop_assert!(rest.starts_with(&what));
                        rest = &rest[what.len()..];
                    }
                }
            }
        }
    }

    #[test]
    fn it_holds_so_much_and_no_more() {
        let mut delay = Delay::new(DELAYED_BYTES_MAX);
        let span = RealSpan::from_secs(60);
        let mut held = [0; 8];
        for (slot, held) in held.iter_mut().enumerate() {
            let mut piece = 0_u32;
            while delay
                .hold(
                    RealTime::ZERO,
                    span,
                    conn(slot as u32),
                    (held, DELAYED_BYTES_PER_VIEWER_MAX),
                    [piece.to_le_bytes(), (slot as u32).to_le_bytes()]
                        .concat()
                        .repeat(4_096),
                )
                .is_ok()
            {
                piece += 1;
            }
            assert!(*held <= DELAYED_BYTES_PER_VIEWER_MAX);
        }
        assert!(delay.bytes <= DELAYED_BYTES_MAX && delay.bytes > DELAYED_BYTES_MAX / 2);
        check(&delay);
        let everybody: Rc<[ConnId]> = (0..8).map(conn).collect();
        let news = vec![0; DELAYED_NEWS_BYTES - 2 * ENTRY_BYTES];
        delay
            .hold_for_several(RealTime::ZERO, span, &everybody, &news)
            .expect("there is room that single viewers do not take");
        assert!(delay.bytes <= DELAYED_BYTES_MAX);
        delay.line.pop_back();
        delay.bytes -= ENTRY_BYTES + news.len();
        for slot in 0..8 {
            delay.forget(conn(slot));
        }
        assert_eq!((delay.bytes, delay.next_deadline()), (0, None));
    }

    #[test]
    fn it_wakes_the_loop_on_a_grid() {
        let mut delay = Delay::new(DELAYED_BYTES_MAX);
        for ms in [1, 2, 49, 50, 51] {
            let now = RealTime::ZERO + RealSpan::from_millis(ms);
            delay
                .hold(
                    now,
                    RealSpan::from_secs(1),
                    conn(0),
                    (&mut 0, usize::MAX),
                    vec![0],
                )
                .unwrap();
        }
        let mut deadlines = Vec::new();
        while let Some(at) = delay.next_deadline() {
            deadlines.push(at.as_nanos() / 1_000_000);
            delay.take_due(at);
        }
        deadlines.dedup();
        assert_eq!(deadlines, [1_050, 1_100]);
    }
}
