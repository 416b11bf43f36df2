//! The camera rig: the camera over the map, and what moves it: the hand, held keys, the director, the agent that is
//! followed, and the end of a match.
//!
//! The rig knows scenes and the size of the picture, but no panels, no source and no settings: the part that panels leave
//! free, and the view with which a map begins, come from [`super::ViewerState`].

use glam::Vec2;
use trantor_client::Scene;
use trantor_model::{AgentId, MapSize};

use super::director::{Director, Format};
use super::viewport::Viewport;
use super::winners::{self, WinnersView};
use crate::input::Action;
use crate::intent::Selection;
use crate::settings::SavedView;
use trantor_render::picture::CameraPose;
use trantor_render::picture::camera::{Camera, View};
use trantor_render::picture::torus::TorusWindow;

/// Tiles a second that a held key moves the camera, for each tile of distance.
const PAN_PER_SECOND: f32 = 0.75;
/// Radians a second that a held key turns it.
const TURN_PER_SECOND: f32 = 1.5;
/// Factor of the distance that a held key zooms in a second.
const ZOOM_PER_SECOND: f32 = 2.4;

/// Radians for a drag across the whole height of the picture.
const TURN_PER_HEIGHT: f32 = 3.2;
/// Factor of the distance for one notch of a wheel.
const ZOOM_PER_NOTCH: f32 = 0.86;

/// An agent is visible where a tile is so many pixels high; from further away the camera comes near enough for the second
/// height.
const SEEN_PIXELS: f32 = 16.0;
const NEAR_PIXELS: f32 = 32.0;

/// A map, the picture's shape and the size of the panels, which leave a part of it free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Framed {
    pub map: MapSize,
    pub viewport: Viewport,
    pub scale: f32,
}

/// A movement of the camera by the hand. Points of the picture are in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CameraMove {
    /// The board is dragged from one point of the picture to another.
    Drag(Vec2, Vec2),
    /// Turned and tilted by a movement of the pointer.
    Turn(Vec2),
    /// Turned by an angle in radians, as fingers on a touchpad do.
    Rotate(f32),
    /// Zoomed by notches of a wheel (away from the user is nearer); what is under `at` stays there.
    Zoom { notches: f32, at: Vec2 },
}

#[derive(Debug)]
pub struct CameraRig {
    pub camera: Camera,
    pub director: Director,
    /// Whether the camera follows the selected agent.
    pub follows: bool,
    /// What the camera was set up for.
    framed: Option<Framed>,
    /// Whether the user asked for the whole map; a demo begins where there is most to be seen.
    wants_whole: bool,
    /// Whether the camera was moved since it was set up, so that a new shape of the picture leaves it where it is.
    moved: bool,
    /// Whether a drag, the wheel or a key moved the camera in this match: the next match then begins with that view.
    moved_by_hand: bool,
    winners: WinnersView,
}

impl Default for CameraRig {
    fn default() -> Self {
        Self {
            camera: Camera::new(CameraPose {
                target: Vec2::ZERO,
                distance: 10.0,
                yaw: 0.0,
                pitch: 0.9,
            }),
            director: Director::default(),
            follows: false,
            framed: None,
            wants_whole: false,
            moved: false,
            moved_by_hand: false,
            winners: WinnersView::default(),
        }
    }
}

/// The map of a scene as it is numbered.
pub(super) fn whole_map(scene: &Scene) -> Option<TorusWindow> {
    let ground = scene.ground.as_ref()?;
    Some(TorusWindow::whole(ground.size))
}

/// What is seen.
impl CameraRig {
    pub(super) fn followed(&self, selection: Selection) -> Option<AgentId> {
        selection.agent().filter(|_| self.follows)
    }

    /// While an agent is followed, the map shown is the one around it.
    pub(super) fn window_middle(&self) -> Option<Vec2> {
        self.follows.then_some(self.camera.pose.target)
    }

