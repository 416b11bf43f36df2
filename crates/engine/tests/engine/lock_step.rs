//! Lock-step: slow agents whose bytes are cut at random play the game of a leap, and saved games go on. How it begins, waits and
//! is held is in the transcripts.

use std::collections::VecDeque;

use proptest::prelude::*;
use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_engine::leap::Leap;
use trantor_engine::minds::{Mind, MindKind, Percept};
use trantor_engine::{Engine, EngineConfig, Input};
use trantor_game::{AdminAction, Game, GameConfig};
use trantor_protocol::text::Dialect;
use trantor_protocol::text::client::{ServerLine, parse_server_line, write_command};
use trantor_strategy::agent_seed;
use trantor_time::{Frequency, GameTime, RealSpan, RealTime};

use super::ms;
use crate::harness::{Bench, Sound, game_config};

fn lock_step(places: u32, seed: u64) -> EngineConfig {
    let mut game = GameConfig {
        seed,
        ..game_config(8, 8, places)
    };
    game.rules.lock_step = true;
    EngineConfig {
        lock_step: Some(RealSpan::from_secs(5)),
        ..EngineConfig::new(game)
    }
}

/// A mind behind a connection, and what it has said that is still on its way.
struct Player {
    team: &'static str,
    kind: MindKind,
    /// From the line on that tells its number.
    mind: Option<Box<dyn Mind>>,
    lines_heard: usize,
    under_way: VecDeque<(RealTime, Vec<u8>)>,
}

impl Player {
    fn hear(&mut self, line: &str, seed: u64, now: RealTime, rng: &mut Pcg32) {
        self.lines_heard += 1;
        // The greeting, the places left and the size of the map come first.
        match (self.lines_heard, &mut self.mind) {
            (2, _) => {
                let team = self.team.as_bytes();
                let seed = agent_seed(seed, team, line.parse().expect("a number"), 0);
                self.mind = Some(self.kind.awaken(team, seed));
            }
            (4.., Some(mind)) => perceive(mind.as_mut(), line),
            _ => {}
        }
        let mut said = Vec::new();
        if self.lines_heard > 2
            && let Some(mind) = &mut self.mind
        {
            while let Some(command) = mind.next_command() {
                write_command(&mut said, Dialect::Epitech, &command);
            }
        }
        for piece in said.chunks(7) {
            let earliest = self.under_way.back().map_or(now, |(at, _)| *at);
            self.under_way
                .push_back((earliest + ms(i64::from(rng.next_u32() % 30)), piece.to_vec()));
        }
    }
}

/// Reads a line as an agent behind a connection does.
fn perceive(mind: &mut dyn Mind, line: &str) {
    match &parse_server_line(Dialect::Epitech, line.as_bytes()) {
        ServerLine::Ok => mind.perceive(Percept::Ok),
        ServerLine::Ko => mind.perceive(Percept::Ko),
        ServerLine::Look(sights) => mind.perceive(Percept::Look(sights)),
        ServerLine::Inventory(carried) => mind.perceive(Percept::Inventory(carried)),
        ServerLine::Number(places) => mind.perceive(Percept::Places(*places)),
        ServerLine::Message { direction, text } => mind.perceive(Percept::Message {
            direction: *direction,
            text,
        }),
        ServerLine::Ejected { direction } => mind.perceive(Percept::Pushed {
            direction: *direction,
        }),
        ServerLine::ElevationUnderway => mind.perceive(Percept::ElevationUnderway),
        ServerLine::CurrentLevel(level) => mind.perceive(Percept::Level(*level)),
        _ => {}
    }
}

