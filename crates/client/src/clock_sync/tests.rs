//! The clock over an hour on bad links, and every way in which an answer can be wrong.

use super::*;

const MILLI: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MILLI;

/// A link and a server clock of given habits; times in nanoseconds.
struct Trial {
    seed: u64,
    /// Delay to the server and back: the least, and how much more at most.
    there: (i64, i64),
    back: (i64, i64),
    drift_ppm: i64,
    /// What the server's clock showed, in true time, when ours showed 0.
    offset_ns: i64,
}

#[derive(Debug, Default)]
struct Outcome {
    error_max_ns: i64,
    /// The largest part of half the best round trip that the error ever was, in percent.
    worst_percent: i64,
    drift_ppb: i64,
    exchanges: u64,
}

impl Trial {
    fn random(&mut self) -> i64 {
        // Splitmix64: small, and never the same as a generator of the product.
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 1) as i64
    }

    fn delay(&mut self, (least, more): (i64, i64)) -> i64 {
        least + if more > 0 { self.random() % more } else { 0 }
    }

    /// The server's reading, in nanoseconds since our 0, at an instant of ours.
    fn truth(&self, ours: i64) -> i64 {
        self.offset_ns + ours + (i128::from(ours) * i128::from(self.drift_ppm) / 1_000_000) as i64
    }

    /// Lives through `secs` seconds, and looks at the clock every 100 ms.
    fn run(mut self, secs: i64) -> Outcome {
        let mut sync = ClockSync::new();
        let mut outcome = Outcome::default();
        let mut best_rtt = i64::MAX;
        let real = RealTime::from_nanos;

        let (there, back) = (self.there, self.back);
        let sent = self.delay(there);
        let read = sent + self.delay(there);
        let reference = self.truth(read);
        let held = 3 * MILLI;
        let mut now = read + held + self.delay(back);
        let since_us = (self.truth(read + held) - reference) / 1_000;
        sync.handshake(real(sent), since_us, real(now));
        best_rtt = best_rtt.min(now - sent - held);

        let mut answer: Option<(i64, u64, i64, i64)> = None;
        let mut look = now;
        let mut last = None;
        while now < secs * SECOND {
            let next_probe = sync.next_probe_at().map_or(i64::MAX, RealTime::as_nanos);
            let next_answer = answer.map_or(i64::MAX, |(at, ..)| at);
            now = now.max(next_probe.min(next_answer).min(look));
            if now >= next_answer
                && let Some((_, token, server_us, rtt)) = answer.take()
            {
                sync.answered(token, server_us, real(now)).unwrap();
                best_rtt = best_rtt.min(rtt);
            }
            if let Some(token) = sync.poll_probe(real(now)) {
                let read = now + self.delay(there);
                let at = read + self.delay(back);
                let server_us = (self.truth(read) - reference).div_euclid(1_000);
                answer = Some((at, token, server_us, at - now));
            }
            if now < look {
                continue;
            }
            look += 100 * MILLI;
            let shown = sync.server_at(real(now)).unwrap();
            assert!(last.is_none_or(|last| shown >= last), "never backwards");
            last = Some(shown);
            let error = (shown.as_nanos() - (self.truth(now) - reference)).abs();
            let estimate = sync.estimate(real(now));
            assert!(
                error <= estimate.error_bound_ns + 1_000,
                "{error} ns off at {now} ns, bound {}",
                estimate.error_bound_ns
            );
            if sync.is_settled() {
                outcome.error_max_ns = outcome.error_max_ns.max(error);
                outcome.worst_percent = outcome.worst_percent.max(error * 100 / (best_rtt / 2).max(1));
            }
        }
        let estimate = sync.estimate(real(now));
        outcome.drift_ppb = estimate.drift_ppb;
        outcome.exchanges = estimate.exchanges;
        outcome
    }
}

