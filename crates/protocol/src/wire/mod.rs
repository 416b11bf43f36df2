//! Our own protocol, for viewers: length-prefixed postcard frames after one line of text.
//!
//! ```text
//! server  WELCOME\n                      as to everybody: one port for all
//! viewer  TRANTOR\n                      from here on both sides speak frames
//! viewer  ToServer::Hello                version, program
//! server  ToClient::Hello | Refused      clock, ticks, map, teams; or a reason a person can read
//! server  History                        what happened before, in short
//! server  Snapshot* .. SnapshotEnd       the world in pieces, on credit
//! server  TickBegin, Changes*, TickEnd   every tick while a viewer is connected, numbered without gaps
//! viewer  Seek                           in a recording: another moment, please
//! server  Sought, Snapshot* .. SnapshotEnd   the world of that moment
//! viewer  Watch                          one agent: which commands wait for their turn
//! server  Waiting, Links                 those, with a tick, when they have changed; its links, while messages take time
//! server  Shown, Announced               with a tick: what agents and the server show beside the game
//! both    Probe, ProbeReply, Ack, Clock, Stats, Lag, requests and refusals at any time
//! ```

pub mod frame;
pub mod hello;
pub mod seq;
pub mod to_client;
pub mod to_server;

pub use frame::{FrameCutter, FrameMessage, read_frame, write_frame};
pub use hello::{ClientHello, ServerHello, WIRE_VERSION, WIRE_WORD};
pub use seq::{ReceivedNumbers, SentNumbers};
pub use to_client::{
    ActionState, AgentState, Change, ClockAnchor, EggState, FeedEntry, History, LagState, LinkState,
    LinkTotals, RecordingInfo, RitualState, ScorePoint, ServerStats, SnapshotPart, TeamStats, ToClient,
};
pub use to_server::{StepKind, ToServer};
pub use trantor_model::{Mark, MarkKind};
