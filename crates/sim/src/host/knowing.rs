//! What a peer must know by now, if nothing is under way to it.

use trantor_time::{RealSpan, RealTime};

use super::Host;
use crate::picture::Picture;

impl Host {
    /// How much later than it happens a peer is told of the game.
    pub(crate) fn delay_of(&self, conn: usize) -> RealSpan {
        let delay = self.past.delay();
        let conn = self.conns[conn].id;
        let sees_present = |id| self.engine.clients().any(|it| it.conn == id && it.may_control);
        match delay > RealSpan::ZERO && !sees_present(conn) {
            true => delay,
            false => RealSpan::ZERO,
        }
    }

    /// The world as a peer must know it to whom nothing is under way; `None` if it cannot know any yet.
    pub(crate) fn world_told(&self, conn: usize, now: RealTime) -> Option<Picture> {
        match self.delay_of(conn) == RealSpan::ZERO {
            true => Some(Picture::of_world(self.engine.game().world())),
            false => self.past.told_by(now).cloned(),
        }
    }
}
