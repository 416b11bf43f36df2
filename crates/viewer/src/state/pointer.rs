//! The mouse's buttons and movements as gestures on the board: dragging, turning, zooming, choosing.

use glam::Vec2;
use winit::dpi::PhysicalPosition;
use winit::event::{ElementState, MouseButton, MouseScrollDelta};

use super::{CameraMove, ViewerState};
use crate::input::Input;

/// A press that moves less than this, in points, is a click: on a display of twice the density it is as far for the hand.
const CLICK_POINTS: f32 = 4.0;
/// Points of a touchpad's movement that count as a notch of a wheel.
const POINTS_PER_NOTCH: f32 = 60.0;
/// Notches of a wheel that a pinch to twice the size counts as.
const NOTCHES_PER_PINCH: f32 = 6.0;

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
            Input::Wheel(MouseScrollDelta::LineDelta(_, away)) => self.zoom(away, state),
            Input::Wheel(MouseScrollDelta::PixelDelta(pixels)) => {
                let notches = pixels.y as f32 / (POINTS_PER_NOTCH * state.viewport.pixels_per_point());
                self.zoom(notches, state);
            }
            Input::Pinch(delta) => self.zoom(delta as f32 * NOTCHES_PER_PINCH, state),
            Input::Rotate(degrees) => state.move_camera(CameraMove::Rotate(degrees.to_radians())),
            // The release of a button may go to another window.
            Input::FocusLost => self.gesture = None,
            Input::Button { .. } | Input::Key { .. } | Input::Act(_) => {}
        }
    }

    fn zoom(&self, notches: f32, state: &mut ViewerState) {
        let at = self.at;
        state.move_camera(CameraMove::Zoom { notches, at });
    }

    fn moved(&mut self, to: PhysicalPosition<f64>, over_panel: bool, state: &mut ViewerState) {
        let from = self.at;
        self.at = Vec2::new(to.x as f32, to.y as f32);
        match self.gesture {
            Some(Gesture::Press(start))
                if self.at.distance(start) > CLICK_POINTS * state.viewport.pixels_per_point() =>
            {
                self.gesture = Some(Gesture::Drag);
                state.move_camera(CameraMove::Drag(start, self.at));
            }
            Some(Gesture::Drag) => state.move_camera(CameraMove::Drag(from, self.at)),
            Some(Gesture::Turn) => state.move_camera(CameraMove::Turn(self.at - from)),
            Some(Gesture::Press(_)) | None => {}
        }
        state.hover((!over_panel && self.gesture.is_none()).then_some(self.at));
    }
}
