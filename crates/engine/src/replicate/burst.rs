//! All that a text viewer needs to draw the world, in the order that viewers rely on: tiles, teams, agents, eggs,
//! elevations, who has won. It is written piece by piece, as long as it may be.
//!
//! Several public viewers crash or lose data if a player comes before its tile or its team, or an egg before
//! its layer. Numbers ascend, since one of them uses the number as an index into a growing list.

use std::borrow::Cow;

use trantor_game::{Agent, Egg, Game, RitualId};
use trantor_model::{AgentId, AgentView, EggId, Tile};
use trantor_protocol::text::{Dialect, GuiEvent, GuiIds, write_gui_event};

use crate::config::EngineConfig;
use crate::session::{Answer, Known, Subject};

/// Dialect quirks of text viewers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewerQuirks {
    ids: GuiIds,
    /// School 42's sheet has one `pnw` for each agent and nothing else. Viewers written for it read them one after the
    /// other, and end at a `pin` in between.
    is_bare: bool,
    first_egg: EggId,
}

impl ViewerQuirks {
    pub(crate) fn of(config: &EngineConfig) -> Self {
        Self {
            ids: config.gui_ids,
            is_bare: matches!(config.dialect, Dialect::French42 | Dialect::English42),
            first_egg: config.first_egg_told(),
        }
    }
}

/// Writes the world from where `answer` has come to, as far as it goes, or until `bytes` were written or a little more.
/// A viewer that knows another moment of the same recording is sent the difference:
/// what is gone, what is new, and where all agents and items are.
pub(crate) fn write_world_on(
    out: &mut Vec<u8>,
    quirks: ViewerQuirks,
    game: &Game,
    answer: &mut Answer,
    bytes: usize,
) {
    let ids = quirks.ids;
    let (until, known) = (answer.until(), &answer.known);
    let mut next = answer.next;
    let mut spent = 0;
    while next < until && spent < bytes {
        let before = out.len();
        next = match next {
            Subject::Tile(index) => {
                write_tile(out, ids, game, index);
                match index + 1 < game.config().size.area() {
                    true => Subject::Tile(index + 1),
                    false => Subject::Team(0),
                }
            }
            Subject::Team(index) => match game.config().teams.get(index) {
                Some(name) => {
                    if index >= known.teams {
                        write_gui_event(out, ids, &GuiEvent::Team(name.as_bytes()));
                    }
                    Subject::Team(index + 1)
                }
                None => Subject::Agent(AgentId(0)),
            },
            Subject::Agent(from) => write_next_agent(out, quirks, game, known, from)
                .map_or(Subject::Egg(EggId(0)), Subject::Agent),
            Subject::Egg(from) => {
                let next = write_next_egg(out, ids, game, known, from.max(quirks.first_egg));
                next.map_or(Subject::Ritual(RitualId(0)), Subject::Egg)
            }
            Subject::Ritual(from) => {
                let next = write_next_ritual(out, ids, game, known, from);
                next.map_or(Subject::Winner, Subject::Ritual)
            }
            Subject::Winner => {
                if let Some(team) = game.winner().filter(|_| known.winner != game.winner()) {
                    let team = game.config().team_name(team).as_bytes();
                    write_gui_event(out, ids, &GuiEvent::Won { team });
                }
                Subject::End
            }
            Subject::End => Subject::End,
        };
        spent += (out.len() - before).max(STEP_BYTES_MIN);
    }
    answer.next = next;
}

/// The least number of bytes that each agent, egg and so on counts as: finding nothing to send takes time too.
const STEP_BYTES_MIN: usize = 16;

/// Writes what there is to say of the first agent from this number on who is there or known; answers the number after
/// that one, and `None` if there is none.
fn write_next_agent(
    out: &mut Vec<u8>,
    quirks: ViewerQuirks,
    game: &Game,
    known: &Known,
    from: AgentId,
) -> Option<AgentId> {
    let ids = quirks.ids;
    let here = game.world().agents_from(from).next();
    let before = known.agent_from(from);
    let id = here.map(|agent| agent.id).into_iter().chain(before).min()?;
    match here.filter(|agent| agent.id == id) {
        Some(agent) if before == Some(id) => write_agent_again(out, ids, agent),
        Some(agent) => write_agent(out, quirks, game, agent),
        None => write_gui_event(out, ids, &GuiEvent::Died { agent: id }),
    }
    id.0.checked_add(1).map(AgentId)
}

