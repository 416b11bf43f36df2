//! Messages between agents that take time, get lost or are out of range, like radio.
//!
//! Off by default: a broadcast then reaches all agents at once, as in the rules of the game. Switched on, each
//! pair of agents has a link in each direction, which decides when and whether a message arrives. The distance is
//! that at sending; the direction points to where the message was sent, from the recipient as it stands on
//! arrival. Agents out of range can still be reached by others that repeat messages, at the cost of each hop's
//! delay.
//!
//! Delivery is a deadline like any other: it obeys speed, pause and order. This module keeps links and messages
//! in flight; `game.rs` sets the deadlines.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
pub use trantor_model::Lag;
use trantor_model::lag::LAG_SETTING_MAX;
use trantor_model::{AgentId, MapSize, Tile};
use trantor_time::link::{Delivery, Link, LinkCounts, LinkError};
use trantor_time::{GameSpan, GameTime};

use crate::agenda::Due;
use crate::ids::MessageId;

/// Thousandths of a tile to a tile.
const MILLITILES: u64 = 1_000;

/// The longest latency, jitter or wait, in units.
const LAG_UNITS_MAX: i64 = LAG_SETTING_MAX as i64;

/// The longest time of a message in flight: the longest latency, jitter and wait, and the slowest flight across
/// the largest map.
const IN_FLIGHT_SPAN_MAX: GameSpan = GameSpan::from_units(4 * LAG_UNITS_MAX);

/// Links in use at a time. A link is the better part of a kilobyte, and there is one for each sender and
/// recipient: enough for 300 agents that all send to all. Beyond it messages on new links are lost.
const LINKS_MAX: usize = 100_000;

/// Messages in flight at a time; further ones are lost.
const IN_FLIGHT_COUNT_MAX: usize = 100_000;

/// The most that a snapshot may have counted of anything; one more never overflows.
const NUMBER_MAX: u64 = u64::MAX / 2;

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
    pub(crate) text: Text,
}

/// The text of a message; copies share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Box<[u8]>", into = "Box<[u8]>")]
pub(crate) struct Text(pub(crate) Arc<[u8]>);

/// The messages in flight, and the links on which they travel.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    lag: Option<Lag>,
    seed: u64,
    links: BTreeMap<(AgentId, AgentId), Link>,
    messages: BTreeMap<MessageId, Message>,
    next_message: u64,
    crowded_out: u64,
}

/// The links, each as it saves itself, and the messages in flight of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedInFlight {
    pub(crate) lag: Option<Lag>,
    pub(crate) links: Vec<(AgentId, AgentId, Vec<u8>)>,
    pub(crate) messages: Vec<Message>,
    pub(crate) next_message: u64,
    pub(crate) crowded_out: u64,
}

/// Why a game cannot have such a lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LagError {
    /// No link can behave so.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A latency, a jitter or a wait is longer than the game reckons with.
    #[error("times between agents are at most {LAG_UNITS_MAX} units")]
    TooLong,
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
            seed,
            links: BTreeMap::new(),
            messages: BTreeMap::new(),
            next_message: 0,
            crowded_out: 0,
        }
    }

    /// The seed of the links' generators.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// How links behave; `None` if messages arrive at once.
    pub(crate) fn lag(&self) -> Option<&Lag> {
        self.lag.as_ref()
    }

    /// Changes it for later messages; those in flight keep their time.
    pub(crate) fn set_lag(&mut self, lag: Option<Lag>) -> Result<(), LagError> {
        if let Some(lag) = lag {
            check(&lag)?;
            for link in self.links.values_mut() {
                link.set(lag)?;
            }
        }
        self.lag = lag;
        Ok(())
    }

    /// Sends `text` from one agent to another over `distance`, and adds what will arrive to `sent`: nothing, one,
    /// or two of a kind.
    pub(crate) fn send(
        &mut self,
        now: GameTime,
        mut message: Message,
        distance: u64,
        sent: &mut Vec<(MessageId, GameTime)>,
    ) {
        let Some(lag) = self.lag else { return };
        let pair = (message.from, message.to);
        if self.links.len() >= LINKS_MAX && !self.links.contains_key(&pair) {
            self.crowded_out += 1;
            return;
        }
        let seed = self.seed;
        let link = self.links.entry(pair).or_insert_with(|| {
            // Each direction of each pair has its own random stream, so the order of messages does not matter.
            let stream = u64::from(pair.0.0) << 32 | u64::from(pair.1.0);
            Link::new(lag, seed, stream).expect("the settings were checked when they were set")
        });
        let bytes = message.text.0.len() as u64;
        let Delivery::Arrives { at, again_at } = link.send(now, distance, bytes) else {
            return;
        };
        for at in std::iter::once(at).chain(again_at) {
            if self.messages.len() >= IN_FLIGHT_COUNT_MAX || at - now > IN_FLIGHT_SPAN_MAX {
                link.abandoned();
                self.crowded_out += 1;
                continue;
            }
            message.id = MessageId(self.next_message);
            message.at = at;
            self.next_message += 1;
            sent.push((message.id, at));
            self.messages.insert(message.id, message.clone());
        }
    }

    /// Takes a message that arrives.
    pub(crate) fn deliver(&mut self, id: MessageId) -> Message {
        let message = self
            .messages
            .remove(&id)
            .expect("a message in flight arrives once");
        // The link is gone if the sender is; its message still arrives.
        if let Some(link) = self.links.get_mut(&(message.from, message.to)) {
            link.delivered();
        }
        message
    }

    /// Removes the links of an agent that is gone, and the messages in flight to it, which it returns.
    pub(crate) fn forget(&mut self, agent: AgentId) -> Vec<MessageId> {
        if self.lag.is_none() && self.messages.is_empty() && self.links.is_empty() {
            return Vec::new();
        }
        self.links.retain(|&(from, to), _| from != agent && to != agent);
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

    /// The links: sender, recipient and counts.
    pub(crate) fn links(&self) -> impl Iterator<Item = (AgentId, AgentId, &LinkCounts)> {
        self.links
            .iter()
            .map(|(&(from, to), link)| (from, to, link.counts()))
    }

    pub(crate) fn save(&self) -> SavedInFlight {
        let save = |link| postcard::to_stdvec(link).expect("plain data in memory can be written");
        SavedInFlight {
            lag: self.lag,
            links: self
                .links
                .iter()
                .map(|(&(from, to), link)| (from, to, save(link)))
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
            in_flight.links.insert((from, to), link);
        }
        in_flight.set_lag(saved.lag).ok()?;
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

impl From<Box<[u8]>> for Text {
    fn from(bytes: Box<[u8]>) -> Self {
        Self(bytes.into())
    }
}

impl From<Text> for Box<[u8]> {
    fn from(text: Text) -> Self {
        text.0.as_ref().into()
    }
}
