//! Snapshots: a whole game as plain data, and that data as bytes.
//!
//! A snapshot is taken on the loop and encoded wherever there is time: it owns all it needs. A game restored
//! from it continues exactly as the original would have (the order of equal deadlines and the state of every
//! generator included), which is why the digest of a game is that of its snapshot ([`crate::digest`]).
//!
//! Bytes are untrusted: they may come from a damaged or a hostile file. [`Game::restore`] checks what a part needs to be put
//! into the world on the way, and that the whole is consistent at the end, by the invariants that every game keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trantor_model::agent::EGGS_MAX;
use trantor_model::control::OPERATOR_COUNT_MAX;
use trantor_model::{Counts, TeamId, Tile};
use trantor_time::{GameSpan, GameTime};

use crate::agenda::{Agenda, Due};
use crate::check::ensure;
use crate::config::{ConfigError, GameConfig};
use crate::digest::{self, Digest};
use crate::event::Events;
use crate::game::Game;
use crate::lag::{InFlight, SavedInFlight};
use crate::rng::{Purpose, Rng};
use crate::rules::hunger::{Digestion, StarvationBound};
use crate::rules::spawning::Dealer;
use crate::rules::{Agent, CommandQueue, Egg, Elevation, World};
use crate::totals::{Kept, Ledger};

/// What every snapshot begins with.
const MAGIC: [u8; 8] = *b"TRANTORS";

/// The version of the format. It rises with every change of what is saved or how; see `docs/replay-format.md`.
pub const SNAPSHOT_VERSION: u16 = 3;

/// The oldest version that is read. It has no totals.
const OLDEST_VERSION: u16 = 2;

/// Magic, version and checksum.
const HEADER_BYTES: usize = MAGIC.len() + size_of::<u16>() + size_of::<u32>();

/// A game at one moment.
///
/// The parts are those of a digest. Derived data is left out: totals, lists per
/// tile, and the moments of deadlines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Snapshot {
    config: GameConfig,
    now: GameTime,
    progress: Progress,
    ground: Vec<Counts>,
    agents: Vec<Agent>,
    /// In the order of the agents.
    commands: Vec<CommandQueue>,
    eggs: Vec<Egg>,
    elevations: Vec<Elevation>,
    /// Everything pending in the order it will come.
    agenda: Vec<Due>,
    rngs: RngState,
    in_flight: SavedInFlight,
    #[serde(skip)]
    extension: Extension,
    /// What the match came to; no part of the digest. `None` in older snapshots.
    #[serde(skip)]
    totals: Option<Kept>,
}

/// State that came later than the format: it counts in the digest only if it is not that of a new game. So a game that does not
/// use it has the digest that it always had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Extension {
    /// The closed teams, in ascending order.
    closed: Vec<TeamId>,
}

/// How far the game has come, and its switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Progress {
    steps: u64,
    next_agent: u32,
    next_egg: u32,
    next_elevation: u64,
    refill_at: Option<GameTime>,
    refilled_at: GameTime,
    hunger_enabled: bool,
    refill_enabled: bool,
    winner: Option<TeamId>,
}

/// How many numbers were drawn from each rng.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RngState {
    birth: u64,
    egg: u64,
    /// Before the present round of dealing, and how many tiles were dealt in it.
    dealer: (u64, u32),
}

