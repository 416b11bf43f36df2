//! What happens to game time when the work cannot be done in time: the game slows.
//!
//! Work is chained from nominal deadlines, so a machine that cannot keep up would owe a debt that grows for
//! ever. The rule: **the game clock never runs more than `L` ahead of the oldest work not yet done.**
//!
//! ```text
//! limit = earliest game deadline + L · f
//! G     = max(G of the last pass, min(now, limit))
//! if G < now, the clock slips to G
//! ```
//!
//! Game time never goes back, and no event is lost or re-ordered; the game is merely slower. The one state is a
//! few counters; which deadline is earliest is the caller's to know.

use crate::game_clock::GameClock;
use crate::units::{Frequency, GameSpan, GameTime, RealSpan, RealTime};

/// The largest lag allowed by default.
///
/// Above the ordinary hiccups of a shared machine (50 to 100 ms), so that those do not slow the game; below
/// what a player would call broken.
pub const OVERLOAD_MAX: RealSpan = RealSpan::from_millis(250);

/// Reads the game clock once a pass, and lets it slip when the work falls too far behind.
#[derive(Clone, Debug)]
pub struct OverloadGovernor {
    /// `None`: debts are paid in full, however long that takes.
    overload_max: Option<RealSpan>,
    last: Option<GameTime>,
    slips: u64,
    slipped: GameSpan,
}

impl OverloadGovernor {
    /// A governor that allows a lag of `overload_max`; `None` switches the rule off.
    ///
    /// # Panics
    /// If `overload_max` is negative; settings are checked where they are read.
    pub fn new(overload_max: Option<RealSpan>) -> Self {
        assert!(
            overload_max.is_none_or(|overload_max| overload_max >= RealSpan::ZERO),
            "a lag is not negative"
        );
        Self {
            overload_max,
            last: None,
            slips: 0,
            slipped: GameSpan::ZERO,
        }
    }

    /// Game time for the pass whose sample is `real`; `earliest` is the first game deadline not yet run.
    pub fn read(&mut self, clock: &mut GameClock, real: RealTime, earliest: Option<GameTime>) -> GameTime {
        let now = clock.now(real);
        let governed = match (self.overload_max, earliest) {
            (Some(overload_max), Some(earliest)) => {
                // A clock that was set or stepped since the last pass may stand beyond the limit: it stays.
                let anchor = clock.anchor().1;
                let reached = self.last.map_or(anchor, |last| last.max(anchor));
                reached.max(now.min(limit(earliest, overload_max, clock.frequency())))
            }
            _ => now,
        };
        if governed < now {
            self.slips += 1;
            self.slipped += now - governed;
            clock.slip(real, governed);
        }
        self.last = Some(governed);
        governed
    }

    /// Whether a clock of this speed may show `at` while `earliest` is the first game deadline not yet run.
    pub fn allows(&self, at: GameTime, earliest: Option<GameTime>, frequency: Frequency) -> bool {
        match (self.overload_max, earliest) {
            (Some(overload_max), Some(earliest)) => at <= limit(earliest, overload_max, frequency),
            _ => true,
        }
    }

    /// The clock was set to another moment, which may be earlier: what it showed before no longer counts.
    pub fn restart(&mut self) {
        self.last = None;
    }

    /// How often the clock slipped.
    pub fn slips(&self) -> u64 {
        self.slips
    }

    /// By how much it slipped altogether.
    pub fn slipped(&self) -> GameSpan {
        self.slipped
    }
}

/// The furthest that game time goes while `earliest` is not yet run.
fn limit(earliest: GameTime, overload_max: RealSpan, frequency: Frequency) -> GameTime {
    let lag_nu = i128::from(overload_max.as_nanos()) * i128::from(frequency.get());
    earliest + GameSpan::from_nanounits(lag_nu)
}
