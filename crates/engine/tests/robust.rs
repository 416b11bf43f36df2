//! Hostile, slow and many peers; and random ones, under the engine's own checks.
//!
//! In builds with assertions the engine compares its parts after every verb, so a random run that ends has
//! shown that every bound of `limits.rs` held throughout.

mod harness;

use std::net::IpAddr;

use harness::{Bench, Sound, game_config};
use proptest::prelude::*;
use trantor_engine::{AdminRequest, CloseReason, EngineConfig, Input, JournalBytes, RefillNews, limits};
use trantor_game::AdminAction;
use trantor_game::journal::Piece;
use trantor_game::replay::Replay;
use trantor_model::{AgentId, Counts, Level, Resource, Tile};
use trantor_protocol::wire::{StepKind, ToServer};
use trantor_time::{Frequency, RealSpan};

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn bench(width: u32, height: u32, places: u32) -> Bench {
    Bench::new(EngineConfig::new(game_config(width, height, places)))
}

fn closed(bench: &mut Bench, reason: CloseReason) -> u64 {
    let now = bench.now;
    bench.engine.stats(now).counters.closed[reason.index()]
}

/// An agent that sends and does not read is let go when its share of memory is full; nobody else notices.
#[test]
fn r_002_57_an_agent_that_does_not_read_is_let_go() {
    let mut bench = bench(5, 5, 3);
    let deaf = bench.join("A", "a");
    let other = bench.join("B", "b");
    bench.act(AdminAction::SetHunger { enabled: false });
    bench.peers[deaf].is_reading = false;
    let word = "x".repeat(16_000);
    let mut sent = 0;
    while bench.peers[deaf].is_open {
        sent += 1;
        assert!(sent < 40, "its outbox is bounded");
        bench.send(other, format!("Broadcast {word}\n").as_bytes());
        bench.run_for(ms(70));
    }
    assert!(sent > 10, "a quarter of a megabyte is kept for it");
    assert_eq!(closed(&mut bench, CloseReason::OutboxFull), 1);
    assert_eq!(bench.lines(other).last().unwrap(), "ok");
    assert!(
        bench.engine.game().world().agent(AgentId(0)).is_none(),
        "its agent is gone with it"
    );
}

/// A viewer that asks for the whole map without end and never reads costs two pieces of an answer, and goes in time.
#[test]
fn r_002_57_a_text_viewer_that_does_not_read_is_let_go() {
    let mut bench = bench(150, 150, 3);
    let deaf = bench.join("G", "GRAPHIC");
    let other = bench.join("H", "GRAPHIC");
    bench.peers[deaf].is_reading = false;
    for _ in 0..40 {
        bench.send(deaf, &b"mct\n".repeat(250));
        let now = bench.now;
        assert!(bench.engine.stats(now).outbox_bytes <= 2 * limits::OUTBOX_PAUSE_BYTES);
    }
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).counters.blocked_peers, 1);
    bench.run_for(limits::STALL_SPAN - ms(1));
    assert!(bench.peers[deaf].is_open);
    bench.run_for(ms(2));
    assert!(!bench.peers[deaf].is_open);
    assert_eq!(closed(&mut bench, CloseReason::Stalled), 1);
    bench.lines(other);
    bench.send(other, b"sgt\n");
    assert_eq!(bench.lines(other), ["sgt 100"]);
}

/// News that a viewer of text does not read grow up to its bound; then it goes.
#[test]
fn r_002_57_news_for_a_text_viewer_that_does_not_read_are_bounded() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.viewer_outbox_bytes_max = 100_000;
    let mut bench = Bench::new(config);
    let deaf = bench.join("G", "GRAPHIC");
    let agent = bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    bench.peers[deaf].is_reading = false;
    let speech = format!("Broadcast {}\n", "x".repeat(16_000));
    for _ in 0..7 {
        assert!(bench.peers[deaf].is_open);
        bench.send(agent, speech.as_bytes());
        bench.run_for(ms(70));
    }
    assert_eq!(closed(&mut bench, CloseReason::OutboxFull), 1);
}

