//! The viewer's state between a source of scenes and a picture, without a window: camera, selection, panels, settings.
//!
//! The window and the screenshot drive the same state, so that a picture in a file is the picture on a screen.

mod acts;
pub mod director;
pub mod hud;
mod motion;
mod pointer;

use std::collections::{BTreeMap, VecDeque};

use glam::Vec2;
use trantor_client::{FeedEntry, Scene};
use trantor_model::MapSize;
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::demo::{Demo, DemoScene};
use crate::figures::Figures;
use crate::film;
use crate::input::{Action, Bindings};
use crate::intent::{Intent, Selection};
use crate::settings::Settings;
use crate::source::{self, Repeat, Source};
use crate::state::director::Director;
use crate::state::hud::{EventFeed, FrameFigures, Hud};
use crate::trails::Trails;
use trantor_render::picture::camera::Camera;
use trantor_render::picture::compose::{Detail, Marks};
use trantor_render::picture::draw_list::FrameLook;
use trantor_render::picture::ground::{GroundPaint, PaintMode};
use trantor_render::picture::palette::{Mood, Theme};
use trantor_render::picture::{CameraPose, Compose, DrawList, Options};

pub use pointer::Pointer;

/// Shown once there is a world, at the first start.
const FIRST_STEPS: &str = "Tab selects an agent, Space pauses, + and - change the speed, H shows all keys.";

/// Requests to the program around it that may wait; a person asks for one thing at a time.
const HOST_REQUESTS_MAX: usize = 16;

/// A map, the picture's shape and the size of the panels, which leave a part of it free.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Framed {
    map: MapSize,
    pixels: (u32, u32),
    points: egui::Vec2,
    scale: f32,
}

#[derive(Debug)]
pub struct ViewerState {
    pub(crate) source: Box<dyn Source>,
    pub(crate) scene: Scene,
    pub(crate) hud: Hud,
    pub(crate) camera: Camera,
    /// What the camera was set up for.
    framed: Option<Framed>,
    /// Whether the user asked for the whole map; a demo begins where there is most to be seen.
    wants_whole: bool,
    /// Whether the camera was moved since it was set up, so that a new shape of the picture leaves it where it is.
    moved: bool,
    /// Whether a drag, the wheel or a key moved the camera in this match: the next match then begins with that view.
    moved_by_hand: bool,
    held: Vec<Action>,
    pub director: Director,
    pub(crate) composer: Compose,
    list: DrawList,
    /// What was composed before that.
    list_before: DrawList,
    pub(crate) paint: GroundPaint,
    pub(crate) paint_mode: PaintMode,
    marks: Marks,
    trails: Trails,
    shows_trails: bool,
    pub(crate) selection: Selection,
    pub(crate) follows: bool,
    /// Saved from one start to the next. The view is the user's last choice; flights to an agent or an event leave it.
    pub settings: Settings,
    pub(crate) bindings: Bindings,
    /// Whether the light stands still instead of drifting with game time.
    pub light_stands: bool,
    /// Largest size of a recording of the window.
    pub film_bytes_max: u64,
    /// How much detail the graphics adapter affords.
    pub detail: Detail,
    host_requests: VecDeque<Intent>,
    pixels: (u32, u32),
    points: egui::Vec2,
    pub frames: FrameFigures,
    /// The map whose events and scores are kept.
    known: Option<MapSize>,
    was_won: bool,
    /// Matches that were shown before this one; each has another ground.
    pub(crate) matches_before: usize,
    /// The view before the camera went to the winners, and whether the user had moved it.
    before_victory: Option<(CameraPose, bool)>,
    /// How far the camera went aside for the story, so that the winners are beside it.
    beside_story: Option<Vec2>,
    /// The span of a recording that is repeated.
    pub(crate) repeat: Repeat,
    /// When the event was listed that keys went to last.
    event_visited: Option<i128>,
    last_shown: GameTime,
    /// From the scene before the last one to that, in real time.
    elapsed_seconds: f32,
}

impl ViewerState {
    /// A synthetic scene with the settings of a first start, for tests and benches.
    pub fn demo(which: DemoScene) -> Self {
        Self::new(source::demo(Demo::new(which)), Settings::default())
    }

