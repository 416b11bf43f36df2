//! Checks lock-step: game time advances only when each agent has a command or the cap has passed.

use std::collections::BTreeSet;

use trantor_engine::{Engine, LockStepState};
use trantor_model::AgentId;
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::actors::CheckResult;

/// State for the check of the next deadline.
#[derive(Debug)]
pub(crate) struct LockStepCheck {
    /// The longest wait at one instant; `None` if the game is not in lock-step.
    cap: Option<RealSpan>,
    /// The current instant of the game, and since when it lasts.
    moment: Option<(GameTime, RealTime)>,
    /// Agents that exceeded the cap and have started no command since.
    timed_out: BTreeSet<AgentId>,
    /// Instants passed.
    pub(crate) advances: u64,
    /// Instants passed because of the cap.
    pub(crate) waited: u64,
}

/// State of the game before a deadline fires.
#[derive(Debug)]
pub(crate) struct StateBefore {
    at: GameTime,
    /// A deadline at this instant, other than a start, fires without waiting.
    is_due_now: bool,
    state: LockStepState,
    idle_agents: BTreeSet<AgentId>,
    living: usize,
}

impl LockStepCheck {
    pub(crate) fn new(cap: Option<RealSpan>) -> Self {
        Self {
            cap,
            moment: None,
            timed_out: BTreeSet::new(),
            advances: 0,
            waited: 0,
        }
    }

    /// The server restarts.
    pub(crate) fn forget(&mut self) {
        self.moment = None;
        self.timed_out.clear();
    }

    /// Records the state of a lock-step game before a deadline fires.
    pub(crate) fn before_fire(&mut self, engine: &Engine, now: RealTime) -> Option<StateBefore> {
        let state = engine.lock_step_state()?;
        let game = engine.game();
        let at = game.now();
        if self.moment.is_none_or(|(moment, _)| moment != at) {
            self.moment = Some((at, now));
        }
        for agent in game.world().agents().filter(|agent| agent.action().is_some()) {
            self.timed_out.remove(&agent.id());
        }
        Some(StateBefore {
            at,
            is_due_now: game.next_deadline() == Some(at) && !game.is_start_next(),
            state,
            idle_agents: game.idle_agents().collect(),
            living: game.world().agents().len(),
        })
    }

    /// Checks that the deadline was allowed to fire.
    pub(crate) fn check_fired(
        &mut self,
        before: &StateBefore,
        engine: &Engine,
        now: RealTime,
    ) -> CheckResult {
        let standing_for = self.moment.map_or(RealSpan::ZERO, |(_, since)| now.since(since));
        let has_waited = self.cap.is_some_and(|cap| standing_for >= cap);
        let may_advance = match before.state {
            LockStepState::Playing { .. } => true,
            // The wait for free places may have reached the cap.
            LockStepState::Gathering { .. } => has_waited,
            LockStepState::Frozen => false,
        };
        if !may_advance {
            return Err(format!(
                "the game advances at {:?} although it is {:?}",
                before.at, before.state
            ));
        }
        if before.is_due_now {
            return Ok(());
        }
        self.advances += u64::from(engine.game().now() > before.at);
        if has_waited {
            self.waited += u64::from(!before.idle_agents.is_empty());
            self.timed_out.extend(&before.idle_agents);
            return Ok(());
        }
        if let Some(agent) = before
            .idle_agents
            .iter()
            .find(|agent| !self.timed_out.contains(agent))
        {
            return Err(format!(
                "the game advances from {:?} while {agent:?} is idle",
                before.at
            ));
        }
        // Else time would advance at once until all agents starve.
        match before.living > 0 && before.idle_agents.len() == before.living {
            true => Err(format!(
                "the game advances from {:?} while all agents are idle",
                before.at
            )),
            false => Ok(()),
        }
    }

    /// Between two passes: the game does not wait while no agent is idle.
    pub(crate) fn check_idle(&self, engine: &Engine) -> CheckResult {
        let is_playing = matches!(engine.lock_step_state(), Some(LockStepState::Playing { .. }));
        let is_idle = is_playing && engine.is_started() && engine.game().idle_agents().next().is_none();
        match engine.game().next_deadline() {
            Some(due) if is_idle => Err(format!(
                "no agent is idle, and the deadline at {due:?} has not fired"
            )),
            _ => Ok(()),
        }
    }
}
