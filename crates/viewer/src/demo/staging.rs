//! The contents of each demo: agents on their paths, elevations, broadcasts, births and deaths.

use std::sync::Arc;

use glam::Vec2;
use trantor_client::scene::ShownOwners;
use trantor_client::{EffectKind, Scene, SceneAction, SceneAgent, SceneEffect, SceneElevation, Span, Spread};
use trantor_model::{
    AgentId, CommandKind, Counts, EggId, EggState, Level, MapSize, Resource, Shown, ShownBy, TeamId, Tile,
    TileMark, lag,
};

use super::{ACTION_UNITS, DemoScene, Path};

/// Where the elevation of its demo is held, as a tile position.
pub(super) const ELEVATION: Vec2 = Vec2::new(6.0, 6.0);
const ELEVATION_UNITS: f64 = 300.0;
/// Broadcasts: words for people, and code for programs.
const WORDS: &[u8] = b"level 4, need two more at my tile";
/// How messages travel in the demo of lag.
const LAG: &str = "speed=0.2 latency=2 range=9 loss=20%";
const CODE: &[u8] = b"4;12;7;need;0;2;1;93817264";

pub(super) fn fill(which: DemoScene, paths: &[Path], size: MapSize, units: f64, scene: &mut Scene) {
    let teams = match which {
        DemoScene::Elevation | DemoScene::Victory => 2,
        DemoScene::Broadcast | DemoScene::Lag => 3,
        _ => 4,
    };
    for (number, path) in paths.iter().enumerate() {
        scene.agents.push(walker(number as u32, path, units, teams));
    }
    match which {
        DemoScene::Overview | DemoScene::Close | DemoScene::Minds => {
            elevation(scene, Tile { x: 6, y: 7 }, level(4), units + 170.0, 4);
            elevation(scene, Tile { x: 15, y: 4 }, level(1), units + 40.0, 1);
            eggs(scene, 7, size);
            what_walkers_did(scene, paths, units, teams);
            life_and_death(scene, units);
            if which == DemoScene::Minds {
                scene.shown = Arc::new(shown(scene, paths, size, units));
            }
        }
        DemoScene::Elevation => {
            elevation(scene, Tile { x: 6, y: 6 }, level(7), units + 235.0, 6);
            eggs(scene, 2, size);
        }
        DemoScene::Broadcast => {
            eggs(scene, 4, size);
            for (agent, since, words) in [(3, 57.0, WORDS), (7, 44.0, WORDS), (11, 70.0, CODE)] {
                speak(scene, agent, words, (units + since).rem_euclid(90.0));
            }
        }
        DemoScene::Lag => {
            eggs(scene, 4, size);
            for (agent, since) in [(3, 122.0), (7, 128.0), (11, 0.0)] {
                send(scene, size, agent, (units + since).rem_euclid(150.0));
            }
            scene.lag = Some(LAG.into());
        }
        DemoScene::Victory => {
            eggs(scene, 2, size);
            won(scene, TeamId(1), units);
        }
        DemoScene::BigWorld => {
            // Around the middle of the map, which is what is looked at, and in no order that can be seen.
            for number in 0..40u16 {
                let around = f32::from(number) * 2.399_963;
                let away = 11.0 * f32::from(number + 1).sqrt();
                let middle = f32::from(size.width()) / 2.0;
                let tile = Tile {
                    x: (middle + away * around.sin()) as u16,
                    y: (middle + away * around.cos()) as u16,
                };
                let level = level(1 + (number % 7) as u8);
                elevation(scene, tile, level, units + f64::from(number) * 41.0, 0);
            }
        }
    }
    scene
        .elevations
        .sort_unstable_by_key(|elevation| size.index_of(elevation.tile));
}

fn team_of(number: u32, teams: u16) -> TeamId {
    TeamId((number % u32::from(teams)) as u16)
}

/// From the first level on, some sooner and some later, up to mostly low ones, as in the first half of a match;
/// number 5 leads.
fn level_of(number: u32, units: f64) -> Level {
    const LEVELS: [u8; 12] = [2, 1, 3, 4, 1, 8, 2, 5, 3, 1, 6, 4];
    let units_a_level = 44.0 + f64::from(number * 37 % 24);
    let risen = (units / units_a_level).min(7.0) as u8;
    level(LEVELS[number as usize % LEVELS.len()].min(1 + risen))
}

fn level(number: u8) -> Level {
    Level::new(number).expect("one to eight are levels")
}

fn walker(number: u32, path: &Path, units: f64, teams: u16) -> SceneAgent {
    let moment = path.at(units);
    let mut inventory = Counts::ZERO;
    for resource in Resource::ALL {
        inventory[resource] = (number * 7 + resource.index() as u32 * 5) % 6;
    }
    inventory[Resource::Food] += 4;
    SceneAgent {
        id: AgentId(number),
        team: team_of(number, teams),
        level: level_of(number, units),
        tile: moment.tile,
        x: moment.x,
        y: moment.y,
        heading: moment.heading,
        inventory,
        action: Some(moment.action),
        held: false,
        food_left_units: Some(126.0 * (inventory[Resource::Food] as f32 + 0.4)),
    }
}

