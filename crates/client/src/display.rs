//! The world on the screen, and smooth.
//!
//! Changes arrive here at the moment they are due on the screen. Each is applied to the world, and leaves what
//! the eye needs beside it: a blend where an agent would otherwise jump, an effect that fades. When a change is
//! due is [`crate::timeline`]'s to know.

use std::collections::VecDeque;

use trantor_model::{AgentId, FeedKind, Resource, RitualOutcome, TeamId, Tile, Who};
use trantor_protocol::wire::{ActionState, Change};
use trantor_time::link::{Delivery, LinkSettings, Loss};
use trantor_time::{Frequency, GameSpan, GameTime};

use crate::error::ProtocolError;
use crate::feed::kind_of;
use crate::motion::{Blend, Pose, is_motion, nanounits, progress};
use crate::push_bounded;
use crate::scene::{
    EffectKind, Scene, SceneAction, SceneAgent, SceneEffect, SceneEgg, SceneRitual, Span, Spread,
};
use crate::world::{Agent, World};

/// Effects shown at once. More cannot be distinguished; the oldest go early.
const EFFECTS_MAX: usize = 4_096;

/// Messages on their way whose arrival will be shown; the oldest go early. As many as arrive in a second where all of a
/// hundred agents hear each other speak.
const ARRIVALS_MAX: usize = 16_384;

/// How long a pushed agent slides, in units: quicker than a step, and over before its next action can end.
const PUSH_SLIDE: GameSpan = GameSpan::from_units(4);

/// How long late changes are blended in, in milliseconds of real time at the present speed.
const LATE_BLEND_MS: i64 = 100;

/// Units one food keeps an agent alive.
const FOOD_UNITS: f32 = 126.0;

/// The world on the screen.
#[derive(Debug)]
pub struct Display {
    world: World,
    /// In the order they were shown; kept by the moment they happened, and turned into ages when a scene is made.
    effects: VecDeque<Effect>,
    /// What is shown at agents when a message reaches them, or would have; in the order of sending.
    arrivals: VecDeque<Arrival>,
}

/// A message that arrives, or would have if it had not been lost.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: GameTime,
    to: AgentId,
    kind: EffectKind,
}

/// Something that happened at a moment and is shown for a while.
#[derive(Clone, Debug)]
struct Effect {
    kind: EffectKind,
    at: GameTime,
    x: f32,
    y: f32,
    agent: Option<(AgentId, TeamId)>,
    /// What was said; empty for all else.
    text: Box<[u8]>,
}

/// The kind, place and agent of an effect.
type Noted = (EffectKind, (f32, f32), Option<(AgentId, TeamId)>);

/// When a change is put on the screen.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The moment shown last: what it showed is what the eye remembers.
    pub seen: GameTime,
    /// The moment the next frame shows, at least `seen`.
    pub next: GameTime,
    /// The speed, in units a second, for blends.
    pub frequency: Option<Frequency>,
}

impl Display {
    /// Shows `world` as it is.
    pub fn new(world: World) -> Self {
        Self {
            world,
            effects: VecDeque::new(),
            arrivals: VecDeque::new(),
        }
    }

    /// The world on the screen.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// There is one more team.
    pub fn add_team(&mut self) {
        self.world.add_team();
    }

    /// Applies a change of game time `at`. Returns what it is in a list of events, if it is worth an entry, and the
    /// place of the tile whose ground it changed.
    ///
    /// # Errors
    /// If the change cannot be.
    pub fn apply(
        &mut self,
        at: GameTime,
        change: &Change,
        moment: &Moment,
    ) -> Result<(Option<FeedKind>, Option<usize>), ProtocolError> {
        // A change that is on time is seen as it happens: a step that ends and one that begins there then join without
        // a seam. One that is late is seen at the moment shown.
        let seen_at = at.clamp(moment.seen, moment.next);
        let kind = kind_of(change, &self.world);
        let effect = self.effect_of(change, kind.as_ref(), seen_at);
        let moved = match *change {
            Change::ActionStarted { agent, .. } => Some((agent, false)),
            Change::Moved { agent, forced, .. } => Some((agent, forced)),
            _ => None,
        };
        let before = moved.and_then(|(id, _)| self.shown(id, seen_at));
        let place = self.world.apply(at, change)?;
        if let (Some((id, forced)), Some(before)) = (moved, before) {
            self.blend(id, before, seen_at, forced, moment);
        }
        if let Change::Sent {
            agent,
            settings,
            deliveries,
            ..
        } = change
        {
            self.send(at, *agent, settings, deliveries);
        }
        if let Some((kind, (x, y), agent)) = effect {
            let text = match change {
                Change::Said { text, .. } => text.as_slice().into(),
                _ => Box::default(),
            };
            let effect = Effect {
                kind,
                at,
                x,
                y,
                agent,
                text,
            };
            push_bounded(&mut self.effects, effect, EFFECTS_MAX);
        }
        Ok((kind, place))
    }

