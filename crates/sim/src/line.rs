//! One direction of a connection as the network sees it: bytes under way, in order, late, in pieces.
//!
//! Nothing is lost or doubled within a connection, as TCP promises; what a bad network does is delay, stall and
//! break it. How long a piece takes is [`trantor_time::link`]'s.

use std::collections::VecDeque;

use trantor_time::{Delivery, Link, LinkSettings, RealSpan, RealTime};

/// What arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Bytes(Vec<u8>),
    /// The sender writes no more.
    End,
}

/// One direction.
#[derive(Debug)]
pub(crate) struct Line {
    link: Link<RealTime>,
    under_way: VecDeque<(RealTime, Item)>,
    bytes: usize,
    /// Nothing is delivered before this: the network stalls, or the receiver does not read.
    held_until: RealTime,
    /// Nothing is delivered ever: the other end is gone and nobody said so.
    is_dead: bool,
}

impl Line {
    pub(crate) fn new(settings: LinkSettings<RealSpan>, seed: u64, stream: u64) -> Self {
        Self {
            link: Link::new(settings, seed, stream).expect("times drawn are not negative"),
            under_way: VecDeque::new(),
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
            unreachable!("lines lose nothing");
        };
        self.bytes += bytes;
        self.under_way.push_back((at, item));
    }

    /// When the next piece can be taken.
    pub(crate) fn ready_at(&self) -> Option<RealTime> {
        let (at, _) = self.under_way.front().filter(|_| !self.is_dead)?;
        Some((*at).max(self.held_until))
    }

    pub(crate) fn take(&mut self, now: RealTime) -> Option<Item> {
        self.ready_at().filter(|at| *at <= now)?;
        let (_, item) = self.under_way.pop_front()?;
        if let Item::Bytes(bytes) = &item {
            self.bytes -= bytes.len();
        }
        Some(item)
    }

    /// Bytes that were sent and not taken.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
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

    /// From now on nothing goes wrong here.
    pub(crate) fn calm(&mut self) {
        self.held_until = RealTime::ZERO;
        self.link
            .set(LinkSettings::perfect(RealSpan::ZERO))
            .expect("no time is not negative");
    }
}