    /// The eye of the last frame, and the part of the plane that it shows.
    pub(super) fn view(&self, scene: &Scene, viewport: &Viewport) -> Option<(View, TorusWindow)> {
        let (window, middle) = (whole_map(scene)?, self.window_middle());
        let window = middle.map_or(window, |middle| window.around(middle));
        let (width, height) = viewport.pixels;
        Some((self.camera.pose.view(width, height), window))
    }
}

/// The view with which a map and a match begin.
impl CameraRig {
    /// Whether the camera is to be set up: for a new map, and again for a new shape of the picture or of the panels as
    /// long as the user has not moved it.
    pub(super) fn needs_framing(&self, framed: &Framed) -> bool {
        let is_same_map = self.framed.is_some_and(|before| before.map == framed.map);
        self.framed.as_ref() != Some(framed) && !(self.moved && is_same_map)
    }

    /// Whether it was set up since the whole map was asked for or a match began.
    pub(super) fn is_framed(&self) -> bool {
        self.framed.is_some()
    }

    pub(super) fn wants_whole(&self) -> bool {
        self.wants_whole
    }

    /// Sets the camera up; `is_chosen` for a view that the user chose.
    pub(super) fn frame(&mut self, framed: Framed, pose: CameraPose, is_chosen: bool) {
        self.moved = is_chosen;
        self.camera.goal = pose;
        self.framed = Some(framed);
    }

    /// Sets the camera up for the whole map with the next scene.
    pub(super) fn show_whole_map(&mut self) {
        self.director.yield_camera();
        self.winners.before = None;
        self.follows = false;
        self.moved = false;
        self.moved_by_hand = false;
        self.wants_whole = true;
        self.framed = None;
    }

    /// A match begins: with the whole map, or with the view that the hand chose in the match before, which was `saved`.
    pub(super) fn begin_match(&mut self, saved: Option<SavedView>, scene: &Scene) {
        self.winners.before = None;
        // Beside an agent that was followed the camera may have gone round.
        self.come_home(scene);
        let is_chosen = std::mem::take(&mut self.moved_by_hand);
        let chosen = saved.filter(|_| is_chosen);
        let map = self.framed.map(|framed| framed.map);
        match chosen.zip(map).and_then(|(view, map)| view.pose_over(map)) {
            Some(pose) => self.camera.goal = pose,
            None => {
                self.moved = false;
                self.framed = None;
            }
        }
    }
}

/// The director, and the agent that is followed.
impl CameraRig {
    /// Moves the camera for so many seconds: the director, where it has it, or on to where it was sent.
    pub(super) fn advance(&mut self, scene: &Scene, selection: Selection, format: Format, seconds: f32) {
        if self.followed(selection).is_none() {
            self.director.wait(seconds);
        }
        // At the end the camera goes to the winners. A film waits for its moments without time for the camera, at another
        // speed than its own.
        let is_over = scene.winner.is_some();
        let is_directed = self.director.has_camera() && !self.follows && !is_over && seconds > 0.0;
        let directed = is_directed.then(|| self.director.direct(scene, format, self.camera.pose, seconds));
        match directed.flatten() {
            Some(pose) => self.camera = Camera::new(pose),
            None => self.camera.update(seconds),
        }
    }

    /// Gives the camera to the director, or takes it away.
    pub(super) fn direct(&mut self, is_on: bool, scene: &Scene) {
        if is_on {
            self.follows = false;
            self.come_home(scene);
        }
        self.director.switch(is_on);
    }

    /// Begins or ends to follow the selected agent.
    pub(super) fn toggle_follow(&mut self, selection: Selection, scene: &Scene, viewport: &Viewport) {
        self.director.yield_camera();
        self.follows = !self.follows && selection.agent().is_some();
        self.come_home(scene);
        if self.follows {
            self.come_near(viewport);
        }
    }

    /// Keeps the camera on the followed agent, over seams and all.
    pub(super) fn follow(&mut self, selection: Selection, scene: &Scene) {
        let Some(id) = self.followed(selection) else {
            return;
        };
        match scene.agent(id) {
            Some(agent) => self.aim(Vec2::new(agent.x, agent.y), scene),
            None => {
                self.follows = false;
                self.come_home(scene);
            }
        }
    }

