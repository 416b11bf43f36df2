//! What a command does when its time is over.
//!
//! How long each takes is `trantor_model::Command::duration_units`; what happens at a start (elevations, and
//! commands that take no time) is `game.rs`'s.

use trantor_model::{AgentId, Command, EggId};
use trantor_time::{GameSpan, GameTime};

use crate::event::Reply;
use crate::ids::MessageId;
use crate::rules::world::World;
use crate::rules::{Events, broadcast, carry, eject, hatching, hunger, look, movement, reply, reply_done};

/// What an action leaves for the agenda.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the caller sets the deadlines"]
pub(crate) enum Effect {
    /// Nothing.
    Done,
    /// The ground may hold less than before.
    GroundTaken,
    /// There is an egg that matures later.
    Unripe(EggId, GameTime),
    /// These eggs were to mature, and are broken.
    Broken(Vec<EggId>),
    /// Messages in flight, with their arrivals.
    Sent(Vec<(MessageId, GameTime)>),
}

/// Carries out `command` for `id` at `now`, with a reply to the agent.
pub(crate) fn apply(
    world: &mut World,
    id: AgentId,
    command: &Command,
    now: GameTime,
    events: &mut Events,
) -> Effect {
    match command {
        Command::Forward => movement::forward(world, id, events),
        Command::Turn(turn) => movement::turn(world, id, *turn, events),
        Command::Look => {
            let sights = look::look(world, &world.agents[id]).collect();
            reply(events, id, Reply::Look(sights));
        }
        Command::Inventory => {
            let agent = &world.agents[id];
            let (inventory, life_units) = (agent.inventory, hunger::life_units(agent, now));
            reply(
                events,
                id,
                Reply::Inventory {
                    inventory,
                    life_units,
                },
            );
        }
        Command::Broadcast(text) => {
            return Effect::Sent(broadcast::broadcast(world, id, text, now, events));
        }
        Command::ConnectNbr => {
            let places = world.teams[usize::from(world.agents[id].team.0)].places();
            reply(events, id, Reply::ConnectNbr(places));
        }
        Command::Fork => return fork(world, id, now, events),
        Command::Eject => return Effect::Broken(eject::eject(world, id, events)),
        Command::Take(resource) => {
            carry::take(world, id, *resource, events);
            return Effect::GroundTaken;
        }
        Command::Set(resource) => carry::set(world, id, *resource, events),
        Command::Refused(_) => reply(events, id, Reply::Ko),
        Command::Incantation => unreachable!("an elevation ends as a ritual"),
    }
    Effect::Done
}

/// Lays an egg where the agent stands now. It fails only if the team or the world is full of eggs.
fn fork(world: &mut World, id: AgentId, now: GameTime, events: &mut Events) -> Effect {
    let (team, tile) = (world.agents[id].team, world.agents[id].tile);
    let matures = matures(world, now);
    let egg = hatching::lay_another(world, team, tile, Some(id), matures, events);
    reply_done(events, id, egg.is_some());
    unripe(egg, matures)
}

/// When an egg laid at `now` can be hatched; `None` if at once.
pub(crate) fn matures(world: &World, now: GameTime) -> Option<GameTime> {
    let units = world.rules.egg_hatch_units;
    (units > 0).then(|| now + GameSpan::from_units(i64::from(units)))
}

/// The effect of having laid `egg`.
pub(crate) fn unripe(egg: Option<EggId>, matures: Option<GameTime>) -> Effect {
    egg.zip(matures)
        .map_or(Effect::Done, |(egg, at)| Effect::Unripe(egg, at))
}
