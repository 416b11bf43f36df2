//! Intents of the user, from a key, a panel or a typed command.
//!
//! The viewer's state does what it can ([`crate::state::ViewerState::intend`]) and passes the rest on to the program around it.

use glam::Vec2;
use trantor_model::{AgentId, Control, Tile};
use trantor_render::gpu::Quality;
use trantor_render::gpu::surface::Fault;
use trantor_render::picture::ground::PaintMode;
use trantor_time::GameTime;

use crate::film::recording::Take;
use crate::input::Action;

#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    Do(Action),
    Control(Control),
    Select(Selection),
    /// The camera over a place that the hand points at on the map in the corner.
    LookAt(Vec2),
    /// [`Self::Select`], and the camera near enough to see agents there.
    Visit(Selection),
    /// The camera over this tile, and the tile selected.
    GoTo(Tile),
    /// A recording at this moment, and the camera near enough to a place to see its agents.
    Revisit(GameTime, Option<Tile>),
    Paint(PaintMode),
    /// The pictures of a while into files; asked for again, the end of it.
    Record(Take),
    /// Another render quality; `None` for the graphics adapter's.
    Quality(Option<Quality>),
    /// A failure of the graphics device, to see that it is recovered.
    Gpu(Fault),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    #[default]
    None,
    Tile(Tile),
    /// An agent; it may have died since.
    Agent(AgentId),
}

impl Selection {
    pub fn agent(self) -> Option<AgentId> {
        match self {
            Self::Agent(id) => Some(id),
            Self::None | Self::Tile(_) => None,
        }
    }
}
