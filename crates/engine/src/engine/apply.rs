//! The way into the game and out of it: every input is stamped and recorded, and every event is published.
//!
//! Fan-out: what one agent's command makes the server send to other agents, and the limit on it.
//!
//! A broadcast goes to every other agent and a push to all on the tile, so that one line in may be thousands out. Each team has
//! a token bucket for them. A command is charged by an estimate when it is accepted, since up to ten wait in the game and all of them
//! will be carried out; what it turns out to send beyond the estimate is charged then. While the bucket is in debt the
//! team's next command of that kind waits, and its connection is not read. What the game has accepted is never delayed or
//! changed. Looks at crowds and heaps are charged to the same buckets when they are sent: their bytes are as much work as those
//! of messages. In lock-step game time waits for the agents, and there is no such limit.

use std::sync::Arc;

use trantor_game::{GameEvent, GameInput, Handled, OUTSTANDING_MAX};
use trantor_model::{AgentId, Change, Command, GameRefusal, Percept};
use trantor_time::RealTime;

use super::Engine;
use crate::config::RefillUpdates;
use crate::limits;
use crate::replicate::{send_death, send_percept};
use crate::session::Session;
use crate::shell::Output;

impl Engine {
    /// Hands an input to the game. Its stamp is the game time at which it arrived. What comes from a peer while older work
    /// is due waits for that ([`Self::read`]); what the server itself does then comes before that work, in one total order.
    pub(crate) fn apply(&mut self, input: GameInput) -> Handled {
        let actor = match &input {
            GameInput::Command { agent, .. } => Some(*agent),
            _ => None,
        };
        let handled = self.apply_quietly(input);
        self.publish_events(actor);
        handled
    }

    /// As `apply`, leaving the events to be published by the caller.
    pub(crate) fn apply_quietly(&mut self, input: GameInput) -> Handled {
        if self.course.is_recorded() {
            // Nothing more happens in it than was recorded; a peer that asks for a place is refused.
            return Handled::Refused(GameRefusal::GameOver);
        }
        let at = self.course.arrived.unwrap_or_else(|| self.course.pace.game_now());
        let at = self.next_due().map_or(at, |due| at.min(due)).max(self.game.now());
        self.delivery.snapshots.world_changed();
        let recorded = self.record.recorder.is_some().then(|| input.clone());
        let handled = self.game.handle(input, at);
        if matches!(handled, Handled::Refused(_)) {
            // What is refused changes nothing, and an agent that floods the server would fill the disk.
            return handled;
        }
        if let Some((recorder, input)) = self.record.recorder.as_mut().zip(recorded)
            && recorder.input(&self.game, &input, at)
        {
            log::error!("the journal is not taken and grows beyond its bound: recording ends");
            self.record.recorder = None;
        }
        handled
    }

    /// Publishes events. What other agents are sent is charged to `actor`, whose command led to it.
    pub(crate) fn publish_events(&mut self, actor: Option<AgentId>) {
        if self.players.are_acting {
            // They are published once all minds have perceived those before.
            return;
        }
        let mut sent_tokens = 0_u32;
        while self.game.has_events() {
            sent_tokens = sent_tokens.saturating_add(self.publish_round(actor));
            // What comes of their decisions is published next.
            self.attend_minds();
        }
        self.delivery.text.publish_held_back(&mut self.sessions);
        if let Some(actor) = actor.filter(|_| sent_tokens > 0) {
            self.charge_sent(actor, sent_tokens);
        }
    }

    /// Publishes the events that there are; answers how many tokens the messages to agents but `actor` cost.
    fn publish_round(&mut self, actor: Option<AgentId>) -> u32 {
        let mut sent_tokens = 0_u32;
        while let Some(event) = self.game.poll_event() {
            if let Some(lock_step) = self.course.lock_step_mut() {
                lock_step.note(&self.game, self.players.minds.as_deref(), &event);
            }
            if let GameEvent::HeardByAll { speaker, text } = &event {
                sent_tokens = sent_tokens.saturating_add(self.send_to_hearers(*speaker, text));
            } else if let GameEvent::To { agent, percept } = &event
                && let Some(bytes) = send_percept(
                    &mut self.sessions,
                    &self.config,
                    &mut self.delivery.looks,
                    *agent,
                    percept,
                )
            {
                if matches!(percept, Percept::Look(_)) {
                    self.charge_look(*agent, bytes);
                } else if actor != Some(*agent) {
                    sent_tokens = sent_tokens.saturating_add(tokens(bytes));
                }
            }
            match &event {
                GameEvent::To { agent, percept } if !percept.is_of_others() => self.note_idle(*agent),
                GameEvent::Seen(change) => self.publish_change(change),
                _ => {}
            }
            if let Some(minds) = &mut self.players.minds {
                minds.note(event);
            }
        }
        sent_tokens
    }

    /// Publishes a change to viewers, and does what follows from it.
    fn publish_change(&mut self, change: &Change) {
        self.delivery.snapshots.note(&self.game, change);
        if !self.is_removal(change) {
            self.delivery.text.publish(&mut self.sessions, &self.game, change);
        }
        if self.delivery.watch.is_some() && self.delivery.frames.note(self.game.now(), change).is_err() {
            self.drop_updates();
        }
        match change {
            Change::Died { agent } => {
                send_death(&mut self.sessions, &self.config, *agent);
                self.forget_shown(*agent);
                self.agent_died(*agent);
            }
            // The last moment of a match keeps what is shown.
            Change::Left { agent, .. } if !self.delivery.snapshots.is_over() => self.forget_shown(*agent),
            Change::Refilled
                if self.config.refill_updates == RefillUpdates::All && self.sessions.begin_map() =>
            {
                self.publish_text_piece(limits::ANSWER_BYTES_AT_ONCE);
            }
            // The end of a game that was recorded ends nothing here.
            Change::Won { team, .. } if !self.course.is_recorded() => {
                self.pending.outputs.push_back(Output::Won { team: *team });
                self.pending.agents_are_over = true;
                self.delivery.snapshots.end(&self.game);
                self.keep_victory();
            }
            _ => {}
        }
    }

