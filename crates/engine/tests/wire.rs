//! Viewers of ours against a dull one that copies the world word for word.

mod harness;

use harness::{Bench, game_config};
use trantor_engine::{AdminRequest, Control, EngineConfig};
use trantor_game::AdminAction;
use trantor_model::{AgentId, CommandKind, Counts, Direction, Resource, TeamId, Tile};
use trantor_protocol::wire::{ClientHello, StepKind, ToClient, ToServer, WIRE_VERSION, write_frame};
use trantor_time::{GameTime, RealSpan};

fn bench(width: u32, height: u32) -> Bench {
    Bench::new(EngineConfig::new(game_config(width, height, 8)))
}

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

/// A busy little game: everybody does something all the time.
fn keep_busy(bench: &mut Bench, agents: &[usize], rounds: usize) {
    let lines = [
        "Forward",
        "Take food",
        "Right",
        "Look",
        "Broadcast hi",
        "Set food",
        "Eject",
        "Fork",
        "Incantation",
        "Left",
        "Take linemate",
        "foo",
    ];
    for round in 0..rounds {
        for (number, agent) in agents.iter().enumerate() {
            let line = lines[(round * 5 + number * 7 + round / 3) % lines.len()];
            bench.send(*agent, format!("{line}\n").as_bytes());
        }
        bench.run_for(ms(37));
    }
}

#[test]
fn r_000_38_a_viewer_that_watches_an_agent_is_told_what_waits_behind_what_it_does() {
    let mut bench = bench(6, 5);
    let (busy, other) = (bench.join("A", "a"), bench.join("B", "b"));
    let viewer = bench.watch("V");
    bench.run_for(ms(60));
    assert!(bench.viewer(viewer).waiting.is_empty(), "nothing was asked for");
    let watched = AgentId(0);
    bench.say(viewer, &ToServer::Watch { agent: Some(watched) });
    bench.send(busy, b"Forward\nRight\nfoo\nLook\n");
    bench.send(other, b"Look\nLook\n");
    bench.run_for(ms(60));
    let told = bench.viewer(viewer).waiting.last().cloned();
    let waiting = vec![Some(CommandKind::Right), None, Some(CommandKind::Look)];
    assert_eq!(told, Some((watched, waiting)));
    bench.run_for(ms(2_000));
    let told = &bench.viewer(viewer).waiting;
    assert_eq!(told.last(), Some(&(watched, vec![])), "all is done");
    let count = told.len();
    assert!(count <= 5, "only changes are told: {told:?}");
    // Nobody is watched any more.
    bench.say(viewer, &ToServer::Watch { agent: None });
    bench.send(busy, b"Forward\nRight\nLook\n");
    bench.run_for(ms(2_000));
    assert_eq!(bench.viewer(viewer).waiting.len(), count);
    assert!(bench.viewer(viewer).is_acked());
}

#[test]
fn who_comes_after_the_end_is_told_who_won() {
    let mut bench = bench(6, 5);
    bench.join("A", "b");
    let viewer = bench.watch("V");
    bench.act(AdminAction::EndMatch);
    bench.run_for(ms(100));
    let late = bench.watch("W");
    bench.run_for(ms(100));
    assert_eq!(bench.engine.game().winner(), Some(TeamId(1)));
    for peer in [viewer, late] {
        let copy = bench.viewer(peer).copy.as_ref().unwrap();
        assert_eq!(copy.winner, Some(TeamId(1)));
    }
}

#[test]
fn the_copy_equals_the_world_between_end_marks() {
    let mut bench = bench(6, 5);
    let agents: Vec<_> = (0..6)
        .map(|number| bench.join(&format!("A{number}"), ["a", "b"][number % 2]))
        .collect();
    let viewer = bench.watch("V");
    keep_busy(&mut bench, &agents[..3], 40);
    let late = bench.watch("W");
    keep_busy(&mut bench, &agents, 200);
    bench.close(agents[1]);
    bench.act(AdminAction::Kill { agent: AgentId(2) });
    bench.run_for(ms(15_000));
    for peer in [viewer, late] {
        let viewer = bench.viewer(peer);
        assert!(viewer.is_acked() && viewer.is_complete());
        assert!(viewer.changes > 500, "{} changes", viewer.changes);
        assert_eq!((viewer.snapshots, viewer.skipped), (1, 0));
    }
    assert!(bench.copies_compared > 500);
    assert_eq!(
        bench.engine.game().world().agents().len(),
        0,
        "in the end all have starved"
    );
}