    /// Sends the camera to a place, the shortest way.
    pub(super) fn aim(&mut self, place: Vec2, scene: &Scene) {
        if let Some(window) = whole_map(scene) {
            self.camera.goal.target += window.shortest(self.camera.goal.target, place);
        }
    }

    /// Sends the camera to a place that the user asked for.
    pub(super) fn look_at(&mut self, place: Vec2, scene: &Scene) {
        self.director.yield_camera();
        self.follows = false;
        self.moved = true;
        self.aim(place, scene);
    }

    /// Comes near enough to see who stands where the camera goes, if it is far from that.
    pub(super) fn come_near(&mut self, viewport: &Viewport) {
        let goal = &mut self.camera.goal;
        let view = goal.view(viewport.pixels.0, viewport.pixels.1);
        let pixels = view.pixels_per_tile(view.target);
        if pixels < SEEN_PIXELS {
            goal.distance *= pixels / NEAR_PIXELS;
        }
    }

    /// Brings the camera back onto the map as it is numbered, after it may have gone round.
    fn come_home(&mut self, scene: &Scene) {
        if let Some(window) = whole_map(scene)
            && !self.follows
        {
            let target = self.camera.pose.target;
            self.camera.shift(window.home(target) - target);
        }
    }
}

/// The end of a match.
impl CameraRig {
    /// Goes to the agents that decided the match.
    pub(super) fn visit_winners(&mut self, scene: &Scene) {
        let window = whole_map(scene);
        let pose = window.and_then(|window| winners::pose_of_winners(scene, window, self.camera.goal));
        let Some(pose) = pose else { return };
        self.winners.before = Some((self.camera.goal, self.moved));
        self.follows = false;
        self.moved = true;
        self.camera.goal = pose;
    }

    /// Has the winners beside the story while that is open, and not under it. `clear` is the part of the picture that no
    /// panel covers.
    pub(super) fn make_room_for_story(&mut self, is_open: bool, clear: (Vec2, Vec2), viewport: &Viewport) {
        let is_wanted = is_open && self.winners.before.is_some();
        match (is_wanted, self.winners.aside) {
            (true, None) => {
                let (least, most) = clear;
                let view = self.camera.goal.view(viewport.pixels.0, viewport.pixels.1);
                let places = (
                    view.ground_at(Vec2::splat(0.5)),
                    view.ground_at((least + most) / 2.0),
                );
                let (Some(middle), Some(free)) = places else {
                    return;
                };
                self.camera.goal.target += middle - free;
                self.winners.aside = Some(middle - free);
            }
            (false, Some(aside)) => {
                self.winners.aside = None;
                if self.winners.before.is_some() {
                    self.camera.goal.target -= aside;
                }
            }
            _ => {}
        }
    }

    /// Goes back to where the camera was before; whether it was with the winners.
    pub(super) fn leave_winners(&mut self) -> bool {
        let before = self.winners.before.take();
        if let Some((pose, moved)) = before {
            (self.camera.goal, self.moved) = (pose, moved);
        }
        before.is_some()
    }

    /// Stays with the winners.
    pub(super) fn forget_way_back(&mut self) {
        self.winners.before = None;
    }
}

/// The hand.
impl CameraRig {
    /// Moves the camera by the hand; `false` without a map.
    pub(super) fn move_by(&mut self, by: CameraMove, scene: &Scene, viewport: &Viewport) -> bool {
        match by {
            CameraMove::Drag(from, to) => return self.drag(from, to, scene, viewport),
            CameraMove::Turn(by) => {
                let by = by / viewport.pixels.1 as f32 * TURN_PER_HEIGHT;
                self.camera.orbit(by.x, by.y);
            }
            CameraMove::Rotate(angle) => self.camera.orbit(angle, 0.0),
            CameraMove::Zoom { notches, at } => return self.zoom(notches, at, scene, viewport),
        }
        true
    }

