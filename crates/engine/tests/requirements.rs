//! What the world's server promises, one test a promise; the numbers are those of `docs/requirements.md`.
//!
//! Whole conversations are in `transcripts/`; here is what needs arithmetic, thousands of repetitions, or a
//! look inside.

mod harness;

use harness::{Bench, Sound, game_config};
use trantor_engine::{AdminRequest, CloseReason, EngineConfig, FiredKind, Input, JournalPressure, limits};
use trantor_game::{AdminAction, DueKind};
use trantor_model::{AgentId, Counts, Direction, Resource, Tile};
use trantor_time::wheel::WHEEL_RESOLUTION;
use trantor_time::{Frequency, GameTime, RealSpan, RealTime};

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn ns(nanos: i64) -> RealSpan {
    RealSpan::from_nanos(nanos)
}

/// A game without refill and hunger, so that nothing happens but what is asked for.
fn quiet(frequency: u64) -> Bench {
    let mut config = EngineConfig::new(game_config(10, 10, 20));
    config.frequency = Frequency::new(frequency).expect("a frequency");
    quiet_with(config)
}

fn quiet_with(config: EngineConfig) -> Bench {
    let mut bench = Bench::new(config);
    bench.act(AdminAction::SetRefill { enabled: false });
    bench.act(AdminAction::SetHunger { enabled: false });
    bench
}

/// When a peer heard each thing, in nanoseconds since `began`.
fn instants(bench: &mut Bench, peer: usize, began: RealTime) -> Vec<i64> {
    let heard = bench.take_heard();
    heard
        .iter()
        .filter(|heard| heard.peer == peer)
        .map(|heard| (heard.real - began).as_nanos())
        .collect()
}

/// An agent alone, where one of everything lies.
fn amid_riches() -> (Bench, usize) {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.put_agent(0, 5, 5, Direction::North);
    bench.act(AdminAction::SetGround {
        tile: Tile { x: 5, y: 5 },
        ground: Counts([1; 7]),
    });
    bench.take_heard();
    (bench, agent)
}

#[test]
fn r_000_3_a_unit_lasts_one_second_divided_by_the_frequency() {
    for (frequency, forward_ns) in [
        (1, 7_000_000_000),
        (100, 70_000_000),
        (300, 23_333_334),
        (1_000, 7_000_000),
        (10_000, 700_000),
    ] {
        let mut bench = quiet(frequency);
        let agent = bench.join("A", "a");
        bench.take_heard();
        let began = bench.now;
        bench.send(agent, b"Forward\n");
        bench.run_for(ms(8_000));
        assert_eq!(
            instants(&mut bench, agent, began),
            [forward_ns],
            "7 units at {frequency}, rounded up"
        );
    }
}

/// What is read comes before what is due, and is stamped no later than the earliest of it: reading late does
/// not push a command behind work it did not wait for.
#[test]
fn r_000_23_input_is_taken_before_due_work() {
    let mut bench = quiet(100);
    let [early, late] = [bench.join("A", "a"), bench.join("B", "b")];
    let began = bench.now;
    bench.send(early, b"Left\n");
    bench.take_heard();
    bench.now = began + ms(76);
    bench.send(late, b"Left\n");
    assert_eq!(bench.lines(early), ["ok"]);
    bench.run_for(ms(100));
    assert_eq!(
        instants(&mut bench, late, began),
        [140_000_000],
        "from 70 ms on, when the oldest work was due"
    );
}

