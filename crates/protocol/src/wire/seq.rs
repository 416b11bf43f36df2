//! Numbers of what a viewer sent, and cumulative acknowledgements of them.
//!
//! Messages are numbered from 1 by counting, the hello included, so the number itself never travels.

use crate::error::SeqError;

/// The viewer's side: what it sent, and how much of that was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentNumbers {
    sent: u64,
    acked: u64,
}

/// The server's side: what it received and processed, and how much of that it owes an acknowledgement for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedNumbers {
    received: u64,
    acked: u64,
}

impl SentNumbers {
    /// Nothing sent yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a message that is being sent, and answers its number.
    pub fn send(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }

    /// Takes note that everything up to `number` was processed.
    ///
    /// # Errors
    /// If the number is not greater than the last, or greater than what was sent.
    pub fn ack(&mut self, number: u64) -> Result<(), SeqError> {
        if number <= self.acked {
            return Err(SeqError::NotGreater {
                number,
                last: self.acked,
            });
        }
        if number > self.sent {
            return Err(SeqError::NotSent {
                number,
                sent: self.sent,
            });
        }
        self.acked = number;
        Ok(())
    }

    /// The number of the last message sent; 0 before the first.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The number up to which all was processed; 0 before the first acknowledgement.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Messages sent and not yet acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.acked
    }
}

impl ReceivedNumbers {
    /// Nothing received yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a message that was processed, and answers its number.
    pub fn receive(&mut self) -> u64 {
        self.received += 1;
        self.received
    }

    /// The acknowledgement owed, if any, after the effects of the message were sent. Several messages of one
    /// pass may share one.
    pub fn take_ack(&mut self) -> Option<u64> {
        if self.acked == self.received {
            return None;
        }
        self.acked = self.received;
        Some(self.acked)
    }

    /// The number of the last message received; 0 before the first.
    pub fn received(&self) -> u64 {
        self.received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_from_one() {
        let mut sent = SentNumbers::new();
        let mut received = ReceivedNumbers::new();
        for number in 1..=100 {
            assert_eq!(sent.send(), number);
            assert_eq!(received.receive(), number);
        }
    }

    #[test]
    fn an_ack_covers_all_before_it_and_is_owed_once() {
        let mut received = ReceivedNumbers::new();
        assert_eq!(received.take_ack(), None);
        received.receive();
        received.receive();
        assert_eq!(received.take_ack(), Some(2));
        assert_eq!(received.take_ack(), None);
        received.receive();
        assert_eq!(received.take_ack(), Some(3));
    }

    #[test]
    fn an_ack_that_cannot_be_right_is_an_error() {
        let mut sent = SentNumbers::new();
        assert_eq!(sent.ack(0), Err(SeqError::NotGreater { number: 0, last: 0 }));
        assert_eq!(sent.ack(1), Err(SeqError::NotSent { number: 1, sent: 0 }));
        for _ in 0..3 {
            sent.send();
        }
        assert_eq!(sent.ack(2), Ok(()));
        assert_eq!(sent.in_flight(), 1);
        assert_eq!(sent.ack(2), Err(SeqError::NotGreater { number: 2, last: 2 }));
        assert_eq!(sent.ack(4), Err(SeqError::NotSent { number: 4, sent: 3 }));
        assert_eq!(sent.ack(3), Ok(()));
        assert_eq!((sent.acked(), sent.in_flight()), (3, 0));
    }
}