/// A few that do not read cannot take more together than all may: whoever has let most wait makes room.
#[test]
fn what_waits_for_all_together_is_bounded() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.output_bytes_max = 150_000;
    let mut bench = Bench::new(config);
    let agent = bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    let speech = format!("Broadcast {}\n", "x".repeat(16_000));
    let first = bench.join("G", "GRAPHIC");
    bench.peers[first].is_reading = false;
    bench.send(agent, speech.as_bytes());
    bench.run_for(ms(70));
    let later: Vec<_> = ["H", "I"].map(|name| bench.join(name, "GRAPHIC")).to_vec();
    for viewer in &later {
        bench.peers[*viewer].is_reading = false;
    }
    for _ in 0..3 {
        bench.send(agent, speech.as_bytes());
        bench.run_for(ms(70));
    }
    assert!(!bench.peers[first].is_open, "it had let most wait");
    assert!(later.iter().all(|viewer| bench.peers[*viewer].is_open));
    assert_eq!(closed(&mut bench, CloseReason::MemoryFull), 1);
}

/// The whole map is answered piece by piece, in order, and what is asked behind it is answered behind it.
#[test]
fn an_answer_about_a_large_map_comes_whole_and_in_its_place() {
    let mut bench = bench(100, 100, 3);
    let viewer = bench.join("G", "GRAPHIC");
    bench.run_for(RealSpan::ZERO);
    bench.lines(viewer);
    bench.send(viewer, b"mct\nsgt\nmct\n");
    bench.run_for(ms(10_000));
    let lines = bench.lines(viewer);
    assert_eq!(lines.len(), 2 * 10_000 + 1);
    assert!(lines[0].starts_with("bct 0 0 ") && lines[9_999].starts_with("bct 99 99 "));
    assert_eq!(lines[10_000], "sgt 100");
    assert!(lines[10_001].starts_with("bct 0 0 "));
}

/// A flood is carried out at its rate: nothing is lost, and it costs no more than that. Text viewers share another
/// rate on top, all together.
#[test]
fn requests_beyond_the_rate_wait_and_are_counted() {
    let mut bench = bench(5, 5, 3);
    let floods = ["F", "G"].map(|name| bench.join(name, "GRAPHIC"));
    bench.take_heard();
    let rate = 2 * (u64::from(limits::REQUESTS_PER_SECOND) + 100)
        + u64::from(limits::REQUESTS_PER_SECOND * limits::SPARE_REQUESTS_FACTOR);
    let thousands_each = 2 * rate / 1_000;
    for _ in 0..thousands_each {
        for flooder in floods {
            bench.send(flooder, &b"sgt\n".repeat(1_000));
        }
    }
    let at_once = rate * u64::from(limits::REQUESTS_SAVED_SECONDS);
    let heard = |bench: &mut Bench| {
        floods
            .map(|flooder| bench.lines(flooder).len() as u64)
            .iter()
            .sum::<u64>()
    };
    let answered = heard(&mut bench);
    assert!(
        (at_once - 2..=at_once + 2).contains(&answered),
        "{answered} of {at_once}"
    );
    bench.run_for(ms(1_000));
    let answered = heard(&mut bench);
    assert!(
        (rate * 9 / 10..=rate * 11 / 10).contains(&answered),
        "{answered} of {rate}"
    );
    bench.run_for(ms(5_000));
    let now = bench.now;
    let counters = bench.engine.stats(now).counters;
    assert_eq!(counters.gui_requests, 2 * thousands_each * 1_000);
    assert_eq!(counters.throttled_peers, 2);
}

/// Viewers that ask for all they can know of every agent in each frame are answered at once.
#[test]
fn viewers_that_ask_for_everything_in_every_frame_are_not_held_up() {
    let mut bench = bench(20, 20, 100);
    let agents: Vec<_> = (0..100).map(|nth| bench.join(&format!("A{nth}"), "a")).collect();
    let viewer = bench.join("G", "GRAPHIC");
    bench.act(AdminAction::SetHunger { enabled: false });
    let mut frame = b"mct\n".to_vec();
    for number in 0..agents.len() {
        frame.extend(format!("ppo #{number}\nplv #{number}\npin #{number}\n").bytes());
    }
    for _ in 0..600 {
        bench.take_heard();
        bench.send(viewer, &frame);
        assert_eq!(bench.lines(viewer).len(), 400 + 300);
        bench.run_for(RealSpan::from_nanos(1_000_000_000 / 60));
    }
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).counters.throttled, 0);
}

