//! Which copies of a world without edges are shown.
//!
//! The map wraps, so a picture of it has to begin and end somewhere. The window is one whole map around a
//! middle, plus a margin in which the neighbouring copies fade out: what leaves on one side is seen to come back
//! on the other, and nothing looks like a wall. Bare land goes on beyond that, until it is lost in the dark.

use glam::Vec2;
use trantor_model::MapSize;

/// The part of the endless, repeating plane that is drawn; in tile positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TorusWindow {
    /// The middle of the whole map that is shown.
    pub middle: Vec2,
    /// Half of the map's sides.
    pub half: Vec2,
    /// How far beyond that copies are drawn, fading from full to nothing.
    pub margin: f32,
    /// How far beyond that bare land is drawn, fading as well.
    pub land: f32,
}

impl TorusWindow {
    /// The least and the most of the margin, in tiles.
    const MARGIN_TILES: [f32; 2] = [2.0, 12.0];
    /// What part of the shorter side the margin is otherwise.
    const MARGIN_SHARE: f32 = 0.28;
    /// What part of the shorter side the land is: with panels on both sides it still reaches the edges of the picture.
    const LAND_SHARE: f32 = 0.8;
    /// The most of it, in tiles: on larger maps the eye is near enough for the margin to be all that is seen.
    const LAND_TILES_MOST: f32 = 60.0;

    /// The window that shows the map from `(0, 0)` on.
    pub fn whole(size: MapSize) -> Self {
        let sides = Vec2::new(f32::from(size.width()), f32::from(size.height()));
        let [least, most] = Self::MARGIN_TILES;
        // At most half a side, so that no thing is drawn more than twice in a row or column.
        let shorter = sides.min_element();
        let margin = (shorter * Self::MARGIN_SHARE)
            .clamp(least, most)
            .min(shorter / 2.0);
        Self {
            middle: sides / 2.0 - 0.5,
            half: sides / 2.0,
            margin,
            land: (shorter * Self::LAND_SHARE)
                .min(Self::LAND_TILES_MOST)
                .max(margin),
        }
    }

    /// The map around what is looked at. There is no rim to be seen then: copies go on for half a side more, as far as
    /// that is in the picture.
    pub fn around(self, middle: Vec2) -> Self {
        /// The most of the margin, in tiles.
        const MOST: f32 = 20.0;
        let margin = (self.half.min_element() * 0.99).min(MOST);
        let land = self.land.max(margin);
        Self {
            middle,
            margin,
            land,
            ..self
        }
    }

    pub fn sides(&self) -> Vec2 {
        self.half * 2.0
    }

    /// Where things at `position`, or a whole number of maps from it, are drawn: at most four places.
    pub fn copies(&self, position: Vec2) -> impl Iterator<Item = Vec2> {
        let sides = self.sides();
        let home = self.home(position);
        let along = |axis: usize| {
            let reach = self.half[axis] + self.margin;
            let offset = home[axis] - self.middle[axis];
            let other = offset - sides[axis] * if offset < 0.0 { -1.0 } else { 1.0 };
            [Some(0.0), (other.abs() < reach).then_some(other - offset)]
        };
        let (xs, ys) = (along(0), along(1));
        ys.into_iter()
            .flatten()
            .flat_map(move |y| xs.into_iter().flatten().map(move |x| home + Vec2::new(x, y)))
    }

    /// The copy of `position` that lies in the middle map.
    pub fn home(&self, position: Vec2) -> Vec2 {
        let start = self.middle - self.half;
        let inside = position - start;
        // Nearly everything is at home, and finding a remainder takes as long as all else that is done for a thing.
        if inside.cmpge(Vec2::ZERO).all() && inside.cmplt(self.sides()).all() {
            return position;
        }
        start + inside.rem_euclid(self.sides())
    }

    /// How far from `from` the nearest copy of `to` lies.
    pub fn shortest(&self, from: Vec2, to: Vec2) -> Vec2 {
        let sides = self.sides();
        let ahead = to - from;
        ahead - (ahead / sides).round() * sides
    }

    /// The corners of all that is drawn: least and most tile position.
    pub fn bounds(&self) -> (Vec2, Vec2) {
        self.bounds_beyond(self.margin)
    }

    /// The corners of the land: least and most tile position.
    pub fn land_bounds(&self) -> (Vec2, Vec2) {
        self.bounds_beyond(self.land)
    }

    fn bounds_beyond(&self, far: f32) -> (Vec2, Vec2) {
        let reach = self.half + far;
        (self.middle - reach, self.middle + reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(width: u32, height: u32) -> TorusWindow {
        TorusWindow::whole(MapSize::new(width, height).unwrap())
    }

    /// Against a dull model: all copies within nine maps, kept if they lie in the bounds.
    #[test]
    fn copies_are_those_within_the_bounds() {
        let sizes = [(1, 1), (2, 3), (10, 6), (40, 25)];
        let whole = sizes.map(|(width, height)| (width, height, window(width, height)));
        let around = whole.map(|(width, height, whole)| (width, height, whole.around(Vec2::new(0.3, -2.0))));
        for (width, height, window) in whole.into_iter().chain(around) {
            let sides = window.sides();
            let (least, most) = window.bounds();
            for step in 0..200u8 {
                let position = Vec2::new(f32::from(step) * 0.31, f32::from(step) * 0.17 - 3.0);
                let mut expected = Vec::new();
                let base = position - (position / sides).floor() * sides;
                for down in -2i8..=2 {
                    for right in -2i8..=2 {
                        let copy = base + Vec2::new(f32::from(right), f32::from(down)) * sides;
                        if copy.cmpgt(least).all() && copy.cmplt(most).all() {
                            expected.push(copy);
                        }
                    }
                }
                let copies: Vec<Vec2> = window.copies(position).collect();
                for copy in &expected {
                    assert!(
                        copies.iter().any(|found| found.distance(*copy) < 1e-3),
                        "{width} x {height}: {position} misses {copy}, has {copies:?}"
                    );
                }
                assert!(
                    copies.len() <= expected.len() + 3,
                    "{copies:?} against {expected:?}"
                );
            }
        }
    }
}
