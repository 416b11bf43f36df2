//! Keys that were already down when the window got the keyboard: they were pressed for another window.
//!
//! On X11 and Windows such a key comes again as a synthetic press, and its repeats may come as presses.
//! A key that goes down in the moment between the keyboard's coming and our hearing of it looks the same, and is lost.

use std::collections::BTreeSet;

use winit::event::ElementState;
use winit::keyboard::PhysicalKey;

/// The keys held when the keyboard came, until they go up.
#[derive(Debug, Default)]
pub struct HeldBefore {
    keys: BTreeSet<PhysicalKey>,
}

impl HeldBefore {
    /// Whether a key went down or up for this window. `is_synthetic` as winit tells it.
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
    use winit::keyboard::KeyCode;

    use super::*;

    #[test]
    fn a_key_held_when_the_keyboard_comes_does_nothing_until_it_is_pressed_anew() {
        let (held, other) = (PhysicalKey::Code(KeyCode::KeyH), PhysicalKey::Code(KeyCode::KeyP));
        let mut keys = HeldBefore::default();
        assert!(
            !keys.is_for_us(held, ElementState::Pressed, true),
            "the window got the keyboard"
        );
        for _ in 0..3 {
            assert!(!keys.is_for_us(held, ElementState::Pressed, false), "it repeats");
            assert!(
                keys.is_for_us(other, ElementState::Pressed, false),
                "others are pressed"
            );
        }
        keys.is_for_us(held, ElementState::Released, false);
        assert!(keys.is_for_us(held, ElementState::Pressed, false), "pressed anew");
        keys.is_for_us(held, ElementState::Released, true);
        assert!(
            keys.is_for_us(held, ElementState::Pressed, false),
            "released with the keyboard"
        );
    }
}
