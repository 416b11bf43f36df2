//! Replication: the only place that turns events into bytes, for each audience in its language.
//!
//! | event | agents | text viewers | frame viewers |
//! |---|---|---|---|
//! | when | at once | at once | with the next tick |
//! | how | one line, one write | lines, encoded once for all | frames, encoded once for all |
//!
//! Nothing here decides anything about the game, and nothing here knows sockets.

mod agents;
mod burst;
mod frames;
mod recording;
mod text;

pub(crate) use agents::send_agent_line;
pub(crate) use burst::{ViewerQuirks, ground, inventory, level, position, write_teams, write_world_on};
pub(crate) use frames::{FrameUpdates, clock_anchor, send, send_at_once};
pub(crate) use recording::recording_info;
pub(crate) use text::TextUpdates;
