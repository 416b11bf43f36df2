//! Recordings shown to viewers: what they see is what was, wherever they go in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use trantor_engine::{Engine, EngineConfig, PlaybackStart, limits};
use trantor_game::replay::{IndexedPiece, Recording};
use trantor_model::{AdminAction, AgentId, Control, MarkKind, Refusal, TeamId, Tile};
use trantor_play::leap::Leap;
use trantor_play::minds::MindKind;
use trantor_protocol::wire::{History, ToServer};
use trantor_time::{GameSpan, GameTime, RealSpan, RealTime};

use super::ms;
use crate::harness::viewer::assert_same;
use crate::harness::{Bench, game_config};

fn units(units: i64) -> GameTime {
    GameTime::from_units(units)
}

/// A busy game of 3,000 units in three pieces, at 100, 300 and 1,000 units a second.
fn recorded() -> Arc<Recording> {
    recorded_where_eggs_hatch(0)
}

/// As `recorded`, where eggs take so many units to ripen.
fn recorded_where_eggs_hatch(units_to_hatch: u32) -> Arc<Recording> {
    let mut game = game_config(6, 5, 4);
    game.rules.egg_hatch_units = units_to_hatch;
    let mut bench = Bench::new(EngineConfig::new(game));
    bench.engine.start_recording();
    let agents: Vec<usize> = (0..6)
        .map(|number| bench.join(&format!("A{number}"), ["a", "b"][number % 2]))
        .collect();
    // No agent starves before there was something to see.
    bench.act(AdminAction::SetHunger { enabled: false });
    let lines: Vec<&str> = "Forward,Take food,Right,Broadcast hi,Fork,Eject,Incantation,Take linemate"
        .split(',')
        .collect();
    let mut pieces = vec![Vec::new(); 3];
    for (piece, frequency) in [(0, 100), (1, 300), (2, 1_000)] {
        bench.control(Control::SetFrequency(frequency)).expect("a speed");
        while bench.engine.game_now() < units(1_000 * (piece as i64 + 1)) {
            for (number, agent) in agents.iter().enumerate() {
                let line = lines[(bench.now.as_nanos() as usize / 1_000 + number * 7) % lines.len()];
                bench.send(*agent, format!("{line}\n").as_bytes());
            }
            bench.run_for(ms(50));
        }
        // It ends before the first agent starves.
        bench.act(AdminAction::SetHunger { enabled: piece == 0 });
        if piece == 1 {
            bench.control(Control::Pause).expect("it runs");
            bench.control(Control::Resume).expect("it stands");
            bench.act(AdminAction::Kill { agent: AgentId(3) });
        }
        if piece < 2 {
            let ended = bench.engine.begin_journal_piece().expect("it is recorded");
            pieces[piece].extend(ended.bytes);
        }
        while let Some(journal) = bench.engine.poll_journal() {
            pieces[journal.piece as usize].extend(journal.bytes);
        }
    }
    if let Some(journal) = bench.engine.stop_recording() {
        pieces[journal.piece as usize].extend(journal.bytes);
    }
    let indexed = pieces
        .iter()
        .map(|piece| IndexedPiece::new(&piece[..], 0).expect("a piece"))
        .collect();
    Arc::new(Recording::join(indexed).expect("they follow each other"))
}

fn playing(recording: &Arc<Recording>, at: i64, follows_speed: bool) -> Bench {
    let now = RealTime::from_nanos(5_000_000_000);
    let config = EngineConfig::new(game_config(1, 1, 1));
    let start = PlaybackStart {
        at: units(at),
        follows_speed,
        is_paused: false,
    };
    let engine = Engine::play(config, recording, start, now).expect("it can be played");
    Bench::around(engine, now)
}

fn assert_shows(bench: &mut Bench, recording: &Arc<Recording>, at: GameTime, peers: &[usize]) {
    let (game, _) = recording.seek(at).expect("it can be played");
    assert_eq!(bench.engine.game().digest(), game.digest(), "at {at:?}");
    for peer in peers {
        let viewer = bench.viewer(*peer);
        assert!(viewer.is_acked() && viewer.is_complete());
        let copy = viewer.copy.clone().expect("it is complete");
        assert_same(&copy, bench.engine.game().world(), bench.engine.game().now());
    }
}

