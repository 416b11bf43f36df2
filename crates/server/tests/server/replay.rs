//! `trantor-server replay` as a script uses it: what it prints, and its exit status.

use serde_json::Value;
use trantor_game::{AdminAction, Game, GameConfig, GameInput, Handled, PieceWriter, Replay};
use trantor_model::{Command as AgentCommand, Counts, MapSize, Resource, TeamId, Tile, Turn};
use trantor_server::playback::load;
use trantor_server::replay::read;
use trantor_time::GameTime;

use crate::support::{Folder, command, run_in};

fn replay(folder: &Folder, arguments: &str) -> (i32, String, String) {
    run_in(folder, &format!("replay {arguments}"))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The two pieces of a short game. With `secret`, something happens in it that is not recorded.
fn record(secret: bool) -> Vec<Vec<u8>> {
    record_pieces(secret, 2)
}

/// The same in so many pieces.
fn record_pieces(secret: bool, count: i64) -> Vec<Vec<u8>> {
    let mut game = a_game();
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
                let _ = game.handle(a_feast(), game.now());
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

fn a_game() -> Game {
    Game::new(GameConfig {
        size: MapSize::new(8, 6).unwrap(),
        teams: vec!["red".to_owned(), "blue".to_owned()],
        places_per_team: 2,
        seed: 11,
        rules: Default::default(),
    })
}

/// Changes the ground, and nothing that is due.
fn a_feast() -> GameInput {
    let tile = Tile { x: 7, y: 5 };
    let ground = Counts([100; Resource::COUNT]);
    GameInput::Admin(AdminAction::SetGround { tile, ground })
}

#[test]
fn a_directory_of_pieces_is_verified_and_described_as_json() {
    let folder = Folder::new();
    let pieces = record(false);
    folder.write("run-0001/piece-00000.trj", &pieces[0]);
    // The packed one counts, and the plain one beside it is a leftover.
    let packed = zstd::encode_all(&pieces[1][..], 3).unwrap();
    folder.write("run-0001/piece-00001.trj.zst", &packed);
    folder.write("run-0001/piece-00001.trj", &pieces[1][..40]);

    let (status, out, err) = replay(&folder, "verify --json .");
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let lines = lines(&out);
    assert_eq!(lines.len(), 2);
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(line["ok"], true);
        assert_eq!(line["piece"], number);
        assert_eq!(line["closed"], true);
        assert!(line["digests"].as_u64().unwrap() >= 1);
    }
    assert_eq!(
        (&lines[0]["inputs"], &lines[1]["inputs"]),
        (&41.into(), &40.into())
    );
}

#[test]
fn a_torn_file_is_played_to_its_last_whole_record_and_says_where_that_is() {
    let folder = Folder::new();
    let piece = &record(false)[0];
    folder.write("torn.trj", &piece[..piece.len() - 3]);
    let (status, out, _) = replay(&folder, "verify --json torn.trj");
    assert_eq!(status, 2, "it agrees, and has no end mark");
    let line = &lines(&out)[0];
    let flags = ["ok", "closed", "finished"].map(|name| line[name].as_bool().unwrap());
    assert_eq!(flags, [true, false, false]);
    let whole = line["whole_bytes"].as_u64().unwrap() as usize;
    assert!(whole < piece.len() - 3 && whole > 100);
    // And up to there it is the same file, whole.
    folder.write("cut.trj", &piece[..whole]);
    let again = &lines(&replay(&folder, "verify --json cut.trj").1)[0];
    assert_eq!(
        (&again["inputs"], &again["state"]),
        (&line["inputs"], &line["state"])
    );

    // Damage in the middle is no crash; all commands report it.
    let mut damaged = piece.clone();
    damaged[whole - 20] ^= 1;
    folder.write("damaged.trj", &damaged);
    let (status, out, _) = replay(&folder, "verify damaged.trj");
    assert!(status == 1 && out.contains("damaged"), "{out}");
    for (file, status, why) in [
        ("torn.trj", 0, "the last record was not written whole"),
        ("damaged.trj", 1, "a record is damaged"),
    ] {
        let (exported, out, err) = replay(&folder, &format!("export {file}"));
        assert_eq!((exported, err.lines().count()), (status, 1), "{err}");
        assert!(
            err.contains(&format!("{file}: agrees to its last")) && err.contains(why),
            "{err}"
        );
        assert!(lines(&out).len() > 40, "what is whole is exported");
        let (described, out, _) = replay(&folder, &format!("info --json {file}"));
        assert_eq!(described, status);
        assert!(lines(&out)[0]["ending"].as_str().unwrap().ends_with(why), "{out}");
    }
}

#[test]
fn a_run_whose_last_piece_was_only_begun_is_whole_without_it() {
    let folder = Folder::new();
    let [first, second] = <[Vec<u8>; 2]>::try_from(record(false)).unwrap();
    folder.write("piece-00000.trj", &first);
    let load = || load(&[folder.to_path_buf()]).unwrap();
    let alone = load();
    // It ended in order, and says that another one follows.
    let (status, out, _) = replay(&folder, "verify .");
    assert!(
        status == 2 && out.contains("; the piece after it is missing\n"),
        "{out}"
    );
    let head_bytes = (0..).find(|&cut| Replay::open(&second[..cut]).is_ok()).unwrap();
    assert!(head_bytes > 100, "{head_bytes}");
    for cut in [0, 1, 8, 9, 10, 30, head_bytes - 1] {
        folder.write("piece-00001.trj", &second[..cut]);
        let (status, out, _) = replay(&folder, "verify .");
        assert_eq!(status, 2, "{cut} bytes: {out}");
        assert!(out.contains(": nothing was recorded in it yet\n"), "{out}");
        for what in ["info", "export"] {
            let (status, out, err) = replay(&folder, &format!("{what} piece-00001.trj"));
            assert_eq!(status, 0, "{what} of {cut} bytes: {err}");
            assert!((out + &err).contains("nothing was recorded in it yet"));
        }
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
fn the_first_difference_is_told_with_both_digests_and_the_parts() {
    let folder = Folder::new();
    folder.write("good.trj", &record(false)[0]);
    folder.write("bad.trj", &record(true)[0]);
    let (status, out, _) = replay(&folder, "verify --json good.trj bad.trj");
    assert_eq!(status, 1);
    let [good, bad] = &lines(&out)[..] else {
        panic!("{out}");
    };
    assert_eq!((&good["ok"], &bad["ok"]), (&true.into(), &false.into()));
    assert!(bad["recorded"].is_string() && bad["replayed"].is_string() && bad["recorded"] != bad["replayed"]);
    assert_eq!(bad["parts"], serde_json::json!(["Ground"]));
    assert!(bad["record"].as_u64().unwrap() > 0);
    assert_eq!(bad["agreed_records"], 0);
    assert!(
        bad["what"]
            .as_str()
            .unwrap()
            .contains("it was the same where the piece begins")
    );

    // A reader that stops early, as `grep -q`, does not make it good.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command(&folder, "replay verify bad.trj")
        .stdout(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
}

/// What `play` refuses, `verify` does not call good.
#[test]
fn a_run_whose_pieces_do_not_follow_each_other_does_not_agree() {
    let run = record_pieces(false, 4);
    let other_game = &record_pieces(true, 4)[1];
    let joined = [&run[1][..], &run[2]].concat();
    let [torn, begun] = [run[1].len() - 3, 40].map(|cut| &run[1][..cut]);
    let cases: [(Option<&[u8]>, usize, &str); 5] = [
        (Some(torn), 2, "the piece before is not whole"),
        (Some(begun), 2, "the piece before is not whole"),
        (Some(other_game), 1, "the piece before ended with"),
        (None, 2, "piece 2 does not follow piece 0"),
        (Some(&joined), 1, "something follows the end"),
    ];
    let folder_of = |pieces: &[(usize, &[u8])]| {
        let folder = Folder::new();
        for (number, bytes) in pieces {
            folder.write(&format!("piece-{number:05}.trj"), bytes);
        }
        folder
    };
    let refused = |folder: &Folder, wrong: usize, why: &str| {
        for what in ["verify", "export"] {
            let (status, out, err) = replay(folder, &format!("{what} ."));
            assert_eq!(status, 1, "{why}: {out}{err}");
            let name = format!("piece-{wrong:05}.trj");
            let said = if what == "verify" { out } else { err };
            let mut lines = said.lines().filter(|line| line.contains(&name));
            assert!(lines.any(|line| line.contains(why)), "{why}: {said}");
        }
    };
    for (second, wrong, why) in cases {
        let mut pieces: Vec<(usize, &[u8])> = run.iter().map(Vec::as_slice).enumerate().collect();
        match second {
            Some(bytes) => pieces[1].1 = bytes,
            None => drop(pieces.remove(1)),
        }
        let folder = folder_of(&pieces);
        refused(&folder, wrong, why);
        assert!(load(&[folder.to_path_buf()]).is_err(), "{why}");
    }
    // A piece may be named alone; a run must be whole.
    let folder = folder_of(&[(1, &run[1]), (2, &run[2])]);
    refused(&folder, 1, "piece 1 is the first that there is of its run");
    for what in ["verify", "export"] {
        let alone = format!("{what} piece-00001.trj piece-00002.trj");
        assert_eq!(replay(&folder, &alone).0, 0, "{what}");
    }
    // Recordings of other games in one place have nothing to do with each other.
    let folder = Folder::new();
    folder.write("a.trj", &run[0][..run[0].len() - 3]);
    folder.write("b.trj", &run[0]);
    let (status, out, _) = replay(&folder, "verify .");
    assert!(status == 2 && !out.contains("DIFFERENT"), "{out}");
    let totals = "2 files: 2 agree (2 without an end mark), 0 differ or are damaged, 0 cannot be played\n";
    assert!(out.ends_with(totals), "{out}");
}

#[test]
fn packed_pieces_are_known_by_their_first_bytes_and_found_when_they_were_packed_meanwhile() {
    let folder = Folder::new();
    let piece = &record(false)[0];
    let packed = zstd::encode_all(&piece[..], 3).unwrap();
    for (name, bytes) in [("sim.trj.zst", piece), ("packed.trj", &packed)] {
        assert_eq!(read(&folder.write(name, bytes)).unwrap(), *piece, "{name}");
    }
    folder.write("piece-00000.trj.zst", &packed);
    assert_eq!(read(&folder.join("piece-00000.trj")).unwrap(), *piece);
    let (status, out, _) = replay(&folder, "verify piece-00001.trj");
    assert_eq!(status, 84);
    assert!(out.contains("piece-00001.trj: UNREADABLE: No such file"), "{out}");
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
