//! Which tones a scene begins, how loud and from where: pure, with neither samples nor a device.
//!
//! What began is known by game time, so a pause is silent by itself. The faster the game, the more begins in a second
//! of real time: of that only [`VOICES_PER_SECOND_MAX`] are heard, the most important and nearest, each softer the more
//! there are.

use std::collections::VecDeque;

use glam::Vec2;
use trantor_client::{EffectKind, Scene, SceneEffect, SceneRitual};
use trantor_model::{TeamId, Tile};
use trantor_render::picture::CameraPose;
use trantor_render::picture::torus::TorusWindow;
use trantor_time::{RealSpan, RealTime};

use super::tones::Tone;

/// Tones that begin within a second at most: a listener cannot distinguish more.
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
    pub tone: Tone,
    /// From -1, left, to 1, right.
    pub pan: f32,
    /// 0 to 1.
    pub gain: f32,
    /// A factor of the tone's own pitch.
    pub pitch: f32,
}

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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix {
    pub voices: Vec<Voice>,
    /// Rituals that hum, by their tiles.
    pub loops: Vec<(Tile, Voice)>,
    pub is_paused: bool,
    /// 0 to 1.
    pub volume: f32,
}

/// Remembers the tones that began, so that none is played twice.
#[derive(Debug, Default)]
pub struct Mixer {
    /// When the tones of the last second began.
    begun: VecDeque<RealTime>,
    winner: Option<TeamId>,
    /// Whether there was a world before: a game that is over at the first scene has no fanfare.
    had_world: bool,
}

impl Mixer {
    /// The tones that begin with `scene`, and how its rituals sound.
    pub fn mix(&mut self, scene: &Scene, listener: &Listener, now: RealTime) -> Mix {
        let mut voices = self.collect(scene, listener);
        let a_second_ago = now - RealSpan::from_secs(1);
        while self.begun.front().is_some_and(|begun| *begun <= a_second_ago) {
            self.begun.pop_front();
        }
        let importance = |voice: &Voice| voice.tone.weight() * voice.gain;
        voices.sort_by(|one, other| importance(other).total_cmp(&importance(one)));
        voices.truncate(VOICES_PER_SECOND_MAX - self.begun.len());
        for voice in &mut voices {
            voice.gain /= 1.0 + self.begun.len() as f32;
            self.begun.push_back(now);
        }
        Mix {
            voices,
            loops: loops(scene, listener),
            is_paused: scene.clock.paused,
            volume: 0.0,
        }
    }

    fn collect(&mut self, scene: &Scene, listener: &Listener) -> Vec<Voice> {
        let new = scene.effects.iter();
        let new = new.filter(|effect| effect.age_units < scene.clock.elapsed_units);
        let voice = |effect: &SceneEffect| {
            let tone = match effect.kind {
                EffectKind::Broadcast { .. } => Tone::Chime,
                EffectKind::Birth => Tone::Hatch,
                EffectKind::Death { .. } => Tone::Death,
                EffectKind::RitualEnded { success: true, .. } => Tone::Risen,
                EffectKind::RitualEnded { success: false, .. } => Tone::Failed,
                _ => return None,
            };
            let pitch = |team: TeamId| TEAM_PITCHES[usize::from(team.0) % TEAM_PITCHES.len()];
            let pitch = effect.agent.map_or(1.0, |(_, team)| pitch(team));
            let voice = listener.hear(tone, pitch, (effect.x, effect.y));
            (voice.gain >= GAIN_LEAST).then_some(voice)
        };
        let mut voices: Vec<Voice> = new.filter_map(voice).collect();
        if scene.winner.is_some() && self.winner != scene.winner && self.had_world {
            voices.push(Voice {
                tone: Tone::Fanfare,
                pan: 0.0,
                gain: 1.0,
                pitch: 1.0,
            });
        }
        self.winner = scene.winner;
        self.had_world = scene.ground.is_some();
        voices
    }
}

