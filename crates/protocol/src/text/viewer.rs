//! What a text viewer is sent and what it may ask: one value, one line, written on one side and read on the other.
//!
//! The same lines in every dialect. Servers number agents and eggs in three ways; see [`GuiIds`].
//!
//! Events are read tolerantly: numbers with `#` or without, directions as numbers or letters, words after the last one
//! expected are ignored, and the result of an elevation may be a number or a word. Lines may come in any order; each
//! stands for itself. Requests are read strictly: where the reference takes `abc` for 0, the answer here is `sbp`. Whether
//! a tile or an agent exists is not known here.

#![allow(
    missing_docs,
    reason = "a field has a comment where its name and type leave something open"
)]

use std::borrow::Cow;

use trantor_model::{AgentId, Counts, Direction, EggId, Level, MapSize, Resource, Tile};
use trantor_time::Frequency;

use super::line::{Line, parse_id, parse_number, push_number, push_spaced, without_nuls_before, words};
use crate::limits::TEXT_FREQUENCY_MAX;

/// How the numbers of agents and eggs are written. Viewers of different years insist on different ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuiIds {
    /// `#3` everywhere: the protocol sheet since 2024.
    #[default]
    Hash,
    /// `3` everywhere: most viewers from 2017 to 2024.
    Plain,
    /// `#3` in `pnw` and `3` elsewhere: the sheet of 2023, taken literally.
    Pnw,
}

