//! What keys and mouse did since the last frame, in the order in which it came.
//!
//! The platform does not wait, so what it tells is put in line at once; the first system of the next frame takes it
//! out. Nothing that came in between could have been seen earlier.

use std::collections::VecDeque;

use winit::dpi::PhysicalPosition;
use winit::event::{ElementState, MouseButton, MouseScrollDelta};

use super::Action;

/// Inputs that wait for a frame: a mouse sends a thousand movements a second, which become one, and a
/// thousand keys between two frames are no typing.
const INPUTS_MAX: usize = 1_024;

#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Key {
        /// As [`super::key_name`] names it.
        name: String,
        is_down: bool,
        is_repeat: bool,
        is_typing: bool,
    },
    /// The same as a key that does this.
    Act(Action),
    Moved {
        /// Where to, in pixels of the window.
        to: PhysicalPosition<f64>,
        is_over_panel: bool,
    },
    Left,
    Button {
        button: MouseButton,
        state: ElementState,
        is_over_panel: bool,
    },
    /// The wheel turned, or two fingers moved on a touchpad.
    Wheel(MouseScrollDelta),
    /// Two fingers were spread (positive) or pinched; 1 is twice the size.
    Pinch(f64),
    /// Two fingers were turned on a touchpad, by so many degrees.
    Rotate(f32),
    /// Keys and buttons go elsewhere from now on: none of ours is held.
    FocusLost,
}

#[derive(Debug, Default)]
pub struct InputQueue {
    inputs: VecDeque<Input>,
    pub dropped: u64,
}

impl InputQueue {
    /// Puts one in line. A movement takes the place of the one before it. When the line is full, the newest is
    /// dropped and counted.
    pub fn put(&mut self, input: Input) {
        if let (Some(last @ Input::Moved { .. }), Input::Moved { .. }) = (self.inputs.back_mut(), &input) {
            *last = input;
        } else if self.inputs.len() == INPUTS_MAX {
            self.dropped += 1;
        } else {
            self.inputs.push_back(input);
        }
    }

    pub fn take(&mut self) -> Option<Input> {
        self.inputs.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(x: f64) -> Input {
        Input::Moved {
            to: PhysicalPosition::new(x, 0.0),
            is_over_panel: false,
        }
    }

    #[test]
    fn inputs_keep_their_order_and_movements_become_one() {
        let mut queue = InputQueue::default();
        for input in [moved(1.0), moved(2.0), Input::Pinch(0.5), moved(3.0), moved(4.0)] {
            queue.put(input);
        }
        let taken: Vec<Input> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(taken, [moved(2.0), Input::Pinch(0.5), moved(4.0)]);
    }

    #[test]
    fn a_flood_is_bounded_and_counted() {
        let mut queue = InputQueue::default();
        for _ in 0..INPUTS_MAX + 5 {
            queue.put(Input::Pinch(0.1));
        }
        assert_eq!((queue.inputs.len(), queue.dropped), (INPUTS_MAX, 5));
    }
}
