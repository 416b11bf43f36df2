//! Connections: what they say and are told, in which order, and what becomes of those that do not read.

use trantor_engine::{AdminRequest, CloseReason, EngineConfig, FiredKind, Input, JournalPressure, limits};
use trantor_game::{AdminAction, DueKind, Replay};
use trantor_model::AgentId;
use trantor_time::RealSpan;
use trantor_time::wheel::WHEEL_RESOLUTION;

use super::{ms, quiet, quiet_with};
use crate::harness::{Bench, game_config};

#[test]
fn replies_leave_in_the_pass_that_made_them() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.send(agent, b"Left\n");
    bench.take_heard();
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
    assert_eq!(bench.engine.next_dirty(), None, "told once");
    // A full socket takes a part; the rest is still there, and told again with what comes later.
    bench.engine.sent(conn, 1);
    assert_eq!(bench.engine.unsent(conn), b"k\n");
    bench.send(agent, b"Connect_nbr\n");
    assert_eq!(bench.lines(agent), ["k", "19"]);
}

/// One port: the first line after the greeting tells players, text viewers and viewers of ours apart.
#[test]
fn one_port_for_all_and_a_limit_on_silence() {
    let mut bench = quiet(100);
    let silent = bench.open("S");
    let refused = bench.open("R");
    let player = bench.join("A", "a");
    bench.join("G", "GRAPHIC");
    let viewer = bench.watch("V");
    // A hello must come within the limit too.
    let half = bench.open("H");
    bench.send(half, b"TRANTOR\n");
    assert!(bench.viewer(viewer).hello.is_some());
    bench.run_for(ms(30_000));
    bench.send(refused, b"nope\n");
    bench.run_for(ms(29_999));
    assert_eq!(bench.engine.stats(bench.now).connections, 6);
    // Limits lie in a wheel, and are reached at the end of one of its steps.
    bench.run_for(WHEEL_RESOLUTION);
    let now = bench.now;
    let stats = bench.engine.stats(now);
    assert_eq!(
        (stats.agents, stats.text_viewers, stats.viewers, stats.connections),
        (1, 1, 1, 3)
    );
    assert_eq!(stats.counters.closed[CloseReason::GreetingTimeout.index()], 3);
    for peer in [silent, refused, half] {
        assert!(!bench.peers[peer].is_open);
    }
    assert!(bench.peers[player].is_open);
}

/// A text viewer that joins late and one that was there from the start agree on everything they can ask.
#[test]
fn a_viewer_gets_the_whole_state_and_then_every_change() {
    let mut bench = Bench::new(EngineConfig::new(game_config(5, 4, 6)));
    let first = bench.join("G", "GRAPHIC");
    let agents: Vec<_> = (0..4)
        .map(|number| bench.join(&number.to_string(), ["a", "b"][number % 2]))
        .collect();
    let mut tiles = std::collections::BTreeMap::new();
    let mut positions = std::collections::BTreeMap::new();
    let lines = [
        "Forward",
        "Take food",
        "Take linemate",
        "Right",
        "Set linemate",
        "Eject",
        "Fork",
    ];
    for round in 0..150 {
        for (number, agent) in agents.iter().enumerate() {
            bench.send(
                *agent,
                format!("{}\n", lines[(round * 3 + number) % lines.len()]).as_bytes(),
            );
        }
        bench.run_for(ms(70));
    }
    for line in bench.lines(first) {
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let words: Vec<&str> = rest.split(' ').collect();
        match word {
            "bct" => drop(tiles.insert(words[..2].join(" "), words[2..].join(" "))),
            "pnw" | "ppo" => drop(positions.insert(words[0].to_owned(), words[1..4].join(" "))),
            "pdi" => drop(positions.remove(words[0])),
            _ => {}
        }
    }
    let late = bench.join("H", "GRAPHIC");
    let burst = bench.lines(late);
    let told: Vec<_> = burst
        .iter()
        .filter_map(|line| line.strip_prefix("bct "))
        .collect();
    assert_eq!(told.len(), 20);
    for line in told {
        let (tile, counts) = line
            .match_indices(' ')
            .nth(1)
            .map(|(at, _)| line.split_at(at))
            .expect("nine numbers");
        assert_eq!(tiles[tile], counts.trim_start(), "tile {tile}");
    }
    let agents: Vec<_> = burst
        .iter()
        .filter_map(|line| line.strip_prefix("pnw "))
        .collect();
    assert_eq!(agents.len(), positions.len());
    for line in agents {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(positions[words[0]], words[1..4].join(" "), "player {}", words[0]);
    }
}

