//! Input events since the last frame, in order. The first system of a frame takes them.

use std::collections::{BTreeSet, VecDeque};

use winit::dpi::PhysicalPosition;
use winit::event::{ElementState, MouseButton, MouseScrollDelta};
use winit::keyboard::PhysicalKey;

use super::Action;

/// Inputs queued for a frame: a mouse sends a thousand movements a second, which become one, and a thousand keys
/// between two frames are no typing.
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
    /// Two fingers were turned on a touchpad, in degrees.
    Rotate(f32),
    /// The window lost the keyboard: no key or button is held.
    FocusLost,
}

#[derive(Debug, Default)]
pub struct InputQueue {
    inputs: VecDeque<Input>,
    pub dropped: u64,
}

impl InputQueue {
    /// Appends an input. A movement replaces the one before it; when the queue is full, the newest is dropped and counted.
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

/// Keys that were already down when the window got the keyboard, until they go up: they were pressed for another window.
///
/// On X11 and Windows such a key comes again as a synthetic press, and its repeats may come as presses. A key that is
/// pressed while the keyboard changes windows looks the same, and is lost.
#[derive(Debug, Default)]
pub struct HeldBefore {
    keys: BTreeSet<PhysicalKey>,
}

impl HeldBefore {
    /// Whether a key went down or up for this window. `is_synthetic` is winit's.
    pub fn is_for_us(&mut self, key: PhysicalKey, state: ElementState, is_synthetic: bool) -> bool {
        match state {
            ElementState::Pressed if is_synthetic => {
                self.keys.insert(key);
                false
            }
            ElementState::Pressed => !self.keys.contains(&key),
            // A window that loses the keyboard gets all keys as released.
            ElementState::Released => {
                self.keys.remove(&key);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use winit::event::ElementState::{Pressed, Released};
    use winit::keyboard::KeyCode;

    use super::*;

    #[test]
    fn inputs_keep_their_order_movements_become_one_and_a_flood_is_counted() {
        let moved = |x| Input::Moved {
            to: PhysicalPosition::new(x, 0.0),
            is_over_panel: false,
        };
        let mut queue = InputQueue::default();
        for input in [moved(1.0), moved(2.0), Input::Pinch(0.5), moved(3.0), moved(4.0)] {
            queue.put(input);
        }
        assert_eq!(queue.inputs, [moved(2.0), Input::Pinch(0.5), moved(4.0)]);
        (0..INPUTS_MAX).for_each(|_| queue.put(Input::Pinch(0.1)));
        assert_eq!((queue.inputs.len(), queue.dropped), (INPUTS_MAX, 3));
    }

    #[test]
    fn a_key_held_when_the_keyboard_comes_does_nothing_until_it_is_pressed_anew() {
        let mut keys = HeldBefore::default();
        let mut press =
            |key, state, is_synthetic| keys.is_for_us(PhysicalKey::Code(key), state, is_synthetic);
        assert!(!press(KeyCode::KeyH, Pressed, true));
        assert!(!press(KeyCode::KeyH, Pressed, false));
        assert!(press(KeyCode::KeyP, Pressed, false), "another key");
        assert!(press(KeyCode::KeyH, Released, false));
        assert!(press(KeyCode::KeyH, Pressed, false));
    }
}
