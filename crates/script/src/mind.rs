//! The mind of an agent that a script plays: percepts in, acts out.

use trantor_engine::minds::{Act, Mind, MindFactory, Newborn, Percept};
use trantor_model::{Direction, MapSize, Show, Tile, TileMark};
use trantor_strategy::flight::AnswerKind;
use trantor_time::GameTime;

use crate::actor::{Actor, Answer, Role, packed};
use crate::script::Script;
use crate::state::Deed;

struct ScriptMind {
    actor: Actor,
    birth: Birth,
}

/// Where an agent was born. Scripts do not know it: they count tiles from there.
#[derive(Clone, Copy)]
struct Birth {
    tile: Tile,
    direction: Direction,
    map: MapSize,
}

impl Birth {
    /// Tiles of the map along a script's `x` and `y`.
    fn sides(self) -> (u32, u32) {
        let (width, height) = (u32::from(self.map.width()), u32::from(self.map.height()));
        match self.direction {
            Direction::North | Direction::South => (width, height),
            Direction::East | Direction::West => (height, width),
        }
    }

    /// The tile of the map that a script counts as `x` to the right of its birth and `y` behind it.
    fn on_map(self, (x, y): (i32, i32)) -> Tile {
        let (right, behind) = match self.direction {
            Direction::North => (x, y),
            Direction::East => (-y, x),
            Direction::South => (-x, -y),
            Direction::West => (y, -x),
        };
        let wrap = |from: u16, offset: i32, side: u32| {
            let at = (i64::from(from) + i64::from(offset)).rem_euclid(i64::from(side));
            u16::try_from(at).unwrap_or_default()
        };
        Tile {
            x: wrap(self.tile.x, right, u32::from(self.map.width())),
            y: wrap(self.tile.y, behind, u32::from(self.map.height())),
        }
    }
}

impl MindFactory for Script {
    fn awaken(&mut self, born: &Newborn<'_>) -> Box<dyn Mind> {
        let vm = std::rc::Rc::clone(&self.vm);
        let agent = Some(born.agent);
        let mut actor = Actor::new(vm, Role::Agent, agent, born.team, born.index, born.seed);
        let birth = Birth {
            tile: born.tile,
            direction: born.direction,
            map: born.map,
        };
        actor.sides = birth.sides();
        Box::new(ScriptMind { actor, birth })
    }
}

impl ScriptMind {
    fn act(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        let birth = self.birth;
        let act = |deed| {
            Some(match deed {
                Deed::Command(command) => Act::Command(command),
                Deed::Join => Act::Join,
                deed => Act::Show(show(deed, |tile| birth.on_map(tile))?),
            })
        };
        acts.extend(self.actor.decide(now).into_iter().filter_map(act));
    }
}

impl Mind for ScriptMind {
    fn perceive(&mut self, percept: Percept<'_>) {
        let actor = &mut self.actor;
        match percept {
            Percept::Ok => actor.answered(AnswerKind::Done, Answer::Done(true)),
            Percept::Ko => actor.answered(AnswerKind::Refused, Answer::Done(false)),
            Percept::Look(sights) => actor.answered(AnswerKind::Sight, Answer::Sight(packed(sights))),
            Percept::Inventory(counts) => actor.answered(AnswerKind::Carried, Answer::Inventory(*counts)),
            Percept::Places(places) => actor.answered(AnswerKind::Places, Answer::Number(places)),
            Percept::Message { direction, text } => actor.message(text, direction),
            Percept::Pushed { direction } => actor.pushed(direction),
            Percept::ElevationUnderway => actor.elevation_began(),
            Percept::Level(level) => actor.rose_to(level),
        }
    }

    fn decide(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        self.act(now, acts);
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.actor.wake_at()
    }

    fn died(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        self.actor.died();
        self.act(now, acts);
    }
}

/// What viewers are shown by a deed, if it shows something; `on_map` places the script's tiles.
pub(crate) fn show(deed: Deed, on_map: impl Fn((i32, i32)) -> Tile) -> Option<Show> {
    Some(match deed {
        Deed::Command(_) | Deed::Join | Deed::Console { .. } => return None,
        Deed::Note(text) => Show::Note(text),
        Deed::Mark {
            key,
            tiles,
            colour,
            text,
        } => Show::Mark {
            key,
            mark: TileMark {
                tiles: tiles.into_iter().map(on_map).collect(),
                colour,
                text,
            },
        },
        Deed::Unmark(key) => Show::Unmark { key },
        Deed::Card { name, value } => Show::Card { name, value },
        Deed::Announce(text) => Show::Announce(text),
    })
}
