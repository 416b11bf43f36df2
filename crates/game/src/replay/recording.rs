//! A whole recording as one thing to walk about in: pieces in their order, with states to jump to.
//!
//! Each piece is played once, which also checks it ([`IndexedPiece::new`]; pieces can be played side by side).
//! On the way marks are gathered, and at intervals the state is kept ([`States`]), so that any moment is at most
//! an interval away. Then the pieces are put together ([`Recording::join`]), and a [`Cursor`] goes through all of them on
//! one game.
//!
//! What is shown ends with the victory, if there is one. In the same instant all agents are disconnected and nothing happens
//! after it, so that the very end would show an empty board in the place of the winners.

use std::sync::Arc;

use trantor_model::{Change, Mark, MarkKind, TeamId};
use trantor_time::{Frequency, GameTime};

use super::{Divergence, END_OF_TIME, Replay, Replayed, Track};
use crate::config::GameConfig;
use crate::event::GameEvent;
use crate::game::Game;
use crate::history::History;
use crate::input::{GameInput, PaceChange};
use crate::journal::{CutShort, Ending, JournalError};
use crate::save::Snapshot;

/// A piece that was played once.
#[derive(Clone, Debug)]
pub struct IndexedPiece {
    number: u32,
    config: GameConfig,
    /// In order; the first is the beginning.
    states: Vec<KeptState>,
    marks: Vec<Mark>,
    /// The end of what is shown of it.
    end: GameTime,
    /// Deadlines carried out until the end of all of it.
    end_steps: u64,
    /// The digest and the time of the state in which all of it ends.
    last_state: (u64, GameTime),
    /// What happened in all of it.
    history: History,
    ends: RecordingEnd,
}

/// How a recording ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingEnd {
    /// In order.
    Closed,
    /// After the last whole record.
    CutOff(CutShort),
    /// Where its replay diverges: nothing beyond can be shown.
    Different(Divergence),
}

/// Why pieces do not make one recording. The caller reports it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// There is none.
    #[error("there is nothing to play")]
    Nothing,
    /// Two pieces do not follow each other.
    #[error("piece {second} does not follow piece {first}")]
    Gap {
        /// The number of the one before.
        first: u32,
        /// The number of the one after.
        second: u32,
    },
    /// A piece that is not the last has no orderly end.
    #[error("piece {0} is not whole, and others follow it")]
    CutOff(u32),
    /// A piece does not begin with the state that the one before ended with.
    #[error("piece {0} begins with another state than the one before ended with")]
    Seam(u32),
}

/// A recording, ready to be shown from any moment.
#[derive(Clone, Debug)]
pub struct Recording {
    /// In order, and at least one; what is shown ends with the last.
    pieces: Vec<IndexedPiece>,
    /// Those of all pieces.
    marks: Vec<Mark>,
}

/// A place in a recording. The game it is used with is the caller's.
#[derive(Clone, Debug)]
pub struct Cursor {
    recording: Arc<Recording>,
    piece: usize,
    track: Track,
    /// What happened until the moment that was sought.
    history: History,
}

impl IndexedPiece {
    /// Plays a piece from its beginning to its end, or to where it differs. The states kept on the way take no more
    /// than `states_bytes_max` bytes, or than twice as many as the piece if that is more.
    ///
    /// # Errors
    /// If it cannot be played at all.
    pub fn new(bytes: impl Into<Arc<[u8]>>, states_bytes_max: usize) -> Result<Self, JournalError> {
        let bytes = bytes.into();
        let states_bytes_max = states_bytes_max.max(2 * bytes.len());
        let mut replay = Replay::open(bytes)?;
        let kept = |replay: &Replay, history: &History| KeptState {
            at: replay.game.now(),
            track: replay.track.clone(),
            bytes: replay.game.snapshot().encode(),
            history: history.clone(),
        };
        let mut marker = Marker::new(&replay.game);
        let mut states = States::new(kept(&replay, &marker.history), states_bytes_max);
        let winner_before = replay.game.winner();
        let mut end = replay.game.now();
        let ends = loop {
            match replay.step(END_OF_TIME) {
                Ok(Some(replayed)) => marker.note(&mut replay.game, &replayed),
                Ok(None) => break end_of(&replay.track),
                Err(divergence) => break RecordingEnd::Different(divergence),
            }
            // The difference may lie behind it and show only later.
            end = replay.game.now();
            if states.is_due_after_step() && replay.game.winner() == winner_before {
                states.keep(kept(&replay, &marker.history));
            }
        };
        let mut marks = marker.marks;
        if let Some(place) = marks.iter().position(is_victory) {
            marks.truncate(place + 1);
            end = marks[place].at;
        }
        Ok(Self {
            number: replay.head.number,
            config: replay.game.config().clone(),
            states: states.kept,
            marks,
            end,
            end_steps: replay.game.steps(),
            last_state: (replay.game.digest(), replay.game.now()),
            history: marker.history,
            ends,
        })
    }

