//! Who thinks for which agent, and when.
//!
//! A built-in mind without a rate decides right after each percept, within the step of the game that led to it. All else is a
//! wake-up: after percepts of a mind that a factory made, at a rate, at the end of thinking, or when a mind asked for one. There
//! is one pending for an agent at most. Wake-ups come after all that the game has due at their instant, in the order of the
//! agents' numbers; those of one instant are carried out together, so that minds that compute elsewhere do so side by side. They
//! are in no journal and no save: the inputs that they lead to are.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use trantor_game::{Game, GameConfig, GameEvent, GameInput, Handled};
use trantor_model::{AgentId, Change, Control, Percept, Refusal, Show, ShownBy, TeamId};
use trantor_strategy::{SignalCodec, agent_seed, agents_at_most};
use trantor_time::{GameSpan, GameTime};

use super::built_in::BuiltIn;
use super::scenario::{Director, ReadLine, Scenario};
use super::{Act, Mind, MindGroup, MindGroupState, MindRate, MindSource, Newborn, Published};
use crate::view::{Client, PaceState};

/// Wake-ups of one instant that are carried out together: enough for minds that compute elsewhere to do so side by side, few
/// enough for a pass to be cut short between them.
const WAKES_MAX: usize = 64;

/// The least time between two wake-ups that a mind asks for: one that always asks for the next at once costs ten calls a unit.
pub(super) const WAKE_SPACING: GameSpan = GameSpan::from_nanounits(100_000_000);

/// The game in which minds act: a leap, or a server.
pub trait Host {
    /// The game as it is.
    fn game(&self) -> &Game;

    /// Hands an input to the game, at the game's time.
    fn hand_in(&mut self, input: GameInput) -> Handled;

    /// Shows something to viewers.
    fn show(&mut self, by: ShownBy, show: Show);

    /// How the game proceeds, for a scenario.
    fn pace(&self) -> PaceState;

    /// Open connections, for a scenario.
    fn clients(&self) -> Vec<Client>;

    /// Carries out what a scenario requests.
    fn control(&mut self, request: Control) -> Result<(), Refusal>;
}

/// All minds of a game.
#[derive(Debug, Default)]
pub struct Minds {
    groups: Vec<MindGroupState>,
    /// By number of the agent; numbers begin near 0 and are given out in turn.
    slots: Vec<Option<Slot>>,
    /// By number of the team.
    teams: Vec<TeamMinds>,
    /// Pending wake-ups, in the order in which they come.
    wakes: BTreeSet<(GameTime, AgentId)>,
    /// How many agents minds have a team grow to.
    agents_max: usize,
    /// Agents whose minds were made by a factory, in ascending order: they hear other teams too.
    made: BTreeSet<AgentId>,
    joined: u64,
    /// Commands that were not dropped.
    commands: u64,
    director: Option<Director>,
    /// What happened that is yet to be passed on; empty but while events are published.
    noted: Vec<GameEvent>,
    published: Published,
    /// Room for the wake-ups that are carried out together.
    woken: Vec<Woken>,
}

/// A wake-up that is carried out.
#[derive(Debug)]
struct Woken {
    agent: AgentId,
    /// What the mind does after its thinking.
    acts: Vec<Act>,
    /// Whether it decides then.
    decides: bool,
}

/// The minds of one team.
#[derive(Debug, Default)]
struct TeamMinds {
    /// Decodes messages for all minds of the team that play with it; `None` if none does.
    codec: Option<SignalCodec>,
    /// Living agents with minds, in ascending order.
    members: Vec<AgentId>,
    joined: u64,
    /// Those of the start, once all have joined; later ones are replacements, with seeds of their own.
    first: Option<u64>,
}

#[derive(Debug)]
struct Slot {
    thinker: Thinker,
    group: usize,
    /// `None` for one that decides after each percept and is never woken.
    timing: Option<Box<Timing>>,
}

enum Thinker {
    /// No call through a pointer: it is asked a million times a second in a leap.
    BuiltIn(BuiltIn),
    Made(Box<dyn Mind>),
}

