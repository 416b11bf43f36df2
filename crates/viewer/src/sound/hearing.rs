//! What is heard of a scene, from where the camera looks: pure, with neither samples nor a device.
//!
//! ```text
//! what began since the scene before ─> where from, how far ─> the most important of this second ─> cues
//! rituals under way ─────────────────> the same ─────────────> the nearest few ──────────────────> hums
//! ```
//!
//! What began is told by game time, so a pause is silent by itself. The faster the game, the more begins in a second
//! of the listener's: of that only [`VOICES_PER_SECOND_MAX`] are heard, the weightiest and nearest, each softer
//! the more there are.

use std::collections::VecDeque;

use glam::Vec2;
use trantor_client::{EffectKind, Scene};
use trantor_model::{TeamId, Tile};
use trantor_time::{RealSpan, RealTime};

use super::tones::Tone;
use trantor_render::picture::CameraPose;
use trantor_render::picture::torus::TorusWindow;

/// Tones that begin within a second at most: more is noise, in which nothing can be told apart.
pub const VOICES_PER_SECOND_MAX: usize = 12;
/// Rituals that are heard at once at most.
pub const HUMS_MAX: usize = 3;
/// Below this part of its loudness nothing is heard any more.
const GAIN_LEAST: f32 = 0.03;
/// How loud a hum is at its loudest: it lasts, so it is soft.
const HUM_GAIN: f32 = 0.35;
/// How much softer each voice is for each that sounds already.
const CROWD: f32 = 1.0;
/// At what part of the camera's distance a thing is half as loud.
const REACH_SHARE: f32 = 0.6;
/// The same at the least, in tiles.
const REACH_LEAST_TILES: f32 = 3.0;
/// How far to one side a thing is heard at most: with one ear alone it sounds wrong.
const PAN_MOST: f32 = 0.85;
/// Pitches of teams, as parts of the tone's own: a scale in which any two sound well together.
const TEAM_PITCHES: [f32; 5] = [1.0, 1.125, 1.25, 1.5, 1.6875];

/// Where one listens from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ear {
    at: Vec2,
    right: Vec2,
    reach_tiles: f32,
    window: TorusWindow,
}

/// A tone to begin now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cue {
    /// Which.
    pub tone: Tone,
    /// From where.
    pub place: Heard,
    /// How much higher or lower than the tone is made, as a factor.
    pub pitch: f32,
}

/// How something is heard from where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heard {
    /// Left, -1.0, to right, 1.0.
    pub pan: f32,
    /// `0.0..=1.0`.
    pub gain: f32,
}

/// A ritual as it is heard now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hum {
    /// From where; a gain of 0 is silence.
    pub place: Heard,
    /// As [`Cue::pitch`]: it rises as the ritual goes on.
    pub pitch: f32,
}

/// What was heard, so that nothing is heard twice.
#[derive(Debug, Default)]
pub struct Hearing {
    /// When the tones of the last second began.
    begun: VecDeque<RealTime>,
    heard_of: Vec<Cue>,
    /// Which ritual each hum is of.
    rituals: [Option<Tile>; HUMS_MAX],
    winner: Option<TeamId>,
    /// Whether a world was there before: who joins a game that is over is not told with a fanfare.
    is_there: bool,
}

impl Ear {
    /// The ear of somebody who looks like this at a map.
    pub fn of(pose: &CameraPose, window: TorusWindow) -> Self {
        let (sin, cos) = pose.yaw.sin_cos();
        Self {
            at: pose.target,
            right: Vec2::new(cos, sin),
            reach_tiles: (pose.distance * REACH_SHARE).max(REACH_LEAST_TILES),
            window,
        }
    }

    /// How something at a tile position is heard: the shorter way round the world.
    fn hears(&self, x: f32, y: f32) -> Heard {
        let way = self.window.shortest(self.at, Vec2::new(x, y)) / self.reach_tiles;
        Heard {
            pan: (way.dot(self.right) / (1.0 + way.length())).clamp(-PAN_MOST, PAN_MOST),
            gain: 1.0 / (1.0 + way.length_squared()),
        }
    }
}

impl Hearing {
    /// Writes what begins to sound with `scene` into `cues`, and how rituals sound into `hums`.
    pub fn listen(
        &mut self,
        scene: &Scene,
        ear: &Ear,
        now: RealTime,
        cues: &mut Vec<Cue>,
        hums: &mut [Hum; HUMS_MAX],
    ) {
        cues.clear();
        self.note_what_began(scene, ear);
        let a_second_ago = now - RealSpan::from_secs(1);
        while self.begun.front().is_some_and(|begun| *begun <= a_second_ago) {
            self.begun.pop_front();
        }
        let importance = |cue: &Cue| cue.tone.weight() * cue.place.gain;
        self.heard_of
            .sort_by(|one, other| importance(other).total_cmp(&importance(one)));
        for mut cue in self.heard_of.drain(..) {
            if self.begun.len() == VOICES_PER_SECOND_MAX {
                break;
            }
            cue.place.gain /= 1.0 + CROWD * self.begun.len() as f32;
            self.begun.push_back(now);
            cues.push(cue);
        }
        self.follow_rituals(scene, ear, hums);
    }

