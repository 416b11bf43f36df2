//! Any bytes in any pieces, any steps in any order: the parts agree, and it replays.

use proptest::prelude::*;
use trantor_engine::{AdminRequest, EngineConfig, Input, JournalBytes, RefillNews, limits};
use trantor_game::AdminAction;
use trantor_game::journal::Piece;
use trantor_game::replay::Replay;
use trantor_model::{AgentId, Counts, Level, Resource, Tile};
use trantor_protocol::wire::{StepKind, ToServer};
use trantor_time::{Frequency, RealSpan};

use super::{bench, ms};
use crate::harness::{Bench, Sound, game_config};

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
            "GRAPHIC\n", "TRANTOR\n", "ADMIN\n", "nope\n", "Inventory\nSet food\nInventory\n",
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

/// A random run; answers all that was heard. What reached the game is recorded and replayed.
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
    /// a second run of the same is the same, and so is its replay from the journal.
    #[test]
    fn random_runs_hold_together_repeat_and_replay(
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