/// 40 ± 30 ms with jitter that differs by direction, 100 ppm of drift, one hour.
#[test]
fn the_error_stays_below_half_the_best_round_trip_for_an_hour() {
    let wide = (10 * MILLI, 60 * MILLI);
    let links = [
        (wide, wide),
        (wide, (10 * MILLI, 20 * MILLI)),
        ((10 * MILLI, 5 * MILLI), wide),
    ];
    for seed in 0..2 {
        for (there, back) in links {
            for drift_ppm in [100, -100] {
                let outcome = Trial {
                    seed,
                    there,
                    back,
                    drift_ppm,
                    offset_ns: 7 * SECOND,
                }
                .run(3_600);
                let what = format!("{outcome:?} with seed {seed}, {there:?}, {back:?}, {drift_ppm} ppm");
                assert!(outcome.worst_percent <= 100, "{what}");
                assert!(outcome.exchanges > 8 * 300, "{what}");
                assert!(
                    (outcome.drift_ppb - drift_ppm * 1_000).abs() < 20_000,
                    "the drift is found: {what}"
                );
            }
        }
    }
}

#[test]
fn on_a_quiet_local_link_the_error_is_below_half_a_millisecond() {
    for seed in 0..4 {
        let outcome = Trial {
            seed,
            there: (20_000, 60_000),
            back: (20_000, 60_000),
            drift_ppm: 100,
            offset_ns: -3 * SECOND,
        }
        .run(600);
        assert!(outcome.error_max_ns <= MILLI / 2, "{outcome:?}");
    }
}

#[test]
fn a_round_is_eight_exchanges_and_comes_every_ten_seconds() {
    let mut sync = ClockSync::new();
    let at = |ms: i64| RealTime::from_nanos(ms * MILLI);
    sync.handshake(at(0), 0, at(2));
    let mut now = 2;
    let mut sent = vec![];
    while now < 60_000 {
        if let Some(token) = sync.poll_probe(at(now)) {
            sent.push(now);
            assert_eq!(sync.next_probe_at(), None, "one at a time");
            sync.answered(token, now * 1_000, at(now + 1)).unwrap();
        }
        now += 1;
    }
    let rounds: Vec<_> = sent.chunks_exact(8).collect();
    let pauses: Vec<_> = rounds
        .windows(2)
        .map(|pair| (pair[1][0] - pair[0][7]) / 1_000)
        .collect();
    assert_eq!(pauses, [1, 2, 4, 8, 10, 10, 10, 10]);
    assert!(rounds.iter().all(|round| round[7] - round[0] < 500));
}

#[test]
fn a_correction_is_blended_in() {
    let mut sync = ClockSync::new();
    let at = |ms: i64| RealTime::from_nanos(ms * MILLI);
    // Every exchange takes 200 ms, all of it on the way back: the clock is 100 ms behind the truth, which
    // is that both show the same.
    sync.handshake(at(0), 0, at(200));
    let mut now = 200;
    for _ in 0..8 {
        now = sync.next_probe_at().unwrap().as_nanos() / MILLI;
        let token = sync.poll_probe(at(now)).unwrap();
        now += 200;
        sync.answered(token, (now - 200) * 1_000, at(now)).unwrap();
    }
    let shown = |sync: &mut ClockSync, ms: i64| sync.server_at(at(ms)).unwrap().as_nanos() / MILLI - ms;
    assert_eq!(shown(&mut sync, now), -100);
    // A quick exchange corrects it: from then on the clock gains 10 % until it is right.
    now = sync.next_probe_at().unwrap().as_nanos() / MILLI;
    let token = sync.poll_probe(at(now)).unwrap();
    assert_eq!(shown(&mut sync, now), -100);
    sync.answered(token, now * 1_000, at(now)).unwrap();
    for (later, off) in [(0, -100), (1, -100), (500, -50), (1_000, 0), (2_000, 0)] {
        assert_eq!(shown(&mut sync, now + later), off, "{later} ms later");
    }
}