/// Why bytes are not a game that can be resumed. The caller reports it and tries an older snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SaveError {
    /// They do not begin as a snapshot does.
    #[error("this is not a snapshot of a game")]
    NotASnapshot,
    /// They are of a version that this program does not know.
    #[error(
        "the snapshot has format {found}, this program reads formats {OLDEST_VERSION} to {SNAPSHOT_VERSION}"
    )]
    Version {
        /// The version found.
        found: u16,
    },
    /// The checksum does not fit: cut off, or changed since.
    #[error("the snapshot is damaged")]
    Damaged,
    /// The checksum fits, but the content has no such shape.
    #[error("the snapshot cannot be read")]
    Unreadable,
    /// It describes something that cannot be.
    #[error("the snapshot contradicts itself: {0}")]
    Inconsistent(&'static str),
    /// It has a configuration that no game can have.
    #[error("the snapshot's game cannot be: {0}")]
    Config(#[from] ConfigError),
}

impl Game {
    /// Everything about this game, as it is now. Costs time in proportion to the world.
    pub fn snapshot(&self) -> Snapshot {
        let world = &self.world;
        let (agents, commands) = world.agents().map(Agent::saved).unzip();
        Snapshot {
            config: self.config.clone(),
            now: self.now,
            progress: Progress {
                steps: self.steps,
                next_agent: world.agents.next_number(),
                next_egg: world.next_egg,
                next_elevation: world.elevations.next_id(),
                refill_at: self.refill_timer.map(|timer| timer.at),
                refilled_at: self.refilled_at,
                hunger_enabled: world.hunger_enabled,
                refill_enabled: world.refill_enabled,
                winner: world.winner,
            },
            ground: world.tiles.iter().map(|tile| tile.ground).collect(),
            agents,
            commands,
            eggs: world.eggs().copied().collect(),
            elevations: world.elevations().cloned().collect(),
            agenda: self.agenda.in_order().map(|(_, due)| due).collect(),
            rngs: RngState {
                birth: world.birth_rng.drawn(),
                egg: world.egg_rng.drawn(),
                dealer: world.dealer.round(),
            },
            in_flight: world.in_flight.save(),
            extension: Extension {
                closed: world.closed_teams().collect(),
            },
            totals: Some(self.ledger.kept.clone()),
        }
    }
}

impl Snapshot {
    /// The moment it was taken at.
    pub fn now(&self) -> GameTime {
        self.now
    }

    /// Deadlines carried out before it was taken.
    pub fn steps(&self) -> u64 {
        self.progress.steps
    }

    /// What the game was made from.
    pub fn config(&self) -> &GameConfig {
        &self.config
    }

    /// The snapshot as bytes, with magic, version and checksum.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with_digest().0
    }

    /// As `encode`, and [`Self::digest`]: of a large world it takes half as long as one after the other.
    pub fn encode_with_digest(&self) -> (Vec<u8>, Digest) {
        let (mut bytes, digest) = self.write(vec![0; HEADER_BYTES]);
        append(&mut bytes, &self.totals);
        let checksum = crc32fast::hash(&bytes[HEADER_BYTES..]);
        let (magic, rest) = bytes.split_at_mut(MAGIC.len());
        magic.copy_from_slice(&MAGIC);
        rest[..2].copy_from_slice(&SNAPSHOT_VERSION.to_le_bytes());
        rest[2..6].copy_from_slice(&checksum.to_le_bytes());
        (bytes, digest)
    }

    /// Appends to `bytes` what the digest is of: the fields in their order, and nothing between them. The hash of the extension,
    /// if there is one, is part of that of the progress.
    pub(crate) fn write(&self, mut bytes: Vec<u8>) -> (Vec<u8>, Digest) {
        let Self {
            config,
            now,
            progress,
            ground,
            agents,
            commands,
            eggs,
            elevations,
            agenda,
            rngs,
            in_flight,
            extension,
            totals: _,
        } = self;
        let config = append_hashed(&mut bytes, config);
        append(&mut bytes, now);
        let mut parts = [
            config,
            append_hashed(&mut bytes, progress),
            append_hashed(&mut bytes, ground),
            append_hashed(&mut bytes, agents),
            append_hashed(&mut bytes, commands),
            append_hashed(&mut bytes, eggs),
            append_hashed(&mut bytes, elevations),
            append_hashed(&mut bytes, agenda),
            append_hashed(&mut bytes, rngs),
            append_hashed(&mut bytes, in_flight),
        ];
        let extended = append_hashed(&mut bytes, extension);
        if *extension != Extension::default() {
            let progress = &mut parts[1];
            *progress = progress.rotate_left(1) ^ extended;
        }
        (bytes, Digest::of_parts(parts))
    }

    /// Decodes the bytes of [`Self::encode`]; [`Game::restore`] checks the state.
    pub fn decode(bytes: &[u8]) -> Result<Self, SaveError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(SaveError::NotASnapshot)?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or(SaveError::Damaged)?;
        let found = u16::from_le_bytes(*version);
        if !(OLDEST_VERSION..=SNAPSHOT_VERSION).contains(&found) {
            return Err(SaveError::Version { found });
        }
        let (checksum, content) = rest.split_first_chunk::<4>().ok_or(SaveError::Damaged)?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(SaveError::Damaged);
        }
        let (mut snapshot, rest): (Self, _) =
            postcard::take_from_bytes(content).map_err(|_| SaveError::Unreadable)?;
        let mut rest = rest;
        // In the first version that is read it comes only if it is needed.
        if found > OLDEST_VERSION || !rest.is_empty() {
            (snapshot.extension, rest) =
                postcard::take_from_bytes(rest).map_err(|_| SaveError::Unreadable)?;
        }
        if found > OLDEST_VERSION {
            (snapshot.totals, rest) = postcard::take_from_bytes(rest).map_err(|_| SaveError::Unreadable)?;
        }
        rest.is_empty().then_some(snapshot).ok_or(SaveError::Unreadable)
    }
}