/// An elevation of which `since` units have passed; the next one begins when it is done.
fn elevation(scene: &mut Scene, tile: Tile, level: Level, since: f64, held: u32) {
    let progress = (since.rem_euclid(ELEVATION_UNITS) / ELEVATION_UNITS) as f32;
    let first = scene.elevation_participants.len() as u32;
    // The first agents that are not held yet come to the elevation.
    let free = scene.agents.iter_mut().filter(|agent| !agent.held);
    for (place, agent) in free.take(held as usize).enumerate() {
        agent.tile = tile;
        (agent.x, agent.y) = (f32::from(tile.x), f32::from(tile.y));
        agent.heading = (place % 4) as f32 * std::f32::consts::FRAC_PI_2;
        agent.level = level;
        agent.held = true;
        agent.action = Some(SceneAction {
            kind: CommandKind::Incantation,
            progress,
            remaining_units: (1.0 - progress) * ELEVATION_UNITS as f32,
            refused: false,
        })
        .filter(|_| place == 0);
        scene.elevation_participants.push(agent.id);
    }
    scene.elevations.push(SceneElevation {
        tile,
        level,
        progress,
        remaining_units: (1.0 - progress) * ELEVATION_UNITS as f32,
        participants: Span {
            first,
            len: scene.elevation_participants.len() as u32 - first,
        },
    });
}

/// Six of a team stand in a circle, at the highest level; the last of them have just got there.
fn won(scene: &mut Scene, winner: TeamId, units: f64) {
    scene.winner = Some(winner);
    let mut risen = Vec::new();
    let six = (scene.agents.iter_mut())
        .filter(|agent| agent.team == winner)
        .take(6);
    for (place, agent) in six.enumerate() {
        let angle = std::f32::consts::TAU * place as f32 / 6.0;
        let stands = ELEVATION + Vec2::new(angle.sin(), angle.cos()) * 1.2;
        (agent.x, agent.y) = (stands.x, stands.y);
        agent.heading = std::f32::consts::PI - angle;
        agent.level = Level::LAST;
        agent.action = None;
        risen.push((stands, agent.id));
    }
    for (stands, id) in risen {
        let rose = EffectKind::Rose { level: Level::LAST };
        effect(scene, rose, stands, Some((id, winner)), units.rem_euclid(200.0));
    }
    let ended = EffectKind::ElevationEnded {
        level: level(7),
        success: true,
    };
    effect(scene, ended, ELEVATION, None, units.rem_euclid(200.0));
}

fn eggs(scene: &mut Scene, count: u32, size: MapSize) {
    for number in 0..count {
        scene.eggs.push(EggState {
            egg: EggId(number),
            team: TeamId((number % 4) as u16),
            tile: size.tile_at((number as usize * 97 + 31) % size.area()),
        });
    }
}

fn what_walkers_did(scene: &mut Scene, paths: &[Path], units: f64, teams: u16) {
    for (number, path) in paths.iter().enumerate() {
        let number = number as u32;
        if scene.agents[number as usize].held {
            continue;
        }
        for (step, age) in path.ended(units, 60.0) {
            let kind = match step.kind {
                CommandKind::Take => EffectKind::Took {
                    resource: step.resource,
                },
                CommandKind::Set => EffectKind::Put {
                    resource: step.resource,
                },
                CommandKind::Broadcast => EffectKind::Broadcast {
                    text: say(scene, WORDS),
                    spread: None,
                },
                _ => continue,
            };
            let place = Vec2::new(f32::from(step.tile.x), f32::from(step.tile.y));
            let agent = (AgentId(number), team_of(number, teams));
            effect(scene, kind, place, Some(agent), age);
        }
    }
}

/// A birth, a death and a push that come round again and again.
fn life_and_death(scene: &mut Scene, units: f64) {
    let born = scene.agents[20];
    let death = EffectKind::Death {
        level: Level::FIRST,
        heading: 0.8,
    };
    let push = EffectKind::Push {
        heading: std::f32::consts::FRAC_PI_2,
    };
    let rose = EffectKind::Rose { level: Level::LAST };
    let who = |agent, team| (AgentId(agent), TeamId(team));
    let at_birth = Vec2::new(born.x, born.y);
    for (kind, place, agent, since, again) in [
        (EffectKind::Birth, at_birth, (born.id, born.team), 14.0, 260.0),
        (death, Vec2::new(11.0, 10.0), who(90, 1), 45.0, 310.0),
        (push, Vec2::new(9.0, 12.0), who(91, 2), 9.0, 140.0),
        (rose, Vec2::new(12.0, 7.0), who(92, 0), 30.0, 240.0),
    ] {
        effect(scene, kind, place, Some(agent), (units + since).rem_euclid(again));
    }
}

