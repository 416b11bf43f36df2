//! Messages between agents that take time, get lost or are out of range, like radio.
//!
//! Off by default: a broadcast then reaches all agents at once, as in the rules of the game. Switched on, each
//! pair of agents has a link in each direction, which decides when and whether a message arrives; it behaves as is set
//! for the sender's team. The distance is
//! that at sending; the direction points to where the message was sent, from the recipient as it stands on
//! arrival. Agents out of range can still be reached by others that repeat messages, at the cost of each hop's
//! delay.
//!
//! Delivery is a deadline like any other: it obeys speed, pause and order. This module keeps links and messages
//! in flight; `game.rs` sets the deadlines.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
pub use trantor_model::Lag;
use trantor_model::control::LagError;
use trantor_model::lag::LAG_SETTING_MAX;
use trantor_model::{AgentId, MapSize, TeamId, Tile};
use trantor_time::link::{Delivery, Link, LinkCounts, Loss};
use trantor_time::{GameSpan, GameTime};

use crate::agenda::Due;

/// Thousandths of a tile to a tile.
const MILLITILES: u64 = 1_000;

/// The longest latency, jitter or wait, in units.
const LAG_UNITS_MAX: i64 = LAG_SETTING_MAX as i64;

/// The longest time of a message in flight: the longest latency, jitter and wait, and the slowest flight across
/// the largest map.
const IN_FLIGHT_SPAN_MAX: GameSpan = GameSpan::from_units(4 * LAG_UNITS_MAX);

/// Links in use at a time. A link is the better part of a kilobyte, and there is one for each sender and each
/// recipient that was in its range: enough for 300 agents that all send to all. Beyond it messages on new links are lost.
const LINKS_MAX: usize = 100_000;

/// Messages in flight at a time; further ones are lost.
const IN_FLIGHT_COUNT_MAX: usize = 100_000;

/// The most that a snapshot may have counted of anything; one more never overflows.
const NUMBER_MAX: u64 = u64::MAX / 2;

/// The number of a message in flight: counted from 0, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct MessageId(pub(crate) u64);

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) id: MessageId,
    /// When it arrives.
    pub(crate) at: GameTime,
    pub(crate) from: AgentId,
    pub(crate) to: AgentId,
    /// Where it was sent.
    pub(crate) source: Tile,
    /// Copies share it.
    pub(crate) text: Arc<[u8]>,
}

/// The messages in flight, and the links on which they travel.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    /// Of teams without their own; `None` if messages arrive at once.
    lag: Option<Lag>,
    own_lags: BTreeMap<TeamId, Option<Lag>>,
    seed: u64,
    links: BTreeMap<(AgentId, AgentId), AgentLink>,
    messages: BTreeMap<MessageId, Message>,
    next_message: u64,
    crowded_out: u64,
    /// Those of links that are gone included; of a game that was restored, those of the links that it had.
    counts: LinkCounts,
    delays: Delays,
}

/// The link from one agent to another.
#[derive(Clone, Debug)]
struct AgentLink {
    link: Link,
    /// Not saved: the game does not depend on it.
    delays: Delays,
}

/// What became of all messages on links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LagTotals {
    /// Those of links that are gone included.
    pub counts: LinkCounts,
    /// Not sent, since too many links or messages were in use.
    pub crowded_out: u64,
    /// Links in use.
    pub links: usize,
    /// Since the game was made or restored.
    pub delays: Delays,
}

/// The settings of links as they are saved. The first two are like an `Option`, which is all that there was before teams had
/// their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SavedLags {
    Off,
    Same(Lag),
    ByTeam {
        others: Option<Lag>,
        own: BTreeMap<TeamId, Option<Lag>>,
    },
}

/// The links, each as it saves itself, and the messages in flight of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedInFlight {
    pub(crate) lag: SavedLags,
    pub(crate) links: Vec<(AgentId, AgentId, Vec<u8>)>,
    pub(crate) messages: Vec<Message>,
    pub(crate) next_message: u64,
    pub(crate) crowded_out: u64,
}

/// Checks that no message can be in flight for longer than [`IN_FLIGHT_SPAN_MAX`].
pub(crate) fn check(lag: &Lag) -> Result<(), LagError> {
    Link::new(*lag, 0, 0)?;
    let wait_max = lag
        .bandwidth
        .map_or(GameSpan::ZERO, |bandwidth| bandwidth.wait_max);
    let longest = GameSpan::from_units(LAG_UNITS_MAX);
    let is_short = |span| span <= longest;
    if [lag.latency, lag.jitter_max, wait_max].into_iter().all(is_short) {
        Ok(())
    } else {
        Err(LagError::TooLong)
    }
}

