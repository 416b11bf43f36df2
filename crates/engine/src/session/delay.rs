//! What viewers are told later than it happened, so that watching helps nobody who plays (`--spectator-delay`).
//!
//! One line for all of them: what is put in leaves in the same order, after the delay. It leaves on a grid, so that a
//! busy game does not wake the loop for each event. What is the same for several viewers is kept once.

use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};

use trantor_time::{RealSpan, RealTime};

use crate::input::ConnId;
use crate::limits::{DELAYED_NEWS_BYTES, DELAYED_TICKS_BYTES, RELEASED_BYTES_PER_TURN};

/// The grid on which things leave: as long as a tick, which is how finely our viewers see anyway.
const GRID_SPAN: RealSpan = RealSpan::from_millis(50);

/// Bytes that an entry is counted with, besides what it says.
pub(super) const ENTRY_BYTES: usize = 96;

/// Entries of viewers that are gone which are emptied at each change: more than a change adds, so that they go faster than
/// others come, and so few that nobody waits for it.
const EMPTIED_AT_ONCE: usize = 64;

/// Pieces shorter than this are not looked through for one that says the same.
const SHARED_BYTES_MIN: usize = 256;

/// What waits to be told.
#[derive(Debug)]
pub(crate) struct Delay {
    line: VecDeque<Held>,
    /// How many have left it: the number of the first.
    left: u64,
    /// Who alone is told something, and what of it is in the line.
    own: BTreeMap<ConnId, Own>,
    /// Numbers of what was for viewers that are gone, and is to be emptied. Some may have left.
    to_empty: VecDeque<VecDeque<u64>>,
    bytes: usize,
    bytes_max: usize,
    /// The last long piece for a single viewer: the next viewer is often told the same.
    recent: Weak<Vec<u8>>,
}

#[derive(Debug)]
struct Held {
    leaves: RealTime,
    to: To,
    /// Nothing once whom it was for is gone.
    what: Option<Rc<Vec<u8>>>,
}

/// What one viewer alone is told.
#[derive(Debug, Default)]
struct Own {
    /// Numbers of its entries, in order.
    entries: VecDeque<u64>,
    /// Bytes of them, each with [`ENTRY_BYTES`].
    bytes: usize,
}

/// Whom something is for.
#[derive(Clone, Debug)]
pub(crate) enum To {
    /// One viewer.
    One(ConnId),
    /// All text viewers there were.
    Several(Rc<[ConnId]>),
}

/// For what room is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftTo {
    /// What all text viewers are told, so that one who comes too many lets nobody else go.
    News,
    /// What viewers of ours are told with each tick.
    Ticks,
    /// Nothing: this must not be missed.
    Nobody,
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelayFull;

