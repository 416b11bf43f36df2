//! The whole world for a viewer of ours, in pieces that each cost it one credit (R-002-56).
//!
//! Who is in the world is noted when the snapshot is begun, and encoded piece by piece as there is credit for it, once for all who
//! began at that moment: ten thousand agents are some milliseconds of encoding, which nobody else is to wait for. What lies where is
//! not even noted: a million tiles are some megabytes. Pieces of ground show a later moment than
//! the rest, and what changed since the beginning is sent after them all the same. That does no harm: a change says what
//! lies on a tile after it, not what is different, so that the last word on each tile is the right one.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use trantor_game::Game;
use trantor_model::TeamId;
use trantor_protocol::wire::{
    ActionState, AgentState, EggState, RitualState, SnapshotPart, ToClient, write_frame,
};
use trantor_time::GameTime;

use super::frames::ritual_start;
use crate::limits;

/// A snapshot on its way to a viewer. Ground first, so that everything else stands on it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// Index of the first tile whose piece has not been sent.
    tile: usize,
    /// What comes behind the ground.
    population: Arc<Population>,
    /// How many of its pieces were sent.
    sent: usize,
}

impl Snapshot {
    /// One of which nothing was sent yet.
    pub(crate) fn new(population: Arc<Population>) -> Self {
        Self {
            tile: 0,
            population,
            sent: 0,
        }
    }

    /// The next piece, with the ground as it is in `game`; the last one is the snapshot's end.
    pub(crate) fn next(&mut self, game: &Game) -> Option<Arc<[u8]>> {
        let size = game.config().size;
        if self.tile >= size.area() {
            let piece = self.population.piece(self.sent)?;
            self.sent += 1;
            return Some(piece);
        }
        let end = size.area().min(self.tile + limits::GROUND_TILES_PER_PART);
        let tiles = (self.tile..end)
            .map(|index| *game.world().ground(size.tile_at(index)))
            .collect();
        let first = u32::try_from(self.tile).expect("a map has at most a million tiles");
        self.tile = end;
        Some(frame(&ToClient::Snapshot(SnapshotPart::Ground { first, tiles })))
    }

    /// Whether the next piece is the end, which costs no credit: it is no piece.
    pub(crate) fn is_end_next(&self, game: &Game) -> bool {
        self.tile >= game.config().size.area() && self.sent + 1 == self.population.pieces.len()
    }

    /// Whether all of it was sent.
    pub(crate) fn is_over(&self) -> bool {
        self.sent == self.population.pieces.len()
    }
}

/// Everything in the world but the ground, as it was at one moment. Shared by all who began a snapshot then.
#[derive(Debug)]
pub(crate) struct Population {
    agents: Vec<AgentState>,
    eggs: Vec<EggState>,
    rituals: Vec<RitualState>,
    at: GameTime,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    holds: Holds,
    /// Encoded when somebody first needs it.
    frame: OnceLock<Arc<[u8]>>,
}

/// Of what a piece is made.
#[derive(Clone, Debug)]
enum Holds {
    Agents(Range<usize>),
    Eggs(Range<usize>),
    Rituals(Range<usize>),
    Winner(TeamId),
    End,
}

impl Population {
    /// Who is in the world now.
    pub(crate) fn of(game: &Game) -> Self {
        let world = game.world();
        let agents = world.agents().map(|agent| AgentState {
            view: agent.view(),
            action: agent.action().map(|action| ActionState {
                kind: action.kind,
                start: action.start,
                end: action.end,
                refused: action.refused,
            }),
            food_ends: agent.food_ends(),
        });
        let eggs = world.eggs().map(|egg| EggState {
            egg: egg.id,
            team: egg.team,
            tile: egg.tile,
        });
        let rituals = world.rituals().map(|ritual| RitualState {
            tile: ritual.tile(),
            level: ritual.level(),
            participants: ritual.participants().to_vec(),
            start: ritual_start(ritual.end()),
            end: ritual.end(),
        });
        Self::new(
            agents.collect(),
            eggs.collect(),
            rituals.collect(),
            game.winner(),
            game.now(),
        )
    }

    /// The same of a match that has just been decided: nobody does anything any more.
    pub(crate) fn at_rest(game: &Game) -> Self {
        let Self { mut agents, eggs, .. } = Self::of(game);
        for agent in &mut agents {
            (agent.action, agent.food_ends) = (None, None);
        }
        Self::new(agents, eggs, Vec::new(), game.winner(), game.now())
    }

    /// What was found at game time `at`.
    pub(crate) fn new(
        agents: Vec<AgentState>,
        eggs: Vec<EggState>,
        rituals: Vec<RitualState>,
        winner: Option<TeamId>,
        at: GameTime,
    ) -> Self {
        let agent_pieces = ranges(agents.len()).map(Holds::Agents);
        let egg_pieces = ranges(eggs.len()).map(Holds::Eggs);
        let ritual_pieces = ritual_ranges(&rituals).into_iter().map(Holds::Rituals);
        let pieces = agent_pieces
            .chain(egg_pieces)
            .chain(ritual_pieces)
            .chain(winner.map(Holds::Winner))
            .chain([Holds::End])
            .map(|holds| Piece {
                holds,
                frame: OnceLock::new(),
            });
        Self {
            pieces: pieces.collect(),
            agents,
            eggs,
            rituals,
            at,
        }
    }

    /// A piece as a frame; the last one is the snapshot's end.
    fn piece(&self, nth: usize) -> Option<Arc<[u8]>> {
        let piece = self.pieces.get(nth)?;
        let encode = || {
            let part = match piece.holds.clone() {
                Holds::Agents(range) => SnapshotPart::Agents(self.agents[range].to_vec()),
                Holds::Eggs(range) => SnapshotPart::Eggs(self.eggs[range].to_vec()),
                Holds::Rituals(range) => SnapshotPart::Rituals(self.rituals[range].to_vec()),
                Holds::Winner(team) => SnapshotPart::Winner(team),
                Holds::End => return frame(&ToClient::SnapshotEnd { at: self.at }),
            };
            frame(&ToClient::Snapshot(part))
        };
        Some(Arc::clone(piece.frame.get_or_init(encode)))
    }
}

/// Runs of entries that make a piece each.
fn ranges(count: usize) -> impl Iterator<Item = Range<usize>> {
    let begins = (0..count).step_by(limits::ENTRIES_PER_PART);
    begins.map(move |begin| begin..count.min(begin + limits::ENTRIES_PER_PART))
}

/// The same for elevations, which are as long as their participants are many.
fn ritual_ranges(rituals: &[RitualState]) -> Vec<Range<usize>> {
    let (mut ranges, mut begin, mut participants) = (Vec::new(), 0, 0);
    for (end, ritual) in (1..).zip(rituals) {
        participants += ritual.participants.len();
        let is_full =
            end - begin == limits::ENTRIES_PER_PART || participants >= limits::RITUAL_AGENTS_PER_PART;
        if is_full || end == rituals.len() {
            ranges.push(begin..end);
            (begin, participants) = (end, 0);
        }
    }
    ranges
}

fn frame(message: &ToClient) -> Arc<[u8]> {
    let mut frame = Vec::new();
    write_frame(&mut frame, message).expect("pieces are cut to fit a frame");
    frame.into()
}