    fn begin(&self) -> GameTime {
        self.states[0].at
    }
}

impl Recording {
    /// Puts pieces together that follow each other, in their order. It may begin in the middle of a journal.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn join(pieces: Vec<IndexedPiece>) -> Result<Self, RecordingError> {
        if pieces.is_empty() {
            return Err(RecordingError::Nothing);
        }
        for pair in pieces.windows(2) {
            check_seam(&pair[0], &pair[1])?;
        }
        let mut joined = Self {
            pieces: Vec::new(),
            marks: Vec::new(),
        };
        for mut piece in pieces {
            if let Some(before) = joined.pieces.last() {
                let histories = piece.states.iter_mut().map(|state| &mut state.history);
                histories
                    .chain([&mut piece.history])
                    .for_each(|history| history.follow(&before.history));
            }
            for mark in std::mem::take(&mut piece.marks) {
                joined.push_mark(mark);
            }
            let is_won = joined.ends_with_victory();
            if is_won {
                piece.ends = RecordingEnd::Closed;
            }
            joined.pieces.push(piece);
            if is_won {
                break;
            }
        }
        Ok(joined)
    }

    fn last(&self) -> &IndexedPiece {
        self.pieces.last().expect("a recording has a piece")
    }

    /// A speed that is set again is no change; each piece repeats its own.
    fn push_mark(&mut self, mark: Mark) {
        let is_again = match mark.kind {
            MarkKind::Speed { frequency } => self.speed_at(mark.at) == Some(frequency),
            _ => false,
        };
        if !is_again {
            self.marks.push(mark);
        }
    }

    fn ends_with_victory(&self) -> bool {
        self.marks.last().is_some_and(is_victory)
    }

    /// What the game was made from.
    pub fn config(&self) -> &GameConfig {
        &self.last().config
    }

    /// The first moment.
    pub fn begin(&self) -> GameTime {
        self.pieces[0].begin()
    }

    /// The last moment: that of the victory, if there is one.
    pub fn end(&self) -> GameTime {
        self.last().end
    }

    /// How it ends.
    pub fn ends(&self) -> &RecordingEnd {
        &self.last().ends
    }

    /// What is worth a mark, in order of time. The first speed is among them, at the beginning.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// States that are kept, each a place from which to play.
    pub fn states_kept(&self) -> usize {
        self.pieces.iter().map(|piece| piece.states.len()).sum()
    }

    /// The speed at which the game ran at a moment; `None` if that was not recorded.
    pub fn speed_at(&self, at: GameTime) -> Option<Frequency> {
        let until = self.marks.partition_point(|mark| mark.at <= at);
        self.marks[..until].iter().rev().find_map(|mark| match mark.kind {
            MarkKind::Speed { frequency } => Some(frequency),
            _ => None,
        })
    }

    /// The last state that is kept of a moment that is not after `to`, and its piece.
    fn last_state_until(&self, to: GameTime) -> (usize, &KeptState) {
        let piece = self.pieces.partition_point(|piece| piece.begin() <= to) - 1;
        let states = &self.pieces[piece].states;
        (piece, &states[states.partition_point(|state| state.at <= to) - 1])
    }

    /// The game as it was at a moment, all that happened at it included, and the place to go on from. A
    /// moment outside stands for the nearer end.
    ///
    /// # Errors
    /// If it is not what it was when it was indexed, which no input can cause.
    pub fn seek(self: &Arc<Self>, to: GameTime) -> Result<(Game, Cursor), Divergence> {
        let to = to.clamp(self.begin(), self.end());
        let (piece, state) = self.last_state_until(to);
        let snapshot = Snapshot::decode(&state.bytes).expect("a state that was kept is whole");
        let mut game = Game::restore(snapshot).expect("a state that was reached can go on");
        let mut cursor = Cursor {
            recording: Arc::clone(self),
            piece,
            track: state.track.clone(),
            history: state.history.clone(),
        };
        cursor.advance_to_next_piece();
        while cursor.step(&mut game, to)?.is_some() {
            while let Some(event) = game.poll_event() {
                if let GameEvent::Seen(change) = event {
                    cursor.history.note(&game, &change);
                }
            }
        }
        if cursor.next_time(&game).is_some() && to > game.now() {
            game.advance_to(to);
        }
        Ok((game, cursor))
    }
}

