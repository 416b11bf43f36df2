//! Lock-step: game time advances only without idle agents, or after the wait reached its cap.

use std::collections::BTreeSet;

use trantor_engine::{Engine, LockStepState};
use trantor_model::AgentId;
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::actors::CheckResult;

/// What it needs to know to judge the next thing that is carried out.
#[derive(Debug)]
pub(crate) struct LockStepCheck {
    /// The longest wait at one moment; `None` if the game is not in lock-step.
    cap: Option<RealSpan>,
    /// A moment of the game, and since when it stands there.
    moment: Option<(GameTime, RealTime)>,
    /// Who was waited for in vain, and has begun nothing since.
    given_up: BTreeSet<AgentId>,
    /// Moments that were passed.
    pub(crate) leaps: u64,
    /// Those of them that had been waited at for as long as is allowed.
    pub(crate) waited: u64,
}

/// How the game stood before something was carried out.
#[derive(Debug)]
pub(crate) struct Stand {
    at: GameTime,
    /// What is due now and is no start belongs to the moment: it waits for nobody.
    belongs_to_moment: bool,
    state: LockStepState,
    idle: BTreeSet<AgentId>,
    living: usize,
}

impl LockStepCheck {
    pub(crate) fn new(cap: Option<RealSpan>) -> Self {
        Self {
            cap,
            moment: None,
            given_up: BTreeSet::new(),
            leaps: 0,
            waited: 0,
        }
    }

    /// The server begins anew.
    pub(crate) fn forget(&mut self) {
        self.moment = None;
        self.given_up.clear();
    }

    /// Looks at a game in lock-step before something is carried out.
    pub(crate) fn look(&mut self, engine: &Engine, now: RealTime) -> Option<Stand> {
        let state = engine.lock_step_state()?;
        let game = engine.game();
        let at = game.now();
        if self.moment.is_none_or(|(moment, _)| moment != at) {
            self.moment = Some((at, now));
        }
        for agent in game.world().agents().filter(|agent| agent.action().is_some()) {
            self.given_up.remove(&agent.id());
        }
        Some(Stand {
            at,
            belongs_to_moment: game.next_deadline() == Some(at) && !game.is_start_next(),
            state,
            idle: game.idle_agents().collect(),
            living: game.world().agents().len(),
        })
    }

    /// Something of the game was carried out.
    pub(crate) fn judge(&mut self, before: &Stand, engine: &Engine, now: RealTime) -> CheckResult {
        let stands_for = self.moment.map_or(RealSpan::ZERO, |(_, since)| now.since(since));
        let has_waited = self.cap.is_some_and(|cap| stands_for >= cap);
        let may_go_on = match before.state {
            LockStepState::Playing { .. } => true,
            // The wait for the other places may end just before.
            LockStepState::Gathering { .. } => has_waited,
            LockStepState::Frozen => false,
        };
        if !may_go_on {
            return Err(format!(
                "the game advanced at {:?} although it is {:?}",
                before.at, before.state
            ));
        }
        if before.belongs_to_moment {
            return Ok(());
        }
        self.leaps += u64::from(engine.game().now() > before.at);
        if has_waited {
            self.waited += u64::from(!before.idle.is_empty());
            self.given_up.extend(&before.idle);
            return Ok(());
        }
        if let Some(agent) = before.idle.iter().find(|agent| !self.given_up.contains(agent)) {
            return Err(format!(
                "the game advanced from {:?} while {agent:?} was idle",
                before.at
            ));
        }
        // Else time would leap to their death.
        match before.living > 0 && before.idle.len() == before.living {
            true => Err(format!(
                "the game advanced from {:?} while all agents were idle",
                before.at
            )),
            false => Ok(()),
        }
    }

    /// Between two passes: without idle agents the game does not wait.
    pub(crate) fn check_rest(&self, engine: &Engine) -> CheckResult {
        let is_playing = matches!(engine.lock_step_state(), Some(LockStepState::Playing { .. }));
        let is_idle = is_playing && engine.is_started() && engine.game().idle_agents().next().is_none();
        match engine.game().next_deadline() {
            Some(due) if is_idle => Err(format!("no agent is idle, but the deadline at {due:?} waits")),
            _ => Ok(()),
        }
    }
}
