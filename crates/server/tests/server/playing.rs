//! `replay play`: a game recorded by the program and shown by it again.

use std::io::{Read, Write};
use std::process::Stdio;

use trantor_protocol::wire::{
    ClientHello, FrameCutter, RecordingInfo, SnapshotPart, ToClient, ToServer, WIRE_VERSION, read_frame,
    write_frame,
};
use trantor_time::GameTime;

use crate::support::{Folder, Peer, Program, command, run_in};

/// Has an agent play for a while, recorded in `folder`.
fn record(folder: &Folder) {
    let mut program = Program::start_in(folder, "--record . -f 2000 --seed 4");
    // However slow the machine is, the agent does not starve meanwhile.
    drop(program.operate("hunger off"));
    let (mut peer, _) = program.join("red");
    for _ in 0..30 {
        peer.send("Forward\nTake food\nRight\n");
        (0..3).for_each(|_| drop(peer.line()));
    }
    program.stop();
}

fn play(folder: &Folder, arguments: &str, stdin: Stdio) -> Program {
    Program::by(
        command(folder, &format!("replay play run-0001 {arguments}")),
        stdin,
    )
}

/// A viewer of ours, word for word.
struct Viewer {
    peer: Peer,
    cutter: FrameCutter,
    bytes: Vec<u8>,
}

impl Viewer {
    fn connect(program: &Program) -> Self {
        let mut peer = program.connect();
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
    record(&folder);
    let program = play(&folder, "--paused --control loopback", Stdio::null());
    assert!(
        program
            .first_line
            .contains("a recording: 20x20, teams red blue, units 0 to "),
        "{}",
        program.first_line
    );

    // A text viewer sees the world at the beginning, at the speed of the recording.
    let mut text = program.connect();
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
    let born = text.lines_until("pnw ");
    assert!(
        born.iter().any(|line| line.starts_with("bct ")),
        "the text viewer is sent the difference: {born:?}"
    );
    assert_eq!(viewer.seek(GameTime::from_units(1 << 40)), (info.end, 1));
    assert_eq!(
        viewer.seek(GameTime::ZERO),
        (info.begin, 0),
        "no agent had joined"
    );
    text.lines_until("pdi ");

    // A recording has no players.
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
    record(&folder);
    let program = play(&folder, "--at 50% -f 10000", Stdio::null());
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
    folder.write("text.txt", b"it was a dark and stormy night");
    for (arguments, expected) in [
        (".", "these are 2 recordings; name one, as ./run-0002\n"),
        ("/nowhere", "/nowhere: "),
        (". --at soon", "must be a time in units"),
        (". -f 0", "frequency must be a whole number from 1 to 10000"),
        ("text.txt", "this is not a journal of a game"),
    ] {
        let (status, _, err) = run_in(&folder, &format!("replay play {arguments}"));
        assert_eq!(status, 84, "{arguments}");
        assert!(err.contains(expected) && err.lines().count() == 1, "{err}");
    }
}

/// As a viewer starts it that plays a recording by itself, and may be killed.
#[test]
fn it_can_end_with_its_input() {
    let folder = Folder::new();
    record(&folder);
    let mut program = play(&folder, "--console until-end", Stdio::piped());
    let mut stdin = program.child.stdin.take().unwrap();
    stdin.write_all(b"tick rate 300\n").unwrap();
    let mut viewer = Peer::connect(program.address);
    viewer.send("GRAPHIC\n");
    while viewer.lines_until("sgt").last().unwrap() != "sgt 300" {}
    drop(stdin);
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
}
