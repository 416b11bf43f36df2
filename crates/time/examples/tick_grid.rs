//! A grid of 50 ms with ticks that take too long, and the instants that are skipped for it.
//!
//! `cargo run --package trantor-time --example tick_grid`
//!
//! Logic counts every tick as one period. A tick that ends past the next instant makes it impossible, and so
//! does other work that holds the loop for a period or more. The grid never moves, and numbers have no gaps.

use trantor_time::frame_budget::events_until;
use trantor_time::tick_clock::TICK_PERIOD;
use trantor_time::{Clock, ManualClock, RealSpan, RealTime, TickClock};

fn main() {
    let hands = ManualClock::starting_at(RealTime::ZERO + RealSpan::from_millis(1_000));
    let origin = hands.now();
    let mut ticks = TickClock::new(origin, TICK_PERIOD);
    let since_origin = |instant: RealTime| (instant - origin).as_millis_f64();

    println!("tick   instant   started   skipped before   took   events until");
    // How long each tick takes, and for how long something else holds the loop after it.
    for (took_ms, held_ms) in [
        (10, 0),
        (50, 0),
        (51, 0),
        (170, 0),
        (10, 45),
        (10, 190),
        (10, 0),
        (10, 0),
    ] {
        hands.advance_to(ticks.next_instant());
        let started = hands.now();
        let tick = ticks.start(started).expect("its instant is reached");

        hands.advance(RealSpan::from_millis(took_ms)); // the fixed-step logic
        ticks.end(hands.now());

        // Between ticks events are handled: until the next instant, and for half of what the tick took at least.
        let until = events_until(ticks.next_instant(), started, hands.now());
        println!(
            "{:>4} {:>6} ms {:>6} ms {:>16} {:>3} ms {:>11} ms",
            tick.number,
            since_origin(tick.instant),
            since_origin(started),
            tick.skipped_before,
            took_ms,
            since_origin(until),
        );
        hands.advance(RealSpan::from_millis(held_ms));
    }
    let index = (ticks.next_instant() - origin).as_nanos() / TICK_PERIOD.as_nanos();
    println!(
        "{} ticks ran, {} instants were skipped, together {index}",
        ticks.ticks_run(),
        ticks.instants_skipped()
    );
}
