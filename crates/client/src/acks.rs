//! What was sent and acknowledged, and credit that is owed for bulk data.
//!
//! Numbering itself is the protocol's ([`SentNumbers`]); here is what a viewer does with it.

use trantor_protocol::SeqError;
use trantor_protocol::wire::SentNumbers;

/// Pieces after which credit is given back: often enough that the default of 20 never runs dry, and not once
/// for every piece.
pub const CREDIT_BATCH: u32 = 5;

/// The numbers of one connection.
#[derive(Debug, Default)]
pub struct Acks {
    numbers: SentNumbers,
    credit_owed: u32,
}

impl Acks {
    /// Nothing sent, nothing received.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a message that is being sent, and answers its number.
    pub fn send(&mut self) -> u64 {
        self.numbers.send()
    }

    /// Everything up to `number` was processed, and its effects are here.
    ///
    /// # Errors
    /// If the number cannot be right.
    pub fn ack(&mut self, number: u64) -> Result<(), SeqError> {
        self.numbers.ack(number)
    }

    /// Whether `number` was sent and its acknowledgement is still out.
    pub fn is_waiting(&self, number: u64) -> bool {
        (self.numbers.acked() + 1..=self.numbers.sent()).contains(&number)
    }

    /// Messages sent and not yet acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.numbers.in_flight()
    }

    /// A piece of bulk data was processed. Answers credit to give back now, if it is time.
    pub fn processed(&mut self) -> Option<u32> {
        self.credit_owed += 1;
        (self.credit_owed >= CREDIT_BATCH).then(|| std::mem::take(&mut self.credit_owed))
    }

    /// All bulk data is here: answers the credit still owed, if any, so that it is whole for the next time.
    pub fn settle(&mut self) -> Option<u32> {
        (self.credit_owed > 0).then(|| std::mem::take(&mut self.credit_owed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_returned_for_each_piece_once() {
        let mut acks = Acks::new();
        let mut returned = 0;
        for piece in 1..=23 {
            returned += acks.processed().unwrap_or(0);
            assert!(returned <= piece);
            assert!(piece - returned < CREDIT_BATCH);
        }
        returned += acks.settle().unwrap_or(0);
        assert_eq!((returned, acks.settle()), (23, None));
    }

    #[test]
    fn numbers_count_from_one_and_wrong_acks_are_errors() {
        let mut acks = Acks::new();
        assert_eq!((acks.send(), acks.send()), (1, 2));
        assert!(acks.is_waiting(2) && !acks.is_waiting(3) && !acks.is_waiting(0));
        assert!(acks.ack(3).is_err());
        acks.ack(2).unwrap();
        assert!(acks.ack(2).is_err());
        assert!(!acks.is_waiting(2));
    }
}
