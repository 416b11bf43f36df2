//! What panels are given.

use trantor_client::{ClientStats, Recording, Scene};
use trantor_model::CommandKind;
use trantor_time::RealTime;

use super::figures::Figures;
use crate::input::Bindings;
use crate::intent::Selection;
use crate::sound::Volume;
use crate::source::Repeat;
use trantor_render::picture::CameraPose;
use trantor_render::picture::camera::View;
use trantor_render::picture::compose::Places;
use trantor_render::picture::ground::{GroundPaint, PaintMode};
use trantor_render::picture::palette::Theme;
use trantor_render::picture::torus::TorusWindow;

/// What is always shown of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameFigures {
    /// Frames drawn in the last second; `None` until that can be told.
    pub per_second: Option<f64>,
    /// Frames aimed at.
    pub target: f64,
}

/// What panels show.
#[derive(Clone, Copy)]
pub struct HudInput<'a> {
    /// Now.
    pub now: RealTime,
    /// What is on the board.
    pub scene: &'a Scene,
    /// Figures about the connection.
    pub stats: Option<&'a ClientStats>,
    /// What is watched.
    pub source: &'a str,
    /// The time-line of what is watched, if it is a recording, and the span of it that is repeated.
    pub recording: Option<&'a Recording>,
    /// See `recording`.
    pub repeat: Repeat,
    /// Figures of frames.
    pub frames: FrameFigures,
    /// How loud the game is; `None` where there is no sound.
    pub volume: Option<Volume>,
    /// What goes on inside; collected only while somebody looks.
    pub figures: &'a Figures,
    /// What is selected.
    pub selection: Selection,
    /// The commands of the selected agent that wait for their turn, where that is known.
    pub waiting: Option<&'a [Option<CommandKind>]>,
    /// Whether the view stays with it.
    pub follows: bool,
    /// What the ground shows.
    pub paint_mode: PaintMode,
    /// The colour of each tile.
    pub paint: &'a GroundPaint,
    /// The eye, once there is a map.
    pub view: Option<(&'a View, &'a TorusWindow)>,
    /// Where bodies stand in it.
    pub places: &'a Places,
    /// Where the camera goes.
    pub camera: CameraPose,
    /// Which key does what.
    pub bindings: &'a Bindings,
    /// The panels' colours.
    pub theme: Theme,
}
