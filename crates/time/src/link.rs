//! A model of a link: when a message arrives, whether it arrives twice, and whether it is lost.
//!
//! ```text
//! sent ──> queue for the line ──> on the line ──> distance / speed + latency + jitter ──> arrives
//!            (bandwidth)           bytes / bandwidth
//! ```
//!
//! Between agents the distance is that of the agents when the message is sent. The link only says when: delivery is work
//! that the caller schedules, so it obeys speed, pause and order like all other. A simulated network counts a nanosecond
//! as a billionth of a unit.
//!
//! A link owns its generator of random numbers and draws as many for each message, whatever the settings. So the
//! n-th message of a link is delivered alike in every run with the same seed.

use std::num::NonZeroU64;

use rand_core::Rng;
use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};

use crate::units::{GameSpan, GameTime, NANOS};

/// One direction of a link. One that is saved and loaded delivers as before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Link {
    settings: LinkSettings,
    rng: Pcg32,
    /// When the line has sent what was queued so far.
    busy_until: Option<GameTime>,
    last_arrival: Option<GameTime>,
    counts: LinkCounts,
}

/// How a link behaves. All of it may be changed while messages are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSettings {
    /// Distance covered in a unit, in the caller's measure; `None` for at once.
    pub speed: Option<NonZeroU64>,
    /// Added to every delay.
    pub latency: GameSpan,
    /// The most that chance adds; every delay from zero to this is as likely.
    pub jitter_max: GameSpan,
    /// How many messages are lost on the way.
    pub loss: Chance,
    /// How many arrive twice.
    pub duplication: Chance,
    /// The distance beyond which nothing arrives; `None` for everywhere.
    pub range: Option<u64>,
    /// How much the line carries; `None` for everything at once.
    pub bandwidth: Option<Bandwidth>,
    /// Whether a message may overtake an earlier one.
    pub order: Order,
}

/// A share of messages, in parts of a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Chance {
    parts_per_million: u32,
}

/// A line that takes time for each byte, and queues what it cannot send yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Bytes sent in a unit.
    pub bytes_per: NonZeroU64,
    /// The longest that a message may wait for the line; what would wait longer is dropped. It bounds the queue.
    pub wait_max: GameSpan,
}

/// In which order messages arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Order {
    /// In the order sent: one that would overtake arrives with the one before it.
    #[default]
    Fifo,
    /// As their delays fall.
    MayOvertake,
}

/// Why settings are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A latency, a jitter or a wait is negative.
    #[error("times on a link are not negative")]
    NegativeTime,
    /// A share is above one.
    #[error("a chance has at most 1,000,000 parts in a million, not {asked}")]
    ChanceAboveOne {
        /// The number that was refused.
        asked: u32,
    },
}

/// How one message is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delivery {
    /// It arrives.
    Arrives {
        /// When.
        at: GameTime,
        /// When once more, if it is duplicated.
        again_at: Option<GameTime>,
    },
    /// It does not.
    Lost(Loss),
}

/// Why a message does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// Lost at random.
    Chance,
    /// The receiver is too far away.
    OutOfRange,
    /// Too much waits for the line.
    LineFull,
}

/// What a link has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts {
    /// Messages handed to the link.
    pub sent: u64,
    /// Arrivals, copies included.
    pub delivered: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Not delivered because of the distance.
    pub out_of_range: u64,
    /// Dropped before the line.
    pub line_full: u64,
    /// Messages that arrive twice.
    pub duplicated: u64,
    /// On the way, copies included.
    pub in_flight: u64,
}

impl LinkSettings {
    /// A link that delivers everything at once.
    pub const PERFECT: Self = Self {
        speed: None,
        latency: GameSpan::ZERO,
        jitter_max: GameSpan::ZERO,
        loss: Chance::NEVER,
        duplication: Chance::NEVER,
        range: None,
        bandwidth: None,
        order: Order::Fifo,
    };

    fn check(&self) -> Result<(), LinkError> {
        let wait_max = self
            .bandwidth
            .map_or(GameSpan::ZERO, |bandwidth| bandwidth.wait_max);
        let times = [self.latency, self.jitter_max, wait_max];
        match times.into_iter().all(|span| span >= GameSpan::ZERO) {
            true => Ok(()),
            false => Err(LinkError::NegativeTime),
        }
    }
}

impl Chance {
    /// None of them.
    pub const NEVER: Self = Self { parts_per_million: 0 };
    const MILLION: u32 = 1_000_000;

    /// A share of at most a million parts in a million.
    pub const fn parts_per_million(parts_per_million: u32) -> Result<Self, LinkError> {
        if parts_per_million > Self::MILLION {
            return Err(LinkError::ChanceAboveOne {
                asked: parts_per_million,
            });
        }
        Ok(Self { parts_per_million })
    }

    /// Whether `roll`, any 32 bits, falls within this share.
    fn hits(self, roll: u32) -> bool {
        // The roll as a part of 2³² against the share: exact, and both ends come out as they should.
        u64::from(roll) * u64::from(Self::MILLION) < u64::from(self.parts_per_million) << 32
    }
}

