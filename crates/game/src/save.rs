//! Snapshots: a whole game as plain data, and that data as bytes.
//!
//! A snapshot is taken on the loop and encoded wherever there is time: it owns all it needs. A game restored
//! from it continues exactly as the original would have (the order of equal deadlines and the state of every
//! generator included), which is why the digest of a game is that of its snapshot ([`crate::digest`]).
//!
//! Bytes are untrusted: [`Game::restore`] checks them.

mod restore;

use serde::{Deserialize, Serialize};
use trantor_model::{Counts, TeamId};
use trantor_time::GameTime;

use crate::agenda::Due;
use crate::commands::CommandQueue;
use crate::config::{ConfigError, GameConfig};
use crate::digest::{self, Digest};
use crate::game::Game;
use crate::lag::SavedInFlight;
use crate::rules::{Agent, Egg, Ritual};

/// What every snapshot begins with.
const MAGIC: [u8; 8] = *b"TRANTORS";

/// The version of the format. It rises with every change of what is saved or how; see `docs/replay-format.md`.
pub const SNAPSHOT_VERSION: u16 = 2;

/// Magic, version and checksum.
const HEADER_BYTES: usize = MAGIC.len() + size_of::<u16>() + size_of::<u32>();

/// A game at one moment.
///
/// The parts are those of a digest. Derived data is left out: totals, lists per
/// tile, and the moments of deadlines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Snapshot {
    pub(crate) config: GameConfig,
    pub(crate) now: GameTime,
    pub(crate) progress: Progress,
    pub(crate) ground: Vec<Counts>,
    pub(crate) agents: Vec<Agent>,
    /// In the order of the agents.
    pub(crate) commands: Vec<CommandQueue>,
    pub(crate) eggs: Vec<Egg>,
    pub(crate) rituals: Vec<Ritual>,
    /// Everything pending in the order it will come.
    pub(crate) agenda: Vec<Due>,
    pub(crate) rngs: RngState,
    pub(crate) in_flight: SavedInFlight,
    #[serde(skip)]
    pub(crate) extension: Extension,
}

/// State that came later than the format: it is written, and counts in the digest, only if it is not that of a new game. So
/// older snapshots are read, and a game that does not use it has the digest that it always had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extension {
    /// The closed teams, in ascending order.
    pub(crate) closed: Vec<TeamId>,
}

/// How far the game has come, and its switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub(crate) steps: u64,
    pub(crate) next_agent: u32,
    pub(crate) next_egg: u32,
    pub(crate) next_ritual: u64,
    pub(crate) refill_at: Option<GameTime>,
    pub(crate) refilled_at: GameTime,
    pub(crate) hunger_enabled: bool,
    pub(crate) refill_enabled: bool,
    pub(crate) winner: Option<TeamId>,
}

/// How many numbers were drawn from each rng.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RngState {
    pub(crate) birth: u64,
    pub(crate) egg: u64,
    /// Before the present round of dealing, and how many tiles were dealt in it.
    pub(crate) dealer: (u64, u32),
}

