//! Which tones a scene begins, how loud and from where: pure, with neither samples nor a device.
//!
//! What began is known by game time, so a pause is silent by itself. The faster the game, the more begins in a second
//! of real time: of that only [`VOICES_PER_SECOND_MAX`] are heard, the most important and nearest, each softer the more
//! there are.

use std::collections::VecDeque;

use glam::Vec2;
use trantor_client::{EffectKind, Scene};
use trantor_model::{TeamId, Tile};
use trantor_render::picture::CameraPose;
use trantor_render::picture::torus::TorusWindow;
use trantor_time::{RealSpan, RealTime};

use super::tones::Tone;

/// Tones that begin within a second at most: more could not be told apart.
pub const VOICES_PER_SECOND_MAX: usize = 12;
/// Rituals that are heard at once at most.
pub const LOOPS_MAX: usize = 3;
/// Gain below which nothing is heard any more.
const GAIN_LEAST: f32 = 0.03;
/// Greatest gain of a loop: it lasts, so it is soft.
const LOOP_GAIN: f32 = 0.35;
/// The distance at which a tone is half as loud: as a part of the camera's, and the least in tiles.
const REACH_SHARE: f32 = 0.6;
const REACH_LEAST_TILES: f32 = 3.0;
/// How far to one side a tone is heard at most: in one ear alone it sounds wrong.
const PAN_MOST: f32 = 0.85;
/// Pitches of teams: a scale in which any two sound well together.
const TEAM_PITCHES: [f32; 5] = [1.0, 1.125, 1.25, 1.5, 1.6875];

/// A tone as it is heard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Voice {
    /// Which tone.
    pub tone: Tone,
    /// From -1, left, to 1, right.
    pub pan: f32,
    /// 0 to 1.
    pub gain: f32,
    /// A factor of the tone's own pitch.
    pub pitch: f32,
}

/// Where the listener is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Listener {
    at: Vec2,
    right: Vec2,
    reach_tiles: f32,
    window: TorusWindow,
}

impl Listener {
    /// A listener behind the camera.
    pub fn new(pose: &CameraPose, window: TorusWindow) -> Self {
        let (sin, cos) = pose.yaw.sin_cos();
        Self {
            at: pose.target,
            right: Vec2::new(cos, sin),
            reach_tiles: (pose.distance * REACH_SHARE).max(REACH_LEAST_TILES),
            window,
        }
    }

    /// A tone at a place, the shorter way round the world.
    fn hear(&self, tone: Tone, pitch: f32, (x, y): (f32, f32)) -> Voice {
        let way = self.window.shortest(self.at, Vec2::new(x, y)) / self.reach_tiles;
        Voice {
            tone,
            pan: (way.dot(self.right) / (1.0 + way.length())).clamp(-PAN_MOST, PAN_MOST),
            gain: 1.0 / (1.0 + way.length_squared()),
            pitch,
        }
    }
}

/// What was heard, so that nothing is heard twice.
#[derive(Debug, Default)]
pub struct Mixer {
    /// When the tones of the last second began.
    begun: VecDeque<RealTime>,
    voices: Vec<Voice>,
    /// The ritual of each loop.
    rituals: [Option<Tile>; LOOPS_MAX],
    winner: Option<TeamId>,
    /// Whether there was a world before: a game that is over at the first scene has no fanfare.
    had_world: bool,
}

impl Mixer {
    /// The tones that begin with `scene`, and how its rituals sound.
    pub fn mix(
        &mut self,
        scene: &Scene,
        listener: &Listener,
        now: RealTime,
    ) -> (&[Voice], [Option<Voice>; LOOPS_MAX]) {
        self.collect(scene, listener);
        let a_second_ago = now - RealSpan::from_secs(1);
        while self.begun.front().is_some_and(|begun| *begun <= a_second_ago) {
            self.begun.pop_front();
        }
        let importance = |voice: &Voice| voice.tone.weight() * voice.gain;
        self.voices
            .sort_by(|one, other| importance(other).total_cmp(&importance(one)));
        self.voices.truncate(VOICES_PER_SECOND_MAX - self.begun.len());
        for voice in &mut self.voices {
            voice.gain /= 1.0 + self.begun.len() as f32;
            self.begun.push_back(now);
        }
        let loops = self.loops(scene, listener);
        (&self.voices, loops)
    }