fn append<T: Serialize>(bytes: &mut Vec<u8>, value: &T) {
    let written = postcard::to_extend(value, std::mem::take(bytes));
    *bytes = written.expect("plain data in memory can be written");
}

/// Appends a part of the digest; returns its hash.
fn append_hashed<T: Serialize>(bytes: &mut Vec<u8>, value: &T) -> u64 {
    let begin = bytes.len();
    append(bytes, value);
    digest::hash(&bytes[begin..])
}

/// The latest moment a snapshot may be taken at: 10¹³ years at the highest frequency. Adding to what lies
/// below cannot overflow.
const NOW_MAX: GameTime = GameTime::from_nanounits(1 << 100);

/// The furthest a deadline may lie ahead: beyond the longest maturing of an egg, 2³² units.
const AHEAD_MAX: GameSpan = GameSpan::from_nanounits(1 << 64);

/// The most steps and elevations counted; one more never overflows.
const NUMBER_MAX: u64 = u64::MAX / 2;

/// The most of one thing in one place or with one agent. An operator makes a pile of at most a sixteenth of it; agents,
/// that put down one thing in seven units, would take a hundred million units for the rest.
const COUNT_MAX: u32 = 16 * OPERATOR_COUNT_MAX;

impl Game {
    /// The game that a snapshot was taken of, ready to go on. No event waits.
    ///
    /// # Errors
    /// If it contradicts itself.
    pub fn restore(snapshot: Snapshot) -> Result<Self, SaveError> {
        snapshot.config.check()?;
        rebuild(snapshot).map_err(SaveError::Inconsistent)
    }
}

