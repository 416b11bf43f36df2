//! Speed, pause and step under the user's hand.
//!
//! The controls show what was asked for until the server has answered, and then what the server said last. A slider
//! that is dragged asks for many speeds: only so many requests are on their way, and of those that wait the
//! last one counts. Requests become messages in [`crate::session`]; how time is shown is
//! [`crate::display_clock`]'s, which follows the server and never a prediction.

use trantor_protocol::wire::{SentNumbers, StepKind, ToServer};
use trantor_time::Frequency;

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

    /// Writes what the controls show: what was asked for, or else what is.
    pub fn fill(&self, clock: &mut SceneClock) {
        clock.frequency = self.shown_frequency().map_or(0, Frequency::get);
        clock.paused = self.paused.shown();
        clock.unconfirmed =
            self.wanted.is_some() || self.frequency.asked.is_some() || self.paused.asked.is_some();
    }

    fn shown_frequency(&self) -> Option<Frequency> {
        self.wanted.or(self.frequency.shown())
    }

    /// Takes a request, shows it at once, and answers the message to send, counted in `numbers`; `None` if the
    /// request is sent later, or changes nothing.
    ///
    /// # Errors
    /// If it makes no sense to send it; nothing has changed then.
    pub fn request(
        &mut self,
        request: ControlRequest,
        numbers: &mut SentNumbers,
    ) -> Result<Option<ToServer>, ControlError> {
        if !self.may_control {
            return Err(ControlError::NotAllowed);
        }
        let is_paused = self.paused.shown();
        match request {
            ControlRequest::SetFrequency(hertz) => {
                let frequency = Frequency::new(u64::from(hertz)).map_err(|_| ControlError::NoSuchSpeed)?;
                if self.shown_frequency() == Some(frequency) {
                    return Ok(None);
                }
                self.wanted = Some(frequency);
                Ok(self.poll_wanted(numbers))
            }
            ControlRequest::Pause if !is_paused => {
                self.paused.asked = Some((numbers.send(), true));
                Ok(Some(ToServer::Pause))
            }
            ControlRequest::Resume if is_paused => {
                self.paused.asked = Some((numbers.send(), false));
                Ok(Some(ToServer::Resume))
            }
            ControlRequest::Pause | ControlRequest::Resume => Ok(None),
            ControlRequest::Step(_) if !is_paused => Err(ControlError::NotPaused),
            ControlRequest::Step(step) => {
                numbers.send();
                Ok(Some(ToServer::Step(step)))
            }
        }
    }

    /// The speed that waits for room, if there is room now.
    pub fn poll_wanted(&mut self, numbers: &mut SentNumbers) -> Option<ToServer> {
        if self.speed_requests.len() == SPEED_REQUESTS_MAX {
            return None;
        }
        let frequency = self.wanted.take()?;
        let number = numbers.send();
        self.speed_requests.push(number);
        self.frequency.asked = Some((number, Some(frequency)));
        Some(ToServer::SetFrequency {
            frequency: frequency.get(),
        })
    }

    /// The server sent how its game clock moves.
    pub fn confirm(&mut self, frequency: Frequency, paused: bool) {
        self.frequency.confirmed = Some(frequency);
        self.paused.confirmed = paused;
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
    use super::*;

    fn hertz(hertz: u32) -> Frequency {
        Frequency::new(u64::from(hertz)).unwrap()
    }

    fn at_100() -> (Control, SentNumbers) {
        let mut control = Control::new(true);
        control.confirm(hertz(100), false);
        let mut numbers = SentNumbers::new();
        numbers.send();
        (control, numbers)
    }

    /// Speed, pause, and whether an answer is out, as shown.
    fn shown(control: &Control) -> (u32, bool, bool) {
        let mut clock = SceneClock::default();
        control.fill(&mut clock);
        (clock.frequency, clock.paused, clock.unconfirmed)
    }

    #[test]
    fn what_was_asked_for_is_shown_until_it_is_confirmed_or_refused() {
        let (mut control, mut numbers) = at_100();
        let sent = control.request(ControlRequest::SetFrequency(300), &mut numbers);
        assert_eq!(sent, Ok(Some(ToServer::SetFrequency { frequency: 300 })));
        assert_eq!(shown(&control), (300, false, true));
        control.confirm(hertz(300), false);
        control.ack(2);
        assert_eq!(shown(&control), (300, false, false));

        control
            .request(ControlRequest::SetFrequency(400), &mut numbers)
            .unwrap();
        control.request(ControlRequest::Pause, &mut numbers).unwrap();
        // Another viewer changed the speed meanwhile; both of ours are refused.
        control.confirm(hertz(50), false);
        assert_eq!(shown(&control), (400, true, true));
        control.ack(4);
        assert_eq!(shown(&control), (50, false, false));
    }

    #[test]
    fn a_dragged_slider_sends_few_requests_and_the_last_one_counts() {
        let (mut control, mut numbers) = at_100();
        let mut sent = 0;
        for speed in 101..=200 {
            let message = control.request(ControlRequest::SetFrequency(speed), &mut numbers);
            sent += usize::from(message.unwrap().is_some());
            assert_eq!(shown(&control).0, speed, "shown at once");
        }
        assert_eq!(sent, SPEED_REQUESTS_MAX);
        control.confirm(hertz(101), false);
        control.ack(2);
        assert_eq!(
            control.poll_wanted(&mut numbers),
            Some(ToServer::SetFrequency { frequency: 200 })
        );
        assert_eq!(control.poll_wanted(&mut numbers), None);
        control.confirm(hertz(200), false);
        control.ack(4);
        assert_eq!(shown(&control), (200, false, false));
    }

    #[test]
    fn what_makes_no_sense_is_not_sent() {
        let (mut control, mut numbers) = at_100();
        for (request, answer) in [
            (ControlRequest::SetFrequency(0), Err(ControlError::NoSuchSpeed)),
            (ControlRequest::SetFrequency(100), Ok(None)),
            (ControlRequest::Resume, Ok(None)),
            (ControlRequest::Step(StepKind::Unit), Err(ControlError::NotPaused)),
            (ControlRequest::Pause, Ok(Some(ToServer::Pause))),
            // A pause that is not confirmed yet can be stepped: the server gets them in order.
            (
                ControlRequest::Step(StepKind::Event),
                Ok(Some(ToServer::Step(StepKind::Event))),
            ),
        ] {
            assert_eq!(control.request(request, &mut numbers), answer, "{request:?}");
        }
        let answer = Control::new(false).request(ControlRequest::Pause, &mut numbers);
        assert_eq!(answer, Err(ControlError::NotAllowed));
    }
}