    fn drag(&mut self, from: Vec2, to: Vec2, scene: &Scene, viewport: &Viewport) -> bool {
        let Some((view, _)) = self.view(scene, viewport) else {
            return false;
        };
        let ground_at = |at| view.ground_at(viewport.share(at));
        let Some((from, to)) = ground_at(from).zip(ground_at(to)) else {
            return false;
        };
        // Near the horizon a pixel is many tiles; a hand cannot mean that.
        let by = (from - to).clamp_length_max(self.camera.pose.distance * 0.5);
        self.follows = false;
        let before = self.camera.goal.target;
        self.camera.goal.target += by;
        self.keep_on_map(scene);
        // What is held stays under the pointer: no gliding while dragging.
        self.camera.pose.target += self.camera.goal.target - before;
        true
    }

    fn zoom(&mut self, notches: f32, at: Vec2, scene: &Scene, viewport: &Viewport) -> bool {
        let Some((_, window)) = self.view(scene, viewport) else {
            return false;
        };
        let goal = self.camera.goal.view(viewport.pixels.0, viewport.pixels.1);
        let under = goal.ground_at(viewport.share(at));
        let before = self.camera.goal.distance;
        self.camera
            .zoom(ZOOM_PER_NOTCH.powf(notches), window.sides().max_element());
        if let Some(under) = under
            && !self.follows
        {
            let target = self.camera.goal.target;
            let towards = (under - target).clamp_length_max(before);
            self.camera.goal.target = target + towards * (1.0 - self.camera.goal.distance / before);
            self.keep_on_map(scene);
        }
        true
    }

    /// Moves the camera for so many seconds by the actions whose keys are held.
    pub(super) fn move_by_keys(&mut self, held: &[Action], seconds: f32, scene: &Scene) {
        let far = self.camera.goal.distance * PAN_PER_SECOND * seconds;
        let turn = TURN_PER_SECOND * seconds;
        let zoom = ZOOM_PER_SECOND.powf(seconds);
        let side = whole_map(scene).map_or(20.0, |window| window.sides().max_element());
        for action in held {
            match action {
                Action::PanNorth => self.pan(0.0, far, scene),
                Action::PanSouth => self.pan(0.0, -far, scene),
                Action::PanWest => self.pan(-far, 0.0, scene),
                Action::PanEast => self.pan(far, 0.0, scene),
                Action::TurnLeft => self.camera.orbit(-turn, 0.0),
                Action::TurnRight => self.camera.orbit(turn, 0.0),
                Action::TiltDown => self.camera.orbit(0.0, turn * 0.5),
                Action::TiltUp => self.camera.orbit(0.0, -turn * 0.5),
                Action::ZoomIn => self.camera.zoom(1.0 / zoom, side),
                Action::ZoomOut => self.camera.zoom(zoom, side),
                _ => {}
            }
        }
    }

    /// The hand moved the camera: answers the view to be remembered. Beside an agent that is followed the place is the
    /// agent's, and not chosen.
    pub(super) fn take_view_of_hand(&mut self, scene: &Scene) -> Option<SavedView> {
        self.director.yield_camera();
        self.moved = true;
        let framed = self.framed.filter(|_| !self.follows)?;
        self.moved_by_hand = true;
        let mut pose = self.camera.goal;
        if let Some(window) = whole_map(scene) {
            // Beside an agent that was followed it may have gone round.
            pose.target = window.home(pose.target);
        }
        Some(SavedView::new(framed.map, pose))
    }

    fn pan(&mut self, right: f32, ahead: f32, scene: &Scene) {
        self.follows = false;
        self.camera.pan(right, ahead);
        self.keep_on_map(scene);
    }

    /// Does not let the camera leave the map.
    fn keep_on_map(&mut self, scene: &Scene) {
        if let Some(window) = whole_map(scene) {
            let (least, most) = (window.middle - window.half, window.middle + window.half);
            self.camera.goal.target = self.camera.goal.target.clamp(least, most);
        }
    }
}