fn rebuild(snapshot: Snapshot) -> Result<Game, &'static str> {
    let Snapshot {
        config,
        now,
        progress,
        ground,
        agents,
        commands,
        eggs,
        elevations,
        agenda,
        rngs,
        in_flight,
        extension,
        totals,
    } = snapshot;
    let is_in_range = (GameTime::ZERO..=NOW_MAX).contains(&now) && progress.steps <= NUMBER_MAX;
    ensure(is_in_range, "the time is out of range")?;
    let seed = config.seed;
    let mut world = World::empty(&config);
    world.hunger_enabled = progress.hunger_enabled;
    world.refill_enabled = progress.refill_enabled;
    world.winner = progress.winner;
    for team in extension.closed {
        ensure(world.team(team).is_some(), "there is no such closed team")?;
        world.team_mut(team).is_closed = true;
    }
    world.birth_rng = Rng::resume(seed, Purpose::Birth, rngs.birth);
    world.egg_rng = Rng::resume(seed, Purpose::Egg, rngs.egg);
    let (drawn, dealt) = rngs.dealer;
    let dealer = Dealer::resume(config.size, Rng::resume(seed, Purpose::Refill, drawn), dealt);
    world.dealer = dealer.ok_or("more is dealt than there are tiles")?;

    ensure(
        ground.len() == world.size.area(),
        "the ground is not that of the map",
    )?;
    for (index, ground) in ground.iter().enumerate() {
        ensure_counts(ground)?;
        world.set_ground(world.size.tile_at(index), *ground);
    }
    ensure(
        agents.len() == commands.len(),
        "agents and commands are not of the same agents",
    )?;
    for (agent, commands) in agents.into_iter().zip(commands) {
        put_agent(&mut world, now, Agent { commands, ..agent })?;
    }
    let are_given_out =
        world.agents.next_number() <= progress.next_agent && progress.next_elevation <= NUMBER_MAX;
    ensure(are_given_out, "an agent or an elevation has a number to come")?;
    world.agents.skip_to(progress.next_agent);
    for egg in eggs {
        put_egg(&mut world, now, egg)?;
    }
    ensure(world.next_egg <= progress.next_egg, "an egg has a number to come")?;
    world.next_egg = progress.next_egg;
    world.elevations.restore(elevations, progress.next_elevation);
    put_in_flight(&mut world, in_flight)?;
    let ledger = Ledger::restore(totals, &mut world, now, progress.steps)?;

    let mut game = Game {
        agenda: Agenda::new(config.rules.lock_step),
        config,
        starvation: StarvationBound::find(&world),
        world,
        now,
        steps: progress.steps,
        events: Events::default(),
        hatch_timers: BTreeMap::new(),
        delivery_timers: BTreeMap::new(),
        refill_timer: None,
        refilled_at: progress.refilled_at,
        ledger,
    };
    let is_past = (GameTime::ZERO..=now).contains(&progress.refilled_at);
    ensure(is_past, "the last refill is not in the past")?;
    put_agenda(&mut game, &agenda, progress.refill_at)?;
    game.find_contradiction()?;
    Ok(game)
}

fn put_agent(world: &mut World, now: GameTime, agent: Agent) -> Result<(), &'static str> {
    ensure_place(world, agent.team, agent.tile)?;
    ensure_counts(&agent.inventory)?;
    let is_next = agent.id.0 >= world.agents.next_number() && agent.id.0 < u32::MAX;
    ensure(is_next, "agents are not in order")?;
    let is_in_range = match agent.digestion {
        Digestion::Until(end) => end <= now + AHEAD_MAX,
        Digestion::Stopped(left) => (GameSpan::ZERO..=AHEAD_MAX).contains(&left),
    };
    ensure(is_in_range, "a meal is out of range")?;
    world.place_agent(agent);
    Ok(())
}

fn put_egg(world: &mut World, now: GameTime, egg: Egg) -> Result<(), &'static str> {
    ensure_place(world, egg.team, egg.tile)?;
    ensure(world.eggs.len() < EGGS_MAX, "there are too many eggs")?;
    let is_next = egg.id.0 >= world.next_egg && egg.id.0 < u32::MAX;
    ensure(is_next, "eggs are not in order")?;
    let is_in_range = egg.matures.is_none_or(|at| at <= now + AHEAD_MAX);
    ensure(is_in_range, "an egg matures out of range")?;
    world.place_egg(egg);
    Ok(())
}

fn put_in_flight(world: &mut World, saved: SavedInFlight) -> Result<(), &'static str> {
    let in_flight = InFlight::restore(saved, world.in_flight.seed());
    let in_flight = in_flight.ok_or("the messages in flight are inconsistent")?;
    let is_from_map = in_flight
        .messages()
        .all(|message| message.from.0 < world.agents.next_number() && world.size.contains(message.source));
    ensure(is_from_map, "a message has no sender, or is from off the map")?;
    let is_alive = |agent| world.agents.get(agent).is_some();
    let are_teams = in_flight.own_lags().all(|(team, _)| world.team(team).is_some());
    ensure(are_teams, "a team with lag does not exist")?;
    let is_linked = in_flight
        .links()
        .all(|(from, to, ..)| is_alive(from) && is_alive(to) && from != to);
    ensure(is_linked, "a link is between agents that are not there")?;
    world.in_flight = in_flight;
    Ok(())
}

