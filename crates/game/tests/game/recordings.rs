//! Recordings of several pieces: any moment is had again, and what happened is marked.

use std::sync::Arc;

use proptest::prelude::*;
use trantor_game::journal::CutShort;
use trantor_game::replay::{IndexedPiece, Recording, RecordingEnd, RecordingError};
use trantor_game::{Game, GameInput, PaceChange, Replay};
use trantor_model::{AdminAction, Command, LeaveCause, Mark, MarkKind, TeamId};
use trantor_time::{Frequency, GameTime};

use crate::arena::{config, level, units};
use crate::journals::{Recorded, long_game};
use crate::random::{any_config, any_steps};

fn index(pieces: &[Vec<u8>]) -> Vec<IndexedPiece> {
    pieces
        .iter()
        .map(|piece| IndexedPiece::new(&piece[..], 0).expect("a piece"))
        .collect()
}

fn join(pieces: &[Vec<u8>]) -> Arc<Recording> {
    Arc::new(Recording::join(index(pieces)).expect("they follow each other"))
}

/// The game at a moment, by playing the pieces from their beginning.
fn played_to(pieces: &[Vec<u8>], at: GameTime) -> Game {
    let mut replays = pieces
        .iter()
        .map(|piece| Replay::open(&piece[..]).expect("a piece"));
    let mut replay = replays
        .rfind(|replay| replay.game.now() <= at)
        .expect("not before the beginning");
    replay.run_to(at).expect("it is what was");
    replay.game.clone()
}

/// Plays on from a moment to the end, one thing at a time.
fn play_out(recording: &Arc<Recording>, from: GameTime) -> Game {
    let (mut game, mut cursor) = recording.seek(from).expect("it is what was");
    while let Some(next) = cursor.next_time(&game) {
        assert!(next >= game.now(), "time does not go back");
        cursor
            .step(&mut game, next)
            .expect("it is what was")
            .expect("something is due");
        while game.poll_event().is_some() {}
    }
    game
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any moment of a recording in pieces is what playing from the beginning gives, and the end can be reached from it.
    #[test]
    fn any_moment_can_be_jumped_to(
        config in any_config(),
        parts in prop::collection::vec(any_steps(40), 1..5),
        moments in prop::collection::vec(0u32..=1_000, 1..8),
    ) {
        let (pieces, game) = Recorded::in_pieces(config, &parts);
        let recording = join(&pieces);
        prop_assert_eq!(recording.ends(), &RecordingEnd::Closed);
        prop_assert_eq!(recording.end(), game.now());
        for moment in moments {
            let at = GameTime::from_nanounits(recording.end().as_nanounits() * i128::from(moment) / 1_000);
            let (jumped, _) = recording.seek(at).unwrap();
            prop_assert_eq!(jumped.snapshot(), played_to(&pieces, at).snapshot(), "at {:?}", at);
            prop_assert_eq!(play_out(&recording, at).digest(), game.digest());
        }
    }
}

#[test]
fn states_are_kept_on_the_way_and_jumps_start_from_them() {
    let (bytes, game) = long_game(Recorded::new(config(3, 3))).close();
    let steps = game.steps();
    let pieces = [bytes];
    let recording = join(&pieces);
    let kept = recording.states_kept() as u64;
    assert!(kept > steps / 20_000, "{kept} for {steps} deadlines");
    for at in [0, 1, 3_333, 7_000, 11_199, 11_200, 1_000_000] {
        let (jumped, _) = recording.seek(units(at)).unwrap();
        let at = units(at).min(recording.end());
        assert_eq!(jumped.now(), at);
        assert_eq!(jumped.snapshot(), played_to(&pieces, at).snapshot());
    }
}

#[test]
fn deaths_elevations_speeds_and_the_victory_are_marked() {
    let mut recorded = Recorded::new(config(3, 3));
    let pace = |hertz| GameInput::Pace(PaceChange::Frequency(Frequency::new(hertz).expect("a speed")));
    let _ = recorded.input(pace(100));
    let red = recorded.join(0);
    let blue = recorded.join(1);
    let tile = recorded.game.world().agent(red).expect("it lives").tile;
    let ground = trantor_model::Counts([1; 7]);
    let _ = recorded.input(GameInput::Admin(AdminAction::SetGround { tile, ground }));
    recorded.run_to(units(5));
    let command = Command::Incantation;
    let _ = recorded.input(GameInput::Command { agent: red, command });
    let _ = recorded.input(pace(200));
    recorded.run_to(units(400));
    let _ = recorded.input(GameInput::Admin(AdminAction::Kill { agent: blue }));
    let first = recorded.next_piece(1);
    // A piece says its speed again.
    let _ = recorded.input(pace(200));
    recorded.run_to(units(500));
    let _ = recorded.input(GameInput::Pace(PaceChange::Paused));
    let _ = recorded.input(GameInput::Pace(PaceChange::Stepped));
    let _ = recorded.input(GameInput::Pace(PaceChange::Resumed));
    let _ = recorded.input(GameInput::Admin(AdminAction::EndMatch));
    let recording = join(&[first, recorded.close().0]);

    let speed = |hertz| {
        let frequency = Frequency::new(hertz).expect("a speed");
        MarkKind::Speed { frequency }
    };
    let mark = |at, kind| {
        let (at, count) = (units(at), 1);
        Mark { at, count, kind }
    };
    let [red, blue] = [TeamId(0), TeamId(1)];
    let expected = [
        mark(0, speed(100)),
        mark(5, speed(200)),
        mark(
            305,
            MarkKind::Rose {
                team: red,
                level: level(2),
            },
        ),
        mark(400, MarkKind::Died { team: blue }),
        mark(500, MarkKind::Paused),
        mark(500, MarkKind::Resumed),
        mark(500, MarkKind::Won { team: red }),
    ];
    assert_eq!(recording.marks(), expected);
    let hertz = |at| recording.speed_at(units(at)).map(Frequency::get);
    assert_eq!(
        [hertz(0), hertz(4), hertz(5), hertz(9_999)],
        [Some(100), Some(100), Some(200), Some(200)]
    );
}