    pub fn new(source: Box<dyn Source>, mut settings: Settings) -> Self {
        let mut hud = Hud::new();
        hud.scale = settings.scale.unwrap_or(1.0);
        if let Some(mistake) = settings.mistake.take() {
            log::warn!("{mistake}");
            hud.notice(mistake);
        }
        Self {
            source,
            scene: Scene::default(),
            hud,
            camera: Camera::new(CameraPose {
                target: Vec2::ZERO,
                distance: 10.0,
                yaw: 0.0,
                pitch: 0.9,
            }),
            framed: None,
            wants_whole: false,
            moved: false,
            moved_by_hand: false,
            held: Vec::new(),
            director: Director::default(),
            composer: Compose::default(),
            list: DrawList::default(),
            list_before: DrawList::default(),
            paint: GroundPaint::default(),
            paint_mode: PaintMode::default(),
            marks: Marks::default(),
            trails: Trails::default(),
            shows_trails: false,
            selection: Selection::None,
            follows: false,
            bindings: Bindings::with(&settings.keys),
            settings,
            light_stands: false,
            film_bytes_max: u64::from(film::MEGABYTES) * film::MEGABYTE,
            detail: Detail::FINE,
            host_requests: VecDeque::new(),
            pixels: (1, 1),
            points: egui::vec2(1.0, 1.0),
            frames: FrameFigures::default(),
            known: None,
            was_won: false,
            matches_before: 0,
            before_victory: None,
            beside_story: None,
            event_visited: None,
            repeat: Repeat::default(),
            last_shown: GameTime::ZERO,
            elapsed_seconds: 0.0,
        }
    }

    pub fn source(&mut self) -> &mut dyn Source {
        &mut *self.source
    }

    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// What is shown, and what happened in words.
    pub fn scene_and_feed(&self) -> (&Scene, &EventFeed) {
        (&self.scene, &self.hud.feed)
    }

    pub fn selection(&self) -> Selection {
        self.selection
    }

    pub fn hud(&mut self) -> &mut Hud {
        &mut self.hud
    }

    pub fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    pub fn theme(&self) -> Theme {
        self.settings.theme.unwrap_or_default()
    }

    /// The oldest request that only the program around it can carry out.
    pub fn poll_host_request(&mut self) -> Option<Intent> {
        self.host_requests.pop_front()
    }

    /// Queues a request to the program around it.
    pub fn ask_host(&mut self, what: Intent) {
        if self.host_requests.len() < HOST_REQUESTS_MAX {
            self.host_requests.push_back(what);
        }
    }

    /// Changes and saves which keys actions have.
    pub fn bind(&mut self, keys: BTreeMap<Action, Vec<String>>) {
        self.bindings = Bindings::with(&keys);
        self.settings.keys = keys;
        self.settings.save();
    }

    pub fn notice(&mut self, text: String) {
        self.hud.notice(text);
    }

    /// Follows the window's size, in pixels and in points of the display.
    pub fn resize(&mut self, pixels: (u32, u32), points: egui::Vec2) {
        self.pixels = (pixels.0.max(1), pixels.1.max(1));
        self.points = points;
    }

    /// Pixels of a point of the display: 2 on those of high density.
    pub fn pixels_per_point(&self) -> f32 {
        self.pixels.0 as f32 / self.points.x.max(1.0)
    }

    /// Brings everything to `now`; `elapsed` since the last time, `None` the first.
    ///
    /// What a loop does in systems of their own, for those who have none.
    pub fn update(&mut self, elapsed: Option<RealSpan>, now: RealTime) {
        self.source.tend(now);
        self.interpolate(elapsed.unwrap_or(RealSpan::ZERO), now);
        self.follow_world();
    }

    /// Takes over events, notices and scores that came since the last time.
    pub fn follow_world(&mut self) {
        let shown = self.scene.clock.game;
        let size = self.scene.ground.as_ref().map(|ground| ground.size);
        // A match that has a winner goes on as another one only.
        let is_other_match = self.was_won && self.scene.winner.is_none() && shown >= self.last_shown;
        match (self.was_won, self.scene.winner.is_some()) {
            (false, true) => self.visit_winners(),
            (true, false) => _ = self.leave_winners(),
            _ => {}
        }
        self.was_won = self.scene.winner.is_some();
        if is_other_match || size.is_some() && self.known != size {
            self.forget_world();
            self.known = size;
        }
        if shown < self.last_shown {
            self.hud.rewind(shown);
        }
        self.last_shown = shown;
        let scores = self.source.take_scores();
        let entries: Vec<FeedEntry> = std::iter::from_fn(|| self.source.poll_feed()).collect();
        if let Some(scores) = scores {
            self.hud.begin_with(scores, &self.scene.teams, &entries);
        }
        for entry in &entries {
            self.hud.add_event(entry, &self.scene);
        }
        while let Some(notice) = self.source.poll_notice() {
            self.hud.notice(notice);
        }
        self.hud.sample(self.source.take_steps(), &self.scene);
    }

