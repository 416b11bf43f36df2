//! Deadlines that no command ends: hunger, refills, eggs maturing, messages arriving.

use trantor_model::{AgentId, EggId};
use trantor_time::GameTime;

use super::Game;
use crate::agenda::Due;
use crate::ids::MessageId;
use crate::rules::action::Effect;
use crate::rules::hunger::Digestion;
use crate::rules::spawning::next_round;
use crate::rules::{broadcast, hatching, hunger, spawning};

impl Game {
    pub(super) fn hunger(&mut self, id: AgentId) {
        self.world.agents[id].hunger_timer = None;
        match hunger::digest(&mut self.world, id, self.now, &mut self.events) {
            true => self.schedule_hunger(id),
            false => self.kill(id).expect("the starving agent lives until now"),
        }
        self.starvation.note_meal(&self.world, self.now);
    }

    /// Sets the deadline of the food that an agent digests.
    pub(super) fn schedule_hunger(&mut self, id: AgentId) {
        if let Digestion::Until(end) = self.world.agents[id].digestion {
            let timer = self.agenda.schedule(end, Due::Hunger(id));
            self.world.agents[id].hunger_timer = Some(timer);
        }
        self.starvation.note_food(&self.world.agents[id]);
    }

    pub(super) fn mature(&mut self, egg: EggId) {
        self.hatch_timers.remove(&egg);
        hatching::mature(&mut self.world, egg, &mut self.events);
    }

    pub(super) fn deliver(&mut self, message: MessageId) {
        self.delivery_timers.remove(&message);
        broadcast::deliver(&mut self.world, message, &mut self.events);
    }

    pub(super) fn refill(&mut self) {
        self.refill_timer = None;
        self.refilled_at = self.now;
        spawning::refill(&mut self.world, &mut self.events);
    }

    /// Sets the deadline of the next refill if there will be something to refill.
    pub(super) fn arm_refill(&mut self) {
        if self.refill_timer.is_none() && self.world.refill_enabled && spawning::is_short(&self.world) {
            let round = next_round(self.now, self.refilled_at);
            self.refill_timer = Some(self.agenda.schedule(round, Due::Refill));
        }
    }

    /// Sets and cancels the deadlines that follow from an action.
    pub(super) fn follow_up(&mut self, effect: Effect) {
        match effect {
            Effect::Done => {}
            Effect::GroundTaken => self.arm_refill(),
            Effect::Unripe(egg, matures) => {
                let timer = self.agenda.schedule(matures, Due::Hatch(egg));
                self.hatch_timers.insert(egg, timer);
            }
            Effect::Sent(messages) => self.schedule_deliveries(messages),
            Effect::Broken(eggs) => {
                for egg in eggs {
                    if let Some(timer) = self.hatch_timers.remove(&egg) {
                        self.agenda.cancel(timer);
                    }
                }
            }
        }
    }

    pub(super) fn schedule_deliveries(&mut self, messages: Vec<(MessageId, GameTime)>) {
        for (message, at) in messages {
            let due = self.world.in_flight.message(message).due();
            let timer = self.agenda.schedule(at, due);
            self.delivery_timers.insert(message, timer);
        }
    }
}