/// What happened before a moment is the same whether one jumps there, begins there, or plays on to it.
#[test]
fn the_history_of_a_moment_is_sent_wherever_one_comes_from() {
    let recording = recorded();
    let history_at = |bench: &mut Bench| {
        let viewer = bench.watch("W");
        bench
            .viewer(viewer)
            .history
            .take()
            .expect("it comes with the world")
    };
    for at in [500, 1_500, 2_500, 3_000] {
        let begun = history_at(&mut playing(&recording, at, false));
        let mut bench = playing(&recording, 0, false);
        let viewer = bench.watch("V");
        bench.say(viewer, &ToServer::Control(Control::Pause));
        assert!(bench.viewer(viewer).history.take().is_some());
        bench.say(viewer, &ToServer::Control(Control::Seek(units(at))));
        let jumped = bench.viewer(viewer).history.take();
        assert_eq!(jumped.as_ref(), Some(&begun), "at {at}");
        let mut bench = playing(&recording, 0, false);
        while bench.engine.game_now() < units(at) {
            bench.run_for(ms(10));
        }
        let mut come = history_at(&mut bench);
        come.events.retain(|entry| entry.at <= units(at));
        assert_eq!(come.events.len(), begun.events.len(), "at {at}");
        assert_eq!(come.events.last(), begun.events.last(), "at {at}");
        let last = |history: &History| history.scores.last().map(|point| point.scores.clone());
        assert_eq!(last(&come), last(&begun), "at {at}");
        assert_eq!(come.scores[0].at, begun.scores[0].at, "from the beginning");
    }
}

#[test]
fn every_viewer_sees_the_world_of_the_moment_of_a_jump() {
    let recording = recorded();
    let mut bench = playing(&recording, 0, false);
    let viewers = [bench.watch("V"), bench.watch("W")];
    let info = bench.viewer(viewers[0]).recording.clone().expect("a recording");
    assert_eq!(info.end, recording.end());
    let count = |wanted: fn(&MarkKind) -> bool| info.marks.iter().filter(|mark| wanted(&mark.kind)).count();
    assert!(count(|kind| matches!(kind, MarkKind::Died { .. })) >= 1);
    assert_eq!(count(|kind| matches!(kind, MarkKind::Speed { .. })), 2);
    assert_eq!(
        count(|kind| matches!(kind, MarkKind::Paused | MarkKind::Resumed)),
        2
    );
    for (number, to) in [2_900, 3, 1_000, 999, 1_001, 2_000, 0, 70, 2_500]
        .into_iter()
        .enumerate()
    {
        bench.say(viewers[number % 2], &ToServer::Control(Control::Seek(units(to))));
        assert_eq!(bench.engine.game_now(), units(to), "at once");
        let (game, _) = recording.seek(units(to)).expect("it can be played");
        assert_eq!(bench.engine.game().digest(), game.digest());
        bench.run_for(ms(330));
        let now = bench.engine.game_now();
        assert_eq!(now, units(to + 33));
        assert_shows(&mut bench, &recording, now, &viewers);
        assert_eq!(bench.viewer(viewers[1]).jumps, number as u32 + 1);
    }
}

#[test]
fn text_viewers_are_sent_the_difference() {
    let mut ripe_eggs = BTreeSet::new();
    for units_to_hatch in [0, 300] {
        let recording = recorded_where_eggs_hatch(units_to_hatch);
        let mut bench = playing(&recording, 0, true);
        let first = bench.join("G", "GRAPHIC");
        for to in [1_500, 40, 2_900, 0, 2_100, 1_999, 10] {
            bench
                .engine
                .control(Control::Seek(units(to)), bench.now)
                .expect("a recording");
            bench.run_for(ms(70));
            // A new viewer is sent the whole world.
            let late = bench.join("H", "GRAPHIC");
            let worlds = bench.text_worlds();
            worlds[first].assert_knows(&worlds[late]);
            ripe_eggs.insert(worlds[late].count("eht"));
            bench.close(late);
        }
    }
    assert!(ripe_eggs.len() > 1, "they ripen meanwhile: {ripe_eggs:?}");
}

/// A game as another program plays it, seven units at a time.
struct Elsewhere {
    leap: Leap,
    at: GameTime,
}

impl Elsewhere {
    fn begin(seed: u64) -> (Self, Arc<Recording>) {
        let mut config = game_config(6, 5, 4);
        config.seed = seed;
        let mut leap = Leap::new(config, &[MindKind::Team]);
        leap.start_recording("test");
        leap.begin();
        let begun = IndexedPiece::new(leap.take_journal(), 0).expect("a piece");
        let begun = Recording::join(vec![begun]).expect("it fits itself");
        (
            Self {
                leap,
                at: GameTime::ZERO,
            },
            Arc::new(begun),
        )
    }

    /// What is played further is shown from now on.
    fn play(&mut self, units: i64, bench: &mut Bench) {
        self.at += GameSpan::from_units(units);
        self.leap.run(Some(self.at));
        self.leap.record_time();
        let (journal, now) = (self.leap.take_journal(), bench.now);
        bench.engine.extend(&journal, now);
    }

    fn assert_is_shown(&self, bench: &mut Bench, viewer: usize) {
        assert_eq!(bench.engine.game().digest(), self.leap.game().digest());
        assert!(bench.engine.is_recording_over());
        assert_eq!(bench.engine.game_now(), self.at, "and no further");
        let copy = bench.viewer(viewer).copy.clone().expect("it is complete");
        assert_same(&copy, bench.engine.game().world(), self.at);
    }
}

