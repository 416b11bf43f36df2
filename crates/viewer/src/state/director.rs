//! The director: where the camera looks while no hand moves it.
//!
//! It reads scenes and elapsed real time, and answers poses; it knows no panels, no source and no clock. The whole board is
//! the usual shot. Where elevations begin it goes near, and stays until they have ended:
//!
//! ```text
//! elevations of a scene ─> those that matter ─> shot, kept while its elevations last ─> pose: glide or cut
//! ```
//!
//! For a film of a recording, whose future is known, [`highlights`] picks the best moments.

use std::f32::consts::{PI, TAU};

use glam::{Vec2, Vec3};
use trantor_client::{EffectKind, Scene};
use trantor_model::{Level, Mark, MarkKind};
use trantor_render::picture::CameraPose;

/// The hand rests after so many seconds without any input.
const IDLE_SECONDS: f32 = 20.0;
/// Above this speed, in units a second, an elevation lasts half a second: only the whole board can be followed.
const FREQUENCY_MAX: u32 = 500;
/// From a change of shot to the next, in seconds: faster changes cannot be followed.
const SHOT_SECONDS_LEAST: f32 = 3.0;
/// How long a place is shown after the end of an elevation, in seconds: what became of it is what was waited for.
const AFTERMATH_SECONDS: f32 = 1.2;
/// Left until an end for which the camera is in time, in seconds.
const IN_TIME_SECONDS: f32 = 1.8;
/// How long the camera takes from one shot to the next where it does not cut, in seconds.
const GLIDE_SECONDS: f32 = 1.6;
/// Ground around the elevations of a shot, in tiles.
const ROOM_TILES: f32 = 3.5;
/// A shot from further than this part of the whole board's distance shows no more than that.
const NEAR_SHARE: f32 = 0.8;
/// Places further apart than so many distances of the camera are joined by a cut: a glide would show bare ground.
const CUT_DISTANCES: f32 = 0.8;
/// Part of the distance, and radians, that a near shot comes nearer and goes around in a second, and the most of both.
const CREEP: (f32, f32) = (0.02, 0.16);
const ORBIT: (f32, f32) = (0.03, 0.3);

/// The picture that is composed for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Width by height.
    pub aspect: f32,
    /// The part that no panel covers: least and most, from 0 to 1.
    pub clear: (Vec2, Vec2),
}

/// The elevations that a shot shows; none for the whole board.
type Subject = Vec<Vec2>;

#[derive(Clone, Debug)]
struct Shot {
    subject: Subject,
    format: Format,
    pose: CameraPose,
    /// Where the glide into it began; `None` after a cut.
    from: Option<CameraPose>,
    seconds: f32,
}

/// The camera's director, and whether it has the camera.
#[derive(Clone, Debug, Default)]
pub struct Director {
    /// Whether it begins where no hand was seen for a while, unless it was switched off.
    pub starts_when_idle: bool,
    /// What it was switched to, if it was.
    switched: Option<bool>,
    has_camera: bool,
    idle_seconds: f32,
    shot: Option<Shot>,
}

impl Director {
    pub fn has_camera(&self) -> bool {
        self.has_camera
    }

    /// Gives it the camera, also after the hand had it; or takes it away for good.
    pub fn switch(&mut self, is_on: bool) {
        (self.switched, self.has_camera) = (Some(is_on), is_on);
        self.shot = None;
    }

    /// A hand did something else than to move the camera.
    pub fn note_input(&mut self) {
        self.idle_seconds = 0.0;
    }

    /// The hand moves the camera, which is the hand's until it rests.
    pub fn yield_camera(&mut self) {
        (self.has_camera, self.idle_seconds) = (false, 0.0);
    }

    /// Takes the camera if the hand rested long enough.
    pub fn wait(&mut self, seconds: f32) {
        self.idle_seconds += seconds;
        let is_asked = self.switched.unwrap_or(self.starts_when_idle);
        if is_asked && !self.has_camera && self.idle_seconds >= IDLE_SECONDS {
            (self.has_camera, self.shot) = (true, None);
        }
    }

