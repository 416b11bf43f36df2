//! Everything between a source of scenes and a picture, without a window: camera, selection, panels, paint.
//!
//! The window and the screenshot drive the same stage, so that a picture in a file is the picture on a screen.

mod pointing;

use glam::Vec2;
use trantor_client::{ControlRequest, LinkState, Scene};
use trantor_model::{AgentId, MapSize, Resource};
use trantor_protocol::wire::StepKind;
use trantor_time::{RealSpan, RealTime};

use crate::hud::{FrameFigures, Hud, HudInput, Intent, Selection};
use crate::input::{Action, Bindings};
use crate::options::Theme;
use crate::picture::camera::{Camera, View};
use crate::picture::compose::{Detail, Marks};
use crate::picture::ground::{GroundPaint, PaintMode};
use crate::picture::palette::Mood;
use crate::picture::torus::TorusWindow;
use crate::picture::{CameraPose, Compose, DrawList, Options};
use crate::source::Source;
use crate::trails::Trails;

/// How a stage begins.
#[derive(Clone, Debug, Default)]
pub struct StageOptions {
    /// The light and the panels' colours.
    pub theme: Theme,
    /// Which key does what.
    pub bindings: Bindings,
    /// Whether panels are shown.
    pub panels: bool,
    /// Whether tests read what panels say.
    pub reports: bool,
}

/// What only the program around a stage can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// With or without a frame around the window.
    FullScreen,
    /// The picture into a file.
    Screenshot,
}

/// Everything between a source and a picture.
#[derive(Debug)]
pub struct Stage {
    source: Source,
    scene: Scene,
    hud: Hud,
    camera: Camera,
    /// The map that the camera was set up for, and the picture's shape then.
    framed: Option<(MapSize, (u32, u32))>,
    /// Whether somebody moved the camera, so that it is not to be moved for them.
    moved: bool,
    held: Vec<Action>,
    composer: Compose,
    list: DrawList,
    paint: GroundPaint,
    paint_mode: PaintMode,
    marks: Marks,
    trails: Trails,
    shows_trails: bool,
    selection: Selection,
    follows: bool,
    theme: Theme,
    bindings: Bindings,
    detail: Detail,
    intents: Vec<Intent>,
    outside: Vec<Outside>,
    pixels: (u32, u32),
    points: egui::Vec2,
}

/// Tiles a second that a held key moves the camera, for each tile of distance.
const PAN_PER_SECOND: f32 = 0.75;
/// Radians a second that a held key turns it.
const TURN_PER_SECOND: f32 = 1.5;
/// Factor of the distance that a held key zooms in a second.
const ZOOM_PER_SECOND: f32 = 2.4;

