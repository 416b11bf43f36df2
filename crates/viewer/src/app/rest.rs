//! When a frame need not be drawn again, since the window shows it already.
//!
//! The loop's systems run in each frame, so a change is drawn in the next one. Most of the cost of a frame of a paused game is
//! drawing the same picture again.

/// Frames that are drawn though the world looks the same since: what is kept from frame to frame follows it later. The
/// crowd of a large map is made over two times 15 frames, and a background that is kept waits up to 12 for it.
const FOLLOWS_WITHIN_FRAMES: u32 = 48;

/// Counts frames in which the world looks the same, and knows whether the window shows the last one.
#[derive(Debug, Default)]
pub(super) struct Rest {
    same_frames: u32,
    is_shown: bool,
}

impl Rest {
    /// The window no longer shows the last picture: panels have changed, or it was covered.
    pub(super) fn disturb(&mut self) {
        self.is_shown = false;
    }

    /// A frame is due; `is_same` if its world looks as that of the frame before. Answers whether the window can be left
    /// as it is; if not, [`Self::shown`] follows once it was drawn.
    pub(super) fn next(&mut self, is_same: bool) -> bool {
        self.same_frames = match is_same {
            true => self.same_frames.saturating_add(1),
            false => 0,
        };
        self.is_shown && self.same_frames > FOLLOWS_WITHIN_FRAMES
    }

    pub(super) fn shown(&mut self) {
        self.is_shown = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame that is drawn if it has to be; answers whether it was not.
    fn rests(rest: &mut Rest, is_same: bool) -> bool {
        let rests = rest.next(is_same);
        rest.shown();
        rests
    }

    #[test]
    fn a_picture_rests_once_all_of_it_has_followed_and_is_drawn_in_the_first_frame_that_differs() {
        let mut rest = Rest::default();
        assert!(!rests(&mut rest, false));
        for _ in 0..FOLLOWS_WITHIN_FRAMES {
            assert!(!rests(&mut rest, true), "what follows later is still to be seen");
        }
        assert!(rests(&mut rest, true));
        assert!(rests(&mut rest, true));
        rest.disturb();
        assert!(!rests(&mut rest, true), "panels are drawn once");
        assert!(rests(&mut rest, true));
        rest.disturb();
        assert!(!rest.next(true));
        assert!(!rests(&mut rest, true), "it could not be drawn");
        assert!(rests(&mut rest, true));
        assert!(!rests(&mut rest, false));
        assert!(!rests(&mut rest, true));
    }
}