    fn collect(&mut self, scene: &Scene, listener: &Listener) {
        self.voices.clear();
        let new = scene.effects.iter();
        for effect in new.filter(|effect| effect.age_units < scene.clock.elapsed_units) {
            let tone = match effect.kind {
                EffectKind::Broadcast { .. } => Tone::Chime,
                EffectKind::Birth => Tone::Hatch,
                EffectKind::Death { .. } => Tone::Death,
                EffectKind::RitualEnded { success: true, .. } => Tone::Risen,
                EffectKind::RitualEnded { success: false, .. } => Tone::Failed,
                _ => continue,
            };
            let pitch = |team: TeamId| TEAM_PITCHES[usize::from(team.0) % TEAM_PITCHES.len()];
            let pitch = effect.agent.map_or(1.0, |(_, team)| pitch(team));
            self.voices.push(listener.hear(tone, pitch, (effect.x, effect.y)));
        }
        self.voices.retain(|voice| voice.gain >= GAIN_LEAST);
        if scene.winner.is_some() && self.winner != scene.winner && self.had_world {
            self.voices.push(Voice {
                tone: Tone::Fanfare,
                pan: 0.0,
                gain: 1.0,
                pitch: 1.0,
            });
        }
        self.winner = scene.winner;
        self.had_world = scene.ground.is_some();
    }

    /// A ritual keeps its loop until it ends; free loops go to the loudest of the others.
    fn loops(&mut self, scene: &Scene, listener: &Listener) -> [Option<Voice>; LOOPS_MAX] {
        let voice = |tile: Tile| {
            let mut rituals = scene.rituals.iter();
            let ritual = rituals.find(|ritual| ritual.tile == tile)?;
            // It ends a fifth higher than it began.
            let pitch = 1.0 + 0.5 * ritual.progress;
            let at = (f32::from(tile.x), f32::from(tile.y));
            let mut voice = listener.hear(Tone::Hum, pitch, at);
            voice.gain *= LOOP_GAIN * (0.25 + 0.75 * ritual.progress);
            Some(voice)
        };
        self.rituals = self
            .rituals
            .map(|tile| tile.filter(|tile| voice(*tile).is_some()));
        let gain = |tile: Tile| listener.hear(Tone::Hum, 1.0, (tile.x.into(), tile.y.into())).gain;
        while let Some(free) = self.rituals.iter().position(Option::is_none) {
            let tiles = scene.rituals.iter().map(|ritual| ritual.tile);
            let others = tiles.filter(|tile| !self.rituals.contains(&Some(*tile)));
            let loudest = others.max_by(|one, other| gain(*one).total_cmp(&gain(*other)));
            let Some(tile) = loudest else { break };
            self.rituals[free] = Some(tile);
        }
        match scene.clock.paused {
            true => [None; LOOPS_MAX],
            false => self.rituals.map(|tile| tile.and_then(voice)),
        }
    }
}

#[cfg(test)]
mod tests {
    use trantor_client::{SceneEffect, SceneRitual, Span};
    use trantor_model::{AgentId, Level, MapSize};

    use super::super::tones::PEAK;
    use super::*;

    fn listener(x: f32) -> Listener {
        let pose = CameraPose {
            target: Vec2::new(x, 10.0),
            distance: 10.0,
            yaw: 0.0,
            pitch: 0.9,
        };
        Listener::new(&pose, TorusWindow::whole(MapSize::new(20, 20).unwrap()))
    }