impl Cursor {
    /// The recording it goes through.
    pub fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    /// What happened until the moment that was sought; what happens from there on is for the caller to note.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// When something happens next in `game`; `None` at the end of what is shown.
    pub fn next_time(&self, game: &Game) -> Option<GameTime> {
        let is_over = self.recording.ends_with_victory() && game.winner().is_some();
        match is_over || self.is_where_it_differs(game) {
            true => None,
            false => self.track.next_time(game),
        }
    }

    /// Whether the next step is the one that gave something else when it was played first.
    fn is_where_it_differs(&self, game: &Game) -> bool {
        let recording = &self.recording;
        let RecordingEnd::Different(divergence) = recording.ends() else {
            return false;
        };
        let is_last_piece = self.piece + 1 == recording.pieces.len();
        is_last_piece
            && self.track.played().records >= divergence.record
            && game.steps() >= recording.last().end_steps
    }

    /// Continues with `more`, which the writer of a journal gave after the bytes of this recording: one of a game that is being
    /// played. Only this cursor knows of it.
    pub fn extend(&mut self, more: &[u8]) {
        self.track.extend(more);
    }

    /// Plays one deadline or one record on `game`, if it lies no later than `until`; `None` without one.
    ///
    /// # Errors
    /// As [`Track::step`].
    pub fn step(&mut self, game: &mut Game, until: GameTime) -> Result<Option<Replayed>, Divergence> {
        if self.next_time(game).is_none() {
            return Ok(None);
        }
        let replayed = self.track.step(game, until)?;
        self.advance_to_next_piece();
        Ok(replayed)
    }

    /// At the end of a piece, continues at the beginning of the next, which is the same state.
    fn advance_to_next_piece(&mut self) {
        while self.track.next_stamp().is_none()
            && let Some(next) = self.recording.pieces.get(self.piece + 1)
        {
            self.piece += 1;
            self.track = next.states[0].track.clone();
        }
    }
}

/// Whether `next` begins where `piece` ends.
fn check_seam(piece: &IndexedPiece, next: &IndexedPiece) -> Result<(), RecordingError> {
    let (first, second) = (piece.number, next.number);
    if first.checked_add(1) != Some(second) {
        return Err(RecordingError::Gap { first, second });
    }
    if piece.ends != RecordingEnd::Closed {
        return Err(RecordingError::CutOff(first));
    }
    let begins = Snapshot::decode(&next.states[0].bytes).map(|state| (state.digest().whole, state.now()));
    match begins == Ok(piece.last_state) {
        true => Ok(()),
        false => Err(RecordingError::Seam(second)),
    }
}

fn is_victory(mark: &Mark) -> bool {
    matches!(mark.kind, MarkKind::Won { .. })
}

fn end_of(track: &Track) -> RecordingEnd {
    match track.ending() {
        Some(Ending::Closed | Ending::Continued) | None => RecordingEnd::Closed,
        Some(Ending::CutOff { why, .. }) => RecordingEnd::CutOff(why),
    }
}

