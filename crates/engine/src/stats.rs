//! Everything the engine counts, as one value.
//!
//! Counters start at zero and only grow; what has a reason is counted by reason. Names for scrapers and
//! pictures for people are made by others.

use hdrhistogram::Histogram;
use trantor_game::DueKind;
use trantor_time::{Frequency, GameSpan, GameTime, RealSpan, RealTime};

use crate::shell::CloseReason;

/// How much an engine has done, and how it keeps up. A consistent copy.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineStats {
    /// Time since the engine was made, sleeping included, in milliseconds.
    pub uptime_ms: u64,
    /// What was counted.
    pub counters: Counters,
    /// How late deadlines fired since the engine was made.
    pub lateness: Spans,
    /// How late deadlines of the last whole second fired in which any did.
    pub lateness_last_second: Spans,
    /// How long bytes waited before they were written, by the oldest of each write. What happened waits
    /// elsewhere until it is the turn of one of many text viewers, and is counted from then on.
    pub outbox_waits: Spans,
    /// How long the oldest byte of all has been waiting.
    pub outbox_age: RealSpan,
    /// Passes in which the game clock slipped, and the game time given up.
    pub slips: u64,
    /// See `slips`.
    pub slipped: GameSpan,
    /// Ticks that ran.
    pub ticks_run: u64,
    /// Tick instants at which no tick ran although a viewer watched.
    pub ticks_skipped: u64,
    /// Open connections of every kind.
    pub connections: usize,
    /// Those of agents, and agents with minds.
    pub agents: usize,
    /// Those of text viewers.
    pub text_viewers: usize,
    /// Those of frame viewers.
    pub viewers: usize,
    /// Bytes that wait to be written, all sessions together.
    pub outbox_bytes: usize,
    /// Messages that wait to be written, all sessions together: what is queued for a session at one time is a message.
    pub messages_waiting: u64,
    /// Messages that were queued so far.
    pub messages_queued: u64,
    /// Real-time deadlines pending.
    pub timers_pending: usize,
    /// Eggs that were not laid since the team or the world has as many as it may.
    pub eggs_refused: u64,
}

/// What is counted one by one. Everything starts at zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Turns of the loop.
    pub passes: u64,
    /// Game deadlines fired, in the order of [`DueKind::ALL`].
    pub fired: [u64; DueKind::ALL.len()],
    /// Real-time deadlines fired.
    pub timers: u64,
    /// Connections opened.
    pub opened: u64,
    /// Connections that the peer closed, or that broke.
    pub closed_by_peer: u64,
    /// Connections that the engine closed, in the order of [`CloseReason::ALL`].
    pub closed: [u64; CloseReason::ALL.len()],
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes dropped, since their session was gone or on its way out.
    pub bytes_dropped: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Agents that joined.
    pub joined: u64,
    /// Greetings that named no team, or one without a place.
    pub joins_refused: u64,
    /// Tokens shown that were not the server's.
    pub tokens_refused: u64,
    /// Peers that wanted to operate and may not.
    pub operators_refused: u64,
    /// Commands taken from agents, wrong ones included.
    pub commands: u64,
    /// Lines of agents that could not be carried out as they were.
    pub commands_malformed: u64,
    /// Commands dropped because ten were open already.
    pub commands_dropped: u64,
    /// Requests of text viewers, wrong ones included.
    pub gui_requests: u64,
    /// Those that do not exist (`suc`).
    pub gui_unknown: u64,
    /// Those whose arguments were wrong or that were not allowed (`sbp`).
    pub gui_refused: u64,
    /// Messages of frame viewers.
    pub messages: u64,
    /// Those that were refused.
    pub messages_refused: u64,
    /// Lines that were too long.
    pub violations: u64,
    /// Times a peer was throttled by its rate limit, and peers throttled so.
    pub throttled: u64,
    /// See `throttled`.
    pub throttled_peers: u64,
    /// Times a peer was throttled by its unread answers, and peers throttled so.
    pub blocked: u64,
    /// See `blocked`.
    pub blocked_peers: u64,
    /// Snapshots sent to frame viewers.
    pub snapshots: u64,
    /// How often a recording was moved to another moment.
    pub seeks: u64,
    /// Frame viewers that read too slowly: each got a snapshot instead of its updates.
    pub viewers_thinned: u64,
    /// Messages that fitted no frame and were not sent.
    pub encode_failures: u64,
    /// Notes, marks, cards and announcements that were dropped for lack of room.
    pub shows_dropped: u64,
    /// Messages for sessions that were gone.
    pub undeliverable: u64,
    /// Requests of operators.
    pub admin_requests: u64,
}

