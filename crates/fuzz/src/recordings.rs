//! Journals and snapshots.
//!
//! Checksums detect disk errors, not crafted files, and they block a fuzzer. Targets of the content therefore recompute
//! them.

use std::io;

use trantor_game::{Game, GameConfig, GameInput, Handled, PieceWriter, Replay, Rules, Snapshot};
use trantor_model::{AgentId, Command, MapSize, Resource, TeamId, Turn};
use trantor_server::replay::export_bytes;

/// Magic number and version of a journal, before its first frame.
const JOURNAL_HEAD_BYTES: usize = 10;

/// Length and checksum of a journal frame.
const FRAME_HEADER_BYTES: usize = 8;

/// Position of the checksum in a snapshot; the content follows it.
const SNAPSHOT_CHECKSUM: std::ops::Range<usize> = 10..14;

/// Deadlines fired in a restored game.
const STEPS_PLAYED: usize = 64;

/// Larger games are decoded and not played, since that takes long.
const TILES_PLAYED_MAX: usize = 10_000;

/// A journal is refused, or replays and exports its events.
pub(crate) fn read_journal(data: &[u8]) {
    let Ok(replay) = Replay::open(data) else { return };
    if replay.game.config().size.area() <= TILES_PLAYED_MAX {
        let _verified = replay.verify();
        export_bytes(data, &mut io::sink()).expect("a sink accepts all writes");
    }
}

/// As `read_journal`, with recomputed checksums.
pub(crate) fn read_sealed_journal(data: &[u8]) {
    let mut bytes = data.to_vec();
    let (mut at, mut checksum, mut is_snapshot_next) = (JOURNAL_HEAD_BYTES, 0, false);
    while let Some(header) = bytes.get(at..at + FRAME_HEADER_BYTES) {
        let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let content = at + FRAME_HEADER_BYTES;
        if bytes.len() - content < length {
            break;
        }
        if is_snapshot_next {
            seal_snapshot(&mut bytes[content..content + length]);
        }
        // The first frame is the head, the second the snapshot.
        is_snapshot_next = at == JOURNAL_HEAD_BYTES;
        let mut hasher = crc32fast::Hasher::new_with_initial(checksum);
        hasher.update(&bytes[content..content + length]);
        checksum = hasher.finalize();
        bytes[at + 4..content].copy_from_slice(&checksum.to_le_bytes());
        at = content + length;
    }
    read_journal(&bytes);
}

/// A snapshot is refused, or restores a valid game that can be played and saved.
pub(crate) fn read_snapshot(data: &[u8]) {
    let mut bytes = data.to_vec();
    seal_snapshot(&mut bytes);
    let Ok(snapshot) = Snapshot::decode(&bytes) else {
        return;
    };
    let Ok(mut game) = Game::restore(snapshot) else {
        return;
    };
    if game.config().size.area() > TILES_PLAYED_MAX {
        return;
    }
    for _ in 0..STEPS_PLAYED {
        let Some(at) = game.next_deadline() else { break };
        game.fire_next(at);
        while game.poll_event().is_some() {}
    }
    let again = Snapshot::decode(&game.snapshot().encode()).expect("an encoded snapshot can be decoded");
    let again = Game::restore(again).expect("a saved game can be restored");
    assert_eq!(again.digest(), game.digest());
}

fn seal_snapshot(bytes: &mut [u8]) {
    if bytes.len() >= SNAPSHOT_CHECKSUM.end {
        let checksum = crc32fast::hash(&bytes[SNAPSHOT_CHECKSUM.end..]);
        bytes[SNAPSHOT_CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    }
}

pub(crate) fn journal_seeds() -> Vec<Vec<u8>> {
    (1..4).map(|seed| played(seed).1).collect()
}

pub(crate) fn snapshot_seeds() -> Vec<Vec<u8>> {
    (1..4).map(|seed| played(seed).0.snapshot().encode()).collect()
}

/// A short game, and its journal.
fn played(seed: u64) -> (Game, Vec<u8>) {
    let mut game = Game::new(GameConfig {
        size: MapSize::new(4, 3).expect("a size of a map"),
        teams: vec!["red".to_owned(), "blue".to_owned()],
        places_per_team: 3,
        seed,
        rules: Rules::default(),
    });
    let mut journal = PieceWriter::new(&game, "fuzz", 0);
    let say = |game: &mut Game, journal: &mut PieceWriter, input: GameInput| {
        let at = game.now();
        journal.input(game, &input, at);
        let handled = game.handle(input, at);
        debug_assert!(
            !matches!(handled, Handled::Refused(_)),
            "the inputs of a seed are valid"
        );
        while game.poll_event().is_some() {}
    };
    for team in [0, 1, 0] {
        say(&mut game, &mut journal, GameInput::Join { team: TeamId(team) });
    }
    let commands = [
        Command::Forward,
        Command::Turn(Turn::Left),
        Command::Take(Resource::Food),
        Command::Look,
        Command::Broadcast(b"hello".to_vec().into()),
        Command::Fork,
        Command::Set(Resource::Food),
        Command::Incantation,
        Command::Eject,
    ];
    for (turn, command) in commands.into_iter().cycle().take(40).enumerate() {
        let agent = AgentId(turn as u32 % 3);
        if game.world().agent(agent).is_some() {
            say(&mut game, &mut journal, GameInput::Command { agent, command });
        }
        if let Some(at) = game.next_deadline() {
            game.fire_next(at);
            journal.stepped(&game);
            while game.poll_event().is_some() {}
        }
    }
    let bytes = journal.close(&game);
    (game, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The corpus is valid, else mutations would reach nothing behind the first check.
    #[test]
    fn seeds_are_valid() {
        for seed in snapshot_seeds() {
            let mut sealed = seed.clone();
            seal_snapshot(&mut sealed);
            assert_eq!(sealed, seed, "recomputing a valid checksum keeps it");
            let snapshot = Snapshot::decode(&seed).expect("a valid snapshot");
            let game = Game::restore(snapshot).expect("a valid game");
            assert!(game.world().agents().len() > 1 && game.next_deadline().is_some());
        }
        for seed in journal_seeds() {
            let verified = Replay::open(&seed[..]).expect("a valid head").verify();
            assert!(verified.expect("a valid journal").played.inputs > 20);
        }
    }
}