/// Gathers what is worth a mark on the time-line while a piece is played.
struct Marker {
    marks: Vec<Mark>,
    /// For late viewers.
    history: History,
}

impl Marker {
    fn new(game: &Game) -> Self {
        Self {
            marks: Vec::new(),
            history: History::of(game),
        }
    }

    fn note(&mut self, game: &mut Game, replayed: &Replayed) {
        if let Replayed::Input(GameInput::Pace(change)) = replayed {
            let kind = match *change {
                PaceChange::Frequency(frequency) => Some(MarkKind::Speed { frequency }),
                PaceChange::Paused => Some(MarkKind::Paused),
                PaceChange::Resumed => Some(MarkKind::Resumed),
                PaceChange::Stepped | PaceChange::WaitEnded => None,
            };
            self.mark(game, kind);
        }
        let died = |team: TeamId| MarkKind::Died { team };
        while let Some(event) = game.poll_event() {
            let GameEvent::Seen(change) = event else { continue };
            let kind = match &change {
                Change::Died { agent } => self.history.team_of(*agent).map(died),
                Change::ElevationEnded {
                    success: true,
                    participants,
                    level,
                    ..
                } => {
                    let team = participants
                        .first()
                        .and_then(|agent| self.history.team_of(*agent));
                    let risen = team.zip(level.next());
                    risen.map(|(team, level)| MarkKind::Rose { team, level })
                }
                Change::Won { team, .. } => Some(MarkKind::Won { team: *team }),
                _ => None,
            };
            self.history.note(game, &change);
            self.mark(game, kind);
        }
    }

    fn mark(&mut self, game: &Game, kind: Option<MarkKind>) {
        let (at, count) = (game.now(), 1);
        self.marks.extend(kind.map(|kind| Mark { at, count, kind }));
    }
}

/// Deadlines and records between two states that are kept, at least: what is played in a few milliseconds.
const INTERVAL_STEPS_MIN: u64 = 10_000;

/// Bytes of a state for each step until the next is kept. In the largest world a state has seven million bytes and a step
/// takes some microseconds, so that a jump plays a third of a second; and to capture the states takes no longer than to
/// play what is between them.
const STATE_BYTES_PER_STEP: u64 = 64;

/// A state that was kept, and the place in the journal where it was.
#[derive(Clone, Debug)]
struct KeptState {
    at: GameTime,
    track: Track,
    /// A snapshot as it is written.
    bytes: Vec<u8>,
    /// What happened until then.
    history: History,
}

impl KeptState {
    fn bytes(&self) -> usize {
        self.bytes.len() + self.history.bytes()
    }
}

/// The states of a piece that are kept while it is played once: so many that any moment is near one, and no more than there is
/// room for. Where they become too many, every second one goes, and the next come half as often.
#[derive(Debug)]
struct States {
    /// In order; the first is the beginning, and stays.
    kept: Vec<KeptState>,
    bytes: usize,
    bytes_max: usize,
    interval_steps: u64,
    steps_since: u64,
}

impl States {
    fn new(first: KeptState, bytes_max: usize) -> Self {
        let mut states = Self {
            kept: Vec::new(),
            bytes: 0,
            bytes_max,
            interval_steps: INTERVAL_STEPS_MIN,
            steps_since: 0,
        };
        states.keep(first);
        states
    }

    /// Notes that a deadline or a record was played. Returns whether to keep the state now.
    fn is_due_after_step(&mut self) -> bool {
        self.steps_since += 1;
        self.steps_since >= self.interval_steps
    }

    fn keep(&mut self, state: KeptState) {
        self.bytes += state.bytes();
        self.interval_steps = self
            .interval_steps
            .max(state.bytes.len() as u64 / STATE_BYTES_PER_STEP);
        self.steps_since = 0;
        self.kept.push(state);
        while self.bytes > self.bytes_max && self.kept.len() > 1 {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        if self.kept.len().is_multiple_of(2) {
            // The last one goes, and what is played is as far from the one before.
            self.steps_since += self.interval_steps;
        }
        self.kept = std::mem::take(&mut self.kept).into_iter().step_by(2).collect();
        self.bytes = self.kept.iter().map(KeptState::bytes).sum();
        self.interval_steps *= 2;
    }
}

#[cfg(test)]
mod tests {
    use trantor_model::{AgentId, MapSize};

