//! The viewer's state between a source of scenes and a picture, without a window: camera, selection, panels, settings.
//!
//! The window and the screenshot drive the same state, so that a picture in a file is the picture on a screen.

mod acts;
pub mod director;
pub mod drawing;
pub mod hud;
pub mod keys;
mod matches;
mod picking;
mod pointer;
mod rig;
mod viewport;
mod winners;

use std::collections::{BTreeMap, VecDeque};

use glam::Vec2;
use trantor_client::{FeedEntry, Scene};
use trantor_model::MapSize;
use trantor_time::{RealSpan, RealTime};

use crate::demo::{Demo, DemoScene};
use crate::figures::Figures;
use crate::input::{Action, Bindings};
use crate::intent::{Intent, Selection};
use crate::settings::Settings;
use crate::source::{self, Repeat, Source};
use crate::state::director::Format;
use crate::state::drawing::Drawing;
use crate::state::hud::{EventFeed, Hud};
use crate::state::keys::Keys;
use crate::state::matches::MatchTracker;
use crate::state::picking::Picking;
use crate::state::rig::{CameraRig, Framed};
use crate::state::viewport::Viewport;
use trantor_render::picture::CameraPose;
use trantor_render::picture::camera::View;
use trantor_render::picture::torus::TorusWindow;

pub use pointer::Pointer;
pub use rig::CameraMove;

/// Shown once there is a world, at the first start.
const FIRST_STEPS: &str = "Tab selects an agent, Space pauses, + and - change the speed, H shows all keys.";

/// Requests to the program around it that may wait; a person asks for one thing at a time.
const HOST_REQUESTS_MAX: usize = 16;

