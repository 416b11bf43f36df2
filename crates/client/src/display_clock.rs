//! Which moment of the game is shown at which instant.
//!
//! What is shown lies a little in the past, by a *delay* just long enough that everything that happened until
//! then has been received: one tick and the way here, measured. On the server's own axis of real time the display
//! stands at `server's now - delay`, and the server's anchors say what the game clock showed there. So a
//! change of speed or a pause takes effect on the screen at exactly the game moment it had on the server.
//!
//! Game time shown does not jump: where the server's game time jumps (a step, an anchor that came late, or a
//! link that stalled), the display glides after it. It runs at most a quarter of a second ahead of what was received
//! completely. If the anchor of a slower game comes late, the display waits for the game to come as far; only
//! where that would take too long does it go back at once. Nothing later than the truth has been shown by then, since
//! nothing later was received. A game time is a number here; what happened at it is [`crate::timeline`]'s.

use std::collections::VecDeque;

use trantor_time::{Frequency, GameSpan, GameTime};

use crate::clock_sync::ServerTime;
use crate::push_bounded;

/// Anchors kept. Those in the past go as they are passed, so this many changes of speed may happen within one
/// delay; of more, the oldest are forgotten early.
const ANCHORS_MAX: usize = 64;

/// How long a glide after a jump takes, in nanoseconds: long enough for the eye to follow.
const GLIDE_NS: i64 = 150_000_000;

/// The delay changes by at most one part in this many of the time that passes: ten percent of speed is not seen.
const DELAY_SLEW_DIVISOR: i64 = 10;

/// The delay is aimed at whole multiples of this, in nanoseconds, above what is needed, so that jitter of
/// less does not move it all the time.
const DELAY_STEP_NS: i64 = 4_000_000;

/// The longest delay: what takes longer to arrive is shown late.
const DELAY_NS_MAX: i64 = 1_000_000_000;

/// How far the display runs ahead of what was received completely, in nanoseconds: hiccups of a link are shorter. It is
/// also how long the display waits for a game that it is ahead of, since it gets no further ahead by the first.
const AHEAD_NS_MAX: i64 = 250_000_000;

/// Ticks from whose arrival the delay is computed: six seconds' worth.
const ARRIVALS_KEPT: usize = 128;

/// What the game clock showed at an instant of the server's clock, and how it moves from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    pub at: ServerTime,
    pub game: GameTime,
    pub frequency: Frequency,
    pub paused: bool,
}

#[derive(Debug)]
pub struct DisplayClock {
    /// Oldest first; the first is in force at `at`, the others lie ahead of it.
    anchors: VecDeque<Anchor>,
    /// Where the display stands on the server's axis; `None` before the first frame.
    at: Option<ServerTime>,
    server_now: ServerTime,
    delay_ns: i64,
    delay_target_ns: i64,
    arrivals: VecDeque<i64>,
    /// Everything until then was received; `None` where the server does not say so.
    complete_to: Option<ServerTime>,
    /// How far the display is behind the anchors in a glide, and how long the glide still takes.
    behind: GameSpan,
    glide_left_ns: i64,
    shown: GameTime,
    /// The moment of the world as it was loaded: there is nothing to show before it.
    begin: GameTime,
    /// Where a recording ends: nothing is shown beyond it, though the anchor that stops the clock there comes late.
    end: Option<GameTime>,
    /// Whether what is shown stays until another world is there: the server went to another moment.
    is_held: bool,
}

impl DisplayClock {
    /// A clock that shows nothing yet, and begins with this delay.
    pub fn new(delay_ns: i64) -> Self {
        let delay_ns = delay_ns.clamp(0, DELAY_NS_MAX);
        Self {
            anchors: VecDeque::with_capacity(ANCHORS_MAX),
            at: None,
            server_now: ServerTime::from_nanos(i64::MIN),
            delay_ns,
            delay_target_ns: delay_ns,
            arrivals: VecDeque::with_capacity(ARRIVALS_KEPT),
            complete_to: None,
            behind: GameSpan::ZERO,
            glide_left_ns: 0,
            shown: GameTime::ZERO,
            begin: GameTime::ZERO,
            end: None,
            is_held: false,
        }
    }

