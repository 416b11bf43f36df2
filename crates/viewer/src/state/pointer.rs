//! The mouse's buttons and movements as gestures on the board: dragging, turning, zooming, choosing.

use glam::Vec2;
use trantor_model::Tile;
use winit::dpi::PhysicalPosition;
use winit::event::{ElementState, MouseButton, MouseScrollDelta};

use super::ViewerState;
use crate::input::Input;
use crate::intent::Selection;
use trantor_render::picture::compose::MIDDLE_HEIGHT;

/// A press that moves less than this, in points, is a click: on a display of twice the density it is as far for the hand.
const CLICK_POINTS: f32 = 4.0;
/// Points of a touchpad's movement that count as a notch of a wheel.
const POINTS_PER_NOTCH: f32 = 60.0;
/// Notches of a wheel that a pinch to twice the size counts as.
const NOTCHES_PER_PINCH: f32 = 6.0;

/// Radians for a drag across the whole height of the picture.
const TURN_PER_HEIGHT: f32 = 3.2;
/// Factor of the distance for one notch of a wheel.
const ZOOM_PER_NOTCH: f32 = 0.86;
/// How far from an agent's middle a click still means it, in tiles, before its scale.
const REACH_TILES: f32 = 0.356;
/// And in pixels, so that those far away can be hit.
const REACH_PIXELS: f32 = 9.0;

#[derive(Debug, Default)]
pub struct Pointer {
    at: Vec2,
    gesture: Option<Gesture>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Gesture {
    /// The left button went down here; nothing has moved yet.
    Press(Vec2),
    Drag,
    Turn,
}

impl Pointer {
    /// Does to the board what the mouse or a touchpad did; other inputs are not for it.
    pub fn handle(&mut self, input: Input, state: &mut ViewerState) {
        match input {
            Input::Moved { to, is_over_panel } => self.moved(to, is_over_panel, state),
            Input::Left => state.hover(None),
            Input::Button {
                state: ElementState::Released,
                ..
            } => {
                if let Some(Gesture::Press(at)) = self.gesture.take() {
                    state.click(at);
                }
            }
            // A press on a panel is not for the board.
            Input::Button {
                button,
                is_over_panel: false,
                ..
            } => match button {
                MouseButton::Left => self.gesture = Some(Gesture::Press(self.at)),
                MouseButton::Right | MouseButton::Middle => self.gesture = Some(Gesture::Turn),
                _ => {}
            },
            Input::Wheel(MouseScrollDelta::LineDelta(_, away)) => state.zoom(away, self.at),
            Input::Wheel(MouseScrollDelta::PixelDelta(pixels)) => {
                let notches = pixels.y as f32 / (POINTS_PER_NOTCH * state.pixels_per_point());
                state.zoom(notches, self.at);
            }
            Input::Pinch(delta) => state.zoom(delta as f32 * NOTCHES_PER_PINCH, self.at),
            Input::Rotate(degrees) => state.turn_by(degrees.to_radians()),
            // The release of a button may go to another window.
            Input::FocusLost => self.gesture = None,
            Input::Button { .. } | Input::Key { .. } | Input::Act(_) => {}
        }
    }

    fn moved(&mut self, to: PhysicalPosition<f64>, over_panel: bool, state: &mut ViewerState) {
        let from = self.at;
        self.at = Vec2::new(to.x as f32, to.y as f32);
        match self.gesture {
            Some(Gesture::Press(start))
                if self.at.distance(start) > CLICK_POINTS * state.pixels_per_point() =>
            {
                self.gesture = Some(Gesture::Drag);
                state.drag(start, self.at);
            }
            Some(Gesture::Drag) => state.drag(from, self.at),
            Some(Gesture::Turn) => state.turn(self.at - from),
            Some(Gesture::Press(_)) | None => {}
        }
        state.hover((!over_panel && self.gesture.is_none()).then_some(self.at));
    }
}

impl ViewerState {
    /// Drags the board from one point of the picture to another, each in pixels.
    pub fn drag(&mut self, from: Vec2, to: Vec2) {
        let Some((view, _)) = self.view() else { return };
        if let (Some(from), Some(to)) = (view.ground_at(self.share(from)), view.ground_at(self.share(to))) {
            // Near the horizon a pixel is many tiles; a hand cannot mean that.
            let by = (from - to).clamp_length_max(self.camera.pose.distance * 0.5);
            self.follows = false;
            let before = self.camera.goal.target;
            self.camera.goal.target += by;
            self.keep_on_map();
            // What is held stays under the pointer: no gliding while dragging.
            self.camera.pose.target += self.camera.goal.target - before;
            self.keep_view_of_hand();
        }
    }