impl Stage {
    /// A stage that shows `source`.
    pub fn new(source: Source, options: StageOptions) -> Self {
        let mut hud = Hud::new(options.reports);
        hud.panels.any = options.panels;
        hud.panels.labels = options.panels;
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
            moved: false,
            held: Vec::new(),
            composer: Compose::default(),
            list: DrawList::default(),
            paint: GroundPaint::default(),
            paint_mode: PaintMode::default(),
            marks: Marks::default(),
            trails: Trails::default(),
            shows_trails: false,
            selection: Selection::None,
            follows: false,
            theme: options.theme,
            bindings: options.bindings,
            detail: Detail::FINE,
            intents: Vec::new(),
            outside: Vec::new(),
            pixels: (1, 1),
            points: egui::vec2(1.0, 1.0),
        }
    }

    /// Where scenes come from.
    pub fn source(&mut self) -> &mut Source {
        &mut self.source
    }

    /// What is shown.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The panels.
    pub fn hud(&mut self) -> &mut Hud {
        &mut self.hud
    }

    /// Which key does what.
    pub fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    /// The light and the panels' colours.
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Says how much detail the graphics adapter affords.
    pub fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
    }

    /// The oldest thing that only the program can do.
    pub fn poll_outside(&mut self) -> Option<Outside> {
        self.outside.pop()
    }

    /// Follows the window's size, in pixels and in points.
    pub fn resize(&mut self, pixels: (u32, u32), points: egui::Vec2) {
        self.pixels = (pixels.0.max(1), pixels.1.max(1));
        self.points = points;
    }

    /// Brings everything to `now`; `elapsed` since the last time, `None` the first (R-002-17).
    pub fn update(&mut self, elapsed: Option<RealSpan>, now: RealTime) {
        let before = self.scene.ground.as_ref().map(|ground| ground.size);
        self.source.tend(now);
        self.source.scene(now, &mut self.scene);
        while let Some(entry) = self.source.poll_feed() {
            self.hud.tell(entry, &self.scene);
        }
        while let Some(notice) = self.source.poll_notice() {
            self.hud.notice(notice, now);
        }
        self.hud.sample(&self.scene);
        let Some(ground) = &self.scene.ground else { return };
        let size = ground.size;
        if before.is_some_and(|before| before != size) {
            self.hud.forget_world();
            self.trails.clear();
        }
        self.paint.update(ground, self.paint_mode);
        if self.shows_trails || self.follows {
            self.trails.follow(&self.scene);
        }
        self.frame_map(size);
        let seconds = elapsed.map_or(0.0, |elapsed| elapsed.as_secs_f64() as f32);
        self.move_by_keys(seconds);
        self.follow();
        self.camera.update(seconds);
    }

    /// Makes the lists to draw.
    pub fn compose(&mut self) {
        self.marks.agent = match self.selection {
            Selection::Agent(id) => Some(id),
            _ => None,
        };
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
            mood: match self.theme {
                Theme::Dark => Mood::dusk(),
                Theme::Light => Mood::day(),
            },
            paint_everywhere: self.paint_mode != PaintMode::Mixture,
            middle: self.window_middle(),
            detail: self.detail,
        };
        self.composer.compose(
            &self.scene,
            &self.camera.pose,
            &options,
            &self.marks,
            &mut self.list,
        );
    }

    /// What was composed last, and the ground's paint that belongs to it.
    pub fn drawing(&mut self) -> (&DrawList, &mut GroundPaint) {
        (&self.list, &mut self.paint)
    }

    /// How many things are drawn.
    pub fn instances(&self) -> usize {
        self.list.instances()
    }

    /// Lays out the panels and does what they ask for.
    pub fn panels(&mut self, context: &egui::Context, frames: FrameFigures, now: RealTime) {
        let stats = self.source.stats(now);
        let view = self.view();
        let mut intents = std::mem::take(&mut self.intents);
        let input = HudInput {
            now,
            scene: &self.scene,
            stats: stats.as_ref(),
            source: self.source.name(),
            frames,
            selection: self.selection,
            follows: self.follows,
            paint_mode: self.paint_mode,
            paint: &self.paint,
            view: view.as_ref().map(|(view, window)| (view, window)),
            bindings: &self.bindings,
            theme: self.theme,
        };
        self.hud.show(context, &input, &mut intents);
        for intent in intents.drain(..) {
            self.intend(intent, now);
        }
        self.intents = intents;
    }

    fn intend(&mut self, intent: Intent, now: RealTime) {
        match intent {
            Intent::Request(request) => self.request(request, now),
            Intent::Select(selection) => self.select(selection),
            Intent::Do(action) => self.act(action, now),
            Intent::LookAt(place) => {
                self.follows = false;
                self.moved = true;
                if let Some(window) = self.window() {
                    let target = self.camera.goal.target;
                    self.camera.goal.target = target + window.shortest(target, place);
                }
            }
            Intent::Paint(mode) => self.paint_mode = mode,
        }
    }

    fn request(&mut self, request: ControlRequest, now: RealTime) {
        if let Err(why) = self.source.request(request, now) {
            self.hud.notice(why, now);
        }
    }

    /// Selects something else.
    pub fn select(&mut self, selection: Selection) {
        if self.selection != selection {
            self.selection = selection;
            self.follows = false;
        }
    }

    /// A key went down or up whose action lasts while it is held.
    pub fn hold(&mut self, action: Action, down: bool) {
        self.held.retain(|held| *held != action);
        if down {
            self.held.push(action);
        }
    }

    /// No key is held any more, as when the window loses the keyboard.
    pub fn release_all(&mut self) {
        self.held.clear();
    }

    /// Does what a key asks for.
    pub fn act(&mut self, action: Action, now: RealTime) {
        let clock = &self.scene.clock;
        let frequency = clock.frequency.max(1);
        match action {
            Action::Pause if clock.paused => self.request(ControlRequest::Resume, now),
            Action::Pause => self.request(ControlRequest::Pause, now),
            Action::StepUnit => self.request(ControlRequest::Step(StepKind::Unit), now),
            Action::StepEvent => self.request(ControlRequest::Step(StepKind::Event), now),
            Action::Faster => self.set_speed(frequency + frequency.div_ceil(2), now),
            Action::Slower => self.set_speed(frequency * 2 / 3, now),
            Action::MuchFaster => self.set_speed(frequency.saturating_mul(10), now),
            Action::MuchSlower => self.set_speed(frequency / 10, now),
            Action::Overview => {
                self.follows = false;
                self.moved = false;
                self.framed = None;
            }
            Action::Follow => {
                self.follows = !self.follows && matches!(self.selection, Selection::Agent(_));
                self.come_home();
            }
            Action::NextAgent => self.next_agent(),
            Action::Clear => {
                if !self.hud.close_top() {
                    self.select(Selection::None);
                }
            }
            Action::Search => self.hud.toggle_search(),
            Action::HeatMap => self.paint_mode = next_heat_map(self.paint_mode),
            Action::Trails => self.shows_trails = !self.shows_trails,
            Action::Labels => self.hud.panels.labels = !self.hud.panels.labels,
            Action::Panels => self.hud.panels.any = !self.hud.panels.any,
            Action::Theme => {
                self.theme = match self.theme {
                    Theme::Dark => Theme::Light,
                    Theme::Light => Theme::Dark,
                };
            }
            Action::Help => self.hud.panels.help = !self.hud.panels.help,
            Action::Debug => self.hud.panels.debug = !self.hud.panels.debug,
            Action::FullScreen => self.outside.push(Outside::FullScreen),
            Action::Screenshot => self.outside.push(Outside::Screenshot),
            Action::PanNorth
            | Action::PanSouth
            | Action::PanWest
            | Action::PanEast
            | Action::TurnLeft
            | Action::TurnRight
            | Action::TiltDown
            | Action::TiltUp
            | Action::ZoomIn
            | Action::ZoomOut => {}
        }
    }

    fn set_speed(&mut self, frequency: u32, now: RealTime) {
        let frequency = frequency.clamp(1, crate::hud::FREQUENCY_MAX);
        self.request(ControlRequest::SetFrequency(frequency), now);
    }

    fn next_agent(&mut self) {
        let after = match self.selection {
            Selection::Agent(id) => id.0.saturating_add(1),
            _ => 0,
        };
        let agents = &self.scene.agents;
        let place = agents.partition_point(|agent| agent.id < AgentId(after));
        if let Some(agent) = agents.get(place).or(agents.first()) {
            let place = Vec2::new(agent.x, agent.y);
            let follows = self.follows;
            self.select(Selection::Agent(agent.id));
            if follows {
                self.follows = true;
            } else if let Some(window) = self.window() {
                self.camera.goal.target += window.shortest(self.camera.goal.target, place);
            }
        }
    }

    fn followed(&self) -> Option<AgentId> {
        match self.selection {
            Selection::Agent(id) if self.follows => Some(id),
            _ => None,
        }
    }

    /// Keeps the camera on the followed agent, over seams and all.
    fn follow(&mut self) {
        let Some(id) = self.followed() else { return };
        let Some(agent) = self.scene.agent(id) else {
            self.follows = false;
            self.come_home();
            return;
        };
        let place = Vec2::new(agent.x, agent.y);
        if let Some(window) = self.window() {
            self.camera.goal.target += window.shortest(self.camera.goal.target, place);
        }
    }

    /// Brings the camera back onto the map as it is numbered, after it may have gone round.
    fn come_home(&mut self) {
        if let Some(window) = self.window()
            && !self.follows
        {
            let target = self.camera.pose.target;
            self.camera.shift(window.home(target) - target);
        }
    }

    /// While an agent is followed, the map shown is the one around it.
    fn window_middle(&self) -> Option<Vec2> {
        self.follows.then_some(self.camera.pose.target)
    }

    fn window(&self) -> Option<TorusWindow> {
        self.scene
            .ground
            .as_ref()
            .map(|ground| TorusWindow::whole(ground.size))
    }

    /// The eye of the last frame, and the part of the plane that it shows.
    fn view(&self) -> Option<(View, TorusWindow)> {
        let window = self.window()?;
        let window = self
            .window_middle()
            .map_or(window, |middle| window.around(middle));
        Some((self.camera.pose.view(self.pixels.0, self.pixels.1), window))
    }

    /// Sets the camera up for a new map, and again for a new shape of the picture as long as nobody moved it.
    fn frame_map(&mut self, size: MapSize) {
        let framed = (size, self.pixels);
        if self.framed == Some(framed) || (self.moved && self.framed.is_some_and(|(of, _)| of == size)) {
            return;
        }
        let first = self.framed.is_none_or(|(of, _)| of != size) && !self.moved;
        let aspect = self.pixels.0 as f32 / self.pixels.1 as f32;
        let pose = match self.source.as_demo() {
            Some(demo) => demo.camera(aspect, self.hud.clear_part(self.points)),
            None => {
                let sides = Vec2::new(f32::from(size.width()), f32::from(size.height()));
                CameraPose::overview(sides, aspect, self.hud.clear_part(self.points))
            }
        };
        self.camera.goal = pose;
        // The first sight of a map is not a flight over it; a key that asks for it is.
        if first && !self.scene_was_seen() {
            self.camera.pose = pose;
        }
        self.framed = Some(framed);
    }

    fn scene_was_seen(&self) -> bool {
        self.list.frame.is_some()
    }

    fn move_by_keys(&mut self, seconds: f32) {
        if self.held.is_empty() {
            return;
        }
        let far = self.camera.goal.distance * PAN_PER_SECOND * seconds;
        let turn = TURN_PER_SECOND * seconds;
        let zoom = ZOOM_PER_SECOND.powf(seconds);
        let side = self.window().map_or(20.0, |window| window.sides().max_element());
        for place in 0..self.held.len() {
            match self.held[place] {
                Action::PanNorth => self.pan(0.0, far),
                Action::PanSouth => self.pan(0.0, -far),
                Action::PanWest => self.pan(-far, 0.0),
                Action::PanEast => self.pan(far, 0.0),
                Action::TurnLeft => self.camera.orbit(-turn, 0.0),
                Action::TurnRight => self.camera.orbit(turn, 0.0),
                Action::TiltDown => self.camera.orbit(0.0, turn * 0.5),
                Action::TiltUp => self.camera.orbit(0.0, -turn * 0.5),
                Action::ZoomIn => self.camera.zoom(1.0 / zoom, side),
                Action::ZoomOut => self.camera.zoom(zoom, side),
                _ => {}
            }
        }
        self.moved = true;
    }

    fn pan(&mut self, right: f32, ahead: f32) {
        self.follows = false;
        self.camera.pan(right, ahead);
        self.keep_on_map();
    }

    /// Does not let the camera leave the map.
    fn keep_on_map(&mut self) {
        if let Some(window) = self.window() {
            let (least, most) = (window.middle - window.half, window.middle + window.half);
            self.camera.goal.target = self.camera.goal.target.clamp(least, most);
        }
    }

    /// How the connection stands.
    pub fn link(&self) -> &LinkState {
        &self.scene.link
    }
}

/// None, then one for each resource, then none.
fn next_heat_map(mode: PaintMode) -> PaintMode {
    match mode {
        PaintMode::Mixture => PaintMode::Heat(Resource::Food),
        PaintMode::Heat(resource) => {
            Resource::from_index(resource.index() + 1).map_or(PaintMode::Mixture, PaintMode::Heat)
        }
    }
}

#[cfg(test)]
mod tests;