/// One message to a text viewer. Borrows its texts and lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuiEvent<'a> {
    /// `msz X Y`: the map.
    MapSize(MapSize),
    /// `bct X Y q0 … q6`: what lies on a tile.
    Tile { tile: Tile, ground: Counts },
    /// `tna N`: there is a team.
    Team(&'a [u8]),
    /// `pnw #n X Y O L N`: there is an agent.
    Joined {
        agent: AgentId,
        tile: Tile,
        facing: Direction,
        level: Level,
        team: &'a [u8],
    },
    /// `ppo #n X Y O`: where an agent stands and faces.
    Position {
        agent: AgentId,
        tile: Tile,
        facing: Direction,
    },
    /// `plv #n L`: an agent's level.
    Level { agent: AgentId, level: Level },
    /// `pin #n X Y q0 … q6`: what an agent carries.
    Inventory {
        agent: AgentId,
        /// Where it stands; only other servers leave it out.
        tile: Option<Tile>,
        inventory: Counts,
    },
    /// `pex #n`: an agent pushed the others off its tile.
    Ejected { agent: AgentId },
    /// `pbc #n M`: an agent said something.
    Said {
        agent: AgentId,
        /// What, byte for byte.
        text: &'a [u8],
    },
    /// `pic X Y L #n …`: an elevation began.
    ElevationStarted {
        tile: Tile,
        /// The level before it.
        level: Level,
        /// The agents that take part, the one that asked first.
        participants: Cow<'a, [AgentId]>,
    },
    /// `pie X Y R`: an elevation ended.
    ElevationEnded { tile: Tile, success: bool },
    /// `pfk #n`: an agent began to lay an egg.
    ForkStarted { agent: AgentId },
    /// `pdr #n i`: an agent put one down.
    Put { agent: AgentId, resource: Resource },
    /// `pgt #n i`: an agent picked one up.
    Took { agent: AgentId, resource: Resource },
    /// `pdi #n`: an agent died or left.
    Died { agent: AgentId },
    /// `enw #e #n X Y`: there is an egg.
    EggLaid {
        egg: EggId,
        /// Who laid it; `None`, written `-1`, for eggs of the start and those whose layer is gone.
        layer: Option<AgentId>,
        tile: Tile,
    },
    /// `eht #e`: an egg can be hatched from now on (older rules only).
    EggMatured { egg: EggId },
    /// `ebo #e`: an agent hatched from an egg.
    EggHatched { egg: EggId },
    /// `edi #e`: an egg was destroyed.
    EggDestroyed { egg: EggId },
    /// `sgt T`: the speed.
    Frequency(Frequency),
    /// `seg N`: a team won.
    Won { team: &'a [u8] },
    /// `smg M`: a word from the operator.
    Message(&'a [u8]),
    /// `suc`: there is no such request.
    UnknownRequest,
    /// `sbp`: a request's arguments are wrong.
    BadParameter,
}

/// Appends the bytes of one line, with its end.
pub fn write_gui_event(out: &mut Vec<u8>, ids: GuiIds, event: &GuiEvent<'_>) {
    let line = &mut LineWriter { out, ids };
    let line = match *event {
        GuiEvent::MapSize(size) => {
            let (width, height) = (u32::from(size.width()), u32::from(size.height()));
            line.word(b"msz").number(width).number(height)
        }
        GuiEvent::Tile { tile, ref ground } => line.word(b"bct").tile(tile).counts(ground),
        GuiEvent::Team(name) => line.word(b"tna").text(name),
        GuiEvent::Joined {
            agent,
            tile,
            facing,
            level,
            team,
        } => {
            if ids == GuiIds::Pnw {
                line.ids = GuiIds::Hash;
            }
            let line = line.word(b"pnw").id(agent.0).tile(tile);
            line.facing(facing).level(level).text(team)
        }
        GuiEvent::Position { agent, tile, facing } => line.word(b"ppo").id(agent.0).tile(tile).facing(facing),
        GuiEvent::Level { agent, level } => line.word(b"plv").id(agent.0).level(level),
        GuiEvent::Inventory {
            agent,
            tile,
            ref inventory,
        } => {
            let line = line.word(b"pin").id(agent.0);
            if let Some(tile) = tile {
                line.tile(tile);
            }
            line.counts(inventory)
        }
        GuiEvent::Ejected { agent } => line.word(b"pex").id(agent.0),
        GuiEvent::Said { agent, text } => line.word(b"pbc").id(agent.0).text(text),
        GuiEvent::ElevationStarted {
            tile,
            level,
            ref participants,
        } => {
            let line = line.word(b"pic").tile(tile).level(level);
            participants.iter().fold(line, |line, agent| line.id(agent.0))
        }
        GuiEvent::ElevationEnded { tile, success } => line.word(b"pie").tile(tile).number(u32::from(success)),
        GuiEvent::ForkStarted { agent } => line.word(b"pfk").id(agent.0),
        GuiEvent::Put { agent, resource } => line.word(b"pdr").id(agent.0).resource(resource),
        GuiEvent::Took { agent, resource } => line.word(b"pgt").id(agent.0).resource(resource),
        GuiEvent::Died { agent } => line.word(b"pdi").id(agent.0),
        GuiEvent::EggLaid { egg, layer, tile } => {
            let line = line.word(b"enw").id(egg.0);
            let line = match layer {
                Some(agent) => line.id(agent.0),
                None => line.no_agent(),
            };
            line.tile(tile)
        }
        GuiEvent::EggMatured { egg } => line.word(b"eht").id(egg.0),
        GuiEvent::EggHatched { egg } => line.word(b"ebo").id(egg.0),
        GuiEvent::EggDestroyed { egg } => line.word(b"edi").id(egg.0),
        GuiEvent::Frequency(frequency) => line.word(b"sgt").number(frequency.get()),
        GuiEvent::Won { team } => line.word(b"seg").text(team),
        GuiEvent::Message(text) => line.word(b"smg").text(text),
        GuiEvent::UnknownRequest => line.word(b"suc"),
        GuiEvent::BadParameter => line.word(b"sbp"),
    };
    line.out.push(b'\n');
}

/// Appends the parts of one line, each after the first with one space before it.
struct LineWriter<'o> {
    out: &'o mut Vec<u8>,
    ids: GuiIds,
}

impl LineWriter<'_> {
    fn word(&mut self, word: &[u8; 3]) -> &mut Self {
        self.out.extend_from_slice(word);
        self
    }

    fn number(&mut self, value: u32) -> &mut Self {
        push_spaced(self.out, value);
        self
    }

    fn id(&mut self, id: u32) -> &mut Self {
        self.id_mark();
        push_number(self.out, id);
        self
    }

    fn no_agent(&mut self) -> &mut Self {
        self.id_mark();
        self.out.extend_from_slice(b"-1");
        self
    }

    fn id_mark(&mut self) {
        let mark: &[u8] = if self.ids == GuiIds::Hash { b" #" } else { b" " };
        self.out.extend_from_slice(mark);
    }

    fn tile(&mut self, tile: Tile) -> &mut Self {
        self.number(u32::from(tile.x)).number(u32::from(tile.y))
    }

    fn resource(&mut self, resource: Resource) -> &mut Self {
        self.number(resource.index() as u32)
    }

    fn facing(&mut self, facing: Direction) -> &mut Self {
        self.number(u32::from(facing.number()))
    }

    fn level(&mut self, level: Level) -> &mut Self {
        self.number(u32::from(level.get()))
    }

    fn counts(&mut self, counts: &Counts) -> &mut Self {
        for count in counts.0 {
            self.number(count);
        }
        self
    }

    fn text(&mut self, text: &[u8]) -> &mut Self {
        self.out.push(b' ');
        self.out.extend_from_slice(text);
        self
    }
}