    /// What is shown is a recording that ends at `end`.
    pub fn set_end(&mut self, end: GameTime) {
        self.end = Some(end);
    }

    /// A world of game time `at` was loaded: that moment is shown until the display's own has come, also if
    /// it lies before what was shown so far.
    pub fn restart(&mut self, at: GameTime) {
        self.shown = at;
        self.begin = at;
        self.behind = GameSpan::ZERO;
        self.glide_left_ns = 0;
        self.is_held = false;
    }

    /// The server goes to another moment, which the next anchor gives: earlier anchors hold no more, and the
    /// moment shown stays until a world is loaded.
    pub fn forget_anchors(&mut self) {
        self.anchors.clear();
        self.behind = GameSpan::ZERO;
        self.glide_left_ns = 0;
        self.is_held = true;
    }

    /// The server sent how its game clock moves. Anchors come in the order of their instants.
    pub fn anchor(&mut self, anchor: Anchor) {
        let before = self.nominal();
        push_bounded(&mut self.anchors, anchor, ANCHORS_MAX);
        self.forget_passed();
        // The anchor lies before the moment shown: glide to where the game really is.
        if let (Some(before), Some(after)) = (before, self.nominal())
            && after > before
        {
            self.glide(after - before);
        }
    }

    /// Everything that happened from `complete_from` to `complete_to` had arrived when the server's clock showed
    /// `server_now`.
    pub fn arrived(&mut self, complete_from: ServerTime, complete_to: ServerTime, server_now: ServerTime) {
        self.complete_to = self.complete_to.max(Some(complete_to));
        let age_ns = server_now.since_ns(complete_from);
        push_bounded(&mut self.arrivals, age_ns, ARRIVALS_KEPT);
        let needed_ns = self.arrivals.iter().copied().max().unwrap_or(0);
        let aim_ns = (needed_ns.min(DELAY_NS_MAX) / DELAY_STEP_NS + 2) * DELAY_STEP_NS;
        // Longer at once, shorter only when it is worth it.
        if aim_ns > self.delay_target_ns || aim_ns < self.delay_target_ns - 2 * DELAY_STEP_NS {
            self.aim(aim_ns);
        }
    }

    /// The delay to move to, in nanoseconds.
    pub fn aim(&mut self, delay_ns: i64) {
        self.delay_target_ns = delay_ns.clamp(0, DELAY_NS_MAX);
    }

    /// Moves on to when the server's clock shows `server_now`, and returns the moment to show: less than before only
    /// if that was too far ahead of the game.
    pub fn advance(&mut self, server_now: ServerTime) -> GameTime {
        let Some(last_at) = self.at else {
            self.server_now = server_now;
            self.delay_ns = self.delay_target_ns;
            self.at = Some(self.stands_at());
            self.forget_passed();
            if !self.is_held {
                self.shown = self.shown.max(self.nominal().unwrap_or(self.shown));
            }
            return self.shown;
        };
        let passed_ns = server_now.since_ns(self.server_now);
        self.server_now = self.server_now.max(server_now);
        let slew_ns = passed_ns / DELAY_SLEW_DIVISOR;
        let delay_before_ns = self.delay_ns;
        self.delay_ns += (self.delay_target_ns - self.delay_ns).clamp(-slew_ns, slew_ns);
        let at = self.stands_at().max(last_at);

        self.decay(passed_ns);
        // A display that stood still while nothing came has more to catch up with than what passed.
        let steady = last_at
            .saturating_add_ns(passed_ns + delay_before_ns - self.delay_ns)
            .min(at);
        self.glide(self.jumps_until(steady));
        if let (Some(steady), Some(game)) = (self.game_at(steady), self.game_at(at)) {
            self.glide(game - steady);
        }
        self.at = Some(at);
        self.forget_passed();
        if self.is_held {
            return self.shown;
        }
        let game = self.nominal().unwrap_or(self.shown);
        let game = self.end.map_or(game, |end| game.min(end)).max(self.begin);
        if self.is_too_far_ahead_of(game) {
            self.shown = game;
            self.behind = GameSpan::ZERO;
        }
        self.shown = (game - self.behind).max(self.shown);
        self.shown
    }