impl Slot {
    fn perceive(&mut self, percept: &Percept) {
        match &mut self.thinker {
            Thinker::BuiltIn(mind) => mind.perceive(percept),
            Thinker::Made(mind) => mind.perceive(percept),
        }
    }
}

impl std::fmt::Debug for Thinker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::BuiltIn(_) => "BuiltIn",
            Self::Made(_) => "Made",
        })
    }
}

/// When a mind decides next.
#[derive(Debug, Default)]
struct Timing {
    /// The pending wake-up.
    wake: Option<GameTime>,
    /// The next decision at its rate.
    next: Option<GameTime>,
    /// Until when it thinks, and what it does then.
    thinking: Option<(GameTime, Vec<Act>)>,
    /// It perceived something that it decides about as soon as it may: at this instant, or after its thinking.
    has_perceived: bool,
    /// The last wake-up that it asked for.
    woken_at: Option<GameTime>,
}

impl Minds {
    /// No minds yet, for a game.
    pub fn new(game: &Game) -> Self {
        let config = game.config();
        Self {
            teams: config.teams.iter().map(|_| TeamMinds::default()).collect(),
            agents_max: agents_at_most(config.places_per_team as usize),
            ..Self::default()
        }
    }

    /// Has the minds of a team ask for no more agents than so many, instead of [`agents_at_most`].
    pub fn limit_agents(&mut self, most: usize) {
        self.agents_max = most;
    }

    /// Has a scenario run beside the game, whose lines are read so.
    pub fn direct(&mut self, scenario: Box<dyn Scenario>, read_line: ReadLine) {
        self.director = Some(Director::new(scenario, read_line));
    }

    /// Adds a group, whose agents join later.
    pub fn add(&mut self, config: &GameConfig, group: MindGroup) {
        let team = &mut self.teams[usize::from(group.team.0)];
        if let MindSource::BuiltIn(kind) = group.source
            && team.codec.is_none()
        {
            let name = &config.teams[usize::from(group.team.0)];
            team.codec = kind.codec(name.as_bytes());
        }
        self.groups.push(MindGroupState {
            team: group.team,
            source: group.source,
            rate: group.rate,
            count: group.count,
            is_waiting: true,
            joined: 0,
            living: 0,
            decisions: 0,
        });
    }

    /// Has the agents of the groups added last take their places: in turn by each team.
    pub fn join_all(&mut self, host: &mut impl Host) {
        let waiting = self.waiting();
        let most = waiting.iter().map(Vec::len).max().unwrap_or(0);
        for place in 0..most {
            for group in waiting.iter().filter_map(|groups| groups.get(place)) {
                self.join(host, *group);
            }
        }
        self.all_joined();
    }

    /// All agents that were to join have joined, as far as there were places.
    pub fn all_joined(&mut self) {
        for group in &mut self.groups {
            group.is_waiting = false;
        }
        for team in &mut self.teams {
            team.first.get_or_insert(team.joined);
        }
    }

