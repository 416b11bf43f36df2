//! Where on the map a page looks, and how closely, if somebody moved it.

use trantor_model::{MapSize, Tile};

use super::text_scene::TextScale;
use crate::input::Action;
use crate::intent::Selection;
use crate::stage::Stage;

/// How close, and where; as much as fits and the middle, unless somebody moved.
#[derive(Debug, Default)]
pub(super) struct Look {
    scale: Option<TextScale>,
    center: Option<Tile>,
}

impl Look {
    /// How close, where `whole` shows the whole map.
    pub(super) fn scale(&self, whole: TextScale) -> TextScale {
        self.scale.unwrap_or(whole)
    }

    /// The tile in the middle: the selected agent's or tile, or where somebody went, or the map's own.
    pub(super) fn center(&self, stage: &Stage) -> Tile {
        let scene = stage.scene();
        let followed = match stage.selection() {
            Selection::Agent(id) => scene.agent(id).map(|agent| agent.tile),
            Selection::Tile(tile) => Some(tile),
            Selection::None => None,
        };
        let map = scene.ground.as_ref().map(|ground| ground.size);
        followed
            .or(self.center)
            .or(map.map(middle_of))
            .unwrap_or(Tile { x: 0, y: 0 })
    }

    /// Moves over the map that a page of this size shows, if `action` is one that does; answers whether it is.
    pub(super) fn moves(&mut self, action: Action, stage: &Stage, page: (u16, u16)) -> bool {
        let Some(size) = stage.scene().ground.as_ref().map(|ground| ground.size) else {
            return false;
        };
        let whole = TextScale::whole(size, page.0, page.1);
        let scale = self.scale.unwrap_or(whole);
        // A sixth of what is seen, roughly, and at least a tile.
        let step = match scale {
            TextScale::Close => 3,
            TextScale::Blocks(tiles) => i32::from(tiles) * 8,
        };
        match action {
            Action::PanWest => self.shift(size, -step, 0),
            Action::PanEast => self.shift(size, step, 0),
            Action::PanNorth => self.shift(size, 0, -step),
            Action::PanSouth => self.shift(size, 0, step),
            Action::ZoomIn => self.scale = Some(nearer(scale)),
            Action::ZoomOut => self.scale = Some(further(scale, whole)),
            Action::Overview => (self.scale, self.center) = (None, None),
            _ => return false,
        }
        true
    }

    fn shift(&mut self, size: MapSize, x: i32, y: i32) {
        let center = self.center.unwrap_or_else(|| middle_of(size));
        self.center = Some(size.offset(center, x, y));
    }
}

fn middle_of(size: MapSize) -> Tile {
    Tile {
        x: size.width() / 2,
        y: size.height() / 2,
    }
}

fn nearer(scale: TextScale) -> TextScale {
    match scale {
        TextScale::Blocks(tiles) if tiles > 1 => TextScale::Blocks(tiles / 2),
        TextScale::Blocks(_) | TextScale::Close => TextScale::Close,
    }
}

fn further(scale: TextScale, whole: TextScale) -> TextScale {
    let most = match whole {
        TextScale::Close => 1,
        TextScale::Blocks(tiles) => tiles,
    };
    match scale {
        TextScale::Close => TextScale::Blocks(1),
        TextScale::Blocks(tiles) => TextScale::Blocks(tiles.saturating_mul(2).min(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_zooms_between_a_tile_and_the_whole_map() {
        let whole = TextScale::Blocks(12);
        let mut scale = whole;
        for _ in 0..10 {
            scale = nearer(scale);
        }
        assert_eq!(scale, TextScale::Close);
        for _ in 0..10 {
            scale = further(scale, whole);
        }
        assert_eq!(scale, whole);
    }
}
