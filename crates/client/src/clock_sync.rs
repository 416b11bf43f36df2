//! The server's clock, as well as it can be known from here.
//!
//! Each exchange brackets the server's reading between our sending and our receiving: the truth lies within
//! half the round trip of the middle. Several exchanges make a round; of each round the one with the shortest
//! round trip is kept, and of all rounds kept that one counts whose bound, widened by its age, is the
//! tightest. A line through the rounds estimates how fast the two clocks drift apart.
//!
//! What callers see is blended towards that estimate and never goes back. Game time is not known
//! here; see [`crate::display_clock`].

use std::collections::VecDeque;

use trantor_time::{RealSpan, RealTime};

use crate::error::ProtocolError;
use crate::push_bounded;

/// Exchanges in a round; at least eight are needed before a clock is trusted.
const EXCHANGES_PER_ROUND: u32 = 8;

/// From the end of one round to the start of the next.
const ROUND_INTERVAL: RealSpan = RealSpan::from_secs(10);

/// From an answer to the next probe of the same round, so that one burst of jitter does not spoil them all.
const PROBE_SPACING: RealSpan = RealSpan::from_millis(20);

/// Rounds kept: at one in ten seconds about ten minutes, from which drift is known to some millionths.
const ROUNDS_KEPT: usize = 64;

/// From the first round to the second; each further interval is twice as long, up to [`ROUND_INTERVAL`]. On a
/// quick link the drift is thereby known before it matters.
const ROUND_INTERVAL_FIRST: RealSpan = RealSpan::from_secs(1);

/// A drift is believed once the rounds leave less doubt about it than this, in parts per billion: within a
/// second on a local link, within two minutes where jitter is tens of milliseconds. Sooner, jitter would pass
/// for drift.
const DRIFT_DOUBT_PPB_BELIEVED: f64 = 80_000.0;

/// The largest drift believed, in parts per billion. Quartz is within 100 parts per million of another.
const DRIFT_PPB_MAX: f64 = 500_000.0;

/// How much a sample may be wrong by drift that was not estimated, in parts per billion of its age.
const DRIFT_UNKNOWN_PPB: f64 = 200_000.0;

/// The least doubt about an estimated drift, in parts per billion: temperature moves quartz by as much.
const DRIFT_DOUBT_PPB_MIN: f64 = 1_000.0;

/// Corrections move the shown clock by at most one part in this many of the time that passes.
const BLEND_DIVISOR: i64 = 10;

/// A server that is further ahead than this is joined at once: blending would take too long to be of use.
const JUMP_AHEAD_NS: i64 = 1_000_000_000;

/// A server that is further behind than this was stopped; nothing shown could go on without going back.
const WENT_BACK_NS: i64 = 5_000_000_000;

/// How far outside its bounds a round may fall, in nanoseconds, before the older rounds are given up.
const CONTRADICTION_NS: i64 = 50_000_000;

/// An instant of the server's clock: nanoseconds after this connection's reference instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerTime(i64);

/// What is known about the server's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockEstimate {
    /// The shown clock is at most this wrong, in nanoseconds, blending and drift included.
    pub error_bound_ns: i64,
    /// The shortest round trip among the exchanges kept, in nanoseconds.
    pub rtt_best_ns: i64,
    /// The last round trip, in nanoseconds.
    pub rtt_last_ns: i64,
    /// How much faster the server's clock runs than ours, in parts per billion; 0 until it is known.
    pub drift_ppb: i64,
    /// Exchanges so far, the handshake included.
    pub exchanges: u64,
}

#[derive(Debug)]
pub(crate) struct ClockSync {
    /// The probe that waits for its answer.
    outstanding: Option<(u64, RealTime)>,
    tokens_used: u64,
    left_in_round: u32,
    next_probe_at: Option<RealTime>,
    /// From the end of the round under way to the next.
    interval: RealSpan,
    rounds: VecDeque<Sample>,
    /// The best exchange of the round under way.
    current: Option<Sample>,
    exchanges: u64,
    rtt_last_ns: i64,
    drift_ppb: f64,
    drift_doubt_ppb: f64,
    /// What was shown last: our instant and the server's.
    shown: Option<(RealTime, ServerTime)>,
    /// Values that had to be cut to their range.
    saturated: u64,
}

