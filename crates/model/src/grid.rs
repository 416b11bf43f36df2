//! The torus: its size, its tiles, directions on it, and the shortest way round.
//!
//! `x` grows east and `y` grows south; both wrap.

use serde::{Deserialize, Serialize};

/// The sides of the map in tiles, each `1..=MapSize::SIDE_MAX`, also when read from a peer or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "UncheckedSize")]
pub struct MapSize {
    width: u16,
    height: u16,
}

/// A tile of the map: column `x` and row `y`, both below the map's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tile {
    /// Column, growing to the east.
    pub x: u16,
    /// Row, growing to the south.
    pub y: u16,
}

/// Where an agent faces. The numbers are those of the GUI protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Direction {
    /// Towards `y - 1`.
    North = 1,
    /// Towards `x + 1`.
    East = 2,
    /// Towards `y + 1`.
    South = 3,
    /// Towards `x - 1`.
    West = 4,
}

/// A quarter turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Turn {
    /// Clockwise as seen from above: north to east.
    Right,
    /// Counter-clockwise: north to west.
    Left,
}

/// A side that no map can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a map is 1 to {max} tiles a side, not {width} x {height}", max = MapSize::SIDE_MAX)]
pub struct MapSizeError {
    /// The width asked for.
    pub width: u32,
    /// The height asked for.
    pub height: u32,
}

/// A map's sides as they are read, before they are checked.
#[derive(Deserialize)]
struct UncheckedSize {
    width: u16,
    height: u16,
}

impl TryFrom<UncheckedSize> for MapSize {
    type Error = MapSizeError;
    fn try_from(read: UncheckedSize) -> Result<Self, MapSizeError> {
        Self::new(u32::from(read.width), u32::from(read.height))
    }
}

impl MapSize {
    /// The longest side: a million tiles is what snapshots and viewers are sized for.
    pub const SIDE_MAX: u16 = 1_000;

    /// Checks both sides.
    pub fn new(width: u32, height: u32) -> Result<Self, MapSizeError> {
        let side = |tiles: u32| {
            u16::try_from(tiles)
                .ok()
                .filter(|side| (1..=Self::SIDE_MAX).contains(side))
        };
        match (side(width), side(height)) {
            (Some(width), Some(height)) => Ok(Self { width, height }),
            _ => Err(MapSizeError { width, height }),
        }
    }

    /// Columns.
    pub const fn width(self) -> u16 {
        self.width
    }

    /// Rows.
    pub const fn height(self) -> u16 {
        self.height
    }

    /// All tiles.
    pub const fn area(self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Whether `tile` lies on the map.
    pub const fn contains(self, tile: Tile) -> bool {
        tile.x < self.width && tile.y < self.height
    }

    /// The tile's place in a row-by-row list of all tiles, `0..area`.
    pub const fn index_of(self, tile: Tile) -> usize {
        tile.y as usize * self.width as usize + tile.x as usize
    }

    /// The tile at a place of that list; the reverse of [`Self::index_of`].
    ///
    /// # Panics
    /// If `index` is not below the area.
    pub fn tile_at(self, index: usize) -> Tile {
        assert!(
            index < self.area(),
            "tile index {index} outside a map of {} tiles",
            self.area()
        );
        let width = usize::from(self.width);
        Tile {
            x: (index % width) as u16,
            y: (index / width) as u16,
        }
    }

    /// The tile `dx` columns east and `dy` rows south of `tile`, round the torus.
    pub fn offset(self, tile: Tile, dx: i32, dy: i32) -> Tile {
        let wrap = |from: u16, by: i32, side: u16| (i32::from(from) + by).rem_euclid(i32::from(side)) as u16;
        Tile {
            x: wrap(tile.x, dx, self.width),
            y: wrap(tile.y, dy, self.height),
        }
    }

    /// The tile one step from `tile`.
    pub fn step(self, tile: Tile, direction: Direction) -> Tile {
        let (dx, dy) = direction.vector();
        self.offset(tile, dx, dy)
    }

    /// The shortest vector `(dx, dy)` from one tile to another, round the torus.
    ///
    /// When both ways are equally long the direct one is kept, that is the difference of the coordinates
    /// as they are: this is what the reference server does for the direction of a sound.
    pub fn shortest(self, from: Tile, to: Tile) -> (i32, i32) {
        (
            wrapped_delta(from.x, to.x, self.width),
            wrapped_delta(from.y, to.y, self.height),
        )
    }
}

/// The shorter way from column `from` to column `to` on a ring of `side` columns; see [`MapSize::shortest`].
fn wrapped_delta(from: u16, to: u16, side: u16) -> i32 {
    let side = i32::from(side);
    let delta = i32::from(to) - i32::from(from);
    if 2 * delta.abs() > side {
        delta - delta.signum() * side
    } else {
        delta
    }
}

impl Direction {
    /// The four, in the order of the GUI protocol.
    pub const ALL: [Direction; 4] = [Self::North, Self::East, Self::South, Self::West];