/// Understands one line, without its end; `None` if it is none of the protocol, or holds what cannot be.
pub fn parse_gui_event(line: &[u8]) -> Option<GuiEvent<'_>> {
    let mut line = Line(without_nuls_before(line));
    Some(match line.word()? {
        b"msz" => {
            let (width, height) = (line.number()?, line.number()?);
            GuiEvent::MapSize(MapSize::new(width, height).ok()?)
        }
        b"bct" => GuiEvent::Tile {
            tile: line.tile()?,
            ground: line.counts()?,
        },
        b"tna" => GuiEvent::Team(line.rest()?),
        b"pnw" => GuiEvent::Joined {
            agent: line.agent()?,
            tile: line.tile()?,
            facing: line.facing()?,
            level: line.level_if_told()?,
            team: line.rest().unwrap_or_default(),
        },
        b"ppo" => GuiEvent::Position {
            agent: line.agent()?,
            tile: line.tile()?,
            facing: line.facing()?,
        },
        b"plv" => GuiEvent::Level {
            agent: line.agent()?,
            level: line.level()?,
        },
        b"pin" => GuiEvent::Inventory {
            agent: line.agent()?,
            tile: line.tile_if_told()?,
            inventory: line.counts()?,
        },
        b"pex" => GuiEvent::Ejected { agent: line.agent()? },
        b"pbc" => GuiEvent::Said {
            agent: line.agent()?,
            text: line.rest().unwrap_or_default(),
        },
        b"pic" => GuiEvent::ElevationStarted {
            tile: line.tile()?,
            level: line.level()?,
            participants: Cow::Owned(line.agents()?),
        },
        b"pie" => GuiEvent::ElevationEnded {
            tile: line.tile()?,
            success: line.success()?,
        },
        b"pfk" => GuiEvent::ForkStarted { agent: line.agent()? },
        b"pdr" => GuiEvent::Put {
            agent: line.agent()?,
            resource: line.resource()?,
        },
        b"pgt" => GuiEvent::Took {
            agent: line.agent()?,
            resource: line.resource()?,
        },
        b"pdi" => GuiEvent::Died { agent: line.agent()? },
        b"enw" => GuiEvent::EggLaid {
            egg: line.egg()?,
            layer: line.layer()?,
            tile: line.tile()?,
        },
        b"eht" => GuiEvent::EggMatured { egg: line.egg()? },
        b"ebo" => GuiEvent::EggHatched { egg: line.egg()? },
        b"edi" => GuiEvent::EggDestroyed { egg: line.egg()? },
        b"sgt" | b"sst" => GuiEvent::Frequency(Frequency::new(u64::from(line.number()?)).ok()?),
        b"seg" => GuiEvent::Won { team: line.rest()? },
        b"smg" => GuiEvent::Message(line.rest().unwrap_or_default()),
        b"suc" => GuiEvent::UnknownRequest,
        b"sbp" => GuiEvent::BadParameter,
        _ => return None,
    })
}

