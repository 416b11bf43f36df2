//! What a window's surface answers when it is asked for a picture to draw on, and what is done about it.
//!
//! [`Care`] decides on values alone, so that all of it is tested without a window; whoever holds the surface carries it
//! out. [`Forced`] is how a person sees each of it happen.

use wgpu::{CurrentSurfaceTexture, SurfaceTexture};

/// Surfaces made one after the other, none of which was drawn on, before the device is given up with them.
const MADE_IN_A_ROW_MAX: u32 = 4;

/// What a surface answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A picture to draw on.
    Good,
    /// The same, but it no longer fits the window.
    Unfitting,
    /// There was no picture in time, as while the display is busy.
    Timeout,
    /// The window is hidden.
    Hidden,
    /// The window has changed, and the surface has to be set up for it.
    Outdated,
    /// The surface is gone.
    Lost,
    /// It was asked in a wrong way, by us or by the driver.
    Refused,
}

impl Answer {
    /// The answer, and the picture if there is one.
    pub fn of(texture: CurrentSurfaceTexture) -> (Self, Option<SurfaceTexture>) {
        match texture {
            CurrentSurfaceTexture::Success(frame) => (Self::Good, Some(frame)),
            CurrentSurfaceTexture::Suboptimal(frame) => (Self::Unfitting, Some(frame)),
            CurrentSurfaceTexture::Timeout => (Self::Timeout, None),
            CurrentSurfaceTexture::Occluded => (Self::Hidden, None),
            CurrentSurfaceTexture::Outdated => (Self::Outdated, None),
            CurrentSurfaceTexture::Lost => (Self::Lost, None),
            CurrentSurfaceTexture::Validation => (Self::Refused, None),
        }
    }
}

/// What is done before the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing: the next one may fare better.
    None,
    /// The surface is set up again for the window as it is.
    SetUp,
    /// Another surface is made for the same window, on the same device.
    MakeAgain,
    /// The device is given up; another one draws on the same window.
    GiveUp,
}

/// Follows what a surface answers.
#[derive(Debug, Default)]
pub struct Care {
    made_in_a_row: u32,
    /// For which size it was set up although it gave a picture, unless it has given one that fits since.
    set_up_for: Option<(u32, u32)>,
    remedied: u64,
}

impl Care {
    /// What is to be done about an answer of a surface of that size.
    pub fn follow(&mut self, answer: Answer, size: (u32, u32)) -> Remedy {
        let remedy = match answer {
            Answer::Good | Answer::Timeout | Answer::Hidden => Remedy::None,
            // Some drivers say so for ever, and what they give can be drawn on.
            Answer::Unfitting if self.set_up_for == Some(size) => Remedy::None,
            Answer::Unfitting | Answer::Outdated => Remedy::SetUp,
            Answer::Lost if self.made_in_a_row < MADE_IN_A_ROW_MAX => Remedy::MakeAgain,
            Answer::Lost | Answer::Refused => Remedy::GiveUp,
        };
        match answer {
            Answer::Good => self.set_up_for = None,
            Answer::Unfitting => self.set_up_for = Some(size),
            Answer::Timeout | Answer::Hidden | Answer::Outdated | Answer::Lost | Answer::Refused => {}
        }
        match answer {
            Answer::Good | Answer::Unfitting => self.made_in_a_row = 0,
            Answer::Lost => self.made_in_a_row += 1,
            Answer::Timeout | Answer::Hidden | Answer::Outdated | Answer::Refused => {}
        }
        self.remedied += u64::from(remedy != Remedy::None);
        remedy
    }

    /// How often something was done.
    pub fn remedied(&self) -> u64 {
        self.remedied
    }
}

/// A misfortune that a person asks for, to see what comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forced {
    /// The device is lost, as if its driver had crashed.
    DeviceLost,
    /// The surface answers the next question with this.
    Answer(Answer),
}

impl Forced {
    /// All of them, as they are typed.
    pub const NAMES: [&str; 4] = ["lose", "lose-surface", "outdated", "timeout"];

    /// The one that is typed so.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "lose" => Self::DeviceLost,
            "lose-surface" => Self::Answer(Answer::Lost),
            "outdated" => Self::Answer(Answer::Outdated),
            "timeout" => Self::Answer(Answer::Timeout),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedies(answers: &[Answer]) -> Vec<Remedy> {
        let mut care = Care::default();
        answers
            .iter()
            .map(|&answer| care.follow(answer, (640, 480)))
            .collect()
    }

    #[test]
    fn each_answer_has_its_remedy() {
        for (answer, remedy) in [
            (Answer::Good, Remedy::None),
            (Answer::Unfitting, Remedy::SetUp),
            (Answer::Timeout, Remedy::None),
            (Answer::Hidden, Remedy::None),
            (Answer::Outdated, Remedy::SetUp),
            (Answer::Lost, Remedy::MakeAgain),
            (Answer::Refused, Remedy::GiveUp),
        ] {
            assert_eq!(remedies(&[answer]), [remedy], "{answer:?}");
        }
    }

    #[test]
    fn a_surface_that_never_fits_is_set_up_once_for_each_size() {
        let mut care = Care::default();
        let mut follow = |answer, width| care.follow(answer, (width, 480));
        for width in [640, 641, 640] {
            assert_eq!(follow(Answer::Unfitting, width), Remedy::SetUp);
            for _ in 0..3 {
                assert_eq!(follow(Answer::Unfitting, width), Remedy::None);
            }
        }
        assert_eq!(follow(Answer::Good, 640), Remedy::None);
        let again = follow(Answer::Unfitting, 640);
        assert_eq!(again, Remedy::SetUp, "it had fitted in between");
    }

    #[test]
    fn the_answers_are_those_of_the_library() {
        for (texture, answer) in [
            (CurrentSurfaceTexture::Timeout, Answer::Timeout),
            (CurrentSurfaceTexture::Occluded, Answer::Hidden),
            (CurrentSurfaceTexture::Outdated, Answer::Outdated),
            (CurrentSurfaceTexture::Lost, Answer::Lost),
            (CurrentSurfaceTexture::Validation, Answer::Refused),
        ] {
            let (said, frame) = Answer::of(texture);
            assert!(said == answer && frame.is_none(), "{said:?} for {answer:?}");
        }
    }

    #[test]
    fn a_surface_that_is_lost_again_and_again_takes_the_device_with_it() {
        let often = [Answer::Lost; MADE_IN_A_ROW_MAX as usize + 1];
        assert_eq!(remedies(&often).last(), Some(&Remedy::GiveUp));
        // Neither waiting nor setting it up again shows that it can be drawn on.
        let mut between = often
            .map(|answer| [answer, Answer::Timeout, Answer::Outdated])
            .concat();
        assert!(remedies(&between).contains(&Remedy::GiveUp));
        between.insert(7, Answer::Good);
        assert!(
            !remedies(&between).contains(&Remedy::GiveUp),
            "it was drawn on in between"
        );
    }

    #[test]
    fn what_can_be_typed_is_understood() {
        assert!(
            Forced::NAMES
                .into_iter()
                .all(|name| Forced::named(name).is_some())
        );
        assert_eq!(Forced::named("explode"), None);
    }
}
