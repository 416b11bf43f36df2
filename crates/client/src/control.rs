//! Speed, pause, step and jumps in a recording, as the user asked for them.
//!
//! A control shows the requested value until the server has answered, and then what the server sent last. A dragged
//! slider asks for many values: only a few requests are on their way, and of those that wait the last one counts. How
//! time is shown is [`crate::display_clock`]'s, which follows the server and never a prediction.

use trantor_model::control::frequency_asked;
use trantor_model::{Control, Mark, Refusal};
use trantor_protocol::wire::{RecordingInfo, SentNumbers};
use trantor_time::{Frequency, GameTime};

use crate::scene::SceneClock;

/// Requests for a speed that may be on their way at once. Two keep a slider live over any link: one being
/// answered, one that follows; more would only queue up on a slow one.
const SPEED_REQUESTS_MAX: usize = 2;

/// Jumps that may be on their way at once: each brings a whole world.
const SEEK_REQUESTS_MAX: usize = 1;

/// Why a viewer is refused by the server's hello already.
const NOT_ALLOWED: Refusal = Refusal::NotAllowed("this server does not let viewers control its time");

/// A value under a slider: the requests on their way, by number, and the one that waits for an answer to make room.
#[derive(Clone, Debug)]
struct Slider<T> {
    wanted: Option<T>,
    sent: Vec<(u64, T)>,
    sent_max: usize,
}

impl<T: Copy> Slider<T> {
    fn new(sent_max: usize) -> Self {
        Self {
            wanted: None,
            sent: Vec::with_capacity(sent_max),
            sent_max,
        }
    }

    /// The value last requested, while an answer is out.
    fn shown(&self) -> Option<T> {
        self.wanted.or(self.sent.last().map(|(_, value)| *value))
    }

    /// The value to request now, counted in `numbers`.
    fn poll(&mut self, numbers: &mut SentNumbers) -> Option<T> {
        if self.sent.len() == self.sent_max {
            return None;
        }
        let value = self.wanted.take()?;
        self.sent.push((numbers.send(), value));
        Some(value)
    }

    /// The server processed everything up to message `number`, and sent the results before.
    fn ack(&mut self, number: u64) {
        self.sent.retain(|(sent, _)| *sent > number);
    }
}

/// Speed and pause as requested and as confirmed.
#[derive(Debug)]
pub struct Controls {
    may_control: bool,
    /// As the server sent them last.
    confirmed: (Option<Frequency>, bool),
    frequency: Slider<Frequency>,
    /// The pause or resume sent last, by number, until it is acknowledged.
    paused: Option<(u64, bool)>,
}

impl Controls {
    pub fn new(may_control: bool) -> Self {
        Self {
            may_control,
            confirmed: (None, false),
            frequency: Slider::new(SPEED_REQUESTS_MAX),
            paused: None,
        }
    }

    /// Writes what the controls show: what was requested, or else what is.
    pub fn fill(&self, clock: &mut SceneClock) {
        clock.frequency = self.shown_frequency().map_or(0, Frequency::get);
        clock.paused = self.is_paused();
        clock.unconfirmed = self.frequency.shown().is_some() || self.paused.is_some();
    }

    fn shown_frequency(&self) -> Option<Frequency> {
        self.frequency.shown().or(self.confirmed.0)
    }

    fn is_paused(&self) -> bool {
        self.paused.map_or(self.confirmed.1, |(_, paused)| paused)
    }

    /// Takes a request, shows it at once, and returns what to send, counted in `numbers`; `None` if it is sent later, or changes
    /// nothing.
    ///
    /// # Errors
    /// If it is known that the server would refuse it.
    pub(crate) fn request(
        &mut self,
        request: Control,
        recording: Option<&mut Recording>,
        numbers: &mut SentNumbers,
    ) -> Result<Option<Control>, Refusal> {
        if !self.may_control {
            return Err(NOT_ALLOWED);
        }
        request.check()?;
        let is_paused = self.is_paused();
        match request {
            Control::SetFrequency(asked) => {
                let frequency = frequency_asked(asked)?;
                if self.shown_frequency() == Some(frequency) {
                    return Ok(None);
                }
                self.frequency.wanted = Some(frequency);
                return Ok(self.poll_wanted(numbers));
            }
            Control::Pause if is_paused => return Ok(None),
            Control::Resume if !is_paused => return Ok(None),
            Control::Step(_) if !is_paused => return Err(Refusal::NotPaused),
            Control::Seek(to) => return Ok(recording.ok_or(Refusal::NotARecording)?.seek(to, numbers)),
            _ => {}
        }
        let number = numbers.send();
        if matches!(request, Control::Pause | Control::Resume) {
            self.paused = Some((number, !is_paused));
        }
        Ok(Some(request))
    }

    /// The speed that waits for room, if there is room now.
    pub fn poll_wanted(&mut self, numbers: &mut SentNumbers) -> Option<Control> {
        self.frequency
            .poll(numbers)
            .map(|frequency| Control::SetFrequency(frequency.get()))
    }

    /// The server sent how its game clock moves.
    pub fn confirm(&mut self, frequency: Frequency, paused: bool) {
        self.confirmed = (Some(frequency), paused);
    }

    /// The server processed everything up to message `number`.
    pub fn ack(&mut self, number: u64) {
        self.frequency.ack(number);
        self.paused = self.paused.filter(|(sent, _)| *sent > number);
    }
}

/// The time-line of a recording.
#[derive(Clone, Debug)]
pub struct Recording {
    info: RecordingInfo,
    seek: Slider<GameTime>,
    /// Where the server jumped to, for this viewer or another, until that world is complete.
    pub(crate) jumped_to: Option<GameTime>,
}

impl Recording {
    pub(crate) fn new(info: RecordingInfo) -> Self {
        Self {
            info,
            seek: Slider::new(SEEK_REQUESTS_MAX),
            jumped_to: None,
        }
    }

    pub fn begin(&self) -> GameTime {
        self.info.begin
    }

    /// Where it ends, not before it begins.
    pub fn end(&self) -> GameTime {
        self.info.end
    }

    /// The speed at which it was recorded, at its beginning; `None` if that is not known.
    pub fn recorded_speed(&self) -> Option<Frequency> {
        self.info.recorded
    }

    /// What is worth a mark, in order of time, all between begin and end.
    pub fn marks(&self) -> &[Mark] {
        &self.info.marks
    }

    /// The moment at which the slider stands although it is not shown yet; `None` if it stands at the moment shown
    /// (`SceneClock::game`).
    pub fn target(&self) -> Option<GameTime> {
        self.seek.shown().or(self.jumped_to)
    }

    /// A moment of the recording for any moment: the nearer end for one outside.
    pub fn clamp(&self, to: GameTime) -> GameTime {
        to.clamp(self.info.begin, self.info.end)
    }

    /// The user wants to see this moment. Returns the message to send, counted in `numbers`; `None` if it is sent
    /// later.
    fn seek(&mut self, to: GameTime, numbers: &mut SentNumbers) -> Option<Control> {
        self.seek.wanted = Some(self.clamp(to));
        self.poll_wanted(numbers)
    }

    /// The jump that waits for the answer to the one before, if that is there.
    pub(crate) fn poll_wanted(&mut self, numbers: &mut SentNumbers) -> Option<Control> {
        self.seek.poll(numbers).map(Control::Seek)
    }

    /// The server processed everything up to message `number`: it jumped, or refused to.
    pub(crate) fn ack(&mut self, number: u64) {
        self.seek.ack(number);
    }
}
