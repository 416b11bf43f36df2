//! Recordings as they lie on the disk: the transcripts show what `trantor-server replay` says of them.

use trantor_game::{Game, GameConfig, GameInput, Handled, PieceWriter, Replay};
use trantor_model::{AdminAction, Command as AgentCommand, Counts, MapSize, Resource, TeamId, Tile, Turn};
use trantor_server::playback::load;
use trantor_server::replay::read;
use trantor_time::GameTime;

use crate::support::Folder;

/// The pieces of a short game. With `secret`, something happens in it that is not recorded.
fn record_pieces(secret: bool, count: i64) -> Vec<Vec<u8>> {
    let mut game = Game::new(GameConfig {
        size: MapSize::new(8, 6).unwrap(),
        teams: vec!["red".to_owned(), "blue".to_owned()],
        places_per_team: 2,
        seed: 11,
        rules: Default::default(),
    });
    let mut writer = PieceWriter::new(&game, "test 1", 0);
    let mut pieces = Vec::new();
    let join = GameInput::Join { team: TeamId(1) };
    writer.input(&game, &join, game.now());
    let Handled::Joined(agent) = game.handle(join, game.now()) else {
        panic!("there is room");
    };
    for piece in 1..=count {
        let mut bytes = writer.take();
        for round in 0..40 {
            let command = match round % 3 {
                0 => AgentCommand::Forward,
                1 => AgentCommand::Turn(Turn::Right),
                _ => AgentCommand::Inventory,
            };
            let input = GameInput::Command { agent, command };
            writer.input(&game, &input, game.now());
            let _ = game.handle(input, game.now());
            if secret && piece == 1 && round == 7 {
                // It changes the ground, and nothing that is due.
                let tile = Tile { x: 7, y: 5 };
                let ground = Counts([100; Resource::COUNT]);
                let _ = game.handle(
                    GameInput::Admin(AdminAction::SetGround { tile, ground }),
                    game.now(),
                );
            }
            let until = GameTime::from_units(200 * piece - 200 + 5 * (round + 1));
            while game.fire_next(until).is_some() {
                writer.stepped(&game);
            }
            game.advance_to(until);
            bytes.extend(writer.take());
        }
        if piece < count {
            bytes.extend(writer.follow(&game, "test 1", u32::try_from(piece).unwrap()));
        }
        pieces.push(bytes);
    }
    let last = pieces.last_mut().unwrap();
    last.extend(writer.close(&game));
    pieces
}

/// Writes recordings for the transcripts: whole, torn, damaged, only begun, and different from what was played; and runs whose
/// second piece is something else.
pub fn write_recordings(folder: &Folder) {
    let run = record_pieces(false, 4);
    let (piece, other_game) = (&run[0], record_pieces(true, 4));
    let torn = |piece: &[u8]| piece[..piece.len() - 3].to_vec();
    let mut damaged = piece.clone();
    damaged[piece.len() - 60] ^= 1;
    for (name, bytes) in [
        ("good.trj", piece),
        ("torn.trj", &torn(piece)),
        ("damaged.trj", &damaged),
        ("different.trj", &other_game[0]),
        ("games/a.trj", &torn(piece)),
        ("games/b.trj", piece),
        ("begun/piece-00000.trj", piece),
        ("begun/piece-00001.trj", &run[1][..30].to_vec()),
        // The packed one counts, and the plain one beside it is a leftover.
        ("run-0001/piece-00000.trj", piece),
        (
            "run-0001/piece-00001.trj.zst",
            &zstd::encode_all(&run[1][..], 3).unwrap(),
        ),
        ("run-0001/piece-00001.trj", &run[1][..40].to_vec()),
        ("run-0001/piece-00002.trj", &run[2]),
        ("run-0001/piece-00003.trj", &run[3]),
        ("second/piece-00001.trj", &run[1]),
    ] {
        folder.write(name, bytes);
    }
    for (name, second) in [
        ("torn", Some(torn(&run[1]))),
        ("cut", Some(run[1][..40].to_vec())),
        ("other", Some(other_game[1].clone())),
        ("joined", Some([&run[1][..], &run[2]].concat())),
        ("missing", None),
    ] {
        for (number, piece) in run.iter().enumerate() {
            let piece = if number == 1 { second.as_ref() } else { Some(piece) };
            if let Some(piece) = piece {
                folder.write(&format!("{name}/piece-{number:05}.trj"), piece);
            }
        }
    }
}

#[test]
fn a_run_whose_last_piece_was_only_begun_is_whole_without_it() {
    let folder = Folder::new();
    let [first, second] = <[Vec<u8>; 2]>::try_from(record_pieces(false, 2)).unwrap();
    folder.write("piece-00000.trj", &first);
    let load = || load(&[folder.to_path_buf()]).unwrap();
    let alone = load();
    let head_bytes = (0..).find(|&cut| Replay::open(&second[..cut]).is_ok()).unwrap();
    assert!(head_bytes > 100, "{head_bytes}");
    for cut in [0, 1, 8, 9, 10, 30, head_bytes - 1] {
        folder.write("piece-00001.trj", &second[..cut]);
        let recording = load();
        assert_eq!(
            (recording.end(), recording.states_kept()),
            (alone.end(), alone.states_kept())
        );
    }
    // One that is whole counts, however little is in it.
    folder.write("piece-00001.trj", &second[..head_bytes]);
    assert_eq!(load().states_kept(), alone.states_kept() + 1);
}

#[test]
fn packed_pieces_are_known_by_their_first_bytes_and_found_when_they_were_packed_meanwhile() {
    let folder = Folder::new();
    let piece = &record_pieces(false, 1)[0];
    let packed = zstd::encode_all(&piece[..], 3).unwrap();
    for (name, bytes) in [("sim.trj.zst", piece), ("packed.trj", &packed)] {
        assert_eq!(read(&folder.write(name, bytes)).unwrap(), *piece, "{name}");
    }
    folder.write("piece-00000.trj.zst", &packed);
    assert_eq!(read(&folder.join("piece-00000.trj")).unwrap(), *piece);
}

/// A few kilobytes may claim to be gigabytes.
#[test]
fn no_more_is_unpacked_than_a_piece_can_have() {
    // A frame of zstd: a block as it is, and blocks of 128 KiB of zeros in four bytes each.
    let bomb = |beginning: &[u8], blocks| {
        let raw = (beginning.len() as u32) << 3;
        let zeros = (128_u32 << 10) << 3 | 1 << 1;
        let head = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x38];
        let mut frame = [&head, &raw.to_le_bytes()[..3], beginning].concat();
        (0..blocks).for_each(|_| frame.extend(zeros.to_le_bytes()[..3].iter().chain(&[0])));
        frame.extend([1, 0, 0]);
        frame
    };
    let folder = Folder::new();
    let bytes = read(&folder.write("bomb.trj.zst", &bomb(&[0; 8], 512))).unwrap();
    assert_eq!(bytes, [0; 8], "what is no journal is not read on");
    let refused = read(&folder.write("bomb.trj.zst", &bomb(b"TRANTORJ", 2048))).unwrap_err();
    let expected = "unpacked, this has more than the 268435456 bytes that are read";
    assert_eq!(refused.to_string(), expected);
}
