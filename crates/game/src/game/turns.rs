//! When commands start and end.
//!
//! An agent carries out one command at a time. The next one starts at the nominal end of the one before, so a
//! queue leaves no gap (R-000-40); one that comes to an idle agent starts at its stamp (R-000-39).
//!
//! All starts of an instant come after everything else due at it. A start is therefore put on the agenda
//! wherever something else is due at the same instant, and carried out on the spot where nothing is: the order
//! is the same, and the common case does without a deadline. In lock-step every start goes over the agenda,
//! since there two starts of one instant go by the agents' numbers and not by arrival.

use trantor_model::{AgentId, Command, Level};
use trantor_time::{GameSpan, GameTime};

use super::Game;
use crate::agenda::Due;
use crate::desk::{Full, Running};
use crate::event::GameEvent;
use crate::input::{Handled, Refusal};
use crate::rules::{RitualId, action, incantation};

impl Game {
    /// Takes in an agent's command; it starts at once if the agent is free (R-000-39).
    pub(super) fn command(&mut self, id: AgentId, command: Command) -> Result<Handled, Refusal> {
        self.refuse_if_over()?;
        let agent = self.world.agents.get_mut(id).ok_or(Refusal::UnknownAgent)?;
        agent.desk.push(command).map_err(|Full| Refusal::QueueFull)?;
        self.start_when_free(id);
        Ok(Handled::Done)
    }

    /// Starts an agent's next command at this instant, if it has one and nothing keeps it.
    fn start_when_free(&mut self, id: AgentId) {
        let agent = &self.world.agents[id];
        if !agent.desk.can_start() || agent.ritual.is_some() {
            return;
        }
        if self.world.rules.lock_step || self.more_is_due_now() {
            let timer = self.schedule(self.now, Due::Start(id));
            self.world.agents[id].desk.timer = Some(timer);
        } else {
            self.start_next(id);
        }
    }

    /// A start that was put on the agenda.
    pub(super) fn start_due(&mut self, id: AgentId) {
        self.world.agents[id].desk.timer = None;
        self.start_next(id);
    }

    /// Starts commands in their order until one takes time or none is left. Those that take none are answered
    /// on the way; there are at most [`crate::OUTSTANDING_MAX`].
    fn start_next(&mut self, id: AgentId) {
        while let Some(command) = self.world.agents[id].desk.pop() {
            let end = self.now + GameSpan::from_units(i64::from(command.duration_units()));
            let takes_time = match command {
                Command::Incantation => self.start_ritual(id, end),
                _ if end == self.now => {
                    let now = self.now;
                    let effect = action::apply(&mut self.world, id, &command, now, &mut self.events);
                    self.follow_up(effect);
                    false
                }
                _ => {
                    let timer = self.schedule(end, Due::Action(id));
                    self.world.agents[id].desk.timer = Some(timer);
                    true
                }
            };
            if takes_time {
                return self.note_running(id, command, end);
            }
        }
    }

    fn note_running(&mut self, id: AgentId, command: Command, end: GameTime) {
        let kind = command.kind().expect("what takes time has a kind");
        let start = self.now;
        if matches!(command, Command::Fork) {
            self.events.push_back(GameEvent::ForkStarted { agent: id });
        }
        self.events.push_back(GameEvent::ActionStarted {
            agent: id,
            kind,
            start,
            end,
        });
        self.world.agents[id].desk.running = Some(Running {
            command,
            start,
            end,
            withheld: false,
        });
    }

    /// Begins an elevation and answers whether it did. Those drawn in lose a start that was still to come at
    /// this instant; what they are in the middle of goes on.
    fn start_ritual(&mut self, asker: AgentId, end: GameTime) -> bool {
        let Some(ritual) = incantation::begin(&mut self.world, asker, end, &mut self.events) else {
            return false;
        };
        self.schedule(end, Due::Ritual(ritual));
        let participants = self
            .world
            .ritual(ritual)
            .map(|ritual| ritual.participants.clone());
        for participant in participants.expect("the ritual has just begun") {
            let desk = &mut self.world.agents[participant].desk;
            if desk.running.is_none()
                && let Some(start) = desk.timer.take()
            {
                self.agenda.cancel(start);
            }
        }
        true
    }

    /// An action is over: it takes effect, or is withheld as long as a ritual holds the agent.
    pub(super) fn finish_action(&mut self, id: AgentId) {
        let agent = &mut self.world.agents[id];
        agent.desk.timer = None;
        if let Some(ritual) = agent.ritual {
            let running = agent
                .desk
                .running
                .as_mut()
                .expect("a deadline ends a running action");
            running.withheld = true;
            self.world.rituals.withhold(ritual, id);
            return;
        }
        self.take_effect(id);
        self.start_when_free(id);
    }

    fn take_effect(&mut self, id: AgentId) {
        let running = self.world.agents[id].desk.running.take();
        let command = running.expect("what takes effect was running").command;
        let effect = action::apply(&mut self.world, id, &command, self.now, &mut self.events);
        self.follow_up(effect);
    }

    /// An elevation is over: its participants are let go, what was withheld takes effect in the order it fell
    /// due, and then whoever has a command waiting starts it.
    pub(super) fn finish_ritual(&mut self, id: RitualId) {
        let ritual = incantation::end(&mut self.world, id, &mut self.events);
        // The asker's command was the elevation itself; whatever another one runs is a command of its own.
        if let Some(asker) = self.world.agents.get_mut(ritual.asker) {
            asker.desk.running = None;
        }
        if ritual.level.next() == Some(Level::LAST) {
            self.check_victory();
            if self.winner().is_some() {
                return;
            }
        }
        self.arm_refill();
        for &participant in &ritual.withheld {
            self.take_effect(participant);
        }
        for &participant in &ritual.participants {
            self.start_when_free(participant);
        }
    }
}
