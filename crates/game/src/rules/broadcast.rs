//! Broadcast: every agent receives it, with the neighbouring tile from which it came.
//!
//! Sound takes the shortest way round the torus. The plane around the hearer is cut into eight sectors of 45
//! degrees, each centred on one of the eight neighbouring tiles:
//!
//! ```text
//!  2 1 8
//!  3 . 7      the hearer looks up the page; 0 is its own tile
//!  4 5 6
//! ```

use std::sync::Arc;

use trantor_model::{AgentId, Change, Direction, MapSize, Percept, Tile};
use trantor_time::GameTime;

use crate::event::GameEvent;
use crate::lag::{self, Message, MessageId};
use crate::rules::agents::Agent;
use crate::rules::world::World;
use crate::rules::{Events, send};

/// Sends `text` to every other living agent, team or not, held by an elevation or not: at once, or on its links.
/// Returns the messages in flight.
pub(crate) fn broadcast(
    world: &mut World,
    id: AgentId,
    text: &[u8],
    now: GameTime,
    events: &mut Events,
) -> Vec<(MessageId, GameTime)> {
    let text: Arc<[u8]> = text.into();
    let sender = &world.agents[id];
    let (source, lag) = (sender.tile, world.in_flight.lag_of(sender.team).copied());
    if lag.is_none() && events.are_messages_shared() {
        events.push(GameEvent::HeardByAll {
            speaker: id,
            text: text.clone(),
        });
        events.push_for_viewers(|| Change::Said { agent: id, text });
        send(events, id, Percept::Ok);
        return Vec::new();
    }
    let (mut sent, mut deliveries) = (Vec::new(), Vec::new());
    let World {
        agents,
        in_flight,
        size,
        ..
    } = world;
    for hearer in agents.iter().filter(|hearer| hearer.id != id) {
        let Some(lag) = lag else {
            events.push(received(*size, hearer, source, text.clone()));
            continue;
        };
        let message = Message {
            id: MessageId(0),
            at: now,
            from: id,
            to: hearer.id,
            source,
            text: text.clone(),
        };
        let distance = lag::distance(*size, source, hearer.tile);
        let delivery = in_flight.send(now, lag, message, distance, &mut sent);
        if events.are_for_viewers() {
            deliveries.push((hearer.id, delivery));
        }
    }
    events.push_for_viewers(|| Change::Said { agent: id, text });
    if let Some(lag) = lag {
        events.push_for_viewers(|| Change::Sent {
            agent: id,
            tile: source,
            settings: Box::new(lag),
            deliveries: deliveries.into(),
            left_out: 0,
        });
    }
    send(events, id, Percept::Ok);
    sent
}

/// Delivers a message in flight. Its direction is relative to the recipient as it stands now.
pub(crate) fn deliver(world: &mut World, id: MessageId, events: &mut Events) {
    let message = world.in_flight.deliver(id);
    let hearer = &world.agents[message.to];
    events.push(received(world.size, hearer, message.source, message.text));
}

fn received(size: MapSize, hearer: &Agent, source: Tile, text: Arc<[u8]>) -> GameEvent {
    GameEvent::To {
        agent: hearer.id,
        percept: Percept::Message {
            direction: arrival(size, hearer.tile, hearer.facing, source),
            text,
        },
    }
}

/// The direction from which a sound made at `source` reaches `hearer`, that faces `facing`: 0 to 8.
pub(crate) fn arrival(size: MapSize, hearer: Tile, facing: Direction, source: Tile) -> u8 {
    let (dx, dy) = size.shortest(hearer, source);
    let (ahead_x, ahead_y) = facing.vector();
    let ahead = dx * ahead_x + dy * ahead_y;
    // The left hand is a quarter turn counter-clockwise from ahead; with y to the south, (x, y) -> (y, -x).
    let left = dx * ahead_y - dy * ahead_x;
    sector(ahead, left)
}

/// The sector of a vector, given as tiles ahead and tiles to the left.
///
/// The limits lie at the slope √2 − 1 (22.5 degrees), which no whole vector has: a vector is nearer to the
/// axis of `a` than to the diagonal exactly if `(a + b)² < 2a²`, and there are no ties to break.
fn sector(ahead: i32, left: i32) -> u8 {
    let (a, b) = (i64::from(ahead.abs()), i64::from(left.abs()));
    let sum_squared = (a + b) * (a + b);
    if a == 0 && b == 0 {
        0
    } else if sum_squared < 2 * a * a {
        if ahead > 0 { 1 } else { 5 }
    } else if sum_squared < 2 * b * b {
        if left > 0 { 3 } else { 7 }
    } else {
        match (ahead > 0, left > 0) {
            (true, true) => 2,
            (false, true) => 4,
            (false, false) => 6,
            (true, false) => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{East, North, South, West};

    #[test]
    fn the_fifteen_examples() {
        let examples = [
            ((10, 10), (5, 5), North, (5, 5), 0),
            ((10, 10), (5, 5), North, (5, 2), 1),
            ((10, 10), (5, 5), South, (5, 2), 5),
            ((10, 10), (5, 5), East, (5, 2), 3),
            ((10, 10), (5, 5), North, (8, 5), 7),
            ((10, 10), (5, 5), North, (7, 3), 8),
            ((10, 10), (5, 5), North, (4, 1), 1),
            ((10, 10), (5, 5), West, (6, 4), 6),
            ((10, 10), (1, 1), North, (9, 9), 2),
            ((10, 10), (0, 0), West, (9, 9), 8),
            ((10, 10), (9, 4), East, (0, 4), 1),
            ((20, 10), (0, 0), North, (19, 0), 3),
            ((20, 10), (0, 0), North, (10, 0), 7),
            ((20, 10), (0, 0), North, (0, 5), 5),
            ((10, 11), (5, 2), East, (2, 9), 4),
        ];
        for ((width, height), hearer, facing, source, expected) in examples {
            let size = MapSize::new(width, height).unwrap();
            let tile = |(x, y)| Tile { x, y };
            let direction = arrival(size, tile(hearer), facing, tile(source));
            assert_eq!(
                direction, expected,
                "{width} x {height}, {hearer:?} facing {facing:?}, {source:?}"
            );
        }
    }

    /// Every vector on a map as large as they come in play, against the angle itself.
    #[test]
    fn sectors_are_those_of_the_angle() {
        for ahead in -50..=50i32 {
            for left in -50..=50i32 {
                let degrees = f64::from(left).atan2(f64::from(ahead)).to_degrees();
                let expected = match (ahead, left) {
                    (0, 0) => 0,
                    _ => ((degrees / 45.0).round() as i32).rem_euclid(8) + 1,
                };
                assert_eq!(
                    i32::from(sector(ahead, left)),
                    expected,
                    "{ahead} ahead, {left} to the left"
                );
            }
        }
    }
}