    /// Where the camera stands for `scene`, `seconds` after the last call; `camera` is where it stood. `None` without a map.
    pub fn direct(
        &mut self,
        scene: &Scene,
        format: Format,
        camera: CameraPose,
        seconds: f32,
    ) -> Option<CameraPose> {
        let size = scene.ground.as_ref()?.size;
        let sides = Vec2::new(f32::from(size.width()), f32::from(size.height()));
        let choice = choose(scene);
        let Some(shot) = self.shot.as_mut().filter(|shot| shot.format == format) else {
            self.shot = Some(Shot::new(choice, sides, format, camera));
            return self.shot.as_ref().map(Shot::pose);
        };
        shot.seconds += seconds;
        let is_young = shot.seconds < SHOT_SECONDS_LEAST;
        let is_near = !shot.subject.is_empty() && !choice.is_empty();
        let is_kept = (is_young || is_near) && choice.iter().all(|place| shot.shows(*place));
        if shot.subject != choice && !is_kept {
            let mut subject = choice;
            if is_young {
                // No cut yet: what is shown stays in the picture, and the camera draws back.
                let shown = std::mem::take(&mut shot.subject);
                subject.extend(shown.into_iter().filter(|place| is_under_way(scene, *place)));
            }
            *shot = Shot::new(subject, sides, format, camera);
        }
        Some(shot.pose())
    }
}

impl Shot {
    fn new(subject: Subject, sides: Vec2, format: Format, mut camera: CameraPose) -> Self {
        let frame = |middle, sides| CameraPose::framing(middle, sides, format.aspect, format.clear);
        let board = frame(sides / 2.0 - 0.5, sides);
        let least = subject.iter().copied().reduce(Vec2::min);
        let most = subject.iter().copied().reduce(Vec2::max);
        let near = least
            .zip(most)
            .map(|(least, most)| frame((least + most) / 2.0, most - least + ROOM_TILES * 2.0))
            .filter(|pose| pose.distance < board.distance * NEAR_SHARE);
        let pose = near.unwrap_or(board);
        // A hand may have gone round many times.
        camera.yaw = (camera.yaw + PI).rem_euclid(TAU) - PI;
        // Straight on over the map as it is numbered: no way leads across the seam.
        let distance = camera.distance.max(pose.distance);
        let is_near = camera.target.distance(pose.target) < distance * CUT_DISTANCES;
        Self {
            subject: if near.is_some() { subject } else { Vec::new() },
            format,
            pose,
            from: is_near.then_some(camera),
            seconds: 0.0,
        }
    }

    /// Whether a place is in the picture once the camera has arrived.
    fn shows(&self, place: Vec2) -> bool {
        let view = self.pose.view((self.format.aspect * 1000.0) as u32, 1000);
        let at = view.project(Vec3::new(place.x, 0.0, place.y));
        let (least, most) = self.format.clear;
        at.is_some_and(|at| at.cmpge(least).all() && at.cmple(most).all())
    }

    fn pose(&self) -> CameraPose {
        let mut pose = self.pose;
        if !self.subject.is_empty() {
            pose.distance *= 1.0 - (CREEP.0 * self.seconds).min(CREEP.1);
            pose.yaw += (ORBIT.0 * self.seconds).min(ORBIT.1);
        }
        let Some(from) = self.from else { return pose };
        let part = (self.seconds / GLIDE_SECONDS).min(1.0);
        let part = part * part * (3.0 - 2.0 * part);
        let glide = |from: f32, to: f32| from + (to - from) * part;
        CameraPose {
            target: from.target.lerp(pose.target, part),
            distance: glide(from.distance.ln(), pose.distance.ln()).exp(),
            yaw: glide(from.yaw, pose.yaw),
            pitch: glide(from.pitch, pose.pitch),
        }
    }
}

/// An elevation that runs or has just ended: where, from which level, and seconds until its end, or none.
type Elevation = (Vec2, Level, Option<f32>);

fn elevations(scene: &Scene) -> impl Iterator<Item = Elevation> {
    let seconds = |units: f32| units / scene.clock.frequency.max(1) as f32;
    let running = scene.elevations.iter().map(move |elevation| {
        let place = Vec2::new(f32::from(elevation.tile.x), f32::from(elevation.tile.y));
        (place, elevation.level, Some(seconds(elevation.remaining_units)))
    });
    let ended = scene.effects.iter().filter_map(move |effect| match effect.kind {
        EffectKind::ElevationEnded { level, .. } if seconds(effect.age_units) < AFTERMATH_SECONDS => {
            Some((Vec2::new(effect.x, effect.y), level, None))
        }
        _ => None,
    });
    running
        .chain(ended)
        .filter(|_| scene.clock.frequency <= FREQUENCY_MAX)
}

fn is_under_way(scene: &Scene, place: Vec2) -> bool {
    elevations(scene).any(|(at, ..)| at == place)
}