/// Plays until game time `until`; answers the digest then.
fn play_slowly(config: EngineConfig, kinds: [MindKind; 2], rng: &mut Pcg32, until: GameTime) -> u64 {
    let GameConfig {
        seed,
        places_per_team,
        ..
    } = config.game;
    let mut bench = Bench::new(config);
    bench.engine.start_recording();
    // Every place of the start is taken, in an order that is left to chance.
    let teams = ["a", "b"].into_iter().zip(kinds);
    let mut wanted: Vec<_> = teams
        .flat_map(|team| std::iter::repeat_n(team, places_per_team as usize))
        .collect();
    let mut players = Vec::new();
    while !wanted.is_empty() {
        let (team, kind) = wanted.swap_remove(rng.next_u32() as usize % wanted.len());
        bench.join(team, team);
        players.push(Player {
            team,
            kind,
            mind: None,
            lines_heard: 0,
            under_way: VecDeque::new(),
        });
    }
    loop {
        for heard in bench.take_heard() {
            if let Sound::Bytes(bytes) = heard.what {
                let text = String::from_utf8(bytes).expect("lines");
                text.lines()
                    .for_each(|line| players[heard.peer].hear(line, seed, bench.now, rng));
            }
        }
        bench.engine.begin_pass(bench.now);
        let first = rng.next_u32() as usize;
        for turn in 0..players.len() {
            let number = (first % players.len() + turn) % players.len();
            let peer = &bench.peers[number];
            while let Some((_, bytes)) = players[number].under_way.pop_front_if(|(at, _)| *at <= bench.now) {
                if peer.is_open {
                    let (conn, bytes) = (peer.conn, &bytes[..]);
                    bench.engine.handle(Input::Bytes { conn, bytes }, bench.now);
                }
            }
        }
        let is_done = |bench: &Bench| bench.engine.game().next_deadline().is_none_or(|due| due > until);
        for _ in 0..=rng.next_u32() % 6 {
            if is_done(&bench) || bench.engine.fire_next(bench.now).is_none() {
                break;
            }
        }
        bench.after_pass();
        let is_quiet = bench.heard.is_empty() && players.iter().all(|player| player.under_way.is_empty());
        if is_quiet && is_done(&bench) {
            break;
        }
        bench.now += ms(i64::from(rng.next_u32() % 12));
    }
    bench.assert_replays();
    let mut game = bench.engine.game().clone();
    game.advance_to(until);
    game.digest()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn slow_agents_play_the_game_of_a_leap(seed in 0..1_000u64, dice: u64) {
        let until = GameTime::from_units(260);
        let kinds = [MindKind::Team, MindKind::Random];
        let mut leap = Leap::new(lock_step(3, seed).game, &kinds);
        leap.run(Some(until));
        prop_assert!(leap.actions() > 20, "they do something");
        let mut rng = Pcg32::new(dice, 1);
        for frequency in [1, 10_000] {
            let mut config = lock_step(3, seed);
            config.frequency = Frequency::new(frequency).expect("a frequency");
            prop_assert_eq!(play_slowly(config, kinds, &mut rng, until), leap.game().digest());
        }
    }
}

/// The same number is the same agent, in whichever order the connections come about, and although some go again.
#[test]
fn places_are_taken_by_number() {
    let births = |order: &[&str]| {
        let mut bench = Bench::new(lock_step(2, 1));
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

#[test]
fn a_saved_game_gathers_its_players_again() {
    let mut bench = Bench::new(lock_step(1, 1));
    let agents = [bench.join("A", "a"), bench.join("B", "b")];
    for _ in 0..3 {
        for agent in agents {
            bench.send(agent, b"Forward\n");
        }
    }
    let game = bench.engine.game().clone();
    let mut again = Bench::around(Engine::resume(lock_step(1, 1), game, bench.now), bench.now);
    let state = |bench: &Bench| {
        let game = bench.engine.game();
        (game.world().agents().len(), game.now().whole_units())
    };
    assert_eq!(state(&again), (0, 21));
    let blue = again.join("B", "b");
    again.send(blue, b"Forward\n");
    assert_eq!(state(&again), (0, 21));
    let red = again.join("A", "a");
    assert_eq!(state(&again), (2, 21));
    again.send(red, b"Forward\n");
    assert_eq!(state(&again), (2, 28));
}

#[test]
fn a_saved_game_that_was_won_gathers_nobody() {
    let mut bench = Bench::new(lock_step(1, 1));
    bench.join("A", "a");
    bench.join("B", "b");
    bench.engine.expect_saves();
    bench.act(AdminAction::EndMatch);
    assert_eq!(bench.engine.game().world().agents().len(), 0);
    let victory = bench.engine.state_to_save();
    let game = Game::restore((*victory).clone()).expect("a whole save");
    let mut again = Bench::around(Engine::resume(lock_step(1, 1), game, bench.now), bench.now);
    let late = again.join("A", "a");
    assert_eq!(again.lines(late), ["WELCOME", "ko"]);
    let agents = again.engine.game().world().agents().len();
    assert_eq!(agents, 2, "they stand where they stood");
}
