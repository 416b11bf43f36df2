//! Frames for viewers: changes, gathered until the next tick, and messages of their own at once.

use trantor_model::Change;
use trantor_model::feed::SAID_BYTES_MAX;
use trantor_protocol::limits::DELIVERIES_MAX;
use trantor_protocol::wire::{ClockAnchor, ToClient, write_frame};
use trantor_time::{GameClock, GameTime, RealTime};

use crate::limits;
use crate::session::{Log, Observer, Sessions};
use crate::shell::ConnId;

/// Changes for frame viewers: those since the last tick, and before them the log of what is encoded.
#[derive(Debug, Default)]
pub(crate) struct FrameUpdates {
    changes: Vec<(GameTime, Change)>,
    pub(crate) log: Log,
    /// Scratch space in which frames are encoded.
    frames: Vec<u8>,
    /// Scratch space in which messages are built.
    message: Vec<Change>,
    /// Deliveries in the changes since the last tick.
    deliveries: usize,
    /// Messages that no frame could hold.
    pub(crate) encode_failures: u64,
}

/// A tick cannot carry so many changes: a snapshot is shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyChanges;

impl FrameUpdates {
    /// Notes a change of game time `at`, cut to what a tick has room for.
    ///
    /// # Errors
    /// If there are too many. All are forgotten then.
    pub(crate) fn note(&mut self, at: GameTime, change: &Change) -> Result<(), TooManyChanges> {
        match change {
            // Whether an egg can be hatched shows in the number of places.
            Change::EggMatured { .. } | Change::Refilled => Ok(()),
            change => {
                let change = self.cut(change.clone());
                self.push(at, change)
            }
        }
    }

    /// Cuts a long broadcast, and leaves out the deliveries that the tick has no room for, which it counts.
    fn cut(&mut self, mut change: Change) -> Change {
        match &mut change {
            Change::Said { text, .. } if text.len() > SAID_BYTES_MAX => {
                *text = text[..SAID_BYTES_MAX].into();
            }
            Change::Sent {
                deliveries, left_out, ..
            } => {
                let room = DELIVERIES_MAX - self.deliveries;
                if deliveries.len() > room {
                    *left_out = u32::try_from(deliveries.len() - room).unwrap_or(u32::MAX);
                    *deliveries = deliveries[..room].into();
                }
                self.deliveries += deliveries.len();
            }
            _ => {}
        }
        change
    }

    fn push(&mut self, at: GameTime, change: Change) -> Result<(), TooManyChanges> {
        if self.changes.len() == limits::CHANGES_PER_TICK_MAX {
            self.changes.clear();
            return Err(TooManyChanges);
        }
        self.changes.push((at, change));
        Ok(())
    }

    /// Forgets all changes; answers the end of the log.
    pub(crate) fn forget(&mut self) -> u64 {
        self.changes.clear();
        self.deliveries = 0;
        self.forget_before(None);
        self.log.end
    }

    /// Forgets what lies before a position in the log; all of it if no viewer has one.
    pub(crate) fn forget_before(&mut self, position: Option<u64>) {
        self.log.forget_before(position.unwrap_or(self.log.end));
    }

    /// Encodes the changes, as one message for each moment of the game, or several; answers the end of the log.
    pub(crate) fn flush(&mut self) -> u64 {
        self.frames.clear();
        let same_moment = |a: &(GameTime, Change), b: &(GameTime, Change)| a.0 == b.0;
        for moment in self.changes.chunk_by(same_moment) {
            for part in moment.chunks(limits::CHANGES_PER_MESSAGE) {
                let mut changes = std::mem::take(&mut self.message);
                changes.clear();
                changes.extend(part.iter().map(|(_, change)| change.clone()));
                let message = ToClient::Changes {
                    at: part[0].0,
                    changes,
                };
                self.encode_failures += u64::from(write_frame(&mut self.frames, &message).is_err());
                if let ToClient::Changes { changes, .. } = message {
                    self.message = changes;
                }
            }
        }
        self.changes.clear();
        self.deliveries = 0;
        self.log.append(&self.frames);
        self.log.end
    }

    pub(crate) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.frames.clear();
        write(&mut self.frames);
        self.log.append(&self.frames);
    }
}

pub(crate) fn send(sessions: &mut Sessions, conn: ConnId, message: &ToClient) {
    sessions.push_mark(conn, |outbox| {
        write_frame(outbox, message).expect("a message that is not made of lists fits a frame");
    });
}

/// Sends a message at once, also to a delayed viewer.
pub(crate) fn send_at_once(sessions: &mut Sessions, conn: ConnId, message: &ToClient) {
    sessions.push_at_once(conn, |outbox| {
        write_frame(outbox, message).expect("a message that is not made of lists fits a frame");
    });
}

/// What the game clock shows, exactly, at a whole microsecond of this viewer: the next one, since a clock
/// that was changed just now can be read from now on only.
pub(crate) fn clock_anchor(observer: &Observer, clock: &GameClock, now: RealTime) -> ClockAnchor {
    let (real_us, real) = observer.next_whole_us(now);
    ClockAnchor {
        real_us,
        game: clock.now(real),
        frequency: clock.frequency(),
        paused: clock.is_paused(),
    }
}