    /// Forgets the world before: an agent's number now means another agent.
    fn forget_world(&mut self) {
        self.hud.reset_match(&self.scene.teams);
        self.event_visited = None;
        self.trails.clear();
        self.select(Selection::None);
        if self.known.is_some() {
            self.matches_before += 1;
            self.begin_match_view();
        }
    }

    /// Brings the scene, the ground's colours and the camera to `now`.
    pub fn interpolate(&mut self, elapsed: RealSpan, now: RealTime) {
        self.elapsed_seconds = elapsed.as_secs_f64() as f32;
        self.source.scene(now, &mut self.scene);
        self.hud.follow_story(&self.scene, now);
        self.make_room_for_story();
        // Before, the scene may be the one from which a jump that is over has led back.
        self.repeat_recording(now);
        if self.source.take_new_world() {
            self.hud.forget_commands();
            self.trails.clear();
        }
        if self.source.take_other_run() {
            self.forget_world();
        }
        let Some(ground) = &self.scene.ground else { return };
        if std::mem::take(&mut self.settings.is_first_start) {
            self.hud.notice(FIRST_STEPS.to_owned());
        }
        let size = ground.size;
        self.paint.update(ground, self.paint_mode);
        self.paint.follow_agents(size, &self.scene);
        if self.shows_trails || self.follows {
            self.trails.follow(&self.scene, self.selection.agent());
        }
        self.frame_map(size);
        let seconds = self.elapsed_seconds;
        self.move_by_keys(seconds);
        self.follow();
        self.advance_camera(seconds);
    }

    /// Hides the pause until the next scene: a film pauses the game for each picture, and shows it running.
    pub fn show_as_running(&mut self, frequency: u32) {
        self.scene.clock.paused = false;
        self.scene.clock.frequency = frequency;
    }

    /// Lays out the panels and does what they ask for.
    pub fn panels(&mut self, context: &egui::Context, figures: &Figures, now: RealTime) {
        let mut hud = std::mem::take(&mut self.hud);
        let intents = hud.show(context, self, figures, now);
        self.hud = hud;
        for intent in intents {
            if let Err(why) = self.intend(intent, now) {
                self.hud.notice(why);
            }
        }
    }
}

/// From a scene to what is drawn of it: the lists, and the ground's paint.
impl ViewerState {
    pub fn compose(&mut self) {
        self.marks.agent = self.selection.agent();
        self.marks.tile = match self.selection {
            Selection::Tile(tile) => Some(tile),
            _ => None,
        };
        let only = if self.shows_trails { None } else { self.followed() };
        if self.shows_trails || only.is_some() {
            self.trails.points(&self.scene, only, &mut self.marks.trail);
        } else {
            self.marks.trail.clear();
        }
        let options = Options {
            pixels: self.pixels,
            mood: Mood::at(self.theme(), self.hour()).on_ground_of(self.matches_before),
            paint_everywhere: self.paint_mode != PaintMode::Mixture,
            middle: self.window_middle(),
            detail: self.detail,
            elapsed_seconds: self.elapsed_seconds,
        };
        std::mem::swap(&mut self.list, &mut self.list_before);
        self.composer.compose(
            &self.scene,
            &self.camera.pose,
            &options,
            &self.marks,
            &mut self.list,
        );
    }

    /// Whether what was composed last looks as what was composed before it, and nothing of its ground is left to be
    /// given to the graphics card. Figures of the crowd from afar are not looked at: they follow the agents later.
    pub fn is_as_before(&self) -> bool {
        let is_painted = |look: &FrameLook| !look.paint_shows || self.paint.is_settled();
        self.list == self.list_before && self.list.frame.as_ref().is_none_or(is_painted)
    }

    /// The part of a day that has passed, in small steps: a renderer that keeps the background redraws it for each.
    fn hour(&self) -> f32 {
        /// Units of a day: a match of usual length.
        const DAY_UNITS: i128 = 4_800;
        const STEPS: i128 = 240;
        if self.light_stands {
            return 0.0;
        }
        let passed = self.scene.clock.game.whole_units().rem_euclid(DAY_UNITS);
        (passed * STEPS / DAY_UNITS) as f32 / STEPS as f32
    }

    /// What was composed last, and the ground's paint that belongs to it.
    pub fn drawing(&mut self) -> (&DrawList, &mut GroundPaint) {
        (&self.list, &mut self.paint)
    }

    /// Brings the ground's paint up to date at once, for a picture that stays; otherwise it takes some frames.
    pub fn finish_paint(&mut self) {
        self.paint.finish(&self.scene);
    }

    pub fn instances(&self) -> usize {
        self.list.instances()
    }
}

#[cfg(test)]
mod tests;