#[test]
fn r_000_25_replies_leave_in_the_pass_that_made_them() {
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
fn r_000_28_one_port_for_all_and_a_limit_on_silence() {
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

#[test]
fn r_000_32_a_change_of_speed_keeps_the_units_left_and_their_fractions() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    let began = bench.now;
    bench.take_heard();
    bench.send(agent, b"Forward\n");
    // 2.000 000 1 units pass; 4.999 999 9 are left, which take 49 999 999 000 / 7 ns at 7 a second, rounded up.
    bench.run_for(ns(20_000_001));
    bench.admin(AdminRequest::SetFrequency(7)).unwrap();
    bench.run_for(ms(2_000));
    let left_ns = (4_999_999_900_i64 + 6) / 7;
    assert_eq!(instants(&mut bench, agent, began), [20_000_001 + left_ns]);
}

#[test]
fn r_000_33_setting_the_same_speed_every_millisecond_changes_nothing() {
    let (mut bench, agent) = amid_riches();
    let began = bench.now;
    bench.send(agent, b"Incantation\n");
    while bench.now < began + ms(3_500) {
        bench.run_for(ms(1));
        bench.admin(AdminRequest::SetFrequency(100)).unwrap();
    }
    assert_eq!(
        instants(&mut bench, agent, began),
        [0, 3_000_000_000],
        "3.000 s, to the nanosecond"
    );
}

/// Ten thousand changes at random: the units that passed are the sum over the frequencies, exactly, and the
/// order of completion is that of a run without any change.
#[test]
fn r_000_33_ten_thousand_changes_lose_no_time_and_no_order() {
    let lines = ["Forward\n", "Inventory\n", "Fork\n", "Left\n", "Look\n"];
    let run = |changes: usize| {
        let mut bench = quiet(100);
        let agents: Vec<_> = (0..5)
            .map(|number| bench.join(&number.to_string(), "a"))
            .collect();
        for (agent, line) in agents.iter().zip(lines) {
            bench.send(*agent, line.repeat(10).as_bytes());
        }
        bench.take_heard();
        let game_began = bench.engine.game_now();
        let mut passed_nu = 0;
        let mut chance: u64 = 99;
        for _ in 0..changes {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let frequency = 1 + (chance >> 40) as u32 % 1_000;
            let gap = ns((chance >> 33) as i64 % 200_000);
            bench.admin(AdminRequest::SetFrequency(frequency)).unwrap();
            bench.run_for(gap);
            passed_nu += i128::from(gap.as_nanos()) * i128::from(frequency);
        }
        let shown = bench.engine.game_clock().now(bench.now) - game_began;
        assert_eq!(
            shown.as_nanounits(),
            passed_nu,
            "game time is the integral of the frequency"
        );
        bench.admin(AdminRequest::SetFrequency(1_000)).unwrap();
        bench.run_for(ms(2_000));
        bench
            .take_heard()
            .into_iter()
            .map(|heard| (heard.game, heard.peer, heard.what))
            .collect::<Vec<_>>()
    };
    let (changed, steady) = (run(10_000), run(0));
    let what = |heard: &(GameTime, usize, Sound)| (heard.1, heard.2.clone());
    assert_eq!(
        changed.iter().map(what).collect::<Vec<_>>(),
        steady.iter().map(what).collect::<Vec<_>>()
    );
    assert!(changed.len() == 50);
}

#[test]
fn r_000_34_a_change_takes_effect_for_the_present_wait() {
    let mut bench = quiet(1);
    let agent = bench.join("A", "a");
    bench.send(agent, b"Fork\n");
    assert_eq!(bench.engine.poll_timeout(), Some(bench.now + ms(42_000)));
    bench.admin(AdminRequest::SetFrequency(10_000)).unwrap();
    assert_eq!(bench.engine.poll_timeout(), Some(bench.now + ns(4_200_000)));
    bench.admin(AdminRequest::Pause).unwrap();
    assert_eq!(bench.engine.poll_timeout(), None);
    bench.run_for(ms(1_000_000));
    bench.admin(AdminRequest::Resume).unwrap();
    assert_eq!(bench.engine.poll_timeout(), Some(bench.now + ns(4_200_000)));
}

/// When passes come too late for the speed that was set, the game slows, and says by how much.
#[test]
fn r_000_37_a_shortfall_shows_in_the_figures() {
    let mut bench = quiet(10_000);
    let agent = bench.join("A", "a");
    bench.send(agent, &b"Left\n".repeat(10));
    bench.now += ms(1_000);
    // One deadline a pass, and each pass a second after the last: far too slow for what is due.
    let mut lateness = Vec::new();
    for _ in 0..3 {
        bench.engine.begin_pass(bench.now);
        lateness.extend(bench.engine.fire_next(bench.now).map(|fired| fired.lateness_ns));
        bench.after_pass();
        bench.now += ms(1_000);
    }
    let now = bench.now;
    let stats = bench.engine.stats(now);
    assert_eq!(lateness, [250_000_000; 3], "no more than the lag allowed");
    assert_eq!(stats.slips, 3);
    assert!(stats.slipped.as_units_f64() > 7_400.0, "{:?}", stats.slipped);
    assert_eq!(
        bench.lines(agent).iter().filter(|line| *line == "ok").count(),
        3,
        "and nothing is lost"
    );
}

#[test]
fn r_000_38_and_r_000_39_one_command_at_a_time_in_order_and_at_once_if_idle() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.take_heard();
    let began = bench.now;
    bench.send(agent, b"Inventory\nLeft\nConnect_nbr\nInventory\n");
    bench.run_for(ms(500));
    assert_eq!(
        instants(&mut bench, agent, began),
        [10_000_000, 80_000_000, 80_000_000, 90_000_000]
    );
    // Idle, at a moment that is no whole unit: it starts there and then.
    bench.run_for(ns(3_333_333));
    let began = bench.now;
    bench.send(agent, b"Left\n");
    bench.run_for(ms(100));
    assert_eq!(instants(&mut bench, agent, began), [70_000_000]);
}