/// One exchange: at the middle of it, the server's clock was ahead by `offset_ns`, give or take `rtt_ns / 2`.
#[derive(Clone, Copy, Debug)]
struct Sample {
    middle: RealTime,
    offset_ns: i64,
    rtt_ns: i64,
}

impl ClockSync {
    pub fn new() -> Self {
        Self {
            outstanding: None,
            tokens_used: 0,
            left_in_round: EXCHANGES_PER_ROUND,
            next_probe_at: None,
            interval: ROUND_INTERVAL_FIRST,
            rounds: VecDeque::with_capacity(ROUNDS_KEPT),
            current: None,
            exchanges: 0,
            rtt_last_ns: 0,
            drift_ppb: 0.0,
            drift_doubt_ppb: DRIFT_UNKNOWN_PPB,
            shown: None,
            saturated: 0,
        }
    }

    /// The handshake is the first exchange: the hello left at `sent` and was answered at `now`, after the
    /// server had held it for `since_reference_us`.
    pub fn handshake(&mut self, sent: RealTime, since_reference_us: i64, now: RealTime) {
        let held = self.server_time(since_reference_us.max(0));
        // The reference was taken when the hello was read, so one way there and one way back surround the hold.
        let rtt_ns = now.since(sent).as_nanos().saturating_sub(held.0).max(0);
        let middle_ns = now.as_nanos().saturating_sub(held.0).saturating_sub(rtt_ns / 2);
        self.take(Sample {
            middle: RealTime::from_nanos(middle_ns),
            offset_ns: middle_ns.saturating_neg(),
            rtt_ns,
        });
        self.next_probe_at = Some(now);
    }

    /// A probe to send now, if one is due: its token. Its answer goes to [`Self::answered`].
    pub fn poll_probe(&mut self, now: RealTime) -> Option<u64> {
        if self.outstanding.is_some() || self.next_probe_at.is_none_or(|at| now < at) {
            return None;
        }
        self.tokens_used += 1;
        self.outstanding = Some((self.tokens_used, now));
        Some(self.tokens_used)
    }

    /// When [`Self::poll_probe`] has something; `None` while an answer is awaited.
    pub fn next_probe_at(&self) -> Option<RealTime> {
        self.next_probe_at.filter(|_| self.outstanding.is_none())
    }

    /// The probe with `token` was read by the server at `server_us`, and the answer is here. An error if no such probe
    /// waits, or if the server's clock fell far back.
    pub fn answered(&mut self, token: u64, server_us: i64, now: RealTime) -> Result<(), ProtocolError> {
        let (_, sent) = self
            .outstanding
            .take_if(|(waiting, _)| *waiting == token)
            .ok_or(ProtocolError::UnknownProbe { token })?;
        let rtt_ns = now.since(sent).as_nanos();
        let middle = sent.saturating_add(RealSpan::from_nanos(rtt_ns / 2));
        let server = self.server_time(server_us);
        self.take(Sample {
            middle,
            offset_ns: server.0.saturating_sub(middle.as_nanos()),
            rtt_ns,
        });
        self.left_in_round -= 1;
        if self.left_in_round > 0 {
            self.next_probe_at = Some(now.saturating_add(PROBE_SPACING));
            return Ok(());
        }
        self.left_in_round = EXCHANGES_PER_ROUND;
        self.next_probe_at = Some(now.saturating_add(self.interval));
        self.interval = (self.interval * 2).min(ROUND_INTERVAL);
        self.end_round(now)
    }

