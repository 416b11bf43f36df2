//! The whole world for a viewer of ours, in pieces that each cost it one credit (R-002-56).
//!
//! Who is in the world is encoded when the snapshot is begun. What lies where is encoded piece by piece as there is credit for
//! it: a million tiles are some megabytes, which nobody else is to wait for. Those pieces show a later moment than
//! the rest, and what changed since the beginning is sent after them all the same. That does no harm: a change says what
//! lies on a tile after it, not what is different, so that the last word on each tile is the right one.

use std::collections::VecDeque;
use std::sync::Arc;

use trantor_game::Game;
use trantor_protocol::wire::{
    ActionState, AgentState, EggState, RitualState, SnapshotPart, ToClient, write_frame,
};

use super::frames::ritual_start;
use crate::limits;

/// Encoded pieces of a snapshot. Copies are cheap: they share the bytes.
pub(crate) type SnapshotFrames = VecDeque<Arc<[u8]>>;

/// A snapshot on its way to a viewer. Ground first, so that everything else stands on it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// Index of the first tile whose piece has not been sent.
    tile: usize,
    /// The pieces behind the ground, the end of the snapshot after them.
    population: SnapshotFrames,
}

impl Snapshot {
    /// One of which nothing was sent yet.
    pub(crate) fn new(population: SnapshotFrames) -> Self {
        Self { tile: 0, population }
    }

    /// The next piece, with the ground as it is in `game`; the last one is the snapshot's end.
    pub(crate) fn next(&mut self, game: &Game) -> Option<Arc<[u8]>> {
        let size = game.config().size;
        if self.tile >= size.area() {
            return self.population.pop_front();
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
        self.tile >= game.config().size.area() && self.population.len() == 1
    }

    /// Whether all of it was sent.
    pub(crate) fn is_over(&self) -> bool {
        self.population.is_empty()
    }
}

/// Everything in the world but the ground, and the snapshot's end.
pub(crate) fn population_frames(game: &Game) -> SnapshotFrames {
    let mut frames = VecDeque::new();
    let world = game.world();

    let mut agents = world.agents().map(|agent| AgentState {
        view: agent.view(),
        action: agent.action().map(|action| ActionState {
            kind: action.kind,
            start: action.start,
            end: action.end,
            refused: action.refused,
        }),
        food_ends: agent.food_ends(),
    });
    while let Some(part) = next_part(&mut agents) {
        push_part(&mut frames, SnapshotPart::Agents(part));
    }

    let mut eggs = world.eggs().map(|egg| EggState {
        egg: egg.id,
        team: egg.team,
        tile: egg.tile,
    });
    while let Some(part) = next_part(&mut eggs) {
        push_part(&mut frames, SnapshotPart::Eggs(part));
    }

    let mut rituals = Vec::new();
    let mut participants = 0;
    for ritual in world.rituals() {
        rituals.push(RitualState {
            tile: ritual.tile(),
            level: ritual.level(),
            participants: ritual.participants().to_vec(),
            start: ritual_start(ritual.end()),
            end: ritual.end(),
        });
        participants += ritual.participants().len();
        if rituals.len() == limits::ENTRIES_PER_PART || participants >= limits::RITUAL_AGENTS_PER_PART {
            push_part(&mut frames, SnapshotPart::Rituals(std::mem::take(&mut rituals)));
            participants = 0;
        }
    }
    if !rituals.is_empty() {
        push_part(&mut frames, SnapshotPart::Rituals(rituals));
    }
    if let Some(team) = game.winner() {
        push_part(&mut frames, SnapshotPart::Winner(team));
    }

    push(&mut frames, &ToClient::SnapshotEnd { at: game.now() });
    frames
}

fn next_part<T>(entries: &mut impl Iterator<Item = T>) -> Option<Vec<T>> {
    let part: Vec<T> = entries.take(limits::ENTRIES_PER_PART).collect();
    (!part.is_empty()).then_some(part)
}

fn push_part(frames: &mut SnapshotFrames, part: SnapshotPart) {
    push(frames, &ToClient::Snapshot(part));
}

fn push(frames: &mut SnapshotFrames, message: &ToClient) {
    frames.push_back(frame(message));
}

fn frame(message: &ToClient) -> Arc<[u8]> {
    let mut frame = Vec::new();
    write_frame(&mut frame, message).expect("pieces are cut to fit a frame");
    frame.into()
}