#[test]
fn not_even_the_first_exchanges_turn_the_clock_back() {
    let mut sync = ClockSync::new();
    let at = |ms: i64| RealTime::from_nanos(ms * MILLI);
    // 200 ms on the way there and nothing back: 100 ms too far ahead.
    sync.handshake(at(0), 0, at(200));
    let before = sync.server_at(at(200)).unwrap();
    assert_eq!(before, ServerTime::from_nanos(100 * MILLI));
    let token = sync.poll_probe(at(200)).unwrap();
    sync.answered(token, 0, at(200)).unwrap();
    assert_eq!(sync.server_at(at(210)), Some(before), "it waits for the truth");
    assert_eq!(sync.server_at(at(310)), Some(ServerTime::from_nanos(110 * MILLI)));
}

#[test]
fn the_reference_lies_in_the_middle_of_the_exchange() {
    let mut sync = ClockSync::new();
    let at = |ms: i64| RealTime::from_nanos(ms * MILLI);
    // Sent at 100, answered at 150, of which the server held it for 10: read at 120.
    sync.handshake(at(100), 10_000, at(150));
    assert_eq!(sync.server_at(at(150)), Some(ServerTime::from_nanos(30 * MILLI)));
    let estimate = sync.estimate(at(150));
    assert_eq!(estimate.rtt_best_ns, 40 * MILLI);
    assert!((20 * MILLI..21 * MILLI).contains(&estimate.error_bound_ns));
}

#[test]
fn instants_out_of_range_are_cut_and_counted() {
    let mut sync = ClockSync::new();
    assert_eq!(sync.server_time(5), ServerTime::from_nanos(5_000));
    assert_eq!(sync.server_time(i64::MAX), ServerTime::from_nanos(i64::MAX));
    assert_eq!(sync.server_time(i64::MIN), ServerTime::from_nanos(i64::MIN));
    assert_eq!(sync.saturated(), 2);
    sync.handshake(RealTime::ZERO, i64::MAX, RealTime::from_nanos(5));
    let token = sync.poll_probe(RealTime::from_nanos(5)).unwrap();
    sync.answered(token, i64::MIN, RealTime::MAX).unwrap();
    sync.server_at(RealTime::MAX).unwrap();
    sync.estimate(RealTime::MAX);
}

#[test]
fn an_answer_to_no_probe_is_an_error() {
    let mut sync = ClockSync::new();
    let at = RealTime::from_nanos;
    assert!(sync.answered(0, 0, at(0)).is_err());
    sync.handshake(at(0), 0, at(10));
    let token = sync.poll_probe(at(10)).unwrap();
    let unknown = ProtocolError::UnknownProbe { token: token + 1 };
    assert_eq!(sync.answered(token + 1, 0, at(20)), Err(unknown));
    sync.answered(token, 0, at(20)).unwrap();
    assert!(sync.answered(token, 0, at(30)).is_err(), "nor twice");
}

#[test]
fn a_server_whose_clock_stood_still_is_left_and_one_that_leapt_is_joined() {
    let settle = |leap_ns: i64| -> Result<ClockSync, ProtocolError> {
        let mut sync = ClockSync::new();
        sync.handshake(RealTime::ZERO, 0, RealTime::ZERO);
        let mut now = 0;
        while now < 30 * SECOND {
            if let Some(token) = sync.poll_probe(RealTime::from_nanos(now)) {
                let leap_ns = if now > 15 * SECOND { leap_ns } else { 0 };
                sync.answered(token, (now + leap_ns) / 1_000, RealTime::from_nanos(now))?;
            }
            sync.server_at(RealTime::from_nanos(now));
            now += MILLI;
        }
        Ok(sync)
    };
    let error = settle(-60 * SECOND).unwrap_err();
    assert_eq!(error, ProtocolError::WentBack { by_ms: 60_000 });
    let mut ahead = settle(60 * SECOND).unwrap();
    let now = RealTime::from_nanos(30 * SECOND);
    assert_eq!(ahead.server_at(now), Some(ServerTime::from_nanos(90 * SECOND)));
}
