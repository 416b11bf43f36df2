//! Changes shown before the server has agreed to them.
//!
//! A prediction is applied at once and remembered with its undo, its scope and the number of the message that
//! asks for it. What the server says about a scope waits while that scope holds predictions. When the message
//! is acknowledged its effects are here already, so the prediction is undone and they are applied:
//! the same if the server agreed, a correction if not.
//!
//! What is predicted and how it is undone is the [`Predict`]ed state's; numbers are [`crate::acks`]'.

use std::collections::VecDeque;
use std::fmt::Debug;

/// Predictions that may be open at once. More than a person can cause within a round trip; the caller sends
/// further requests unpredicted or later.
pub const PREDICTIONS_MAX: usize = 32;

/// Edits of the server that may wait at once. A server that says more about something that we asked to change,
/// without ever acknowledging the request, is not sound.
pub const WAITING_MAX: usize = 1_024;

/// A state that can be changed and changed back.
pub trait Predict {
    /// A part of the state that is predicted by itself.
    type Scope: Copy + Eq + Debug;
    /// A change of one scope.
    type Edit: Debug;
    /// What takes an edit back.
    type Undo: Debug;

    /// Applies an edit and answers what takes it back.
    fn apply(&mut self, scope: Self::Scope, edit: &Self::Edit) -> Self::Undo;
    /// Takes back the edit applied last in that scope.
    fn undo(&mut self, scope: Self::Scope, undo: Self::Undo);
}

/// More edits wait than [`WAITING_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingFull;

/// A state with its open predictions and the edits that wait for them.
#[derive(Debug)]
pub struct Predictions<S: Predict> {
    state: S,
    /// Oldest first. Kept after their acknowledgement while a newer one of the same scope lies above.
    made: VecDeque<Made<S>>,
    /// In the order they came.
    waiting: VecDeque<(S::Scope, S::Edit)>,
}

#[derive(Debug)]
struct Made<S: Predict> {
    number: u64,
    scope: S::Scope,
    undo: S::Undo,
}

