//! The director over fifty whole matches of minds at 20 pictures a second: which ends of elevations it has in the picture.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

use glam::{Vec2, Vec3};
use trantor_client::{EffectKind, Scene, SceneEffect, SceneElevation, SceneGround};
use trantor_game::{GameConfig, Rules};
use trantor_model::{Counts, MapSize};
use trantor_play::leap::{Ended, Leap};
use trantor_play::minds::MindKind;
use trantor_render::picture::CameraPose;
use trantor_time::{GameSpan, GameTime};
use trantor_viewer::state::director::{Director, Format};
use trantor_viewer::state::hud::Hud;

const SECONDS_PER_PICTURE: f32 = 1.0 / 20.0;
const ELEVATION_UNITS: f32 = 300.0;

/// A match between minds as scenes.
struct Match {
    leap: Leap,
    scene: Scene,
}

impl Match {
    fn new(seed: u64, side: u32, teams: usize, frequency: u32) -> Self {
        let size = MapSize::new(side, side).unwrap();
        let config = GameConfig {
            size,
            teams: (0..teams).map(|team| format!("team{team}")).collect(),
            places_per_team: 6,
            seed,
            rules: Rules {
                lock_step: true,
                ..Rules::default()
            },
        };
        let mut scene = Scene {
            ground: Some(SceneGround {
                size,
                tiles: vec![Counts::ZERO; size.area()],
                version: 1,
                changed_since: 0,
                changed: Vec::new(),
            }),
            ..Scene::default()
        };
        scene.clock.frequency = frequency;
        Self {
            leap: Leap::new(config, &[MindKind::Team]),
            scene,
        }
    }

    /// Plays on to the next picture; `false` at the end of the match.
    fn advance(&mut self) -> bool {
        let Self { leap, scene } = self;
        let units = scene.clock.frequency as f32 * SECONDS_PER_PICTURE;
        let now = scene.clock.game + GameSpan::from_units(units as i64);
        let goes_on = leap.run(Some(now)) == Ended::TimeReached;
        scene.clock.game = now;
        scene.winner = leap.game().winner();
        let left = |end: GameTime| (end - now).as_units_f64() as f32;
        let elevations = leap.game().world().elevations().map(|elevation| SceneElevation {
            tile: elevation.tile,
            level: elevation.level,
            progress: 1.0 - left(elevation.end) / ELEVATION_UNITS,
            remaining_units: left(elevation.end),
            participants: Default::default(),
        });
        let before = std::mem::replace(&mut scene.elevations, elevations.collect());
        scene.effects.retain_mut(|effect| {
            effect.age_units += units;
            effect.age_units < effect.kind.shown_units() as f32
        });
        for past in before {
            let is_same = |now: &SceneElevation| now.tile == past.tile && now.progress > past.progress;
            if !scene.elevations.iter().any(is_same) {
                scene.effects.push(SceneEffect {
                    kind: EffectKind::ElevationEnded {
                        level: past.level,
                        success: true,
                    },
                    x: f32::from(past.tile.x),
                    y: f32::from(past.tile.y),
                    agent: None,
                    age_units: 0.0,
                    progress: 0.0,
                });
            }
        }
        goes_on
    }
}

/// Ends of elevations of level 4 and more: all, those in the picture, and those of them from near.
#[derive(Debug, Default)]
struct Ends {
    all: u32,
    seen: u32,
    near: u32,
}

impl Ends {
    fn watch(&mut self, mut game: Match) {
        let size = game.scene.ground.as_ref().unwrap().size;
        let teams = game.leap.game().config().teams.len();
        let (aspect, points) = (16.0 / 9.0, egui::vec2(1280.0, 720.0));
        let clear = Hud::new().clear_part(points, false, teams);
        let sides = Vec2::new(f32::from(size.width()), f32::from(size.height()));
        let whole = CameraPose::overview(sides, aspect, clear);
        let mut director = Director::default();
        let (mut pose, mut since_cut, mut goes_on) = (whole, 9.0, true);
        while goes_on {
            goes_on = game.advance();
            let before = pose;
            let format = Format { aspect, clear };
            pose = director
                .direct(&game.scene, format, before, SECONDS_PER_PICTURE)
                .unwrap();
            since_cut += SECONDS_PER_PICTURE;
            if before.target.distance(pose.target) > before.distance * 0.3 {
                assert!(since_cut > 2.99, "a cut after {since_cut} s");
                since_cut = 0.0;
            }
            let view = pose.view(1280, 720);
            for effect in game.scene.effects.iter().filter(|effect| effect.age_units == 0.0) {
                if !matches!(effect.kind, EffectKind::ElevationEnded { level, .. } if level.get() >= 4) {
                    continue;
                }
                let at = view.project(Vec3::new(effect.x, 0.0, effect.y));
                let is_seen = at.is_some_and(|at| at.cmpge(clear.0).all() && at.cmple(clear.1).all());
                self.all += 1;
                self.seen += u32::from(is_seen);
                self.near += u32::from(is_seen && pose.distance < whole.distance * 0.8);
            }
        }
    }
}

/// `cargo nextest run --workspace --test director --no-capture` prints the figures.
#[test]
fn elevations_are_in_the_picture_when_they_end() {
    let mut ends = Ends::default();
    for (frequency, seeds) in [(100, 1..=5), (200, 6..=10)] {
        for (side, teams) in [(20, 2), (20, 4), (30, 3), (42, 2), (60, 4)] {
            for seed in seeds.clone() {
                ends.watch(Match::new(seed, side, teams, frequency));
            }
        }
    }
    let Ends { all, seen, near } = ends;
    println!(
        "of {all} elevations of level 4 and more {seen} were in the picture at their ends, {near} of them from near"
    );
    assert!(seen * 100 >= all * 80);
}
