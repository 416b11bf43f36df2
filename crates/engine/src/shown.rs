//! What agents and the server show to frame viewers besides the game: kept here, within limits, and sent with ticks.
//!
//! It is no state of the game: nothing of it is recorded or saved. What an owner shows is [`trantor_model::show`]'s to bound.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use trantor_model::show::{SHOWN_TEXT_BYTES_MAX, shown_text};
use trantor_model::{MapSize, Show, Shown, ShownBy};
use trantor_protocol::limits::{SHOWN_BYTES_MAX, SHOWN_MESSAGE_BYTES};
use trantor_protocol::wire::{ToClient, write_frame};

/// Bytes sent with a tick, and those of one owner more: 320 kB a second for each viewer. What did not fit comes with later
/// ticks, as it is then.
const BYTES_PER_TICK: usize = 16 * 1024;

/// Announcements sent with a tick; of more the newest are. A person reads one in a second.
const ANNOUNCEMENTS_PER_TICK: usize = 4;

/// Bytes of the longest mark, which is the longest entry.
const ENTRY_BYTES_MAX: usize = 512;

/// All that is shown, and what viewers were not sent of it.
#[derive(Debug, Default)]
pub(crate) struct Board {
    /// Those who show something.
    owners: BTreeMap<ShownBy, Shown>,
    /// Their bytes together.
    bytes: usize,
    /// Owners that changed since viewers were sent them.
    changed: BTreeSet<ShownBy>,
    /// The owner sent last: the next tick begins behind it, so that none is starved.
    last_sent: Option<ShownBy>,
    announcements: VecDeque<Box<str>>,
    /// Whether anything was ever shown: before, viewers are sent nothing.
    is_used: bool,
    /// Requests that were dropped for lack of room.
    pub(crate) dropped: u64,
}

impl Board {
    /// Carries out a request. Without viewers nothing waits to be sent: those who join get all.
    pub(crate) fn show(&mut self, by: ShownBy, show: Show, map: MapSize, is_watched: bool) {
        if let Show::Announce(text) = show {
            if is_watched {
                self.announce(by, &text);
            }
            return;
        }
        let adds = !matches!(show, Show::Unmark { .. } | Show::Clear);
        if adds && self.bytes + ENTRY_BYTES_MAX > SHOWN_BYTES_MAX {
            self.dropped += 1;
            return;
        }
        let shown = self.owners.entry(by).or_default();
        let bytes_before = if shown.is_empty() { 0 } else { shown.bytes() };
        let is_changed = shown.apply(show, map);
        self.bytes -= bytes_before;
        match shown.is_empty() {
            true => drop(self.owners.remove(&by)),
            false => self.bytes += shown.bytes(),
        }
        if is_changed {
            self.is_used = true;
            if is_watched {
                self.changed.insert(by);
            }
        }
    }

    fn announce(&mut self, by: ShownBy, text: &str) {
        if self.announcements.len() == ANNOUNCEMENTS_PER_TICK {
            self.announcements.pop_front();
            self.dropped += 1;
        }
        let text = match by {
            ShownBy::Server => shown_text(text, SHOWN_TEXT_BYTES_MAX),
            ShownBy::Agent(agent) => shown_text(&format!("#{}: {text}", agent.0), SHOWN_TEXT_BYTES_MAX),
        };
        self.announcements.push_back(text);
    }

    /// Nobody watches any more: what waited is forgotten.
    pub(crate) fn forget_unsent(&mut self) {
        self.changed.clear();
        self.announcements.clear();
    }

    /// Appends frames with what is new, as much as a tick may carry.
    pub(crate) fn write_tick(&mut self, out: &mut Vec<u8>) {
        for text in self.announcements.drain(..) {
            write(out, &ToClient::Announced { text: text.into() });
        }
        let mut owners = Vec::new();
        let mut bytes = 0;
        while bytes < BYTES_PER_TICK
            && let Some(by) = self.take_changed()
        {
            let shown = self.owners.get(&by).cloned().unwrap_or_default();
            bytes += shown.bytes();
            owners.push((by, shown));
        }
        if !owners.is_empty() {
            let anew = false;
            write(out, &ToClient::Shown { anew, owners });
        }
    }

    /// The next changed owner in the order of owners, from the first again after the last.
    fn take_changed(&mut self) -> Option<ShownBy> {
        use std::ops::Bound::{Excluded, Unbounded};
        let after = self.last_sent.map_or(Unbounded, Excluded);
        let next = self.changed.range((after, Unbounded)).next();
        let by = *next.or_else(|| self.changed.first())?;
        self.changed.remove(&by);
        self.last_sent = Some(by);
        Some(by)
    }

