//! Lock-step: the same agents play the same game, however slow they are and however their bytes are cut, and
//! it is the game of a leap. And what becomes of agents that do not keep up.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use trantor_engine::leap::{Leap, Voice};
use trantor_engine::minds::{Mind, MindKind, Spelled};
use trantor_engine::{AdminRequest, CloseCause, ConnId, Engine, EngineConfig, Input, Output, PaceRefusal};
use trantor_game::replay::Replayed;
use trantor_game::{AdminAction, Game, GameConfig, GameInput, PaceChange, Replay, Rules};
use trantor_model::MapSize;
use trantor_strategy::agent_seed;
use trantor_time::{Frequency, GameTime, RealSpan, RealTime};

const CAP: RealSpan = RealSpan::from_secs(5);

fn game_config(places: u32, seed: u64) -> GameConfig {
    GameConfig {
        size: MapSize::new(8, 8).unwrap(),
        teams: vec!["red".to_owned(), "blue".to_owned()],
        places_per_team: places,
        seed,
        rules: Rules {
            lock_step: true,
            ..Rules::default()
        },
    }
}

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

/// Numbers that look like chance; the same ones for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// An agent behind a connection: a mind, and what it has said that is still on its way.
struct Peer {
    conn: ConnId,
    team: String,
    /// How it thinks, once it is born.
    kind: Option<MindKind>,
    mind: Option<Spelled<Box<dyn Mind>>>,
    is_open: bool,
    partial: Vec<u8>,
    lines: Vec<String>,
    under_way: VecDeque<(RealTime, Vec<u8>)>,
}

/// An engine on a manual clock, and slow agents.
struct Table {
    engine: Engine,
    now: RealTime,
    peers: Vec<Peer>,
    dice: Dice,
}

impl Table {
    fn new(config: GameConfig, frequency: u64, dice: u64) -> Self {
        let now = RealTime::ZERO;
        let config = EngineConfig {
            frequency: Frequency::new(frequency).unwrap(),
            lock_step: Some(CAP),
            ..EngineConfig::new(config)
        };
        let mut engine = Engine::new(config, now);
        engine.start_recording();
        Self {
            engine,
            now,
            peers: Vec::new(),
            dice: Dice(dice),
        }
    }

    /// A table at which a saved game goes on.
    fn resumed(game: Game) -> Self {
        let mut table = Self::new(game.config().clone(), 100, 1);
        let config = table.engine.config().clone();
        table.engine = Engine::resume(config, game, table.now);
        table.engine.start_recording();
        table
    }

    /// Connects somebody who asks for a place in a team, and answers its number among the peers.
    fn join(&mut self, team: &str, kind: Option<MindKind>) -> usize {
        let conn = ConnId {
            slot: u32::try_from(self.peers.len()).unwrap(),
            generation: 0,
        };
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        self.engine.begin_pass(self.now);
        self.engine.handle(Input::Opened { conn, peer }, self.now);
        self.peers.push(Peer {
            conn,
            team: team.to_owned(),
            kind,
            mind: None,
            is_open: true,
            partial: Vec::new(),
            lines: Vec::new(),
            under_way: VecDeque::new(),
        });
        let number = self.peers.len() - 1;
        self.send(number, &format!("{team}\n"));
        number
    }

    /// Every place of the start is taken by a mind, in an order that is left to chance.
    fn seat(&mut self, kinds: &[MindKind]) {
        let config = self.engine.config().game.clone();
        let teams = config.teams.iter().zip(kinds);
        let mut wanted: Vec<_> = teams
            .flat_map(|team| std::iter::repeat_n(team, config.places_per_team as usize))
            .collect();
        while !wanted.is_empty() {
            let (team, kind) = wanted.swap_remove(self.dice.below(wanted.len() as u64) as usize);
            self.join(team, Some(*kind));
        }
    }

    fn send(&mut self, number: usize, text: &str) {
        let conn = self.peers[number].conn;
        let bytes = text.as_bytes();
        self.engine.handle(Input::Bytes { conn, bytes }, self.now);
        self.hear();
    }

    /// What the mind has to say sets out, and takes its time.
    fn think(&mut self, number: usize) {
        let peer = &mut self.peers[number];
        let Some(mind) = &mut peer.mind else { return };
        let mut line = Vec::new();
        while mind.say(&mut line) {}
        for piece in line.chunks(7) {
            let earliest = peer.under_way.back().map_or(self.now, |(at, _)| *at);
            let at = earliest + ms(i64::try_from(self.dice.below(30)).unwrap());
            peer.under_way.push_back((at, piece.to_vec()));
        }
    }