fn write_next_egg(out: &mut Vec<u8>, ids: GuiIds, game: &Game, known: &Known, from: EggId) -> Option<EggId> {
    let here = game.world().eggs_from(from).next();
    let before = known.egg_from(from);
    let id = here.map(|egg| egg.id).into_iter().chain(before).min()?;
    match here.filter(|egg| egg.id == id) {
        Some(egg) => {
            let is_known = before == Some(id);
            if is_known && is_unripe(egg) {
                // It may have been ripe, and no line takes that back.
                write_gui_event(out, ids, &GuiEvent::EggDestroyed { egg: id });
            }
            if !is_known || is_unripe(egg) {
                write_egg(out, ids, game, egg);
            }
            write_ripeness(out, ids, game, egg);
        }
        None => write_gui_event(out, ids, &GuiEvent::EggDestroyed { egg: id }),
    }
    id.0.checked_add(1).map(EggId)
}

/// The same of an elevation. It is not in the reference's burst; without it the end would come out of the blue. One that is still
/// under way is begun again, since its participants can be sent in no other way. One whose participants are all gone is not sent:
/// viewers look for the first of them without asking whether there is one.
fn write_next_ritual(
    out: &mut Vec<u8>,
    ids: GuiIds,
    game: &Game,
    known: &Known,
    from: RitualId,
) -> Option<RitualId> {
    let here = game.world().rituals_from(from).next();
    let before = known.ritual_from(from);
    let known_id = before.map(|(id, _)| id);
    let id = here.map(|ritual| ritual.id).into_iter().chain(known_id).min()?;
    if let Some((_, tile)) = before.filter(|(known, _)| *known == id) {
        let success = false;
        write_gui_event(out, ids, &GuiEvent::RitualEnded { tile, success });
    }
    let ritual = here.filter(|ritual| ritual.id == id);
    if let Some(ritual) = ritual.filter(|ritual| !ritual.participants.is_empty()) {
        let line = GuiEvent::RitualStarted {
            tile: ritual.tile,
            level: ritual.level,
            participants: Cow::Borrowed(&ritual.participants),
        };
        write_gui_event(out, ids, &line);
    }
    id.0.checked_add(1).map(RitualId)
}

fn write_agent_again(out: &mut Vec<u8>, ids: GuiIds, agent: &Agent) {
    for line in [position(agent), inventory(agent), level(agent)] {
        write_gui_event(out, ids, &line);
    }
}

fn write_agent(out: &mut Vec<u8>, quirks: ViewerQuirks, game: &Game, agent: &Agent) {
    write_gui_event(out, quirks.ids, &joined(game, &agent.view()));
    if !quirks.is_bare {
        write_gui_event(out, quirks.ids, &inventory(agent));
        write_gui_event(out, quirks.ids, &level(agent));
    }
}

pub(super) fn joined<'a>(game: &'a Game, agent: &AgentView) -> GuiEvent<'a> {
    GuiEvent::Joined {
        agent: agent.id,
        tile: agent.tile,
        facing: agent.facing,
        level: agent.level,
        team: game.config().teams[usize::from(agent.team.0)].as_bytes(),
    }
}

pub(crate) fn position(agent: &Agent) -> GuiEvent<'static> {
    let (id, tile, facing) = (agent.id, agent.tile, agent.facing);
    GuiEvent::Position {
        agent: id,
        tile,
        facing,
    }
}

pub(crate) fn inventory(agent: &Agent) -> GuiEvent<'static> {
    GuiEvent::Inventory {
        agent: agent.id,
        tile: Some(agent.tile),
        inventory: agent.inventory,
    }
}

pub(crate) fn level(agent: &Agent) -> GuiEvent<'static> {
    let (agent, level) = (agent.id, agent.level);
    GuiEvent::Level { agent, level }
}

fn write_egg(out: &mut Vec<u8>, ids: GuiIds, game: &Game, egg: &Egg) {
    // Some viewers look the layer up without asking whether it is there.
    let layer = egg.layer.filter(|layer| game.world().agent(*layer).is_some());
    let (egg, tile) = (egg.id, egg.tile);
    write_gui_event(out, ids, &GuiEvent::EggLaid { egg, layer, tile });
}

/// By the older rules eggs are sent when they can be hatched, those of the start too.
fn is_unripe(egg: &Egg) -> bool {
    egg.matures.is_some()
}

fn write_ripeness(out: &mut Vec<u8>, ids: GuiIds, game: &Game, egg: &Egg) {
    if game.config().rules.egg_hatch_units > 0 && !is_unripe(egg) {
        write_gui_event(out, ids, &GuiEvent::EggMatured { egg: egg.id });
    }
}

fn write_tile(out: &mut Vec<u8>, ids: GuiIds, game: &Game, index: usize) {
    write_gui_event(out, ids, &ground(game, game.config().size.tile_at(index)));
}

pub(crate) fn ground(game: &Game, tile: Tile) -> GuiEvent<'static> {
    let ground = *game.world().ground(tile);
    GuiEvent::Tile { tile, ground }
}

pub(crate) fn write_teams(out: &mut Vec<u8>, ids: GuiIds, game: &Game) {
    for name in &game.config().teams {
        write_gui_event(out, ids, &GuiEvent::Team(name.as_bytes()));
    }
}
