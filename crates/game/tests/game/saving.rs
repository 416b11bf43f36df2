//! Snapshots: a restored game continues exactly as the original, and damaged bytes are refused.

use proptest::prelude::*;
use trantor_game::{Game, SaveError, Snapshot};
use trantor_model::{AdminAction, AgentId, Command, Counts, Direction, Resource};
use trantor_time::GameTime;

use crate::arena::{Arena, config, tile, units};
use crate::random::{any_config, any_steps, events_of};

fn restored(game: &Game) -> Game {
    let bytes = game.snapshot().encode();
    let snapshot = Snapshot::decode(&bytes).expect("it was just written");
    Game::restore(snapshot).expect("it was just taken")
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
            step.play(&mut original, |game, _| {
                digests.push(game.digest());
                events.extend(events_of(game));
            });
            step.play(&mut saved, |game, _| {
                events_saved.extend(events_of(game));
                *game = restored(game);
                digests_saved.push(game.digest());
            });
            prop_assert_eq!(digests, digests_saved);
            prop_assert_eq!(events, events_saved);
            prop_assert_eq!(original.snapshot(), saved.snapshot());
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
            step.play(&mut game, |_, _| {});
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
            step.play(&mut game, |game, _| drop(events_of(game)));
        }
    }
}

/// A game with one of everything: unripe eggs, an elevation, an effect withheld, queues, hunger.
fn eventful() -> Game {
    let mut config = config(4, 3);
    config.rules.egg_hatch_units = 600;
    config.places_per_team = 4;
    let mut arena = Arena::new(config);
    let agents: Vec<AgentId> = (0..3)
        .map(|_| arena.agent_of(0, 1, 1, Direction::North, 2))
        .collect();
    let ground = Counts([0, 1, 1, 1, 0, 0, 0]);
    arena.admin(AdminAction::SetGround {
        tile: tile(1, 1),
        ground,
    });
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
fn the_format_and_the_digest_of_this_version_are_fixed() {
    let bytes = eventful().snapshot().encode();
    assert_eq!(bytes[..10], *b"TRANTORS\x03\x00");
    assert_eq!((bytes.len(), crc32fast::hash(&bytes)), (509, 3_322_460_408));
    assert_eq!(eventful().digest(), 17_855_284_138_420_300_277);
}

/// A snapshot without what came later: it has no totals, so those of the game that goes on are of its rest.
#[test]
fn a_snapshot_of_the_version_before_is_read() {
    let game = eventful();
    let mut old = game.snapshot().encode();
    old.truncate(331);
    old[8] = 2;
    let checksum = crc32fast::hash(&old[14..]).to_le_bytes();
    old[10..14].copy_from_slice(&checksum);
    assert_eq!(crc32fast::hash(&old), 204_695_414, "as that version wrote it");
    let mut read = Arena {
        game: Game::restore(Snapshot::decode(&old).unwrap()).unwrap(),
    };
    assert_eq!(read.game.digest(), game.digest());
    assert_eq!(read.game.totals().since, game.now());
    assert_eq!(read.game.totals().why(None), None);
    read.run_to(units(5_000));
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
    for place in 10..good.len() {
        let cut = Snapshot::decode(&good[..place]);
        let mut damaged = good.clone();
        damaged[place] ^= 0x10;
        let errors = [cut, Snapshot::decode(&damaged)].map(Result::err);
        assert_eq!(errors, [const { Some(SaveError::Damaged) }; 2], "at {place}");
    }
}
