//! What a peer must know by now, if nothing is under way to it.

use trantor_engine::ClientKind;
use trantor_time::{RealSpan, RealTime};

use super::Host;
use crate::picture::Picture;

impl Host {
    /// How much later than it happens a peer is told of the game: as it was when it began to watch.
    pub(crate) fn delay_of(&self, conn: usize) -> RealSpan {
        self.conns[conn].delay.unwrap_or(RealSpan::ZERO)
    }

    /// Takes note of how much later those are told of the game who have begun to watch.
    pub(super) fn note_spectators(&mut self) {
        let (rule, delay) = (self.access.now(), self.past.delay());
        for client in self.engine.clients() {
            if matches!(client.kind, ClientKind::TextViewer | ClientKind::Viewer)
                && let Some(conn) = self.served.get(&client.conn)
            {
                let conn = &mut self.conns[*conn];
                let delay = if rule.allows(conn.credentials) {
                    RealSpan::ZERO
                } else {
                    delay
                };
                conn.delay.get_or_insert(delay);
            }
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
