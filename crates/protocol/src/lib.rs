//! The two languages on the wire, as values and as bytes.
//!
//! Text (Zappy) for agents and viewers of others; postcard frames for viewers of our own. The two never
//! import each other. No rules, no sessions, no sockets.

pub mod wire;