/// Agents are disconnected in the instant in which the match ends: the end must still show the winners.
#[test]
fn a_recording_ends_with_the_victory() {
    let mut recorded = Recorded::new(config(3, 3));
    let red = recorded.join(0);
    recorded.run_to(units(100));
    let first = recorded.next_piece(1);
    recorded.run_to(units(150));
    let _ = recorded.input(GameInput::Admin(AdminAction::EndMatch));
    let won = recorded.game.snapshot();
    let _ = recorded.input(GameInput::Leave {
        agent: red,
        cause: LeaveCause::Dismissed,
    });
    let second = recorded.next_piece(2);
    recorded.run_to(units(900));
    let _ = recorded.input(GameInput::Pace(PaceChange::Paused));
    let recording = join(&[first, second, recorded.close().0]);
    assert_eq!(recording.end(), units(150));
    assert_eq!(recording.marks().last().map(|mark| mark.at), Some(units(150)));
    for at in [0, 100, 150, 900] {
        let game = play_out(&recording, units(at));
        assert_eq!(game.snapshot(), won, "from {at}");
    }
    let (jumped, cursor) = recording.seek(units(900)).expect("it is what was");
    assert_eq!((jumped.snapshot(), cursor.next_time(&jumped)), (won, None));
}

/// What happened after a victory is shown only if there is nothing else.
#[test]
fn a_recording_that_begins_after_the_victory_is_shown() {
    let mut recorded = Recorded::new(config(3, 3));
    recorded.run_to(units(100));
    let _ = recorded.input(GameInput::Admin(AdminAction::EndMatch));
    recorded.next_piece(1);
    recorded.run_to(units(300));
    let recording = join(&[recorded.close().0]);
    assert_eq!((recording.begin(), recording.end()), (units(100), units(300)));
}

#[test]
fn pieces_that_do_not_follow_each_other_are_refused() {
    let mut recorded = Recorded::new(config(3, 3));
    let mut pieces = Vec::new();
    for number in 1..4 {
        recorded.join(0);
        recorded.run_to(units(100 * i64::from(number)));
        pieces.push(recorded.next_piece(number));
    }
    let refused = |pieces: &[Vec<u8>]| Recording::join(index(pieces)).expect_err("they do not fit");
    assert_eq!(refused(&[]), RecordingError::Nothing);
    let [one, two, three] = &pieces[..] else {
        unreachable!()
    };
    let gap = RecordingError::Gap { first: 0, second: 2 };
    assert_eq!(refused(&[one.clone(), three.clone()]), gap);
    let torn = one[..one.len() - 3].to_vec();
    assert_eq!(refused(&[torn.clone(), two.clone()]), RecordingError::CutOff(0));
    let mut other = Recorded::new(config(4, 3));
    other.next_piece(1);
    let other = other.next_piece(2);
    assert_eq!(refused(&[one.clone(), other]), RecordingError::Seam(1));

    // Alone, what was written whole of a torn one can be shown; and a recording may begin in the middle.
    assert_eq!(join(&[torn]).ends(), &RecordingEnd::CutOff(CutShort::Torn));
    let middle = join(&pieces[1..]);
    assert_eq!((middle.begin(), middle.end()), (units(100), units(300)));
    assert_eq!(middle.seek(units(0)).unwrap().0.now(), units(100));
}

/// The state is compared a while after the last thing happened, and is another one: what can be shown ends with that thing.
#[test]
fn a_recording_that_differs_can_be_shown_to_its_end() {
    let mut recorded = Recorded::with_false_journal(config(3, 3));
    let agent = recorded.join(0);
    recorded.turns_left(agent, 10);
    recorded.run_to(units(100));
    let recording = join(&[recorded.close().0]);
    assert!(matches!(recording.ends(), RecordingEnd::Different(_)));
    assert_eq!(recording.end(), units(70));
    for at in [0, 69, 70, 100, 1_000] {
        let game = play_out(&recording, units(at));
        assert_eq!((game.now(), game.steps()), (units(70), 10), "from {at}");
    }
}
