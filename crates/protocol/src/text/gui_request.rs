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
