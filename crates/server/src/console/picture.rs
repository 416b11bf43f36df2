//! The map as a picture of characters, small enough for a terminal.
//!
//! A large map is drawn in blocks of several tiles a side, each one character. The loop is held meanwhile, so a tile is
//! looked at only as long as it can still change its block's character.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use trantor_game::World;
use trantor_model::{Resource, Tile};

/// Columns and rows of a picture: what a terminal shows without breaking lines.
const COLUMNS_MAX: u16 = 100;
/// See [`COLUMNS_MAX`].
const ROWS_MAX: u16 = 50;

/// From so many on, a block shows the same character.
const COUNTED_MAX: u32 = 10;

/// A picture of agents and what lies around them, or of where one thing lies.
pub(super) fn of(world: &World, resource: Option<Resource>) -> String {
    let size = world.size();
    let block = size
        .width()
        .div_ceil(COLUMNS_MAX)
        .max(size.height().div_ceil(ROWS_MAX));
    let columns = usize::from(size.width().div_ceil(block));
    let mut agents = vec![0_u32; columns * usize::from(size.height().div_ceil(block))];
    for at in world.agents().map(|agent| agent.tile) {
        agents[usize::from(at.y / block) * columns + usize::from(at.x / block)] += 1;
    }
    let mut agents = agents.into_iter();
    let mut text = String::new();
    for top in (0..size.height()).step_by(usize::from(block)) {
        for left in (0..size.width()).step_by(usize::from(block)) {
            let agents = agents.next().unwrap_or(0);
            let tiles = (top..size.height().min(top + block))
                .flat_map(|y| (left..size.width().min(left + block)).map(move |x| (x, y)))
                .map(|(x, y)| Tile { x, y });
            text.push(match resource {
                Some(resource) => digit(count(tiles.map(|tile| world.ground(tile)[resource])), '.'),
                None if agents > 0 => digit(agents, '.'),
                None => what_lies(world, tiles),
            });
        }
        text.push('\n');
    }
    let what = match resource {
        Some(resource) => format!("digits are {}, + ten or more", resource.name()),
        None => "digits are agents, + ten or more, * stones, , food".to_owned(),
    };
    writeln!(text, "{what}; a character is {block}x{block} tiles").expect("a text grows as needed");
    text
}

/// The sum, or some number from [`COUNTED_MAX`] on.
fn count(mut counts: impl Iterator<Item = u32>) -> u32 {
    let counted = counts.try_fold(0_u32, |sum, count| match sum.saturating_add(count) {
        sum @ COUNTED_MAX.. => ControlFlow::Break(sum),
        sum => ControlFlow::Continue(sum),
    });
    match counted {
        ControlFlow::Break(sum) | ControlFlow::Continue(sum) => sum,
    }
}

fn what_lies(world: &World, tiles: impl Iterator<Item = Tile>) -> char {
    let mut shown = '.';
    for tile in tiles {
        let [food, stones @ ..] = &world.ground(tile).0;
        if stones.iter().any(|count| *count > 0) {
            return '*';
        }
        if *food > 0 {
            shown = ',';
        }
    }
    shown
}

fn digit(count: u32, none: char) -> char {
    match count {
        0 => none,
        count => char::from_digit(count, 10).unwrap_or('+'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trantor_game::{Game, GameConfig};
    use trantor_model::MapSize;

    #[test]
    fn a_block_shows_what_all_its_tiles_have() {
        let game = Game::new(GameConfig {
            size: MapSize::new(210, 101).unwrap(),
            teams: vec!["red".to_owned()],
            places_per_team: 40,
            seed: 5,
            rules: Default::default(),
        });
        let world = game.world();
        let drawn = of(world, Some(Resource::Thystame));
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!((lines.len(), lines[0].len()), (34 + 1, 70));
        for (row, column) in (0..34).flat_map(|row| (0..70).map(move |column| (row, column))) {
            let (left, top) = (column as u16 * 3, row as u16 * 3);
            let tiles = (top..(top + 3).min(101)).flat_map(|y| (left..left + 3).map(move |x| Tile { x, y }));
            let sum: u32 = tiles.map(|tile| world.ground(tile)[Resource::Thystame]).sum();
            let expected = match sum {
                0 => ".".to_owned(),
                1..=9 => sum.to_string(),
                _ => "+".to_owned(),
            };
            assert_eq!(
                &lines[row][column..=column],
                expected,
                "row {row}, column {column}"
            );
        }
    }
}