    use super::*;
    use crate::config::Rules;
    use crate::journal::{Piece, PieceWriter};
    use trantor_model::AdminAction;

    fn game() -> Game {
        Game::new(GameConfig {
            size: MapSize::new(1, 1).unwrap(),
            teams: vec!["red".to_owned()],
            places_per_team: 1,
            seed: 0,
            rules: Rules::default(),
        })
    }

    fn state(at: u64, length: usize) -> KeptState {
        let game = game();
        let bytes = PieceWriter::new(&game, "test 0.0", 0).close(&game);
        KeptState {
            at: GameTime::from_units(at as i64),
            track: Track::new(&Piece::open(bytes).expect("it was written just now")),
            // The history is counted as well.
            bytes: vec![0; length.saturating_sub(History::of(&game).bytes())],
            history: History::of(&game),
        }
    }

    /// The steps at which states of so many bytes are kept, of a piece of so many steps.
    fn kept(length: usize, bytes_max: usize, steps: u64) -> Vec<u64> {
        let mut states = States::new(state(0, length), bytes_max);
        for step in 1..=steps {
            if states.is_due_after_step() {
                states.keep(state(step, length));
            }
        }
        states
            .kept
            .iter()
            .map(|state| state.at.whole_units() as u64)
            .collect()
    }

    #[test]
    fn a_jump_plays_little_however_large_the_world() {
        assert_eq!(kept(10, 1_000, 35_000), [0, 10_000, 20_000, 30_000]);
        let largest = kept(7_000_000, 1_000_000_000, 1_000_000);
        assert_eq!(largest.len(), 10, "{largest:?}");
    }

    #[test]
    fn states_take_no_more_room_than_there_is_and_stay_evenly_apart() {
        for states_max in 1..10 {
            for steps in [0, 9_999, 10_000, 200_000, 470_000] {
                let kept = kept(100, 100 * states_max, steps);
                assert!(kept.len() <= states_max, "{kept:?}");
                assert_eq!(kept[0], 0);
                let gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1] - pair[0]).collect();
                assert!(gaps.windows(2).all(|pair| pair[0] == pair[1]), "{kept:?}");
                let gap = gaps.first().copied().unwrap_or(steps);
                assert!(steps - kept[kept.len() - 1] <= gap, "{kept:?} of {steps}");
                let is_needed = 10_000.max(2 * steps / states_max as u64);
                assert!(states_max == 1 || gap <= is_needed, "{kept:?} of {steps}");
            }
        }
    }

    /// Otherwise a jump plays the whole piece. What happened before that state is known.
    #[test]
    fn a_jump_starts_from_a_state_that_is_near() {
        const RECORDS: i64 = 50_000;
        let mut game = game();
        let mut writer = PieceWriter::new(&game, "test", 0);
        let mut input = GameInput::Join { team: TeamId(0) };
        for at in (0..RECORDS).map(GameTime::from_units) {
            let _handled = game.handle(input.clone(), at);
            writer.input(&game, &input, at);
            input = GameInput::Admin(AdminAction::SetHunger { enabled: false });
        }
        let piece = IndexedPiece::new(writer.close(&game), 1 << 20).unwrap();
        let recording = Arc::new(Recording::join(vec![piece]).unwrap());
        for at in (0..RECORDS).step_by(777).map(GameTime::from_units) {
            let (_, state) = recording.last_state_until(at);
            assert!(state.at <= at && at - state.at <= trantor_time::GameSpan::from_units(10_000));
        }
        let (_, cursor) = recording.seek(recording.end()).unwrap();
        assert_eq!(cursor.history.team_of(AgentId(0)), Some(TeamId(0)));
    }
}