    /// The last broadcast of an agent spreads with time, and lights up its recipients when it reaches them.
    fn send(
        &mut self,
        now: GameTime,
        from: AgentId,
        settings: &LinkSettings,
        deliveries: &[(AgentId, Delivery)],
    ) {
        let size = self.world.size();
        let Some(source) = self.world.agent(from).map(|agent| agent.view.tile) else {
            return;
        };
        let mut effects = self.effects.iter_mut().rev();
        let said = effects.find_map(|effect| match (&mut effect.kind, effect.agent) {
            (EffectKind::Broadcast { spread, .. }, Some((id, team))) => {
                (effect.at == now && id == from).then_some((spread, team))
            }
            _ => None,
        });
        let Some((spread, team)) = said else { return };
        let spread = *spread.insert(Spread::of(settings, size));
        for &(to, delivery) in deliveries {
            let (kind, times) = match delivery {
                Delivery::Arrives { at, again_at } => (EffectKind::Heard { team }, [Some(at), again_at]),
                Delivery::Lost(Loss::OutOfRange) => continue,
                Delivery::Lost(Loss::Chance | Loss::LineFull) => {
                    let Some(hearer) = self.world.agent(to) else {
                        continue;
                    };
                    let (dx, dy) = size.shortest(source, hearer.view.tile);
                    let units = spread.reaches_after((dx as f32).hypot(dy as f32));
                    let span = GameSpan::from_nanounits((f64::from(units) * 1e9) as i128);
                    (EffectKind::Lost, [Some(now + span), None])
                }
            };
            for at in times.into_iter().flatten() {
                push_bounded(&mut self.arrivals, Arrival { at, to, kind }, ARRIVALS_MAX);
            }
        }
    }

    /// Ends motions without a result, where all was received until `complete`: text servers do not say that a
    /// command was refused.
    pub fn settle(&mut self, complete: GameTime, moment: &Moment) {
        if self.world.winner().is_some() {
            return;
        }
        let size = self.world.size();
        for agent in self.world.agents_mut() {
            let is_over = |action: ActionState| {
                is_motion(&action) && action.end < complete && action.end <= moment.seen
            };
            if !agent.action.is_some_and(is_over) {
                continue;
            }
            let before = pose_of(agent, moment.seen);
            agent.action = None;
            let after = Pose::exact(agent, moment.seen);
            agent.blend =
                Blend::between(size, before, after, moment.seen, late_blend(moment)).unwrap_or_default();
        }
    }

    /// Shows all agents where they are.
    pub fn end_blends(&mut self) {
        for agent in self.world.agents_mut() {
            agent.blend = Blend::default();
        }
    }

    /// Writes what is shown at `now`, except for ground, clock and link. Effects fade by `effects_now`, which goes on once a
    /// team has won; then no agent does anything any more.
    pub fn fill(&mut self, now: GameTime, effects_now: GameTime, scene: &mut Scene) {
        let is_over = self.world.winner().is_some();
        scene.agents.clear();
        for agent in self.world.agents() {
            let mut agent = scene_agent(agent, now);
            if is_over {
                (agent.action, agent.held) = (None, false);
            }
            scene.agents.push(agent);
        }
        scene.eggs.clear();
        for egg in self.world.eggs() {
            scene.eggs.push(SceneEgg {
                id: egg.egg,
                team: egg.team,
                tile: egg.tile,
            });
        }
        scene.count_teams();
        self.fill_rituals(now, scene);
        self.fill_effects(effects_now, scene);
        scene.winner = self.world.winner();
    }

