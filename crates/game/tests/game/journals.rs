//! Journals: what was recorded plays again, whatever a crash or a forger does to the bytes.

use proptest::prelude::*;
use trantor_game::journal::{CutShort, Ending, Entry, Piece, Record};
use trantor_game::replay::{DivergenceKind, Verified};
use trantor_game::{
    AdminAction, Game, GameConfig, GameInput, Handled, JournalError, Part, PieceWriter, Replay, Snapshot,
};
use trantor_model::{AgentId, Command, Resource, TeamId, Turn};
use trantor_time::GameTime;

use crate::arena::{config, units};
use crate::random::{Step, any_config, any_steps};

/// A game and the journal kept of it.
pub(crate) struct Recorded {
    pub(crate) game: Game,
    writer: PieceWriter,
    /// The piece being written, as far as it was taken.
    bytes: Vec<u8>,
}

impl Recorded {
    pub(crate) fn new(config: GameConfig) -> Self {
        let game = Game::new(config);
        let writer = PieceWriter::new(&game, "test 0.0", 0);
        Self {
            game,
            writer,
            bytes: Vec::new(),
        }
    }

    pub(crate) fn input(&mut self, input: GameInput) -> Handled {
        let now = self.game.now();
        let handled = self.game.handle(input.clone(), now);
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

/// Makes every checksum fit again, as a forger would.
fn forge(bytes: &mut [u8]) {
    let begins = frames(bytes);
    // The snapshot, in the second frame, has one of its own.
    let snapshot = begins[1] + 8;
    let checksum = crc32fast::hash(&bytes[snapshot + 14..begins[2]]);
    bytes[snapshot + 10..snapshot + 14].copy_from_slice(&checksum.to_le_bytes());
    let mut before = 0;
    for frame in begins.windows(2) {
        let mut hasher = crc32fast::Hasher::new_with_initial(before);
        hasher.update(&bytes[frame[0] + 8..frame[1]]);
        before = hasher.finalize();
        bytes[frame[0] + 4..frame[0] + 8].copy_from_slice(&before.to_le_bytes());
    }
}

/// The same journal, but the first turn to the left of an agent is one to the right.
pub(crate) fn with_another_turn(bytes: &[u8]) -> Vec<u8> {
    let mut forged = bytes.to_vec();
    let frame = frames(&forged)[2];
    // steps since, nanounits since, Input, Command, agent, Turn, Left
    let turn = forged[frame..]
        .windows(5)
        .position(|bytes| bytes == [0, 2, 0, 1, 1]);
    forged[frame + turn.expect("the agent turns") + 4] = 0;
    forge(&mut forged);
    forged
}

/// Two agents that turn for ever, so long that several digests are due.
pub(crate) fn long_game() -> Recorded {
    let mut recorded = Recorded::new(config(3, 3));
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
        let mut recorded = Recorded::new(config);
        let mut pieces = Vec::new();
        for (number, steps) in (1..).zip(&parts) {
            for step in steps {
                recorded.play(step);
            }
            pieces.push(recorded.next_piece(number));
        }
        pieces.push(recorded.close().0);
        for pair in pieces.windows(2) {
            let next = Piece::open(&pair[1][..]).unwrap().snapshot().unwrap();
            prop_assert_eq!(verify(&pair[0]).check_seam(&next), Ok(()));
        }
        for (number, piece) in (0..).zip(&pieces) {
            let is_last = number as usize + 1 == pieces.len();
            let ending = if is_last { Ending::Closed } else { Ending::Continued };
            prop_assert_eq!(verify(piece).ending, ending);
            prop_assert_eq!(Piece::open(&piece[..]).unwrap().head().number, number);
        }
    }

    /// Cut anywhere: whole frames are played, and the end is known to the byte.
    #[test]
    fn a_torn_journal_plays_to_its_last_whole_record(
        config in any_config(),
        steps in any_steps(60),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut recorded = Recorded::new(config);
        for step in &steps {
            recorded.play(step);
            recorded.take();
        }
        let (bytes, _) = recorded.close();
        let (all, _) = entries(&bytes);
        let cut = cut.index(bytes.len());
        let begins = frames(&bytes);
        let whole_bytes = *begins.iter().rfind(|&&begin| begin <= cut).unwrap_or(&0);
        match Replay::open(&bytes[..cut]) {
            Err(error) => {
                prop_assert!(cut < begins[2], "the head was whole: {}", error);
                prop_assert!(error.is_of_begun(), "{} at byte {}", error, cut);
            }
            Ok(replay) => {
                let verified = replay.verify().expect("nothing is different");
                let why = if whole_bytes == cut { CutShort::Nothing } else { CutShort::Torn };
                prop_assert_eq!(verified.ending, Ending::CutOff { whole_bytes, why });
                let (read, _) = entries(&bytes[..cut]);
                prop_assert_eq!(verified.played.records, read.len() as u64);
                prop_assert!(all.starts_with(&read));
            }
        }
    }

    /// Damage is noticed: what is read is what was written, up to where it is not.
    #[test]
    fn a_damaged_journal_plays_to_the_damage(
        config in any_config(),
        steps in any_steps(60),
        place in any::<prop::sample::Index>(),
        flip in 1..=255u8,
    ) {
        let mut recorded = Recorded::new(config);
        for step in &steps {
            recorded.play(step);
            recorded.take();
        }
        let (mut bytes, _) = recorded.close();
        let (all, _) = entries(&bytes);
        let begins = frames(&bytes);
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        match Replay::open(&bytes[..]) {
            Err(_) => prop_assert!(place < begins[2]),
            Ok(replay) => {
                prop_assert!(replay.verify().is_ok());
                let (read, ending) = entries(&bytes);
                prop_assert!(all.starts_with(&read) && read.len() < all.len());
                let Some(Ending::CutOff { whole_bytes, .. }) = ending else { panic!("{ending:?}") };
                prop_assert_eq!(whole_bytes, *begins.iter().rfind(|&&begin| begin <= place).unwrap());
            }
        }
    }

    /// Whatever a forger writes, with checksums that fit: it is refused, or diverges, or plays.
    #[test]
    fn a_forged_journal_does_no_harm(
        config in any_config(),
        steps in any_steps(60),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut recorded = Recorded::new(config);
        for step in &steps {
            recorded.play(step);
        }
        let (mut bytes, _) = recorded.close();
        let begins = frames(&bytes);
        for (place, value) in damage {
            let place = 10 + place.index(bytes.len() - 10);
            let is_header = begins.iter().any(|begin| (*begin..begin + 8).contains(&place));
            if !is_header {
                bytes[place] = value;
            }
        }
        forge(&mut bytes);
        if let Ok(replay) = Replay::open(&bytes[..]) {
            let _ = replay.verify();
        }
    }

    /// No bytes at all make the reader panic.
    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), with_magic: bool) {
        let magic = if with_magic { b"TRANTORJ\x03\x00".as_slice() } else { b"" };
        let bytes = [magic, &bytes].concat();
        prop_assert!(Replay::open(&bytes[..]).is_err());
        prop_assert!(Snapshot::decode(&bytes).is_err());
    }
}