/// The rate grows with the speed: an agent is never held up for commands that it could use.
#[test]
fn r_000_41_an_agent_that_keeps_ten_open_is_not_held_up_at_any_speed() {
    for (frequency, commands) in [(1, 100), (100, 1_000), (10_000, 30_000)] {
        let mut bench = bench(5, 5, 3);
        let agent = bench.join("A", "a");
        bench.act(AdminAction::SetHunger { enabled: false });
        bench.admin(AdminRequest::SetFrequency(frequency)).unwrap();
        bench.lines(agent);
        bench.send(agent, &b"Inventory\n".repeat(10));
        for _ in 0..commands {
            bench.run_for(RealSpan::from_nanos(1_000_000_000 / i64::from(frequency)));
            for _ in bench.lines(agent) {
                bench.send(agent, b"Inventory\n");
            }
        }
        let now = bench.now;
        let counters = bench.engine.stats(now).counters;
        assert_eq!(
            counters.throttled + counters.commands_dropped,
            0,
            "at {frequency}"
        );
        assert!(
            counters.commands > commands,
            "{} at {frequency}",
            counters.commands
        );
    }
}

/// Many viewers of text hear everything, each within the span of a tick, and not all at one moment.
#[test]
fn many_text_viewers_are_told_by_and_by() {
    let mut bench = bench(5, 5, 3);
    let agent = bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    let viewers: Vec<_> = (0..100)
        .map(|nth| bench.join(&format!("G{nth}"), "GRAPHIC"))
        .collect();
    bench.take_heard();
    bench.send(agent, b"Right\n");
    bench.run_for(ms(70));
    let told_at_once = viewers
        .iter()
        .filter(|viewer| !bench.lines(**viewer).is_empty())
        .count();
    assert_eq!(told_at_once, 0);
    bench.run_for(ms(25));
    let told: Vec<_> = viewers
        .iter()
        .copied()
        .filter(|viewer| {
            bench
                .lines(*viewer)
                .iter()
                .any(|line| line.starts_with("ppo #0 "))
        })
        .collect();
    assert!((1..100).contains(&told.len()), "{} of them were told", told.len());
    bench.run_for(ms(25));
    for viewer in viewers.iter().filter(|viewer| !told.contains(viewer)) {
        assert_eq!(bench.lines(*viewer).len(), 1);
    }
    // A viewer's own question takes what waits along, in order.
    bench.send(agent, b"Right\n");
    bench.run_for(ms(70));
    bench.send(viewers[99], b"sgt\n");
    let heard = bench.lines(viewers[99]);
    assert!(
        heard[0].starts_with("ppo #0 ") && heard[1] == "sgt 100",
        "{heard:?}"
    );
    // One that leaves meanwhile takes nobody's turn.
    bench.close(viewers[3]);
    bench.run_for(limits::TEXT_NEWS_SPAN);
    assert!(viewers.iter().enumerate().all(|(nth, viewer)| {
        nth == 3
            || nth == 99
            || bench
                .lines(*viewer)
                .iter()
                .any(|line| line.starts_with("ppo #0 "))
    }));
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).outbox_bytes, 0);
}

#[test]
fn connections_are_limited_in_all_and_by_address() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.connections_max = 5;
    config.limits.connections_per_address_max = Some(2);
    let mut bench = Bench::new(config);
    let far = |last| IpAddr::from([192, 0, 2, last]);
    let first = bench.open_from("A", far(1));
    bench.open_from("B", far(1));
    let third = bench.open_from("C", far(1));
    assert!(!bench.peers[third].is_open);
    assert_eq!(bench.lines(third), ["[closed: too_many_from_address]"]);
    bench.close(first);
    let again = bench.open_from("D", far(1));
    assert!(bench.peers[again].is_open, "there is room again");
    for name in ["E", "F", "G"] {
        let own = bench.open(name);
        assert!(bench.peers[own].is_open, "this machine counts as many");
    }
    let sixth = bench.open_from("H", far(2));
    assert_eq!(bench.lines(sixth), ["[closed: too_many_connections]"]);
    assert_eq!(closed(&mut bench, CloseReason::TooManyConnections), 1);
    assert_eq!(closed(&mut bench, CloseReason::TooManyFromAddress), 1);
}

