//! Speed, pause and step under the user's hand.
//!
//! The controls show what was asked for until the server has answered, and then what the server said last. A slider
//! that is dragged asks for many speeds: only so many requests are on their way, and of those that wait the
//! last one counts. Requests become messages in [`crate::session`]; how time is shown is
//! [`crate::display_clock`]'s, which follows the server and never a prediction.

use trantor_protocol::wire::{ClockAnchor, StepKind, ToServer};
use trantor_time::Frequency;

use crate::acks::Acks;
use crate::scene::SceneClock;

/// Requests for a speed that may be on their way at once. Two keep a slider live over any link: one being
/// answered, one that follows; more would only queue up on a slow one.
pub const SPEED_REQUESTS_MAX: usize = 2;

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRequest {
    /// Another speed, in units a second.
    SetFrequency(u32),
    /// Game time to stand still.
    Pause,
    /// Game time to go on.
    Resume,
    /// While paused, game time to be moved on.
    Step(StepKind),
}

/// Why a request was not even sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// There is no server to ask.
    #[error("there is no connection")]
    NotConnected,
    /// The server said that it will not listen to this viewer.
    #[error("this server does not let viewers control its time")]
    NotAllowed,
    /// No such speed exists.
    #[error("a speed is a whole number from 1 to {max} units a second", max = Frequency::MAX)]
    NoSuchSpeed,
    /// Steps are for a clock that stands still.
    #[error("pause first: only a paused game can be stepped")]
    NotPaused,
    /// Only what was recorded has a past and a future to go to.
    #[error("this is a game that is being played, not a recording")]
    NotARecording,
    /// The text protocol has no word for it.
    #[error("the text protocol cannot pause or step a game")]
    NotInText,
}

/// Speed and pause as asked for, with what is on its way.
#[derive(Debug)]
pub struct Control {
    frequency: Asked<Option<Frequency>>,
    paused: Asked<bool>,
    may_control: bool,
    /// A speed to ask for as soon as an answer makes room.
    wanted: Option<Frequency>,
    /// Numbers of the requests for a speed on their way.
    speed_requests: Vec<u64>,
}

/// What the controls show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speed {
    /// Units a second; `None` until received.
    pub frequency: Option<Frequency>,
    /// Whether game time stands still.
    pub paused: bool,
}

/// A value of the server that was asked to be changed: shown as asked for until that is answered.
#[derive(Debug, Default)]
struct Asked<T> {
    /// As the server said last.
    confirmed: T,
    /// As the newest request wants it, by its number, until that is acknowledged.
    asked: Option<(u64, T)>,
}

impl<T: Copy> Asked<T> {
    fn shown(&self) -> T {
        self.asked.map_or(self.confirmed, |(_, value)| value)
    }

    /// Everything up to message `number` was processed, and its result was sent before.
    fn ack(&mut self, number: u64) {
        self.asked = self.asked.filter(|(of, _)| *of > number);
    }
}

impl Control {
    /// Nothing known. `may_control` is the server's word.
    pub fn new(may_control: bool) -> Self {
        Self {
            frequency: Asked::default(),
            paused: Asked::default(),
            may_control,
            wanted: None,
            speed_requests: Vec::with_capacity(SPEED_REQUESTS_MAX),
        }
    }

    /// What the controls show: what was asked for, or else what is.
    pub fn shown(&self) -> Speed {
        Speed {
            frequency: self.wanted.or(self.frequency.shown()),
            paused: self.paused.shown(),
        }
    }

    /// Writes what the controls show.
    pub fn fill(&self, clock: &mut SceneClock) {
        let speed = self.shown();
        clock.frequency = speed.frequency.map_or(0, Frequency::get);
        clock.paused = speed.paused;
        clock.unconfirmed = self.is_unconfirmed();
    }

    /// Whether what is shown waits for the server's answer.
    pub fn is_unconfirmed(&self) -> bool {
        self.wanted.is_some() || self.frequency.asked.is_some() || self.paused.asked.is_some()
    }

    /// Whether the server listens to this viewer.
    pub fn may_control(&self) -> bool {
        self.may_control
    }

    /// Takes a request, shows it at once, and answers the message to send, counted in `acks`; `None` if the
    /// request is sent later, or changes nothing.
    ///
    /// # Errors
    /// If it makes no sense to send it; nothing has changed then.
    pub fn request(
        &mut self,
        request: ControlRequest,
        acks: &mut Acks,
    ) -> Result<Option<ToServer>, ControlError> {
        if !self.may_control {
            return Err(ControlError::NotAllowed);
        }
        let shown = self.shown();
        match request {
            ControlRequest::SetFrequency(hertz) => {
                let frequency = Frequency::new(u64::from(hertz)).map_err(|_| ControlError::NoSuchSpeed)?;
                if shown.frequency == Some(frequency) {
                    return Ok(None);
                }
                self.wanted = Some(frequency);
                Ok(self.poll_wanted(acks))
            }
            ControlRequest::Pause if !shown.paused => {
                self.paused.asked = Some((acks.send(), true));
                Ok(Some(ToServer::Pause))
            }
            ControlRequest::Resume if shown.paused => {
                self.paused.asked = Some((acks.send(), false));
                Ok(Some(ToServer::Resume))
            }
            ControlRequest::Pause | ControlRequest::Resume => Ok(None),
            ControlRequest::Step(_) if !shown.paused => Err(ControlError::NotPaused),
            ControlRequest::Step(step) => {
                acks.send();
                Ok(Some(ToServer::Step(step)))
            }
        }
    }

