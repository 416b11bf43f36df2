//! Queries and sets the speed through a control viewer.

use trantor_time::{Clock, Frequency, RealSpan, RealTime};

use super::Generator;
use crate::load::LoadError;
use crate::load::Speed;
use crate::load::peer::Kind;
use crate::load::viewer::Control;

/// Wait for the speed at the start; some servers send it only when queried.
const UNASKED_SPAN: RealSpan = RealSpan::from_millis(500);

/// Time limit for restoring the speed after a failed load.
const RESTORE_PATIENCE: RealSpan = RealSpan::from_secs(2);

/// Time limit for the query of the speed at the end; the report states a missing answer.
const CHECK_PATIENCE: RealSpan = RealSpan::from_secs(2);

impl Generator<'_> {
    /// Queries the speed with a control viewer, which stays until [`Self::end_control`]; `None` if it does not come in time.
    pub(super) fn query(&mut self, until: RealTime) -> Result<Option<Frequency>, LoadError> {
        self.control = Some(self.open(Kind::Control(Control::default()))?);
        let unasked_until = until.min(self.clock.now().saturating_add(UNASKED_SPAN));
        if !self.control(unasked_until, |_| {}, |control| control.speed.is_some())? {
            self.control(until, Control::query, |control| control.speed.is_some())?;
        }
        Ok(self.peers[self.control.expect("it was opened")]
            .control()
            .and_then(|control| control.speed))
    }

    /// Lets the control viewer send something, and serves all peers until it has an answer or until an instant. Returns
    /// whether the answer came.
    fn control(
        &mut self,
        until: RealTime,
        send: impl FnOnce(&mut Control),
        is_received: impl Fn(&Control) -> bool,
    ) -> Result<bool, LoadError> {
        let key = self.control.ok_or(LoadError::NoSpeed)?;
        let peer = &mut self.peers[key];
        if peer.has_ended {
            return Err(LoadError::Closed);
        }
        send(peer.control().ok_or(LoadError::NoSpeed)?);
        peer.flush(self.poll.registry())?;
        let mut received = false;
        self.turn_until(until, |generator| {
            let peer = &mut generator.peers[key];
            received = peer.control().is_some_and(|control| is_received(control));
            received || peer.has_ended
        })?;
        if self.peers[key].has_ended && !received {
            return Err(LoadError::Closed);
        }
        self.heed_interrupt()?;
        Ok(received)
    }

    /// The speed after the measurement, which another client may have changed. A missing answer does not lose the
    /// measurement.
    pub(super) fn query_again(&mut self) -> Option<Frequency> {
        if let Speed::Assumed(_) = self.config.speed() {
            return None;
        }
        let until = self.clock.now().saturating_add(CHECK_PATIENCE);
        self.query(until).unwrap_or_else(|error| {
            log::warn!("cannot query the speed again: {error}");
            None
        })
    }

    /// Restores the speed after a failed load, so that the game does not stay slow. An interrupted load waits for this; a
    /// second interrupt ends it at once.
    pub(super) fn restore_speed(&mut self) {
        let Some(speed) = self.speed_before else { return };
        self.was_interrupted = false;
        let until = self.clock.now().saturating_add(RESTORE_PATIENCE);
        if let Err(error) = self.try_to_restore(speed, until) {
            log::warn!("cannot restore the speed of {speed} units a second: {error}");
        }
    }

    fn try_to_restore(&mut self, speed: Frequency, until: RealTime) -> Result<(), LoadError> {
        if self.control.is_none_or(|key| self.peers[key].has_ended) {
            self.query(until)?;
        }
        // An older speed may be known or in flight, and some servers send it only when queried.
        let send = |control: &mut Control| {
            control.speed = None;
            control.set(speed);
            control.query();
        };
        match self.control(until, send, |control| control.speed == Some(speed))? {
            true => Ok(()),
            false => Err(LoadError::NoSpeed),
        }
    }

    pub(super) fn end_control(&mut self) -> Result<(), LoadError> {
        if let Some(key) = self.control.take() {
            self.peers[key].end(self.poll.registry())?;
        }
        Ok(())
    }

    /// Sets the speed and waits for the confirmation.
    pub(super) fn set_speed(&mut self, speed: Frequency) -> Result<(), LoadError> {
        let until = self.patience();
        let mut was_refused = std::cell::Cell::new(false);
        let is_received = |control: &Control| {
            was_refused.set(control.was_refused);
            control.was_refused || control.speed == Some(speed)
        };
        if !self.control(until, |control| control.set(speed), is_received)? {
            return Err(LoadError::NoSpeed);
        }
        if *was_refused.get_mut() {
            return Err(LoadError::SpeedRefused(speed));
        }
        self.speed = Some(speed);
        Ok(())
    }
}
