//! Where the camera looks: the first sight of a map, held keys, following an agent, and the map's edge.

use glam::Vec2;
use trantor_model::{AgentId, Level, MapSize};

use super::director::Format;
use super::{Framed, ViewerState};
use crate::input::Action;
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

/// An agent is visible where a tile is so many pixels high; from further away the camera comes near enough for the second
/// height.
const SEEN_PIXELS: f32 = 16.0;
/// Agents of the highest level that win a match.
const WINNERS: usize = 6;
const NEAR_PIXELS: f32 = 32.0;

impl ViewerState {
    pub(super) fn followed(&self) -> Option<AgentId> {
        self.selection.agent().filter(|_| self.follows)
    }

    /// Keeps the camera on the followed agent, over seams and all.
    pub(super) fn follow(&mut self) {
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

    /// Goes to the agents that decided the match, near enough to fill the picture with them.
    pub(super) fn visit_winners(&mut self) {
        /// Tiles from which a group is seen, for each that its farthest member is away from its middle, and besides.
        const AWAY: [f32; 2] = [2.5, 5.5];
        /// How far down it looks there, in radians: into their faces.
        const PITCH: f32 = 0.6;
        let (Some(winner), Some(window)) = (self.scene.winner, self.window()) else {
            return;
        };
        let agents = self.scene.agents.iter();
        let winners = agents.filter(|agent| agent.team == winner && agent.level == Level::LAST);
        let winners = winners.take(WINNERS).map(|agent| Vec2::new(agent.x, agent.y));
        // A match that ends by its time limit may have none.
        let Some(first) = winners.clone().next() else {
            return;
        };
        let (sum, count) = winners.clone().fold((Vec2::ZERO, 0.0), |(sum, count), place| {
            (sum + window.shortest(first, place), count + 1.0)
        });
        let middle = first + sum / count;
        let farthest = winners.map(|place| window.shortest(middle, place).length());
        let distance = AWAY[0] * farthest.fold(0.0, f32::max) + AWAY[1];
        self.before_victory = Some((self.camera.goal, self.moved));
        self.follows = false;
        self.moved = true;
        // Not over the map's edge, which may be the shorter way: beyond it is no whole picture of them.
        self.camera.goal.target = window.home(middle);
        self.camera.goal.distance = self.camera.goal.distance.min(distance);
        self.camera.goal.pitch = self.camera.goal.pitch.min(PITCH);
    }

    /// Has the winners beside the story while that is open, and not under it.
    pub(super) fn make_room_for_story(&mut self) {
        let is_wanted = self.hud.tells_story() && self.before_victory.is_some();
        match (is_wanted, self.beside_story) {
            (true, None) => {
                let (least, most) = self.clear_part();
                let view = self.camera.goal.view(self.pixels.0, self.pixels.1);
                let places = (
                    view.ground_at(Vec2::splat(0.5)),
                    view.ground_at((least + most) / 2.0),
                );
                let (Some(middle), Some(free)) = places else {
                    return;
                };
                self.camera.goal.target += middle - free;
                self.beside_story = Some(middle - free);
            }
            (false, Some(aside)) => {
                self.beside_story = None;
                if self.before_victory.is_some() {
                    self.camera.goal.target -= aside;
                }
            }
            _ => {}
        }
    }

    /// Goes back to where the camera was before; whether it was with the winners.
    pub(super) fn leave_winners(&mut self) -> bool {
        let before = self.before_victory.take();
        if let Some((pose, moved)) = before {
            (self.camera.goal, self.moved) = (pose, moved);
        }
        before.is_some()
    }

    /// Brings the camera back onto the map as it is numbered, after it may have gone round.
    pub(super) fn come_home(&mut self) {
        if let Some(window) = self.window()
            && !self.follows
        {
            let target = self.camera.pose.target;
            self.camera.shift(window.home(target) - target);
        }
    }

    /// Moves the camera for so many seconds: the director, where it has it, or on to where it was sent.
    pub(crate) fn advance_camera(&mut self, seconds: f32) {
        if self.followed().is_none() {
            self.director.wait(seconds);
        }
        let format = Format {
            aspect: self.aspect(),
            clear: self.clear_part(),
        };
        // At the end the camera goes to the winners. A film waits for its moments without time for the camera, at another
        // speed than its own.
        let is_over = self.scene.winner.is_some();
        let is_directed = self.director.has_camera() && !self.follows && !is_over && seconds > 0.0;
        let directed = is_directed.then(|| {
            self.director
                .direct(&self.scene, format, self.camera.pose, seconds)
        });
        match directed.flatten() {
            Some(pose) => self.camera = Camera::new(pose),
            None => self.camera.update(seconds),
        }
    }

    fn aspect(&self) -> f32 {
        self.pixels.0 as f32 / self.pixels.1 as f32
    }

    /// The part of the picture that no panel covers.
    fn clear_part(&self) -> (Vec2, Vec2) {
        let has_timeline = self.source.recording().is_some();
        self.hud
            .clear_part(self.points, has_timeline, self.scene.teams.len())
    }

    /// Comes near enough to see who stands where the camera goes, if it is far from that.
    pub(super) fn come_near(&mut self) {
        let goal = &mut self.camera.goal;
        let view = goal.view(self.pixels.0, self.pixels.1);
        let pixels = view.pixels_per_tile(view.target);
        if pixels < SEEN_PIXELS {
            goal.distance *= pixels / NEAR_PIXELS;
        }
    }

    /// While an agent is followed, the map shown is the one around it.
    pub(super) fn window_middle(&self) -> Option<Vec2> {
        self.follows.then_some(self.camera.pose.target)
    }

    pub(super) fn window(&self) -> Option<TorusWindow> {
        let ground = self.scene.ground.as_ref()?;
        Some(TorusWindow::whole(ground.size))
    }

    /// The eye of the last frame, and the part of the plane that it shows.
    pub(crate) fn view(&self) -> Option<(View, TorusWindow)> {
        let (window, middle) = (self.window()?, self.window_middle());
        let window = middle.map_or(window, |middle| window.around(middle));
        Some((self.camera.pose.view(self.pixels.0, self.pixels.1), window))
    }

    /// Sets the camera up for a new map, and again for a new shape of the picture or of the panels as long as the
    /// user has not moved it.
    pub(super) fn frame_map(&mut self, size: MapSize) {
        let framed = Framed {
            map: size,
            pixels: self.pixels,
            points: self.points,
            scale: self.hud.zoom(self.points),
        };
        let is_same_map = self.framed.is_some_and(|before| before.map == size);
        if self.framed == Some(framed) || (self.moved && is_same_map) {
            return;
        }
        let is_first = self.framed.is_none() && self.known.is_none();
        let aspect = self.aspect();
        let saved = self.settings.view.filter(|_| is_first);
        let saved = saved.and_then(|view| view.pose_over(size));
        let clear = self.clear_part();
        let pose = match (saved, self.source.as_demo()) {
            (Some(pose), _) => pose,
            (None, Some(demo)) if !self.wants_whole => demo.camera(aspect, clear),
            (None, _) => {
                let sides = Vec2::new(f32::from(size.width()), f32::from(size.height()));
                CameraPose::overview(sides, aspect, clear)
            }
        };
        self.moved = saved.is_some();
        self.camera.goal = pose;
        // The first sight of a map is not a flight over it; a key that asks for it is.
        if self.list.frame.is_none() {
            self.camera.pose = pose;
        }
        self.framed = Some(framed);
    }

    /// A match begins: with the whole map, or with the view that the hand chose in the match before.
    pub(super) fn begin_match_view(&mut self) {
        self.before_victory = None;
        // Beside an agent that was followed the camera may have gone round.
        self.come_home();
        let is_chosen = std::mem::take(&mut self.moved_by_hand);
        let chosen = self.settings.view.filter(|_| is_chosen);
        let map = self.framed.map(|framed| framed.map);
        match chosen.zip(map).and_then(|(view, map)| view.pose_over(map)) {
            Some(pose) => self.camera.goal = pose,
            None => {
                self.moved = false;
                self.framed = None;
            }
        }
    }

    /// The hand moved the camera: the view is to be remembered. Beside an agent that is followed the place is the agent's,
    /// and not chosen.
    pub(super) fn keep_view_of_hand(&mut self) {
        self.director.yield_camera();
        self.moved = true;
        let Some(framed) = self.framed.filter(|_| !self.follows) else {
            return;
        };
        self.moved_by_hand = true;
        let mut pose = self.camera.goal;
        if let Some(window) = self.window() {
            // Beside an agent that was followed it may have gone round.
            pose.target = window.home(pose.target);
        }
        self.settings.view = Some(SavedView::new(framed.map, pose));
    }

    pub(super) fn move_by_keys(&mut self, seconds: f32) {
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
        self.keep_view_of_hand();
    }

    pub(super) fn pan(&mut self, right: f32, ahead: f32) {
        self.follows = false;
        self.camera.pan(right, ahead);
        self.keep_on_map();
    }

    /// Does not let the camera leave the map.
    pub(super) fn keep_on_map(&mut self) {
        if let Some(window) = self.window() {
            let (least, most) = (window.middle - window.half, window.middle + window.half);
            self.camera.goal.target = self.camera.goal.target.clamp(least, most);
        }
    }
}
