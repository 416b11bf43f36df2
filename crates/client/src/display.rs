//! The world on the screen, and smooth.
//!
//! Changes arrive here at the moment they are due on the screen. Each is applied to the world, and leaves what
//! the eye needs beside it: a blend where an agent would otherwise jump, an effect that fades. When a change is
//! due is [`crate::timeline`]'s to know.

use std::collections::VecDeque;

use trantor_model::{
    ActionState, AgentId, Change, Concerned, EggState, FeedKind, InventoryChange, Resource, TeamId, Tile,
};
use trantor_time::link::{Delivery, LinkSettings, Loss};
use trantor_time::{Frequency, GameSpan, GameTime};

use crate::error::ProtocolError;
use crate::motion::{Blend, Pose, ShownAgent, ShownWorld, nanounits, progress};
use crate::push_bounded;
use crate::scene::{EffectKind, Scene, SceneAction, SceneAgent, SceneEffect, SceneElevation, Span, Spread};

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

#[derive(Debug)]
pub struct Display {
    pub world: ShownWorld,
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
    pub fn new(world: ShownWorld) -> Self {
        Self {
            world,
            effects: VecDeque::new(),
            arrivals: VecDeque::new(),
        }
    }

    /// Applies a change of game time `at`. Returns what it is in a list of events, if it is worth an entry, and the
    /// place of the tile whose ground it changed.
    pub fn apply(
        &mut self,
        at: GameTime,
        change: &Change,
        moment: &Moment,
    ) -> Result<(Option<FeedKind>, Option<usize>), ProtocolError> {
        // A change that is on time is seen as it happens: a step that ends and one that begins there then join without
        // a seam. One that is late is seen at the moment shown.
        let seen_at = at.clamp(moment.seen, moment.next);
        let (kind, effect) = (self.entry(change), self.effect(change, seen_at));
        let moved = match *change {
            Change::ActionStarted { agent, .. } => Some((agent, false)),
            Change::Moved { agent, how, .. } => Some((agent, how.is_forced())),
            _ => None,
        };
        let before = moved.and_then(|(id, _)| self.shown(id, seen_at));
        let place = self.world.apply(at, change)?;
        if let (Some((id, forced)), Some(before)) = (moved, before) {
            self.blend(id, before, seen_at, forced, moment);
        }
        if let Change::Sent {
            agent,
            tile,
            settings,
            deliveries,
            ..
        } = change
        {
            self.send(at, (*agent, *tile), settings, deliveries);
        }
        if let Some((kind, (x, y), agent)) = effect {
            let text = match change {
                Change::Said { text, .. } => text[..].into(),
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
        (from, source): (AgentId, Tile),
        settings: &LinkSettings,
        deliveries: &[(AgentId, Delivery)],
    ) {
        let size = self.world.size();
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
                action.is_motion() && action.end < complete && action.end <= moment.seen
            };
            if !agent.action.is_some_and(is_over) {
                continue;
            }
            let before = pose_of(agent, moment.seen);
            agent.action = None;
            let after = Pose::exact(agent, moment.seen);
            agent.kept =
                Blend::between(size, before, after, moment.seen, late_blend(moment)).unwrap_or_default();
        }
    }

