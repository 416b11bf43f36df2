//! The outbound queue of a service loop, released by its flush stage.
//!
//! Anybody in the loop queues; nothing leaves before the flush of the pass. The flush gives each session its messages
//! in the order queued, and lets them be written as one. Who a session is, and how bytes reach it, is told by
//! [`Peers`]; it must never block, so that a slow peer hurts only itself.

use std::collections::VecDeque;

use trantor_time::{RealSpan, RealTime};

use super::StageTurn;

/// Messages that may wait unless told otherwise: sixteen passes' worth at the default budget of a flush.
pub const OUTBOUND_MAX: usize = 16 * 1_024;

/// How many messages for sessions that are gone are dropped for each line in the log.
const GONE_PER_LOG_LINE: u64 = 1_000;

/// Messages on their way out, each for a session `I`.
#[derive(Debug)]
pub struct Outbound<I, M> {
    queue: VecDeque<Queued<I, M>>,
    /// One flush's messages, by session; kept to be used again.
    batch: Vec<Queued<I, M>>,
    messages_max: usize,
    stats: OutboundStats,
}

/// Takes messages over for their sessions.
pub trait Peers<I, M> {
    /// Encodes `message` into what `session` is to be sent with this flush.
    ///
    /// # Errors
    /// If there is no such session any more, or the message cannot be encoded; the others go on.
    fn encode(&mut self, session: I, message: M) -> Result<(), SendError>;

    /// Writes what was encoded for `session`, as far as it can be taken at once; the rest waits at the session.
    fn write(&mut self, session: I);
}

/// Why a message did not leave.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The session is gone.
    #[error("the session is gone")]
    Gone,
    /// The message could not be encoded.
    #[error("{0}")]
    NotEncoded(String),
}

/// The queue holds as many messages as it may; the message comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many messages wait to be sent")]
pub struct OutboundFull<M>(pub M);

/// Counts of an outbound queue, all from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboundStats {
    /// Messages waiting now.
    pub depth: u64,
    /// Messages handed over to their sessions.
    pub sent: u64,
    /// Messages dropped because their session was gone.
    pub gone: u64,
    /// Messages that could not be encoded.
    pub failed: u64,
    /// Messages refused because the queue was full.
    pub refused: u64,
    /// The longest time that a message waited in the queue, in nanoseconds.
    pub age_ns_max: i64,
}

#[derive(Debug)]
struct Queued<I, M> {
    session: I,
    message: M,
    queued_at: RealTime,
}

impl<I: Copy + Ord, M> Outbound<I, M> {
    /// An empty queue for at most `messages_max` messages.
    pub fn new(messages_max: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            batch: Vec::new(),
            messages_max,
            stats: OutboundStats::default(),
        }
    }

    /// Queues a message at `now`; it leaves with the flush of this pass or a later one.
    ///
    /// # Errors
    /// Gives the message back if the queue is full.
    pub fn queue(&mut self, session: I, message: M, now: RealTime) -> Result<(), OutboundFull<M>> {
        if self.queue.len() >= self.messages_max {
            self.stats.refused += 1;
            return Err(OutboundFull(message));
        }
        self.queue.push_back(Queued {
            session,
            message,
            queued_at: now,
        });
        Ok(())
    }

    /// Hands over what waits, as far as `turn` admits: session by session, each in the order queued.
    ///
    /// To be called by the flush stage, at `now`.
    pub fn flush(&mut self, peers: &mut impl Peers<I, M>, turn: &mut StageTurn<'_>, now: RealTime) {
        while !self.queue.is_empty() && turn.admits() {
            self.batch.extend(self.queue.pop_front());
        }
        // Stable: the messages of one session keep their order.
        self.batch.sort_by_key(|queued| queued.session);
        let mut batch = std::mem::take(&mut self.batch);
        let mut session = None;
        for queued in batch.drain(..) {
            if let Some(before) = session.replace(queued.session)
                && before != queued.session
            {
                peers.write(before);
            }
            let age = now.since(queued.queued_at);
            self.stats.age_ns_max = self.stats.age_ns_max.max(age.as_nanos());
            let sent = peers.encode(queued.session, queued.message);
            self.count(sent);
        }
        if let Some(last) = session {
            peers.write(last);
        }
        self.batch = batch;
    }

    /// Drops what waits for a session that is gone, and answers how much that was.
    pub fn forget(&mut self, session: I) -> usize {
        let before = self.queue.len();
        self.queue.retain(|queued| queued.session != session);
        before - self.queue.len()
    }

    /// How long the oldest waiting message has been waiting at `now`; zero if none is.
    pub fn age_of_oldest(&self, now: RealTime) -> RealSpan {
        self.queue
            .front()
            .map_or(RealSpan::ZERO, |queued| now.since(queued.queued_at))
    }

    /// Messages waiting.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// What happened so far.
    pub fn stats(&self) -> OutboundStats {
        OutboundStats {
            depth: self.queue.len() as u64,
            ..self.stats
        }
    }

    fn count(&mut self, sent: Result<(), SendError>) {
        match sent {
            Ok(()) => self.stats.sent += 1,
            Err(SendError::Gone) => {
                if self.stats.gone.is_multiple_of(GONE_PER_LOG_LINE) {
                    log::info!(
                        "a message for a session that is gone was dropped, the {}th",
                        self.stats.gone + 1
                    );
                }
                self.stats.gone += 1;
            }
            Err(SendError::NotEncoded(message)) => {
                log::error!("a message could not be encoded: {message}");
                self.stats.failed += 1;
            }
        }
    }
}
