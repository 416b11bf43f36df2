//! The nouns that both sides speak: ids, positions, directions, resources, levels, commands; a world with its changes; what an
//! agent perceives, and what is asked of a match.
//!
//! No rules (those are `trantor-game`) and no bytes (those are `trantor-protocol`): only what the words mean.

pub mod agent;
pub mod change;
pub mod command;
pub mod control;
pub mod feed;
pub mod grid;
pub mod lag;
pub mod level;
pub mod names;
pub mod percept;
pub mod resource;
pub mod show;
mod table;
pub mod totals;
pub mod world;

pub use agent::{AgentId, AgentView, EggId, Sight, TeamId, Who};
pub use change::{
    AgentState, Change, EggState, ElevationId, ElevationState, GroundChange, InventoryChange, LeaveCause,
    MoveKind,
};
pub use command::{ActionState, Command, CommandKind};
pub use control::{AdminAction, Control, GameRefusal, Refusal, Step};
pub use feed::{Concerned, ElevationOutcome, FeedKind, Mark, MarkKind};
pub use grid::{Direction, MapSize, Tile, Turn};
pub use lag::Lag;
pub use level::{Level, Requirement, WINNING_AGENTS};
pub use percept::Percept;
pub use resource::{Counts, Resource};
pub use show::{Show, Shown, ShownBy, TileMark};
pub use totals::{MatchTotals, TeamTotals};
pub use world::{World, WorldError};