/// A hundred Forward without a gap, though every pass comes 0.4 ms late.
#[test]
fn r_000_40_back_to_back_commands_leave_no_gap() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.send(agent, &b"Forward\n".repeat(10));
    bench.take_heard();
    let began = bench.now;
    let mut heard = Vec::new();
    for _ in 0..100 {
        let due = bench.engine.poll_timeout().expect("a command is under way");
        bench.now = due + ns(400_000);
        bench.pass(|_, _| {});
        heard.extend(
            bench
                .take_heard()
                .into_iter()
                .map(|heard| (heard.real - began).as_nanos()),
        );
        bench.send(agent, b"Forward\n");
    }
    let expected: Vec<i64> = (1..=100).map(|step| step * 70_000_000 + 400_000).collect();
    assert_eq!(
        heard, expected,
        "the last one at 7.000 s, and as late as its own pass"
    );
}

#[test]
fn r_000_41_ten_commands_wait_and_the_eleventh_is_dropped_and_counted() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.take_heard();
    bench.send(agent, &b"Left\n".repeat(11));
    bench.send(agent, b"Left\n");
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).counters.commands_dropped, 2);
    bench.run_for(ms(5_000));
    assert_eq!(bench.lines(agent).len(), 10);
}

#[test]
fn r_000_42_each_command_takes_its_time() {
    let table = [
        ("Forward", 7),
        ("Right", 7),
        ("Left", 7),
        ("Look", 7),
        ("Inventory", 1),
        ("Broadcast x", 7),
        ("Connect_nbr", 0),
        ("Fork", 42),
        ("Eject", 7),
        ("Take food", 7),
        ("Set food", 7),
        ("Incantation", 300),
    ];
    for (line, units) in table {
        let (mut bench, agent) = amid_riches();
        let began = bench.now;
        bench.send(agent, format!("{line}\n").as_bytes());
        bench.run_for(ms(4_000));
        assert_eq!(
            instants(&mut bench, agent, began).last(),
            Some(&(units * 10_000_000)),
            "{line}"
        );
    }
}

#[test]
fn r_000_43_what_is_not_understood_is_answered_and_costs_nothing() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    let viewer = bench.join("G", "GRAPHIC");
    bench.take_heard();
    bench.send(agent, b"dance\n\nforward\n");
    bench.send(viewer, b"dance\n\nppo x\n");
    assert_eq!(bench.lines(agent), ["ko", "ko", "ko"]);
    assert_eq!(bench.lines(viewer), ["suc", "suc", "sbp"]);
    assert_eq!(bench.engine.poll_timeout(), None);
    let now = bench.now;
    let counters = bench.engine.stats(now).counters;
    assert_eq!(
        (
            counters.commands_malformed,
            counters.gui_unknown,
            counters.gui_refused
        ),
        (3, 2, 1)
    );
}

#[test]
fn r_000_44_and_r_000_45_hunger_and_refill_are_scheduled_work_at_the_exact_unit() {
    let mut bench = Bench::new(EngineConfig::new(game_config(10, 10, 2)));
    let targets = [50_u64, 30, 15, 10, 10, 8, 5];
    assert_eq!(*bench.engine.game().world().ground_totals(), targets);
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "a full world has nothing to refill"
    );
    let began = bench.now;
    bench.run_for(ms(123));
    let agent = bench.join("A", "a");
    bench.take_heard();
    // Taken away at 12.3 units: topped up at 20, on the grid of the world and not of the change.
    bench.act(AdminAction::SetGround {
        tile: Tile { x: 0, y: 0 },
        ground: Counts::ZERO,
    });
    for x in 0..10 {
        bench.act(AdminAction::SetGround {
            tile: Tile { x, y: 3 },
            ground: Counts::ZERO,
        });
    }
    assert_eq!(bench.engine.poll_timeout(), Some(began + ms(200)));
    bench.run_for(ms(77));
    assert_eq!(*bench.engine.game().world().ground_totals(), targets);
    bench.run_for(ms(12_600));
    assert_eq!(
        instants(&mut bench, agent, began),
        [12_723_000_000; 2],
        "dead, 1260 units after birth, and the end"
    );
}

