//! The whole world for a viewer of ours, in pieces that each cost it one credit (R-002-56).
//!
//! All pieces show the same moment: they are encoded together, and what changes while they are on their way
//! is sent after them. On a map of a million tiles that is some megabytes, which all viewers share that need it at the
//! same moment.

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

/// The frames of a snapshot; the last one is its end. Ground first, so that everything else stands on it.
pub(crate) fn snapshot_frames(game: &Game) -> SnapshotFrames {
    let mut frames = VecDeque::new();
    let world = game.world();
    let size = game.config().size;

    for first in (0..size.area()).step_by(limits::GROUND_TILES_PER_PART) {
        let end = size.area().min(first + limits::GROUND_TILES_PER_PART);
        let tiles = (first..end)
            .map(|index| *world.ground(size.tile_at(index)))
            .collect();
        let first = u32::try_from(first).expect("a map has at most a million tiles");
        push_part(&mut frames, SnapshotPart::Ground { first, tiles });
    }

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
    let mut frame = Vec::new();
    write_frame(&mut frame, message).expect("pieces are cut to fit a frame");
    frames.push_back(frame.into());
}
