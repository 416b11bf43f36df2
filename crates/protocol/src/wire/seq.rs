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
        let Self { sent, acked: last } = *self;
        if number <= last {
            return Err(SeqError::NotGreater { number, last });
        }
        if number > sent {
            return Err(SeqError::NotSent { number, sent });
        }
        self.acked = number;
        Ok(())
    }

    /// Messages sent and not yet acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.acked
    }
}

impl ReceivedNumbers {
    /// Counts a message that was processed, and answers its number.
    pub fn receive(&mut self) -> u64 {
        self.received += 1;
        self.received
    }

    /// The acknowledgement owed, if any, after the effects of the message were sent. Several messages of one
    /// pass may share one.
    pub fn take_ack(&mut self) -> Option<u64> {
        let acked = std::mem::replace(&mut self.acked, self.received);
        (acked < self.received).then_some(self.received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_covers_all_before_it_and_one_that_cannot_be_right_is_an_error() {
        let (mut sent, mut received) = (SentNumbers::default(), ReceivedNumbers::default());
        assert_eq!(received.take_ack(), None);
        for number in 1..=3 {
            assert_eq!((sent.send(), received.receive()), (number, number));
        }
        assert_eq!([received.take_ack(), received.take_ack()], [Some(3), None]);
        let not_greater = |number, last| Err(SeqError::NotGreater { number, last });
        for (number, result, in_flight) in [
            (0, not_greater(0, 0), 3),
            (2, Ok(()), 1),
            (2, not_greater(2, 2), 1),
            (4, Err(SeqError::NotSent { number: 4, sent: 3 }), 1),
            (3, Ok(()), 0),
        ] {
            assert_eq!((sent.ack(number), sent.in_flight()), (result, in_flight));
        }
    }
}