#[test]
fn r_000_46_and_r_000_47_conditions_are_checked_when_they_count() {
    // An item that is there when it is asked for and gone when the delay ends; and the other way round.
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.put_agent(0, 5, 5, Direction::North);
    bench.take_heard();
    let tile = Tile { x: 5, y: 5 };
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts([1; 7]),
    });
    bench.send(agent, b"Take phiras\n");
    bench.run_for(ms(69));
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts::ZERO,
    });
    bench.run_for(ms(1));
    assert_eq!(bench.lines(agent), ["ko"]);
    bench.send(agent, b"Take phiras\n");
    bench.run_for(ms(69));
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts([1; 7]),
    });
    bench.run_for(ms(1));
    assert_eq!(bench.lines(agent), ["ok"]);
    // An elevation: refused at the start, or at the end.
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts::ZERO,
    });
    bench.send(agent, b"Incantation\n");
    assert_eq!(bench.lines(agent), ["ko"]);
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts([1; 7]),
    });
    bench.send(agent, b"Incantation\n");
    bench.run_for(ms(2_999));
    assert_eq!(bench.lines(agent), ["Elevation underway"]);
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts::ZERO,
    });
    bench.run_for(ms(1));
    assert_eq!(bench.lines(agent), ["ko"]);
}

/// A text viewer that joins late and one that was there from the start agree on everything they can ask.
#[test]
fn r_000_48_a_viewer_gets_the_whole_state_and_then_every_change() {
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

#[test]
fn r_000_49_nothing_of_a_dead_or_departed_agent_is_left() {
    let mut bench = quiet(100);
    bench.act(AdminAction::SetHunger { enabled: true });
    let [killed, gone] = [bench.join("A", "a"), bench.join("B", "b")];
    bench.take_heard();
    for agent in [killed, gone] {
        bench.send(agent, &b"Forward\n".repeat(10));
    }
    bench.run_for(ms(10));
    bench.act(AdminAction::Kill { agent: AgentId(0) });
    assert_eq!(bench.lines(killed), ["dead", "[end]"]);
    bench.close(gone);
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "no command, no hunger, no limit is pending"
    );
    assert_eq!(bench.engine.game().world().agents().len(), 0);
}

#[test]
fn r_x_27_speed_and_pause_move_one_anchor_and_no_deadline() {
    let mut bench = quiet(100);
    bench.act(AdminAction::SetHunger { enabled: true });
    let agent = bench.join("A", "a");
    bench.send(agent, b"Fork\nForward\n");
    bench.run_for(ms(33));
    let deadline = bench.engine.game().next_deadline();
    assert_eq!(deadline, Some(GameTime::from_units(42)));
    for request in [
        AdminRequest::SetFrequency(7),
        AdminRequest::Pause,
        AdminRequest::SetFrequency(9_999),
        AdminRequest::Resume,
    ] {
        bench.run_for(ns(12_345));
        bench.admin(request).expect("it fits");
        assert_eq!(bench.engine.game().next_deadline(), deadline);
    }
}