    /// Whether enough exchanges were made to trust the clock.
    pub fn is_settled(&self) -> bool {
        self.exchanges >= u64::from(EXCHANGES_PER_ROUND)
    }

    /// The server's clock at `now`, blended and never less than before; `None` before the first exchange.
    ///
    /// Until the clock is settled the estimate is followed at once, since little has been shown by it.
    pub fn server_at(&mut self, now: RealTime) -> Option<ServerTime> {
        let (target, _) = self.target(now)?;
        let Some((last_now, last)) = self.shown else {
            self.shown = Some((now, target));
            return Some(target);
        };
        let passed_ns = now.since(last_now).as_nanos();
        let straight = ServerTime(last.0.saturating_add(passed_ns));
        let off_ns = target.0.saturating_sub(straight.0);
        let blended_ns = if off_ns > JUMP_AHEAD_NS || !self.is_settled() {
            off_ns
        } else {
            let limit_ns = passed_ns / BLEND_DIVISOR;
            off_ns.clamp(-limit_ns, limit_ns)
        };
        let server = ServerTime(straight.0.saturating_add(blended_ns)).max(last);
        self.shown = Some((last_now.max(now), server));
        Some(server)
    }

    pub fn estimate(&self, now: RealTime) -> ClockEstimate {
        let (target, bound_ns) = self.target(now).unwrap_or_default();
        let unblended_ns = self.shown.map_or(0, |(last_now, last)| {
            let shown_ns = last.0.saturating_add(now.since(last_now).as_nanos());
            target.0.saturating_sub(shown_ns).saturating_abs()
        });
        ClockEstimate {
            error_bound_ns: bound_ns.saturating_add(unblended_ns),
            rtt_best_ns: self.samples().map(|sample| sample.rtt_ns).min().unwrap_or(0),
            rtt_last_ns: self.rtt_last_ns,
            drift_ppb: self.drift_ppb as i64,
            exchanges: self.exchanges,
        }
    }

    /// An instant as it travels, in microseconds after the reference. What is out of range is cut to it,
    /// counted, and logged the first time.
    pub fn server_time(&mut self, micros: i64) -> ServerTime {
        micros.checked_mul(1_000).map(ServerTime).unwrap_or_else(|| {
            if self.saturated == 0 {
                log::warn!("an instant of {micros} microseconds is out of range and was cut to it");
            }
            self.saturated = self.saturated.saturating_add(1);
            ServerTime(if micros > 0 { i64::MAX } else { i64::MIN })
        })
    }

    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    fn take(&mut self, sample: Sample) {
        self.exchanges = self.exchanges.saturating_add(1);
        self.rtt_last_ns = sample.rtt_ns;
        if self.current.is_none_or(|best| sample.rtt_ns < best.rtt_ns) {
            self.current = Some(sample);
        }
    }

    /// Keeps the best exchange of the round, or starts anew from it if it contradicts all before.
    fn end_round(&mut self, now: RealTime) -> Result<(), ProtocolError> {
        let Some(best) = self.current.take() else {
            return Ok(());
        };
        let contradiction_ns = self
            .best_of(self.rounds.iter(), now)
            .and_then(|(kept, bound_ns)| {
                let off_ns = self
                    .offset_at(&best, now)
                    .saturating_sub(self.offset_at(&kept, now));
                let allowed_ns = bound_ns
                    .saturating_add(best.rtt_ns / 2)
                    .saturating_add(CONTRADICTION_NS);
                (off_ns.saturating_abs() > allowed_ns).then_some(off_ns)
            });
        if let Some(off_ns) = contradiction_ns {
            if off_ns < -WENT_BACK_NS {
                return Err(ProtocolError::WentBack {
                    by_ms: off_ns.saturating_neg() / 1_000_000,
                });
            }
            log::info!("the server's clock moved by {off_ns} ns against ours; measuring anew");
            self.rounds.clear();
            self.drift_ppb = 0.0;
            self.drift_doubt_ppb = DRIFT_UNKNOWN_PPB;
        }
        push_bounded(&mut self.rounds, best, ROUNDS_KEPT);
        self.estimate_drift();
        Ok(())
    }