    /// One step this way, as `(dx, dy)`.
    pub const fn vector(self) -> (i32, i32) {
        match self {
            Self::North => (0, -1),
            Self::East => (1, 0),
            Self::South => (0, 1),
            Self::West => (-1, 0),
        }
    }

    /// A quarter turn from here.
    pub const fn turned(self, turn: Turn) -> Self {
        match (self, turn) {
            (Self::North, Turn::Right) | (Self::South, Turn::Left) => Self::East,
            (Self::East, Turn::Right) | (Self::West, Turn::Left) => Self::South,
            (Self::South, Turn::Right) | (Self::North, Turn::Left) => Self::West,
            (Self::West, Turn::Right) | (Self::East, Turn::Left) => Self::North,
        }
    }

    /// The opposite direction.
    pub const fn reversed(self) -> Self {
        self.turned(Turn::Right).turned(Turn::Right)
    }

    /// The number on the wire: 1 north, 2 east, 3 south, 4 west.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every width, `from` and `to` up to 24: the answer is the shortest, arrives, and a tie stays direct.
    #[test]
    fn wrapped_delta_is_shortest_and_arrives() {
        for side in 1..=24u16 {
            for from in 0..side {
                for to in 0..side {
                    let delta = wrapped_delta(from, to, side);
                    assert_eq!(
                        (i32::from(from) + delta).rem_euclid(i32::from(side)),
                        i32::from(to)
                    );
                    assert!(
                        2 * delta.abs() <= i32::from(side),
                        "{from} to {to} on {side}: {delta}"
                    );
                    if 2 * delta.abs() == i32::from(side) {
                        assert_eq!(
                            delta,
                            i32::from(to) - i32::from(from),
                            "a tie keeps the direct way"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn offset_wraps_any_distance_and_index_round_trips() {
        let size = MapSize::new(7, 3).unwrap();
        let corner = Tile { x: 0, y: 0 };
        assert_eq!(size.offset(corner, -1, -1), Tile { x: 6, y: 2 });
        assert_eq!(size.offset(corner, 700, -300), corner);
        for index in 0..size.area() {
            assert_eq!(size.index_of(size.tile_at(index)), index);
        }
    }

    #[test]
    fn turns_go_round() {
        for direction in Direction::ALL {
            assert_eq!(direction.turned(Turn::Right).turned(Turn::Left), direction);
            let (dx, dy) = direction.vector();
            assert_eq!(direction.reversed().vector(), (-dx, -dy));
            assert_eq!(
                direction.turned(Turn::Right).vector(),
                (-dy, dx),
                "clockwise with y to the south"
            );
        }
    }

    #[test]
    fn map_sides_are_checked() {
        assert!(MapSize::new(1, 1_000).is_ok());
        assert!(MapSize::new(0, 5).is_err());
        assert!(MapSize::new(5, 1_001).is_err());
        assert!(MapSize::new(70_000, 5).is_err());
    }
}
