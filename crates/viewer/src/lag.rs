//! Lag on purpose: the way to a server made longer, to see how everything behaves on a bad one.
//!
//! Both directions of a viewer's connection go through a [`Line`]. Off, it is a queue that is always empty. It delays
//! and never drops: a stream of bytes with a hole in it is no stream, so what a real network would lose and send
//! again is here jitter.

use std::collections::VecDeque;

use trantor_client::session::HANDSHAKE_MAX;
use trantor_time::link::{Fate, Link, LinkCounts, LinkSettings};
use trantor_time::{RealSpan, RealTime};

/// Items on the way in one direction; what comes after them waits in the socket, as it would at a full router.
const ITEMS_MAX: usize = 256;
/// The longest delay that can be asked for, and the most that chance may add to it, in milliseconds: with much more
/// no server could be joined.
pub const LAG_MS_MAX: u32 = 5_000;

const _: () = assert!(
    HANDSHAKE_MAX.as_nanos() > RealSpan::from_millis(4 * LAG_MS_MAX as i64).as_nanos(),
    "a hello there and one back must arrive in time, both with all that chance may add"
);

/// How much longer a way is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag {
    /// Added in each direction, in milliseconds.
    pub latency_ms: u32,
    /// The most that chance adds to it, in milliseconds.
    pub jitter_ms: u32,
}

/// One direction of a way.
#[derive(Debug)]
pub struct Line<T> {
    link: Option<(Lag, Link<RealTime>)>,
    /// What is on the way, with the instant at which it arrives.
    on_the_way: VecDeque<(RealTime, T)>,
    stream: u64,
}

impl<T> Line<T> {
    /// A line without delay; `stream` tells its luck from that of other lines.
    pub fn new(stream: u64) -> Self {
        Self {
            link: None,
            on_the_way: VecDeque::new(),
            stream,
        }
    }

    /// Changes the delay of what is sent from now on; `None` for none.
    pub fn set(&mut self, lag: Option<Lag>) {
        self.link = lag.map(|lag| {
            let settings = LinkSettings {
                latency: RealSpan::from_millis(i64::from(lag.latency_ms)),
                jitter_max: RealSpan::from_millis(i64::from(lag.jitter_ms)),
                ..LinkSettings::perfect(RealSpan::ZERO)
            };
            let link = Link::new(settings, 0, self.stream).expect("times of a lag are not negative");
            (lag, link)
        });
    }

    /// The delay, if there is one.
    pub fn lag(&self) -> Option<Lag> {
        self.link.as_ref().map(|(lag, _)| *lag)
    }

    /// What the present link has seen; zeros without one.
    pub fn counts(&self) -> LinkCounts {
        self.link
            .as_ref()
            .map_or_else(LinkCounts::default, |(_, link)| *link.counts())
    }

    /// Puts something on the way at `now`. Nothing overtakes, whatever is changed in between.
    ///
    /// # Panics
    /// If the line [is full](Self::is_full).
    pub fn put(&mut self, item: T, bytes: usize, now: RealTime) {
        assert!(!self.is_full(), "a full line takes nothing");
        let at = match &mut self.link {
            Some((_, link)) => match link.send(now, 0, bytes as u64) {
                Fate::Arrives { at, .. } => at,
                Fate::Lost(_) => unreachable!("this link neither loses nor has a bandwidth"),
            },
            None => now,
        };
        let before = self.on_the_way.back().map_or(at, |&(before, _)| before);
        self.on_the_way.push_back((at.max(before), item));
    }

    /// Takes what has arrived by `now`, oldest first.
    pub fn take(&mut self, now: RealTime) -> Option<T> {
        let &(at, _) = self.on_the_way.front()?;
        if at > now {
            return None;
        }
        if let Some((_, link)) = &mut self.link
            && link.counts().in_flight > 0
        {
            link.delivered();
        }
        self.on_the_way.pop_front().map(|(_, item)| item)
    }

    /// When the next arrives.
    pub fn next_arrival(&self) -> Option<RealTime> {
        self.on_the_way.front().map(|&(at, _)| at)
    }

    /// How much is on the way.
    pub fn len(&self) -> usize {
        self.on_the_way.len()
    }

    /// Whether nothing is on the way.
    pub fn is_empty(&self) -> bool {
        self.on_the_way.is_empty()
    }

    /// Whether it takes no more.
    pub fn is_full(&self) -> bool {
        self.on_the_way.len() >= ITEMS_MAX
    }

    /// Forgets what is on the way: the connection is over.
    pub fn clear(&mut self) {
        self.on_the_way.clear();
    }
}

impl Lag {
    /// In a few words.
    pub fn words(&self) -> String {
        match self.jitter_ms {
            0 => format!("{} ms each way", self.latency_ms),
            jitter => format!("{} to {} ms each way", self.latency_ms, self.latency_ms + jitter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    const LAG: Lag = Lag {
        latency_ms: 100,
        jitter_ms: 50,
    };

    #[test]
    fn without_lag_everything_arrives_at_once() {
        let mut line = Line::new(0);
        line.put('a', 1, ms(5));
        assert_eq!((line.take(ms(5)), line.take(ms(5))), (Some('a'), None));
        assert_eq!(line.lag(), None);
    }

    #[test]
    fn a_lag_delays_each_and_keeps_their_order() {
        let mut line = Line::new(0);
        line.set(Some(LAG));
        for number in 0..100 {
            line.put(number, 10, ms(number));
        }
        let mut arrived = Vec::new();
        for now in 0..400 {
            while let Some(number) = line.take(ms(now)) {
                assert!((100..=200).contains(&(now - number)), "{number} came at {now}");
                arrived.push(number);
            }
        }
        assert_eq!(arrived, (0..100).collect::<Vec<_>>());
        assert_eq!((line.counts().sent, line.counts().in_flight), (100, 0));
    }

    #[test]
    fn what_follows_a_lag_that_ends_does_not_overtake() {
        let mut line = Line::new(0);
        line.set(Some(LAG));
        line.put("slow", 1, ms(0));
        line.set(None);
        line.put("quick", 1, ms(10));
        assert_eq!(line.take(ms(50)), None);
        let due = line.next_arrival().unwrap();
        assert_eq!((line.take(due), line.take(due)), (Some("slow"), Some("quick")));
    }

    #[test]
    fn a_line_holds_only_so_much() {
        let mut line = Line::new(0);
        line.set(Some(LAG));
        while !line.is_full() {
            line.put((), 1, ms(0));
        }
        assert_eq!(line.len(), ITEMS_MAX);
        line.clear();
        assert!(line.is_empty());
    }
}