    /// Everything the engine has to tell is read at once.
    fn hear(&mut self) {
        while let Some(conn) = self.engine.next_dirty() {
            let number = conn.slot as usize;
            loop {
                let bytes = self.engine.unsent(conn).to_vec();
                if bytes.is_empty() {
                    break;
                }
                self.engine.sent(conn, bytes.len());
                self.peers[number].partial.extend(bytes);
                while let Some(end) = self.peers[number].partial.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.peers[number].partial.drain(..=end).collect();
                    self.hear_line(number, &line[..end]);
                }
            }
        }
        while let Some(output) = self.engine.poll_output() {
            match output {
                Output::Close { conn, .. } => self.peers[conn.slot as usize].is_open = false,
                Output::ShutdownWrite { conn } => {
                    self.peers[conn.slot as usize].is_open = false;
                    let cause = CloseCause::EndOfStream;
                    self.engine.handle(Input::Closed { conn, cause }, self.now);
                }
                _ => {}
            }
        }
    }

    fn hear_line(&mut self, number: usize, line: &[u8]) {
        let seed = self.engine.config().game.seed;
        let peer = &mut self.peers[number];
        let text = String::from_utf8_lossy(line).into_owned();
        peer.lines.push(text.clone());
        let Some(kind) = peer.kind else { return };
        // The greeting, the places left and the size of the map come first.
        match (peer.lines.len(), &mut peer.mind) {
            (2, _) => {
                let team = peer.team.as_bytes();
                let mind = kind.awaken(team, agent_seed(seed, team, text.parse().unwrap(), 0));
                peer.mind = Some(Spelled::new(mind));
            }
            (3, _) => self.think(number),
            (_, Some(mind)) => {
                mind.hear(line);
                self.think(number);
            }
            _ => {}
        }
    }

    /// One pass: hands in what has arrived, in any order of the agents, then fires a few deadlines.
    fn pass(&mut self, until: GameTime) {
        self.engine.begin_pass(self.now);
        let first = self.dice.below(self.peers.len() as u64) as usize;
        for turn in 0..self.peers.len() {
            let number = (first + turn) % self.peers.len();
            while let Some((at, _)) = self.peers[number].under_way.front()
                && *at <= self.now
            {
                let (_, bytes) = self.peers[number].under_way.pop_front().unwrap();
                if self.peers[number].is_open {
                    let conn = self.peers[number].conn;
                    self.engine.handle(Input::Bytes { conn, bytes: &bytes }, self.now);
                }
            }
        }
        for _ in 0..=self.dice.below(6) {
            let due = self.engine.game().next_deadline();
            if due.is_none_or(|due| due > until) || self.engine.fire_next(self.now).is_none() {
                break;
            }
            if self.dice.below(2) == 0 {
                self.hear();
            }
        }
        self.hear();
    }

    /// Plays until nothing is left to be done up to that game time, and answers the digest then.
    fn play(&mut self, until: i64) -> u64 {
        let until = GameTime::from_units(until);
        loop {
            self.pass(until);
            let is_quiet = self.peers.iter().all(|peer| peer.under_way.is_empty());
            let is_done = self.engine.game().next_deadline().is_none_or(|due| due > until);
            if is_quiet && is_done {
                let mut game = self.engine.game().clone();
                game.advance_to(until);
                return game.digest();
            }
            self.now += ms(i64::try_from(self.dice.below(12)).unwrap());
        }
    }

    /// Lets the engine do all it can at this instant.
    fn rest(&mut self) {
        self.engine.begin_pass(self.now);
        while self.engine.fire_next(self.now).is_some() {}
        self.hear();
    }

    fn units(&self) -> i128 {
        self.engine.game().now().whole_units()
    }

    /// How many agents live.
    fn living(&self) -> usize {
        self.engine.game().world().agents().len()
    }

    /// Ends the game and replays it: it verifies, and ends in the same state. Answers how often the game no longer
    /// waited.
    fn replayed(mut self) -> usize {
        let digest = self.engine.game().digest();
        let bytes: Vec<u8> = self
            .engine
            .stop_recording()
            .into_iter()
            .flat_map(|journal| journal.bytes)
            .collect();
        let mut replay = Replay::open(bytes.clone()).unwrap();
        let mut given_up = 0;
        while let Some(replayed) = replay.step(GameTime::from_units(1_000_000)).unwrap() {
            let ended = Replayed::Input(GameInput::Pace(PaceChange::WaitEnded));
            given_up += usize::from(replayed == ended);
        }
        assert_eq!(replay.game().digest(), digest);
        Replay::open(bytes).unwrap().verify().unwrap();
        given_up
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn r_000_50_slow_agents_play_the_game_of_a_leap(seed in 0..1_000u64, dice: [u64; 2]) {
        const UNTIL: i64 = 260;
        let kinds = [MindKind::Team, MindKind::Random];
        let mut leap = Leap::new(game_config(3, seed), &kinds, Voice::Values);
        leap.run(Some(GameTime::from_units(UNTIL)));
        prop_assert!(leap.actions() > 20, "somebody does something");
        for (dice, frequency) in dice.into_iter().zip([1, 10_000]) {
            let mut table = Table::new(game_config(3, seed), frequency, dice);
            table.seat(&kinds);
            prop_assert_eq!(table.play(UNTIL), leap.game().digest());
            prop_assert_eq!(table.replayed(), 0);
        }
    }
}

