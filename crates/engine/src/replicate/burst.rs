//! All that a text viewer needs to draw the world, in the order that viewers rely on.
//!
//! Several public viewers crash or lose data if a player comes before its tile or its team, or an egg before
//! its layer. Numbers ascend, since one of them uses the number as an index into a growing list.

use std::borrow::Cow;

use trantor_game::Game;
use trantor_protocol::text::{GuiEvent, GuiIds, write_gui_event};
use trantor_time::Frequency;

/// Writes the whole state: map size, speed, tiles, teams, agents, eggs, elevations under way (R-000-48).
pub(crate) fn write_burst(out: &mut Vec<u8>, ids: GuiIds, game: &Game, frequency: Frequency) {
    let mut write = |line: &GuiEvent<'_>| write_gui_event(out, ids, line);
    write(&GuiEvent::MapSize(game.config().size));
    write(&GuiEvent::Frequency(frequency));
    write_map(out, ids, game);
    write_teams(out, ids, game);
    let world = game.world();
    let mut write = |line: &GuiEvent<'_>| write_gui_event(out, ids, line);
    for agent in world.agents() {
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
    for egg in world.eggs() {
        // Some viewers look the layer up without asking whether it is there.
        let layer = egg.layer.filter(|layer| world.agent(*layer).is_some());
        write(&GuiEvent::EggLaid {
            egg: egg.id,
            layer,
            tile: egg.tile,
        });
    }
    for ritual in world.rituals() {
        // Not in the reference's burst; without it the end of the elevation would come out of the blue.
        let participants = Cow::Borrowed(ritual.participants());
        write(&GuiEvent::RitualStarted {
            tile: ritual.tile(),
            level: ritual.level(),
            participants,
        });
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