/// Messages may be shorter than usual, and a peer that does not know is let go sooner.
#[test]
fn r_003_56_the_length_of_messages_and_the_offences_borne_can_be_chosen() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.message_bytes_max = 100;
    config.limits.violations_max = 2;
    let mut bench = Bench::new(config);
    let agent = bench.join("A", "a");
    bench.lines(agent);
    bench.send(agent, format!("Broadcast {}\n", "x".repeat(90)).as_bytes());
    bench.run_for(ms(70));
    assert_eq!(bench.lines(agent), ["ok"]);
    bench.send(agent, format!("Broadcast {}\n", "x".repeat(91)).as_bytes());
    bench.run_for(ms(70));
    assert_eq!(bench.lines(agent), ["ko"]);
    bench.send(agent, &[b'x'; 300]);
    assert_eq!(closed(&mut bench, CloseReason::Violations), 1);
}

#[test]
fn r_000_27_what_is_said_before_the_start_is_bounded() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.auto_start = false;
    let mut bench = Bench::new(config);
    let flooder = bench.open("A");
    let other = bench.open("B");
    bench.send(other, b"b\n");
    for _ in 0..64 {
        bench.send(flooder, &[b'x'; 1024]);
    }
    assert!(bench.peers[flooder].is_open);
    bench.send(flooder, b"x");
    assert!(!bench.peers[flooder].is_open);
    assert_eq!(closed(&mut bench, CloseReason::InboxFull), 1);
    bench.admin(AdminRequest::Start).unwrap();
    assert_eq!(bench.lines(other), ["WELCOME", "2\\n5 5"]);
}

/// Whoever is owed something and does not take it is not waited for longer than the limit.
#[test]
fn a_dead_agent_that_does_not_read_is_closed_after_a_while() {
    let mut bench = bench(5, 5, 3);
    let deaf = bench.join("A", "a");
    bench.peers[deaf].is_reading = false;
    bench.take_heard();
    bench.act(AdminAction::Kill { agent: AgentId(0) });
    bench.run_for(ms(4_999));
    assert_eq!(bench.lines(deaf), Vec::<String>::new());
    bench.run_for(ms(1));
    assert_eq!(bench.lines(deaf), ["[closed: died]"]);
    assert_eq!(bench.engine.poll_timeout(), None);
}

/// More agents than fit the sets of old system calls: places in a table, not bits in a set.
#[test]
fn corner_23_many_connections() {
    let mut bench = bench(10, 10, 550);
    let agents: Vec<_> = (0..1_100)
        .map(|number| bench.join(&number.to_string(), ["a", "b"][number % 2]))
        .collect();
    bench.take_heard();
    assert_eq!(bench.engine.game().world().agents().len(), 1_100);
    let late = bench.join("late", "a");
    assert_eq!(bench.lines(late), ["WELCOME", "ko"]);
    for agent in [agents[0], agents[1_099]] {
        bench.send(agent, b"Inventory\n");
    }
    bench.run_for(ms(10));
    let now = bench.now;
    let stats = bench.engine.stats(now);
    assert_eq!((stats.connections, stats.agents), (1_101, 1_100));
    for agent in [agents[0], agents[1_099]] {
        assert_eq!(bench.lines(agent).len(), 1);
    }
}

/// One flood a pass from an agent costs what it sends, and nobody else's answers are late.
#[test]
fn r_000_29_a_flood_of_commands_is_dropped_and_counted() {
    let mut bench = bench(5, 5, 3);
    let flooder = bench.join("A", "a");
    let other = bench.join("B", "b");
    let flood = b"Forward\n".repeat(5_000);
    bench.take_heard();
    bench.send(flooder, &flood);
    bench.send(other, b"Left\n");
    bench.run_for(ms(70));
    assert_eq!(bench.lines(other), ["ok"]);
    let now = bench.now;
    let counters = bench.engine.stats(now).counters;
    assert_eq!(
        counters.commands_dropped,
        counters.commands - 11,
        "ten and the other's are taken"
    );
    assert!(
        counters.commands_dropped > 2_000,
        "what was saved up is spent at once"
    );
    assert!(counters.commands < 3_000, "the rest is held up");
    bench.run_for(ms(630));
    assert_eq!(bench.lines(flooder).len(), 10);
}