#[test]
fn r_002_42_the_hello_tells_the_grid_and_ticks_follow_it() {
    let mut bench = bench(2, 2);
    let first = bench.watch("V");
    let hello = bench.viewer(first).hello.clone().unwrap();
    assert_eq!(
        (hello.tick_period_us, hello.last_tick, hello.next_tick_us),
        (50_000, None, 50_000)
    );
    assert_eq!(hello.teams, ["a", "b"]);
    assert!(hello.may_control);
    bench.run_for(ms(1_010));
    assert_eq!(bench.viewer(first).last_tick, Some((19, 1_000_000)));

    let second = bench.watch("W");
    let hello = bench.viewer(second).hello.clone().unwrap();
    assert_eq!(
        (hello.last_tick, hello.next_tick_us),
        (Some((19, -10_000)), 40_000)
    );
    bench.run_for(ms(100));
    assert_eq!(bench.viewer(second).last_tick, Some((21, 90_000)));
}

/// Nobody watches: no ticks, no figures, nothing to wake up for. Somebody comes back: the sum still comes out.
#[test]
fn r_000_20_ticks_run_only_while_somebody_watches() {
    let mut bench = bench(3, 3);
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "a full world without agents has nothing to do"
    );
    let viewer = bench.watch("V");
    assert!(bench.engine.poll_timeout().is_some());
    bench.run_for(ms(200));
    bench.close(viewer);
    assert_eq!(bench.engine.poll_timeout(), None);
    bench.run_for(ms(3_600_000));
    let viewer = bench.watch("V");
    bench.run_for(ms(125));
    let (number, instant_us) = bench.viewer(viewer).last_tick.unwrap();
    assert_eq!((number, instant_us), (6, 100_000));
    let now = bench.now;
    assert_eq!(
        bench.engine.stats(now).ticks_skipped,
        0,
        "instants without a watcher are not skips"
    );
    assert!(
        bench.viewer(viewer).skipped > 70_000,
        "but they count in the marks"
    );
}

#[test]
fn r_000_20_idle_text_viewers_and_agents_wake_nobody() {
    let mut bench = bench(5, 5);
    for number in 0..50 {
        bench.join(&format!("G{number}"), "GRAPHIC");
    }
    assert_eq!(bench.engine.poll_timeout(), None);
    bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    // So many viewers hear by and by that it has come.
    bench.run_for(trantor_engine::limits::TEXT_NEWS_SPAN);
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "an agent without hunger and commands has nothing to do"
    );
    bench.act(AdminAction::SetHunger { enabled: true });
    bench.admin(AdminRequest::Pause).unwrap();
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "a paused game has nothing to do"
    );
}

#[test]
fn r_000_31_speed_pause_and_step_reach_every_viewer_at_once() {
    let mut bench = bench(2, 2);
    bench.act(AdminAction::SetRefill { enabled: false });
    let one = bench.watch("V");
    let other = bench.watch("W");
    bench.run_for(RealSpan::from_nanos(33_333_333));
    bench.say(one, &ToServer::SetFrequency { frequency: 700 });
    for peer in [one, other] {
        let now = bench.now;
        let expected = bench.engine.game_clock().now(now + RealSpan::from_nanos(667));
        let anchor = bench.viewer(peer).clock.unwrap();
        assert_eq!((anchor.frequency.get(), anchor.paused), (700, false));
        assert_eq!(
            (anchor.real_us, anchor.game),
            (33_334, expected),
            "exact, at a whole microsecond"
        );
    }
    bench.say(one, &ToServer::Pause);
    assert!(bench.viewer(other).clock.unwrap().paused);
    let stood = bench.viewer(other).clock.unwrap().game;
    bench.run_for(ms(10_000));
    bench.say(other, &ToServer::Step(StepKind::Unit));
    let anchor = bench.viewer(one).clock.unwrap();
    assert_eq!(
        (anchor.game.whole_units(), anchor.game.unit_fraction_nu()),
        (stood.whole_units() + 1, 0)
    );
    bench.say(other, &ToServer::Resume);
    assert!(!bench.viewer(one).clock.unwrap().paused);
    assert!(bench.viewer(one).is_acked() && bench.viewer(other).is_acked());
    assert_eq!(
        bench.viewer(one).clocks,
        5,
        "one with the hello, one for each change"
    );
}