    /// Turns and tilts by a movement of the pointer in pixels.
    pub fn turn(&mut self, by: Vec2) {
        let by = by / self.pixels.1 as f32 * TURN_PER_HEIGHT;
        self.camera.orbit(by.x, by.y);
        self.keep_view_of_hand();
    }

    /// Turns by an angle in radians, as fingers on a touchpad do.
    pub fn turn_by(&mut self, angle: f32) {
        self.camera.orbit(angle, 0.0);
        self.keep_view_of_hand();
    }

    /// Zooms by notches of a wheel (away from the user is nearer), keeping what is under `at` (pixels) there.
    pub fn zoom(&mut self, notches: f32, at: Vec2) {
        let Some((_, window)) = self.view() else { return };
        let goal = self.camera.goal.view(self.pixels.0, self.pixels.1);
        let under = goal.ground_at(self.share(at));
        let before = self.camera.goal.distance;
        self.camera
            .zoom(ZOOM_PER_NOTCH.powf(notches), window.sides().max_element());
        if let Some(under) = under
            && !self.follows
        {
            let target = self.camera.goal.target;
            let towards = (under - target).clamp_length_max(before);
            self.camera.goal.target = target + towards * (1.0 - self.camera.goal.distance / before);
            self.keep_on_map();
        }
        self.keep_view_of_hand();
    }

    /// The pointer is at a point of the picture, in pixels; `None` when it is elsewhere.
    pub fn hover(&mut self, at: Option<Vec2>) {
        self.marks.hovered = at.and_then(|at| self.tile_at(at));
    }

    /// Selects what is under a point of the picture, in pixels.
    pub fn click(&mut self, at: Vec2) {
        let selection = match self.agent_at(at) {
            Some(agent) => agent,
            None => self.tile_at(at).map_or(Selection::None, Selection::Tile),
        };
        // A second click on the same tile clears the selection.
        let again = selection == self.selection && matches!(selection, Selection::Tile(_));
        self.select(if again { Selection::None } else { selection });
    }

    fn tile_at(&self, at: Vec2) -> Option<Tile> {
        let (view, window) = self.view()?;
        let ground = self.scene.ground.as_ref()?;
        let place = view.ground_at(self.share(at))?;
        let (least, most) = window.bounds();
        let inside = place.cmpgt(least - 0.5).all() && place.cmplt(most - 0.5).all();
        let place = place.round();
        let home = Tile { x: 0, y: 0 };
        inside.then(|| ground.size.offset(home, place.x as i32, place.y as i32))
    }

    /// The agent that is nearest to the pointer, as seen, if one is near enough.
    fn agent_at(&self, at: Vec2) -> Option<Selection> {
        let (view, window) = self.view()?;
        let mut best = None;
        for agent in &self.scene.agents {
            for copy in window.copies(Vec2::new(agent.x, agent.y)) {
                let place = self.composer.places().of(agent, copy, &view);
                let Some(point) = view.project(place.above(MIDDLE_HEIGHT)) else {
                    continue;
                };
                let off = (point * self.size()).distance(at);
                let reach = (place.pixels * place.scale * REACH_TILES).max(REACH_PIXELS);
                if off < reach && best.is_none_or(|(least, _)| off < least) {
                    best = Some((off, Selection::Agent(agent.id)));
                }
            }
        }
        best.map(|(_, selection)| selection)
    }

    /// A point in pixels as a share of the picture.
    fn share(&self, at: Vec2) -> Vec2 {
        at / self.size()
    }

    fn size(&self) -> Vec2 {
        Vec2::new(self.pixels.0 as f32, self.pixels.1 as f32)
    }
}