    /// How far the display is behind the server's present, in nanoseconds.
    pub fn delay_ns(&self) -> i64 {
        self.delay_ns
    }

    /// The speed in force at the moment shown, in units a second; `None` before the first anchor.
    pub fn frequency(&self) -> Option<Frequency> {
        self.anchors.front().map(|anchor| anchor.frequency)
    }

    /// What the server's game clock shows at an instant of its own, by the anchors so far.
    pub fn game_at(&self, at: ServerTime) -> Option<GameTime> {
        let place = self
            .anchors
            .iter()
            .rposition(|anchor| anchor.at <= at)
            .unwrap_or(0);
        let next = self.anchors.get(place + 1);
        let game = self.anchors.get(place)?.game_at(at);
        // A server that could not keep pace sends an anchor behind where its clock would have been: the game
        // stood still until then.
        Some(next.map_or(game, |next| game.min(next.game).max(self.anchors[place].game)))
    }

    /// Where the display stands now on the server's axis, if it did not stand further on before.
    fn stands_at(&self) -> ServerTime {
        let at = self.server_now.saturating_add_ns(-self.delay_ns);
        let limit = self
            .complete_to
            .map(|complete| complete.saturating_add_ns(AHEAD_NS_MAX));
        limit.map_or(at, |limit| at.min(limit))
    }

    /// Whether the game, which is at `game`, takes too long to come to the moment shown.
    fn is_too_far_ahead_of(&self, game: GameTime) -> bool {
        let Some(anchor) = self.anchors.front() else {
            return false;
        };
        let waits_ns = if anchor.paused { 0 } else { AHEAD_NS_MAX };
        let comes = i128::from(waits_ns) * i128::from(anchor.frequency.get());
        self.shown - game > GameSpan::from_nanounits(comes)
    }

    /// What the anchors say about where the display stands.
    fn nominal(&self) -> Option<GameTime> {
        self.game_at(self.at?)
    }

    /// Jumps of game time ahead between where the display stands and `at`: steps of a paused game.
    fn jumps_until(&self, at: ServerTime) -> GameSpan {
        let mut jumps = GameSpan::ZERO;
        for (before, anchor) in self.anchors.iter().zip(self.anchors.iter().skip(1)) {
            if anchor.at > at {
                break;
            }
            let reached = before.game_at(anchor.at);
            if anchor.game > reached {
                jumps += anchor.game - reached;
            }
        }
        jumps
    }

    fn glide(&mut self, span: GameSpan) {
        if span > GameSpan::ZERO {
            self.behind += span;
            self.glide_left_ns = GLIDE_NS;
        }
    }

    fn decay(&mut self, passed_ns: i64) {
        let left_ns = self.glide_left_ns.saturating_sub(passed_ns).max(0);
        self.behind = match self.glide_left_ns {
            0 => GameSpan::ZERO,
            of_ns => scaled(self.behind, left_ns, of_ns),
        };
        self.glide_left_ns = left_ns;
    }

    fn forget_passed(&mut self) {
        let Some(at) = self.at else { return };
        while self.anchors.get(1).is_some_and(|next| next.at <= at) {
            self.anchors.pop_front();
        }
    }
}

impl Anchor {
    /// What the game clock shows at an instant, by this anchor alone; at its own game time before its own.
    fn game_at(&self, at: ServerTime) -> GameTime {
        if self.paused {
            return self.game;
        }
        let passed_ns = i128::from(at.since_ns(self.at));
        self.game + GameSpan::from_nanounits(passed_ns * i128::from(self.frequency.get()))
    }
}

/// `span · part / of` without leaving the range: `part` and `of` are nanoseconds below a second.
fn scaled(span: GameSpan, part: i64, of: i64) -> GameSpan {
    let nanounits = span.as_nanounits();
    let product = nanounits.checked_mul(i128::from(part));
    GameSpan::from_nanounits(match product {
        Some(product) => product / i128::from(of),
        None => nanounits / i128::from(of) * i128::from(part),
    })
}