/// The tiles of a line that holds several: some servers answer `mct` with all of them on one line, behind `bct` or
/// `mct`, or with a line for each that has no word. None if it is no such line; what follows the last is ignored.
pub fn parse_tiles(line: &[u8]) -> impl Iterator<Item = (Tile, Counts)> {
    let mut line = Line(without_nuls_before(line));
    let mut behind_word = Line(line.0);
    match behind_word.word() {
        Some(b"bct" | b"mct") => line = behind_word,
        Some([b'0'..=b'9', ..]) => {}
        _ => line = Line(&[]),
    }
    std::iter::from_fn(move || Some((line.tile()?, line.counts()?)))
}

impl Line<'_> {
    fn agents(&mut self) -> Option<Vec<AgentId>> {
        let mut agents = Vec::new();
        while let Some(word) = self.word() {
            agents.push(AgentId(parse_id(word)?));
        }
        Some(agents)
    }

    fn egg(&mut self) -> Option<EggId> {
        self.word().and_then(parse_id).map(EggId)
    }

    /// The layer of an egg; `-1`: none.
    fn layer(&mut self) -> Option<Option<AgentId>> {
        let word = self.word()?;
        if word.strip_prefix(b"#").unwrap_or(word) == b"-1" {
            return Some(None);
        }
        parse_id(word).map(|id| Some(AgentId(id)))
    }

    /// The tile of an inventory; some servers leave it out, so that seven numbers follow and no more.
    fn tile_if_told(&mut self) -> Option<Option<Tile>> {
        let is_left_out = words(self.0).count() == Resource::ALL.len();
        if is_left_out {
            Some(None)
        } else {
            self.tile().map(Some)
        }
    }

    fn facing(&mut self) -> Option<Direction> {
        let word = self.word()?;
        let is_meant = |direction: &Direction| match word {
            [letter @ b'A'..=b'Z'] => *letter == b"NESW"[usize::from(direction.number()) - 1],
            _ => parse_number(word) == Some(u32::from(direction.number())),
        };
        Direction::ALL.into_iter().find(is_meant)
    }

    /// The level of an agent that is new; some servers leave it out, and send the team in its place.
    fn level_if_told(&mut self) -> Option<Level> {
        let is_number = Line(self.0).word()?.iter().all(u8::is_ascii_digit);
        if is_number {
            self.level()
        } else {
            Some(Level::FIRST)
        }
    }

    fn level(&mut self) -> Option<Level> {
        Level::new(u8::try_from(self.number()?).ok()?).ok()
    }

    fn resource(&mut self) -> Option<Resource> {
        Resource::from_index(self.number()? as usize)
    }

    fn counts(&mut self) -> Option<Counts> {
        let mut counts = Counts::ZERO;
        for count in &mut counts.0 {
            *count = self.number()?;
        }
        Some(counts)
    }

    fn success(&mut self) -> Option<bool> {
        // Servers say `1`, `ok`, the level reached, or what they send the agents: "Current level: 3".
        let word = self.word()?;
        let is_failure = matches!(word, b"0" | b"ko") || word.to_ascii_lowercase().starts_with(b"fail");
        Some(!is_failure)
    }
}

/// A request that was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuiRequest {
    /// `msz`: the map's size.
    MapSize,
    /// `bct X Y`: what lies on a tile, which may be off the map.
    Tile(Tile),
    /// `mct`: what lies on every tile.
    Map,
    /// `tna`: all teams.
    Teams,
    /// `ppo #n`: where an agent is; there may be no such agent.
    Position(AgentId),
    /// `plv #n`: its level.
    Level(AgentId),
    /// `pin #n`: what it carries.
    Inventory(AgentId),
    /// `sgt`: the speed.
    Frequency,
    /// `sst T`: another speed, `1..=10_000`.
    SetFrequency(Frequency),
}

