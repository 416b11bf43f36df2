//! One direction of a simulated connection: a byte stream with latency, bandwidth and segments.
//!
//! As with TCP, bytes are neither lost nor duplicated; a bad network delays, stalls or breaks the connection. Delivery
//! times come from [`trantor_time::link`].

use std::collections::VecDeque;

use trantor_time::{Delivery, Link, LinkSettings, RealSpan, RealTime};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Bytes(Vec<u8>),
    /// The sender has shut down writing.
    End,
}

#[derive(Debug)]
pub(crate) struct Line {
    link: Link<RealTime>,
    in_flight: VecDeque<(RealTime, Item)>,
    bytes: usize,
    /// No delivery before this: the network stalls, or the receiver does not read.
    held_until: RealTime,
    /// Half open: nothing is delivered any more.
    is_dead: bool,
}

impl Line {
    pub(crate) fn new(settings: LinkSettings<RealSpan>, seed: u64, stream: u64) -> Self {
        Self {
            link: Link::new(settings, seed, stream).expect("drawn times are not negative"),
            in_flight: VecDeque::new(),
            bytes: 0,
            held_until: RealTime::ZERO,
            is_dead: false,
        }
    }

    pub(crate) fn send(&mut self, now: RealTime, item: Item) {
        let bytes = match &item {
            Item::Bytes(bytes) => bytes.len(),
            Item::End => 0,
        };
        let Delivery::Arrives { at, .. } = self.link.send(now, 0, bytes as u64) else {
            unreachable!("the link has no loss");
        };
        self.bytes += bytes;
        self.in_flight.push_back((at, item));
    }

    /// When the next item can be taken.
    pub(crate) fn ready_at(&self) -> Option<RealTime> {
        let (at, _) = self.in_flight.front().filter(|_| !self.is_dead)?;
        Some((*at).max(self.held_until))
    }

    pub(crate) fn take(&mut self, now: RealTime) -> Option<Item> {
        self.ready_at().filter(|at| *at <= now)?;
        let (_, item) = self.in_flight.pop_front()?;
        if let Item::Bytes(bytes) = &item {
            self.bytes -= bytes.len();
        }
        Some(item)
    }

    /// Bytes in flight.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    pub(crate) fn hold_until(&mut self, until: RealTime) {
        self.held_until = self.held_until.max(until);
    }

    pub(crate) fn die(&mut self) {
        self.is_dead = true;
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// Delivers everything without delay from now on.
    pub(crate) fn stop_faults(&mut self) {
        self.held_until = RealTime::ZERO;
        self.link
            .set(LinkSettings::perfect(RealSpan::ZERO))
            .expect("zero is not negative");
    }
}
