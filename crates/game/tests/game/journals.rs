//! Journals: what was recorded plays again, whatever a crash or a forger does to the bytes.

use proptest::prelude::*;
use trantor_game::journal::{CutShort, Ending, Entry, Piece, Record};
use trantor_game::replay::{DivergenceKind, Verified};
use trantor_game::{Game, GameConfig, GameInput, Handled, JournalError, Part, PieceWriter, Replay};
use trantor_model::{AdminAction, AgentId, Command, Resource, TeamId, Turn};
use trantor_time::GameTime;

use crate::arena::{config, units};
use crate::random::{Step, any_config, any_steps};

/// A game and the journal kept of it.
pub(crate) struct Recorded {
    pub(crate) game: Game,
    writer: PieceWriter,
    /// The piece being written, as far as it was taken.
    bytes: Vec<u8>,
    /// The first turn to the left is written down as one to the right.
    is_false: bool,
}

impl Recorded {
    pub(crate) fn new(config: GameConfig) -> Self {
        let game = Game::new(config);
        let writer = PieceWriter::new(&game, "test 0.0", 0);
        Self {
            game,
            writer,
            bytes: Vec::new(),
            is_false: false,
        }
    }

    /// One whose journal is not that of the game.
    pub(crate) fn with_false_journal(config: GameConfig) -> Self {
        Self {
            is_false: true,
            ..Self::new(config)
        }
    }

    pub(crate) fn input(&mut self, mut input: GameInput) -> Handled {
        let now = self.game.now();
        let handled = self.game.handle(input.clone(), now);
        if let GameInput::Command { command, .. } = &mut input
            && *command == Command::Turn(Turn::Left)
            && std::mem::take(&mut self.is_false)
        {
            *command = Command::Turn(Turn::Right);
        }
        if !matches!(handled, Handled::Refused(_)) {
            self.writer.input(&self.game, &input, now);
        }
        handled
    }

    pub(crate) fn join(&mut self, team: u16) -> AgentId {
        match self.input(GameInput::Join { team: TeamId(team) }) {
            Handled::Joined(agent) => agent,
            other => panic!("no place: {other:?}"),
        }
    }

    pub(crate) fn turns_left(&mut self, agent: AgentId, times: usize) {
        for _ in 0..times {
            let command = Command::Turn(Turn::Left);
            let _ = self.input(GameInput::Command { agent, command });
        }
    }

    pub(crate) fn run_to(&mut self, until: GameTime) {
        while self.game.fire_next(until).is_some() {
            self.writer.stepped(&self.game);
        }
        self.game.advance_to(until);
    }

    pub(crate) fn play(&mut self, step: &Step) {
        let writer = &mut self.writer;
        step.play(&mut self.game, |game, input| match input {
            Some((_, Handled::Refused(_))) => {}
            Some((input, _)) => writer.input(game, input, game.now()),
            None => writer.stepped(game),
        });
    }

    /// Ends the piece and begins the next; answers the bytes of the one that ended.
    pub(crate) fn next_piece(&mut self, number: u32) -> Vec<u8> {
        self.bytes
            .extend(self.writer.follow(&self.game, "test 0.0", number));
        std::mem::take(&mut self.bytes)
    }

    fn take(&mut self) {
        self.bytes.extend(self.writer.take());
    }

    /// A game in so many pieces, and its end.
    pub(crate) fn in_pieces(config: GameConfig, parts: &[Vec<Step>]) -> (Vec<Vec<u8>>, Game) {
        let mut recorded = Self::new(config);
        let mut pieces = Vec::new();
        for (number, steps) in (1..).zip(parts) {
            steps.iter().for_each(|step| recorded.play(step));
            pieces.push(recorded.next_piece(number));
        }
        let (last, game) = recorded.close();
        pieces.push(last);
        (pieces, game)
    }

    pub(crate) fn close(mut self) -> (Vec<u8>, Game) {
        self.bytes.extend(self.writer.close(&self.game));
        (self.bytes, self.game)
    }
}

#[test]
fn a_piece_that_follows_is_like_one_that_is_begun() {
    let mut recorded = Recorded::new(config(4, 4));
    recorded.join(0);
    recorded.run_to(units(500));
    let game = &recorded.game;
    let [mut one, closed] = [(); 2].map(|()| PieceWriter::new(game, "test 0.0", 0));
    let last_of = |bytes: &[u8]| entries(bytes).0.pop().map(|entry| (entry.stamp, entry.record));
    let (stamp, record) = last_of(&one.follow(game, "test 0.0", 1)).unwrap();
    let Record::PieceEnd(digest) = record else {
        panic!("{record:?}")
    };
    assert_eq!(last_of(&closed.close(game)), Some((stamp, Record::End(digest))));
    assert_eq!(one.take(), PieceWriter::new(game, "test 0.0", 1).take());
}

fn verify(bytes: &[u8]) -> Verified {
    Replay::open(bytes)
        .expect("it is a journal")
        .verify()
        .expect("it is what was")
}