    /// By team, the group of each agent that is yet to join.
    pub fn waiting(&self) -> Vec<Vec<usize>> {
        let mut waiting = vec![Vec::new(); self.teams.len()];
        for (index, group) in self
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.is_waiting)
        {
            let places = std::iter::repeat_n(index, group.count as usize);
            waiting[usize::from(group.team.0)].extend(places);
        }
        waiting
    }

    /// Notes an event for [`Self::attend_noted`], if that does anything for an event of this kind.
    pub fn note(&mut self, event: GameEvent) {
        let is_for_minds = matches!(
            event,
            GameEvent::To { .. }
                | GameEvent::HeardByAll { .. }
                | GameEvent::Seen(Change::Died { .. } | Change::Left { .. })
        );
        if is_for_minds || self.director.is_some() {
            self.noted.push(event);
        }
    }

    /// Whether there is something for [`Self::attend_noted`].
    pub fn has_noted(&self) -> bool {
        !self.noted.is_empty()
    }

    /// Passes on what was noted.
    pub fn attend_noted(&mut self, host: &mut impl Host) {
        let mut noted = std::mem::take(&mut self.noted);
        for event in noted.drain(..) {
            self.attend(host, &event);
        }
        self.noted = noted;
    }

    /// Passes an event to the scenario and to the minds that it is for, one thing at a time as lines are read, and carries out
    /// what they decide.
    pub fn attend(&mut self, host: &mut impl Host, event: &GameEvent) {
        if let Some(mut director) = self.director.take() {
            director.attend(host, self, event);
            self.director = Some(director);
        }
        let (agent, percept) = match event {
            GameEvent::HeardByAll { speaker, text } => return self.spread(host, *speaker, text),
            GameEvent::Seen(Change::Died { agent }) => {
                self.died(host, *agent);
                return self.forget(*agent);
            }
            GameEvent::Seen(Change::Left { agent, .. }) => return self.forget(*agent),
            GameEvent::To { agent, percept } => (*agent, percept),
            _ => return,
        };
        let Some(slot) = self.slots.get_mut(agent.0 as usize).and_then(Option::as_mut) else {
            return;
        };
        slot.perceive(percept);
        self.perceived(host, agent);
    }

    /// When the first mind or the scenario is to be woken.
    #[inline]
    pub fn next_wake(&self) -> Option<GameTime> {
        if self.wakes.is_empty() && self.director.is_none() {
            return None;
        }
        let first = self.wakes.first().map(|(at, _)| *at);
        first.into_iter().chain(self.scenario_wake()).min()
    }

    fn scenario_wake(&self) -> Option<GameTime> {
        self.director.as_ref()?.wake
    }

    /// The scenario begins, once the agents of the start have joined.
    pub fn begin_scenario(&mut self, game: &Game) {
        if let Some(director) = &mut self.director {
            director.begin(game.now());
        }
    }

    /// Sets the wake-ups of all minds that can ask for one anew: what they are made from has changed.
    pub fn reschedule(&mut self, game: &Game) {
        let made: Vec<AgentId> = self.made.iter().copied().collect();
        for agent in made {
            self.schedule(agent, game.now());
        }
        if let Some(director) = &mut self.director {
            director.schedule(game);
        }
    }

    /// Carries out the earliest wake-up and others of its instant, the scenario's before those of agents. The game must be at
    /// that instant. Answers how many.
    pub fn wake(&mut self, host: &mut impl Host) -> u32 {
        let is_first = |wake: GameTime| self.wakes.first().is_none_or(|(at, _)| wake <= *at);
        if self.scenario_wake().is_some_and(is_first)
            && let Some(mut director) = self.director.take()
        {
            director.wake(host, self);
            self.director = Some(director);
            return 1;
        }
        let now = host.game().now();
        // All minds of the instant are sent the same, whichever of them acts first.
        if !self.made.is_empty() {
            self.published.update_from(host.game());
        }
        let mut woken = std::mem::take(&mut self.woken);
        while woken.len() < WAKES_MAX
            && let Some((at, agent)) = self.wakes.first().copied()
            && at <= now
        {
            debug_assert_eq!(now, at, "a wake-up is carried out at its instant");
            self.wakes.pop_first();
            woken.push(self.begin_wake(agent, now));
        }
        let count = woken.len();
        for Woken { agent, acts, decides } in woken.drain(..) {
            for act in acts {
                self.carry_out(host, agent, act);
            }
            if decides {
                self.decide(host, agent);
            }
            self.schedule(agent, now);
        }
        self.woken = woken;
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// What a wake-up of an agent at `now` leads to; a mind that decides begins to.
    fn begin_wake(&mut self, agent: AgentId, now: GameTime) -> Woken {
        let Some(slot) = &mut self.slots[agent.0 as usize] else {
            unreachable!("a mind that is gone has no wake-up");
        };
        let Some(timing) = &mut slot.timing else {
            unreachable!("a mind that is woken has a timing");
        };
        timing.wake = None;
        let thought = timing.thinking.take();
        let every = self.groups[slot.group].rate.every;
        let mut decides = std::mem::take(&mut timing.has_perceived);
        if let (Some(next), Some(every)) = (&mut timing.next, every)
            && *next <= now
        {
            *next = first_from(*next, every, now + GameSpan::from_nanounits(1));
            decides = true;
        }
        if let Thinker::Made(mind) = &mut slot.thinker {
            if mind.wake_at().is_some_and(|at| at <= now) {
                timing.woken_at = Some(now);
                decides = true;
            }
            if decides {
                mind.publish(&self.published);
                mind.prepare(now);
            }
        }
        Woken {
            agent,
            acts: thought.map_or_else(Vec::new, |(_, acts)| acts),
            decides,
        }
    }

    /// Sends a message to the minds of the sender's team, decoded once, and as it is to those made by a factory. All other
    /// minds ignore it.
    fn spread(&mut self, host: &mut impl Host, speaker: AgentId, text: &Arc<[u8]>) {
        let Some(agent) = host.game().world().agent(speaker) else {
            return;
        };
        let team = usize::from(agent.team.0);
        if let Some(signal) = self.teams[team].codec.as_ref().and_then(|codec| codec.read(text)) {
            // Agents that are born meanwhile are appended, and do not receive it.
            for place in 0..self.teams[team].members.len() {
                let hearer = self.teams[team].members[place];
                let Some(Slot {
                    thinker: Thinker::BuiltIn(BuiltIn::Brain(brain)),
                    ..
                }) = &mut self.slots[hearer.0 as usize]
                else {
                    continue;
                };
                if signal.is_notice() {
                    brain.receive(&signal, 0);
                } else if let Some(direction) = host.game().world().direction_of_sound(hearer, speaker)
                    && hearer != speaker
                {
                    brain.receive(&signal, direction);
                    self.perceived(host, hearer);
                }
            }
        }
        let mut last = None;
        while let Some(hearer) = self.next_made(last) {
            last = Some(hearer);
            if hearer == speaker {
                continue;
            }
            let direction = host.game().world().direction_of_sound(hearer, speaker);
            if let (Some(direction), Some(slot)) = (direction, &mut self.slots[hearer.0 as usize]) {
                let text = Arc::clone(text);
                slot.perceive(&Percept::Message { direction, text });
                self.perceived(host, hearer);
            }
        }
    }

    fn next_made(&self, after: Option<AgentId>) -> Option<AgentId> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.made.range((from, Bound::Unbounded)).next().copied()
    }

    /// A mind has perceived something: it decides now or at the end of this instant, unless it has a rate or is still thinking.
    #[inline]
    fn perceived(&mut self, host: &mut impl Host, agent: AgentId) {
        let Some(slot) = self.slots[agent.0 as usize].as_mut() else {
            return;
        };
        let Some(timing) = &mut slot.timing else {
            return self.decide(host, agent);
        };
        let decides_at_once = match &slot.thinker {
            Thinker::BuiltIn(_) => timing.next.is_none() && timing.thinking.is_none(),
            Thinker::Made(mind) => {
                timing.has_perceived |= timing.next.is_none() && mind.decides_after_percepts();
                false
            }
        };
        if decides_at_once {
            self.decide(host, agent);
        } else if timing.thinking.is_some() {
            timing.has_perceived |= timing.next.is_none();
            return;
        }
        self.schedule(agent, host.game().now());
    }

    /// Asks a mind, and carries out what it decides, at once or after its thinking.
    fn decide(&mut self, host: &mut impl Host, agent: AgentId) {
        let now = host.game().now();
        let Some(slot) = self.slots[agent.0 as usize].as_mut() else {
            return;
        };
        let index = slot.group;
        let group = &mut self.groups[index];
        group.decisions += 1;
        if let (Thinker::BuiltIn(mind), None) = (&mut slot.thinker, &slot.timing) {
            while let Some(command) = mind.next_command() {
                let handled = host.hand_in(GameInput::Command { agent, command });
                self.commands += u64::from(handled == Handled::Done);
            }
            if mind.take_free_place() {
                self.replace(host, index);
            }
            return;
        }
        let has_think = group.rate.think > GameSpan::ZERO;
        let mut acts = Vec::new();
        match &mut slot.thinker {
            Thinker::BuiltIn(mind) => {
                acts.extend(std::iter::from_fn(|| mind.next_command()).map(Act::Command));
                acts.extend(mind.take_free_place().then_some(Act::Join));
            }
            Thinker::Made(mind) => mind.decide(now, &mut acts),
        }
        match &mut slot.timing {
            Some(timing) if has_think && !acts.is_empty() => {
                let until = now + group.rate.think;
                timing.thinking = Some((until, acts));
                if let (Some(next), Some(every)) = (&mut timing.next, group.rate.every) {
                    *next = first_from(*next, every, until);
                }
            }
            _ => {
                for act in acts {
                    self.carry_out(host, agent, act);
                }
            }
        }
    }

    /// An agent does something, as its mind has decided.
    pub fn carry_out(&mut self, host: &mut impl Host, agent: AgentId, act: Act) {
        match act {
            Act::Command(command) => {
                let handled = host.hand_in(GameInput::Command { agent, command });
                self.commands += u64::from(handled == Handled::Done);
            }
            Act::Join => {
                if let Some(Some(slot)) = self.slots.get(agent.0 as usize) {
                    self.replace(host, slot.group);
                }
            }
            Act::Show(show) => host.show(ShownBy::Agent(agent), show),
        }
    }

    /// A team that may still grow takes another place.
    fn replace(&mut self, host: &mut impl Host, group: usize) {
        let team = host.game().world().team(self.groups[group].team);
        if team.map_or(0, |team| team.living as usize) < self.agents_max {
            self.join(host, group);
        }
    }

    /// Takes a place if there is one, and gives the newborn a mind.
    pub fn join(&mut self, host: &mut impl Host, index: usize) {
        let team_id = self.groups[index].team;
        let Handled::Joined(agent) = host.hand_in(GameInput::Join { team: team_id }) else {
            return;
        };
        let game = host.game();
        let (group, team) = (&mut self.groups[index], &mut self.teams[usize::from(team_id.0)]);
        let name = &game.config().teams[usize::from(team_id.0)];
        let replacement = team.first.map_or(0, |first| team.joined + 1 - first);
        let places = game.world().team(team_id).map_or(0, |team| team.places());
        let seed = agent_seed(game.config().seed, name.as_bytes(), places, replacement);
        let thinker = match &mut group.source {
            MindSource::BuiltIn(kind) => Thinker::BuiltIn(kind.awaken(name.as_bytes(), seed)),
            MindSource::Made { factory, .. } => {
                self.made.insert(agent);
                let born = game.world().agent(agent).expect("it has just joined");
                Thinker::Made(factory.awaken(&Newborn {
                    agent,
                    team: name.as_str().into(),
                    index: team.joined,
                    seed,
                    places,
                    tile: born.tile,
                    direction: born.facing,
                    map: game.config().size,
                }))
            }
        };
        let is_timed = group.rate != MindRate::default() || matches!(thinker, Thinker::Made(_));
        let next = group.rate.every.map(|every| {
            let count = i128::from(group.count.max(1));
            let phase = every.as_nanounits() * (i128::from(group.joined) % count) / count;
            first_from(GameTime::from_nanounits(phase), every, game.now())
        });
        let timing = is_timed.then(|| {
            Box::new(Timing {
                next,
                ..Timing::default()
            })
        });
        group.joined += 1;
        group.living += 1;
        team.joined += 1;
        team.members.push(agent);
        self.joined += 1;
        let place = agent.0 as usize;
        if self.slots.len() <= place {
            self.slots.resize_with(place + 1, || None);
        }
        self.slots[place] = Some(Slot {
            thinker,
            group: index,
            timing,
        });
        self.perceived(host, agent);
    }

    /// An agent has starved: its mind may show a last thing.
    fn died(&mut self, host: &mut impl Host, agent: AgentId) {
        let Some(Some(slot)) = self.slots.get_mut(agent.0 as usize) else {
            return;
        };
        let mut acts = Vec::new();
        if let Thinker::Made(mind) = &mut slot.thinker {
            mind.died(host.game().now(), &mut acts);
        }
        for act in acts {
            if let Act::Show(show) = act {
                host.show(ShownBy::Agent(agent), show);
            }
        }
    }

    /// An agent is gone.
    fn forget(&mut self, agent: AgentId) {
        let Some(slot) = self.slots.get_mut(agent.0 as usize).and_then(Option::take) else {
            return;
        };
        if let Some(wake) = slot.timing.and_then(|timing| timing.wake) {
            self.wakes.remove(&(wake, agent));
        }
        self.made.remove(&agent);
        let group = &mut self.groups[slot.group];
        group.living -= 1;
        let members = &mut self.teams[usize::from(group.team.0)].members;
        if let Ok(place) = members.binary_search(&agent) {
            members.remove(place);
        }
    }

    /// Sets the wake-up of a mind, after anything that may have moved it.
    fn schedule(&mut self, agent: AgentId, now: GameTime) {
        let Some(slot) = &mut self.slots[agent.0 as usize] else {
            return;
        };
        let Some(timing) = &mut slot.timing else { return };
        let thinks_until = timing.thinking.as_ref().map(|(until, _)| *until);
        let asked_for = match &slot.thinker {
            Thinker::Made(mind) => mind.wake_at().map(|at| {
                let earliest = timing
                    .woken_at
                    .map_or(now, |woken_at| now.max(woken_at + WAKE_SPACING));
                at.max(earliest)
            }),
            Thinker::BuiltIn(_) => None,
        };
        let perceived = timing.has_perceived.then_some(now);
        let asked_for = asked_for.into_iter().chain(perceived);
        let wake = thinks_until.or_else(|| timing.next.into_iter().chain(asked_for).min());
        if wake == timing.wake {
            return;
        }
        if let Some(before) = std::mem::replace(&mut timing.wake, wake) {
            self.wakes.remove(&(before, agent));
        }
        if let Some(wake) = wake {
            self.wakes.insert((wake, agent));
        }
    }
}