/// Why bytes are not a game that can be resumed. The caller reports it and tries an older snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SaveError {
    /// They do not begin as a snapshot does.
    #[error("this is not a snapshot of a game")]
    NotASnapshot,
    /// They are of a version that this program does not know.
    #[error("the snapshot has format {found}, this program reads format {SNAPSHOT_VERSION}")]
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
                next_ritual: world.rituals.next_id(),
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
            rituals: world.rituals().cloned().collect(),
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

    /// The same and [`Self::digest`]: of a large world it takes half as long as one after the other.
    pub fn encode_with_digest(&self) -> (Vec<u8>, Digest) {
        let (mut bytes, digest) = self.write(vec![0; HEADER_BYTES]);
        let checksum = crc32fast::hash(&bytes[HEADER_BYTES..]);
        let (magic, rest) = bytes.split_at_mut(MAGIC.len());
        magic.copy_from_slice(&MAGIC);
        rest[..2].copy_from_slice(&SNAPSHOT_VERSION.to_le_bytes());
        rest[2..6].copy_from_slice(&checksum.to_le_bytes());
        (bytes, digest)
    }

    /// Appends everything to `bytes`, as it is read by [`Self::decode`]: the fields in their order, and nothing between them.
    /// The hash of the extension, if there is one, is part of that of the progress.
    pub(crate) fn write(&self, mut bytes: Vec<u8>) -> (Vec<u8>, Digest) {
        let Self {
            config,
            now,
            progress,
            ground,
            agents,
            commands,
            eggs,
            rituals,
            agenda,
            rngs,
            in_flight,
            extension,
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
            append_hashed(&mut bytes, rituals),
            append_hashed(&mut bytes, agenda),
            append_hashed(&mut bytes, rngs),
            append_hashed(&mut bytes, in_flight),
        ];
        if *extension != Extension::default() {
            let progress = &mut parts[1];
            *progress = progress.rotate_left(1) ^ append_hashed(&mut bytes, extension);
        }
        (bytes, Digest::of_parts(parts))
    }

    /// Decodes the bytes of [`Self::encode`]; [`Game::restore`] checks the state.
    pub fn decode(bytes: &[u8]) -> Result<Self, SaveError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(SaveError::NotASnapshot)?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or(SaveError::Damaged)?;
        let found = u16::from_le_bytes(*version);
        if found != SNAPSHOT_VERSION {
            return Err(SaveError::Version { found });
        }
        let (checksum, content) = rest.split_first_chunk::<4>().ok_or(SaveError::Damaged)?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(SaveError::Damaged);
        }
        let (mut snapshot, rest): (Self, _) =
            postcard::take_from_bytes(content).map_err(|_| SaveError::Unreadable)?;
        if !rest.is_empty() {
            let extension = postcard::take_from_bytes(rest);
            let (extension, []) = extension.map_err(|_| SaveError::Unreadable)? else {
                return Err(SaveError::Unreadable);
            };
            snapshot.extension = extension;
        }
        Ok(snapshot)
    }

    /// What is not the same in another snapshot, in words, part by part; at most `most` lines.
    pub fn differences(&self, other: &Self, most: usize) -> Vec<String> {
        let mut lines = Vec::new();
        compare("configuration", [&self.config], [&other.config], most, &mut lines);
        compare("progress", [&self.progress], [&other.progress], most, &mut lines);
        compare("tile", &self.ground, &other.ground, most, &mut lines);
        compare("agent", &self.agents, &other.agents, most, &mut lines);
        compare(
            "commands of agent",
            &self.commands,
            &other.commands,
            most,
            &mut lines,
        );
        compare("egg", &self.eggs, &other.eggs, most, &mut lines);
        compare("ritual", &self.rituals, &other.rituals, most, &mut lines);
        compare("deadline", &self.agenda, &other.agenda, most, &mut lines);
        compare("rng", [&self.rngs], [&other.rngs], most, &mut lines);
        compare(
            "in flight",
            [&self.in_flight],
            [&other.in_flight],
            most,
            &mut lines,
        );
        compare(
            "extension",
            [&self.extension],
            [&other.extension],
            most,
            &mut lines,
        );
        lines
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

/// Adds a line for each place at which two lists differ.
fn compare<'a, T: std::fmt::Debug + PartialEq + 'a>(
    what: &str,
    ours: impl IntoIterator<Item = &'a T>,
    theirs: impl IntoIterator<Item = &'a T>,
    most: usize,
    lines: &mut Vec<String>,
) {
    let (mut ours, mut theirs) = (ours.into_iter(), theirs.into_iter());
    for place in 0.. {
        let (one, other) = (ours.next(), theirs.next());
        if (one.is_none() && other.is_none()) || lines.len() >= most {
            return;
        }
        if one != other {
            let show =
                |side: Option<&T>| side.map_or_else(|| "nothing".to_owned(), |side| format!("{side:?}"));
            lines.push(format!("{what} {place}: {} against {}", show(one), show(other)));
        }
    }
}
