//! All that a text viewer needs to draw the world, in the order that viewers rely on: tiles, teams, agents, eggs,
//! elevations, who has won. It is written piece by piece, as long as it may be.
//!
//! Several public viewers crash or lose data if a player comes before its tile or its team, or an egg before
//! its layer. Numbers ascend, since one of them uses the number as an index into a growing list. A viewer in the middle of it gets
//! updates of the part that it has, and of no other: the rest is described as of when it is sent.

use std::borrow::Cow;

use trantor_game::{Agent, Egg, Game};
use trantor_model::{AgentId, AgentView, Counts, EggId, ElevationId, TeamId, Tile};
use trantor_protocol::text::{Dialect, GuiEvent, GuiIds, write_gui_event};

use crate::config::EngineConfig;

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

/// What a line is about, in the order in which the world is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Tile(usize),
    Team(usize),
    Agent(AgentId),
    Egg(EggId),
    /// An elevation under way.
    Elevation(ElevationId),
    /// The team that has won.
    Winner,
    /// Nothing: the world was sent.
    End,
}

/// An answer that goes through the world, piece by piece.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) kind: AnswerKind,
    pub(crate) next: Subject,
    /// What the viewer knows from before.
    known: Known,
}

/// What it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// The word by which a viewer began to watch.
    Greeting,
    /// Nothing: the world is another one, since the recording that is shown was moved.
    Seek,
    /// A question about the map, or nothing: the ground was filled up.
    Map,
}

/// What a viewer knew before a recording was moved, and was not sent since. A new viewer knows nothing.
#[derive(Debug, Default)]
struct Known {
    teams: usize,
    /// In ascending order.
    agents: Vec<AgentId>,
    /// In ascending order.
    eggs: Vec<EggId>,
    /// In ascending order, with where they are.
    elevations: Vec<(ElevationId, Tile)>,
    /// The winner that it was sent.
    winner: Option<TeamId>,
}

impl Answer {
    /// One of which nothing was sent yet.
    pub(crate) fn new(kind: AnswerKind) -> Self {
        Self {
            kind,
            next: Subject::Tile(0),
            known: Known::default(),
        }
    }

    /// What a viewer is sent that knows the world of `before`.
    pub(crate) fn seek(before: &Game) -> Self {
        Self {
            known: Known::all(before),
            ..Self::new(AnswerKind::Seek)
        }
    }

    pub(crate) fn until(&self) -> Subject {
        match self.kind {
            AnswerKind::Map => Subject::Team(0),
            AnswerKind::Greeting | AnswerKind::Seek => Subject::End,
        }
    }

    /// Whether the viewer does not know the world before the end of this.
    pub(crate) fn is_world(&self) -> bool {
        self.until() == Subject::End
    }

    /// Whether the viewer was sent this, so that it is sent updates about it.
    pub(crate) fn has_sent(&self, subject: Subject) -> bool {
        match subject {
            Subject::Team(team) if team < self.known.teams => true,
            _ => subject < self.next,
        }
    }

    /// The recording was moved away from `before`: everything is sent once more.
    pub(crate) fn restart(&mut self, before: &Game) {
        self.known = Known::by(self, before);
        self.next = Subject::Tile(0);
    }

    /// Writes the world from where this has come to, until `bytes` were written or a little more. A viewer that knows another
    /// moment of the same recording is sent the difference: what is gone, what is new, and where all agents and items are.
    pub(crate) fn write_on(&mut self, out: &mut Vec<u8>, quirks: ViewerQuirks, game: &Game, bytes: usize) {
        let ids = quirks.ids;
        let (until, known) = (self.until(), &self.known);
        let mut next = self.next;
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
                    next.map_or(Subject::Elevation(ElevationId(0)), Subject::Egg)
                }
                Subject::Elevation(from) => {
                    let next = write_next_elevation(out, ids, game, known, from);
                    next.map_or(Subject::Winner, Subject::Elevation)
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
        self.next = next;
    }
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
    let before = known_from(&known.agents, |agent| *agent, from);
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
    let before = known_from(&known.eggs, |egg| *egg, from);
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

/// As `write_next_egg`, of an elevation. It is not in the reference's burst; without it the end would come out of the blue.
/// The line is that of its beginning, since its participants can be sent in no other way. One whose participants are all
/// gone is not sent: viewers look for the first of them without asking whether there is one.
fn write_next_elevation(
    out: &mut Vec<u8>,
    ids: GuiIds,
    game: &Game,
    known: &Known,
    from: ElevationId,
) -> Option<ElevationId> {
    let here = game.world().elevations_from(from).next();
    let before = known_from(&known.elevations, |(elevation, _)| *elevation, from);
    let known_id = before.map(|(id, _)| id);
    let id = here
        .map(|elevation| elevation.id)
        .into_iter()
        .chain(known_id)
        .min()?;
    if let Some((_, tile)) = before.filter(|(known, _)| *known == id) {
        let success = false;
        write_gui_event(out, ids, &GuiEvent::ElevationEnded { tile, success });
    }
    let elevation = here.filter(|elevation| elevation.id == id);
    if let Some(elevation) = elevation.filter(|elevation| !elevation.participants.is_empty()) {
        let line = GuiEvent::ElevationStarted {
            tile: elevation.tile,
            level: elevation.level,
            participants: Cow::Borrowed(&elevation.participants),
        };
        write_gui_event(out, ids, &line);
    }
    id.0.checked_add(1).map(ElevationId)
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

pub(crate) fn joined<'a>(game: &'a Game, agent: &AgentView) -> GuiEvent<'a> {
    GuiEvent::Joined {
        agent: agent.id,
        tile: agent.tile,
        facing: agent.facing,
        level: agent.level,
        team: game.config().teams[usize::from(agent.team.0)].as_bytes(),
    }
}

