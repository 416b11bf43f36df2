//! What is done to a store, and with which delays.

use std::hint::black_box;

use rand_core::Rng;
use rand_pcg::Pcg32;

use crate::measure::ns_per;
use crate::subjects::Subject;

/// How far ahead work is scheduled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delays {
    /// Any time within four seconds: time-outs on a local link, animations, keep-alives.
    Short,
    /// Any time within an hour: sessions, leases, respawns.
    Long,
    /// As in the game at a hundred units a second: mostly 7 units, some 1, 42 and 126; starts at any fraction.
    Game,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Take what is due and schedule it anew: the steady state of a loop.
    Hold,
    /// Schedule into an empty store until so many are pending.
    Fill,
    /// Cancel half of them, at random.
    Cancel,
    /// Give half of them, at random, another deadline.
    Move,
    /// Ask for the next deadline.
    Next,
}

/// Least time between two looks at a store: the resolution of the wheels.
const STEP_NS: i64 = 8_000_000;

/// So much falls due between two looks at least. Where little is pending the store is looked at less often;
/// otherwise looking is all that would be measured of those that are driven by ticks.
const DUE_PER_STEP: i64 = 64;

impl Delays {
    pub(crate) const ALL: [Self; 3] = [Self::Short, Self::Game, Self::Long];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Short => "delays up to 4 s",
            Self::Long => "delays up to 1 h",
            Self::Game => "delays as in the game",
        }
    }

    fn draw_ns(self, luck: &mut Pcg32) -> i64 {
        let roll = luck.next_u64();
        let below = |bound: u64| ((u128::from(roll) * u128::from(bound)) >> 64) as i64 + 1;
        match self {
            Self::Short => below(4_000_000_000),
            Self::Long => below(3_600_000_000_000),
            Self::Game => {
                let units = match roll % 10 {
                    0..7 => 7,
                    7 => 1,
                    8 => 42,
                    _ => 126,
                };
                units * 10_000_000
            }
        }
    }

    fn mean_ns(self) -> i64 {
        match self {
            Self::Short => 2_000_000_000,
            Self::Long => 1_800_000_000_000,
            Self::Game => 218_000_000,
        }
    }

    /// First delays: spread over the whole span, so that no two actors keep step.
    fn first_ns(self, luck: &mut Pcg32) -> i64 {
        match self {
            Self::Game => ((u128::from(luck.next_u64()) * 218_000_000) >> 64) as i64 + 1,
            Self::Short | Self::Long => self.draw_ns(luck),
        }
    }
}

impl Workload {
    pub(crate) const ALL: [Self; 5] = [Self::Hold, Self::Fill, Self::Cancel, Self::Move, Self::Next];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Fill => "fill",
            Self::Cancel => "cancel",
            Self::Move => "move",
            Self::Next => "next",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Hold => "Take the next and schedule it anew, ns",
            Self::Fill => "Schedule, from empty, ns",
            Self::Cancel => "Cancel, ns",
            Self::Move => "Move to another deadline, ns",
            Self::Next => "Ask for the next deadline, ns",
        }
    }

    /// Whether these delays say something about it that others do not.
    pub(crate) fn is_told_apart_by(self, delays: Delays) -> bool {
        self == Self::Hold || delays == Delays::Short
    }

    /// Nanoseconds per operation with `pending` pending; `None` if the subject cannot do it.
    pub(crate) fn run<S: Subject>(self, delays: Delays, pending: u64) -> Option<f64> {
        let mut luck = Pcg32::new(pending, 7);
        let mut store = S::new();
        let mut ids = Vec::with_capacity(pending as usize);
        let fill = ns_per(pending, || {
            for item in 0..pending {
                ids.push(store.schedule(delays.first_ns(&mut luck), item));
            }
        });
        match self {
            Self::Fill => Some(fill),
            Self::Hold => {
                drop(ids);
                Some(hold(&mut store, delays, &mut luck, pending))
            }
            Self::Cancel => {
                let mut cancelled = 0;
                let took = in_rounds(&mut ids, &mut luck, |round| {
                    ns_per(1, || {
                        cancelled += round.iter().filter(|id| store.cancel(id) == Some(true)).count()
                    })
                });
                (cancelled > 0).then_some(took)
            }
            Self::Move => {
                let mut moved = 0;
                let mut delays_luck = luck.clone();
                let took = in_rounds(&mut ids, &mut luck, |round| {
                    ns_per(1, || {
                        for (id, item) in round.iter_mut().zip(0..) {
                            let at_ns = delays.draw_ns(&mut delays_luck);
                            moved += usize::from(store.move_to(id, at_ns, item).is_some());
                        }
                    })
                });
                (moved > 0).then_some(took)
            }
            Self::Next => {
                store.next_ns()?;
                let asked = 1_000_000;
                Some(ns_per(asked, || {
                    for _ in 0..asked {
                        black_box(black_box(&mut store).next_ns());
                    }
                }))
            }
        }
    }
}

/// Lets time pass by steps; what is due is scheduled anew from its deadline, as repeating work is.
fn hold<S: Subject>(store: &mut S, delays: Delays, luck: &mut Pcg32, pending: u64) -> f64 {
    let operations = pending.clamp(300_000, 2_000_000);
    let per_look_ns = delays.mean_ns() * DUE_PER_STEP / pending as i64;
    let step_ns = (per_look_ns / STEP_NS).max(1) * STEP_NS;
    let mut now_ns = 0;
    let mut taken = Vec::new();
    let mut run_until = |count: u64| {
        let mut done = 0;
        while done < count {
            now_ns += step_ns;
            store.take_due(now_ns, &mut taken);
            done += taken.len() as u64;
            for (at_ns, item) in taken.drain(..) {
                store.schedule((at_ns + delays.draw_ns(luck)).max(now_ns + 1), item);
            }
        }
        done
    };
    // Warm: by then the store has its steady shape.
    run_until(operations / 2);
    let mut done = 0;
    let took = ns_per(1, || done = run_until(operations));
    took / done as f64
}

/// Does `work` to a random tenth of `ids`, five times; answers nanoseconds per id. `work` answers nanoseconds for what it was given.
fn in_rounds<I>(ids: &mut [I], luck: &mut Pcg32, mut work: impl FnMut(&mut [I]) -> f64) -> f64 {
    shuffle(ids, luck);
    let mut took_ns = 0.0;
    let tenth = ids.len() / 10;
    // Each id is worked on once: what was cancelled cannot be cancelled again.
    let rounds = 5;
    for round in ids.chunks_mut(tenth).take(rounds) {
        took_ns += work(round);
    }
    took_ns / (tenth * rounds) as f64
}

fn shuffle<T>(values: &mut [T], luck: &mut Pcg32) {
    for index in (1..values.len()).rev() {
        values.swap(index, (luck.next_u64() % (index as u64 + 1)) as usize);
    }
}