/// R-003-45, R-003-50: what is owed leaves in the order it came to be owed; a viewer's in one write.
#[test]
fn r_003_45_and_r_003_50_order_is_kept_and_a_viewers_messages_are_joined() {
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
fn r_003_46_and_r_003_47_what_is_meant_for_a_session_that_is_gone_is_dropped_and_counted() {
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

/// R-003-48: others hear at the same instants, whether one peer reads or not.
#[test]
fn r_003_48_a_peer_that_does_not_read_delays_nobody() {
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
fn r_003_52_the_age_of_what_waits_is_a_figure() {
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
fn r_003_15_silent_players_are_let_go_at_the_idle_limit() {
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
    assert_eq!((stats.agents, stats.connections, stats.chores_pending), (0, 1, 0));
    assert!(bench.peers[watching].is_open, "those who watch may be silent");
}

#[test]
fn r_003_53_and_r_003_57_sessions_come_and_go_with_all_they_own() {
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
                stats.chores_pending
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
fn r_003_54_what_a_peer_is_and_how_its_bytes_travel_are_apart() {
    let mut bench = quiet(100);
    // Unread bytes outlive the change from a newcomer to a viewer.
    let peer = bench.open("G");
    bench.peers[peer].is_reading = false;
    bench.send(peer, b"nope\nGRAPHIC\nsgt\n");
    let conn = bench.peers[peer].conn;
    let waiting = String::from_utf8(bench.engine.unsent(conn).to_vec()).expect("text");
    assert!(
        waiting.starts_with("ko\nmsz 10 10\n") && waiting.ends_with("sgt 100\n"),
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
fn r_003_56_offences_are_counted_to_a_limit() {
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

/// A game of a hundred years, for all that the engine's own arithmetic cares.
#[test]
fn r_x_8_a_century_passes_without_a_wrap() {
    let mut bench = quiet(10_000);
    let agent = bench.join("A", "a");
    let viewer = bench.watch("V");
    bench.run_for(ms(120));
    bench.close(viewer);
    let century = RealSpan::from_secs(100 * 365 * 24 * 3_600);
    bench.run_for(century);
    bench.take_heard();
    let began = bench.now;
    bench.send(agent, b"Take food\nInventory\n");
    bench.run_for(ms(10));
    assert_eq!(instants(&mut bench, agent, began), [700_000, 800_000]);
    let viewer = bench.watch("V");
    bench.run_for(ms(120));
    let (number, _) = bench.viewer(viewer).last_tick.expect("ticks run");
    assert_eq!(number, 4, "two ticks a century ago, and three now");
    assert!(bench.viewer(viewer).copy.is_some());
    assert_eq!(
        bench.engine.game_now().whole_units() / 10_000,
        i128::from(century.as_nanos() / 1_000_000_000)
    );
}

/// Everybody's stock of one resource, for the reader who wants to see that operators' words arrive.
#[test]
fn operators_reach_into_the_world_and_are_refused_in_words() {
    let mut bench = quiet(100);
    bench.join("A", "a");
    bench.act(AdminAction::SetInventory {
        agent: AgentId(0),
        resource: Resource::Sibur,
        count: 5,
    });
    let agent = bench.engine.game().world().agent(AgentId(0)).expect("it lives");
    assert_eq!(agent.inventory()[Resource::Sibur], 5);
    for (request, words) in [
        (
            AdminRequest::Act(AdminAction::Kill { agent: AgentId(9) }),
            "no such agent",
        ),
        (AdminRequest::Kick(AgentId(9)), "nobody plays agent 9"),
        (AdminRequest::SetFrequency(0), "from 1 to 10000"),
        (AdminRequest::Start, "started already"),
        (AdminRequest::Say(b"a\nb".to_vec()), "one line"),
    ] {
        let refusal = bench.admin(request).expect_err("it does not fit");
        assert!(refusal.to_string().contains(words), "{refusal}");
    }
}

/// The journal is written for many passes at once, and no agent is answered what it does not know.
#[test]
fn r_001_47_a_journal_may_wait_until_an_agent_could_be_told() {
    let mut bench = Bench::new(EngineConfig::new(game_config(3, 3, 4)));
    let pressure = |bench: &Bench| bench.engine.journal_pressure();
    assert_eq!(pressure(&bench), JournalPressure::None, "nothing is recorded");
    bench.engine.start_recording();
    let take = |bench: &mut Bench| while bench.engine.poll_journal().is_some() {};
    assert_eq!(pressure(&bench), JournalPressure::Presses, "the beginning");
    take(&mut bench);
    assert_eq!(pressure(&bench), JournalPressure::None);
    let agent = bench.join("A", "a");
    assert_eq!(
        pressure(&bench),
        JournalPressure::Presses,
        "who joins is told at once"
    );
    take(&mut bench);
    for (line, expected) in [
        ("Forward", JournalPressure::Waits),
        ("Connect_nbr", JournalPressure::Presses),
        ("Look", JournalPressure::Waits),
        ("Inventory", JournalPressure::Waits),
        ("Broadcast hi", JournalPressure::Waits),
        ("Fork", JournalPressure::Presses),
        ("Incantation", JournalPressure::Presses),
        ("nonsense", JournalPressure::Presses),
    ] {
        bench.send(agent, format!("{line}\n").as_bytes());
        assert_eq!(pressure(&bench), expected, "{line}");
        take(&mut bench);
    }
    bench.send(agent, b"Left\n");
    bench.run_for(ms(9));
    assert_eq!(pressure(&bench), JournalPressure::Waits);
    bench.run_for(ms(1));
    assert_eq!(
        pressure(&bench),
        JournalPressure::Presses,
        "after a unit something may follow"
    );
    take(&mut bench);
    bench.close(agent);
    assert_eq!(
        pressure(&bench),
        JournalPressure::Presses,
        "who leaves is gone at once"
    );
}
