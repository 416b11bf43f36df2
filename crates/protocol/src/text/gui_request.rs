//! What a text viewer may ask.
//!
//! Numbers are read strictly: where the reference takes `abc` for 0, the answer here is `sbp`. Whether a tile
//! or an agent exists is not known here.

use trantor_model::{AgentId, Tile};
use trantor_time::Frequency;

use super::line::Line;
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
