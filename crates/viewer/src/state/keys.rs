//! Which keys have which actions, and which lasting actions are held.

use crate::input::{Action, Bindings};

#[derive(Debug)]
pub struct Keys {
    pub bindings: Bindings,
    held: Vec<Action>,
}

impl Keys {
    pub fn new(bindings: Bindings) -> Self {
        let held = Vec::new();
        Self { bindings, held }
    }

    /// A key went down or up, whose action may last while it is held.
    pub fn hold(&mut self, action: Action, down: bool) {
        self.held.retain(|held| *held != action);
        if down && action.lasts() {
            self.held.push(action);
        }
    }

    /// No key is held any more, as when the window loses the keyboard.
    pub fn release_all(&mut self) {
        self.held.clear();
    }

    /// Lasting actions whose keys are down, in the order of the presses.
    pub fn held(&self) -> &[Action] {
        &self.held
    }
}