    fn note_what_began(&mut self, scene: &Scene, ear: &Ear) {
        self.heard_of.clear();
        for effect in &scene.effects {
            if effect.age_units >= scene.clock.elapsed_units {
                continue;
            }
            let tone = match effect.kind {
                EffectKind::Broadcast { .. } => Tone::Chime,
                EffectKind::Birth => Tone::Hatch,
                EffectKind::Death { .. } => Tone::Death,
                EffectKind::RitualEnded { success: true, .. } => Tone::Risen,
                EffectKind::RitualEnded { success: false, .. } => Tone::Failed,
                _ => continue,
            };
            let place = ear.hears(effect.x, effect.y);
            if place.gain >= GAIN_LEAST {
                let pitch = effect.agent.map_or(1.0, |(_, team)| team_pitch(team));
                self.heard_of.push(Cue { tone, place, pitch });
            }
        }
        let is_won = scene.winner.is_some() && self.winner != scene.winner;
        if is_won && self.is_there {
            self.heard_of.push(Cue {
                tone: Tone::Fanfare,
                place: Heard { pan: 0.0, gain: 1.0 },
                pitch: 1.0,
            });
        }
        self.winner = scene.winner;
        self.is_there = scene.ground.is_some();
    }

    /// A ritual keeps its hum for as long as it lasts; those that have none yet get what is free, the loudest first.
    fn follow_rituals(&mut self, scene: &Scene, ear: &Ear, hums: &mut [Hum; HUMS_MAX]) {
        let hum_of = |tile: Tile| {
            let ritual = scene.rituals.iter().find(|ritual| ritual.tile == tile)?;
            let mut place = ear.hears(f32::from(tile.x), f32::from(tile.y));
            place.gain *= HUM_GAIN * (0.25 + 0.75 * ritual.progress);
            // It ends a fifth higher than it began.
            Some(Hum {
                place,
                pitch: 1.0 + 0.5 * ritual.progress,
            })
        };
        for slot in &mut self.rituals {
            *slot = slot.filter(|tile| scene.rituals.iter().any(|ritual| ritual.tile == *tile));
        }
        while let Some(free) = self.rituals.iter().position(Option::is_none) {
            let gain = |tile: &Tile| ear.hears(f32::from(tile.x), f32::from(tile.y)).gain;
            let others = scene.rituals.iter().map(|ritual| ritual.tile);
            let loudest = others
                .filter(|tile| !self.rituals.contains(&Some(*tile)))
                .max_by(|one, other| gain(one).total_cmp(&gain(other)));
            let Some(tile) = loudest else { break };
            self.rituals[free] = Some(tile);
        }
        let is_still = scene.clock.paused;
        for (hum, slot) in hums.iter_mut().zip(&self.rituals) {
            *hum = slot.filter(|_| !is_still).and_then(hum_of).unwrap_or_default();
        }
    }
}

