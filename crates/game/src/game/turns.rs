//! When commands start and end.
//!
//! An agent carries out one command at a time. The next one starts at the nominal end of the one before, so a
//! queue leaves no gap; one that comes to an idle agent starts at its stamp.
//!
//! All starts of an instant come after everything else due at it. A start is therefore put on the agenda
//! wherever something else is due at the same instant, and carried out on the spot where nothing is: the order
//! is the same, and the common case does without a deadline. In lock-step every start goes over the agenda,
//! since there two starts of one instant go by the agents' numbers and not by arrival.

use trantor_model::{AgentId, Command, CommandKind, Level, Resource};
use trantor_time::{GameSpan, GameTime};

use super::Game;
use crate::agenda::Due;
use crate::commands::Running;
use crate::event::GameEvent;
use crate::ids::RitualId;
use crate::input::{Handled, Refusal};
use crate::rules::{action, incantation};

impl Game {
    /// Takes in an agent's command; it starts at once if the agent is free.
    pub(super) fn command(&mut self, id: AgentId, command: Command) -> Result<Handled, Refusal> {
        self.refuse_if_over()?;
        let agent = self.world.agents.get_mut(id).ok_or(Refusal::UnknownAgent)?;
        if agent.commands.is_full() {
            return Err(Refusal::QueueFull);
        }
        agent.commands.waiting.push_back(command);
        self.start_when_free(id);
        Ok(Handled::Done)
    }

    /// Starts an agent's next command at this instant, if it has one and nothing keeps it.
    fn start_when_free(&mut self, id: AgentId) {
        let waits_its_turn = self.world.rules.lock_step || self.more_is_due_now();
        let agent = &mut self.world.agents[id];
        if !agent.commands.can_start() || agent.ritual.is_some() {
            return;
        }
        if waits_its_turn {
            agent.commands.timer = Some(self.agenda.schedule(self.now, Due::Start(id)));
        } else {
            self.start_next(id);
        }
    }

    /// Starts commands in their order until one takes time or none is left. Those that take none are answered
    /// on the way; there are at most [`crate::OUTSTANDING_MAX`].
    pub(super) fn start_next(&mut self, id: AgentId) {
        loop {
            let commands = &mut self.world.agents[id].commands;
            commands.timer = None;
            let Some(command) = commands.waiting.pop_front() else {
                return;
            };
            let end = self.now + GameSpan::from_units(i64::from(command.duration_units()));
            if command == Command::Incantation {
                if self.start_ritual(id, end) {
                    return self.note_running(id, command, end);
                }
            } else if end == self.now {
                self.take_effect(id, &command);
            } else {
                commands.timer = Some(self.agenda.schedule(end, Due::Action(id)));
                return self.note_running(id, command, end);
            }
            if self.world.rules.lock_step {
                // The next one may still be on its way, and is then a start of its own; so it is when it is here.
                return self.start_when_free(id);
            }
        }
    }

    fn note_running(&mut self, id: AgentId, command: Command, end: GameTime) {
        let kind = command.kind().expect("what takes time has a kind");
        if kind == CommandKind::Fork {
            self.events
                .push_for_viewers(|| GameEvent::ForkStarted { agent: id });
        }
        self.events.push_for_viewers(|| GameEvent::ActionStarted {
            agent: id,
            kind,
            start: self.now,
            end,
            refused: command.is_refused(),
        });
        self.world.agents[id].commands.running = Some(Running {
            command,
            start: self.now,
            end,
            withheld: false,
        });
    }

    /// Begins an elevation; returns whether it did. Participants lose a start still due at
    /// this instant; their running actions continue.
    fn start_ritual(&mut self, asker: AgentId, end: GameTime) -> bool {
        let Some(ritual) = incantation::begin(&mut self.world, asker, end, &mut self.events) else {
            return false;
        };
        let ritual = self.world.rituals.get(ritual).expect("it has just begun");
        self.agenda.schedule(end, ritual.due());
        for &participant in &ritual.participants {
            let commands = &mut self.world.agents[participant].commands;
            if commands.running.is_none()
                && let Some(start) = commands.timer.take()
            {
                self.agenda.cancel(start);
            }
        }
        true
    }

    /// An action is over: it takes effect, or is withheld as long as a ritual holds the agent.
    pub(super) fn finish_action(&mut self, id: AgentId) {
        let agent = &mut self.world.agents[id];
        agent.commands.timer = None;
        if let Some(ritual) = agent.ritual {
            let running = agent.commands.running.as_mut();
            running.expect("a deadline ends a running action").withheld = true;
            self.world.rituals.withhold(ritual, id);
        } else {
            let running = agent.commands.running.take();
            let command = running.expect("a deadline ends a running action").command;
            self.take_effect(id, &command);
            self.start_when_free(id);
        }
    }

    fn take_effect(&mut self, id: AgentId, command: &Command) {
        let effect = action::apply(&mut self.world, id, command, self.now, &mut self.events);
        self.follow_up(effect);
        if *command == Command::Set(Resource::Food) {
            self.starvation.note_food(&self.world.agents[id]);
        }
    }

    /// Ends an elevation: it releases its participants, withheld effects apply in the order they fell due, and
    /// then waiting commands start.
    pub(super) fn finish_ritual(&mut self, id: RitualId) {
        let ritual = incantation::end(&mut self.world, id, &mut self.events);
        // The asker's command was the elevation itself; whatever another one runs is a command of its own.
        if let Some(asker) = self.world.agents.get_mut(ritual.asker) {
            asker.commands.running = None;
        }
        if ritual.level.next() == Some(Level::LAST) {
            self.check_victory();
            if self.winner().is_some() {
                return;
            }
        }
        self.arm_refill();
        for &participant in &ritual.withheld {
            let running = self.world.agents[participant].commands.running.take();
            let command = running.expect("what is withheld was running").command;
            self.take_effect(participant, &command);
        }
        for &participant in &ritual.participants {
            self.start_when_free(participant);
        }
    }
}
