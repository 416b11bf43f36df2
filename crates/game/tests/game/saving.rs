//! Snapshots: what is restored goes on exactly as the original, and no bytes do any harm.

use proptest::prelude::*;
use trantor_game::journal::Piece;
use trantor_game::replay::Track;
use trantor_game::{Game, GameEvent, SaveError, Snapshot};
use trantor_model::{AgentId, Command, Direction, Resource};
use trantor_time::{GameSpan, GameTime};

use crate::arena::{Arena, config, units};
use crate::journals::long_game;
use crate::random::{Step, any_config, any_steps, input_of};

/// Carries a step out one deadline at a time; `between` is called after each.
pub(crate) fn play(game: &mut Game, step: &Step, mut between: impl FnMut(&mut Game)) {
    match *step {
        Step::Wait(nanounits) => {
            let until = game.now() + GameSpan::from_nanounits(i128::from(nanounits));
            while game.fire_next(until).is_some() {
                between(game);
            }
            game.advance_to(until);
        }
        Step::Fire(count) => {
            for _ in 0..count {
                let Some(next) = game.next_deadline() else { return };
                game.fire_next(next);
                between(game);
            }
        }
        _ => {
            if let Some(input) = input_of(step, game) {
                let _ = game.handle(input, game.now());
                between(game);
            }
        }
    }
}

fn restored(game: &Game) -> Game {
    let bytes = game.snapshot().encode();
    let snapshot = Snapshot::decode(&bytes).expect("it was just written");
    Game::restore(snapshot).expect("it was just taken")
}

fn told(game: &mut Game) -> Vec<GameEvent> {
    std::iter::from_fn(|| game.poll_event()).collect()
}

/// A game of 11,200 units, saved and continued after every single deadline and input: the same digest each time.
#[test]
fn a_long_game_is_saved_and_continued_at_every_deadline() {
    let (journal, original) = long_game().close();
    let piece = Piece::open(&journal[..]).unwrap();
    let whole_game = GameTime::from_nanounits(i128::MAX);
    let mut saved = Game::restore(piece.snapshot().unwrap()).unwrap();
    let mut continued = saved.clone();
    let (mut track, mut same_track) = (Track::new(&piece), Track::new(&piece));
    let mut compared = 0;
    while track.step(&mut saved, whole_game).unwrap().is_some() {
        same_track.step(&mut continued, whole_game).unwrap();
        assert_eq!(told(&mut saved), told(&mut continued));
        saved = restored(&saved);
        assert_eq!(
            saved.digest(),
            continued.digest(),
            "after {} deadlines",
            saved.steps()
        );
        compared += 1;
    }
    assert!(
        compared > original.steps() && original.steps() > 3_000,
        "{compared}"
    );
    assert_eq!(saved.digest(), original.digest());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// One game goes through a snapshot after every single deadline and input, the other never does.
    #[test]
    fn save_and_continue_equals_continue(config in any_config(), steps in any_steps(80)) {
        let mut original = Game::new(config.clone());
        let mut saved = Game::new(config);
        for step in &steps {
            let (mut digests, mut digests_saved) = (Vec::new(), Vec::new());
            let (mut events, mut events_saved) = (Vec::new(), Vec::new());
            play(&mut original, step, |game| {
                digests.push(game.digest());
                events.extend(told(game));
            });
            play(&mut saved, step, |game| {
                events_saved.extend(told(game));
                *game = restored(game);
                digests_saved.push(game.digest());
            });
            prop_assert_eq!(digests, digests_saved);
            prop_assert_eq!(events, events_saved);
            prop_assert_eq!(original.snapshot().differences(&saved.snapshot(), 10), Vec::<String>::new());
        }
    }

    /// Whatever bytes a snapshot consists of: it is refused, or it is a game that can be played.
    #[test]
    fn damaged_snapshots_are_refused_or_play(
        config in any_config(),
        steps in any_steps(60),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut game = Game::new(config);
        for step in &steps {
            play(&mut game, step, |_| {});
        }
        let mut bytes = game.snapshot().encode();
        for (place, value) in damage {
            let place = 14 + place.index(bytes.len() - 14);
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(14 + cut.index(bytes.len() - 14));
        }
        // The checksum would refuse most of it; a forger writes a right one.
        let checksum = crc32fast::hash(&bytes[14..]).to_le_bytes();
        bytes[10..14].copy_from_slice(&checksum);
        let Ok(mut game) = Snapshot::decode(&bytes).and_then(Game::restore) else { return Ok(()) };
        for step in &steps {
            play(&mut game, step, |game| while game.poll_event().is_some() {});
        }
    }
}

/// A game with one of everything: unripe eggs, a ritual, an effect withheld, queues, hunger.
fn eventful() -> Game {
    let mut config = config(4, 3);
    config.rules.egg_hatch_units = 600;
    config.places_per_team = 4;
    let mut arena = Arena::new(config);
    let agents: Vec<AgentId> = (0..3)
        .map(|_| arena.agent_of(0, 1, 1, Direction::North, 2))
        .collect();
    arena.ground(1, 1, [0, 1, 1, 1, 0, 0, 0]);
    arena.command(agents[0], Command::Fork);
    arena.run_to(units(50));
    arena.command(agents[1], Command::Take(Resource::Food));
    arena.command(agents[1], Command::Broadcast(b"\xff hello".as_slice().into()));
    arena.run_to(units(52));
    arena.command(agents[2], Command::Incantation);
    arena.command(agents[2], Command::Look);
    arena.run_to(GameTime::from_nanounits(180_000_000_001));
    arena.game
}

/// If this fails, the format changed: raise `SNAPSHOT_VERSION`, and say in `docs/replay-format.md` what became
/// of the old one.
#[test]
fn the_format_of_this_version_is_fixed() {
    let bytes = eventful().snapshot().encode();
    assert_eq!(bytes[..10], *b"TRANTORS\x02\x00");
    assert_eq!((bytes.len(), crc32fast::hash(&bytes)), (331, 204_695_414));
}

#[test]
fn the_digest_of_a_state_is_fixed() {
    assert_eq!(eventful().digest(), 17_855_284_138_420_300_277);
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let good = eventful().snapshot().encode();
    assert!(Snapshot::decode(&good).is_ok());
    assert_eq!(Snapshot::decode(b"{}"), Err(SaveError::NotASnapshot));
    let mut other_version = good.clone();
    other_version[8] = 7;
    assert_eq!(
        Snapshot::decode(&other_version),
        Err(SaveError::Version { found: 7 })
    );
    for cut in 8..good.len() {
        assert_eq!(
            Snapshot::decode(&good[..cut]),
            Err(SaveError::Damaged),
            "cut to {cut}"
        );
    }
    for place in 14..good.len() {
        let mut damaged = good.clone();
        damaged[place] ^= 0x10;
        assert_eq!(
            Snapshot::decode(&damaged),
            Err(SaveError::Damaged),
            "damaged at {place}"
        );
    }
}

#[test]
fn differences_are_told_by_part() {
    let game = eventful();
    let mut other = game.clone();
    let next = other.next_deadline().expect("much is pending");
    other.fire_next(next);
    let lines = game.snapshot().differences(&other.snapshot(), 100);
    assert!(
        lines.iter().any(|line| line.starts_with("course 0")),
        "{lines:#?}"
    );
    assert!(lines.iter().any(|line| line.starts_with("agent 0")), "{lines:#?}");
    assert_eq!(game.snapshot().differences(&other.snapshot(), 2).len(), 2);
}
