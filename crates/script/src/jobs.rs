//! Jobs: work that the host does for scripts, by name, with plain data.
//!
//! A job is done at once, on the thread of the game, and charged to the steps of its agent: its result is delivered at a
//! game time that depends on the request alone, so that the speed of the machine decides nothing.

use std::collections::{HashMap, VecDeque};

use trantor_time::GameSpan;

use crate::data::Data;
use crate::limits::{PATH_TILE_STEPS, WAIT_UNITS_MAX};

/// Tiles that a search may visit: those of the largest map that people watch, in some milliseconds.
const PATH_TILES_MAX: usize = 10_000;

/// How long a path takes to be found, in units: as long as a step.
const PATH_UNITS: i64 = 7;

/// Does a job; answers the result, how long it takes and the steps that it costs, or why it cannot be done.
pub(crate) fn run(name: &str, data: &Data) -> Result<(Data, GameSpan, u32), String> {
    match name {
        "path" => {
            let (path, visited) = path(data)?;
            let steps = u32::try_from(visited)
                .unwrap_or(u32::MAX)
                .saturating_mul(PATH_TILE_STEPS);
            Ok((path, GameSpan::from_units(PATH_UNITS), steps))
        }
        // For tests: nothing, after so many units.
        "sleep" => {
            let units = data.get("units").and_then(Data::as_number).unwrap_or(0.0);
            Ok((Data::Nil, span(units), 0))
        }
        _ => Err(format!("no such job: {name}")),
    }
}

/// A number of units as a span, within the limits of a wait.
pub(crate) fn span(units: f64) -> GameSpan {
    let nanounits = (units.clamp(0.0, WAIT_UNITS_MAX) * 1e9).round() as i128;
    GameSpan::from_nanounits(nanounits.max(crate::limits::WAIT_NANOUNITS_MIN))
}

type Place = (i32, i32);

/// The shortest path `from` a tile `to` another around those to `avoid`, on a map of `width` and `height` that is joined
/// at its edges, or without edges. A list of tiles, the first one left out; nil if there is none. Besides, how many tiles it
/// has visited.
fn path(data: &Data) -> Result<(Data, usize), String> {
    let place = |data: Option<&Data>| -> Result<Place, String> {
        let number = |name| data.and_then(|data| data.get(name)).and_then(Data::as_number);
        match (number("x"), number("y")) {
            (Some(x), Some(y)) => Ok((x as i32, y as i32)),
            _ => Err("path takes from and to, with x and y".to_owned()),
        }
    };
    let side = |name| {
        let side = data.get(name).and_then(Data::as_number);
        side.map(|side| side as i32).filter(|side| *side > 0)
    };
    let (width, height) = (side("width"), side("height"));
    let wrap = |at: i32, side: Option<i32>| side.map_or(at, |side| at.rem_euclid(side));
    let on_map = |(x, y): Place| (wrap(x, width), wrap(y, height));
    let (from, to) = (on_map(place(data.get("from"))?), on_map(place(data.get("to"))?));
    let avoid = match data.get("avoid") {
        Some(Data::List(tiles)) => tiles.iter().map(|tile| place(Some(tile)).map(on_map)).collect(),
        _ => Ok(Vec::new()),
    }?;
    // From the goal, so that the steps come out in order.
    let mut next: HashMap<Place, Place> = avoid.into_iter().map(|tile| (tile, tile)).collect();
    next.insert(to, to);
    let mut frontier = VecDeque::from([to]);
    while let Some(at) = frontier.pop_front() {
        if at == from || next.len() > PATH_TILES_MAX {
            break;
        }
        for (dx, dy) in [(0, -1), (1, 0), (0, 1), (-1, 0)] {
            let neighbour = on_map((at.0.saturating_add(dx), at.1.saturating_add(dy)));
            // Even if it stands on a tile that others should avoid.
            if !next.contains_key(&neighbour) || neighbour == from && from != to && next[&from] == from {
                next.insert(neighbour, at);
                frontier.push_back(neighbour);
            }
        }
    }
    let mut tiles = Vec::new();
    let mut at = from;
    while at != to {
        match next.get(&at) {
            Some(step) if *step != at => at = *step,
            _ => return Ok((Data::Nil, next.len())),
        }
        tiles.push(Data::map([
            ("x", f64::from(at.0).into()),
            ("y", f64::from(at.1).into()),
        ]));
    }
    Ok((Data::List(tiles), next.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(x: i32, y: i32) -> Data {
        Data::map([("x", f64::from(x).into()), ("y", f64::from(y).into())])
    }

    #[test]
    fn a_path_goes_around_what_is_to_be_avoided_and_over_the_edges() {
        let length = |to, avoid, side: f64| {
            let found = path(&Data::map([
                ("from", tile(0, 0)),
                ("to", to),
                ("avoid", Data::List(avoid)),
                ("width", side.into()),
                ("height", side.into()),
            ]));
            match found {
                Ok((Data::List(tiles), _)) => Some(tiles.len()),
                Ok((Data::Nil, _)) => None,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(length(tile(3, 0), vec![], 0.0), Some(3));
        assert_eq!(length(tile(3, 0), vec![tile(1, 0)], 0.0), Some(5));
        assert_eq!(length(tile(9, 9), vec![], 10.0), Some(2), "over two edges");
        assert_eq!(length(tile(0, 0), vec![], 10.0), Some(0));
        let walls = [(1, 0), (0, 1), (9, 0), (0, 9)].map(|(x, y)| tile(x, y)).to_vec();
        assert_eq!(length(tile(5, 5), walls, 10.0), None);
        assert!(path(&Data::Nil).is_err());
    }
}