impl Message {
    /// Its arrival, on the agenda.
    pub(crate) fn due(&self) -> Due {
        Due::Delivery {
            message: self.id,
            to: self.to,
        }
    }
}

impl InFlight {
    /// No message in flight.
    pub(crate) fn new(lag: Option<Lag>, seed: u64) -> Self {
        Self {
            lag,
            own_lags: BTreeMap::new(),
            seed,
            links: BTreeMap::new(),
            messages: BTreeMap::new(),
            next_message: 0,
            crowded_out: 0,
            counts: LinkCounts::default(),
            delays: Delays::default(),
        }
    }

    /// The seed of the links' generators.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// How the links of a team's agents behave; `None` if their messages arrive at once.
    pub(crate) fn lag_of(&self, team: TeamId) -> Option<&Lag> {
        self.own_lags.get(&team).unwrap_or(&self.lag).as_ref()
    }

    /// As `lag_of`, for teams without settings of their own.
    pub(crate) fn lag(&self) -> Option<&Lag> {
        self.lag.as_ref()
    }

    /// The teams with settings of their own.
    pub(crate) fn own_lags(&self) -> impl Iterator<Item = (TeamId, Option<&Lag>)> {
        self.own_lags.iter().map(|(team, lag)| (*team, lag.as_ref()))
    }

    /// Changes the settings of all teams for later messages; those in flight keep their time.
    pub(crate) fn set_lag(&mut self, lag: Option<Lag>) -> Result<(), LagError> {
        lag.as_ref().map_or(Ok(()), check)?;
        self.lag = lag;
        self.own_lags.clear();
        Ok(())
    }

    /// As `set_lag`, for one team, or with `None` as for the others.
    pub(crate) fn set_team_lag(&mut self, team: TeamId, lag: Option<Option<Lag>>) -> Result<(), LagError> {
        lag.flatten().as_ref().map_or(Ok(()), check)?;
        match lag {
            Some(own) => self.own_lags.insert(team, own),
            None => self.own_lags.remove(&team),
        };
        Ok(())
    }

    /// Sends `text` from one agent to another over `distance` on a link that behaves like `lag`, and adds what will arrive
    /// to `sent`: nothing, one, or two of a kind.
    pub(crate) fn send(
        &mut self,
        now: GameTime,
        lag: Lag,
        mut message: Message,
        distance: u64,
        sent: &mut Vec<(MessageId, GameTime)>,
    ) -> Delivery {
        self.counts.sent += 1;
        let has_room = self.links.len() < LINKS_MAX;
        let AgentLink { link, delays } = match self.links.entry((message.from, message.to)) {
            Entry::Occupied(link) => link.into_mut(),
            // Most agents of a large map are never in range of each other, and need no link.
            Entry::Vacant(_) if lag.range.is_some_and(|range| distance > range) => {
                self.counts.out_of_range += 1;
                return Delivery::Lost(Loss::OutOfRange);
            }
            Entry::Vacant(_) if !has_room => {
                self.crowded_out += 1;
                return Delivery::Lost(Loss::LineFull);
            }
            Entry::Vacant(place) => {
                let (from, to) = *place.key();
                // Each direction of each pair has its own random stream, so the order of messages does not matter.
                let stream = u64::from(from.0) << 32 | u64::from(to.0);
                let link = Link::new(lag, self.seed, stream);
                place.insert(AgentLink {
                    link: link.expect("the settings were checked when they were set"),
                    delays: Delays::default(),
                })
            }
        };
        if *link.settings() != lag {
            link.set(lag)
                .expect("the settings were checked when they were set");
        }
        let bytes = message.text.len() as u64;
        let (at, again_at) = match link.send(now, distance, bytes) {
            Delivery::Arrives { at, again_at } => (at, again_at),
            Delivery::Lost(loss) => {
                *match loss {
                    Loss::Chance => &mut self.counts.lost,
                    Loss::OutOfRange => &mut self.counts.out_of_range,
                    Loss::LineFull => &mut self.counts.line_full,
                } += 1;
                return Delivery::Lost(loss);
            }
        };
        self.counts.duplicated += u64::from(again_at.is_some());
        let mut depart = |at: GameTime| {
            if self.messages.len() >= IN_FLIGHT_COUNT_MAX || at - now > IN_FLIGHT_SPAN_MAX {
                link.abandoned();
                self.crowded_out += 1;
                return None;
            }
            message.id = MessageId(self.next_message);
            message.at = at;
            self.next_message += 1;
            sent.push((message.id, at));
            delays.record(at - now);
            self.delays.record(at - now);
            self.messages.insert(message.id, message.clone());
            Some(at)
        };
        let (first, copy) = (depart(at), again_at.and_then(depart));
        match first.or(copy) {
            Some(at) => Delivery::Arrives {
                at,
                again_at: first.and(copy),
            },
            None => Delivery::Lost(Loss::LineFull),
        }
    }