/// The shape of a distribution of spans of real time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// How many there were.
    pub count: u64,
    /// Half of them were no greater than this.
    pub p50_ns: u64,
    /// 99 in 100 were no greater than this.
    pub p99_ns: u64,
    /// 999 in 1,000 were no greater than this.
    pub p999_ns: u64,
    /// The greatest.
    pub max_ns: u64,
}

/// Spans as they are collected: in total, and by second.
#[derive(Debug)]
pub(crate) struct SpanRecorder {
    all: Histogram<u64>,
    second: Histogram<u64>,
    second_began: RealTime,
    last_second: Spans,
}

/// The greatest span recorded: a minute. Longer ones count as that.
const SPAN_NS_MAX: u64 = 60_000_000_000;

/// A second, over which the present is summed up.
const SECOND: RealSpan = RealSpan::from_secs(1);

impl Counters {
    /// Game deadlines fired, all kinds together.
    pub fn deadlines_fired(&self) -> u64 {
        self.fired.iter().sum()
    }
}

impl SpanRecorder {
    pub(crate) fn new(now: RealTime) -> Self {
        // Two digits: 1 % of a span is below the resolution of the clock.
        let histogram = || Histogram::new_with_bounds(1, SPAN_NS_MAX, 2).expect("the bounds are in order");
        Self {
            all: histogram(),
            second: histogram(),
            second_began: now,
            last_second: Spans::default(),
        }
    }

    /// Notes a span that was seen at `now`, `count` times.
    pub(crate) fn note(&mut self, now: RealTime, span_ns: u64, count: u32) {
        self.turn_second(now);
        self.all.saturating_record_n(span_ns, count.into());
        self.second.saturating_record_n(span_ns, count.into());
    }

    pub(crate) fn all(&self) -> Spans {
        summary(&self.all)
    }

    /// The last whole second; nothing if nothing was seen in it.
    pub(crate) fn last_second(&mut self, now: RealTime) -> Spans {
        self.turn_second(now);
        self.last_second
    }

    /// Begins another second if one is over. No deadline is needed for that: each look and each note does it.
    fn turn_second(&mut self, now: RealTime) {
        let passed = now.since(self.second_began);
        if passed < SECOND {
            return;
        }
        let is_recent = passed < SECOND + SECOND;
        self.last_second = if is_recent {
            summary(&self.second)
        } else {
            Spans::default()
        };
        self.second.reset();
        self.second_began = now;
    }
}

fn summary(histogram: &Histogram<u64>) -> Spans {
    Spans {
        count: histogram.len(),
        p50_ns: histogram.value_at_quantile(0.5),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        max_ns: histogram.max(),
    }
}

/// How fast the game really goes, measured between two looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speedometer {
    last: (RealTime, GameTime),
}

impl Speedometer {
    /// Measures from here on: at the first viewer, and where game time was moved.
    pub(crate) fn new(now: RealTime, game: GameTime) -> Self {
        Self { last: (now, game) }
    }