#[test]
fn r_000_35_refusals_come_in_words_and_change_nothing() {
    let mut bench = bench(2, 2);
    let viewer = bench.watch("V");
    for (message, words) in [
        (ToServer::SetFrequency { frequency: 0 }, "from 1 to 10000"),
        (ToServer::SetFrequency { frequency: 10_001 }, "from 1 to 10000"),
        (ToServer::SetFrequency { frequency: u32::MAX }, "from 1 to 10000"),
        (ToServer::Resume, "not paused"),
        (ToServer::Step(StepKind::Unit), "not paused"),
        (ToServer::Step(StepKind::Event), "not paused"),
    ] {
        let number = bench.say(viewer, &message);
        let (refused, reason) = bench.viewer(viewer).refused.pop().unwrap();
        assert_eq!(refused, number);
        assert!(reason.contains(words), "{reason}");
    }
    bench.say(viewer, &ToServer::Pause);
    assert!(bench.viewer(viewer).refused.is_empty());
    bench.say(viewer, &ToServer::Pause);
    assert!(
        bench
            .viewer(viewer)
            .refused
            .pop()
            .unwrap()
            .1
            .contains("paused already")
    );
    bench.say(viewer, &ToServer::Step(StepKind::Event));
    assert!(
        bench
            .viewer(viewer)
            .refused
            .pop()
            .unwrap()
            .1
            .contains("nothing is due")
    );
    assert_eq!(bench.viewer(viewer).clocks, 2);
    assert_eq!(bench.engine.game_clock().frequency().get(), 100);
}

#[test]
fn viewers_that_may_not_control_are_told_so() {
    let mut config = EngineConfig::new(game_config(2, 2, 1));
    config.control = Control::Nobody;
    let mut bench = Bench::new(config);
    let viewer = bench.watch("V");
    assert!(!bench.viewer(viewer).hello.as_ref().unwrap().may_control);
    for message in [
        ToServer::SetFrequency { frequency: 200 },
        ToServer::Pause,
        ToServer::Resume,
    ] {
        bench.say(viewer, &message);
        assert!(
            bench
                .viewer(viewer)
                .refused
                .pop()
                .unwrap()
                .1
                .contains("its own console")
        );
    }
    assert!(!bench.engine.game_clock().is_paused());
}

