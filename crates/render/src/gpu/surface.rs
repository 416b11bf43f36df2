//! What a window's surface answers when it is asked for a picture to draw on, and how it is recovered.
//!
//! [`SurfaceState`] decides on values alone, so that all of it is tested without a window; the owner of the surface carries
//! it out. [`Fault`] injects each failure.

use wgpu::{CurrentSurfaceTexture, SurfaceTexture};

/// Surfaces made one after the other, none of which was drawn on, before the device is given up with them.
const RECREATED_IN_A_ROW_MAX: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Good,
    /// Good to draw on, but it no longer fits the window.
    Suboptimal,
    /// No picture for now: the display is busy, or the window is hidden.
    None,
    /// The window has changed, and the surface has to be configured for it.
    Outdated,
    Lost,
    /// A validation error, ours or the driver's.
    Invalid,
}

impl Status {
    /// The answer, and the picture if there is one.
    pub fn of(texture: CurrentSurfaceTexture) -> (Self, Option<SurfaceTexture>) {
        match texture {
            CurrentSurfaceTexture::Success(frame) => (Self::Good, Some(frame)),
            CurrentSurfaceTexture::Suboptimal(frame) => (Self::Suboptimal, Some(frame)),
            CurrentSurfaceTexture::Timeout | CurrentSurfaceTexture::Occluded => (Self::None, None),
            CurrentSurfaceTexture::Outdated => (Self::Outdated, None),
            CurrentSurfaceTexture::Lost => (Self::Lost, None),
            CurrentSurfaceTexture::Validation => (Self::Invalid, None),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing: the next frame may fare better.
    None,
    /// The surface is configured again for the window as it is.
    Reconfigure,
    /// Another surface is made for the same window, on the same device.
    Recreate,
    /// The device is given up; another one draws on the same window.
    GiveUp,
}

#[derive(Debug, Default)]
pub struct SurfaceState {
    recreated_in_a_row: u32,
    /// For which size it was configured although it gave a picture, unless it has given one that fits since.
    configured_for: Option<(u32, u32)>,
    recoveries: u64,
}

impl SurfaceState {
    /// What is to be done about an answer of a surface of that size.
    pub fn follow(&mut self, status: Status, size: (u32, u32)) -> Recovery {
        let recovery = match status {
            Status::Good | Status::None => Recovery::None,
            // Some drivers say so for ever, and what they give can be drawn on.
            Status::Suboptimal if self.configured_for == Some(size) => Recovery::None,
            Status::Suboptimal | Status::Outdated => Recovery::Reconfigure,
            Status::Lost if self.recreated_in_a_row < RECREATED_IN_A_ROW_MAX => Recovery::Recreate,
            Status::Lost | Status::Invalid => Recovery::GiveUp,
        };
        match status {
            Status::Good | Status::Suboptimal => {
                self.configured_for = (status == Status::Suboptimal).then_some(size);
                self.recreated_in_a_row = 0;
            }
            Status::Lost => self.recreated_in_a_row += 1,
            Status::None | Status::Outdated | Status::Invalid => {}
        }
        self.recoveries += u64::from(recovery != Recovery::None);
        recovery
    }

    pub fn recoveries(&self) -> u64 {
        self.recoveries
    }
}

/// A failure that the user injects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device is lost, as if its driver had crashed.
    DeviceLost,
    Surface(Status),
}

impl Fault {
    /// All of them, as they are typed.
    pub const NAMES: [&str; 4] = ["lose", "lose-surface", "outdated", "timeout"];

    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "lose" => Self::DeviceLost,
            "lose-surface" => Self::Surface(Status::Lost),
            "outdated" => Self::Surface(Status::Outdated),
            "timeout" => Self::Surface(Status::None),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_has_its_recovery_and_none_is_tried_for_ever() {
        let mut state = SurfaceState::default();
        let mut follow = |status, width| state.follow(status, (width, 480));
        // A surface that never fits is configured once for each size, unless it fitted in between.
        for width in [640, 641, 640] {
            assert_eq!(follow(Status::Suboptimal, width), Recovery::Reconfigure);
            assert_eq!(follow(Status::Suboptimal, width), Recovery::None);
        }
        assert_eq!(follow(Status::Good, 640), Recovery::None);
        assert_eq!(follow(Status::Suboptimal, 640), Recovery::Reconfigure);
        // One that is lost again and again takes the device with it, unless it was drawn on.
        for lost in 0..=RECREATED_IN_A_ROW_MAX {
            let gives_up = follow(Status::Lost, 640) == Recovery::GiveUp;
            assert_eq!(gives_up, lost == RECREATED_IN_A_ROW_MAX);
            follow(Status::None, 640);
            assert_eq!(follow(Status::Outdated, 640), Recovery::Reconfigure);
        }
        follow(Status::Good, 640);
        assert_eq!(follow(Status::Lost, 640), Recovery::Recreate);
        assert_eq!(follow(Status::Invalid, 640), Recovery::GiveUp);
    }
}