    /// The speed that waits for room, if there is room now.
    pub fn poll_wanted(&mut self, acks: &mut Acks) -> Option<ToServer> {
        if self.speed_requests.len() == SPEED_REQUESTS_MAX {
            return None;
        }
        let frequency = self.wanted.take()?;
        let number = acks.send();
        self.speed_requests.push(number);
        self.frequency.asked = Some((number, Some(frequency)));
        Some(ToServer::SetFrequency {
            frequency: frequency.get(),
        })
    }

    /// The server told how its game clock moves.
    pub fn confirm(&mut self, anchor: &ClockAnchor) {
        self.frequency.confirmed = Some(anchor.frequency);
        self.paused.confirmed = anchor.paused;
    }

    /// Everything up to message `number` was processed.
    pub fn ack(&mut self, number: u64) {
        self.frequency.ack(number);
        self.paused.ack(number);
        self.speed_requests.retain(|request| *request > number);
    }
}

#[cfg(test)]
mod tests {
    use trantor_time::GameTime;

    use super::*;

    fn anchor(hertz: u64, paused: bool) -> ClockAnchor {
        ClockAnchor {
            real_us: 0,
            game: GameTime::ZERO,
            frequency: Frequency::new(hertz).unwrap(),
            paused,
        }
    }

    fn at_100() -> (Control, Acks) {
        let mut control = Control::new(true);
        control.confirm(&anchor(100, false));
        let mut acks = Acks::new();
        acks.send();
        (control, acks)
    }

    fn hertz(control: &Control) -> u32 {
        control.shown().frequency.unwrap().get()
    }

    #[test]
    fn the_slider_answers_at_once_and_the_server_confirms() {
        let (mut control, mut acks) = at_100();
        let sent = control.request(ControlRequest::SetFrequency(300), &mut acks);
        assert_eq!(sent, Ok(Some(ToServer::SetFrequency { frequency: 300 })));
        assert_eq!((hertz(&control), control.is_unconfirmed()), (300, true));
        control.confirm(&anchor(300, false));
        control.ack(2);
        assert_eq!((hertz(&control), control.is_unconfirmed()), (300, false));
    }

    #[test]
    fn a_refused_request_is_corrected() {
        let (mut control, mut acks) = at_100();
        control
            .request(ControlRequest::SetFrequency(300), &mut acks)
            .unwrap();
        control.request(ControlRequest::Pause, &mut acks).unwrap();
        assert!(control.shown().paused);
        // Somebody else changed the speed meanwhile; both of ours are refused.
        control.confirm(&anchor(50, false));
        assert_eq!(
            hertz(&control),
            300,
            "the prediction is shown until it is answered"
        );
        control.ack(3);
        assert_eq!((hertz(&control), control.shown().paused), (50, false));
    }

    #[test]
    fn a_dragged_slider_sends_few_requests_and_the_last_one_counts() {
        let (mut control, mut acks) = at_100();
        let mut sent = 0;
        for speed in 101..=200 {
            let message = control.request(ControlRequest::SetFrequency(speed), &mut acks);
            sent += usize::from(message.unwrap().is_some());
            assert_eq!(hertz(&control), speed, "shown at once");
        }
        assert_eq!(sent, SPEED_REQUESTS_MAX);
        control.confirm(&anchor(101, false));
        control.ack(2);
        assert_eq!(
            control.poll_wanted(&mut acks),
            Some(ToServer::SetFrequency { frequency: 200 })
        );
        assert_eq!(control.poll_wanted(&mut acks), None);
        control.confirm(&anchor(102, false));
        control.confirm(&anchor(200, false));
        control.ack(4);
        assert_eq!((hertz(&control), control.is_unconfirmed()), (200, false));
    }

    #[test]
    fn what_makes_no_sense_is_not_sent() {
        let (mut control, mut acks) = at_100();
        for (request, answer) in [
            (ControlRequest::SetFrequency(0), Err(ControlError::NoSuchSpeed)),
            (ControlRequest::SetFrequency(100), Ok(None)),
            (ControlRequest::Resume, Ok(None)),
            (ControlRequest::Step(StepKind::Unit), Err(ControlError::NotPaused)),
        ] {
            assert_eq!(control.request(request, &mut acks), answer, "{request:?}");
        }
        control.request(ControlRequest::Pause, &mut acks).unwrap();
        assert_eq!(
            control.request(ControlRequest::Step(StepKind::Event), &mut acks),
            Ok(Some(ToServer::Step(StepKind::Event))),
            "a predicted pause can be stepped: the server gets them in order"
        );
        let mut onlooker = Control::new(false);
        assert_eq!(
            onlooker.request(ControlRequest::Pause, &mut acks),
            Err(ControlError::NotAllowed)
        );
    }
}