#[test]
fn r_002_50_and_r_002_51_each_message_is_acknowledged_after_its_effects() {
    let mut bench = bench(2, 2);
    let viewer = bench.watch("V");
    assert_eq!(
        bench.viewer(viewer).acked,
        3,
        "the hello is number 1, and credit went out for two pieces"
    );
    bench.viewer(viewer).log = Some(Vec::new());
    bench.viewer(viewer).say(&ToServer::Probe { token: 7 });
    bench.viewer(viewer).say(&ToServer::SetFrequency { frequency: 5 });
    bench.viewer(viewer).say(&ToServer::SetFrequency { frequency: 0 });
    bench.viewer(viewer).say(&ToServer::Pause);
    bench.speak(viewer);
    let log = bench.viewer(viewer).log.take().unwrap();
    let kinds: Vec<_> = log
        .iter()
        .filter(|message| !matches!(message, ToClient::StreamTime { .. }))
        .map(|message| match message {
            ToClient::ProbeReply { .. } => "probe".to_owned(),
            ToClient::Clock(_) => "clock".to_owned(),
            ToClient::Refused { number, .. } => format!("refused {number}"),
            ToClient::Ack { number } => format!("ack {number}"),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        "probe",
        "ack 4",
        "clock",
        "ack 5",
        "refused 6",
        "ack 6",
        "clock",
        "ack 7",
    ];
    assert_eq!(kinds, expected);
}

/// Nothing of a pass is acknowledged after it, however many messages there were.
#[test]
fn r_002_52_acknowledgements_come_within_the_pass() {
    let mut bench = bench(2, 2);
    let viewer = bench.watch("V");
    for token in 0..500 {
        bench.viewer(viewer).say(&ToServer::Probe { token });
    }
    bench.speak(viewer);
    assert!(bench.viewer(viewer).is_acked());
    assert_eq!(bench.viewer(viewer).probes.len(), 500);
}

/// Begin mark, what happened, end mark; between ticks, stream time just before what it belongs to, and only if
/// the viewer would otherwise take it for another moment.
#[test]
fn r_002_43_and_r_002_44_and_r_x_29_marks_and_stream_time_are_used_together() {
    let mut bench = bench(5, 5);
    bench.act(AdminAction::SetRefill { enabled: false });
    let agent = bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    let viewer = bench.watch("V");
    bench.run_for(ms(60));
    bench.viewer(viewer).log = Some(Vec::new());
    bench.send(agent, b"Right\n");
    bench.run_for(ms(20));
    bench.say(viewer, &ToServer::Pause);
    bench.say(viewer, &ToServer::Resume);
    bench.run_for(ms(80));
    let log = bench.viewer(viewer).log.take().unwrap();
    let kinds: Vec<_> = log
        .iter()
        .map(|message| match message {
            ToClient::TickBegin { number, skipped: 0 } => format!("begin {number}"),
            ToClient::TickEnd { number } => format!("end {number}"),
            ToClient::StreamTime { instant_us } => format!("stream {instant_us}"),
            ToClient::Changes { changes, .. } => format!("{} change", changes.len()),
            ToClient::Clock(_) => "clock".to_owned(),
            ToClient::Ack { number } => format!("ack {number}"),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        // At 80 ms, between the ticks of 50 and of 100: both messages belong to one moment, told once.
        "stream 80000",
        "clock",
        "ack 5",
        "clock",
        "ack 6",
        // What began at 60 ms, then what ended at 130 ms.
        "begin 1",
        "1 change",
        "end 1",
        "begin 2",
        "1 change",
        "end 2",
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn r_002_37_probes_are_answered_with_the_servers_clock() {
    let mut bench = bench(2, 2);
    let viewer = bench.watch("V");
    bench.run_for(RealSpan::from_nanos(12_345_678));
    bench.say(viewer, &ToServer::Probe { token: 99 });
    assert_eq!(bench.viewer(viewer).probes, [(99, 12_345)]);
}

#[test]
fn another_version_is_refused_in_words() {
    let mut bench = bench(2, 2);
    let peer = bench.watch("V");
    assert!(bench.peers[peer].is_open);
    let peer = bench.open("W");
    let mut bytes = b"TRANTOR\n".to_vec();
    let hello = ClientHello {
        version: WIRE_VERSION + 1,
        program: "viewer 9".to_owned(),
    };
    write_frame(&mut bytes, &ToServer::Hello(hello)).unwrap();
    let mut viewer = harness::viewer::Viewer::new();
    viewer.hear(b"WELCOME\n");
    bench.peers[peer].viewer = Some(Box::new(viewer));
    bench.send(peer, &bytes);
    let refused = bench.viewer(peer).refused.clone();
    assert_eq!(refused.len(), 1);
    assert!(
        refused[0].1.contains("viewer 9 speaks version"),
        "{}",
        refused[0].1
    );
    assert!(!bench.peers[peer].is_open, "and the connection ends");
}

#[test]
fn r_002_58_whoever_breaks_the_wire_is_told_and_let_go() {
    let long = u32::MAX.to_le_bytes().to_vec();
    let unknown = [&1u32.to_le_bytes()[..], &[0xee]].concat();
    let framed = |message: &ToServer| {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, message).unwrap();
        bytes
    };
    let hello = framed(&ToServer::Hello(ClientHello {
        version: WIRE_VERSION,
        program: String::new(),
    }));
    let credit = framed(&ToServer::Credit { items: 2 });
    for (bytes, words) in [
        (long, "was announced"),
        (unknown, "no message"),
        (hello, "said once"),
        (credit, "more credit"),
    ] {
        let mut bench = bench(2, 2);
        let other = bench.watch("W");
        let viewer = bench.watch("V");
        bench.send(viewer, &bytes);
        let goodbye = bench.viewer(viewer).goodbye.clone().unwrap();
        assert!(goodbye.contains(words), "{goodbye}");
        assert!(!bench.peers[viewer].is_open);
        bench.run_for(ms(200));
        assert!(bench.peers[other].is_open, "the others hear nothing of it");
    }
    // Before the hello too.
    let mut bench = bench(2, 2);
    let peer = bench.open("V");
    let mut viewer = harness::viewer::Viewer::new();
    viewer.hear(b"WELCOME\n");
    bench.peers[peer].viewer = Some(Box::new(viewer));
    bench.send(peer, &[&b"TRANTOR\n"[..], &framed(&ToServer::Pause)].concat());
    assert!(
        bench
            .viewer(peer)
            .goodbye
            .as_ref()
            .unwrap()
            .contains("first message")
    );
    assert_eq!(bench.engine.poll_timeout(), None);
}

#[test]
fn r_002_56_a_large_world_comes_on_credit() {
    let mut bench = bench(300, 200);
    let agents: Vec<_> = (0..4)
        .map(|number| bench.join(&format!("A{number}"), "a"))
        .collect();
    let viewer = bench.open("V");
    let mut dull = harness::viewer::Viewer::new();
    dull.hear(b"WELCOME\n");
    dull.credits = false;
    bench.peers[viewer].viewer = Some(Box::new(dull));
    bench.speak(viewer);
    assert_eq!(bench.viewer(viewer).parts, 20, "no more than there is credit for");
    keep_busy(&mut bench, &agents, 10);
    assert_eq!(bench.viewer(viewer).parts, 20);
    bench.viewer(viewer).credit(5);
    bench.speak(viewer);
    assert_eq!(bench.viewer(viewer).parts, 25);
    bench.viewer(viewer).credits = true;
    let owed = bench.viewer(viewer).uncredited;
    bench.viewer(viewer).credit(owed);
    bench.speak(viewer);
    bench.run_for(ms(100));
    let parts = 300 * 200 / 1024 + 1 + 2;
    assert_eq!(bench.viewer(viewer).parts, parts as u32);
    assert_eq!(bench.viewer(viewer).snapshots, 1);
    assert!(
        bench.viewer(viewer).changes > 0,
        "what happened meanwhile came after it"
    );
    keep_busy(&mut bench, &agents, 20);
    assert!(bench.copies_compared > 0);
}

/// What lies on a tile is told as it is when its piece is sent: what changed since the beginning comes after it all the
/// same, and the last word is the right one.
#[test]
fn r_002_56_a_large_world_changes_while_it_is_told() {
    let mut bench = bench(300, 200);
    bench.act(AdminAction::SetRefill { enabled: false });
    let viewer = bench.open("V");
    let mut slow = harness::viewer::Viewer::new();
    slow.hear(b"WELCOME\n");
    slow.credits = false;
    bench.peers[viewer].viewer = Some(Box::new(slow));
    bench.speak(viewer);
    let ends = [Tile { x: 0, y: 0 }, Tile { x: 299, y: 199 }];
    for count in [7, 3, 5] {
        for tile in ends {
            let mut ground = Counts::ZERO;
            ground[Resource::Phiras] = count;
            bench.act(AdminAction::SetGround { tile, ground });
        }
        bench.run_for(ms(60));
        bench.viewer(viewer).credit(10);
        bench.speak(viewer);
    }
    assert_eq!(bench.copies_compared, 0, "it is still being told");
    bench.viewer(viewer).credits = true;
    let owed = bench.viewer(viewer).uncredited;
    bench.viewer(viewer).credit(owed);
    bench.speak(viewer);
    bench.run_for(ms(100));
    assert!(bench.copies_compared > 0, "and then it knows the world as it is");
    let size = bench.engine.config().game.size;
    let copy = bench.viewer(viewer).copy.as_ref().expect("a copy");
    assert!(
        ends.iter()
            .all(|tile| copy.ground[size.index_of(*tile)][Resource::Phiras] == 5)
    );
}

/// A viewer that stops reading is not let go, and not sent all of the past: it gets a fresh snapshot.
#[test]
fn r_002_57_a_slow_viewer_is_thinned_to_a_fresh_snapshot() {
    let mut config = EngineConfig::new(game_config(10, 10, 8));
    config.frequency = trantor_time::Frequency::new(1_000).unwrap();
    let mut bench = Bench::new(config);
    let agents: Vec<_> = (0..8)
        .map(|number| bench.join(&format!("A{number}"), "a"))
        .collect();
    bench.act(AdminAction::SetHunger { enabled: false });
    let slow = bench.watch("V");
    let quick = bench.watch("W");
    bench.run_for(ms(100));
    bench.peers[slow].is_reading = false;
    let speech = format!("Broadcast {}\n", "x".repeat(300)).repeat(10);
    for _ in 0..75 {
        for agent in &agents {
            bench.send(*agent, speech.as_bytes());
        }
        bench.run_for(ms(70));
        bench.take_heard();
    }
    let now = bench.now;
    let stats = bench.engine.stats(now);
    assert_eq!(
        stats.counters.viewers_thinned, 1,
        "{} bytes wait",
        stats.outbox_bytes
    );
    assert!(stats.outbox_bytes < 2 * trantor_engine::limits::VIEWER_NEWS_BYTES_MAX);
    assert!(bench.peers[slow].is_open);
    let compared = bench.copies_compared;
    bench.peers[slow].is_reading = true;
    bench.take_writes(slow);
    bench.run_for(ms(200));
    assert_eq!(bench.viewer(slow).snapshots, 2);
    assert!(bench.viewer(slow).is_complete() && bench.viewer(slow).is_acked());
    assert_eq!(bench.viewer(quick).snapshots, 1, "a quick one is not concerned");
    keep_busy(&mut bench, &agents, 20);
    assert!(bench.copies_compared > compared);
}

#[test]
fn figures_come_once_a_second() {
    let mut bench = bench(4, 4);
    let agent = bench.join("A", "a");
    let viewer = bench.watch("V");
    bench.join("G", "GRAPHIC");
    bench.send(agent, b"Forward\nForward\n");
    bench.run_for(ms(3_500));
    let stats = bench.viewer(viewer).stats.clone();
    assert_eq!(stats.len(), 3);
    let last = &stats[2];
    assert_eq!((last.connections, last.viewers), (3, 2));
    assert_eq!(
        (last.teams.len(), last.teams[0].agents, last.teams[0].places),
        (2, 1, 7)
    );
    assert_eq!(last.effective_frequency_milli, 100_000);
    assert_eq!(
        (last.uptime_ms, last.slipped_units, last.ticks_skipped),
        (3_000, 0, 0)
    );
    assert!(last.deadlines_fired >= 4 && last.passes > 0);
    assert_eq!(last.lateness_max_ns, 0, "a manual clock is never late");
}

/// R-002-49: under overload, with ticks late by up to three periods, stream time never goes back; the dull
/// viewer checks it at every message. Passes are as far apart as a stalled machine would make them.
#[test]
fn r_002_49_stream_time_never_goes_back_under_overload() {
    let mut bench = bench(2, 2);
    let agents: Vec<_> = (0..2)
        .map(|number| bench.join(&format!("A{number}"), "a"))
        .collect();
    bench.act(AdminAction::SetHunger { enabled: false });
    let viewer = bench.watch("V");
    let mut stall: u64 = 12_345;
    for round in 0..50_000_u64 {
        // A small generator of our own: the same stalls each time.
        stall = stall
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        bench.now += RealSpan::from_nanos((stall >> 33) as i64 % 150_000_000);
        let agent = agents[(round % 2) as usize];
        let messages = [
            ToServer::Probe { token: round },
            ToServer::SetFrequency {
                frequency: 1 + (round % 300) as u32,
            },
            ToServer::Pause,
            ToServer::Resume,
        ];
        bench
            .viewer(viewer)
            .say(&messages[(stall >> 60) as usize % messages.len()]);
        // Input comes first in a pass, so it is read while ticks and deadlines are still due.
        let bytes = std::mem::take(&mut bench.viewer(viewer).to_send);
        let conn = bench.peers[viewer].conn;
        let agent_conn = bench.peers[agent].conn;
        bench.pass(|engine, now| {
            engine.handle(trantor_engine::Input::Bytes { conn, bytes: &bytes }, now);
            engine.handle(
                trantor_engine::Input::Bytes {
                    conn: agent_conn,
                    bytes: b"Forward\n",
                },
                now,
            );
        });
        bench.take_heard();
    }
    let now = bench.now;
    let hours = (now.as_nanos() - 1_000_000_000) as f64 / 3.6e12;
    assert!(hours > 1.0, "{hours} hours passed");
    assert!(bench.viewer(viewer).skipped > 20_000);
    assert!(bench.viewer(viewer).is_acked());
    assert_eq!(
        bench.engine.stats(now).ticks_skipped,
        bench.viewer(viewer).skipped
    );
}

/// Game time of everything that is told lies where the anchor says.
#[test]
fn actions_are_told_with_their_ends() {
    let mut bench = bench(10, 10);
    let agent = bench.join("A", "a");
    let viewer = bench.watch("V");
    bench.put_agent(0, 5, 5, Direction::North);
    bench.viewer(viewer).log = Some(Vec::new());
    bench.send(agent, b"Forward\n");
    bench.run_for(ms(60));
    let action = bench.viewer(viewer).copy.as_ref().unwrap().agents[&AgentId(0)]
        .action
        .unwrap();
    assert_eq!(action.kind, trantor_model::CommandKind::Forward);
    assert!(!action.refused);
    assert_eq!(
        (action.start, action.end),
        (GameTime::ZERO, GameTime::from_units(7)),
        "told while it goes on"
    );
    let before = bench.viewer(viewer).copy.as_ref().unwrap().agents[&AgentId(0)]
        .view
        .tile;
    assert_eq!((before.x, before.y), (5, 5));
    bench.run_for(ms(60));
    let after = bench.viewer(viewer).copy.as_ref().unwrap().agents[&AgentId(0)]
        .view
        .tile;
    assert_eq!((after.x, after.y), (5, 4));
}

#[test]
fn a_line_that_is_refused_is_told_so_when_it_begins() {
    let mut bench = bench(10, 10);
    let agent = bench.join("A", "a");
    let viewer = bench.watch("V");
    bench.send(agent, b"Forward x\n");
    bench.run_for(ms(60));
    let action = bench.viewer(viewer).copy.as_ref().unwrap().agents[&AgentId(0)]
        .action
        .unwrap();
    assert_eq!(action.kind, trantor_model::CommandKind::Forward);
    assert!(action.refused, "nothing will come of it");
}

/// Between leaps game time stands still; viewers are shown how fast it goes on the whole.
#[test]
fn in_lock_step_viewers_are_shown_how_fast_the_game_goes() {
    let mut bench = Bench::new(EngineConfig {
        lock_step: Some(RealSpan::from_secs(5)),
        ..EngineConfig::new(game_config(10, 10, 1))
    });
    let viewer = bench.watch("V");
    let agents = [bench.join("A", "a"), bench.join("B", "b")];
    let clock = |bench: &mut Bench| bench.viewer(viewer).clock.unwrap();
    bench.run_for(ms(120));
    assert!(clock(&mut bench).paused, "nobody has sent anything");
    // A step of 7 units every 10 milliseconds.
    for _ in 0..20 {
        for agent in agents {
            bench.send(agent, b"Forward\n");
        }
        bench.run_for(ms(10));
    }
    let shown = clock(&mut bench);
    assert!(!shown.paused);
    assert_eq!(shown.frequency.get(), 700);
    assert_eq!(bench.engine.game().now(), GameTime::from_units(140));
    bench.admin(AdminRequest::Pause).unwrap();
    assert!(clock(&mut bench).paused, "somebody holds it");
    assert!(
        bench.admin(AdminRequest::Step(StepKind::Unit)).is_err(),
        "there are no steps"
    );
    bench.admin(AdminRequest::Resume).unwrap();
    bench.run_for(ms(120));
    assert!(clock(&mut bench).paused, "it waits again");
    assert_eq!(clock(&mut bench).game, GameTime::from_units(140));
}