    /// Units a second since the last look, in thousandths; 0 if no time passed.
    pub(crate) fn milli_units_per_second(&mut self, now: RealTime, game: GameTime) -> u64 {
        let (last_real, last_game) = std::mem::replace(&mut self.last, (now, game));
        let passed_ns = i128::from(now.since(last_real).as_nanos());
        if passed_ns == 0 {
            return 0;
        }
        // Nanounits over nanoseconds are units over seconds.
        let milli = (game - last_game).as_nanounits() * 1_000 / passed_ns;
        u64::try_from(milli).unwrap_or(0)
    }

    /// As `milli_units_per_second`, as a frequency; `None` if the game stood still.
    pub(crate) fn frequency(&mut self, now: RealTime, game: GameTime) -> Option<Frequency> {
        let milli = self.milli_units_per_second(now, game);
        let hertz = (milli / 1_000).clamp(1, u64::from(Frequency::MAX));
        Frequency::new(hertz).ok().filter(|_| milli > 0)
    }
}

/// What is measured and logged, beside the counters.
#[derive(Debug)]
pub(crate) struct Meters {
    pub(crate) began: RealTime,
    pub(crate) lateness: SpanRecorder,
    pub(crate) outbox_waits: SpanRecorder,
    pub(crate) speedometer: Speedometer,
    pub(crate) slips_logged: Logged,
    pub(crate) skips_logged: Logged,
    pub(crate) tokens_logged: Logged,
    pub(crate) operators_logged: Logged,
    pub(crate) refusals_logged: Logged,
}

impl Meters {
    pub(crate) fn new(now: RealTime, game: GameTime) -> Self {
        Self {
            began: now,
            lateness: SpanRecorder::new(now),
            outbox_waits: SpanRecorder::new(now),
            speedometer: Speedometer::new(now, game),
            slips_logged: Logged::default(),
            skips_logged: Logged::default(),
            tokens_logged: Logged::default(),
            operators_logged: Logged::default(),
            refusals_logged: Logged::default(),
        }
    }
}

/// A counter that is logged when it has grown, but at most once a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Logged {
    reported: u64,
    at: Option<RealTime>,
}

impl Logged {
    /// The least time between two lines.
    const SPACING: RealSpan = RealSpan::from_secs(1);

    /// Takes note of the counter; answers by how much it has grown since the last line, if it is time for one.
    pub(crate) fn note(&mut self, now: RealTime, counter: u64) -> Option<u64> {
        let grown = counter.saturating_sub(self.reported);
        let too_soon = self.at.is_some_and(|at| now.since(at) < Self::SPACING);
        if grown == 0 || too_soon {
            return None;
        }
        (self.reported, self.at) = (counter, Some(now));
        Some(grown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    #[test]
    fn lateness_of_the_last_second_is_that_of_the_last_second() {
        let mut recorder = SpanRecorder::new(ms(0));
        for late in 1..=100 {
            recorder.note(ms(late * 5), late as u64 * 1_000, 1);
        }
        assert_eq!(
            recorder.last_second(ms(900)),
            Spans::default(),
            "the second is not over"
        );
        let lateness = recorder.last_second(ms(1_000));
        assert_eq!(lateness.count, 100);
        assert!((99_000..100_000).contains(&lateness.p99_ns), "{lateness:?}");
        assert!((100_000..101_000).contains(&lateness.max_ns), "{lateness:?}");
        assert_eq!(recorder.last_second(ms(1_999)).count, 100);
        assert_eq!(recorder.last_second(ms(2_000)).count, 0);
        assert_eq!(recorder.all().count, 100);
    }

    #[test]
    fn growth_is_logged_at_most_once_a_second() {
        let mut logged = Logged::default();
        assert_eq!(logged.note(ms(0), 0), None);
        assert_eq!(logged.note(ms(10), 5), Some(5));
        assert_eq!(logged.note(ms(20), 6), None);
        assert_eq!(logged.note(ms(1_010), 9), Some(4));
        assert_eq!(logged.note(ms(9_000), 9), None);
    }
}