#[test]
fn a_game_that_is_followed_is_shown_as_far_as_it_came_and_so_is_the_next() {
    let (mut game, begun) = Elsewhere::begin(1);
    let now = RealTime::from_nanos(5_000_000_000);
    let config = EngineConfig::new(game_config(1, 1, 1));
    let engine = Engine::follow(config, &begun, now).expect("it can be played");
    let mut bench = Bench::around(engine, now);
    let (viewer, text) = (bench.watch("V"), bench.join("G", "GRAPHIC"));
    assert!(
        bench.viewer(viewer).recording.is_none(),
        "it has no end to be sought"
    );
    for _ in 0..60 {
        game.play(7, &mut bench);
        bench.run_for(ms(140));
        game.assert_is_shown(&mut bench, viewer);
    }
    // At a tenth of the speed as long a time is a tenth of it; while it is paused nothing.
    bench.say(viewer, &ToServer::Control(Control::SetFrequency(10)));
    game.play(14, &mut bench);
    bench.run_for(ms(700));
    assert_eq!(bench.engine.game_now(), units(427));
    bench.say(viewer, &ToServer::Control(Control::Pause));
    bench.run_for(ms(5_000));
    assert_eq!(bench.engine.game_now(), units(427));
    bench.say(viewer, &ToServer::Control(Control::Resume));
    bench.run_for(ms(800));
    game.assert_is_shown(&mut bench, viewer);
    // It waits for more, and can be paused before that comes.
    assert_eq!(bench.control(Control::Resume), Err(Refusal::Awaited));
    assert!(!bench.engine.is_paused());
    bench.say(viewer, &ToServer::Control(Control::Pause));
    assert!(bench.engine.is_paused());
    game.play(7, &mut bench);
    bench.run_for(ms(5_000));
    assert_eq!(bench.engine.game_now(), units(434));
    bench.say(viewer, &ToServer::Control(Control::Resume));
    bench.say(viewer, &ToServer::Control(Control::Seek(units(3))));
    bench.run_for(ms(800));
    game.assert_is_shown(&mut bench, viewer);

    let (mut next, begun) = Elsewhere::begin(2);
    let now = bench.now;
    bench.engine.follow_another(&begun, now).expect("another game");
    bench.run_for(ms(70));
    assert_eq!(bench.viewer(viewer).jumps, 1);
    next.play(70, &mut bench);
    bench.run_for(ms(8_000));
    next.assert_is_shown(&mut bench, viewer);
    let late = bench.join("H", "GRAPHIC");
    let worlds = bench.text_worlds();
    worlds[text].assert_knows(&worlds[late]);
}

/// A game in which an agent joins in every unit, and now and then one dies, or an egg is laid.
fn recorded_crowd() -> Arc<Recording> {
    let mut bench = Bench::new(EngineConfig::new(game_config(20, 20, 600)));
    bench.engine.start_recording();
    bench.act(AdminAction::SetHunger { enabled: false });
    for number in 0..400_u32 {
        bench.join("A", ["a", "b"][number as usize % 2]);
        if number % 3 == 2 {
            let agent = AgentId(number / 3 * 2);
            bench.act(AdminAction::Kill { agent });
        }
        if number % 5 == 4 {
            let (team, tile) = (TeamId(0), Tile { x: 1, y: 2 });
            bench.act(AdminAction::LayEgg { team, tile });
        }
        bench.run_for(ms(10));
    }
    bench.stop_recording()
}

#[test]
fn a_jump_among_many_is_sent_piece_by_piece_and_may_be_followed_by_another() {
    let recording = recorded_crowd();
    let mut bench = playing(&recording, 0, true);
    let first = bench.join("G", "GRAPHIC");
    // To where, and how many microseconds later to the next: often before all of it was sent, or any of it.
    let to = [380, 101, 300, 12, 390, 381, 95, 399, 377, 388, 250, 395, 394, 0];
    let pauses_us = [0, 0, 0, 250, 0, 0, 130, 450, 0, 1, 0, 0, 200, 0];
    for (to, until_next_us) in to.into_iter().zip(pauses_us) {
        bench
            .engine
            .control(Control::Seek(units(to)), bench.now)
            .expect("a recording");
        let written = bench.engine.unsent(bench.peers[first].conn).len();
        assert!(
            written <= 4 * limits::ANSWER_BYTES_AT_ONCE,
            "{written} bytes at once"
        );
        if until_next_us > 0 {
            bench.run_for(RealSpan::from_micros(until_next_us));
        }
        if to % 5 == 0 {
            // What happens meanwhile is sent as well.
            bench.run_for(ms(70));
            let late = bench.join("H", "GRAPHIC");
            bench.run_for(ms(2));
            let worlds = bench.text_worlds();
            worlds[first].assert_knows(&worlds[late]);
            bench.close(late);
        }
    }
}
