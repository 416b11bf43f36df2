//! All that a text viewer needs to draw the world, in the order that viewers rely on: size, speed, tiles, teams, agents,
//! eggs. The tiles of a large map are written piece by piece.
//!
//! Several public viewers crash or lose data if a player comes before its tile or its team, or an egg before
//! its layer. Numbers ascend, since one of them uses the number as an index into a growing list.

use std::borrow::Cow;
use std::collections::BTreeSet;

use trantor_game::{Agent, Egg, Game, World};
use trantor_protocol::text::{GuiEvent, GuiIds, write_gui_event};

/// Writes who is in the world, for a viewer that knows what lies where: teams, agents, eggs, elevations under way
/// (R-000-48).
pub(crate) fn write_population(out: &mut Vec<u8>, ids: GuiIds, game: &Game) {
    write_teams(out, ids, game);
    for agent in game.world().agents() {
        write_agent(out, ids, game, agent);
    }
    for egg in game.world().eggs() {
        write_egg(out, ids, game, egg);
    }
    write_rituals(out, ids, game);
}

/// Writes what makes the world of `before`, which viewers know, into that of `game`, another moment of the same
/// recording: who and what is gone, who is new, and where everybody and everything is (R-001-46).
pub(crate) fn write_jump(out: &mut Vec<u8>, ids: GuiIds, before: &Game, game: &Game) {
    let mut write = |line: &GuiEvent<'_>| write_gui_event(out, ids, line);
    let (from, to) = (before.world(), game.world());
    for ritual in from.rituals() {
        // The one word for an elevation that is under way no more. If it still is, it is begun again below.
        let (tile, success) = (ritual.tile(), false);
        write(&GuiEvent::RitualEnded { tile, success });
    }
    for agent in from.agents().filter(|agent| to.agent(agent.id()).is_none()) {
        write(&GuiEvent::Died { agent: agent.id() });
    }
    let eggs = |world: &World| world.eggs().map(|egg| egg.id).collect::<BTreeSet<_>>();
    let (eggs_before, eggs_now) = (eggs(from), eggs(to));
    for egg in eggs_before.difference(&eggs_now) {
        write(&GuiEvent::EggDestroyed { egg: *egg });
    }
    write_map(out, ids, game);
    for agent in to.agents() {
        let (id, tile, level) = (agent.id(), agent.tile(), agent.level());
        if from.agent(id).is_none() {
            write_agent(out, ids, game, agent);
            continue;
        }
        let mut write = |line: &GuiEvent<'_>| write_gui_event(out, ids, line);
        let (facing, inventory) = (agent.facing(), *agent.inventory());
        write(&GuiEvent::Position {
            agent: id,
            tile,
            facing,
        });
        write(&GuiEvent::Inventory {
            agent: id,
            tile,
            inventory,
        });
        write(&GuiEvent::Level { agent: id, level });
    }
    for egg in to.eggs().filter(|egg| !eggs_before.contains(&egg.id)) {
        write_egg(out, ids, game, egg);
    }
    write_rituals(out, ids, game);
}

fn write_agent(out: &mut Vec<u8>, ids: GuiIds, game: &Game, agent: &Agent) {
    let mut write = |line: &GuiEvent<'_>| write_gui_event(out, ids, line);
    let (id, tile, level) = (agent.id(), agent.tile(), agent.level());
    let team = game.config().teams[usize::from(agent.team().0)].as_bytes();
    write(&GuiEvent::Joined {
        agent: id,
        tile,
        facing: agent.facing(),
        level,
        team,
    });
    write(&GuiEvent::Inventory {
        agent: id,
        tile,
        inventory: *agent.inventory(),
    });
    write(&GuiEvent::Level { agent: id, level });
}

fn write_egg(out: &mut Vec<u8>, ids: GuiIds, game: &Game, egg: &Egg) {
    // Some viewers look the layer up without asking whether it is there.
    let layer = egg.layer.filter(|layer| game.world().agent(*layer).is_some());
    let (egg, tile) = (egg.id, egg.tile);
    write_gui_event(out, ids, &GuiEvent::EggLaid { egg, layer, tile });
}

/// Not in the reference's burst; without it the end of an elevation would come out of the blue.
fn write_rituals(out: &mut Vec<u8>, ids: GuiIds, game: &Game) {
    for ritual in game.world().rituals() {
        let participants = Cow::Borrowed(ritual.participants());
        let (tile, level) = (ritual.tile(), ritual.level());
        let line = GuiEvent::RitualStarted {
            tile,
            level,
            participants,
        };
        write_gui_event(out, ids, &line);
    }
}

/// Writes what lies on every tile, row by row.
pub(crate) fn write_map(out: &mut Vec<u8>, ids: GuiIds, game: &Game) {
    write_map_from(out, ids, game, 0, usize::MAX);
}

/// The same from the tile of this index on, until `bytes` were written or a little more; answers the index of the tile
/// that comes next.
pub(crate) fn write_map_from(
    out: &mut Vec<u8>,
    ids: GuiIds,
    game: &Game,
    from: usize,
    bytes: usize,
) -> usize {
    let size = game.config().size;
    let end = out.len().saturating_add(bytes);
    for index in from..size.area() {
        if out.len() >= end {
            return index;
        }
        let tile = size.tile_at(index);
        write_gui_event(
            out,
            ids,
            &GuiEvent::Tile {
                tile,
                ground: *game.world().ground(tile),
            },
        );
    }
    size.area()
}

/// Writes every team's name, in the order the teams were given.
pub(crate) fn write_teams(out: &mut Vec<u8>, ids: GuiIds, game: &Game) {
    for name in &game.config().teams {
        write_gui_event(out, ids, &GuiEvent::Team(name.as_bytes()));
    }
}
