//! A loop that sleeps until something is due, in game time and in real time, and changes speed on the way.
//!
//! `cargo run --package trantor-time --example deadline_loop`
//!
//! The clock is a manual one, so the sleep is a jump: the same loop on a real clock waits where this one moves
//! the hands. Three things to see: actions chain from their nominal ends, so each wake-up's lateness is
//! forgotten at once; the change of speed touches no deadline; real time-outs do not care about it.

use trantor_time::{
    Clock, DeadlineHeap, Frequency, GameClock, GameSpan, GameTime, ManualClock, RealSpan, RealTime,
    TimerWheel,
};

/// How long an agent's step forward takes, in units of the game.
const STEP: GameSpan = GameSpan::from_units(7);

fn main() {
    let hands = ManualClock::default();
    let normal = Frequency::new(100).expect("between 1 and 1,000,000");
    let fast = Frequency::new(300).expect("between 1 and 1,000,000");
    let mut game_clock = GameClock::new(hands.now(), GameTime::ZERO, normal);

    // Two stores, one contract: exact for the game, coarse for time-outs, of which a server has masses.
    let mut agenda: DeadlineHeap<GameTime, &str> = DeadlineHeap::new();
    let mut timeouts: TimerWheel<&str> = TimerWheel::new();
    agenda.schedule(GameTime::ZERO + STEP, "anna");
    agenda.schedule(GameTime::from_nanounits(2_500_000_000) + STEP, "ben");
    timeouts.schedule(
        hands.now() + RealSpan::from_millis(201),
        "a peer never said who it is",
    );

    while hands.now() < RealTime::ZERO + RealSpan::from_millis(300) {
        // When to wake: the game's next deadline as a real instant, or the next time-out.
        let game_wake = agenda
            .next_deadline()
            .and_then(|deadline| game_clock.real_at(deadline));
        let Some(wake) = game_wake.into_iter().chain(timeouts.next_deadline()).min() else {
            break;
        };

        // The wait. No machine wakes on time; let it be 30 µs.
        hands.advance_to(wake + RealSpan::from_micros(30));

        // One sample for the whole pass.
        let now = hands.now();
        let game_now = game_clock.now(now);
        while let Some(due) = agenda.take_due(game_now) {
            println!(
                "{:>10.3} ms  {:?}  {} steps forward",
                (now - RealTime::ZERO).as_millis_f64(),
                due.at,
                due.item
            );
            // From the nominal end, not from now: the next one ends on time however late this one was seen.
            agenda.schedule(due.at + STEP, due.item);
        }
        while let Some(due) = timeouts.take_due(now) {
            println!(
                "{:>10.3} ms  real time      {}",
                (now - RealTime::ZERO).as_millis_f64(),
                due.item
            );
            game_clock.set_frequency(now, fast);
            println!(
                "               three times the speed from here on; what had 5 units left has 5 units left"
            );
        }
    }
}
