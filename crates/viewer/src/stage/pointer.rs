//! The mouse's buttons and movements as gestures on the board.

use glam::Vec2;
use winit::dpi::PhysicalPosition;
use winit::event::{ElementState, MouseButton, MouseScrollDelta};

use super::Stage;

/// A press that moves less than this, in points, is a click: on a display of twice the density it is as far for the hand.
const CLICK_POINTS: f32 = 4.0;
/// Points of a touchpad's movement that count as a notch of a wheel.
const POINTS_PER_NOTCH: f32 = 60.0;
/// Notches of a wheel that a pinch to twice the size counts as.
const NOTCHES_PER_PINCH: f32 = 6.0;

/// Where the pointer is and what it is doing.
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
    /// It moved.
    pub fn moved(&mut self, to: PhysicalPosition<f64>, over_panel: bool, stage: &mut Stage) {
        let from = self.at;
        self.at = Vec2::new(to.x as f32, to.y as f32);
        match self.gesture {
            Some(Gesture::Press(start))
                if self.at.distance(start) > CLICK_POINTS * stage.pixels_per_point() =>
            {
                self.gesture = Some(Gesture::Drag);
                stage.drag(start, self.at);
            }
            Some(Gesture::Drag) => stage.drag(from, self.at),
            Some(Gesture::Turn) => stage.turn(self.at - from),
            Some(Gesture::Press(_)) | None => {}
        }
        stage.hover((!over_panel && self.gesture.is_none()).then_some(self.at));
    }

    /// A button went down or up; a press on a panel is not for the board.
    pub fn button(&mut self, button: MouseButton, state: ElementState, over_panel: bool, stage: &mut Stage) {
        match (state, button) {
            (ElementState::Pressed, _) if over_panel => {}
            (ElementState::Pressed, MouseButton::Left) => self.gesture = Some(Gesture::Press(self.at)),
            (ElementState::Pressed, MouseButton::Right | MouseButton::Middle) => {
                self.gesture = Some(Gesture::Turn)
            }
            (ElementState::Pressed, _) => {}
            (ElementState::Released, _) => {
                if let Some(Gesture::Press(at)) = self.gesture.take() {
                    stage.click(at);
                }
            }
        }
    }

    /// Buttons go elsewhere from now on: that one goes up may never be told.
    pub fn let_go(&mut self) {
        self.gesture = None;
    }

    /// The wheel turned, or two fingers moved on a touchpad.
    pub fn wheel(&mut self, delta: MouseScrollDelta, stage: &mut Stage) {
        let notches = match delta {
            MouseScrollDelta::LineDelta(_, away) => away,
            MouseScrollDelta::PixelDelta(pixels) => {
                pixels.y as f32 / (POINTS_PER_NOTCH * stage.pixels_per_point())
            }
        };
        stage.zoom(notches, self.at);
    }

    /// Two fingers were spread (positive) or pinched; 1 is twice the size.
    pub fn pinch(&mut self, delta: f64, stage: &mut Stage) {
        stage.zoom(delta as f32 * NOTCHES_PER_PINCH, self.at);
    }

    /// Two fingers were turned, by so many degrees.
    pub fn rotate(&mut self, degrees: f32, stage: &mut Stage) {
        stage.turn_by(degrees.to_radians());
    }
}