impl TryFrom<u32> for Chance {
    type Error = LinkError;

    fn try_from(parts_per_million: u32) -> Result<Self, LinkError> {
        Self::parts_per_million(parts_per_million)
    }
}

impl From<Chance> for u32 {
    fn from(chance: Chance) -> u32 {
        chance.parts_per_million
    }
}

impl Link {
    /// A link with a generator of its own: the same `seed` and `stream` draw the same. Different streams of one seed
    /// are independent; number the links of a world by it.
    pub fn new(settings: LinkSettings, seed: u64, stream: u64) -> Result<Self, LinkError> {
        settings.check()?;
        Ok(Self {
            settings,
            rng: Pcg32::new(seed, stream),
            busy_until: None,
            last_arrival: None,
            counts: LinkCounts::default(),
        })
    }

    /// Sends a message of `bytes` over `distance` at `now`. The caller schedules the arrival, and reports it by
    /// [`Self::delivered`] or [`Self::abandoned`].
    pub fn send(&mut self, now: GameTime, distance: u64, bytes: u64) -> Delivery {
        // All four are drawn in any case, so that no setting changes what later messages draw.
        let (loss, duplication) = (self.rng.next_u32(), self.rng.next_u32());
        let jitters = [self.rng.next_u64(), self.rng.next_u64()];

        self.counts.sent += 1;
        if self.settings.range.is_some_and(|range| distance > range) {
            self.counts.out_of_range += 1;
            return Delivery::Lost(Loss::OutOfRange);
        }
        let Some(departure) = self.pass_line(now, bytes) else {
            self.counts.line_full += 1;
            return Delivery::Lost(Loss::LineFull);
        };
        if self.settings.loss.hits(loss) {
            self.counts.lost += 1;
            return Delivery::Lost(Loss::Chance);
        }
        let at = self.arrival(departure, distance, jitters[0]);
        let again_at = self.settings.duplication.hits(duplication).then(|| {
            self.counts.duplicated += 1;
            self.arrival(departure, distance, jitters[1])
        });
        Delivery::Arrives { at, again_at }
    }

    /// Notes that a message or a copy was handed to its receiver.
    pub fn delivered(&mut self) {
        self.counts.delivered += 1;
        self.counts.in_flight -= 1;
    }

    /// Notes that a message or a copy will not be handed over: its receiver is gone.
    pub fn abandoned(&mut self) {
        self.counts.in_flight -= 1;
    }

    /// Changes the behaviour for messages sent from now on; what is under way arrives as before.
    pub fn set(&mut self, settings: LinkSettings) -> Result<(), LinkError> {
        settings.check()?;
        self.settings = settings;
        Ok(())
    }

    /// How the link behaves.
    pub fn settings(&self) -> &LinkSettings {
        &self.settings
    }

    /// What the link has seen.
    pub fn counts(&self) -> &LinkCounts {
        &self.counts
    }

    /// When the last byte of the message is on its way; `None` if it would wait too long for the line.
    fn pass_line(&mut self, now: GameTime, bytes: u64) -> Option<GameTime> {
        let Some(bandwidth) = self.settings.bandwidth else {
            return Some(now);
        };
        let start = self.busy_until.map_or(now, |busy_until| busy_until.max(now));
        if start - now > bandwidth.wait_max {
            return None;
        }
        let departure = later(start, time_for(bytes, bandwidth.bytes_per));
        self.busy_until = Some(departure);
        Some(departure)
    }

    fn arrival(&mut self, departure: GameTime, distance: u64, jitter_roll: u64) -> GameTime {
        let settings = &self.settings;
        let flight = settings.speed.map_or(0, |speed| time_for(distance, speed));
        let jitter = part_of(settings.jitter_max.as_nanounits(), jitter_roll);
        let delay = flight
            .saturating_add(settings.latency.as_nanounits())
            .saturating_add(jitter);
        let mut at = later(departure, delay);
        if settings.order == Order::Fifo {
            at = self.last_arrival.map_or(at, |last| last.max(at));
        }
        self.last_arrival = self.last_arrival.max(Some(at));
        self.counts.in_flight += 1;
        at
    }
}

/// Nanounits that `amount` takes at `per` a unit; rounded up.
fn time_for(amount: u64, per: NonZeroU64) -> i128 {
    let product = u128::from(amount) * u128::from(NANOS.unsigned_abs());
    product.div_ceil(u128::from(per.get())) as i128
}

/// From zero to `most`, both included, as `roll` lies in the range of its type.
fn part_of(most: i128, roll: u64) -> i128 {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let scaled = (u128::from(roll) * (u128::from(most) + 1)) >> u64::BITS;
    scaled as i128
}

fn later(moment: GameTime, nanounits: i128) -> GameTime {
    GameTime::from_nanounits(moment.as_nanounits().saturating_add(nanounits))
}