/// What the agents in the middle of the picture think and where they go, and a scenario.
fn shown(scene: &Scene, paths: &[Path], size: MapSize, units: f64) -> ShownOwners {
    const NOTES: [&str; 4] = [
        "hungry: two meals left",
        "sibur first, then back to #9",
        "waiting here for two of level 2",
        "nobody answers: explore",
    ];
    const HILL: [(&str, &str); 3] = [
        ("held by", "nobody yet"),
        ("for", "140 u"),
        ("next food", "in 60 u"),
    ];
    const PLAN: [(&str, &str); 3] = [
        ("plan", "gather for level 3"),
        ("trusts", "#9, #24"),
        ("missing", "1 sibur"),
    ];
    let card = |(name, value): (&str, &str)| (Box::from(name), Box::from(value));
    let mark = |colour, tiles: Vec<Tile>, text: &str| {
        let text = text.into();
        ("".into(), TileMark { tiles, colour, text })
    };
    let middle = Tile { x: 10, y: 9 };
    let hill = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| size.offset(middle, dx, dy)));
    let server = Shown {
        note: "King of the hill: hold it for 300 units to win.".into(),
        marks: vec![mark([235, 180, 60], hill.collect(), "the hill")],
        cards: HILL.map(card).into(),
    };
    let mut owners = ShownOwners::from([(ShownBy::Server, Arc::new(server))]);
    let is_near = |agent: &&SceneAgent| {
        let (dx, dy) = size.shortest(middle, agent.tile);
        !agent.held && dx.abs().max(dy.abs()) <= 4
    };
    for (number, agent) in scene.agents.iter().filter(is_near).enumerate() {
        let path = &paths[agent.id.0 as usize];
        let steps = (0..10).map(|step| path.at(units + ACTION_UNITS * f64::from(step)).tile);
        let mut tiles: Vec<Tile> = steps.collect();
        tiles.dedup();
        let (colour, text) = [([90, 200, 250], "food"), ([250, 120, 170], "sibur")][number % 2];
        let thinks = Shown {
            note: NOTES[number % NOTES.len()].into(),
            marks: (number < 3)
                .then(|| mark(colour, tiles, text))
                .into_iter()
                .collect(),
            cards: PLAN.map(card).into(),
        };
        owners.insert(ShownBy::Agent(agent.id), Arc::new(thinks));
    }
    owners
}

fn speak(scene: &mut Scene, agent: usize, words: &[u8], age: f64) {
    let Some(speaker) = scene.agents.get(agent).copied() else {
        return;
    };
    let text = say(scene, words);
    let place = Vec2::new(f32::from(speaker.tile.x), f32::from(speaker.tile.y));
    let agent = (speaker.id, speaker.team);
    let kind = EffectKind::Broadcast { text, spread: None };
    effect(scene, kind, place, Some(agent), age);
}

/// A broadcast that spreads as [`LAG`] says, and reaches those in range but for one in five.
fn send(scene: &mut Scene, size: MapSize, agent: usize, age: f64) {
    let (Ok(Some(lag)), Some(speaker)) = (lag::read(LAG), scene.agents.get(agent).copied()) else {
        return;
    };
    let spread = Spread::of(&lag, size);
    let text = say(scene, CODE);
    let place = Vec2::new(f32::from(speaker.tile.x), f32::from(speaker.tile.y));
    let kind = EffectKind::Broadcast {
        text,
        spread: Some(spread),
    };
    effect(scene, kind, place, Some((speaker.id, speaker.team)), age);
    for hearer in scene.agents.clone() {
        let (dx, dy) = size.shortest(speaker.tile, hearer.tile);
        let tiles = (dx as f32).hypot(dy as f32);
        if hearer.id == speaker.id || tiles > spread.edge {
            continue;
        }
        let kind = match (hearer.id.0 + speaker.id.0) % 5 {
            0 => EffectKind::Lost,
            _ => EffectKind::Heard { team: speaker.team },
        };
        let since = age - f64::from(spread.reaches_after(tiles));
        let (place, who) = (Vec2::new(hearer.x, hearer.y), (hearer.id, hearer.team));
        if since >= 0.0 {
            effect(scene, kind, place, Some(who), since);
        }
    }
}

fn say(scene: &mut Scene, words: &[u8]) -> Span {
    let first = scene.texts.len() as u32;
    scene.texts.extend_from_slice(words);
    Span {
        first,
        len: words.len() as u32,
    }
}

fn effect(scene: &mut Scene, kind: EffectKind, place: Vec2, agent: Option<(AgentId, TeamId)>, age: f64) {
    let shown = f64::from(kind.shown_units());
    if age < shown {
        scene.effects.push(SceneEffect {
            kind,
            x: place.x,
            y: place.y,
            agent,
            age_units: age as f32,
            progress: (age / shown) as f32,
        });
    }
}
