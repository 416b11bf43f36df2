//! The way into the game and out of it: every input is stamped and recorded, and every event is published.

use std::sync::Arc;

use trantor_game::{AdminAction, GameEvent, GameInput, Handled, Refusal};
use trantor_model::AgentId;

use super::Engine;
use super::fan_out::tokens;
use crate::config::RefillNews;
use crate::limits;
use crate::output::Output;
use crate::replicate::send_agent_line;
use crate::snapshot::Population;

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

    /// The same, leaving the events to be published by the caller.
    pub(crate) fn apply_quietly(&mut self, input: GameInput) -> Handled {
        if self.playback.is_some() {
            // Nothing more happens in it than was recorded; a peer that asks for a place is refused.
            return Handled::Refused(Refusal::GameOver);
        }
        let at = self.arrived.unwrap_or_else(|| self.pace.game_now());
        let at = self
            .game
            .next_deadline()
            .map_or(at, |due| at.min(due))
            .max(self.game.now());
        self.population = None;
        let Some(recorder) = &mut self.recorder else {
            return self.game.handle(input, at);
        };
        let handled = self.game.handle(input.clone(), at);
        // What is refused changes nothing, and an agent that floods the server would fill the disk.
        if !matches!(handled, Handled::Refused(_)) && recorder.input(&self.game, &input, at) {
            log::error!("the journal is not taken and grows beyond its bound: recording ends");
            self.recorder = None;
        }
        handled
    }

    /// Publishes events. What other agents are sent is charged to `actor`, whose command led to it.
    pub(crate) fn publish_events(&mut self, actor: Option<AgentId>) {
        let mut sent_tokens = 0_u32;
        while let Some(event) = self.game.poll_event() {
            if let Some(lock_step) = &mut self.lock_step {
                lock_step.note(&self.game, &event);
            }
            self.history.note(&self.game, &event);
            if let Some((agent, bytes)) = send_agent_line(&mut self.sessions, &self.config, &event)
                && actor != Some(agent)
            {
                sent_tokens = sent_tokens.saturating_add(tokens(bytes));
            }
            if !self.is_removal(&event) {
                self.text_updates.publish(&mut self.sessions, &self.game, &event);
            }
            self.egg_pieces.note(&event);
            if self.watch.is_some() && self.frame_updates.note(&self.game, &event).is_err() {
                self.drop_updates();
            }
            match event {
                GameEvent::Reply { agent, .. } => self.note_idle(agent),
                GameEvent::Died { agent } => self.agent_died(agent),
                GameEvent::Refilled
                    if self.config.refill_news == RefillNews::All && self.sessions.begin_map() =>
                {
                    self.publish_text_piece(limits::ANSWER_BYTES_AT_ONCE);
                }
                // The end of a game that was recorded ends nothing here.
                GameEvent::Won { team } if self.playback.is_none() => {
                    self.outputs.push_back(Output::Won { team });
                    self.is_over_for_agents = true;
                    self.ending = Some(Arc::new(Population::at_rest(&self.game)));
                    self.keep_victory();
                }
                _ => {}
            }
        }
        self.text_updates.publish_held_back(&mut self.sessions);
        if let Some(actor) = actor.filter(|_| sent_tokens > 0) {
            self.charge_sent(actor, sent_tokens);
        }
    }

    /// Whether it comes of removing the agents of a match that is over. Text viewers show the last moment, as they do with the
    /// reference server, which sends nothing after `seg`; ours stop there by themselves.
    fn is_removal(&self, event: &GameEvent) -> bool {
        self.ending.is_some() && matches!(event, GameEvent::Left { .. } | GameEvent::RitualEnded { .. })
    }

    /// An input was carried out. If it was about hunger, no event of the game shows its effect on all food.
    pub(crate) fn note_hunger(&mut self, input: &GameInput) {
        let is_about_it = matches!(input, GameInput::Admin(AdminAction::SetHunger { .. }));
        if is_about_it && self.watch.is_some() && self.frame_updates.note_hunger(&self.game).is_err() {
            self.drop_updates();
        }
    }

    /// Updates whether the session of an agent is idle.
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