/// What is owed leaves in the order it came to be owed; a viewer's in one write.
#[test]
fn order_is_kept_and_a_viewers_messages_are_joined() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    let viewer = bench.join("G", "GRAPHIC");
    bench.take_heard();
    let conn = bench.peers[viewer].conn;
    bench.peers[viewer].is_reading = false;
    for _ in 0..3 {
        bench.send(agent, b"Right\nBroadcast x\n");
        bench.run_for(ms(140));
    }
    let waiting = String::from_utf8(bench.engine.unsent(conn).to_vec()).expect("text");
    let words: Vec<_> = waiting.lines().map(|line| &line[..3]).collect();
    assert_eq!(words, ["ppo", "pbc", "ppo", "pbc", "ppo", "pbc"]);
    let agent_conn = bench.peers[agent].conn;
    bench.peers[agent].is_reading = false;
    bench.send(agent, b"Connect_nbr\nConnect_nbr\n");
    assert_eq!(
        bench.engine.unsent(agent_conn),
        b"19\n",
        "an agent's leave one by one"
    );
}

#[test]
fn bytes_from_a_connection_that_is_gone_are_dropped_and_counted() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    let conn = bench.peers[agent].conn;
    bench.close(agent);
    bench.pass(|engine, now| {
        engine.handle(
            Input::Bytes {
                conn,
                bytes: b"Forward\n",
            },
            now,
        )
    });
    assert_eq!(bench.engine.unsent(conn), b"");
    bench.engine.sent(conn, 0);
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).counters.bytes_dropped, 8);
}

/// Others hear at the same instants, whether one peer reads or not.
#[test]
fn a_peer_that_does_not_read_delays_nobody() {
    let run = |reads: bool| {
        let mut bench = quiet(1_000);
        let agents: Vec<_> = (0..4)
            .map(|number| bench.join(&number.to_string(), "a"))
            .collect();
        let slow = bench.join("G", "GRAPHIC");
        bench.take_heard();
        bench.peers[slow].is_reading = reads;
        for _ in 0..200 {
            for agent in &agents {
                bench.send(*agent, b"Forward\nBroadcast hello\n");
            }
            bench.run_for(ms(14));
        }
        bench.peers[slow].is_reading = false;
        let heard = bench.take_heard();
        heard
            .into_iter()
            .filter(|heard| heard.peer != slow)
            .collect::<Vec<_>>()
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn the_age_of_what_waits_is_a_figure() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.peers[agent].is_reading = false;
    bench.send(agent, b"Connect_nbr\n");
    bench.run_for(ms(400));
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).outbox_age, ms(400));
    bench.peers[agent].is_reading = true;
    bench.take_writes(agent);
    let stats = bench.engine.stats(now);
    assert_eq!(stats.outbox_age, RealSpan::ZERO);
    assert!(
        (400_000_000..=404_000_000).contains(&stats.outbox_waits.max_ns),
        "{:?}",
        stats.outbox_waits
    );
}

/// Who says nothing while it could act is let go; who waits for its own commands, or for a paused game, is not.
#[test]
fn silent_players_are_let_go_at_the_idle_limit() {
    let mut config = EngineConfig::new(game_config(10, 10, 20));
    config.limits.idle_span = Some(RealSpan::from_secs(10));
    let mut bench = quiet_with(config);
    let silent = bench.join("S", "a");
    let busy = bench.join("B", "b");
    let watching = bench.join("G", "GRAPHIC");
    // A unit takes ten milliseconds, so that these take seven seconds, said at once.
    for _ in 0..3 {
        bench.send(busy, &b"Forward\n".repeat(10));
        bench.run_for(ms(5_000));
    }
    assert!(!bench.peers[silent].is_open);
    assert!(bench.peers[busy].is_open && bench.peers[watching].is_open);
    let stats = bench.engine.stats(bench.now);
    assert_eq!(stats.counters.closed[CloseReason::Idle.index()], 1);
    // Nobody can act while the game is paused.
    bench.admin(AdminRequest::Pause).unwrap();
    bench.run_for(ms(60_000));
    assert!(bench.peers[busy].is_open);
    bench.admin(AdminRequest::Resume).unwrap();
    bench.run_for(ms(20_000) + WHEEL_RESOLUTION + WHEEL_RESOLUTION);
    assert!(!bench.peers[busy].is_open, "at most twice the limit");
    let stats = bench.engine.stats(bench.now);
    assert_eq!((stats.agents, stats.connections, stats.timers_pending), (0, 1, 0));
    assert!(bench.peers[watching].is_open, "those who watch may be silent");
}

#[test]
fn sessions_come_and_go_with_all_they_own() {
    let mut bench = quiet(100);
    for round in 0..50 {
        let agent = bench.join("A", ["a", "b"][round % 2]);
        assert_eq!(bench.engine.stats(bench.now).agents, 1);
        bench.send(agent, &b"Broadcast x\n".repeat(10));
        bench.peers[agent].is_reading = false;
        bench.run_for(ms(100));
        // By either side.
        if round < 30 {
            bench.close(agent);
        } else if bench.admin(AdminRequest::Kick(AgentId(round as u32))).is_ok() {
            bench.run_for(limits::FLUSH_SPAN + WHEEL_RESOLUTION);
        }
        let now = bench.now;
        let stats = bench.engine.stats(now);
        assert_eq!(
            (
                stats.connections,
                stats.agents,
                stats.outbox_bytes,
                stats.timers_pending
            ),
            (0, 0, 0, 0)
        );
        if bench
            .engine
            .game()
            .world()
            .teams()
            .iter()
            .all(|team| team.places() == 0)
        {
            break;
        }
    }
}