fn entries(bytes: &[u8]) -> (Vec<Entry>, Option<Ending>) {
    let Ok(piece) = Piece::open(bytes) else {
        return (Vec::new(), None);
    };
    let mut entries = piece.entries();
    let read = entries.by_ref().collect();
    (read, entries.ending())
}

/// Where each frame of a piece begins, the first after magic and version, and where the last ends.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let mut begins = vec![10];
    let mut at = 10;
    while at < bytes.len() {
        let length = bytes[at..at + 4]
            .iter()
            .rev()
            .fold(0, |length, &byte| length << 8 | usize::from(byte));
        at += 8 + length;
        begins.push(at);
    }
    begins
}

/// Two agents that turn for ever, so long that several digests are due.
pub(crate) fn long_game(mut recorded: Recorded) -> Recorded {
    let agents = [0, 1].map(|team| recorded.join(team));
    for round in 1..=160 {
        for agent in agents {
            recorded.turns_left(agent, 10);
        }
        recorded.run_to(units(round * 70));
        for agent in agents.into_iter().filter(|_| round % 16 == 0) {
            let action = AdminAction::SetInventory {
                agent,
                resource: Resource::Food,
                count: 10,
            };
            let _ = recorded.input(GameInput::Admin(action));
        }
        recorded.take();
    }
    recorded
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_replay_is_the_game(config in any_config(), steps in any_steps(100), takes in any::<u64>()) {
        let mut recorded = Recorded::new(config);
        for (index, step) in steps.iter().enumerate() {
            recorded.play(step);
            if takes >> (index % 64) & 1 == 1 {
                recorded.take();
            }
        }
        let (bytes, game) = recorded.close();
        let verified = verify(&bytes);
        prop_assert_eq!(verified.ending, Ending::Closed);
        prop_assert_eq!(verified.game.snapshot(), game.snapshot());
    }

    /// Whatever was sent happened before: a journal that is cut off where something was sent plays as far.
    #[test]
    fn a_journal_that_is_cut_off_plays_as_far_as_the_game_had_come(config in any_config(), steps in any_steps(60)) {
        let mut recorded = Recorded::new(config);
        for step in &steps {
            recorded.play(step);
            recorded.writer.progress(&recorded.game);
            recorded.take();
            let verified = verify(&recorded.bytes);
            prop_assert!(!verified.ending.is_in_order());
            let mut replayed = verified.game;
            replayed.advance_to(recorded.game.now());
            prop_assert_eq!(replayed.digest(), recorded.game.digest());
            let length = recorded.bytes.len();
            recorded.writer.progress(&recorded.game);
            recorded.take();
            prop_assert_eq!(recorded.bytes.len(), length, "nothing has happened since");
        }
    }

    /// A journal in pieces: each can be played alone, and each begins where the one before ends.
    #[test]
    fn any_piece_can_be_played_alone(config in any_config(), parts in prop::collection::vec(any_steps(30), 1..5)) {
        let (pieces, _) = Recorded::in_pieces(config, &parts);
        for pair in pieces.windows(2) {
            let next = Piece::open(&pair[1][..]).unwrap().snapshot().unwrap();
            prop_assert_eq!(verify(&pair[0]).game.snapshot(), next);
        }
        for (number, piece) in (0..).zip(&pieces) {
            let is_last = number as usize + 1 == pieces.len();
            let ending = if is_last { Ending::Closed } else { Ending::Continued };
            prop_assert_eq!(verify(piece).ending, ending);
            prop_assert_eq!(Piece::open(&piece[..]).unwrap().head().number, number);
        }
    }

    /// Cut or damaged anywhere: what is read is what was written, up to the frame that is not whole, which is known to the byte.
    #[test]
    fn a_torn_or_damaged_journal_plays_to_its_last_whole_record(
        config in any_config(),
        steps in any_steps(60),
        place in any::<prop::sample::Index>(),
        damage in prop::option::of(1..=255u8),
    ) {
        let mut recorded = Recorded::new(config);
        for step in &steps {
            recorded.play(step);
            recorded.take();
        }
        let (mut bytes, _) = recorded.close();
        let (all, begins) = (entries(&bytes).0, frames(&bytes));
        let place = place.index(bytes.len());
        match damage {
            None => bytes.truncate(place),
            Some(flip) => bytes[place] ^= flip,
        }
        let last_whole = *begins.iter().rfind(|&&begin| begin <= place).unwrap_or(&0);
        match Replay::open(&bytes[..]) {
            Err(error) => {
                prop_assert!(place < begins[2], "the head was whole: {}", error);
                prop_assert!(damage.is_some() || error.is_of_begun(), "{} at byte {}", error, place);
            }
            Ok(replay) => {
                let verified = replay.verify().expect("nothing is different");
                let Ending::CutOff { whole_bytes, why } = verified.ending else { panic!("{:?}", verified.ending) };
                prop_assert_eq!(whole_bytes, last_whole);
                if damage.is_none() {
                    let expected = if whole_bytes == place { CutShort::Nothing } else { CutShort::Torn };
                    prop_assert_eq!(why, expected);
                }
                let (read, _) = entries(&bytes);
                prop_assert_eq!(verified.played.records, read.len() as u64);
                prop_assert!(all.starts_with(&read) && read.len() < all.len());
            }
        }
    }
}