#[cfg(test)]
mod tests {
    use trantor_model::{AgentId, EggId, ElevationId, Level, Tile};
    use trantor_protocol::wire::{FrameCutter, read_frame};
    use trantor_time::link::{Delivery, LinkSettings, Loss};

    use super::*;

    /// The moments of the messages from this position on, each with the number of its changes.
    fn decoded(updates: &mut FrameUpdates, from: u64) -> Vec<(GameTime, usize)> {
        let (end, mut bytes) = (updates.flush(), Vec::new());
        updates.log.copy(from..end, &mut bytes);
        let mut frames = bytes.as_slice();
        let mut cutter = FrameCutter::new::<ToClient>();
        let mut messages = Vec::new();
        while let Some(frame) = cutter.next(&mut frames).unwrap() {
            match read_frame(frame).unwrap() {
                ToClient::Changes { at, changes } => messages.push((at, changes.len())),
                other => panic!("{other:?}"),
            }
        }
        messages
    }

    fn died(agent: u32) -> Change {
        Change::Died {
            agent: AgentId(agent),
        }
    }

    #[test]
    fn changes_of_one_moment_share_messages() {
        let mut updates = FrameUpdates::default();
        let [first, second] = [GameTime::from_units(1), GameTime::from_units(2)];
        for agent in 0..2 {
            updates.push(first, died(agent)).unwrap();
        }
        let joined = updates.flush();
        updates.push(first, died(2)).unwrap();
        let many = limits::CHANGES_PER_MESSAGE as u32 + 1;
        for agent in 0..many {
            updates.push(second, died(agent)).unwrap();
        }
        let later = [(first, 1), (second, limits::CHANGES_PER_MESSAGE), (second, 1)];
        assert_eq!(
            decoded(&mut updates, joined),
            later,
            "who joined later gets the rest"
        );
        assert_eq!(decoded(&mut updates, 0)[0], (first, 2));
        let end = updates.forget();
        assert_eq!(decoded(&mut updates, end), []);
    }

    #[test]
    fn a_message_that_fits_no_frame_is_counted_and_the_others_go() {
        let mut updates = FrameUpdates::default();
        let far_too_many = (0..400_000).map(AgentId).collect();
        let [first, second, third] = [1, 2, 3].map(GameTime::from_units);
        updates.push(first, died(1)).unwrap();
        let ended = Change::ElevationEnded {
            elevation: ElevationId(0),
            tile: Tile { x: 0, y: 0 },
            level: Level::FIRST,
            success: false,
            participants: far_too_many,
        };
        updates.push(second, ended).unwrap();
        updates.push(third, died(2)).unwrap();
        assert_eq!(decoded(&mut updates, 0), [(first, 1), (third, 1)]);
        assert_eq!(updates.encode_failures, 1);
    }

    #[test]
    fn more_changes_than_a_tick_carries_are_forgotten() {
        let mut updates = FrameUpdates::default();
        for _ in 0..limits::CHANGES_PER_TICK_MAX {
            updates.push(GameTime::ZERO, died(0)).unwrap();
        }
        assert_eq!(updates.push(GameTime::ZERO, died(0)), Err(TooManyChanges));
        assert_eq!(updates.flush(), 0);
    }

    #[test]
    fn long_broadcasts_are_cut_and_what_viewers_see_otherwise_is_not_sent() {
        let mut updates = FrameUpdates::default();
        let said = |bytes: usize| Change::Said {
            agent: AgentId(0),
            text: vec![b'x'; bytes].into(),
        };
        for change in [
            said(5_000),
            Change::EggMatured { egg: EggId(0) },
            Change::Refilled,
        ] {
            updates.note(GameTime::ZERO, &change).unwrap();
        }
        assert_eq!(updates.changes, [(GameTime::ZERO, said(SAID_BYTES_MAX))]);
    }

    /// A crowd that all shouts with lag would be more than a viewer can show.
    #[test]
    fn deliveries_beyond_those_of_a_tick_are_left_out_and_counted() {
        let mut updates = FrameUpdates::default();
        let sent = || Change::Sent {
            agent: AgentId(0),
            tile: Tile { x: 0, y: 0 },
            settings: LinkSettings::PERFECT.into(),
            deliveries: vec![(AgentId(1), Delivery::Lost(Loss::Chance)); DELIVERIES_MAX - 1].into(),
            left_out: 0,
        };
        let mut counted = || match updates.cut(sent()) {
            Change::Sent {
                deliveries, left_out, ..
            } => (deliveries.len(), left_out as usize),
            other => panic!("{other:?}"),
        };
        let all = DELIVERIES_MAX - 1;
        assert_eq!(
            [counted(), counted(), counted()],
            [(all, 0), (1, all - 1), (0, all)]
        );
        updates.flush();
        assert!(matches!(updates.cut(sent()), Change::Sent { left_out: 0, .. }));
    }
}