fn team_pitch(team: TeamId) -> f32 {
    TEAM_PITCHES[usize::from(team.0) % TEAM_PITCHES.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Demo, DemoScene};
    use crate::sound::tones::PEAK;
    use trantor_client::{SceneEffect, SceneRitual, Span};
    use trantor_model::{AgentId, Level, MapSize};

    fn ear() -> Ear {
        let pose = CameraPose {
            target: Vec2::new(10.0, 10.0),
            distance: 10.0,
            yaw: 0.0,
            pitch: 0.9,
        };
        Ear::of(&pose, TorusWindow::whole(MapSize::new(20, 20).unwrap()))
    }

    fn at(ms: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(ms)
    }

    /// A scene in which these began just now, at these places.
    fn scene(began: &[(EffectKind, f32, f32)]) -> Scene {
        let effect = |&(kind, x, y)| SceneEffect {
            kind,
            x,
            y,
            agent: Some((AgentId(1), TeamId(0))),
            age_units: 0.5,
            progress: 0.0,
        };
        let mut scene = Scene {
            effects: began.iter().map(effect).collect(),
            ..Scene::default()
        };
        scene.clock.elapsed_units = 1.0;
        scene
    }

    fn cues(hearing: &mut Hearing, scene: &Scene, now: RealTime) -> Vec<Cue> {
        let mut cues = Vec::new();
        hearing.listen(scene, &ear(), now, &mut cues, &mut Default::default());
        cues
    }

    fn words(text: u32) -> EffectKind {
        EffectKind::Broadcast {
            text: Span { first: text, len: 0 },
        }
    }

    #[test]
    fn a_broadcast_is_heard_from_where_it_is() {
        let heard = |x, y| cues(&mut Hearing::default(), &scene(&[(words(0), x, y)]), at(0))[0].place;
        assert_eq!(heard(10.0, 10.0), Heard { pan: 0.0, gain: 1.0 });
        let (left, right) = (heard(6.0, 10.0), heard(14.0, 10.0));
        assert!(left.pan < -0.3 && right.pan > 0.3 && left.gain == right.gain && left.gain < 0.8);
        assert!(
            heard(10.0, 2.0).pan.abs() < 1e-6,
            "what is ahead is in the middle"
        );
        // Around the world it is 3 tiles to the left of an ear at 1, not 17 to the right.
        let near_the_seam = Ear {
            at: Vec2::new(1.0, 10.0),
            ..ear()
        };
        assert!(near_the_seam.hears(18.0, 10.0).pan < -0.2);
    }

    #[test]
    fn what_began_is_heard_once_and_a_pause_is_silent() {
        let mut hearing = Hearing::default();
        let mut scene = scene(&[(words(0), 10.0, 10.0)]);
        assert_eq!(cues(&mut hearing, &scene, at(0)).len(), 1);
        scene.effects[0].age_units = 1.5;
        assert_eq!(
            cues(&mut hearing, &scene, at(20)).len(),
            0,
            "a unit later it is old"
        );
        scene.effects[0].age_units = 0.0;
        scene.clock.elapsed_units = 0.0;
        scene.clock.paused = true;
        assert_eq!(cues(&mut hearing, &scene, at(40)).len(), 0, "no game time passed");
    }

    #[test]
    fn a_second_has_so_many_voices_the_weightiest_first_and_never_too_loud_together() {
        let mut hearing = Hearing::default();
        let mut many = vec![(words(0), 10.0, 10.0); 30];
        let (level, heading) = (Level::new(1).unwrap(), 0.0);
        many.push((EffectKind::Death { level, heading }, 10.0, 10.0));
        let first = cues(&mut hearing, &scene(&many), at(0));
        assert_eq!(first.len(), VOICES_PER_SECOND_MAX);
        assert_eq!(first[0].tone, Tone::Death);
        assert!(cues(&mut hearing, &scene(&many), at(999)).is_empty());
        assert_eq!(
            cues(&mut hearing, &scene(&many), at(1_000)).len(),
            VOICES_PER_SECOND_MAX
        );
        let voices: f32 = first.iter().map(|cue| cue.place.gain).sum();
        let hums = HUM_GAIN * HUMS_MAX as f32;
        // What comes from one side alone is twice as strong there.
        let loudest = (voices + hums) * PEAK * std::f32::consts::SQRT_2;
        assert!(loudest < 1.0, "{voices} of tones, {hums} of hums");
        let far = cues(&mut Hearing::default(), &scene(&[(words(0), 0.0, 0.0)]), at(0));
        assert!(far.len() <= 1);
    }

    #[test]
    fn a_win_is_heard_by_those_who_saw_it_happen() {
        let mut hearing = Hearing::default();
        let demo = Demo::new(DemoScene::Overview);
        let mut scene = Scene::default();
        demo.scene(0.0, &mut scene);
        scene.effects.clear();
        scene.winner = Some(TeamId(1));
        assert!(cues(&mut hearing, &scene, at(0)).is_empty(), "it was over before");
        scene.winner = None;
        cues(&mut hearing, &scene, at(20));
        scene.winner = Some(TeamId(1));
        assert_eq!(cues(&mut hearing, &scene, at(40))[0].tone, Tone::Fanfare);
        assert!(cues(&mut hearing, &scene, at(60)).is_empty());
    }

    #[test]
    fn a_ritual_swells_until_it_ends_and_the_nearest_few_are_heard() {
        let ritual = |x, progress| SceneRitual {
            tile: Tile { x, y: 10 },
            level: Level::new(1).unwrap(),
            progress,
            remaining_units: 300.0 * (1.0 - progress),
            participants: Span::default(),
        };
        let (mut hearing, mut hums) = (Hearing::default(), [Hum::default(); HUMS_MAX]);
        let mut gains = Vec::new();
        let mut hear = |rituals: Vec<SceneRitual>, paused| {
            let mut scene = scene(&[]);
            (scene.rituals, scene.clock.paused) = (rituals, paused);
            hearing.listen(&scene, &ear(), at(0), &mut Vec::new(), &mut hums);
            hums.map(|hum| hum.place.gain)
        };
        for hundredth in 0..=100u16 {
            gains.push(hear(vec![ritual(10, f32::from(hundredth) / 100.0)], false)[0]);
        }
        assert!(gains.is_sorted() && gains[0] > 0.0 && gains[100] == HUM_GAIN);
        // It keeps its hum though four more begin nearer; of those the nearest get one.
        let crowd: Vec<_> = [10, 18, 9, 8, 11].map(|x| ritual(x, 0.5)).into();
        let heard = hear(crowd.clone(), false);
        assert!(heard.iter().all(|gain| *gain > HUM_GAIN * 0.5), "{heard:?}");
        assert_eq!(hear(crowd, true), [0.0; HUMS_MAX], "a pause is silent");
        assert_eq!(hear(Vec::new(), false), [0.0; HUMS_MAX]);
    }
}