    /// Takes a message that arrives.
    pub(crate) fn deliver(&mut self, id: MessageId) -> Message {
        let message = self
            .messages
            .remove(&id)
            .expect("a message in flight arrives once");
        // The link is gone if the sender is; its message still arrives.
        if let Some(AgentLink { link, .. }) = self.links.get_mut(&(message.from, message.to)) {
            link.delivered();
        }
        self.counts.delivered += 1;
        message
    }

    /// Removes the links of an agent that is gone, and the messages in flight to it, which it returns. Others of these
    /// are `living`.
    pub(crate) fn forget(&mut self, agent: AgentId, living: &[AgentId]) -> Vec<MessageId> {
        if self.messages.is_empty() && self.links.is_empty() {
            return Vec::new();
        }
        for &other in living {
            self.links.remove(&(agent, other));
            self.links.remove(&(other, agent));
        }
        let to_it = self.messages.values().filter(|message| message.to == agent);
        let undelivered: Vec<MessageId> = to_it.map(|message| message.id).collect();
        for id in &undelivered {
            self.messages.remove(id);
        }
        undelivered
    }

    /// Removes all links and messages.
    pub(crate) fn clear(&mut self) {
        self.links.clear();
        self.messages.clear();
    }

    /// A message in flight.
    pub(crate) fn message(&self, id: MessageId) -> &Message {
        &self.messages[&id]
    }

    /// The messages in flight, in the order of sending.
    pub(crate) fn messages(&self) -> impl ExactSizeIterator<Item = &Message> {
        self.messages.values()
    }

    /// The links: sender, recipient, counts and delays.
    pub(crate) fn links(&self) -> impl Iterator<Item = (AgentId, AgentId, &LinkCounts, &Delays)> {
        let links = self.links.iter();
        links.map(|(&(from, to), AgentLink { link, delays })| (from, to, link.counts(), delays))
    }

    /// All links together, those that are gone included.
    pub(crate) fn totals(&self) -> LagTotals {
        let in_flight = self.messages.len() as u64;
        LagTotals {
            counts: LinkCounts {
                in_flight,
                ..self.counts
            },
            crowded_out: self.crowded_out,
            links: self.links.len(),
            delays: self.delays.clone(),
        }
    }

    /// Adds what a saved link has counted.
    fn count(&mut self, of_link: &LinkCounts) {
        let counts = &mut self.counts;
        for (total, count) in [
            (&mut counts.sent, of_link.sent),
            (&mut counts.delivered, of_link.delivered),
            (&mut counts.lost, of_link.lost),
            (&mut counts.out_of_range, of_link.out_of_range),
            (&mut counts.line_full, of_link.line_full),
            (&mut counts.duplicated, of_link.duplicated),
        ] {
            *total = total.saturating_add(count).min(NUMBER_MAX);
        }
    }

    pub(crate) fn save(&self) -> SavedInFlight {
        let save = |link| postcard::to_stdvec(link).expect("plain data in memory can be written");
        SavedInFlight {
            lag: match self.lag {
                others if !self.own_lags.is_empty() => SavedLags::ByTeam {
                    others,
                    own: self.own_lags.clone(),
                },
                None => SavedLags::Off,
                Some(lag) => SavedLags::Same(lag),
            },
            links: self
                .links
                .iter()
                .map(|(&(from, to), link)| (from, to, save(&link.link)))
                .collect(),
            messages: self.messages.values().cloned().collect(),
            next_message: self.next_message,
            crowded_out: self.crowded_out,
        }
    }

