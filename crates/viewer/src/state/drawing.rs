//! From a scene to what is drawn of it: the lists, and the ground's paint.

use super::ViewerState;
use crate::intent::Selection;
use trantor_render::picture::draw_list::FrameLook;
use trantor_render::picture::ground::{GroundPaint, PaintMode};
use trantor_render::picture::palette::Mood;
use trantor_render::picture::{DrawList, Options};

impl ViewerState {
    pub fn compose(&mut self) {
        self.marks.agent = self.selection.agent();
        self.marks.tile = match self.selection {
            Selection::Tile(tile) => Some(tile),
            _ => None,
        };
        let only = if self.shows_trails { None } else { self.followed() };
        if self.shows_trails || only.is_some() {
            self.trails.points(&self.scene, only, &mut self.marks.trail);
        } else {
            self.marks.trail.clear();
        }
        let options = Options {
            pixels: self.pixels,
            mood: Mood::at(self.theme(), self.hour()).on_ground_of(self.matches_before),
            paint_everywhere: self.paint_mode != PaintMode::Mixture,
            middle: self.window_middle(),
            detail: self.detail,
            elapsed_seconds: self.elapsed_seconds,
        };
        std::mem::swap(&mut self.list, &mut self.list_before);
        self.composer.compose(
            &self.scene,
            &self.camera.pose,
            &options,
            &self.marks,
            &mut self.list,
        );
    }

    /// Whether what was composed last looks as what was composed before it, and nothing of its ground is left to be
    /// given to the graphics card. Figures of the crowd from afar are not looked at: they follow the agents later.
    pub fn is_as_before(&self) -> bool {
        let is_painted = |look: &FrameLook| !look.paint_shows || self.paint.is_settled();
        self.list == self.list_before && self.list.frame.as_ref().is_none_or(is_painted)
    }

    /// The part of a day that has passed, in small steps: a renderer that keeps the background redraws it for each.
    fn hour(&self) -> f32 {
        /// Units of a day: a match of usual length.
        const DAY_UNITS: i128 = 4_800;
        const STEPS: i128 = 240;
        if self.light_stands {
            return 0.0;
        }
        let passed = self.scene.clock.game.whole_units().rem_euclid(DAY_UNITS);
        (passed * STEPS / DAY_UNITS) as f32 / STEPS as f32
    }

    /// What was composed last, and the ground's paint that belongs to it.
    pub fn drawing(&mut self) -> (&DrawList, &mut GroundPaint) {
        (&self.list, &mut self.paint)
    }

    /// Brings the ground's paint up to date at once, for a picture that stays; otherwise it takes some frames.
    pub fn finish_paint(&mut self) {
        self.paint.finish(&self.scene);
    }

    pub fn instances(&self) -> usize {
        self.list.instances()
    }
}
