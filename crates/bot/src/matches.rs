//! Whole matches on a manual clock: an engine, the players of `trantor-bot` without their sockets, and lines that take their
//! time between them.
//!
//! Players of one team are born one after the other, and each has a connection of its own, so that no two of them are sent
//! what one instant brings at the same time. That is how matches over TCP differ from those in lock-step.

mod grower;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_engine::{ConnId, Engine, EngineConfig, Input, Output};
use trantor_game::{GameConfig, Rules};
use trantor_model::MapSize;
use trantor_protocol::text::Dialect;
use trantor_strategy::agents_at_most;
use trantor_time::{Frequency, RealSpan, RealTime};

use self::grower::Grower;
use crate::roster::{Next, Roster};
use crate::team::{Player, PlayerState};

/// Game time of a match after which no team wins any more.
const UNITS_MAX: i64 = 20_000;

/// Speed of the server: a unit takes a millisecond.
const FREQUENCY: u64 = 1_000;

/// Name of the team of [`Grower`]s.
const GROWERS: &str = "growers";

/// How a match is set up.
#[derive(Clone, Copy, Debug)]
struct Setup {
    seed: u64,
    in_flight: usize,
    /// Shortest and longest time of a line between a player and the server, in thousandths of a unit. Each way of each
    /// connection has one of its own.
    way: (u32, u32),
}

/// What is under way.
enum Cargo {
    Open,
    /// From a player.
    Up(Vec<u8>),
    /// From the server.
    Down(Vec<u8>),
}

/// Who plays at a connection.
enum Mind {
    Ours(Box<Player>),
    Other(Box<Grower>),
}

struct Seat {
    mind: Mind,
    squad: usize,
    is_playing: bool,
    is_open: bool,
    up: RealSpan,
    down: RealSpan,
}

struct Squad {
    name: &'static str,
    roster: Roster,
    living: usize,
}

struct Match {
    setup: Setup,
    engine: Engine,
    now: RealTime,
    squads: Vec<Squad>,
    seats: Vec<Seat>,
    under_way: BTreeMap<(RealTime, u64), (usize, Cargo)>,
    sent: u64,
    rng: Pcg32,
}