/// A shell that does not take the journal loses it, not the server its memory.
#[test]
fn a_journal_that_nobody_takes_ends_at_its_bound() {
    let mut config = EngineConfig::new(game_config(2, 2, 3));
    config.limits.requests_per_second = 1_000_000;
    let mut bench = Bench::new(config);
    let agent = bench.join("A", "a");
    bench.engine.start_recording();
    bench.run_for(ms(100));
    assert!(bench.engine.poll_journal().is_some());
    let speech = format!("Broadcast {}\n", "x".repeat(16_000));
    let mut sent = 0;
    while bench.engine.is_recording() {
        bench.send(agent, speech.as_bytes());
        sent += speech.len();
        assert!(sent <= 2 * limits::JOURNAL_WAITING_BYTES_MAX);
    }
    assert!(sent > limits::JOURNAL_WAITING_BYTES_MAX / 2);
    assert_eq!(bench.engine.poll_journal(), None);
    assert_eq!(bench.engine.stop_recording(), []);
}

/// What two peers say, cut anywhere.
fn conversation() -> impl Strategy<Value = Vec<(bool, Vec<u8>, u16)>> {
    let word = prop_oneof![
        4 => prop::sample::select(vec![
            "Forward", "Left", "Right", "Look", "Inventory", "Fork", "Eject", "Take food", "Set food", "Connect_nbr",
            "Broadcast hello there", "Incantation", "Take linemate", "Forward x", "", "foo", "Broadcast",
        ]).prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..30),
    ];
    let line = (word, prop_oneof![5 => Just("\n"), 1 => Just("\r\n")])
        .prop_map(|(word, end)| [&word[..], end.as_bytes()].concat());
    let lines = prop::collection::vec(line, 1..6).prop_map(|lines| lines.concat());
    prop::collection::vec((any::<bool>(), lines, 0u16..120), 1..25)
}

/// Plays a conversation with bytes in pieces of these sizes; answers all that was heard.
fn play(conversation: &[(bool, Vec<u8>, u16)], sizes: &[usize]) -> Vec<(usize, Sound)> {
    let mut bench = bench(4, 3, 3);
    let peers = [bench.join("A", "a"), bench.join("B", "b")];
    bench.join("G", "GRAPHIC");
    let mut sizes = sizes.iter().cycle();
    for (is_second, bytes, wait) in conversation {
        let peer = peers[usize::from(*is_second)];
        let mut rest = &bytes[..];
        let conn = bench.peers[peer].conn;
        bench.pass(|engine, now| {
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((*sizes.next().expect("there are sizes")).min(rest.len()));
                engine.handle(Input::Bytes { conn, bytes: piece }, now);
                rest = after;
            }
        });
        bench.run_for(ms(i64::from(*wait)));
    }
    bench.run_for(ms(15_000));
    bench
        .take_heard()
        .into_iter()
        .map(|heard| (heard.peer, heard.what))
        .collect()
}

