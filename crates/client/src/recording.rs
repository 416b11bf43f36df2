//! A recording being watched: how long it is, what happened when, and jumps under the user's hand.
//!
//! The slider answers at once: [`Recording::target`] is where the user put it, until the world of that moment is
//! there. One that is dragged asks for many moments; one request is on its way at a time, and of those that wait
//! the last one counts. What is shown meanwhile stays; the jump itself is [`crate::frame_session`]'s and
//! [`crate::display_clock`]'s.

use trantor_protocol::wire::{Mark, RecordingInfo, SentNumbers, ToServer};
use trantor_time::GameTime;

/// The time-line of a recording.
#[derive(Clone, Debug)]
pub struct Recording {
    info: RecordingInfo,
    /// The moment last asked for, or sent because another viewer did, whose world is not there yet.
    target: Option<GameTime>,
    /// The request on its way, by its number.
    request: Option<u64>,
    /// Whether [`Self::target`] is yet to be asked for, since another request is on its way.
    wants_more: bool,
    /// Whether the server has jumped, and its world is on its way.
    is_loading: bool,
}

impl Recording {
    /// As the server sent it; its times were checked.
    pub(crate) fn new(info: RecordingInfo) -> Self {
        Self {
            info,
            target: None,
            request: None,
            wants_more: false,
            is_loading: false,
        }
    }

    /// Where it begins.
    pub fn begin(&self) -> GameTime {
        self.info.begin
    }

    /// Where it ends, not before it begins.
    pub fn end(&self) -> GameTime {
        self.info.end
    }

    /// What is worth a mark, in order of time, all between begin and end.
    pub fn marks(&self) -> &[Mark] {
        &self.info.marks
    }

    /// Where the slider is to stand although that moment is not shown yet; `None` if it stands at the moment shown
    /// (`SceneClock::game`).
    pub fn target(&self) -> Option<GameTime> {
        self.target
    }

    /// A moment of the recording for any moment: the nearer end for one outside.
    pub fn clamp(&self, to: GameTime) -> GameTime {
        to.clamp(self.info.begin, self.info.end)
    }

    /// The user wants to see this moment. Answers the message to send, counted in `numbers`; `None` if it is sent
    /// later.
    pub(crate) fn seek(&mut self, to: GameTime, numbers: &mut SentNumbers) -> Option<ToServer> {
        self.target = Some(self.clamp(to));
        self.wants_more = true;
        self.poll_wanted(numbers)
    }

    /// The request that waits for the answer to the one before, if that is there.
    pub(crate) fn poll_wanted(&mut self, numbers: &mut SentNumbers) -> Option<ToServer> {
        if !self.wants_more || self.request.is_some() {
            return None;
        }
        let at = self.target?;
        self.wants_more = false;
        self.request = Some(numbers.send());
        Some(ToServer::Seek { at })
    }

    /// Everything up to message `number` was processed: answered by a jump, or refused.
    pub(crate) fn ack(&mut self, number: u64) {
        self.request = self.request.filter(|request| *request > number);
        self.forget_target();
    }

    /// The server jumped to `to`, for us or for another viewer.
    pub(crate) fn sought(&mut self, to: GameTime) {
        self.is_loading = true;
        if self.target.is_none() {
            self.target = Some(to);
        }
    }

    /// Whether the world of a jump is on its way.
    pub(crate) fn is_loading(&self) -> bool {
        self.is_loading
    }

    /// The world is there.
    pub(crate) fn loaded(&mut self) {
        self.is_loading = false;
        self.forget_target();
    }

    fn forget_target(&mut self) {
        if self.request.is_none() && !self.wants_more && !self.is_loading {
            self.target = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(units: i64) -> GameTime {
        GameTime::from_units(units)
    }

    fn recording() -> Recording {
        Recording::new(RecordingInfo {
            begin: units(100),
            end: units(900),
            marks: Vec::new(),
        })
    }

    #[test]
    fn a_dragged_slider_asks_for_one_moment_at_a_time_and_the_last_one_counts() {
        let (mut recording, mut numbers) = (recording(), SentNumbers::new());
        let sent = recording.seek(units(200), &mut numbers);
        assert_eq!(sent, Some(ToServer::Seek { at: units(200) }));
        for moment in 201..=300 {
            assert_eq!(recording.seek(units(moment), &mut numbers), None);
            assert_eq!(
                recording.target(),
                Some(units(moment)),
                "the slider answers at once"
            );
        }
        recording.sought(units(200));
        recording.ack(1);
        let sent = recording.poll_wanted(&mut numbers);
        assert_eq!(sent, Some(ToServer::Seek { at: units(300) }));
        recording.loaded();
        assert_eq!(
            recording.target(),
            Some(units(300)),
            "the second jump is still out"
        );
        recording.sought(units(300));
        recording.ack(2);
        assert_eq!(recording.target(), Some(units(300)), "its world is still out");
        recording.loaded();
        assert_eq!(
            (recording.target(), recording.poll_wanted(&mut numbers)),
            (None, None)
        );
    }

    #[test]
    fn a_refused_jump_lets_the_slider_go_back() {
        let (mut recording, mut numbers) = (recording(), SentNumbers::new());
        recording.seek(units(5_000), &mut numbers);
        assert_eq!(
            recording.target(),
            Some(units(900)),
            "nothing lies beyond the end"
        );
        recording.ack(1);
        assert_eq!(recording.target(), None);
    }

    #[test]
    fn the_slider_follows_another_viewers_jump() {
        let mut recording = recording();
        recording.sought(units(150));
        assert_eq!(recording.target(), Some(units(150)));
        recording.loaded();
        assert_eq!(recording.target(), None);
    }
}