    fn broadcasts(count: usize) -> Scene {
        let effect = SceneEffect {
            kind: EffectKind::Broadcast {
                text: Span { first: 0, len: 0 },
            },
            x: 10.0,
            y: 10.0,
            agent: Some((AgentId(1), TeamId(0))),
            age_units: 0.5,
            progress: 0.0,
        };
        let mut scene = Scene {
            effects: vec![effect; count],
            ..Scene::default()
        };
        scene.clock.elapsed_units = 1.0;
        scene
    }

    #[test]
    fn a_tone_is_heard_from_where_it_is() {
        let heard = |ear: f32, x, y| listener(ear).hear(Tone::Chime, 1.0, (x, y));
        assert_eq!(
            (heard(10.0, 10.0, 10.0).pan, heard(10.0, 10.0, 10.0).gain),
            (0.0, 1.0)
        );
        let (left, right) = (heard(10.0, 6.0, 10.0), heard(10.0, 14.0, 10.0));
        assert!(left.pan < -0.3 && right.pan > 0.3 && left.gain == right.gain && left.gain < 0.8);
        assert!(heard(1.0, 18.0, 10.0).pan < -0.2, "around the world");
    }

    #[test]
    fn a_second_has_so_many_voices_and_they_never_clip() {
        let mut mixer = Mixer::default();
        let mut scene = broadcasts(30);
        let (level, heading) = (Level::FIRST, 0.0);
        scene.effects[29].kind = EffectKind::Death { level, heading };
        let mut mix = |scene: &Scene, ms| {
            let now = RealTime::ZERO + RealSpan::from_millis(ms);
            mixer.mix(scene, &listener(10.0), now).0.to_vec()
        };
        let first = mix(&scene, 0);
        assert_eq!((first.len(), first[0].tone), (VOICES_PER_SECOND_MAX, Tone::Death));
        let gain: f32 = first.iter().map(|voice| voice.gain).sum::<f32>() + LOOP_GAIN * LOOPS_MAX as f32;
        assert!(
            gain * PEAK * std::f32::consts::SQRT_2 < 1.0,
            "from one side it is twice as strong"
        );
        assert!(mix(&scene, 999).is_empty());
        assert_eq!(mix(&scene, 1_000).len(), VOICES_PER_SECOND_MAX);
        scene.effects.iter_mut().for_each(|effect| effect.age_units = 1.5);
        assert!(
            mix(&scene, 3_000).is_empty(),
            "what is older than the scene before"
        );
    }

    #[test]
    fn a_ritual_swells_and_keeps_its_loop() {
        let mut mixer = Mixer::default();
        let mut gains = |tiles: &[u16], progress, paused| {
            let mut scene = broadcasts(0);
            scene.clock.paused = paused;
            scene.rituals = tiles
                .iter()
                .map(|&x| SceneRitual {
                    tile: Tile { x, y: 10 },
                    level: Level::FIRST,
                    progress,
                    remaining_units: 10.0,
                    participants: Span::default(),
                })
                .collect();
            let (_, loops) = mixer.mix(&scene, &listener(10.0), RealTime::ZERO);
            loops.map(|voice| voice.map_or(0.0, |voice| voice.gain))
        };
        let (begin, end) = (gains(&[18], 0.0, false)[0], gains(&[18], 1.0, false)[0]);
        assert!(0.0 < begin && begin < end);
        assert_eq!(
            gains(&[18, 10, 9, 11], 1.0, false)[0],
            end,
            "though others are nearer"
        );
        assert_eq!(gains(&[18, 10], 1.0, true), [0.0; LOOPS_MAX], "a pause is silent");
    }
    #[test]
    fn a_win_is_heard_once_by_viewers_who_saw_it_happen() {
        let mut mixer = Mixer::default();
        let mut count = |winner| {
            let mut scene = Scene::default();
            crate::demo::Demo::new(crate::demo::DemoScene::Overview).scene(0.0, &mut scene);
            scene.effects.clear();
            scene.winner = winner;
            mixer.mix(&scene, &listener(10.0), RealTime::ZERO).0.len()
        };
        let won = Some(TeamId(1));
        assert_eq!([won, None, won, won].map(&mut count), [0, 0, 1, 0]);
    }
}