impl Delay {
    /// An empty line, with room for so many bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            line: VecDeque::new(),
            left: 0,
            own: BTreeMap::new(),
            to_empty: VecDeque::new(),
            bytes: 0,
            bytes_max,
            recent: Weak::new(),
        }
    }

    /// Puts something in for one viewer, of whose there may be so many bytes. Little things that are told in a row, as in a
    /// tick in which nothing happens, are one entry. `left` is what is left to others.
    pub(crate) fn hold(
        &mut self,
        now: RealTime,
        span: RealSpan,
        conn: ConnId,
        own_bytes_max: usize,
        left: LeftTo,
        what: Vec<u8>,
    ) -> Result<(), DelayFull> {
        let bytes = ENTRY_BYTES + what.len();
        if self.own_bytes(conn) + bytes > own_bytes_max || !self.has_room(bytes, left) {
            return Err(DelayFull);
        }
        self.empty_some();
        let is_long = what.len() >= SHARED_BYTES_MIN;
        let leaves = self.leaves(now, span);
        if !is_long
            && let Some(last) = self.line.back_mut()
            && last.leaves == leaves
            && matches!(last.to, To::One(same) if same == conn)
            && let Some(so_far) = last.what.as_mut().and_then(Rc::get_mut)
            && so_far.len() < RELEASED_BYTES_PER_TURN
            && let Some(own) = self.own.get_mut(&conn)
        {
            so_far.extend_from_slice(&what);
            self.bytes += what.len();
            own.bytes += what.len();
            return Ok(());
        }
        let what = match self.recent.upgrade().filter(|recent| **recent == what) {
            Some(recent) => recent,
            None => Rc::new(what),
        };
        if is_long {
            self.recent = Rc::downgrade(&what);
        }
        let number = self.put(now, span, To::One(conn), what);
        let own = self.own.entry(conn).or_default();
        own.entries.push_back(number);
        own.bytes += bytes;
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
        if !self.has_room(ENTRY_BYTES + what.len(), LeftTo::Ticks) {
            return Err(DelayFull);
        }
        let leaves = self.leaves(now, span);
        if let Some(last) = self.line.back_mut()
            && last.leaves == leaves
            && matches!(&last.to, To::Several(same) if Rc::ptr_eq(same, to))
            && let Some(so_far) = last.what.as_mut().and_then(Rc::get_mut)
            // What is more than is told at one time is told at several.
            && so_far.len() < RELEASED_BYTES_PER_TURN
        {
            so_far.extend_from_slice(what);
            self.bytes += what.len();
            return Ok(());
        }
        self.put(now, span, To::Several(Rc::clone(to)), Rc::new(what.to_vec()));
        Ok(())
    }

    /// The next thing that is to be told at `now`; without words if whom it was for is gone.
    pub(crate) fn take_due(&mut self, now: RealTime) -> Option<(To, Option<Rc<Vec<u8>>>)> {
        self.empty_some();
        let held = self.line.pop_front_if(|held| held.leaves <= now)?;
        self.bytes -= counted(&held);
        self.left += 1;
        if let (To::One(conn), Some(what)) = (&held.to, &held.what)
            && let Some(own) = self.own.get_mut(conn)
        {
            own.entries.pop_front();
            own.bytes -= ENTRY_BYTES + what.len();
            if own.entries.is_empty() {
                self.own.remove(conn);
            }
        }
        Some((held.to, held.what))
    }

    /// When the next thing is to be told.
    pub(crate) fn next_deadline(&self) -> Option<RealTime> {
        self.line.front().map(|held| held.leaves)
    }

    /// Forgets what was for one viewer alone: it is gone. Its room comes back by and by, however much that was.
    pub(crate) fn forget(&mut self, conn: ConnId) {
        if let Some(own) = self.own.remove(&conn) {
            self.to_empty.push_back(own.entries);
        }
        self.empty_some();
    }

    /// Forgets what several are told alike: they are gone. What is for others stays whole.
    pub(crate) fn forget_several(&mut self) {
        for held in &mut self.line {
            if matches!(held.to, To::Several(_)) && held.what.is_some() {
                self.bytes -= counted(held) - ENTRY_BYTES;
                held.what = None;
            }
        }
    }

    /// Whether a viewer of ours may be told so many bytes of news: it is well below what one may have, and others may come.
    pub(crate) fn has_room_for_news(&self, conn: ConnId, own_bytes_max: usize, bytes: usize) -> bool {
        let bytes = ENTRY_BYTES + bytes;
        self.own_bytes(conn) + bytes <= own_bytes_max / 4 * 3
            && self.has_room(bytes + DELAYED_NEWS_BYTES, LeftTo::News)
    }

    /// Whether it may get a fresh snapshot of about so many bytes instead: so much has left that it will not soon be too much
    /// once more.
    pub(crate) fn has_room_for_snapshot(&self, conn: ConnId, own_bytes_max: usize, bytes: usize) -> bool {
        let spare = own_bytes_max / 4;
        self.own_bytes(conn) <= spare && self.has_room(bytes + spare + DELAYED_NEWS_BYTES, LeftTo::News)
    }

    fn own_bytes(&self, conn: ConnId) -> usize {
        self.own.get(&conn).map_or(0, |own| own.bytes)
    }

    fn has_room(&self, bytes: usize, left: LeftTo) -> bool {
        let left = match left {
            LeftTo::News => DELAYED_NEWS_BYTES,
            LeftTo::Ticks => DELAYED_TICKS_BYTES,
            LeftTo::Nobody => 0,
        };
        self.bytes + bytes + left <= self.bytes_max
    }

    /// Puts an entry in; answers its number.
    fn put(&mut self, now: RealTime, span: RealSpan, to: To, what: Rc<Vec<u8>>) -> u64 {
        self.empty_some();
        let leaves = self.leaves(now, span);
        let what = Some(what);
        let held = Held { leaves, to, what };
        self.bytes += counted(&held);
        self.line.push_back(held);
        self.left + self.line.len() as u64 - 1
    }

    /// Empties some of what was for viewers that are gone.
    fn empty_some(&mut self) {
        for _ in 0..EMPTIED_AT_ONCE {
            let Some(numbers) = self.to_empty.front_mut() else {
                return;
            };
            let Some(number) = numbers.pop_front() else {
                self.to_empty.pop_front();
                continue;
            };
            let place = number
                .checked_sub(self.left)
                .and_then(|place| usize::try_from(place).ok());
            if let Some(held) = place.and_then(|place| self.line.get_mut(place)) {
                self.bytes -= counted(held) - ENTRY_BYTES;
                held.what = None;
            }
        }
    }

    /// No earlier than what was put in before, also if the delay has become shorter since.
    fn leaves(&self, now: RealTime, span: RealSpan) -> RealTime {
        let grid = GRID_SPAN.as_nanos();
        let due = now.saturating_add(span).as_nanos();
        let on_grid = RealTime::from_nanos(due.saturating_add(grid - 1) / grid * grid);
        self.line.back().map_or(on_grid, |last| last.leaves.max(on_grid))
    }
}