pub(crate) fn position(agent: &Agent) -> GuiEvent<'static> {
    let (tile, facing, agent) = (agent.tile, agent.facing, agent.id);
    GuiEvent::Position { agent, tile, facing }
}

pub(crate) fn inventory(agent: &Agent) -> GuiEvent<'static> {
    carried(agent.id, agent.tile, agent.inventory)
}

pub(crate) fn carried(agent: AgentId, tile: Tile, inventory: Counts) -> GuiEvent<'static> {
    GuiEvent::Inventory {
        agent,
        tile: Some(tile),
        inventory,
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

impl Known {
    /// All agents and eggs of this game.
    fn all(game: &Game) -> Self {
        let elevations = game.world().elevations();
        Self {
            teams: game.config().teams.len(),
            agents: game.world().agents().map(|agent| agent.id).collect(),
            eggs: game.world().eggs().map(|egg| egg.id).collect(),
            elevations: elevations
                .map(|elevation| (elevation.id, elevation.tile))
                .collect(),
            winner: game.winner(),
        }
    }

    /// What a viewer knows of this game that was sent so much of it.
    fn by(answer: &Answer, game: &Game) -> Self {
        let mut sent = Self::all(game);
        sent.teams = match answer.next {
            Subject::Tile(_) => 0,
            Subject::Team(team) => team,
            _ => sent.teams,
        }
        .max(answer.known.teams);
        let known = &answer.known;
        let agent = |agent: &AgentId| Subject::Agent(*agent);
        let egg = |egg: &EggId| Subject::Egg(*egg);
        let elevation = |(elevation, _): &(ElevationId, Tile)| Subject::Elevation(*elevation);
        keep_sent(&mut sent.agents, &known.agents, |one| answer.has_sent(agent(one)));
        keep_sent(&mut sent.eggs, &known.eggs, |one| answer.has_sent(egg(one)));
        keep_sent(&mut sent.elevations, &known.elevations, |one| {
            answer.has_sent(elevation(one))
        });
        if !answer.has_sent(Subject::Winner) {
            sent.winner = known.winner;
        }
        sent
    }
}

/// Keeps of `all` what was sent. The others the viewer knows from before that, if at all.
fn keep_sent<T: Copy>(all: &mut Vec<T>, known: &[T], is_sent: impl Fn(&T) -> bool) {
    all.retain(&is_sent);
    all.extend(known.iter().filter(|one| !is_sent(one)));
}

/// The known one with the lowest number from this one on.
fn known_from<T: Copy, Id: Ord>(known: &[T], id_of: impl Fn(&T) -> Id, from: Id) -> Option<T> {
    let first = known.partition_point(|one| id_of(one) < from);
    known.get(first).copied()
}

/// Lines, each with what it is about if that is part of the world.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// Each with where it ends.
    subjects: Vec<(Option<Subject>, usize)>,
}

impl Lines {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Those that are about nothing in the world, and about what `is_sent` says.
    pub(crate) fn only(&self, is_sent: impl Fn(Subject) -> bool) -> Vec<u8> {
        let lines = self.iter().filter(|(subject, _)| subject.is_none_or(&is_sent));
        lines.flat_map(|(_, line)| line).copied().collect()
    }

    fn iter(&self) -> impl Iterator<Item = (Option<Subject>, &[u8])> {
        let mut from = 0;
        self.subjects.iter().map(move |&(subject, end)| {
            let line = &self.bytes[from..end];
            from = end;
            (subject, line)
        })
    }

    pub(crate) fn write(&mut self, subject: Option<Subject>, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.subjects.push((subject, self.bytes.len()));
    }

    pub(crate) fn append(&mut self, behind: &mut Self) {
        let before = self.bytes.len();
        self.bytes.append(&mut behind.bytes);
        let subjects = behind.subjects.drain(..);
        self.subjects
            .extend(subjects.map(|(subject, end)| (subject, before + end)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.subjects.clear();
    }
}