/// The same on every machine. If this fails, old journals no longer replay: raise `JOURNAL_VERSION`, and say in
/// `docs/replay-format.md` what became of them.
#[test]
fn a_known_game_has_its_known_journal() {
    let (bytes, game) = long_game().close();
    assert_eq!(
        (bytes.len(), crc32fast::hash(&bytes), game.digest()),
        (25_509, 2_341_992_605, 2_294_161_369_749_719_380)
    );
}

#[test]
fn the_first_record_that_differs_is_named_with_what_differs() {
    let (bytes, game) = long_game().close();
    let verified = verify(&bytes);
    assert!(verified.played.digests >= 3, "{:?}", verified.played);
    assert_eq!(verified.end.steps, game.steps());

    // A turn to the left becomes one to the right, early in the game.
    let (all, _) = entries(&bytes);
    let digests = (0..)
        .zip(&all)
        .filter(|(_, entry)| matches!(entry.record, Record::Digest(_)));
    let first_digest: u64 = digests.map(|(index, _)| index).next().expect("there are some");
    let forged = with_another_turn(&bytes);
    let divergence = Replay::open(&forged[..]).unwrap().verify().unwrap_err();
    assert_eq!(
        (divergence.record, divergence.stamp),
        (first_digest, all[first_digest as usize].stamp)
    );
    let DivergenceKind::Digest {
        recorded,
        replayed,
        parts,
    } = &divergence.kind
    else {
        panic!("{divergence}")
    };
    assert_ne!(recorded, replayed);
    assert_eq!(parts, &[Part::Agents], "it faces elsewhere, and that is all");
    assert!(
        divergence.to_string().contains(&format!("{recorded:016x}")),
        "{divergence}"
    );
}

#[test]
fn records_out_of_order_are_noticed() {
    let (bytes, _) = long_game().close();
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
        let damaged = with_order(&changed);
        let ending = Ending::CutOff {
            whole_bytes: begins[at],
            why: CutShort::Checksum,
        };
        assert_eq!(entries(&damaged).1, Some(ending));
        // Even with checksums made to fit, the game is another one, except where equal records were exchanged.
        let mut forged = damaged;
        forge(&mut forged);
        let is_same = entries(&forged).0 == entries(&bytes).0;
        assert_eq!(
            Replay::open(&forged[..]).map(|replay| replay.verify().is_ok()),
            Ok(is_same)
        );
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

#[test]
fn a_seam_that_does_not_fit_is_described() {
    let (bytes, _) = long_game().close();
    let verified = verify(&bytes);
    let other = Game::new(config(3, 3)).snapshot();
    let divergence = verified.check_seam(&other).unwrap_err();
    let DivergenceKind::Seam { differences } = divergence.kind else {
        panic!()
    };
    assert!(
        differences.iter().any(|line| line.starts_with("agent 0")),
        "{differences:#?}"
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
