//! `replay play`: a game recorded by the program and shown by it again.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

#[path = "support/folder.rs"]
mod folder;
#[path = "support/mod.rs"]
#[expect(dead_code, reason = "every test program uses a part of it")]
mod support;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trantor_protocol::wire::{
    ClientHello, FrameCutter, RecordingInfo, SnapshotPart, ToClient, ToServer, WIRE_VERSION, read_frame,
    write_frame,
};
use trantor_time::GameTime;

use folder::Folder;
use support::{Peer, Program};

/// Has an agent play for a while, and answers the directory of the run.
fn record(folder: &Folder) -> PathBuf {
    let arguments = [
        "--record",
        folder.path().to_str().unwrap(),
        "-f",
        "2000",
        "--seed",
        "4",
    ];
    let mut program = Program::start(&arguments, Stdio::null());
    let mut peer = Peer::connect(program.address);
    assert_eq!(peer.line(), "WELCOME");
    peer.send("red\n");
    peer.line();
    peer.line();
    for _ in 0..30 {
        peer.send("Forward\nTake food\nRight\n");
        (0..3).for_each(|_| drop(peer.line()));
    }
    program.kill("-TERM");
    program.child.wait().unwrap();
    folder.path().join("run-0001")
}

fn play(recording: &Path, more: &[&str]) -> Program {
    let mut command = Command::new("sh");
    let script = "exec \"$0\" replay play \"$@\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_trantor-server")]);
    let mut arguments = vec![recording.to_str().unwrap()];
    arguments.extend(more);
    let stdin = match more.contains(&"until-end") {
        true => Stdio::piped(),
        false => Stdio::null(),
    };
    Program::start_by(command, &arguments, stdin)
}

/// A viewer of ours, word for word.
struct Viewer {
    peer: Peer,
    cutter: FrameCutter,
    bytes: Vec<u8>,
}

impl Viewer {
    fn connect(program: &Program) -> Self {
        let mut peer = Peer::connect(program.address);
        assert_eq!(peer.line(), "WELCOME");
        peer.send("TRANTOR\n");
        let mut viewer = Self {
            peer,
            cutter: FrameCutter::new::<ToClient>(),
            bytes: Vec::new(),
        };
        let program = "test".to_owned();
        let version = WIRE_VERSION;
        viewer.say(&ToServer::Hello(ClientHello { version, program }));
        viewer
    }

    fn say(&mut self, message: &ToServer) {
        let mut frame = Vec::new();
        write_frame(&mut frame, message).unwrap();
        self.peer.socket.write_all(&frame).unwrap();
    }

    /// Reads until `wanted` finds what it wants in a message.
    fn until<T>(&mut self, mut wanted: impl FnMut(&ToClient) -> Option<T>) -> T {
        loop {
            let mut piece = &self.bytes[..];
            let message = self
                .cutter
                .next(&mut piece)
                .unwrap()
                .map(|frame| read_frame(frame).unwrap());
            let rest = piece.len();
            self.bytes.drain(..self.bytes.len() - rest);
            if let Some(found) = message.as_ref().and_then(&mut wanted) {
                return found;
            }
            if message.is_none() {
                let mut buffer = [0; 4096];
                let read = self.peer.socket.read(&mut buffer).unwrap();
                assert!(read > 0, "the connection ended");
                self.bytes.extend(&buffer[..read]);
            }
        }
    }

    /// Asks for a moment; answers at which the world was that came, and how many agents it had.
    fn seek(&mut self, at: GameTime) -> (GameTime, usize) {
        self.say(&ToServer::Seek { at });
        let sought = self.until(|message| match message {
            ToClient::Sought(anchor) => Some(anchor.game),
            _ => None,
        });
        let mut agents = 0;
        self.until(|message| match message {
            ToClient::Snapshot(SnapshotPart::Agents(some)) => {
                agents += some.len();
                None
            }
            ToClient::SnapshotEnd { .. } => Some(()),
            _ => None,
        });
        (sought, agents)
    }
}