/// Why a request was not understood, which is also the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuiRefusal {
    /// `suc`: no such request.
    Unknown,
    /// `sbp`: wrong number of arguments, or one that is no number or too large for any map, agent or speed.
    BadParameter,
}

/// Understands one line, without its end. Numbers of agents may have their `#` or not.
pub fn parse_gui_request(line: &[u8]) -> Result<GuiRequest, GuiRefusal> {
    let mut line = Line(line);
    let word = line.word().ok_or(GuiRefusal::Unknown)?;
    let request = match word {
        b"msz" => Some(GuiRequest::MapSize),
        b"mct" => Some(GuiRequest::Map),
        b"tna" => Some(GuiRequest::Teams),
        b"sgt" => Some(GuiRequest::Frequency),
        b"bct" => line.tile().map(GuiRequest::Tile),
        b"ppo" => line.agent().map(GuiRequest::Position),
        b"plv" => line.agent().map(GuiRequest::Level),
        b"pin" => line.agent().map(GuiRequest::Inventory),
        b"sst" => line.number().and_then(frequency).map(GuiRequest::SetFrequency),
        _ => return Err(GuiRefusal::Unknown),
    };
    match (request, line.word()) {
        (Some(request), None) => Ok(request),
        _ => Err(GuiRefusal::BadParameter),
    }
}

fn frequency(hertz: u32) -> Option<Frequency> {
    let in_range = hertz <= TEXT_FREQUENCY_MAX;
    in_range.then(|| Frequency::new(u64::from(hertz)).ok())?
}

/// Appends the line of one request of a text viewer, with its end.
pub fn write_gui_request(out: &mut Vec<u8>, request: GuiRequest) {
    let none = [None; 2];
    let (word, agent, numbers) = match request {
        GuiRequest::MapSize => ("msz", None, none),
        GuiRequest::Tile(tile) => ("bct", None, [tile.x, tile.y].map(|side| Some(u32::from(side)))),
        GuiRequest::Map => ("mct", None, none),
        GuiRequest::Teams => ("tna", None, none),
        GuiRequest::Position(agent) => ("ppo", Some(agent), none),
        GuiRequest::Level(agent) => ("plv", Some(agent), none),
        GuiRequest::Inventory(agent) => ("pin", Some(agent), none),
        GuiRequest::Frequency => ("sgt", None, none),
        GuiRequest::SetFrequency(frequency) => ("sst", None, [Some(frequency.get()), None]),
    };
    out.extend_from_slice(word.as_bytes());
    if let Some(agent) = agent {
        out.extend_from_slice(b" #");
        push_number(out, agent.0);
    }
    for number in numbers.into_iter().flatten() {
        push_spaced(out, number);
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_tiles_are_read_from_one_line() {
        let tiles = |line: &str| parse_tiles(line.as_bytes()).collect::<Vec<_>>();
        let expected = [
            (Tile { x: 0, y: 0 }, Counts([1, 2, 3, 4, 5, 6, 7])),
            (Tile { x: 1, y: 0 }, Counts([0, 0, 0, 0, 0, 0, 8])),
        ];
        for word in ["bct ", "mct ", "", "\0bct\t", " "] {
            let line = format!("{word}0 0 1 2 3 4 5 6 7 1 0 0 0 0 0 0 0 8 1 2 3");
            assert_eq!(tiles(&line), expected, "{word:?}");
        }
        for line in [
            "",
            "mct",
            "bct 0 0 1 2",
            "10 10",
            "pin 1 0 0 1 2 3 4 5 6 7",
            "mct x",
        ] {
            assert_eq!(tiles(line), [], "{line}");
        }
    }
}
