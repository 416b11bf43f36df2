//! What the mouse means: dragging, turning, zooming, choosing.

use glam::Vec2;
use trantor_model::Tile;

use super::Stage;
use crate::intent::Selection;
use trantor_render::picture::compose::MIDDLE_HEIGHT;

/// Radians for a drag across the whole height of the picture.
const TURN_PER_HEIGHT: f32 = 3.2;
/// Factor of the distance for one notch of a wheel.
const ZOOM_PER_NOTCH: f32 = 0.86;
/// How far from an agent's middle a click still means it, in tiles, before its scale.
const REACH_TILES: f32 = 0.356;
/// And in pixels, so that those far away can be hit.
const REACH_PIXELS: f32 = 9.0;

impl Stage {
    /// Drags the board from one point of the picture to another, each in pixels.
    pub fn drag(&mut self, from: Vec2, to: Vec2) {
        let Some((view, _)) = self.view() else { return };
        if let (Some(from), Some(to)) = (view.ground_at(self.share(from)), view.ground_at(self.share(to))) {
            // Near the horizon a pixel is many tiles; a hand cannot mean that.
            let by = (from - to).clamp_length_max(self.camera.pose.distance * 0.5);
            self.follows = false;
            let before = self.camera.goal.target;
            self.camera.goal.target += by;
            self.keep_on_map();
            // What is held stays under the pointer: no gliding while dragging.
            self.camera.pose.target += self.camera.goal.target - before;
            self.keep_view_of_hand();
        }
    }

    /// Turns and tilts by a movement of the pointer in pixels.
    pub fn turn(&mut self, by: Vec2) {
        let by = by / self.pixels.1 as f32 * TURN_PER_HEIGHT;
        self.camera.orbit(by.x, by.y);
        self.keep_view_of_hand();
    }

    /// Turns by an angle in radians, as fingers on a touchpad do.
    pub fn turn_by(&mut self, angle: f32) {
        self.camera.orbit(angle, 0.0);
        self.keep_view_of_hand();
    }

    /// Zooms by notches of a wheel (away from the user is nearer), keeping what is under `at` (pixels) there.
    pub fn zoom(&mut self, notches: f32, at: Vec2) {
        let Some((_, window)) = self.view() else { return };
        let goal = self.camera.goal.view(self.pixels.0, self.pixels.1);
        let under = goal.ground_at(self.share(at));
        let before = self.camera.goal.distance;
        self.camera
            .zoom(ZOOM_PER_NOTCH.powf(notches), window.sides().max_element());
        if let Some(under) = under
            && !self.follows
        {
            let target = self.camera.goal.target;
            let towards = (under - target).clamp_length_max(before);
            self.camera.goal.target = target + towards * (1.0 - self.camera.goal.distance / before);
            self.keep_on_map();
        }
        self.keep_view_of_hand();
    }

    /// The pointer is at a point of the picture, in pixels; `None` when it is elsewhere.
    pub fn hover(&mut self, at: Option<Vec2>) {
        self.marks.hovered = at.and_then(|at| self.tile_at(at));
    }

    /// Selects what is under a point of the picture, in pixels.
    pub fn click(&mut self, at: Vec2) {
        let selection = match self.agent_at(at) {
            Some(agent) => agent,
            None => self.tile_at(at).map_or(Selection::None, Selection::Tile),
        };
        // A second click on the same thing lets go of it.
        let again = selection == self.selection && matches!(selection, Selection::Tile(_));
        self.select(if again { Selection::None } else { selection });
    }

    fn tile_at(&self, at: Vec2) -> Option<Tile> {
        let (view, window) = self.view()?;
        let ground = self.scene.ground.as_ref()?;
        let place = view.ground_at(self.share(at))?;
        let (least, most) = window.bounds();
        let inside = place.cmpgt(least - 0.5).all() && place.cmplt(most - 0.5).all();
        let place = place.round();
        inside.then(|| {
            ground
                .size
                .offset(Tile { x: 0, y: 0 }, place.x as i32, place.y as i32)
        })
    }

    /// The agent that is nearest to the pointer, as seen, if one is near enough.
    fn agent_at(&self, at: Vec2) -> Option<Selection> {
        let (view, window) = self.view()?;
        let size = Vec2::new(self.pixels.0 as f32, self.pixels.1 as f32);
        let mut best = None;
        for agent in &self.scene.agents {
            for copy in window.copies(Vec2::new(agent.x, agent.y)) {
                let place = self.composer.places().of(agent, copy, &view);
                let Some(point) = view.project(place.above(MIDDLE_HEIGHT)) else {
                    continue;
                };
                let off = (point * size).distance(at);
                let reach = (place.pixels * place.scale * REACH_TILES).max(REACH_PIXELS);
                if off < reach && best.is_none_or(|(least, _)| off < least) {
                    best = Some((off, Selection::Agent(agent.id)));
                }
            }
        }
        best.map(|(_, selection)| selection)
    }

    /// A point in pixels as a share of the picture.
    fn share(&self, at: Vec2) -> Vec2 {
        at / Vec2::new(self.pixels.0 as f32, self.pixels.1 as f32)
    }
}
