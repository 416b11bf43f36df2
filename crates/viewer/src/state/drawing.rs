//! What is drawn of a scene: the lists, the ground's paint, trails, and marks of selection and pointer.

use trantor_client::Scene;
use trantor_model::{AgentId, Tile};
use trantor_render::picture::compose::{Detail, Marks, Places};
use trantor_render::picture::draw_list::FrameLook;
use trantor_render::picture::ground::{GroundPaint, PaintMode};
use trantor_render::picture::palette::{Mood, Theme};
use trantor_render::picture::{Compose, DrawList, Options};

use super::rig::CameraRig;
use super::viewport::Viewport;
use crate::intent::Selection;
use crate::trails::Trails;

#[derive(Debug, Default)]
pub struct Drawing {
    composer: Compose,
    list: DrawList,
    /// What was composed before that.
    list_before: DrawList,
    pub(crate) paint: GroundPaint,
    pub(crate) paint_mode: PaintMode,
    marks: Marks,
    trails: Trails,
    /// Whether all agents have trails; otherwise only the followed one.
    pub(super) shows_trails: bool,
    /// Whether the light stands still instead of drifting with game time.
    pub light_stands: bool,
    /// How much detail the graphics adapter affords.
    pub detail: Detail,
    /// From the scene before the last one to that, in real time.
    elapsed_seconds: f32,
}

impl Drawing {
    /// A new scene is `seconds` after the last one.
    pub(super) fn advance(&mut self, seconds: f32) {
        self.elapsed_seconds = seconds;
    }

    /// Takes over the ground's colours and the agents' steps; `followed` is the agent that the camera follows.
    pub(super) fn follow(&mut self, scene: &Scene, selected: Option<AgentId>, follows: bool) {
        let Some(ground) = &scene.ground else { return };
        self.paint.update(ground, self.paint_mode);
        self.paint.follow_agents(ground.size, scene);
        if self.shows_trails || follows {
            self.trails.follow(scene, selected);
        }
    }

    /// Forgets where agents went.
    pub(super) fn clear_trails(&mut self) {
        self.trails.clear();
    }

    /// The tile under the pointer.
    pub(super) fn hover(&mut self, tile: Option<Tile>) {
        self.marks.hovered = tile;
    }

    /// Composes the lists of a scene; `matches_before` chooses the ground.
    pub(super) fn compose(
        &mut self,
        scene: &Scene,
        rig: &CameraRig,
        selection: Selection,
        viewport: &Viewport,
        (theme, matches_before): (Theme, usize),
    ) {
        self.marks.agent = selection.agent();
        self.marks.tile = match selection {
            Selection::Tile(tile) => Some(tile),
            _ => None,
        };
        let only = if self.shows_trails {
            None
        } else {
            rig.followed(selection)
        };
        if self.shows_trails || only.is_some() {
            self.trails.points(scene, only, &mut self.marks.trail);
        } else {
            self.marks.trail.clear();
        }
        let options = Options {
            pixels: viewport.pixels,
            mood: Mood::at(theme, self.hour(scene)).on_ground_of(matches_before),
            paint_everywhere: self.paint_mode != PaintMode::Mixture,
            middle: rig.window_middle(),
            detail: self.detail,
            elapsed_seconds: self.elapsed_seconds,
        };
        std::mem::swap(&mut self.list, &mut self.list_before);
        self.composer
            .compose(scene, &rig.camera.pose, &options, &self.marks, &mut self.list);
    }

    /// Whether nothing was composed yet.
    pub(super) fn is_empty(&self) -> bool {
        self.list.frame.is_none()
    }

    /// Whether what was composed last looks as what was composed before it, and nothing of its ground is left to be
    /// given to the graphics card. Figures of the crowd from afar are not looked at: they follow the agents later.
    pub fn is_as_before(&self) -> bool {
        let is_painted = |look: &FrameLook| !look.paint_shows || self.paint.is_settled();
        self.list == self.list_before && self.list.frame.as_ref().is_none_or(is_painted)
    }

    /// The part of a day that has passed, in small steps: a renderer that keeps the background redraws it for each.
    fn hour(&self, scene: &Scene) -> f32 {
        /// Units of a day: a match of usual length.
        const DAY_UNITS: i128 = 4_800;
        const STEPS: i128 = 240;
        if self.light_stands {
            return 0.0;
        }
        let passed = scene.clock.game.whole_units().rem_euclid(DAY_UNITS);
        (passed * STEPS / DAY_UNITS) as f32 / STEPS as f32
    }

    /// What was composed last, and the ground's paint that belongs to it.
    pub fn list_and_paint(&mut self) -> (&DrawList, &mut GroundPaint) {
        (&self.list, &mut self.paint)
    }

    pub fn list(&self) -> &DrawList {
        &self.list
    }

    /// Where agents stand in the picture that was composed last.
    pub(crate) fn places(&self) -> &Places {
        self.composer.places()
    }
}
