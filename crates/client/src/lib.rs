//! The other end of the wire, without window or socket.
//!
//! Bytes from a server go in; what to draw comes out as a [`scene::Scene`] for any instant of real time. No
//! rules of the game, no window, no socket and no clock of the machine: all that is the shell's.

pub mod scene;

pub use scene::{
    EffectKind, LinkState, Scene, SceneAction, SceneAgent, SceneClock, SceneEffect, SceneEgg, SceneGround,
    SceneRitual, SceneTeam, Span,
};
