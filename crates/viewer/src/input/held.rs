//! Keys that were already down when the window got the keyboard: they were pressed for another window.
//!
//! On X11 and Windows such a key comes again as a synthetic press, and its repeats may come as presses. A key that is
//! pressed while the keyboard changes windows looks the same, and is lost.

use std::collections::BTreeSet;

use winit::event::ElementState;
use winit::keyboard::PhysicalKey;

/// The keys held when the keyboard came, until they go up.
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
    fn a_key_held_when_the_keyboard_comes_does_nothing_until_it_is_pressed_anew() {
        let (held, other) = (PhysicalKey::Code(KeyCode::KeyH), PhysicalKey::Code(KeyCode::KeyP));
        let mut keys = HeldBefore::default();
        for (key, state, is_synthetic, is_for_us) in [
            (held, Pressed, true, false),
            (held, Pressed, false, false),
            (other, Pressed, false, true),
            (held, Released, false, true),
            (held, Pressed, false, true),
        ] {
            assert_eq!(
                keys.is_for_us(key, state, is_synthetic),
                is_for_us,
                "{key:?} {state:?}"
            );
        }
    }
}