/// One thing that may happen in a random run.
#[derive(Clone, Debug)]
enum Step {
    Open,
    Join(u8),
    WatchText,
    WatchFrames,
    Say(u8, Vec<u8>),
    Viewer(u8, ToServer),
    Close(u8),
    Reading(u8, bool),
    Admin(AdminRequest),
    Wait(u32),
    /// A pass with a budget: the rest of the work is left for the next one.
    CutPass(u32, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let line = prop_oneof![
        6 => prop::sample::select(vec![
            "Forward\n", "Left\nLeft\nLeft\n", "Look\n", "Fork\n", "Eject\n", "Take food\n", "Incantation\n",
            "Broadcast hi\n", "Connect_nbr\nConnect_nbr\n", "mct\n", "ppo 0\n", "sst 1000\n", "sst 3\n", "a\n", "b\n",
            "GRAPHIC\n", "TRANTOR\n", "nope\n", "Inventory\nSet food\nInventory\n",
        ]).prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..60),
        1 => Just(vec![b'x'; 20_000]),
    ];
    let message = prop_oneof![
        (0u32..20_000).prop_map(|frequency| ToServer::SetFrequency { frequency }),
        Just(ToServer::Pause),
        Just(ToServer::Resume),
        Just(ToServer::Step(StepKind::Unit)),
        Just(ToServer::Step(StepKind::Event)),
        Just(ToServer::Step(StepKind::Action)),
        Just(ToServer::Probe { token: 1 }),
        Just(ToServer::Goodbye),
    ];
    let agent = (0u32..8).prop_map(AgentId);
    let tile = (0u16..4, 0u16..3).prop_map(|(x, y)| Tile { x, y });
    let action = prop_oneof![
        (agent.clone(), tile.clone()).prop_map(|(agent, tile)| AdminAction::Teleport {
            agent,
            tile,
            facing: None
        }),
        (agent.clone(), 1u8..=8).prop_map(|(agent, level)| {
            AdminAction::SetLevel {
                agent,
                level: Level::new(level).expect("1 to 8"),
            }
        }),
        (agent.clone(), 0u32..20).prop_map(|(agent, count)| {
            AdminAction::SetInventory {
                agent,
                resource: Resource::Food,
                count,
            }
        }),
        tile.prop_map(|tile| AdminAction::SetGround {
            tile,
            ground: Counts([3; 7])
        }),
        agent.clone().prop_map(|agent| AdminAction::Kill { agent }),
        any::<bool>().prop_map(|enabled| AdminAction::SetHunger { enabled }),
        any::<bool>().prop_map(|enabled| AdminAction::SetRefill { enabled }),
    ];
    let admin = prop_oneof![
        8 => action.prop_map(AdminRequest::Act),
        2 => agent.prop_map(AdminRequest::Kick),
        1 => Just(AdminRequest::Start),
        1 => Just(AdminRequest::Say(b"hello".to_vec())),
        1 => Just(AdminRequest::Resume),
    ];
    prop_oneof![
        2 => Just(Step::Open),
        3 => any::<u8>().prop_map(Step::Join),
        1 => Just(Step::WatchText),
        1 => Just(Step::WatchFrames),
        12 => (any::<u8>(), line).prop_map(|(peer, line)| Step::Say(peer, line)),
        3 => (any::<u8>(), message).prop_map(|(peer, message)| Step::Viewer(peer, message)),
        1 => any::<u8>().prop_map(Step::Close),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(peer, reads)| Step::Reading(peer, reads)),
        3 => admin.prop_map(Step::Admin),
        6 => (0u32..3_000).prop_map(Step::Wait),
        3 => (0u32..600, 0u8..5).prop_map(|(wait, budget)| Step::CutPass(wait, budget)),
    ]
}

/// Takes what waits of a journal, and puts it behind the pieces before.
fn keep(pieces: &mut Vec<Vec<u8>>, taken: impl IntoIterator<Item = JournalBytes>) {
    for journal in taken {
        pieces.resize(journal.piece as usize + 1, Vec::new());
        pieces[journal.piece as usize].extend(journal.bytes);
    }
}

/// Replays every piece: each digest on the way, the seam to the next piece, and the end.
fn assert_replays(pieces: &[Vec<u8>], bench: &Bench) {
    for (number, bytes) in pieces.iter().enumerate() {
        let replay = Replay::open(&bytes[..]).expect("a whole piece");
        assert_eq!(replay.head().number as usize, number);
        let verified = replay
            .verify()
            .unwrap_or_else(|divergence| panic!("piece {number}: {divergence}"));
        match pieces.get(number + 1) {
            Some(next) => {
                let next = Piece::open(&next[..])
                    .expect("a whole piece")
                    .snapshot()
                    .expect("a whole snapshot");
                verified
                    .check_seam(&next)
                    .expect("the next piece begins where this one ends");
            }
            None => assert_eq!(verified.game.digest(), bench.engine.game().digest()),
        }
    }
}