/// What the elevation from `level` is worth: the last one wins the match.
fn stake(level: Level) -> u32 {
    let level = u32::from(level.get());
    let last = level + 1 == u32::from(Level::LAST.get());
    level * level * if last { 4 } else { 1 }
}

/// Which elevations are to be seen now: of those worth at least half of the greatest the one that ends first, and with it those for
/// whose ends there would be no time afterwards.
fn choose(scene: &Scene) -> Subject {
    let greatest = elevations(scene).map(|(_, level, _)| stake(level)).max();
    let great = || elevations(scene).filter(|(_, level, _)| Some(stake(*level) * 2) >= greatest);
    let places = |is_meant: &dyn Fn(Option<f32>) -> bool| -> Subject {
        let meant = great().filter(|(.., left)| is_meant(*left));
        meant.map(|(place, ..)| place).collect()
    };
    let first = great().filter_map(|(.., left)| left).min_by(f32::total_cmp);
    let ended = places(&|left| left.is_none());
    match first {
        Some(first) if ended.is_empty() || first < IN_TIME_SECONDS => {
            places(&|left| left.is_some_and(|left| left < first + IN_TIME_SECONDS))
        }
        _ => ended,
    }
}

/// Units of a moment of a film before its elevation ends, nearly all of it, and after.
const MOMENT_UNITS: (i64, i64) = (290, 60);
/// Moments of a film at most: ten elevations tell a match, and more are shown for shorter.
const MOMENTS_MAX: usize = 10;

/// The spans of the best moments of a recording, in units and in their order, together at most `units_max` long: the
/// greatest elevations, and of equal ones those that were first.
pub fn highlights(marks: &[Mark], (begin, end): (i64, i64), units_max: i64) -> Vec<(i64, i64)> {
    let mut reached = [false; 9];
    let risen = marks.iter().filter_map(|mark| match mark.kind {
        MarkKind::Rose { level, .. } => {
            let is_first = !std::mem::replace(&mut reached[usize::from(level.get())], true);
            let before = Level::new(level.get() - 1).ok()?;
            Some((
                stake(before) * if is_first { 2 } else { 1 },
                mark.at.whole_units() as i64,
            ))
        }
        _ => None,
    });
    let mut risen: Vec<_> = risen.collect();
    risen.sort_by_key(|&(worth, at)| (std::cmp::Reverse(worth), at));
    let mut spans = Vec::new();
    for (_, at) in risen.into_iter().take(MOMENTS_MAX) {
        let mut longer = spans.clone();
        longer.push(((at - MOMENT_UNITS.0).max(begin), (at + MOMENT_UNITS.1).min(end)));
        longer.sort_unstable();
        longer.dedup_by(|next, last| {
            let is_joined = next.0 <= last.1;
            if is_joined {
                last.1 = last.1.max(next.1);
            }
            is_joined
        });
        if longer.iter().map(|(from, to)| to - from).sum::<i64>() <= units_max {
            spans = longer;
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use trantor_model::TeamId;
    use trantor_time::GameTime;

    use super::*;

    #[test]
    fn a_hand_has_the_camera_until_it_rests_for_twenty_seconds() {
        let mut director = Director {
            starts_when_idle: true,
            ..Director::default()
        };
        director.wait(5.0);
        director.note_input();
        director.wait(19.0);
        assert!(!director.has_camera());
        director.wait(1.0);
        assert!(director.has_camera());
        director.yield_camera();
        director.wait(19.0);
        assert!(!director.has_camera(), "the hand moved the camera");
        director.wait(1.0);
        director.switch(false);
        director.wait(60.0);
        assert!(!director.has_camera(), "it was switched off");
    }

    #[test]
    fn highlights_are_the_greatest_elevations_in_their_order_and_no_longer_than_asked() {
        let rose = |level, units| Mark {
            at: GameTime::from_units(units),
            count: 1,
            kind: MarkKind::Rose {
                team: TeamId(0),
                level: Level::new(level).unwrap(),
            },
        };
        let marks = [
            rose(2, 400),
            rose(2, 500),
            rose(7, 2_000),
            rose(7, 2_100),
            rose(8, 2_900),
        ];
        let spans = |units_max| highlights(&marks, (0, 2_900), units_max);
        assert_eq!(spans(10_000), [(110, 560), (1_710, 2_160), (2_610, 2_900)]);
        assert_eq!(
            spans(700),
            [(1_710, 2_060), (2_610, 2_900)],
            "the first of each level"
        );
    }
}