    /// Appends frames with all that is shown, for a viewer that is sent the world.
    pub(crate) fn write_all(&self, out: &mut Vec<u8>) {
        if !self.is_used {
            return;
        }
        let mut owners = self.owners.iter().peekable();
        let mut anew = true;
        while anew || owners.peek().is_some() {
            let (mut message, mut bytes) = (Vec::new(), 0);
            while bytes < SHOWN_MESSAGE_BYTES
                && let Some((by, shown)) = owners.next()
            {
                bytes += shown.bytes();
                message.push((*by, shown.clone()));
            }
            let owners = message;
            write(out, &ToClient::Shown { anew, owners });
            anew = false;
        }
    }
}

fn write(out: &mut Vec<u8>, message: &ToClient) {
    write_frame(out, message).expect("what one message holds fits a frame");
}

#[cfg(test)]
mod tests {
    use trantor_model::{AgentId, Tile, TileMark};
    use trantor_protocol::wire::{FrameCutter, read_frame};

    use super::*;

    fn map() -> MapSize {
        MapSize::new(10, 10).unwrap()
    }

    fn agent(id: u32) -> ShownBy {
        ShownBy::Agent(AgentId(id))
    }

    fn note(text: &str) -> Show {
        Show::Note(text.into())
    }

    fn messages(write: impl FnOnce(&mut Vec<u8>)) -> Vec<ToClient> {
        let mut bytes = Vec::new();
        write(&mut bytes);
        let (mut cutter, mut bytes) = (FrameCutter::new::<ToClient>(), bytes.as_slice());
        std::iter::from_fn(|| {
            cutter
                .next(&mut bytes)
                .unwrap()
                .map(|frame| read_frame(frame).unwrap())
        })
        .collect()
    }

    fn owners(message: &ToClient) -> &[(ShownBy, Shown)] {
        match message {
            ToClient::Shown { owners, .. } => owners,
            other => panic!("{other:?} shows nothing"),
        }
    }

    /// Fills a board with as much as each of so many agents may show.
    fn full(board: &mut Board, agents: u32) {
        for id in 0..agents {
            for key in 0..32 {
                let mark = TileMark {
                    tiles: vec![Tile { x: 1, y: 1 }; 64],
                    colour: [1, 2, 3],
                    text: "x".repeat(120).into(),
                };
                let key = format!("{key:032}").into();
                board.show(agent(id), Show::Mark { key, mark }, map(), true);
            }
        }
    }

    #[test]
    fn a_tick_carries_a_bounded_number_and_the_latest_wins() {
        let mut board = Board::default();
        full(&mut board, 5);
        board.show(agent(0), note("first"), map(), true);
        board.show(agent(0), note("second"), map(), true);
        let mut seen = Vec::new();
        for tick in 0..3 {
            let messages = messages(|out| board.write_tick(out));
            let sent = owners(&messages[0]);
            assert!((messages.len(), sent.len()) == (1, 2), "two owners fill a tick");
            seen.extend(sent.iter().map(|(by, shown)| (*by, shown.note.to_string())));
            // One that changes all the time does not keep the others waiting.
            board.show(agent(0), note(&tick.to_string()), map(), true);
        }
        let expected = [(0, "second"), (1, ""), (2, ""), (3, ""), (4, ""), (0, "1")];
        assert_eq!(seen, expected.map(|(id, note)| (agent(id), note.to_owned())));
        for number in 0..9 {
            board.show(
                ShownBy::Server,
                Show::Announce(number.to_string().into()),
                map(),
                true,
            );
        }
        let texts: Vec<_> = messages(|out| board.write_tick(out))
            .into_iter()
            .filter_map(|message| match message {
                ToClient::Announced { text } => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!(texts, ["5", "6", "7", "8"]);
        assert_eq!(board.dropped, 5);
        assert!(
            messages(|out| board.write_tick(out)).is_empty(),
            "nothing is sent twice"
        );
    }

    #[test]
    fn what_is_shown_is_bounded_and_goes_as_a_whole_to_those_who_join() {
        let mut board = Board::default();
        assert!(
            messages(|out| board.write_all(out)).is_empty(),
            "nothing was ever shown"
        );
        full(&mut board, 40);
        assert!(board.bytes <= SHOWN_BYTES_MAX && board.dropped > 0);
        let all = messages(|out| board.write_all(out));
        assert!(all.len() > 2, "in messages of a bounded length");
        assert!(matches!(all[0], ToClient::Shown { anew: true, .. }));
        let sent: usize = all.iter().flat_map(owners).map(|(_, shown)| shown.bytes()).sum();
        assert_eq!(sent, board.bytes);
        for id in 0..40 {
            board.show(agent(id), Show::Clear, map(), false);
        }
        assert_eq!((board.bytes, board.owners.len()), (0, 0));
        let all = messages(|out| board.write_all(out));
        assert_eq!(
            all,
            [ToClient::Shown {
                anew: true,
                owners: vec![]
            }],
            "and nothing of it stays"
        );
    }
}
