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
//! viewer  Control(Seek)                  in a recording: another moment, please
//! server  Sought, Snapshot* .. SnapshotEnd   the world of that moment
//! viewer  Watch                          one agent: which commands wait for their turn
//! server  Waiting, Links                 those, with a tick, when they have changed; its links, while messages take time
//! server  Shown, Announced               with a tick: what agents and the server show beside the game
//! both    Probe, ProbeReply, Ack, Clock, Stats, Lag, requests and refusals at any time
//! ```

mod frame;
mod messages;

pub use frame::{
    FrameCutter, FrameError, FrameMessage, ReceivedNumbers, SentNumbers, SeqError, read_frame, write_frame,
};
pub use messages::{
    ClientHello, ClockAnchor, FeedEntry, History, LagState, LinkState, LinkTotals, RecordingInfo, ScorePoint,
    ServerHello, ServerStats, SnapshotPart, TeamStats, ToClient, ToServer, WIRE_VERSION, WIRE_WORD,
};
