//! The world that a viewer must have once nothing is in flight to it.

use trantor_engine::ClientKind;
use trantor_time::{RealSpan, RealTime};

use super::Host;
use crate::picture::Picture;

impl Host {
    /// Spectator delay of a peer, as it was when it began to watch.
    pub(crate) fn delay_of(&self, conn: usize) -> RealSpan {
        self.conns[conn].delay.unwrap_or(RealSpan::ZERO)
    }

    /// Records the delay of new viewers.
    pub(super) fn record_delays(&mut self) {
        let (rule, delay) = (self.access.now(), self.world_history.delay());
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

    /// The world that a viewer must have; `None` if it cannot have one yet.
    pub(crate) fn expected_world(&self, conn: usize, now: RealTime) -> Option<Picture> {
        match self.delay_of(conn) == RealSpan::ZERO {
            true => Some(Picture::of_world(self.engine.game().world())),
            false => self.world_history.world_at(now).cloned(),
        }
    }
}