/// Each part has a file of its own; what is here and in `acts` concerns several of them.
#[derive(Debug)]
pub struct ViewerState {
    pub(crate) source: Box<dyn Source>,
    pub(crate) scene: Scene,
    matches: MatchTracker,
    pub(crate) selection: Selection,
    pub(crate) rig: CameraRig,
    pub(crate) viewport: Viewport,
    pub drawing: Drawing,
    pub(crate) hud: Hud,
    pub(crate) keys: Keys,
    /// Saved from one start to the next. The view is the user's last choice; flights to an agent or an event leave it.
    pub settings: Settings,
    /// The span of a recording that is repeated.
    pub(crate) repeat: Repeat,
    host_requests: VecDeque<Intent>,
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
            matches: MatchTracker::default(),
            selection: Selection::None,
            rig: CameraRig::default(),
            viewport: Viewport::new((1, 1), egui::vec2(1.0, 1.0)),
            drawing: Drawing::default(),
            hud,
            keys: Keys::new(Bindings::with(&settings.keys)),
            settings,
            repeat: Repeat::default(),
            host_requests: VecDeque::new(),
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
        self.keys.bindings = Bindings::with(&keys);
        self.settings.keys = keys;
        self.settings.save();
    }

    pub fn notice(&mut self, text: String) {
        self.hud.notice(text);
    }

    /// Follows the window's size, in pixels and in points of the display.
    pub fn resize(&mut self, pixels: (u32, u32), points: egui::Vec2) {
        self.viewport = Viewport::new(pixels, points);
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
        let change = self.matches.follow(&self.scene);
        match change.is_won {
            Some(true) => self.rig.visit_winners(&self.scene),
            Some(false) => _ = self.rig.leave_winners(),
            None => {}
        }
        if change.is_other_match {
            self.forget_world();
            self.matches.begin(&self.scene);
        }
        if change.is_earlier {
            self.hud.rewind(self.scene.clock.game);
        }
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
        self.drawing.clear_trails();
        self.select(Selection::None);
        if self.matches.finish() {
            self.rig.begin_match(self.settings.view, &self.scene);
        }
    }

    /// Brings the scene, the ground's colours and the camera to `now`.
    pub fn interpolate(&mut self, elapsed: RealSpan, now: RealTime) {
        let seconds = elapsed.as_secs_f64() as f32;
        self.drawing.advance(seconds);
        self.source.scene(now, &mut self.scene);
        self.hud.follow_story(&self.scene, now);
        let (is_open, clear) = (self.hud.tells_story(), self.clear_part());
        self.rig.make_room_for_story(is_open, clear, &self.viewport);
        // Before, the scene may be the one from which a jump that is over has led back.
        self.repeat_recording(now);
        if self.source.take_new_world() {
            self.hud.forget_commands();
            self.drawing.clear_trails();
        }
        if self.source.take_other_run() {
            self.forget_world();
        }
        let Some(ground) = &self.scene.ground else { return };
        if std::mem::take(&mut self.settings.is_first_start) {
            self.hud.notice(FIRST_STEPS.to_owned());
        }
        let size = ground.size;
        self.drawing
            .follow(&self.scene, self.selection.agent(), self.rig.follows);
        self.frame_map(size);
        let held = self.keys.held();
        if !held.is_empty() {
            self.rig.move_by_keys(held, seconds, &self.scene);
            self.keep_view_of_hand();
        }
        self.rig.follow(self.selection, &self.scene);
        self.advance_camera(seconds);
    }

    /// Sets the camera up where the map or the room for it is new: the view that was saved is for the first map alone.
    fn frame_map(&mut self, size: MapSize) {
        let framed = Framed {
            map: size,
            viewport: self.viewport,
            scale: self.hud.zoom(self.viewport.points),
        };
        if !self.rig.needs_framing(&framed) {
            return;
        }
        let is_first = !self.rig.is_framed() && self.matches.is_first();
        let saved = self.settings.view.filter(|_| is_first);
        let saved = saved.and_then(|view| view.pose_over(size));
        let (aspect, clear) = (self.viewport.aspect(), self.clear_part());
        let pose = match (saved, self.source.as_demo()) {
            (Some(pose), _) => pose,
            (None, Some(demo)) if !self.rig.wants_whole() => demo.camera(aspect, clear),
            (None, _) => {
                let sides = Vec2::new(f32::from(size.width()), f32::from(size.height()));
                CameraPose::overview(sides, aspect, clear)
            }
        };
        self.rig.frame(framed, pose, saved.is_some());
        // The first sight of a map is not a flight over it; a key that asks for it is.
        if self.drawing.is_empty() {
            self.rig.camera.pose = pose;
        }
    }

    /// Moves the camera for so many seconds: the director, where it has it, or on to where it was sent.
    pub(crate) fn advance_camera(&mut self, seconds: f32) {
        let format = Format {
            aspect: self.viewport.aspect(),
            clear: self.clear_part(),
        };
        self.rig.advance(&self.scene, self.selection, format, seconds);
    }

    /// The part of the picture that no panel covers.
    fn clear_part(&self) -> (Vec2, Vec2) {
        let has_timeline = self.source.recording().is_some();
        let teams = self.scene.teams.len();
        self.hud.clear_part(self.viewport.points, has_timeline, teams)
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

    pub fn compose(&mut self) {
        let look = (self.settings.shown_theme(), self.matches.before());
        self.drawing
            .compose(&self.scene, &self.rig, self.selection, &self.viewport, look);
    }

    /// Brings the ground's paint up to date at once, for a picture that stays; otherwise it takes some frames.
    pub fn finish_paint(&mut self) {
        self.drawing.paint.finish(&self.scene);
    }
}

/// The pointer over the picture.
impl ViewerState {
    /// Moves the camera by the hand.
    pub fn move_camera(&mut self, by: CameraMove) {
        if self.rig.move_by(by, &self.scene, &self.viewport) {
            self.keep_view_of_hand();
        }
    }

    fn keep_view_of_hand(&mut self) {
        if let Some(view) = self.rig.take_view_of_hand(&self.scene) {
            self.settings.view = Some(view);
        }
    }

    /// The eye of the last frame, and the part of the plane that it shows.
    pub(crate) fn view(&self) -> Option<(View, TorusWindow)> {
        self.rig.view(&self.scene, &self.viewport)
    }

    fn picking(&self) -> Option<Picking<'_>> {
        let (view, window) = self.view()?;
        Some(Picking {
            scene: &self.scene,
            view,
            window,
            places: self.drawing.places(),
            viewport: self.viewport,
        })
    }

    /// The pointer is at a point of the picture, in pixels; `None` when it is elsewhere.
    pub fn hover(&mut self, at: Option<Vec2>) {
        let tile = at.and_then(|at| self.picking()?.tile_at(at));
        self.drawing.hover(tile);
    }

    /// Selects what is under a point of the picture, in pixels.
    pub fn click(&mut self, at: Vec2) {
        let picking = self.picking();
        let selection = picking.map_or(Selection::None, |picking| picking.selection_at(at));
        // A second click on the same tile clears the selection.
        let again = selection == self.selection && matches!(selection, Selection::Tile(_));
        self.select(if again { Selection::None } else { selection });
    }
}

#[cfg(test)]
mod tests;