    /// Shows all agents where they are.
    pub fn end_blends(&mut self) {
        for agent in self.world.agents_mut() {
            agent.kept = Blend::default();
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
        scene.eggs.extend(self.world.eggs());
        scene.count_teams();
        self.fill_elevations(now, scene);
        self.fill_effects(effects_now, scene);
        scene.winner = self.world.winner();
        scene.totals = self.world.totals().cloned();
    }

    fn fill_elevations(&self, now: GameTime, scene: &mut Scene) {
        scene.elevations.clear();
        scene.elevation_participants.clear();
        if self.world.winner().is_some() {
            return;
        }
        for elevation in self.world.elevations() {
            let participants = Span {
                first: scene.elevation_participants.len() as u32,
                len: elevation.participants.len() as u32,
            };
            scene
                .elevation_participants
                .extend_from_slice(&elevation.participants);
            scene.elevations.push(SceneElevation {
                tile: elevation.tile,
                level: elevation.level,
                progress: progress(elevation.start, elevation.end, now),
                remaining_units: remaining_units(elevation.end, now),
                participants,
            });
        }
        let size = self.world.size();
        scene
            .elevations
            .sort_unstable_by_key(|elevation| (size.index_of(elevation.tile), elevation.participants.first));
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
        if after.blended(&agent.kept, now) == before {
            return;
        }
        let mut span = if forced { PUSH_SLIDE } else { late_blend(moment) };
        // One who walks is where it should be when it arrives.
        if let Some(action) = agent
            .action
            .filter(|action| action.is_motion() && action.end > now)
        {
            span = span.min(action.end - now);
        }
        // In a game that stands still a blend would never end.
        let is_moving = moment.seen < moment.next;
        agent.kept = Some(span)
            .filter(|_| is_moving)
            .and_then(|span| Blend::between(size, before, after, now, span))
            .unwrap_or_default();
    }

    /// What a change is in a list of events; from the world before it.
    fn entry(&self, change: &Change) -> Option<FeedKind> {
        let agent = |id: AgentId| {
            let view = &self.world.agent(id)?.view;
            Some(Concerned {
                team: view.team,
                level: view.level,
                tile: Some(view.tile),
            })
        };
        FeedKind::of(change, agent, |egg| self.world.egg(egg).copied())
    }

    /// What is to be seen of a change for a while; from the world before it.
    fn effect(&self, change: &Change, seen_at: GameTime) -> Option<Noted> {
        let view = |id: AgentId| self.world.agent(id).map(|agent| &agent.view);
        let heading = |id: AgentId| self.shown(id, seen_at).map(|pose| pose.heading);
        let by = |id: AgentId, kind: EffectKind| {
            let pose = self.shown(id, seen_at)?;
            Some((kind, (pose.x, pose.y), Some((id, view(id)?.team))))
        };
        let on = |tile: Tile, kind: EffectKind, who: Option<(AgentId, TeamId)>| {
            Some((kind, (f32::from(tile.x), f32::from(tile.y)), who))
        };
        match *change {
            Change::Joined { ref agent, .. } => {
                on(agent.tile, EffectKind::Birth, Some((agent.id, agent.team)))
            }
            Change::Died { agent } => {
                let (level, heading) = (view(agent)?.level, heading(agent)?);
                by(agent, EffectKind::Death { level, heading })
            }
            Change::Left { agent, .. } => {
                let (level, heading) = (view(agent)?.level, heading(agent)?);
                by(agent, EffectKind::Departure { level, heading })
            }
            Change::Carried {
                agent,
                resource,
                taken,
                ..
            } => match taken {
                true => by(agent, EffectKind::Took { resource }),
                false => by(agent, EffectKind::Put { resource }),
            },
            Change::Inventory {
                agent,
                why: InventoryChange::Ate,
                ..
            } => by(agent, EffectKind::Ate),
            // The span is set when it goes into a scene, the spread when it is known.
            Change::Said { agent, .. } => by(
                agent,
                EffectKind::Broadcast {
                    text: Span::default(),
                    spread: None,
                },
            ),
            Change::Ejected { agent } => {
                let heading = heading(agent)?;
                by(agent, EffectKind::Push { heading })
            }
            Change::EggLaid { egg, layer } => {
                let layer = layer.and_then(view).map(|layer| (layer.id, layer.team));
                on(egg.tile, EffectKind::EggLaid { team: egg.team }, layer)
            }
            Change::EggDestroyed { egg } => {
                let &EggState { team, tile, .. } = self.world.egg(egg)?;
                on(tile, EffectKind::EggBroken { team }, None)
            }
            Change::ElevationEnded {
                tile, level, success, ..
            } => on(tile, EffectKind::ElevationEnded { level, success }, None),
            Change::LevelChanged { agent, level } => by(agent, EffectKind::Rose { level }),
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

fn pose_of(agent: &ShownAgent, now: GameTime) -> Pose {
    Pose::exact(agent, now).blended(&agent.kept, now)
}

fn scene_agent(agent: &ShownAgent, now: GameTime) -> SceneAgent {
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
