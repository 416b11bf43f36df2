//! Those at the other ends of the connections: each says, hears and judges what it hears.
//!
//! An actor sees no more than its own bytes; what it may know besides, to judge by, is in [`Moment`].

mod agent;
mod byzantine;
mod operator;
mod text_viewer;
mod viewer;

use trantor_client::Client;
use trantor_engine::{ConnId, EngineConfig};
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::access::{Allowed, TokenNumber};
use crate::fault::Sabotage;
use crate::picture::{Picture, Pictures};
use crate::plan::Role;
use crate::replayed::Received;
use crate::rng::Rng;

/// What an actor may know when it hears or acts.
pub(crate) struct Moment<'a> {
    pub(crate) now: RealTime,
    /// The game never answers for an instant before this.
    pub(crate) game_least: GameTime,
    /// Nor for one after this.
    pub(crate) game_most: GameTime,
    /// The world at the end of each tick.
    pub(crate) pictures: &'a Pictures,
    /// A recording was moved.
    pub(crate) has_moved: bool,
    /// Its own connection.
    pub(crate) conn: ConnId,
    /// How much later than it happens it is told of the game.
    pub(crate) delay: RealSpan,
    /// What it may have been answered that wants to control the server.
    pub(crate) allowed: Allowed,
}

/// What breaks a rule, in words.
pub(crate) type CheckResult = Result<(), String>;

/// One end of a connection.
pub(crate) trait Actor {
    /// A connection was opened, on which it may show this token; nothing of the last one counts any more.
    fn opened(&mut self, token: Option<TokenNumber>, now: RealTime);
    /// Bytes arrived.
    fn hear(&mut self, bytes: &[u8], moment: &Moment<'_>, sabotage: &mut Sabotage) -> CheckResult;
    /// Does what it does by itself; what it says goes into `out`. `false` hangs up.
    fn act(&mut self, moment: &Moment<'_>, rng: &mut Rng, out: &mut Vec<u8>) -> bool;
    /// When it wants to act again.
    fn wake(&self) -> Option<RealTime>;
    /// How long it leaves what arrives next unread.
    fn reading_pause(&self) -> RealSpan {
        RealSpan::ZERO
    }
    /// From now on it begins nothing new and reads at once.
    fn rest(&mut self);
    /// The connection is over.
    fn gone(&mut self, now: RealTime);
    /// What must be so while nothing is under way in either direction.
    fn check_quiet(&self, _now: RealTime) -> CheckResult {
        Ok(())
    }
    /// What must be so in the end, as long as it is connected.
    fn check_done(&self, _now: RealTime) -> CheckResult {
        Ok(())
    }
    /// Times at which it compared its mirror with the world.
    fn mirrors_compared(&self) -> u64 {
        0
    }
    /// Times at which it compared all that it was told with the world.
    fn worlds_compared(&self) -> u64 {
        0
    }
    /// How often it was refused for the token it showed.
    fn tokens_refused(&self) -> u64 {
        0
    }
    /// Whether it was told all of the world, and not only of single ticks.
    fn knows_world(&self) -> bool {
        false
    }
    /// Compares what it knows with the world, when nothing is under way to it and [`Self::knows_world`]. `steps` are the
    /// deadlines carried out until then, where a replay of the journal sends it the same from there on.
    fn check_world(&mut self, _truth: &Picture, _steps: Option<u64>) -> CheckResult {
        Ok(())
    }
    /// The lines that it received on the connection that is over, to be compared with a replay of the journal.
    fn take_received(&mut self) -> Option<Received> {
        None
    }
}

/// An actor for a role. Of many viewers in text some take turns.
pub(crate) fn cast(role: Role, config: &EngineConfig, takes_turns: bool, rng: &mut Rng) -> Box<dyn Actor> {
    match role {
        Role::Steady | Role::Random | Role::Asker | Role::Flooder | Role::SlowReader => {
            Box::new(agent::Agent::new(role, config, rng))
        }
        Role::Byzantine => Box::new(byzantine::Byzantine::new(config)),
        Role::Operator => Box::new(operator::Operator::new()),
        Role::Viewer => Box::new(viewer::Viewer::new(rng)),
        Role::TextViewer => Box::new(text_viewer::TextViewer::new(config, takes_turns)),
    }
}

/// Moves what a client of ours has to say into `out`.
fn take_unsent(client: &mut Client, out: &mut Vec<u8>) {
    let unsent = client.unsent();
    let count = unsent.len();
    out.extend_from_slice(unsent);
    if count > 0 {
        client.sent(count);
    }
}