    /// Sends a message that all hear at once to the agents with connections; answers what it costs in tokens.
    fn send_to_hearers(&mut self, speaker: AgentId, text: &Arc<[u8]>) -> u32 {
        let agents: Vec<AgentId> = self.sessions.iter().filter_map(Session::agent).collect();
        let mut sent_tokens = 0_u32;
        for agent in agents.into_iter().filter(|agent| *agent != speaker) {
            let Some(direction) = self.game.world().direction_of_sound(agent, speaker) else {
                continue;
            };
            let text = Arc::clone(text);
            let heard = Percept::Message { direction, text };
            if let Some(bytes) = send_percept(
                &mut self.sessions,
                &self.config,
                &mut self.delivery.looks,
                agent,
                &heard,
            ) {
                sent_tokens = sent_tokens.saturating_add(tokens(bytes));
            }
        }
        sent_tokens
    }

    /// Whether it comes of removing the agents of a match that is over. Text viewers show the last moment, as they do with the
    /// reference server, which sends nothing after `seg`; ours stop there by themselves.
    fn is_removal(&self, change: &Change) -> bool {
        self.delivery.snapshots.is_over()
            && matches!(change, Change::Left { .. } | Change::ElevationEnded { .. })
    }

    pub(crate) fn note_idle(&mut self, agent: AgentId) {
        if let Some(conn) = self.sessions.of_agent(agent) {
            let is_idle = self
                .game
                .world()
                .agent(agent)
                .is_some_and(|agent| agent.is_idle());
            self.sessions.set_idle(conn, is_idle);
        }
    }
}

impl Engine {
    /// Charges a command that is about to be accepted; answers until when it has to wait, if it does.
    pub(super) fn charge_estimate(
        &mut self,
        agent: AgentId,
        command: &Command,
        now: RealTime,
    ) -> Option<RealTime> {
        if self.course.is_lock_step() {
            return None;
        }
        match command {
            Command::Broadcast(_) | Command::Eject => {}
            Command::Look => return self.wait_for_look(agent, now),
            _ => return None,
        }
        let world = self.game.world();
        // What does not fit the agent's queue is dropped, and sends nothing.
        let actor = world
            .agent(agent)
            .filter(|actor| actor.outstanding() < OUTSTANDING_MAX)?;
        let (receivers, bytes) = match command {
            Command::Broadcast(text) => (world.agents().len(), text.len()),
            _ => (world.agents_on(actor.tile).len(), 0),
        };
        let others = u32::try_from(receivers - 1).unwrap_or(u32::MAX);
        let estimate = tokens(bytes).saturating_mul(others);
        if estimate == 0 {
            return None;
        }
        let rate = self.config.limits.fan_out_rate_of_team(self.rates.fan_out.len());
        let bucket = self.rates.fan_out.get_mut(usize::from(actor.team.0))?;
        let session = self.sessions.get_mut(self.sessions.of_agent(agent)?)?;
        session.flow.prepaid_tokens = session.flow.prepaid_tokens.saturating_add(estimate);
        let at = bucket.next_at(now, rate);
        bucket.take(estimate);
        at
    }

    /// Until when the next look of an agent has to wait: while its team is in debt, if its last one was charged.
    fn wait_for_look(&mut self, agent: AgentId, now: RealTime) -> Option<RealTime> {
        let session = self.sessions.get(self.sessions.of_agent(agent)?)?;
        if !session.flow.sees_much {
            return None;
        }
        let rate = self.config.limits.fan_out_rate_of_team(self.rates.fan_out.len());
        let team = self.game.world().agent(agent)?.team;
        self.rates
            .fan_out
            .get_mut(usize::from(team.0))?
            .next_at(now, rate)
    }

    /// Charges an agent's team for what it has been sent as a look, beyond what agents ordinarily see.
    fn charge_look(&mut self, agent: AgentId, bytes: usize) {
        let beyond = bytes.saturating_sub(limits::LOOK_BYTES_FREE);
        let conn = self.sessions.of_agent(agent);
        let Some(session) = conn.and_then(|conn| self.sessions.get_mut(conn)) else {
            return;
        };
        session.flow.sees_much = beyond > 0;
        if beyond > 0
            && let Some(actor) = self.game.world().agent(agent)
            && let Some(bucket) = self.rates.fan_out.get_mut(usize::from(actor.team.0))
        {
            bucket.take(tokens(beyond));
        }
    }

    /// Charges an agent's team for the messages that its command has just sent, as far as they were not charged before. A mind is
    /// never throttled, so it does not spend what its team's players may send.
    fn charge_sent(&mut self, agent: AgentId, sent_tokens: u32) {
        let Some(actor) = self.game.world().agent(agent) else {
            return;
        };
        if self.mind_of(agent).is_some() {
            return;
        }
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
        if let Some(bucket) = self.rates.fan_out.get_mut(usize::from(actor.team.0)) {
            bucket.take(unpaid);
        }
    }
}

/// As how many tokens a message of so many bytes to one receiver counts.
fn tokens(bytes: usize) -> u32 {
    u32::try_from(bytes / limits::FAN_OUT_BYTES_PER_TOKEN)
        .unwrap_or(u32::MAX)
        .saturating_add(1)
}