    /// Puts back what was saved; `None` if it contradicts itself. That agents and times exist is for the
    /// caller to check.
    pub(crate) fn restore(saved: SavedInFlight, seed: u64) -> Option<Self> {
        let mut in_flight = Self::new(None, seed);
        let numbers_fit = saved.next_message <= NUMBER_MAX && saved.crowded_out <= NUMBER_MAX;
        let counts_fit = saved.links.len() <= LINKS_MAX && saved.messages.len() <= IN_FLIGHT_COUNT_MAX;
        if !numbers_fit || !counts_fit {
            return None;
        }
        let mut under_way: BTreeMap<(AgentId, AgentId), u64> = BTreeMap::new();
        for message in saved.messages {
            *under_way.entry((message.from, message.to)).or_default() += 1;
            let is_next = in_flight
                .messages
                .keys()
                .last()
                .is_none_or(|last| *last < message.id);
            if !is_next || message.id.0 >= saved.next_message {
                return None;
            }
            in_flight.messages.insert(message.id, message);
        }
        for (from, to, bytes) in saved.links {
            let (link, rest) = postcard::take_from_bytes::<Link>(&bytes).ok()?;
            let is_next = in_flight
                .links
                .keys()
                .last()
                .is_none_or(|last| *last < (from, to));
            let counts = link.counts();
            let counted = [
                counts.sent,
                counts.delivered,
                counts.lost,
                counts.out_of_range,
                counts.line_full,
                counts.duplicated,
            ];
            let fits = is_next
                && rest.is_empty()
                && counts.in_flight == under_way.get(&(from, to)).copied().unwrap_or(0)
                && counted.into_iter().all(|count| count <= NUMBER_MAX);
            if !fits {
                return None;
            }
            in_flight.count(counts);
            let delays = Delays::default();
            in_flight.links.insert((from, to), AgentLink { link, delays });
        }
        match saved.lag {
            SavedLags::Off => {}
            SavedLags::Same(lag) => in_flight.lag = Some(lag),
            SavedLags::ByTeam { others, own } => (in_flight.lag, in_flight.own_lags) = (others, own),
        }
        let settings = in_flight.own_lags.values().chain([&in_flight.lag]);
        settings.flatten().try_for_each(check).ok()?;
        in_flight.next_message = saved.next_message;
        in_flight.crowded_out = saved.crowded_out;
        Some(in_flight)
    }
}

/// Thousandths of a tile between two tiles, as the crow flies, round the torus; rounded down.
pub(crate) fn distance(size: MapSize, from: Tile, to: Tile) -> u64 {
    let (dx, dy) = size.shortest(from, to);
    let squared = u64::from(dx.unsigned_abs()).pow(2) + u64::from(dy.unsigned_abs()).pow(2);
    (squared * MILLITILES * MILLITILES).isqrt()
}

/// Upper bounds of the buckets, in nanounits: 1 and 1.5 times each power of two from an eighth of a unit to a million
/// units.
const BOUNDS_NU: [i64; 48] = {
    let mut bounds = [0; 48];
    let (mut nth, mut octave) = (0, 125_000_000);
    while nth < bounds.len() {
        bounds[nth] = octave;
        bounds[nth + 1] = octave / 2 * 3;
        octave *= 2;
        nth += 2;
    }
    bounds
};

/// Delays of messages, from sending to arrival: a histogram of game time, small enough for every link to have one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    /// One for each bound, and one for what is longer than all of them.
    buckets: [u64; BOUNDS_NU.len() + 1],
    sum: GameSpan,
    shortest: GameSpan,
    longest: GameSpan,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            buckets: [0; BOUNDS_NU.len() + 1],
            sum: GameSpan::ZERO,
            shortest: GameSpan::ZERO,
            longest: GameSpan::ZERO,
        }
    }
}

impl Delays {
    fn record(&mut self, delay: GameSpan) {
        let is_first = self.count() == 0;
        let bucket = BOUNDS_NU.partition_point(|bound| i128::from(*bound) < delay.as_nanounits());
        self.buckets[bucket] += 1;
        self.sum += delay;
        self.shortest = if is_first { delay } else { self.shortest.min(delay) };
        self.longest = self.longest.max(delay);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// All of them together.
    pub fn sum(&self) -> GameSpan {
        self.sum
    }

    /// Upper bound of each bucket in units, and how many delays lie in it.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = BOUNDS_NU.map(|bound| GameSpan::from_nanounits(bound.into()).as_units_f64());
        let bounds = bounds.into_iter().chain([f64::INFINITY]);
        bounds.zip(self.buckets)
    }

