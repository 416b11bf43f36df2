//! Jobs: work that the host does for scripts, by name, with plain data.
//!
//! A job computes on a worker of the host, and its result is delivered at a game time that depends on the request alone, so that
//! the speed of the machine decides nothing: whoever needs the result earlier waits for it. Without workers it is computed where it
//! is asked for. Its steps are charged to its agent when the result is delivered.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use trantor_time::GameSpan;

use crate::data::Data;
use crate::limits::{DATA_VALUE_STEPS, WAIT_UNITS_MAX};

/// How far from its beginning a path may lead along x and y: further than any agent sees, and all of the map that people
/// watch.
const PATH_RADIUS: i64 = 50;

/// Tiles that a search may visit, in half a millisecond.
const PATH_TILES_MAX: usize = (2 * PATH_RADIUS as usize + 1).pow(2);

/// How long a path takes to be found, and a refusal, in units: as long as a step.
const JOB_UNITS: i64 = 7;

/// Computes on a worker: it is given the name of the job and what to do.
pub type JobWorker = Arc<dyn Fn(&'static str, Box<dyn FnOnce() -> Result<(), String> + Send>) + Send + Sync>;

/// What a job leads to: data and the steps that it cost, or why it cannot be done.
type Outcome = Result<(Data, u32), String>;

/// A job that was begun.
#[derive(Debug)]
pub(crate) struct Job {
    /// Game time from the request to the delivery.
    pub(crate) length: GameSpan,
    outcome: RefCell<Pending>,
}

#[derive(Debug)]
enum Pending {
    Here(Outcome),
    OnWorker(Receiver<Outcome>),
}

impl Job {
    /// What came of it; waits for a worker that is still at it.
    pub(crate) fn finish(self) -> Outcome {
        match self.outcome.into_inner() {
            Pending::Here(outcome) => outcome,
            Pending::OnWorker(outcome) => outcome
                .recv()
                .unwrap_or_else(|_| Err("the job has failed in the server".to_owned())),
        }
    }

    fn refused(why: String) -> Self {
        Self {
            length: GameSpan::from_units(JOB_UNITS),
            outcome: RefCell::new(Pending::Here(Err(why))),
        }
    }
}

/// Begins a job. One that cannot be done is refused when it would have been delivered: at once, a script could have its data
/// read again and again at one instant.
pub(crate) fn begin(name: &str, data: Result<Data, String>, worker: Option<&JobWorker>) -> Job {
    match (name, data) {
        (_, Err(why)) => Job::refused(why),
        ("path", Ok(data)) => Job {
            length: GameSpan::from_units(JOB_UNITS),
            outcome: RefCell::new(compute("script_path", worker, move || path(&data))),
        },
        // For tests: nothing, after so many units.
        ("sleep", Ok(data)) => {
            let units = data.get("units").and_then(Data::as_number).unwrap_or(0.0);
            Job {
                length: span(units),
                outcome: RefCell::new(Pending::Here(Ok((Data::Nil, 0)))),
            }
        }
        _ => Job::refused(format!("no such job: {name}")),
    }
}

fn compute(
    name: &'static str,
    worker: Option<&JobWorker>,
    work: impl FnOnce() -> Outcome + Send + 'static,
) -> Pending {
    let Some(worker) = worker else {
        return Pending::Here(work());
    };
    let (send, outcome) = sync_channel(1);
    worker(
        name,
        Box::new(move || {
            let outcome = work();
            let failed = outcome.as_ref().err().cloned();
            // The routine that has asked may be gone.
            let _is_wanted = send.send(outcome);
            failed.map_or(Ok(()), Err)
        }),
    );
    Pending::OnWorker(outcome)
}

/// A number of units as a span, within the limits of a wait.
pub(crate) fn span(units: f64) -> GameSpan {
    let nanounits = (units.clamp(0.0, WAIT_UNITS_MAX) * 1e9).round() as i128;
    GameSpan::from_nanounits(nanounits.max(crate::limits::WAIT_NANOUNITS_MIN))
}

type Place = (i64, i64);

/// The shortest path `from` a tile `to` another around those to `avoid`, on a map of `width` and `height` that is joined
/// at its edges, or without edges. A list of tiles, the first one left out; nil if there is none within
/// [`PATH_RADIUS`]. Besides, the steps that it costs: one for each tile
/// visited, and those of the data.
fn path(data: &Data) -> Result<(Data, u32), String> {
    let place = |data: Option<&Data>| -> Result<Place, String> {
        let number = |name| data.and_then(|data| data.get(name)).and_then(Data::as_number);
        match (number("x"), number("y")) {
            (Some(x), Some(y)) => Ok((i64::from(x as i32), i64::from(y as i32))),
            _ => Err("path takes from and to, with x and y".to_owned()),
        }
    };
    let side = |name| {
        let side = data.get(name).and_then(Data::as_number);
        side.map(|side| i64::from(side as i32)).filter(|side| *side > 0)
    };
    let (width, height) = (side("width"), side("height"));
    let from = place(data.get("from"))?;
    // Places are counted from there, the nearest way around.
    let nearest =
        |at: i64, side: Option<i64>| side.map_or(at, |side| (at + side / 2).rem_euclid(side) - side / 2);
    let offset = |(x, y): Place| (nearest(x, width), nearest(y, height));
    let seen_from = |(x, y): Place| offset((x - from.0, y - from.1));
    let goal = seen_from(place(data.get("to"))?);
    let is_within = |at: i64| (-PATH_RADIUS..=PATH_RADIUS).contains(&at);
    let cell = |(x, y): Place| {
        let cell = (y + PATH_RADIUS) * (2 * PATH_RADIUS + 1) + x + PATH_RADIUS;
        usize::try_from(cell)
            .ok()
            .filter(|_| is_within(x) && is_within(y))
    };
    // The next step from each tile that was visited.
    let mut steps: Vec<Option<Place>> = vec![None; PATH_TILES_MAX];
    if let Some(Data::List(tiles)) = data.get("avoid") {
        for tile in tiles {
            if let Some(cell) = cell(seen_from(place(Some(tile))?)) {
                steps[cell] = Some((0, 0));
            }
        }
    }
    // Even if it stands on a tile that others should avoid.
    steps[cell((0, 0)).expect("the middle")] = None;
    // From the goal, so that the steps come out in order.
    let mut frontier = VecDeque::new();
    if let Some(cell) = cell(goal) {
        steps[cell] = Some((0, 0));
        frontier.push_back(goal);
    }
    let mut visited = 0;
    while let Some(at) = frontier.pop_front().filter(|at| *at != (0, 0)) {
        visited += 1;
        for (dx, dy) in [(0, -1), (1, 0), (0, 1), (-1, 0)] {
            let neighbour = offset((at.0 + dx, at.1 + dy));
            if let Some(step @ None) = cell(neighbour).map(|cell| &mut steps[cell]) {
                *step = Some((-dx, -dy));
                frontier.push_back(neighbour);
            }
        }
    }
    let mut tiles = Vec::new();
    let mut at = (0, 0);
    while at != goal {
        let Some((dx, dy)) = cell(at).and_then(|cell| steps[cell]) else {
            return Ok((Data::Nil, visited));
        };
        at = offset((at.0 + dx, at.1 + dy));
        let on_map =
            |at: i64, side: Option<i64>| Data::Number(side.map_or(at, |side| at.rem_euclid(side)) as f64);
        tiles.push(Data::map([
            ("x", on_map(from.0 + at.0, width)),
            ("y", on_map(from.1 + at.1, height)),
        ]));
    }
    let found = u32::try_from(tiles.len()).unwrap_or(u32::MAX);
    Ok((Data::List(tiles), visited + DATA_VALUE_STEPS * found))
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
