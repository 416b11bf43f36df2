//! The map as a picture of characters, small enough for a terminal.
//!
//! A large map is drawn in blocks of several tiles a side, each one character.

use std::fmt::Write as _;

use trantor_game::World;
use trantor_model::{Resource, Tile};

/// Columns and rows of a picture: what a terminal shows without breaking lines.
const COLUMNS_MAX: u16 = 100;
/// See [`COLUMNS_MAX`].
const ROWS_MAX: u16 = 50;

/// A picture of agents and what lies around them, or of where one thing lies.
pub(super) fn of(world: &World, resource: Option<Resource>) -> String {
    let size = world.size();
    let block = size
        .width()
        .div_ceil(COLUMNS_MAX)
        .max(size.height().div_ceil(ROWS_MAX));
    let mut text = String::new();
    for top in (0..size.height()).step_by(usize::from(block)) {
        for left in (0..size.width()).step_by(usize::from(block)) {
            let tiles = (top..size.height().min(top + block))
                .flat_map(|y| (left..size.width().min(left + block)).map(move |x| (x, y)))
                .map(|(x, y)| Tile { x, y });
            text.push(match resource {
                Some(resource) => digit(
                    tiles.map(|tile| u64::from(world.ground(tile)[resource])).sum(),
                    '.',
                ),
                None => overview(world, tiles),
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

fn overview(world: &World, tiles: impl Iterator<Item = Tile> + Clone) -> char {
    let agents = tiles.clone().map(|tile| world.agents_on(tile).len() as u64).sum();
    let ground = |resource| tiles.clone().any(|tile| world.ground(tile)[resource] > 0);
    let otherwise = if Resource::ALL.into_iter().skip(1).any(ground) {
        '*'
    } else if ground(Resource::Food) {
        ','
    } else {
        '.'
    };
    digit(agents, otherwise)
}

fn digit(count: u64, none: char) -> char {
    match u32::try_from(count) {
        Ok(0) => none,
        Ok(count) => char::from_digit(count, 10).unwrap_or('+'),
        Err(_) => '+',
    }
}