    fn fill_rituals(&self, now: GameTime, scene: &mut Scene) {
        scene.rituals.clear();
        scene.ritual_participants.clear();
        if self.world.winner().is_some() {
            return;
        }
        for ritual in self.world.rituals() {
            let state = &ritual.state;
            let participants = Span {
                first: scene.ritual_participants.len() as u32,
                len: state.participants.len() as u32,
            };
            scene.ritual_participants.extend_from_slice(&state.participants);
            scene.rituals.push(SceneRitual {
                tile: state.tile,
                level: state.level,
                progress: progress(state.start, state.end, now),
                remaining_units: remaining_units(state.end, now),
                participants,
            });
        }
        let size = self.world.size();
        scene
            .rituals
            .sort_unstable_by_key(|ritual| (size.index_of(ritual.tile), ritual.participants.first));
    }

    /// Forgets the effects that are over at `now`, and writes the others.
    fn fill_effects(&mut self, now: GameTime, scene: &mut Scene) {
        self.effects
            .retain(|effect| is_shown(effect.kind, effect.at, now));
        scene.effects.clear();
        scene.texts.clear();
        for effect in &self.effects {
            let mut kind = effect.kind;
            if let EffectKind::Broadcast { text, .. } = &mut kind {
                *text = Span {
                    first: scene.texts.len() as u32,
                    len: effect.text.len() as u32,
                };
                scene.texts.extend_from_slice(&effect.text);
            }
            let place = (effect.x, effect.y);
            scene
                .effects
                .push(scene_effect(kind, place, effect.agent, now - effect.at));
        }
        // Messages that arrived, each where its recipient is now.
        self.arrivals
            .retain(|arrival| is_shown(arrival.kind, arrival.at, now));
        for &Arrival { at, to, kind } in self.arrivals.iter().filter(|arrival| arrival.at <= now) {
            if let Some(agent) = self.world.agent(to) {
                let pose = pose_of(agent, now);
                let (place, who) = ((pose.x, pose.y), (to, agent.view.team));
                scene.effects.push(scene_effect(kind, place, Some(who), now - at));
            }
        }
    }

    /// Where an agent is on the screen.
    fn shown(&self, id: AgentId, now: GameTime) -> Option<Pose> {
        self.world.agent(id).map(|agent| pose_of(agent, now))
    }

    /// Leads an agent from where it was seen to where it is now.
    fn blend(&mut self, id: AgentId, before: Pose, now: GameTime, forced: bool, moment: &Moment) {
        let size = self.world.size();
        let Some(agent) = self.world.agent_mut(id) else {
            return;
        };
        let after = Pose::exact(agent, now);
        if after.blended(&agent.blend, now) == before {
            return;
        }
        let mut span = if forced { PUSH_SLIDE } else { late_blend(moment) };
        // One who walks is where it should be when it arrives.
        if let Some(action) = agent
            .action
            .filter(|action| is_motion(action) && action.end > now)
        {
            span = span.min(action.end - now);
        }
        // In a game that stands still a blend would never end.
        let is_moving = moment.seen < moment.next;
        agent.blend = Some(span)
            .filter(|_| is_moving)
            .and_then(|span| Blend::between(size, before, after, now, span))
            .unwrap_or_default();
    }

