//! Fan-out: what one agent's command makes the server send to other agents, and the limit on it.
//!
//! A broadcast goes to every other agent and a push to all on the tile, so that one line in may be thousands out. Each team has
//! a token bucket for them. A command is charged by an estimate when it is accepted, since up to ten wait in the game and all of them
//! will be carried out; what it turns out to send beyond the estimate is charged then. While the bucket is in debt the
//! team's next command of that kind waits, and its connection is not read. What the game has accepted is never delayed or
//! changed. In lock-step game time waits for the agents, and there is no such limit.

use trantor_game::OUTSTANDING_MAX;
use trantor_model::{AgentId, Command};
use trantor_time::RealTime;

use super::Engine;
use crate::limits;

impl Engine {
    /// Charges a command that is about to be accepted; answers until when it has to wait, if it does.
    pub(super) fn charge_estimate(
        &mut self,
        agent: AgentId,
        command: &Command,
        now: RealTime,
    ) -> Option<RealTime> {
        if self.lock_step.is_some() || !matches!(command, Command::Broadcast(_) | Command::Eject) {
            return None;
        }
        let world = self.game.world();
        // What does not fit the agent's queue is dropped, and sends nothing.
        let actor = world
            .agent(agent)
            .filter(|actor| actor.outstanding() < OUTSTANDING_MAX)?;
        let (receivers, bytes) = match command {
            Command::Broadcast(text) => (world.agents().len(), text.len()),
            _ => (world.agents_on(actor.tile()).len(), 0),
        };
        let others = u32::try_from(receivers - 1).unwrap_or(u32::MAX);
        let estimate = tokens(bytes).saturating_mul(others);
        if estimate == 0 {
            return None;
        }
        let per_second = self.config.limits.fan_out_per_second_of_team(self.fan_out.len());
        let bucket = self.fan_out.get_mut(usize::from(actor.team().0))?;
        let session = self.sessions.get_mut(self.sessions.of_agent(agent)?)?;
        session.flow.prepaid_tokens = session.flow.prepaid_tokens.saturating_add(estimate);
        let at = bucket.next_at(now, per_second);
        bucket.take(estimate);
        at
    }

    /// Charges an agent's team for the messages that its command has just sent, as far as they were not charged before.
    pub(super) fn charge_sent(&mut self, agent: AgentId, sent_tokens: u32) {
        let Some(actor) = self.game.world().agent(agent) else {
            return;
        };
        let conn = self.sessions.of_agent(agent);
        let mut unpaid = sent_tokens;
        if let Some(session) = conn.and_then(|conn| self.sessions.get_mut(conn)) {
            let prepaid = &mut session.flow.prepaid_tokens;
            unpaid = sent_tokens.saturating_sub(*prepaid);
            *prepaid = match actor.outstanding() {
                0 => 0,
                _ => prepaid.saturating_sub(sent_tokens),
            };
        }
        if let Some(bucket) = self.fan_out.get_mut(usize::from(actor.team().0)) {
            bucket.take(unpaid);
        }
    }
}

/// As how many tokens a message of so many bytes to one receiver counts.
pub(super) fn tokens(bytes: usize) -> u32 {
    u32::try_from(bytes / limits::FAN_OUT_BYTES_PER_TOKEN)
        .unwrap_or(u32::MAX)
        .saturating_add(1)
}