/// The same on every machine. If this fails, old journals no longer replay: raise `JOURNAL_VERSION`, and say in
/// `docs/replay-format.md` what became of them.
#[test]
fn a_known_game_has_its_known_journal() {
    let (bytes, game) = long_game(Recorded::new(config(3, 3))).close();
    assert_eq!(
        (bytes.len(), crc32fast::hash(&bytes), game.digest()),
        (25_622, 729_151_754, 2_294_161_369_749_719_380)
    );
}

#[test]
fn the_first_record_that_differs_is_named_with_what_differs() {
    let (bytes, game) = long_game(Recorded::new(config(3, 3))).close();
    let verified = verify(&bytes);
    assert!(verified.played.digests >= 3, "{:?}", verified.played);
    assert_eq!(verified.end.steps, game.steps());
    let (bytes, _) = long_game(Recorded::with_false_journal(config(3, 3))).close();
    let (all, _) = entries(&bytes);
    let is_digest = |entry: &Entry| matches!(entry.record, Record::Digest(_));
    let first_digest = all.iter().position(is_digest).expect("there are some");
    let divergence = Replay::open(bytes).unwrap().verify().unwrap_err();
    let place = (divergence.record as usize, divergence.stamp);
    assert_eq!(place, (first_digest, all[first_digest].stamp));
    let DivergenceKind::Digest { recorded, parts, .. } = &divergence.kind else {
        panic!("{divergence}")
    };
    assert_eq!(parts, &[Part::Agents], "it faces elsewhere, and that is all");
    let shown = divergence.to_string();
    assert!(shown.contains(&format!("{recorded:016x}")), "{shown}");
}

#[test]
fn records_out_of_order_are_noticed() {
    let (bytes, _) = long_game(Recorded::new(config(3, 3))).close();
    let begins = frames(&bytes);
    let with_order = |order: &[usize]| {
        let frames = order
            .iter()
            .map(|&index| &bytes[begins[index]..begins[index + 1]]);
        [&bytes[..10], &frames.collect::<Vec<_>>().concat()].concat()
    };
    let order: Vec<usize> = (0..begins.len() - 1).collect();
    let mut exchanged = order.clone();
    exchanged.swap(5, 9);
    let mut one_missing = order.clone();
    one_missing.remove(7);
    let mut one_twice = order.clone();
    one_twice.insert(8, 7);
    for (changed, at) in [(exchanged, 5), (one_missing, 7), (one_twice, 8)] {
        let (whole_bytes, why) = (begins[at], CutShort::Checksum);
        let ending = entries(&with_order(&changed)).1;
        assert_eq!(ending, Some(Ending::CutOff { whole_bytes, why }));
    }
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let (bytes, _) = Recorded::new(config(3, 3)).close();
    let refused = |bytes: &[u8]| Replay::open(bytes).expect_err("it does not fit");
    assert_eq!(refused(b"{}"), JournalError::NotAJournal);
    let mut other = bytes.clone();
    other[8] = 9;
    assert_eq!(refused(&other), JournalError::Version { found: 9 });
    assert_eq!(refused(&bytes[..25]), JournalError::Head(CutShort::Torn));
    assert_eq!(
        refused(&bytes[..frames(&bytes)[1]]),
        JournalError::Head(CutShort::Nothing)
    );
    let head = Piece::open(&bytes[..]).unwrap().head().clone();
    assert_eq!(
        (head.program.as_str(), head.number, head.begin.steps),
        ("test 0.0", 0, 0)
    );
}

/// What a record claims to lie before it is played only as far as a writer goes without a digest.
#[test]
fn a_record_too_many_deadlines_after_the_last_digest_is_refused() {
    const MOST: u64 = 1_000;
    for claimed in [MOST, MOST + 1] {
        let mut recorded = Recorded::new(config(10, 10));
        let agent = recorded.join(0);
        let hunger = GameInput::Admin(AdminAction::SetHunger { enabled: false });
        assert_eq!(recorded.input(hunger), Handled::Done);
        while recorded.game.steps() < claimed {
            recorded.turns_left(agent, 1);
            // The writer is not asked for a digest.
            let deadline = recorded.game.next_deadline().expect("the agent turns");
            recorded.game.fire_next(deadline);
        }
        let (bytes, _) = recorded.close();
        let played = Replay::open(bytes).expect("it is a piece").verify();
        let refused = played.err().map(|divergence| divergence.kind);
        let expected = (claimed > MOST).then_some(DivergenceKind::NoDigest { most: MOST });
        assert_eq!(refused, expected);
    }
}