/// A random run; answers all that was heard. What reached the game is recorded and replayed (R-001-42).
fn run(steps: &[Step], config: EngineConfig) -> Vec<(usize, Sound)> {
    let mut bench = Bench::new(config);
    bench.engine.start_recording();
    let mut pieces = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        keep(&mut pieces, bench.engine.poll_journal());
        if number % 40 == 39 {
            bench.engine.begin_journal_piece();
        }
        let pick = |bench: &Bench, number: u8| {
            (!bench.peers.is_empty()).then(|| usize::from(number) % bench.peers.len())
        };
        let is_viewer = |bench: &Bench, peer: usize| bench.peers[peer].viewer.is_some();
        match step {
            Step::Open => drop(bench.open("P")),
            Step::Join(team) => drop(bench.join("A", ["a", "b"][usize::from(*team) % 2])),
            Step::WatchText => drop(bench.join("G", "GRAPHIC")),
            Step::WatchFrames => drop(bench.watch("V")),
            Step::Say(number, bytes) => {
                if let Some(peer) = pick(&bench, *number).filter(|peer| !is_viewer(&bench, *peer)) {
                    bench.send(peer, bytes);
                }
            }
            Step::Viewer(number, message) => {
                let viewer = pick(&bench, *number).filter(|peer| is_viewer(&bench, *peer));
                if let Some(peer) = viewer.filter(|peer| bench.peers[*peer].is_open) {
                    bench.say(peer, message);
                }
            }
            Step::Close(number) => {
                if let Some(peer) = pick(&bench, *number) {
                    bench.close(peer);
                }
            }
            Step::Reading(number, reads) => {
                if let Some(peer) = pick(&bench, *number) {
                    bench.peers[peer].is_reading = *reads;
                    bench.take_writes(peer);
                }
            }
            // Refusals are part of the run.
            Step::Admin(request) => drop(bench.admin(request.clone())),
            Step::Wait(millis) => {
                bench.pass(|_, _| {});
                bench.run_for(ms(i64::from(*millis)));
            }
            Step::CutPass(millis, budget) => {
                bench.now += ms(i64::from(*millis));
                bench.engine.begin_pass(bench.now);
                for _ in 0..*budget {
                    bench.engine.fire_next(bench.now);
                }
                bench.after_pass();
            }
        }
    }
    // Then everything that is due is done, and the engine finds rest or goes on in order.
    bench.pass(|_, _| {});
    bench.run_for(ms(20_000));
    while let Some(taken) = bench.engine.poll_journal() {
        keep(&mut pieces, [taken]);
    }
    keep(&mut pieces, bench.engine.stop_recording());
    assert_replays(&pieces, &bench);
    bench
        .take_heard()
        .into_iter()
        .map(|heard| (heard.peer, heard.what))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However bytes are cut, the same is heard by the same peers in the same order.
    #[test]
    fn corner_01_the_cut_of_bytes_makes_no_difference(
        conversation in conversation(),
        sizes in prop::collection::vec(1usize..12, 1..20),
    ) {
        prop_assert_eq!(play(&conversation, &[usize::MAX]), play(&conversation, &sizes));
    }

    /// Anything from anybody at any time: no panic, no bound passed, no part that disagrees with another
    /// (the engine checks itself after each verb, viewers of ours check every message and compare worlds);
    /// a second run of the same is the same (R-000-50), and so is its replay from the journal (R-001-41).
    #[test]
    fn r_000_50_and_r_001_41_random_runs_hold_together_repeat_and_replay(
        steps in prop::collection::vec(step(), 1..120),
        variant in 0usize..6,
    ) {
        let config = || {
            let mut config = EngineConfig::new(game_config(4, 3, 3));
            config.game.rules.respawn_places = variant == 1;
            config.game.rules.egg_hatch_units = if variant == 2 { 600 } else { 0 };
            config.auto_start = variant != 3;
            config.refill_news = if variant == 4 { RefillNews::All } else { RefillNews::Changed };
            config.match_duration = (variant == 5).then(|| RealSpan::from_secs(10));
            config.frequency = Frequency::new(if variant == 4 { 10_000 } else { 100 }).unwrap();
            config
        };
        prop_assert_eq!(run(&steps, config()), run(&steps, config()));
    }
}