/// The nearest rituals, louder and higher with their progress: a hum ends a fifth above its first pitch.
fn loops(scene: &Scene, listener: &Listener) -> Vec<(Tile, Voice)> {
    let hum = |ritual: &SceneRitual| {
        let at = (f32::from(ritual.tile.x), f32::from(ritual.tile.y));
        let voice = listener.hear(Tone::Hum, 1.0 + 0.5 * ritual.progress, at);
        (ritual.tile, voice, ritual.progress)
    };
    let mut loops: Vec<_> = scene.rituals.iter().map(hum).collect();
    loops.sort_by(|(_, one, _), (_, other, _)| other.gain.total_cmp(&one.gain));
    loops.truncate(if scene.clock.paused { 0 } else { LOOPS_MAX });
    let swell = |(tile, mut voice, progress): (Tile, Voice, f32)| {
        voice.gain *= LOOP_GAIN * (0.25 + 0.75 * progress);
        (tile, voice)
    };
    loops.into_iter().map(swell).collect()
}

#[cfg(test)]
mod tests {
    use trantor_client::Span;
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
        let text = Span { first: 0, len: 0 };
        let effect = SceneEffect {
            kind: EffectKind::Broadcast { text, spread: None },
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
        let here = heard(10.0, 10.0, 10.0);
        assert_eq!((here.pan, here.gain), (0.0, 1.0));
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
            mixer.mix(scene, &listener(10.0), now).voices
        };
        let first = mix(&scene, 0);
        assert_eq!((first.len(), first[0].tone), (VOICES_PER_SECOND_MAX, Tone::Death));
        let gain: f32 = first.iter().map(|voice| voice.gain).sum::<f32>() + LOOP_GAIN * LOOPS_MAX as f32;
        let from_one_side = gain * PEAK * std::f32::consts::SQRT_2;
        assert!(from_one_side < 1.0, "{from_one_side}");
        assert!(mix(&scene, 999).is_empty());
        assert_eq!(mix(&scene, 1_000).len(), VOICES_PER_SECOND_MAX);
        scene.effects.iter_mut().for_each(|effect| effect.age_units = 1.5);
        assert_eq!(mix(&scene, 3_000), [], "what is older than the scene before");
    }

    #[test]
    fn the_nearest_rituals_hum_and_swell_except_in_a_pause() {
        let hums = |tiles: &[u16], progress, paused| -> Vec<(u16, f32)> {
            let mut scene = broadcasts(0);
            scene.clock.paused = paused;
            let ritual = |&x: &u16| SceneRitual {
                tile: Tile { x, y: 10 },
                level: Level::FIRST,
                progress,
                remaining_units: 10.0,
                participants: Span::default(),
            };
            scene.rituals = tiles.iter().map(ritual).collect();
            let loops = loops(&scene, &listener(10.0));
            loops.iter().map(|(tile, voice)| (tile.x, voice.gain)).collect()
        };
        let (begin, end) = (hums(&[18], 0.0, false)[0], hums(&[18], 1.0, false)[0]);
        assert!(0.0 < begin.1 && begin.1 < end.1);
        let nearest = hums(&[18, 10, 9, 12], 1.0, false);
        assert!(nearest.iter().map(|(x, _)| *x).eq([10, 9, 12]));
        assert_eq!(hums(&[18, 10], 1.0, true), []);
    }

    #[test]
    fn a_win_is_heard_once_by_viewers_who_saw_it_happen() {
        let mut mixer = Mixer::default();
        let mut count = |winner| {
            let mut scene = Scene::default();
            crate::demo::Demo::new(crate::demo::DemoScene::Overview).scene(0.0, &mut scene);
            scene.effects.clear();
            scene.winner = winner;
            mixer.mix(&scene, &listener(10.0), RealTime::ZERO).voices.len()
        };
        let won = Some(TeamId(1));
        assert_eq!([won, None, won, won].map(&mut count), [0, 0, 1, 0]);
    }
}