    /// What is to be seen of a change for a while, where, and who did it; from the world before it.
    fn effect_of(&self, change: &Change, kind: Option<&FeedKind>, seen_at: GameTime) -> Option<Noted> {
        let who = |id: AgentId| self.world.agent(id).map(|agent| (id, agent.view.team));
        let by = |kind: EffectKind, who: Who| {
            let pose = self.shown(who.agent, seen_at)?;
            Some((kind, (pose.x, pose.y), Some((who.agent, who.team))))
        };
        let on = |kind: EffectKind, tile: Tile, who: Option<(AgentId, TeamId)>| {
            Some((kind, (f32::from(tile.x), f32::from(tile.y)), who))
        };
        let heading = |who: Who| self.shown(who.agent, seen_at).map(|pose| pose.heading);
        if let Change::Inventory { agent, inventory, .. } = *change {
            let held = &self.world.agent(agent)?.view;
            let (agent, team) = who(agent)?;
            let ate = inventory[Resource::Food].checked_add(1) == Some(held.inventory[Resource::Food]);
            return ate.then(|| by(EffectKind::Ate, Who { agent, team })).flatten();
        }
        match (kind?, change) {
            (FeedKind::Joined(by), Change::Joined { agent, .. }) => {
                on(EffectKind::Birth, agent.tile, Some((by.agent, by.team)))
            }
            (&FeedKind::Died(who, level), _) => {
                let heading = heading(who)?;
                by(EffectKind::Death { level, heading }, who)
            }
            (&FeedKind::Left(who, level), _) => {
                let heading = heading(who)?;
                by(EffectKind::Departure { level, heading }, who)
            }
            (&FeedKind::Carried(who, resource, true), _) => by(EffectKind::Took { resource }, who),
            (&FeedKind::Carried(who, resource, false), _) => by(EffectKind::Put { resource }, who),
            (&FeedKind::Said(who, _), _) => {
                // The span is set when it goes into a scene, the spread when it is known.
                let (text, spread) = (Span::default(), None);
                by(EffectKind::Broadcast { text, spread }, who)
            }
            (&FeedKind::Pushed(who), _) => {
                let heading = heading(who)?;
                by(EffectKind::Push { heading }, who)
            }
            (&FeedKind::EggLaid(_, team, tile), Change::EggLaid { layer, .. }) => {
                on(EffectKind::EggLaid { team }, tile, layer.and_then(who))
            }
            (&FeedKind::EggBroken(_, team, tile), _) => on(EffectKind::EggBroken { team }, tile, None),
            (&FeedKind::RitualEnded(tile, level, outcome), _) => {
                let success = outcome == RitualOutcome::Succeeded;
                on(EffectKind::RitualEnded { level, success }, tile, None)
            }
            (&FeedKind::Rose(who, level), _) => by(EffectKind::Rose { level }, who),
            _ => None,
        }
    }
}

fn is_shown(kind: EffectKind, at: GameTime, now: GameTime) -> bool {
    now - at < GameSpan::from_units(i64::from(kind.shown_units()))
}

fn scene_effect(
    kind: EffectKind,
    (x, y): (f32, f32),
    agent: Option<(AgentId, TeamId)>,
    age: GameSpan,
) -> SceneEffect {
    let age_units = age.as_units_f64().max(0.0) as f32;
    SceneEffect {
        kind,
        x,
        y,
        agent,
        age_units,
        progress: (age_units / kind.shown_units() as f32).min(1.0),
    }
}

fn pose_of(agent: &Agent, now: GameTime) -> Pose {
    Pose::exact(agent, now).blended(&agent.blend, now)
}

fn scene_agent(agent: &Agent, now: GameTime) -> SceneAgent {
    let pose = pose_of(agent, now);
    let action = agent.action.filter(|action| now < action.end);
    let stock = agent.view.inventory[Resource::Food] as f32 * FOOD_UNITS;
    SceneAgent {
        id: agent.view.id,
        team: agent.view.team,
        level: agent.view.level,
        tile: agent.view.tile,
        x: pose.x,
        y: pose.y,
        heading: pose.heading,
        inventory: agent.view.inventory,
        action: action.map(|action| SceneAction {
            kind: action.kind,
            progress: progress(action.start, action.end, now),
            remaining_units: remaining_units(action.end, now),
            refused: action.refused,
        }),
        held: agent.held_by.is_some(),
        food_left_units: agent.food_ends.map(|ends| remaining_units(ends, now) + stock),
    }
}

fn remaining_units(end: GameTime, now: GameTime) -> f32 {
    (nanounits(end - now) / 1e9).max(0.0) as f32
}

/// How long late changes are blended in, in game time at the present speed.
fn late_blend(moment: &Moment) -> GameSpan {
    let hertz = moment.frequency.map_or(0, Frequency::get);
    GameSpan::from_nanounits(i128::from(LATE_BLEND_MS) * 1_000_000 * i128::from(hertz))
}