#[test]
fn a_recorded_game_is_shown_and_moved_about_in() {
    let folder = Folder::new();
    let run = record(&folder);
    let program = play(&run, &["--paused", "--control", "loopback"]);
    assert!(
        program
            .first_line
            .contains("a recording: 20x20, teams red blue, units 0 to "),
        "{}",
        program.first_line
    );

    // A text viewer sees the world at the beginning, at the speed of the recording.
    let mut text = Peer::connect(program.address);
    assert_eq!(text.line(), "WELCOME");
    text.send("GRAPHIC\n");
    let burst = text.lines_until("tna blue");
    assert!(burst.contains(&"sgt 2000".to_owned()));

    let mut viewer = Viewer::connect(&program);
    let info: RecordingInfo = viewer.until(|message| match message {
        ToClient::Recording(info) => Some(info.clone()),
        _ => None,
    });
    assert_eq!(info.begin, GameTime::ZERO);
    let end_units = i64::try_from(info.end.whole_units()).unwrap();
    assert!(end_units > 30 * 14);
    viewer.until(|message| matches!(message, ToClient::SnapshotEnd { .. }).then_some(()));
    let middle = GameTime::from_units(end_units / 2);
    assert_eq!(viewer.seek(middle), (middle, 1));
    assert_eq!(viewer.seek(GameTime::from_units(1 << 40)), (info.end, 1));
    assert_eq!(viewer.seek(GameTime::ZERO), (info.begin, 0), "nobody had joined");
    let born = text.lines_until("pnw ");
    assert!(
        born.iter().any(|line| line.starts_with("bct ")),
        "the text viewer is told too: {born:?}"
    );
    text.lines_until("pdi ");

    // Nobody can play in it.
    let mut peer = Peer::connect(program.address);
    peer.send("red\n");
    assert_eq!(
        (peer.line(), peer.line()),
        ("WELCOME".to_owned(), "ko".to_owned())
    );
}

#[test]
fn it_can_begin_anywhere_at_any_speed() {
    let folder = Folder::new();
    let run = record(&folder);
    let program = play(&run, &["--at", "50%", "-f", "10000"]);
    let mut text = Peer::connect(program.address);
    text.send("GRAPHIC\n");
    let seen = text.lines_until("pnw ");
    assert!(seen.iter().any(|line| line == "sgt 10000"), "{seen:?}");
    text.lines_until("ppo ");
}

#[test]
fn what_cannot_be_played_is_refused_in_one_line() {
    let folder = Folder::new();
    record(&folder);
    record(&folder);
    let refused = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_trantor-server"))
            .args(["replay", "play"])
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(84));
        String::from_utf8(output.stderr).unwrap()
    };
    let all = folder.path().to_str().unwrap();
    let several = refused(&[all]);
    assert!(
        several.contains("these are 2 recordings; name one, as ") && several.ends_with("run-0002\n"),
        "{several}"
    );
    assert!(refused(&["/nowhere"]).contains("/nowhere: "));
    assert!(refused(&[all, "--at", "soon"]).contains("must be a moment in units"));
    assert!(refused(&[all, "-f", "0"]).contains("frequency must be a whole number from 1 to 10000"));
    let no_journal = folder.write("text.trj", b"it was a dark and stormy night");
    assert!(refused(&[no_journal.to_str().unwrap()]).contains("this is not a journal of a game"));
}

/// As a viewer starts it that plays a recording by itself, and may be killed.
#[test]
fn it_can_end_with_its_input() {
    let folder = Folder::new();
    let mut program = play(&record(&folder), &["--console", "until-end"]);
    let mut stdin = program.child.stdin.take().unwrap();
    stdin.write_all(b"tick rate 300\n").unwrap();
    let mut viewer = Peer::connect(program.address);
    viewer.send("GRAPHIC\n");
    while viewer.lines_until("sgt").last().unwrap() != "sgt 300" {}
    drop(stdin);
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
}
