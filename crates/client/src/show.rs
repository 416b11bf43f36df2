//! A world that is complete: the newest known, and the one on the screen.
//!
//! What both kinds of session share. Whatever is told goes through here to the mirror first, which checks it,
//! and then to the timeline, which shows it when it is due.

use std::sync::Arc;

use trantor_protocol::wire::{Change, History, ScorePoint};
use trantor_time::GameTime;

use crate::clock_sync::ServerTime;
use crate::display_clock::DisplayClock;
use crate::error::{StreamError, WorldError};
use crate::feed::FeedEntry;
use crate::mirror::Mirror;
use crate::scene::{Scene, SceneTeam};
use crate::stats::ClientStats;
use crate::timeline::Timeline;

/// The newest world, and what of it is shown.
#[derive(Debug)]
pub struct Show {
    mirror: Mirror,
    timeline: Timeline,
    teams: Vec<Arc<str>>,
    /// How the score went before, until that is read.
    scores: Option<Vec<ScorePoint>>,
}

impl Show {
    /// Shows `mirror`, which is complete. `version` is that of the last ground shown, 0 if none was; `history` is what
    /// happened before, if that was told.
    pub fn new(
        mut mirror: Mirror,
        teams: Vec<Arc<str>>,
        clock: DisplayClock,
        version: u64,
        history: Option<History>,
    ) -> Self {
        let mut timeline = Timeline::new(&mut mirror, clock, version);
        let scores = history.map(|History { scores, events }| {
            events.into_iter().for_each(|entry| timeline.push_past(entry));
            scores
        });
        Self {
            timeline,
            mirror,
            teams,
            scores,
        }
    }

    /// How the score went before this world was told, once, if that was told with it.
    pub fn take_scores(&mut self) -> Option<Vec<ScorePoint>> {
        self.scores.take()
    }

    /// Gives the clock and the last version of the ground back, for the world that replaces this one.
    pub fn into_clock(self) -> (DisplayClock, u64) {
        let version = self.timeline.ground_version();
        (self.timeline.into_clock(), version)
    }

    /// The newest world known.
    pub fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Which moment is shown.
    pub fn clock(&self) -> &DisplayClock {
        &self.timeline.clock
    }

    /// Which moment is shown.
    pub fn clock_mut(&mut self) -> &mut DisplayClock {
        &mut self.timeline.clock
    }

    /// Changes of game time `at` follow.
    ///
    /// # Errors
    /// If game time went back.
    pub fn advance(&mut self, at: GameTime) -> Result<(), StreamError> {
        self.mirror.advance(at)
    }

    /// Takes one change of the moment told last, which is `at`.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn apply(&mut self, at: GameTime, change: Change) -> Result<(), WorldError> {
        self.mirror.apply(&change)?;
        self.timeline.push(at, change);
        Ok(())
    }

    /// Takes the start of an action that began at `at`, before what was told last: servers of another kind tell
    /// of actions when they are over. The agent must have been there then. It is shown, and not mirrored.
    pub fn apply_late_start(&mut self, at: GameTime, change: Change) {
        self.timeline.push(at, change);
    }

    /// There is one more team.
    pub fn add_team(&mut self, name: Arc<str>) {
        self.mirror.add_team();
        self.timeline.add_team();
        self.teams.push(name);
    }

    /// The names of the teams in the order of their ids.
    pub fn teams(&self) -> &[Arc<str>] {
        &self.teams
    }

    /// What was shown and not yet read.
    pub fn poll_feed(&mut self) -> Option<FeedEntry> {
        self.timeline.poll_feed()
    }

    /// Writes the scene of the instant at which the server's clock shows `server_now`, except for the link and
    /// what the controls say.
    pub fn scene(&mut self, server_now: ServerTime, scene: &mut Scene) {
        let known = scene.teams.iter().map(|team| &team.name);
        if !known.eq(&self.teams) {
            scene.teams.clear();
            scene.teams.extend(self.teams.iter().map(|name| SceneTeam {
                name: name.clone(),
                ..SceneTeam::default()
            }));
        }
        self.timeline.scene(server_now, &self.mirror, scene);
    }

    /// Adds what is known here to the figures for the HUD.
    pub fn count(&self, stats: &mut ClientStats) {
        stats.display_delay_ns = self.timeline.clock.delay_ns();
        stats.pending = self.timeline.pending();
        stats.late = self.timeline.late();
        stats.hurried = self.timeline.hurried();
    }
}