impl<S: Predict> Predictions<S> {
    /// Nothing predicted.
    pub fn new(state: S) -> Self {
        Self {
            state,
            made: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    /// The state as predicted.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Whether that scope is predicted now, and so not confirmed.
    pub fn is_predicted(&self, scope: S::Scope) -> bool {
        self.made.iter().any(|made| made.scope == scope)
    }

    /// Whether another prediction may be made.
    pub fn has_room(&self) -> bool {
        self.made.len() < PREDICTIONS_MAX
    }

    /// Applies `edit` at once; message `number`, the newest so far, asks the server for it.
    ///
    /// # Panics
    /// If numbers do not rise, or there is no room: ask [`Self::has_room`] first.
    pub fn predict(&mut self, number: u64, scope: S::Scope, edit: &S::Edit) {
        assert!(self.has_room(), "the caller asked for room");
        assert!(
            self.made.back().is_none_or(|newest| newest.number < number),
            "messages are numbered in the order they are sent"
        );
        let undo = self.state.apply(scope, edit);
        self.made.push_back(Made { number, scope, undo });
    }

    /// The server changed that scope. Applied now, or once nothing of the scope is predicted any more.
    ///
    /// # Errors
    /// If too much waits already.
    pub fn server_edit(&mut self, scope: S::Scope, edit: S::Edit) -> Result<(), WaitingFull> {
        if !self.is_predicted(scope) {
            self.state.apply(scope, &edit);
            return Ok(());
        }
        if self.waiting.len() == WAITING_MAX {
            return Err(WaitingFull);
        }
        self.waiting.push_back((scope, edit));
        Ok(())
    }

    /// Everything up to message `number` was processed, and what came of it was told before.
    pub fn ack(&mut self, number: u64) {
        for place in (0..self.made.len()).rev() {
            let (of, scope) = (self.made[place].number, self.made[place].scope);
            let is_covered = self.made.range(place + 1..).any(|newer| newer.scope == scope);
            if of <= number
                && !is_covered
                && let Some(made) = self.made.remove(place)
            {
                self.state.undo(made.scope, made.undo);
            }
        }
        let mut still_waiting = 0;
        while let Some((scope, edit)) = self.waiting.remove(still_waiting) {
            if self.is_predicted(scope) {
                self.waiting.insert(still_waiting, (scope, edit));
                still_waiting += 1;
            } else {
                self.state.apply(scope, &edit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCOPES: usize = 3;

    /// Values on which no two edits commute, so that any wrong order shows.
    #[derive(Debug, Default, PartialEq)]
    struct Values([u64; SCOPES]);

    fn edited(value: u64, edit: u64) -> u64 {
        value.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(edit)
    }

    impl Predict for Values {
        type Scope = usize;
        type Edit = u64;
        type Undo = u64;

        fn apply(&mut self, scope: usize, edit: &u64) -> u64 {
            let before = self.0[scope];
            self.0[scope] = edited(before, *edit);
            before
        }

        fn undo(&mut self, scope: usize, undo: u64) {
            self.0[scope] = undo;
        }
    }

    /// Keeps everything that was ever said about a scope, and replays it.
    #[derive(Default)]
    struct Replay {
        edits: Vec<u64>,
        /// How many edits had come when the open run of predictions began.
        edits_before: usize,
        predictions: Vec<(u64, u64)>,
    }

    impl Replay {
        fn predict(&mut self, number: u64, edit: u64) {
            if self.predictions.is_empty() {
                self.edits_before = self.edits.len();
            }
            self.predictions.push((number, edit));
        }

        fn ack(&mut self, number: u64) {
            if self.predictions.iter().all(|(of, _)| *of <= number) {
                self.predictions.clear();
            }
        }

        fn value(&self) -> u64 {
            let told = match self.predictions.is_empty() {
                true => &self.edits[..],
                false => &self.edits[..self.edits_before],
            };
            let predicted = self.predictions.iter().map(|(_, edit)| edit);
            told.iter()
                .chain(predicted)
                .fold(0, |value, edit| edited(value, *edit))
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Predict(usize, u64),
        Send,
        Edit(usize, u64),
        /// Acknowledges this part of 255 of what is in flight.
        Ack(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..SCOPES, any::<u64>()).prop_map(|(scope, edit)| Step::Predict(scope, edit)),
            1 => Just(Step::Send),
            4 => (0..SCOPES, any::<u64>()).prop_map(|(scope, edit)| Step::Edit(scope, edit)),
            3 => any::<u8>().prop_map(Step::Ack),
        ]
    }

    fn check(history: &[Step]) -> Result<(), TestCaseError> {
        let mut predictions = Predictions::new(Values::default());
        let mut replay: [Replay; SCOPES] = Default::default();
        let (mut sent, mut acked) = (0u64, 0u64);
        for step in history {
            match *step {
                Step::Predict(scope, edit) => {
                    sent += 1;
                    predictions.predict(sent, scope, &edit);
                    replay[scope].predict(sent, edit);
                }
                Step::Send => sent += 1,
                Step::Edit(scope, edit) => {
                    predictions.server_edit(scope, edit).unwrap();
                    replay[scope].edits.push(edit);
                }
                Step::Ack(part) => {
                    acked += (sent - acked) * u64::from(part) / 255;
                    predictions.ack(acked);
                    replay.iter_mut().for_each(|scope| scope.ack(acked));
                }
            }
            let expected = Values(std::array::from_fn(|scope| replay[scope].value()));
            prop_assert_eq!(predictions.state(), &expected);
        }
        predictions.ack(sent);
        let told: [u64; SCOPES] = std::array::from_fn(|scope| {
            replay[scope]
                .edits
                .iter()
                .fold(0, |value, edit| edited(value, *edit))
        });
        prop_assert_eq!(
            &predictions.state().0,
            &told,
            "when all is acknowledged, what the server told is left"
        );
        prop_assert!(predictions.made.is_empty() && predictions.waiting.is_empty());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// 1,000 cases of 100 histories each.
        #[test]
        fn predictions_equal_a_model_that_replays_everything(
            histories in prop::collection::vec(prop::collection::vec(step(), 0..24), 100)
        ) {
            for history in &histories {
                check(history)?;
            }
        }
    }

    #[test]
    fn an_edit_waits_until_its_scope_is_free() {
        let mut predictions = Predictions::new(Values::default());
        predictions.predict(1, 0, &5);
        predictions.predict(2, 0, &6);
        predictions.server_edit(0, 9).unwrap();
        predictions.server_edit(1, 9).unwrap();
        assert_eq!(
            predictions.state().0,
            [edited(5, 6), 9, 0],
            "other scopes do not wait"
        );
        predictions.ack(1);
        assert_eq!(
            predictions.state().0[0],
            edited(5, 6),
            "a newer one of the scope lies above"
        );
        predictions.ack(2);
        assert_eq!(predictions.state().0[0], 9);
    }

    #[test]
    fn waiting_edits_are_bounded() {
        let mut predictions = Predictions::new(Values::default());
        predictions.predict(1, 0, &5);
        for _ in 0..WAITING_MAX {
            predictions.server_edit(0, 1).unwrap();
        }
        assert_eq!(predictions.server_edit(0, 1), Err(WaitingFull));
        assert_eq!(predictions.server_edit(1, 1), Ok(()));
    }
}
