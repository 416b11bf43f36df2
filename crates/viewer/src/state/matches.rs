//! Match tracking: whether the scenes that follow each other are of one match, seen by its map, its winner and its time.

use trantor_client::Scene;
use trantor_model::MapSize;
use trantor_time::GameTime;

#[derive(Debug, Default)]
pub struct MatchTracker {
    /// The map whose events and scores are kept.
    map: Option<MapSize>,
    was_won: bool,
    shown: GameTime,
    /// Matches that were shown before this one; each has another ground.
    before: usize,
}

/// What a scene changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchChange {
    /// Whether there is a winner, if that changed.
    pub is_won: Option<bool>,
    pub is_other_match: bool,
    /// Whether the scene is from before the last one, after a jump back in a recording.
    pub is_earlier: bool,
}

impl MatchTracker {
    pub fn follow(&mut self, scene: &Scene) -> MatchChange {
        let (shown, is_won) = (scene.clock.game, scene.winner.is_some());
        let map = scene.ground.as_ref().map(|ground| ground.size);
        let is_earlier = shown < self.shown;
        // A match that has a winner goes on as another one only.
        let is_next_match = self.was_won && !is_won && !is_earlier;
        let change = MatchChange {
            is_won: (self.was_won != is_won).then_some(is_won),
            is_other_match: is_next_match || map.is_some() && self.map != map,
            is_earlier,
        };
        (self.was_won, self.shown) = (is_won, shown);
        change
    }

    /// Counts the match so far, if one was shown; whether one was.
    pub fn finish(&mut self) -> bool {
        self.before += usize::from(self.map.is_some());
        self.map.is_some()
    }

    /// The match of `scene` is shown from now on.
    pub fn begin(&mut self, scene: &Scene) {
        self.map = scene.ground.as_ref().map(|ground| ground.size);
    }

    /// Whether no match was shown yet.
    pub fn is_first(&self) -> bool {
        self.map.is_none()
    }

    /// Matches that were shown before this one.
    pub fn before(&self) -> usize {
        self.before
    }
}
