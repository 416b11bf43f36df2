//! What a server sends a text viewer, read back into values.
//!
//! Tolerant: numbers with `#` or without, directions as numbers or letters, words after the last one expected are
//! ignored, and the result of an elevation may be a number or a word. Lines may come in any order; each stands for itself.

use std::borrow::Cow;

use trantor_model::{AgentId, Counts, Direction, EggId, Level, MapSize, Resource, Tile};
use trantor_time::Frequency;

use crate::text::gui_event::GuiEvent;
use crate::text::line::{Line, without_nuls_before, words};
use crate::text::number::{parse_id, parse_number};

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
        b"pic" => GuiEvent::RitualStarted {
            tile: line.tile()?,
            level: line.level()?,
            participants: Cow::Owned(line.agents()?),
        },
        b"pie" => GuiEvent::RitualEnded {
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
