//! Actors: the simulated peers. Each sends bytes and checks what it receives.
//!
//! An actor sees only its own bytes; [`Context`] holds what its checks may know besides.

mod agent;
mod byzantine;
mod operator;
mod viewer;

pub(crate) use operator::draw_line;

use trantor_client::Language;
use trantor_engine::{ConnId, EngineConfig};
use trantor_protocol::text::{Cut, LineCutter};
use trantor_time::{RealSpan, RealTime};

use crate::fault::FaultInjector;
use crate::picture::{Picture, Pictures};
use crate::plan::Role;
use crate::playback::Received;
use crate::rng::Rng;

/// What an actor is created with, for a new connection.
pub(crate) struct Birth<'a> {
    pub(crate) now: RealTime,
    pub(crate) config: &'a EngineConfig,
    /// It may present this one.
    pub(crate) token: Option<String>,
    /// There are so many text viewers that the engine serves this one in rotation.
    pub(crate) is_rotated: bool,
}

/// What an actor may know when it receives or acts.
pub(crate) struct Context<'a> {
    pub(crate) now: RealTime,
    pub(crate) injector: &'a FaultInjector,
    /// It starts nothing new.
    pub(crate) is_settling: bool,
    /// The world at the end of each tick.
    pub(crate) pictures: &'a Pictures,
    /// The playback has been moved by a seek.
    pub(crate) has_seeked: bool,
    /// The engine's name for its connection, while that is open.
    pub(crate) conn: Option<ConnId>,
    /// It presents the token that was in force all the time.
    pub(crate) has_right_token: bool,
}

/// The error describes the broken rule.
pub(crate) type CheckResult = anyhow::Result<()>;

/// The peer's end of one connection.
pub(crate) trait Actor {
    /// Bytes arrived.
    fn receive(&mut self, bytes: &[u8], context: &Context<'_>) -> CheckResult;
    /// Appends what it sends to `out`. `false` disconnects.
    fn act(&mut self, context: &Context<'_>, rng: &mut Rng, out: &mut Vec<u8>) -> bool;
    /// Instant of its next action.
    fn wake(&self) -> Option<RealTime>;
    /// Pause before it reads again, while there are faults.
    fn reading_pause(&self) -> RealSpan {
        RealSpan::ZERO
    }
    /// The connection has ended. Returns lines that it received, to be compared with a replay of the journal.
    fn disconnected(&mut self, _now: RealTime) -> Option<Received> {
        None
    }
    /// Invariants while nothing is in flight in either direction.
    fn check_quiet(&self, _now: RealTime) -> CheckResult {
        Ok(())
    }
    /// Invariants at the end of the run, if it is connected.
    fn check_done(&self) -> CheckResult {
        Ok(())
    }
    /// Comparisons of its world with the server's.
    fn worlds_compared(&self) -> u64 {
        0
    }
    /// Whether [`Self::check_world`] can be called.
    fn knows_world(&self) -> bool {
        false
    }
    /// Compares its world with the server's, while nothing is in flight. `steps` is the number of deadlines fired, if a
    /// replay of the journal sends the same lines from here on.
    fn check_world(&mut self, _truth: &Picture, _steps: Option<u64>) -> CheckResult {
        Ok(())
    }
}

/// An actor for a role.
pub(crate) fn create(role: Role, birth: Birth<'_>, rng: &mut Rng) -> Box<dyn Actor> {
    match role {
        Role::Steady | Role::Random | Role::Incanter | Role::Flooder | Role::SlowReader => {
            Box::new(agent::Agent::new(role, birth.config, rng))
        }
        Role::Byzantine => Box::new(byzantine::Byzantine::new(birth.config, birth.now)),
        Role::Operator => Box::new(operator::Operator::new(birth.config, birth.token)),
        Role::Viewer => Box::new(viewer::Viewer::new(Language::Frames, birth, rng)),
        Role::TextViewer => Box::new(viewer::Viewer::new(Language::Text, birth, rng)),
    }
}

/// The lines that end in `bytes`.
fn lines(cutter: &mut LineCutter, mut bytes: &[u8]) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    while let Some(cut) = cutter.next(&mut bytes) {
        match cut {
            Cut::Line(line) => lines.push(line.to_vec()),
            Cut::TooLong => anyhow::bail!("the server sent an overlong line"),
        }
    }
    Ok(lines)
}
