//! Queries and sets the speed through a control viewer.

use trantor_time::{Clock, Frequency, RealSpan, RealTime};

use super::Generator;
use crate::load::LoadError;
use crate::load::Speed;
use crate::load::peer::{Kind, Peer};
use crate::load::viewer::Control;

/// Wait for the speed at the start; some servers send it only when queried.
const UNASKED_SPAN: RealSpan = RealSpan::from_millis(500);

/// Time limit for restoring the speed after a failed load.
const SET_BACK_PATIENCE: RealSpan = RealSpan::from_secs(2);

/// Time limit for the query of the speed at the end; the report states a missing answer.
const CHECK_PATIENCE: RealSpan = RealSpan::from_secs(2);

impl Generator<'_> {
    /// Queries the speed with a control viewer, which stays until [`Self::end_control`]; `None` if it does not come in time.
    pub(super) fn ask(&mut self, until: RealTime) -> Result<Option<Frequency>, LoadError> {
        self.control = Some(self.open(Kind::Control(Control::default()))?);
        let unasked_until = until.min(self.clock.now().saturating_add(UNASKED_SPAN));
        self.wait_for_control(unasked_until, |control| control.speed().is_some())?;
        if self.received_speed().is_none() {
            self.send_control(Control::ask)?;
            self.wait_for_control(until, |control| control.speed().is_some())?;
        }
        Ok(self.received_speed())
    }

    /// Lets the control viewer send a request.
    fn send_control(&mut self, say: impl FnOnce(&mut Control)) -> Result<(), LoadError> {
        let key = self.control.ok_or(LoadError::NoSpeed)?;
        let peer = self.peers.get_mut(key).ok_or(LoadError::NoSpeed)?;
        if peer.has_ended {
            return Err(LoadError::Closed);
        }
        say(peer.control().ok_or(LoadError::NoSpeed)?);
        peer.flush(self.poll.registry())?;
        Ok(())
    }

    /// Serves all peers until the control viewer has an answer, or until an instant.
    fn wait_for_control(
        &mut self,
        until: RealTime,
        is_received: impl Fn(&Control) -> bool,
    ) -> Result<(), LoadError> {
        let (mut received, mut has_ended) = (false, false);
        self.turn_until(until, |generator| {
            let peer = generator.control.and_then(|key| generator.peers.get_mut(key));
            has_ended = peer.as_ref().is_none_or(|peer| peer.has_ended);
            received = peer
                .and_then(Peer::control)
                .is_some_and(|control| is_received(control));
            received || has_ended
        })?;
        if has_ended && !received {
            return Err(LoadError::Closed);
        }
        self.heed_interrupt()
    }

    /// The speed after the measurement, which another client may have changed. A missing answer does not lose the
    /// measurement.
    pub(super) fn ask_again(&mut self) -> Option<Frequency> {
        if let Speed::Assumed(_) = self.config.speed() {
            return None;
        }
        let until = self.clock.now().saturating_add(CHECK_PATIENCE);
        self.ask(until).unwrap_or_else(|error| {
            log::warn!("cannot query the speed again: {error}");
            None
        })
    }

    /// Restores the speed after a failed load, so that the game does not stay slow. An interrupted load waits for this; a
    /// second interrupt ends it at once.
    pub(super) fn set_back(&mut self) {
        let Some(speed) = self.speed_before else { return };
        self.was_interrupted = false;
        let until = self.clock.now().saturating_add(SET_BACK_PATIENCE);
        if let Err(error) = self.try_to_set_back(speed, until) {
            log::warn!("cannot restore the speed of {speed} units a second: {error}");
        }
    }

    fn try_to_set_back(&mut self, speed: Frequency, until: RealTime) -> Result<(), LoadError> {
        let key = self.control.filter(|&key| !self.peers[key].has_ended);
        if key.is_none() {
            self.ask(until)?;
        }
        // An older speed may be known or in flight, and some servers send it only when queried.
        self.send_control(|control| {
            control.forget_speed();
            control.ask_for(speed);
            control.ask();
        })?;
        self.wait_for_control(until, |control| control.speed() == Some(speed))?;
        match self.received_speed() == Some(speed) {
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

    fn received_speed(&mut self) -> Option<Frequency> {
        self.peers.get_mut(self.control?)?.control()?.speed()
    }

    /// Whether the last requested speed was refused.
    fn was_refused(&mut self) -> bool {
        let peer = self.control.and_then(|key| self.peers.get_mut(key));
        peer.and_then(Peer::control)
            .is_some_and(|control| control.was_refused())
    }

    /// Sets the speed and waits for the confirmation.
    pub(super) fn set_speed(&mut self, speed: Frequency) -> Result<(), LoadError> {
        self.send_control(|control| control.ask_for(speed))?;
        let until = self.patience();
        self.wait_for_control(until, |control| {
            control.speed() == Some(speed) || control.was_refused()
        })?;
        if self.was_refused() {
            return Err(LoadError::SpeedRefused(speed));
        }
        if self.received_speed() != Some(speed) {
            return Err(LoadError::NoSpeed);
        }
        self.speed = Some(speed);
        Ok(())
    }
}