    /// A straight line through the rounds, by least squares; short round trips weigh more.
    fn estimate_drift(&mut self) {
        let (Some(first), Some(last)) = (self.rounds.front(), self.rounds.back()) else {
            return;
        };
        let (origin, span) = (*first, last.middle.since(first.middle));
        let half_ns = self
            .rounds
            .iter()
            .map(|round| round.rtt_ns / 2)
            .min()
            .unwrap_or(0);
        let doubt_ppb = half_ns as f64 / span.as_nanos() as f64 * 1e9;
        // Without any span the doubt is no number.
        if doubt_ppb.is_nan() || doubt_ppb >= DRIFT_DOUBT_PPB_BELIEVED {
            return;
        }
        let points = || {
            self.rounds.iter().map(|round| {
                let x = round.middle.since(origin.middle).as_nanos() as f64;
                let y = round.offset_ns.saturating_sub(origin.offset_ns) as f64;
                let half_ns = (round.rtt_ns / 2).max(1_000) as f64;
                (x, y, 1.0 / (half_ns * half_ns))
            })
        };
        let weight: f64 = points().map(|(_, _, w)| w).sum();
        let mean_x = points().map(|(x, _, w)| w * x).sum::<f64>() / weight;
        let mean_y = points().map(|(_, y, w)| w * y).sum::<f64>() / weight;
        let sxx: f64 = points().map(|(x, _, w)| w * (x - mean_x).powi(2)).sum();
        let sxy: f64 = points().map(|(x, y, w)| w * (x - mean_x) * (y - mean_y)).sum();
        if sxx > 0.0 {
            self.drift_ppb = (sxy / sxx * 1e9).clamp(-DRIFT_PPB_MAX, DRIFT_PPB_MAX);
            self.drift_doubt_ppb = doubt_ppb.clamp(DRIFT_DOUBT_PPB_MIN, DRIFT_UNKNOWN_PPB);
        }
    }

    /// Where the server's clock should be at `now`, and the bound of its error in nanoseconds.
    fn target(&self, now: RealTime) -> Option<(ServerTime, i64)> {
        let (best, bound_ns) = self.best_of(self.samples(), now)?;
        let server_ns = now.as_nanos().saturating_add(self.offset_at(&best, now));
        Some((ServerTime(server_ns), bound_ns))
    }

    fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.rounds.iter().chain(&self.current)
    }

    /// The sample with the tightest bound at `now`, and that bound.
    fn best_of<'s>(&self, samples: impl Iterator<Item = &'s Sample>, now: RealTime) -> Option<(Sample, i64)> {
        samples
            .map(|sample| {
                let age_ns = now.since(sample.middle).as_nanos() as f64;
                let aged_ns = (age_ns * self.drift_doubt_ppb / 1e9) as i64;
                (*sample, (sample.rtt_ns / 2).saturating_add(aged_ns))
            })
            .min_by_key(|(_, bound_ns)| *bound_ns)
    }

    /// How far the server's clock is ahead of ours at `now`, by this sample and the drift.
    fn offset_at(&self, sample: &Sample, now: RealTime) -> i64 {
        let age_ns = now.since(sample.middle).as_nanos() as f64;
        sample
            .offset_ns
            .saturating_add((age_ns * self.drift_ppb / 1e9) as i64)
    }
}

impl ServerTime {
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Nanoseconds from `earlier` to here, zero if `earlier` is in fact later.
    pub const fn since_ns(self, earlier: Self) -> i64 {
        let span_ns = self.0.saturating_sub(earlier.0);
        if span_ns > 0 { span_ns } else { 0 }
    }

    pub const fn saturating_add_ns(self, nanos: i64) -> Self {
        Self(self.0.saturating_add(nanos))
    }
}

#[cfg(test)]
mod tests;