/// The first instant from `from` on of those that follow `start` at each period `every`, itself included.
fn first_from(start: GameTime, every: GameSpan, from: GameTime) -> GameTime {
    let every = every.as_nanounits();
    let behind = (from - start).as_nanounits().max(0);
    let periods = behind.div_euclid(every) + i128::from(behind % every != 0);
    start + GameSpan::from_nanounits(periods * every)
}

impl Minds {
    /// Takes the youngest of a team, at most so many: how many that are yet to join, and the agents of the others.
    pub fn take_youngest(&mut self, team: TeamId, count: usize) -> (usize, Vec<AgentId>) {
        let mut left = count;
        let mut unborn = 0;
        let waiting = |group: &&mut MindGroupState| group.team == team && group.is_waiting;
        for group in self.groups.iter_mut().rev().filter(waiting) {
            let taken = group.count.min(u32::try_from(left).unwrap_or(u32::MAX));
            group.count -= taken;
            unborn += taken as usize;
            left -= taken as usize;
        }
        let members = &self.teams[usize::from(team.0)].members;
        (unborn, members.iter().rev().take(left).copied().collect())
    }

    /// All groups, in the order in which they were added.
    pub fn groups(&self) -> &[MindGroupState] {
        &self.groups
    }

    /// What the mind of an agent is called, if it has one.
    pub fn name_of(&self, agent: AgentId) -> Option<&str> {
        let slot = self.slots.get(agent.0 as usize)?.as_ref()?;
        Some(self.groups[slot.group].source.name())
    }

    /// Minds whose wake-up was due a whole period of their rate before `now`.
    pub fn starved(&self, now: GameTime) -> usize {
        let is_starved = |(at, agent): &&(GameTime, AgentId)| {
            let slot = self.slots[agent.0 as usize].as_ref();
            let every = slot.and_then(|slot| self.groups[slot.group].rate.every);
            every.is_some_and(|every| *at + every <= now)
        };
        let overdue = self.wakes.iter().take_while(|(at, _)| *at < now);
        overdue.filter(is_starved).count()
    }

    /// Agents with minds that live.
    pub fn living(&self) -> usize {
        self.teams.iter().map(|team| team.members.len()).sum()
    }

    /// Agents with minds that were born so far.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// Commands of minds so far that were not dropped.
    pub fn commands(&self) -> u64 {
        self.commands
    }
}