/// Two agents of one team each, without minds: the test speaks for them.
fn two() -> (Table, usize, usize) {
    let mut table = Table::new(game_config(1, 1), 100, 1);
    let red = table.join("red", None);
    let blue = table.join("blue", None);
    (table, red, blue)
}

#[test]
fn time_waits_for_all_places_and_all_commands() {
    let mut table = Table::new(game_config(1, 1), 100, 1);
    let red = table.join("red", None);
    assert_eq!(
        table.peers[red].lines,
        ["WELCOME", "0", "8 8"],
        "it is told at once"
    );
    table.send(red, "Forward\n");
    table.now += ms(4_000);
    table.rest();
    assert_eq!(table.living(), 0, "and born when everybody is there");
    let blue = table.join("blue", None);
    assert_eq!(table.living(), 2);
    table.now += ms(4_000);
    table.rest();
    assert_eq!(table.units(), 0, "blue owes a command");
    table.send(blue, "Look\n");
    table.rest();
    assert_eq!(table.units(), 7, "both are done, and owe the next");
    assert_eq!(table.peers[red].lines.last().unwrap(), "ok");
    assert!(table.peers[blue].lines.last().unwrap().starts_with('['));
    assert_eq!(table.replayed(), 0);
}

/// Who is told which number has the same agent, in whichever order the connections come about, and although some
/// go again.
#[test]
fn places_are_told_and_taken_by_number() {
    let births = |order: &[&str]| {
        let mut table = Table::new(game_config(2, 1), 100, 1);
        for team in order {
            let number = table.join(team.trim_start_matches('-'), None);
            if team.starts_with('-') {
                let conn = table.peers[number].conn;
                let cause = CloseCause::EndOfStream;
                table.engine.handle(Input::Closed { conn, cause }, table.now);
            }
        }
        table.rest();
        let told: BTreeMap<_, _> = table
            .engine
            .game()
            .world()
            .agents()
            .map(|agent| (agent.id(), agent.team()))
            .collect();
        (told, table.engine.game().digest())
    };
    let in_turn = births(&["red", "blue", "red", "blue"]);
    assert_eq!(in_turn.0.len(), 4);
    assert_eq!(births(&["blue", "blue", "red", "red"]), in_turn);
    assert_eq!(births(&["blue", "-red", "-blue", "red", "blue", "red"]), in_turn);

    let mut table = Table::new(game_config(2, 1), 100, 1);
    let first = table.join("red", None);
    let second = table.join("red", None);
    let third = table.join("red", None);
    assert_eq!(table.peers[first].lines[1], "1");
    assert_eq!(table.peers[second].lines[1], "0");
    assert_eq!(table.peers[third].lines[1..], ["ko"], "there is no third place");
    let conn = table.peers[first].conn;
    let cause = CloseCause::EndOfStream;
    table.engine.handle(Input::Closed { conn, cause }, table.now);
    let again = table.join("red", None);
    assert_eq!(table.peers[again].lines[1], "1", "the place that became free");
}

#[test]
fn an_operator_begins_without_those_who_are_missing() {
    let mut table = Table::new(game_config(2, 1), 100, 1);
    let red = table.join("red", None);
    table.send(red, "Forward\n");
    table.rest();
    assert_eq!(table.living(), 0);
    table.engine.admin(AdminRequest::Start, table.now).unwrap();
    table.rest();
    assert_eq!((table.living(), table.units()), (1, 7));
    assert_eq!(
        table.engine.admin(AdminRequest::Start, table.now),
        Err(PaceRefusal::AlreadyStarted.into())
    );
}

