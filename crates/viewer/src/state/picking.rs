//! Picking: what is under a point of the picture.

use glam::Vec2;
use trantor_client::Scene;
use trantor_model::Tile;
use trantor_render::picture::camera::View;
use trantor_render::picture::compose::{MIDDLE_HEIGHT, Places};
use trantor_render::picture::torus::TorusWindow;

use super::viewport::Viewport;
use crate::intent::Selection;

/// How far from an agent's middle a click still means it, in tiles, before its scale.
const REACH_TILES: f32 = 0.356;
/// And in pixels, so that those far away can be hit.
const REACH_PIXELS: f32 = 9.0;

/// The picture that was drawn last.
pub(super) struct Picking<'a> {
    pub scene: &'a Scene,
    pub view: View,
    pub window: TorusWindow,
    pub places: &'a Places,
    pub viewport: Viewport,
}

impl Picking<'_> {
    /// What a point in pixels selects: an agent before its tile.
    pub fn selection_at(&self, at: Vec2) -> Selection {
        let tile = || self.tile_at(at).map_or(Selection::None, Selection::Tile);
        self.agent_at(at).unwrap_or_else(tile)
    }

    pub fn tile_at(&self, at: Vec2) -> Option<Tile> {
        let ground = self.scene.ground.as_ref()?;
        let place = self.view.ground_at(self.viewport.share(at))?;
        let (least, most) = self.window.bounds();
        let inside = place.cmpgt(least - 0.5).all() && place.cmplt(most - 0.5).all();
        let place = place.round();
        let home = Tile { x: 0, y: 0 };
        inside.then(|| ground.size.offset(home, place.x as i32, place.y as i32))
    }

    /// The agent that is nearest to the point, as seen, if one is near enough.
    fn agent_at(&self, at: Vec2) -> Option<Selection> {
        let mut best = None;
        for agent in &self.scene.agents {
            for copy in self.window.copies(Vec2::new(agent.x, agent.y)) {
                let place = self.places.of(agent, copy, &self.view);
                let Some(point) = self.view.project(place.above(MIDDLE_HEIGHT)) else {
                    continue;
                };
                let off = (point * self.viewport.size()).distance(at);
                let reach = (place.pixels * place.scale * REACH_TILES).max(REACH_PIXELS);
                if off < reach && best.is_none_or(|(least, _)| off < least) {
                    best = Some((off, Selection::Agent(agent.id)));
                }
            }
        }
        best.map(|(_, selection)| selection)
    }
}
