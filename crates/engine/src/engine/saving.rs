//! What a save holds: the game as it is or, once a team has won, as it was then.
//!
//! All agents are disconnected in the instant of the victory. A save from after it would go on as an empty board.

use std::sync::Arc;

use trantor_game::Snapshot;

use super::Engine;

impl Engine {
    /// Saves are made of the game from now on. To be said before the first pass: when the game is won, its state is kept,
    /// which takes as long as a save's capture, and as much memory. Of one that was over before, that is how it is now.
    pub fn expect_saves(&mut self) {
        self.is_saved = true;
        if self.game.winner().is_some() {
            self.keep_victory();
        }
    }

    /// A team has won, and its agents are still there.
    pub(super) fn keep_victory(&mut self) {
        self.victory = self.is_saved.then(|| Arc::new(self.game.snapshot()));
    }

    /// What is to be saved at this moment, in time in proportion to the world, or at once of a match that is over.
    pub fn state_to_save(&self) -> Arc<Snapshot> {
        let victory = self.victory.as_ref().map(Arc::clone);
        victory.unwrap_or_else(|| Arc::new(self.game.snapshot()))
    }
}