    /// The delay that this share in a hundred did not exceed, to a third of itself; zero if there were none. Within a
    /// bucket delays count as spread evenly.
    pub fn percentile(&self, percent: u64) -> GameSpan {
        let rank = (u128::from(self.count()) * u128::from(percent))
            .div_ceil(100)
            .max(1);
        let mut before = 0;
        for (bucket, count) in self.buckets.into_iter().enumerate() {
            let count = u128::from(count);
            if before + count >= rank {
                let bound = |nth: usize| BOUNDS_NU.get(nth).copied().map(i128::from);
                let lower = bucket.checked_sub(1).and_then(bound).unwrap_or(0);
                let upper = bound(bucket).unwrap_or(self.longest.as_nanounits());
                let share = (upper - lower) * (rank - before) as i128 / count as i128;
                return GameSpan::from_nanounits(lower + share).clamp(self.shortest, self.longest);
            }
            before += count;
        }
        GameSpan::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: u32, to: u32) -> Message {
        Message {
            id: MessageId(0),
            at: GameTime::ZERO,
            from: AgentId(from),
            to: AgentId(to),
            source: Tile { x: 0, y: 0 },
            text: b"hello".as_slice().into(),
        }
    }

    #[test]
    fn what_crowds_of_agents_send_beyond_the_limits_is_counted_and_not_kept() {
        let mut in_flight = InFlight::new(None, 1);
        let lag = Lag {
            latency: GameSpan::from_units(5),
            range: Some(1_000),
            ..Lag::PERFECT
        };
        const AGENTS: u32 = 400;
        let mut sent = Vec::new();
        for from in 0..AGENTS {
            for to in (0..AGENTS).filter(|to| *to != from) {
                // Agents of different thirds are not in range of each other.
                let distance = if from % 3 == to % 3 { 1_000 } else { 1_001 };
                in_flight.send(GameTime::ZERO, lag, message(from, to), distance, &mut sent);
            }
        }
        let pairs = u64::from(AGENTS) * u64::from(AGENTS - 1);
        let totals = in_flight.totals();
        let in_range = totals.links as u64;
        assert_eq!((totals.counts.sent, totals.crowded_out), (pairs, 0));
        assert_eq!(totals.counts.out_of_range, pairs - in_range);
        assert_eq!(
            (totals.counts.in_flight, totals.delays.count()),
            (in_range, in_range)
        );

        for from in 0..AGENTS {
            for to in (0..AGENTS).filter(|to| *to != from) {
                in_flight.send(GameTime::ZERO, lag, message(from, to), 0, &mut sent);
            }
        }
        let totals = in_flight.totals();
        assert_eq!(totals.links, LINKS_MAX);
        assert_eq!(totals.counts.in_flight, IN_FLIGHT_COUNT_MAX as u64);
        let refused = pairs + in_range - IN_FLIGHT_COUNT_MAX as u64;
        assert_eq!(totals.crowded_out, refused);

        let living: Vec<AgentId> = (1..AGENTS).map(AgentId).collect();
        let to_it = in_flight.forget(AgentId(0), &living);
        assert!(!to_it.is_empty());
        let after = in_flight.totals();
        assert!(after.links < totals.links);
        assert_eq!(after.counts.sent, totals.counts.sent, "links that are gone count");
    }

    #[test]
    fn settings_of_all_teams_are_saved_as_before_teams_had_their_own() {
        for lag in [None, Some(Lag::PERFECT)] {
            let saved = InFlight::new(lag, 1).save().lag;
            assert_eq!(postcard::to_stdvec(&saved), postcard::to_stdvec(&lag));
        }
    }

    fn units(units: i64) -> GameSpan {
        GameSpan::from_units(units)
    }

    #[test]
    fn percentiles_are_near_those_of_the_delays() {
        let mut delays = Delays::default();
        assert_eq!(delays.percentile(99), GameSpan::ZERO);
        for delay in 1..=1_000 {
            delays.record(units(delay));
        }
        for percent in [1, 10, 50, 90, 99, 100] {
            let (found, exact) = (delays.percentile(percent).as_units_f64(), percent as f64 * 10.0);
            assert!((found / exact - 1.0).abs() < 0.1, "{percent} %: {found}");
        }
        assert_eq!((delays.count(), delays.sum()), (1_000, units(500_500)));
        let mut of_one = Delays::default();
        of_one.record(units(5));
        assert_eq!(of_one.percentile(50), units(5));
        of_one.record(units(2_000_000));
        assert_eq!(of_one.percentile(100), units(2_000_000));
        assert_eq!(of_one.buckets().last(), Some((f64::INFINITY, 1)));
    }
}
