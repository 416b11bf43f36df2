//! What a text viewer may ask.
//!
//! Numbers are read strictly: where the reference takes `abc` for 0, the answer here is `sbp`. Whether a tile
//! or an agent exists is not known here.

use trantor_model::{AgentId, Tile};
use trantor_time::Frequency;

use super::line::words;
use super::number::{parse_coordinate, parse_id, parse_number};
use crate::limits::TEXT_FREQUENCY_MAX;

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
    let mut arguments = words(line);
    let word = arguments.next().ok_or(GuiRefusal::Unknown)?;
    let request = match word {
        b"msz" => Some(GuiRequest::MapSize),
        b"mct" => Some(GuiRequest::Map),
        b"tna" => Some(GuiRequest::Teams),
        b"sgt" => Some(GuiRequest::Frequency),
        b"bct" => tile(&mut arguments).map(GuiRequest::Tile),
        b"ppo" => agent(&mut arguments).map(GuiRequest::Position),
        b"plv" => agent(&mut arguments).map(GuiRequest::Level),
        b"pin" => agent(&mut arguments).map(GuiRequest::Inventory),
        b"sst" => frequency(&mut arguments).map(GuiRequest::SetFrequency),
        _ => return Err(GuiRefusal::Unknown),
    };
    match (request, arguments.next()) {
        (Some(request), None) => Ok(request),
        _ => Err(GuiRefusal::BadParameter),
    }
}

fn tile<'a>(arguments: &mut impl Iterator<Item = &'a [u8]>) -> Option<Tile> {
    let x = arguments.next().and_then(parse_coordinate)?;
    let y = arguments.next().and_then(parse_coordinate)?;
    Some(Tile { x, y })
}

fn agent<'a>(arguments: &mut impl Iterator<Item = &'a [u8]>) -> Option<AgentId> {
    arguments.next().and_then(parse_id).map(AgentId)
}

fn frequency<'a>(arguments: &mut impl Iterator<Item = &'a [u8]>) -> Option<Frequency> {
    let hertz = arguments.next().and_then(parse_number)?;
    let in_range = (1..=TEXT_FREQUENCY_MAX).contains(&hertz);
    in_range.then(|| Frequency::new(u64::from(hertz)).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hertz(value: u64) -> GuiRequest {
        GuiRequest::SetFrequency(Frequency::new(value).unwrap())
    }

    #[test]
    fn every_request() {
        for (line, request) in [
            (&b"msz"[..], GuiRequest::MapSize),
            (b"mct", GuiRequest::Map),
            (b"tna", GuiRequest::Teams),
            (b"sgt", GuiRequest::Frequency),
            (b"bct 3 4", GuiRequest::Tile(Tile { x: 3, y: 4 })),
            (b"ppo #3", GuiRequest::Position(AgentId(3))),
            (b"ppo 3", GuiRequest::Position(AgentId(3))),
            (b"plv #0", GuiRequest::Level(AgentId(0))),
            (b"pin 4294967295", GuiRequest::Inventory(AgentId(u32::MAX))),
            (b"sst 1", hertz(1)),
            (b"sst 10000", hertz(10_000)),
            (b" \tsst  \t50 ", hertz(50)),
        ] {
            assert_eq!(parse_gui_request(line), Ok(request), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn what_is_no_request_is_unknown() {
        for line in [
            &b""[..],
            b" ",
            b"foo",
            b"MSZ",
            b"Forward",
            b"Take food",
            b"pnw #1",
            b"seg red",
            b"GRAPHIC",
            b"msz\0",
            b"\xff",
            b"suc",
            b"sbp",
        ] {
            assert_eq!(
                parse_gui_request(line),
                Err(GuiRefusal::Unknown),
                "{}",
                line.escape_ascii()
            );
        }
    }

    #[test]
    fn corner_25_wrong_arguments_are_bad_parameters() {
        for line in [
            &b"msz 1"[..],
            b"mct x",
            b"tna red",
            b"sgt 1",
            b"bct",
            b"bct 1",
            b"bct 1 2 3",
            b"bct a b",
            b"bct 1e1 0",
            b"bct -1 0",
            b"bct 65536 0",
            b"bct 1, 2",
            b"ppo",
            b"ppo abc",
            b"ppo #",
            b"ppo ##1",
            b"ppo #-1",
            b"ppo 1 2",
            b"ppo 4294967296",
            b"plv",
            b"pin x",
            b"sst",
            b"sst 0",
            b"sst 10001",
            b"sst -5",
            b"sst 100.5",
            b"sst 99999999999",
            b"sst 1 2",
            b"sst x",
        ] {
            assert_eq!(
                parse_gui_request(line),
                Err(GuiRefusal::BadParameter),
                "{}",
                line.escape_ascii()
            );
        }
    }
}