impl Match {
    fn new(setup: Setup, teams: &[&'static str]) -> Self {
        let now = RealTime::ZERO;
        let config = GameConfig {
            size: MapSize::new(20, 20).expect("a size of a map"),
            teams: teams.iter().map(|&name| name.to_owned()).collect(),
            places_per_team: 6,
            seed: setup.seed,
            rules: Rules::default(),
        };
        let mut config = EngineConfig::new(config);
        config.frequency = Frequency::new(FREQUENCY).expect("a frequency");
        let squad = |&name| {
            let most = match name {
                GROWERS => grower::AGENTS_MAX,
                _ => agents_at_most(6),
            };
            Squad {
                name,
                roster: Roster::new(6, most, RealSpan::from_secs(10), now),
                living: 0,
            }
        };
        Self {
            setup,
            engine: Engine::new(config, now),
            now,
            squads: teams.iter().map(squad).collect(),
            seats: Vec::new(),
            under_way: BTreeMap::new(),
            sent: 0,
            rng: Pcg32::new(setup.seed, 0x6d61_7463),
        }
    }

    fn way(&mut self) -> RealSpan {
        let (least, most) = self.setup.way;
        let micros = least + self.rng.next_u32() % (most - least + 1);
        RealSpan::from_nanos(i64::from(micros) * 1_000)
    }

    fn carry(&mut self, seat: usize, after: RealSpan, cargo: Cargo) {
        self.sent += 1;
        let at = self.now.saturating_add(after);
        self.under_way.insert((at, self.sent), (seat, cargo));
    }

    /// Opens what connections the rosters want; answers when they next want one.
    fn connect(&mut self) -> Option<RealTime> {
        let mut wake_at = None;
        for squad in 0..self.squads.len() {
            loop {
                match self.squads[squad].roster.next(self.now) {
                    Next::Connect => {}
                    Next::Wait(until) => {
                        wake_at = wake_at.into_iter().chain(until).min();
                        break;
                    }
                    Next::Finish(_) => break,
                }
                self.squads[squad].roster.connecting(self.now);
                let name = self.squads[squad].name;
                let (up, down) = (self.way(), self.way());
                let (seed, team) = (self.setup.seed, name.as_bytes());
                let mind = match name {
                    GROWERS => Mind::Other(Box::new(Grower::new(team, seed ^ self.seats.len() as u64))),
                    _ => Mind::Ours(Box::new(Player::new(
                        team,
                        Dialect::Epitech,
                        seed,
                        self.setup.in_flight,
                    ))),
                };
                self.seats.push(Seat {
                    mind,
                    squad,
                    is_playing: false,
                    is_open: true,
                    up,
                    down,
                });
                self.carry(self.seats.len() - 1, up, Cargo::Open);
            }
        }
        wake_at
    }

    /// A player takes in what came, as [`crate::team`] has it.
    fn serve(&mut self, at: usize, bytes: &[u8]) {
        let seat = &mut self.seats[at];
        if !seat.is_open {
            return;
        }
        let squad = &mut self.squads[seat.squad];
        let roster = &mut squad.roster;
        let (state, places, unsent) = match &mut seat.mind {
            Mind::Ours(player) => {
                player.replacement = roster.replacement();
                player.take_in(bytes);
                let places = u32::from(player.brain.take_free_place());
                (player.state, places, std::mem::take(player.dialogue.unsent()))
            }
            Mind::Other(grower) => {
                grower.may_fork = squad.living < grower::AGENTS_MAX;
                grower.take_in(bytes);
                let state = match (grower.is_dead, grower.is_refused, grower.has_joined()) {
                    (true, ..) => PlayerState::Dead,
                    (_, true, _) => PlayerState::Refused,
                    (_, _, true) => PlayerState::Playing,
                    _ => PlayerState::Joining,
                };
                let eggs = std::mem::take(&mut grower.eggs);
                (state, eggs, std::mem::take(grower.dialogue.unsent()))
            }
        };
        if !seat.is_playing && matches!(state, PlayerState::Playing | PlayerState::Dead) {
            seat.is_playing = true;
            squad.living += 1;
            roster.joined();
        }
        match state {
            PlayerState::Joining | PlayerState::Playing => {}
            PlayerState::Dead => {
                roster.died(self.now);
                squad.living -= 1;
                seat.is_open = false;
            }
            PlayerState::Refused => {
                roster.not_joined(true, self.now);
                seat.is_open = false;
            }
        }
        (0..places).for_each(|_| roster.free_place(self.now));
        let up = seat.up;
        if !unsent.is_empty() {
            self.carry(at, up, Cargo::Up(unsent));
        }
    }

    fn conn(seat: usize) -> ConnId {
        ConnId {
            slot: seat as u32,
            generation: 0,
        }
    }

    /// One pass of the server, as its shell has it.
    fn pass(&mut self, inputs: Vec<(usize, Cargo)>) {
        let now = self.now;
        self.engine.begin_pass(now);
        for (seat, cargo) in inputs {
            let conn = Self::conn(seat);
            let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
            match &cargo {
                Cargo::Open => self.engine.handle(Input::Opened { conn, peer }, now),
                Cargo::Up(bytes) => self.engine.handle(Input::Bytes { conn, bytes }, now),
                Cargo::Down(_) => {}
            }
        }
        while self.engine.fire_next(now).is_some() {}
        while let Some(conn) = self.engine.next_dirty() {
            let seat = conn.slot as usize;
            loop {
                let bytes = self.engine.unsent(conn).to_vec();
                if bytes.is_empty() {
                    break;
                }
                self.engine.sent(conn, bytes.len());
                let down = self.seats[seat].down;
                self.carry(seat, down, Cargo::Down(bytes));
            }
        }
        while let Some(output) = self.engine.poll_output() {
            if let Output::ShutdownWrite { conn } = output {
                self.engine.handle(Input::Closed { conn }, now);
            }
        }
    }

    /// Plays until a team has won; answers which, and after how many units.
    fn play(&mut self) -> Option<(&'static str, i64)> {
        loop {
            let wanted_at = self.connect();
            let due = self.under_way.keys().next().map(|&(at, _)| at);
            let next = [wanted_at, due, self.engine.poll_timeout()];
            self.now = self.now.max(next.into_iter().flatten().min()?);
            let mut inputs = Vec::new();
            while let Some(entry) = self.under_way.first_entry()
                && entry.key().0 <= self.now
            {
                match entry.remove() {
                    (seat, Cargo::Down(bytes)) => self.serve(seat, &bytes),
                    input => inputs.push(input),
                }
            }
            self.pass(inputs);
            let units = self.engine.game().now().whole_units() as i64;
            if let Some(team) = self.engine.game().winner() {
                return Some((self.squads[usize::from(team.0)].name, units));
            }
            if units > UNITS_MAX {
                return None;
            }
        }
    }
}

/// A connection on one machine: a fifth of a unit at most.
const NEAR: (u32, u32) = (20, 200);

/// Units until a team of six has won alone, for each seed, in ascending order.
fn alone(seeds: std::ops::RangeInclusive<u64>, in_flight: usize, way: (u32, u32)) -> Vec<i64> {
    let play = |seed| {
        let setup = Setup { seed, in_flight, way };
        Match::new(setup, &["red"])
            .play()
            .map_or(UNITS_MAX, |(_, units)| units)
    };
    let mut all: Vec<i64> = seeds.map(play).collect();
    all.sort_unstable();
    all
}

fn median(sorted: &[i64]) -> i64 {
    sorted[sorted.len() / 2]
}

#[test]
fn a_team_on_connections_of_its_own_wins_as_soon_as_in_the_server() {
    for in_flight in [1, 10] {
        let all = alone(1..=10, in_flight, NEAR);
        assert!(median(&all) <= 2_600 && all[9] <= 3_200, "{in_flight}: {all:?}");
    }
}

/// The tables of docs/bots.md.
#[test]
#[ignore = "a hundred matches: cargo test --profile play -p trantor-bot --lib matches -- --ignored --nocapture"]
fn table() {
    for (in_flight, way) in [(10, NEAR), (1, NEAR), (10, (300, 3_000))] {
        let all = alone(1..=40, in_flight, way);
        let (least, middle, most) = (all[0], median(&all), all[39]);
        println!(
            "{in_flight} in flight, {way:?} thousandths of a unit: {least} {middle} {} {most}",
            all[35]
        );
    }
    let mut won = 0;
    for seed in 1..=10 {
        let setup = Setup {
            seed,
            in_flight: 10,
            way: NEAR,
        };
        let outcome = Match::new(setup, &["red", GROWERS]).play();
        won += u32::from(matches!(outcome, Some(("red", _))));
        println!(
            "against {} that grow, seed {seed}: {outcome:?}",
            grower::AGENTS_MAX
        );
    }
    assert!(won >= 8, "{won} of 10 won");
}
