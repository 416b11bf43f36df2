//! What a viewer may know of an agent.

use serde::{Deserialize, Serialize};

use crate::grid::{Direction, Tile};
use crate::ids::{AgentId, TeamId};
use crate::level::Level;
use crate::resource::Counts;

/// An agent as seen from outside at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// Its number.
    pub id: AgentId,
    /// Its team.
    pub team: TeamId,
    /// Where it stands.
    pub tile: Tile,
    /// Where it faces.
    pub facing: Direction,
    /// Its level.
    pub level: Level,
    /// What it carries; the food being digested is not counted.
    pub inventory: Counts,
}
