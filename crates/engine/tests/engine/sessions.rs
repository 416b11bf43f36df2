//! Connections: requests and answers in order, and what happens to peers that do not read.

use trantor_engine::{EngineConfig, FiredKind, JournalPressure, limits};
use trantor_game::{AdminAction, DueKind, Replay};
use trantor_time::RealSpan;

use super::{ms, quiet};
use crate::harness::{Bench, game_config};

#[test]
fn replies_leave_in_the_pass_that_made_them() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.send(agent, b"Left\n");
    bench.take_received();
    bench.now += ms(70);
    let conn = bench.peers[agent].conn;
    bench.engine.begin_pass(bench.now);
    assert_eq!(bench.engine.next_dirty(), None);
    let fired = bench.engine.fire_next(bench.now).expect("it is due");
    assert_eq!(
        (fired.kind, fired.lateness_ns),
        (FiredKind::Game(DueKind::Action), 0)
    );
    assert_eq!(bench.engine.next_dirty(), Some(conn));
    assert_eq!(bench.engine.unsent(conn), b"ok\n");
    assert_eq!(bench.engine.next_dirty(), None, "once");
    // A full socket takes a part; the rest stays queued and is offered again with later output.
    bench.engine.sent(conn, 1);
    assert_eq!(bench.engine.unsent(conn), b"k\n");
    bench.send(agent, b"Connect_nbr\n");
    assert_eq!(bench.lines(agent), ["k", "19"]);
}

/// The journal is written for many passes at once while nothing is sent, and never if nothing happens.
#[test]
fn a_journal_waits_until_something_is_sent() {
    let mut bench = Bench::new(EngineConfig::new(game_config(3, 3, 4)));
    let pressure = |bench: &Bench| bench.engine.journal_pressure();
    assert_eq!(pressure(&bench), JournalPressure::None, "nothing is recorded");
    bench.engine.start_recording();
    let take = |bench: &mut Bench| while bench.engine.poll_journal().is_some() {};
    assert_eq!(pressure(&bench), JournalPressure::Waits, "the beginning");
    take(&mut bench);
    let agent = bench.join("A", "a");
    assert_eq!(pressure(&bench), JournalPressure::Waits, "all was sent");
    take(&mut bench);
    bench.hand_in(agent, b"Left\n");
    assert_eq!(pressure(&bench), JournalPressure::Waits);
    bench.hand_in(agent, b"nonsense\n");
    bench.now += ms(70);
    bench.engine.begin_pass(bench.now);
    while bench.engine.fire_next(bench.now).is_some() {}
    assert_eq!(pressure(&bench), JournalPressure::Presses, "it is answered");
    bench.after_pass();
    take(&mut bench);
    // It digests and dies, and nothing is sent.
    bench.peers[agent].hangs_up = false;
    bench.run_for(RealSpan::from_secs(5));
    assert_eq!(pressure(&bench), JournalPressure::None);
    assert!(bench.engine.is_ahead_of_journal());
}

#[test]
fn long_speeches_do_not_wait_to_be_recorded_until_something_is_sent() {
    let mut bench = Bench::new(EngineConfig::new(game_config(3, 3, 4)));
    bench.engine.start_recording();
    let agent = bench.join("A", "a");
    while bench.engine.poll_journal().is_some() {}
    let speech = format!("Broadcast {}\n", "words ".repeat(1_300));
    let mut bytes = 0;
    while bench.engine.journal_pressure() != JournalPressure::Presses {
        assert!(bytes < 2 * limits::JOURNAL_PRESSING_BYTES);
        bytes += speech.len();
        bench.hand_in(agent, speech.as_bytes());
    }
    assert!(bytes > limits::JOURNAL_PRESSING_BYTES / 2);
    while bench.engine.poll_journal().is_some() {}
    assert_eq!(bench.engine.journal_pressure(), JournalPressure::None);
}

/// Nothing bounds what a player says but the rate of requests, and what is dropped plays no part in the game.
#[test]
fn a_command_that_is_dropped_is_not_recorded() {
    let mut bench = Bench::new(EngineConfig::new(game_config(3, 3, 4)));
    bench.engine.start_recording();
    let agent = bench.join("A", "a");
    bench.send(agent, "Forward\n".repeat(500).as_bytes());
    bench.run_for(ms(35));
    bench.send(agent, "Broadcast again\n".repeat(100).as_bytes());
    bench.run_for(ms(500));
    let journal = std::iter::from_fn(|| bench.engine.poll_journal()).flat_map(|taken| taken.bytes);
    let verified = Replay::open(journal.collect::<Vec<u8>>())
        .unwrap()
        .verify()
        .unwrap();
    let now = bench.now;
    let counters = bench.engine.stats(now).counters;
    assert_eq!(
        counters.commands_dropped,
        600 - 10,
        "ten are open, and none is done before 70 ms"
    );
    // The speed, the birth, and ten commands.
    assert_eq!(verified.played.inputs, 12);
    let mut game = verified.game;
    game.advance_to(bench.engine.game().now());
    assert_eq!(game.digest(), bench.engine.game().digest());
}

/// A shell that does not take the journal loses it, not the server its memory.
#[test]
fn a_journal_that_is_not_taken_ends_at_its_bound() {
    let mut config = EngineConfig::new(game_config(2, 2, 3));
    config.limits.requests_per_second = 1_000_000;
    let mut bench = Bench::new(config);
    let agent = bench.join("A", "a");
    bench.engine.start_recording();
    bench.run_for(ms(100));
    assert!(bench.engine.poll_journal().is_some());
    let speech = format!("Broadcast {}\n", "x".repeat(16_000));
    let mut sent = 0;
    bench.act(AdminAction::SetHunger { enabled: false });
    while bench.engine.is_recording() {
        bench.send(agent, speech.as_bytes());
        // What is dropped is not recorded.
        bench.run_for(ms(70));
        sent += speech.len();
        assert!(sent <= 2 * limits::JOURNAL_WAITING_BYTES_MAX);
    }
    assert!(sent > limits::JOURNAL_WAITING_BYTES_MAX / 2);
    assert_eq!(bench.engine.poll_journal(), None);
    assert_eq!(bench.engine.stop_recording(), []);
}

/// The same number is the same agent, in whichever order the connections come about, and although some go again.
#[test]
fn places_in_lock_step_are_taken_by_number() {
    let births = |order: &[&str]| {
        let mut bench = Bench::new(EngineConfig {
            lock_step: Some(RealSpan::from_secs(5)),
            ..EngineConfig::new(game_config(8, 8, 2))
        });
        for team in order {
            let peer = bench.join(team, team.trim_start_matches('-'));
            if team.starts_with('-') {
                bench.close(peer);
            }
        }
        assert_eq!(bench.engine.game().world().agents().len(), 4);
        bench.engine.game().digest()
    };
    let in_turn = births(&["a", "b", "a", "b"]);
    assert_eq!(births(&["b", "b", "a", "a"]), in_turn);
    assert_eq!(births(&["b", "-a", "-b", "a", "b", "a"]), in_turn);
}