#[test]
fn a_match_that_ends_before_it_begins_lets_everybody_go() {
    let mut table = Table::new(game_config(1, 1), 100, 1);
    let red = table.join("red", None);
    table
        .engine
        .admin(AdminRequest::Act(AdminAction::EndMatch), table.now)
        .unwrap();
    let blue = table.join("blue", None);
    table.rest();
    assert!(!table.peers[red].is_open && !table.peers[blue].is_open);
    assert_eq!(table.living(), 0);
}

#[test]
fn who_sends_ahead_owes_nothing() {
    let (mut table, red, blue) = two();
    table.send(red, "Forward\nForward\nForward\n");
    table.send(blue, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 7, "blue owes, red does not");
    table.send(blue, "Forward\nForward\nForward\n");
    table.rest();
    assert_eq!(table.units(), 21, "now red owes");
}

#[test]
fn who_never_speaks_is_waited_for_once() {
    let (mut table, red, blue) = two();
    table.send(red, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 0);
    assert_eq!(table.engine.poll_timeout(), Some(RealTime::ZERO + CAP));
    table.now += CAP;
    table.rest();
    assert_eq!(table.units(), 7, "time went on without blue");
    for _ in 0..5 {
        table.send(red, "Forward\n");
        table.rest();
    }
    assert_eq!(table.units(), 42, "and does not wait for it again");
    table.send(blue, "Forward\n");
    table.send(red, "Forward\nForward\n");
    table.rest();
    assert_eq!(table.units(), 49, "until it begins something: then it counts");
    assert_eq!(table.replayed(), 1);
}

#[test]
fn where_all_are_silent_time_does_not_rush() {
    let (mut table, red, _) = two();
    table.rest();
    for moment in 1..=3 {
        table.now += CAP;
        table.rest();
        assert_eq!(table.units(), 126 * moment, "one moment for each wait");
    }
    table.send(red, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 385, "who speaks is not held up by who does not");
}

#[test]
fn what_takes_no_time_does_not_hold_the_game_for_ever() {
    let (mut table, red, blue) = two();
    table.send(red, "Forward\n");
    for _ in 0..60 {
        table.send(blue, "Connect_nbr\n");
        table.now += ms(100);
        table.rest();
    }
    assert_eq!(table.units(), 7);
}

#[test]
fn who_comes_late_owes_from_then_on() {
    let mut table = Table::new(game_config(2, 1), 100, 1);
    let first = table.join("red", None);
    table.send(first, "Forward\n");
    table.rest();
    assert_eq!(table.living(), 0);
    table.now += CAP;
    table.rest();
    assert_eq!(table.units(), 7, "nobody else came, and the game began");
    let late = table.join("blue", None);
    table.send(first, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 7);
    table.send(late, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 14);
}

#[test]
fn nobody_waits_for_the_dead_and_the_departed() {
    let (mut table, red, blue) = two();
    table.send(red, "Forward\n");
    let conn = table.peers[blue].conn;
    let cause = CloseCause::EndOfStream;
    table.engine.handle(Input::Closed { conn, cause }, table.now);
    table.rest();
    assert_eq!(table.units(), 7, "blue has left");
    // Red walks until it starves, and then nothing is left to happen.
    for _ in 0..200 {
        if table.peers[red].is_open {
            table.send(red, "Forward\n");
        }
        table.rest();
    }
    assert_eq!(table.peers[red].lines.last().unwrap(), "dead");
    assert_eq!(table.units(), 1_260);
}

#[test]
fn an_operator_holds_the_game() {
    let (mut table, red, blue) = two();
    table.engine.admin(AdminRequest::Pause, table.now).unwrap();
    assert!(table.engine.admin(AdminRequest::Pause, table.now).is_err());
    table.send(red, "Forward\n");
    table.send(blue, "Forward\n");
    table.now += CAP;
    table.now += CAP;
    table.rest();
    assert_eq!(table.units(), 0);
    table.engine.admin(AdminRequest::Resume, table.now).unwrap();
    table.rest();
    assert_eq!(table.units(), 7);
    assert_eq!(table.replayed(), 0, "what is held is not given up");
}

#[test]
fn a_saved_game_gathers_its_players_again() {
    let (mut table, red, blue) = two();
    for _ in 0..3 {
        table.send(red, "Forward\n");
        table.send(blue, "Forward\n");
        table.rest();
    }
    let mut again = Table::resumed(table.engine.game().clone());
    assert_eq!((again.living(), again.units()), (0, 21));
    let blue = again.join("blue", None);
    again.send(blue, "Forward\n");
    again.rest();
    assert_eq!(again.living(), 0);
    let red = again.join("red", None);
    assert_eq!(again.living(), 2);
    again.send(red, "Forward\n");
    again.rest();
    assert_eq!(again.units(), 28);
    assert_eq!(again.replayed(), 0);
}