/// Schedules what was pending, in its order, at the moments that follow from the rest of the snapshot.
fn put_agenda(game: &mut Game, agenda: &[Due], refill_at: Option<GameTime>) -> Result<(), &'static str> {
    let pending = game.pending(refill_at);
    for &due in agenda {
        let place = pending.binary_search_by_key(&due, |(due, _)| *due);
        let (_, at) = pending[place.map_err(|_| "what is due does not follow from the rest")?];
        let is_ahead = (game.now..=game.now + AHEAD_MAX).contains(&at);
        ensure(is_ahead, "a deadline is out of range")?;
        let timer = game.agenda.schedule(at, due);
        match due {
            Due::Action(agent) | Due::Start(agent) => {
                game.world.agents[agent].commands.timer = Some(timer);
            }
            Due::Hunger(agent) => game.world.agents[agent].hunger_timer = Some(timer),
            Due::Hatch(egg) => {
                game.hatch_timers.insert(egg, timer);
            }
            Due::Refill => game.refill_timer = Some(timer),
            Due::Delivery { message, .. } => {
                game.delivery_timers.insert(message, timer);
            }
            Due::Elevation { .. } => {}
        }
    }
    let in_order = game.agenda.in_order().map(|(_, due)| due);
    ensure(in_order.eq(agenda.iter().copied()), "what is due is not in order")
}

fn ensure_place(world: &World, team: TeamId, tile: Tile) -> Result<(), &'static str> {
    ensure(world.team(team).is_some(), "there is no such team")?;
    ensure(world.size.contains(tile), "something is off the map")
}

fn ensure_counts(counts: &Counts) -> Result<(), &'static str> {
    let is_in_range = counts.0.iter().all(|&count| count <= COUNT_MAX);
    ensure(is_in_range, "a count is out of range")
}

#[cfg(test)]
mod tests {
    use trantor_model::{AgentId, Command, MapSize};

    use super::*;
    use crate::{GameInput, Rules};

    fn game() -> Game {
        Game::new(GameConfig {
            size: MapSize::new(5, 5).unwrap(),
            teams: vec!["red".to_owned()],
            places_per_team: 1,
            seed: 1,
            rules: Rules::default(),
        })
    }

    #[test]
    fn actions_that_end_too_late_are_refused() {
        let mut game = game();
        let _joined = game.handle(GameInput::Join { team: TeamId(0) }, GameTime::ZERO);
        let (agent, command) = (AgentId(0), Command::Forward);
        let _done = game.handle(GameInput::Command { agent, command }, GameTime::ZERO);
        game.fire_next(GameTime::ZERO);
        let mut snapshot = game.snapshot();
        let action = Due::Action(agent);
        snapshot.agenda.retain(|due| *due != action);
        snapshot.agenda.push(action);
        let refused_with = |end| {
            let mut snapshot = snapshot.clone();
            snapshot.commands[0].running.as_mut().expect("it walks").end = end;
            Game::restore(snapshot).err()
        };
        let latest = GameTime::ZERO + AHEAD_MAX;
        assert_eq!(refused_with(latest), None);
        let late = SaveError::Inconsistent("a deadline is out of range");
        assert_eq!(refused_with(latest + GameSpan::from_nanounits(1)), Some(late));
    }

    #[test]
    fn piles_that_no_game_makes_are_refused() {
        let mut snapshot = game().snapshot();
        snapshot.ground[7].0[3] = COUNT_MAX;
        assert!(Game::restore(snapshot.clone()).is_ok());
        snapshot.ground[7].0[3] += 1;
        let refused = Game::restore(snapshot).err();
        assert_eq!(refused, Some(SaveError::Inconsistent("a count is out of range")));
    }
}