/// A session's role in the game changes, and goes, without touching how its bytes travel.
#[test]
fn what_a_peer_is_and_how_its_bytes_travel_are_apart() {
    let mut config = EngineConfig::new(game_config(10, 10, 20));
    config.auto_start = false;
    let mut bench = quiet_with(config);
    // Unread bytes outlive the change from a newcomer to a viewer.
    let peer = bench.open("G");
    bench.peers[peer].is_reading = false;
    bench.send(peer, b"GRAPHIC\nsgt\n");
    bench.admin(AdminRequest::Start).expect("it waits for that");
    let conn = bench.peers[peer].conn;
    let waiting = String::from_utf8(bench.engine.unsent(conn).to_vec()).expect("text");
    assert!(
        waiting.starts_with("WELCOME\nmsz 10 10\n") && waiting.ends_with("sgt 100\n"),
        "{waiting}"
    );
    // And the end of an agent: the game has forgotten it, its session still delivers.
    let agent = bench.join("A", "a");
    bench.peers[agent].is_reading = false;
    bench.send(agent, b"Connect_nbr\n");
    bench.act(AdminAction::Kill { agent: AgentId(0) });
    assert!(bench.engine.game().world().agent(AgentId(0)).is_none());
    bench.take_heard();
    bench.peers[agent].is_reading = true;
    bench.take_writes(agent);
    assert_eq!(bench.lines(agent), ["19", "dead"]);
}

#[test]
fn offences_are_counted_to_a_limit() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    let long = [vec![b'x'; 20_000], b"\n".to_vec()].concat();
    for _ in 1..limits::VIOLATIONS_MAX {
        bench.send(agent, &long);
        assert!(bench.peers[agent].is_open);
    }
    bench.send(agent, &long);
    assert!(!bench.peers[agent].is_open);
    let now = bench.now;
    let counters = bench.engine.stats(now).counters;
    assert_eq!(counters.violations, u64::from(limits::VIOLATIONS_MAX));
    assert_eq!(counters.closed[CloseReason::Violations.index()], 1);
}

/// A server that is killed has sent nothing that its journal does not show, whatever it was that came of time alone.
#[test]
fn whatever_was_sent_is_in_the_journal_as_it_was_then() {
    let mut bench = Bench::new(EngineConfig::new(game_config(5, 5, 4)));
    bench.engine.start_recording();
    bench.journal = Some(Vec::new());
    let agents = [bench.join("A", "a"), bench.join("B", "b")];
    bench.join("G", "GRAPHIC");
    bench.watch("V");
    for round in 0..30 {
        let lines = ["Forward\nLook\n", "Fork\n", "Broadcast hi\nTake food\n"][round % 3];
        bench.send(agents[round % 2], lines.as_bytes());
        bench.run_for(ms(61));
    }
    // Nobody says anything any more, and everybody starves.
    bench.run_for(RealSpan::from_secs(30));
    let journal = bench.journal.take().expect("it was kept");
    let mut moments = std::mem::take(&mut bench.sent_at);
    moments.dedup();
    assert!(moments.len() > 60, "{}", moments.len());
    for (bytes, steps) in moments {
        let verified = Replay::open(&journal[..bytes]).unwrap().verify().unwrap();
        assert_eq!(verified.end.steps, steps, "at byte {bytes}");
    }
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
    let conn = bench.peers[agent].conn;
    let handle = |bench: &mut Bench, bytes: &[u8]| {
        let now = bench.now;
        bench.engine.handle(Input::Bytes { conn, bytes }, now);
    };
    handle(&mut bench, b"Left\n");
    assert_eq!(pressure(&bench), JournalPressure::Waits);
    handle(&mut bench, b"nonsense\n");
    bench.now += ms(70);
    bench.engine.begin_pass(bench.now);
    while bench.engine.fire_next(bench.now).is_some() {}
    assert_eq!(pressure(&bench), JournalPressure::Presses, "it is answered");
    bench.after_pass();
    take(&mut bench);
    // It digests and dies, and nobody is sent anything.
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
    let conn = bench.peers[agent].conn;
    let speech = format!("Broadcast {}\n", "words ".repeat(1_300));
    let mut bytes = 0;
    while bench.engine.journal_pressure() != JournalPressure::Presses {
        assert!(bytes < 2 * limits::JOURNAL_PRESSING_BYTES);
        bytes += speech.len();
        let now = bench.now;
        bench.engine.handle(
            Input::Bytes {
                conn,
                bytes: speech.as_bytes(),
            },
            now,
        );
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