/// What an entry is counted with: its bytes if it alone has them. Of several with the same bytes the first to come brings
/// them and the last to go takes them.
fn counted(held: &Held) -> usize {
    match &held.what {
        Some(what) if Rc::strong_count(what) == 1 => ENTRY_BYTES + what.len(),
        _ => ENTRY_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{DELAYED_BYTES_MAX, DELAYED_BYTES_PER_VIEWER_MAX};
    use proptest::prelude::*;

    fn conn(slot: u32) -> ConnId {
        ConnId { slot, generation: 0 }
    }

    /// What is counted is what is there: each text once, however many have it, and so much for each entry.
    fn check(delay: &Delay) {
        let texts: BTreeMap<_, _> = delay
            .line
            .iter()
            .filter_map(|held| held.what.as_ref())
            .map(|what| (Rc::as_ptr(what), what.len()))
            .collect();
        assert_eq!(
            delay.bytes,
            delay.line.len() * ENTRY_BYTES + texts.values().sum::<usize>()
        );
        for (conn, own) in &delay.own {
            let entries: Vec<_> = own
                .entries
                .iter()
                .map(|number| &delay.line[(number - delay.left) as usize])
                .collect();
            assert!(
                entries
                    .iter()
                    .all(|held| matches!(held.to, To::One(to) if to == *conn))
            );
            let bytes = entries
                .iter()
                .map(|held| ENTRY_BYTES + held.what.as_ref().map_or(0, |what| what.len()));
            assert_eq!(own.bytes, bytes.sum::<usize>());
            assert!(own.bytes > 0);
        }
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
            let mut span = RealSpan::from_millis(1_000);
            let mut now = RealTime::ZERO;
            // Slot, earliest instant, text.
            let mut model: Vec<(u32, RealTime, Vec<u8>)> = Vec::new();
            for step in steps {
                match step {
                    Step::Pass(ms) => now += RealSpan::from_millis(ms),
                    Step::Tell(slot, what) => {
                        delay.hold(now, span, conn(slot), usize::MAX, LeftTo::News, what.clone()).unwrap();
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
                    let Some(what) = what else { continue };
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
        for slot in 0..8_u32 {
            let mut piece = 0_u32;
            while delay
                .hold(
                    RealTime::ZERO,
                    span,
                    conn(slot),
                    DELAYED_BYTES_PER_VIEWER_MAX,
                    LeftTo::News,
                    [piece.to_le_bytes(), slot.to_le_bytes()].concat().repeat(4_096),
                )
                .is_ok()
            {
                piece += 1;
            }
            assert!(
                delay
                    .own
                    .get(&conn(slot))
                    .is_none_or(|own| own.bytes <= DELAYED_BYTES_PER_VIEWER_MAX)
            );
        }
        assert!(delay.bytes <= DELAYED_BYTES_MAX && delay.bytes > DELAYED_BYTES_MAX / 2);
        check(&delay);
        let everybody: Rc<[ConnId]> = (0..8).map(conn).collect();
        let news = vec![0; DELAYED_NEWS_BYTES - DELAYED_TICKS_BYTES - 2 * ENTRY_BYTES];
        delay
            .hold_for_several(RealTime::ZERO, span, &everybody, &news)
            .expect("there is room that single viewers do not take");
        assert!(delay.bytes <= DELAYED_BYTES_MAX);
        delay.line.pop_back();
        delay.bytes -= ENTRY_BYTES + news.len();
        for slot in 0..8 {
            delay.forget(conn(slot));
        }
        while !delay.to_empty.is_empty() {
            delay.empty_some();
        }
        assert_eq!(delay.bytes, delay.line.len() * ENTRY_BYTES);
        while let Some((_, what)) = delay.take_due(RealTime::ZERO + span) {
            assert_eq!(what, None);
        }
        assert_eq!((delay.bytes, delay.next_deadline()), (0, None));
    }

    #[test]
    fn one_with_much_to_hear_that_leaves_takes_nobodys_time() {
        let mut delay = Delay::new(DELAYED_BYTES_MAX);
        let span = RealSpan::from_secs(60);
        let hold = |delay: &mut Delay, slot| {
            let max = DELAYED_BYTES_PER_VIEWER_MAX;
            delay.hold(
                RealTime::ZERO,
                span,
                conn(slot),
                max,
                LeftTo::News,
                b"sgt 100\n".to_vec(),
            )
        };
        // Two take turns, or what one is told would be a single entry.
        while hold(&mut delay, 0).is_ok() && hold(&mut delay, 1).is_ok() {}
        let entries = delay.own[&conn(0)].entries.len();
        assert!(
            entries <= DELAYED_BYTES_PER_VIEWER_MAX / ENTRY_BYTES,
            "short words count as well"
        );
        let left = |delay: &Delay| delay.line.iter().filter(|held| held.what.is_some()).count();
        let before = left(&delay);
        delay.forget(conn(0));
        assert!(left(&delay) >= before - EMPTIED_AT_ONCE, "not all at once");
        for _ in 0..=entries / EMPTIED_AT_ONCE + 1 {
            hold(&mut delay, 2).unwrap();
        }
        assert_eq!(
            left(&delay),
            before - entries + 1,
            "but soon, and what is told in a row is one entry"
        );
        check(&delay);
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
                    usize::MAX,
                    LeftTo::News,
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
