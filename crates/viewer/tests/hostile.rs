//! Servers that say things without end, watched by the whole program: its memory stays bounded, and it goes on.
//!
//! What each message may do is tested with the client; here it is that nothing around it keeps what it leaves out.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use trantor_model::{AgentId, AgentView, Counts, Direction, Level, MapSize, TeamId, Tile};
use trantor_protocol::wire::{
    AgentState, Change, ClockAnchor, ServerHello, SnapshotPart, ToClient, WIRE_VERSION, write_frame,
};
use trantor_time::{Frequency, GameTime};

/// Memory that a viewer in a terminal may take here: what a hundred megabytes of changes may make it keep until they are
/// shown, and as much as the program itself.
const RESIDENT_KIB_MAX: u64 = 128 * 1024;
/// Bytes that each server says: enough that keeping them all would show.
const SAID_BYTES: usize = 128 << 20;
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, in front of a server that is this test.
struct Watched {
    viewer: Child,
    server: TcpStream,
}

impl Watched {
    fn start(dialect: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let viewer = Command::new(env!("CARGO_BIN_EXE_trantor-viewer"))
            .args(["--text", "-h", "127.0.0.1", "-p", &port, "--dialect", dialect])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.set_write_timeout(Some(PATIENCE)).unwrap();
        server.write_all(b"WELCOME\n").unwrap();
        Self { viewer, server }
    }

    /// Says one piece after the other until it was enough, and looks at what that took.
    fn withstands(mut self, mut piece: impl FnMut(u32) -> Vec<u8>) {
        let (mut said, mut number) = (0, 0);
        while said < SAID_BYTES {
            let bytes = piece(number);
            self.server.write_all(&bytes).expect("the viewer stays and reads");
            said += bytes.len();
            number += 1;
        }
        assert!(self.viewer.try_wait().unwrap().is_none(), "it has ended");
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.viewer.id())).unwrap();
        let most = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let most: u64 = most.trim().trim_end_matches("kB").trim().parse().unwrap();
        assert!(most < RESIDENT_KIB_MAX, "{most} KiB");
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.viewer.kill().ok();
        self.viewer.wait().ok();
    }
}

#[test]
fn lines_without_end_are_not_kept() {
    let mut watched = Watched::start("gui");
    watched.server.write_all(b"msz 10 10\nsgt 10000\n").unwrap();
    watched.withstands(|piece| {
        let mut lines = String::new();
        for id in piece * 100..(piece + 1) * 100 {
            let text = "x".repeat(1_000);
            // Writing to a string cannot fail.
            let _ = write!(
                lines,
                "tna team-{id}\npnw #{id} 1 1 1 1 {text}\npnw #{id} 1 1 1 1 red\nenw #{id} #-1 2 2\npic 3 3 1 #{id}\n\
                 pbc #{id} {text}\nebo #{}\nsmg {text}\nppo #{id} 1 {} 2\npex #{id}\nsgt {}\nunknown {text}\n",
                id + 1_000_000,
                id % 10,
                id % 9_999 + 1,
            );
        }
        lines.into_bytes()
    });
}

#[test]
fn changes_of_a_far_future_and_refusals_without_end_are_not_kept() {
    let mut watched = Watched::start("frames");
    let mut begin = Vec::new();
    for message in world() {
        write_frame(&mut begin, &message).unwrap();
    }
    watched.server.write_all(&begin).unwrap();
    watched.withstands(|piece| {
        let mut frames = Vec::new();
        let said = Change::Said {
            agent: AgentId(0),
            text: vec![b'x'; 256],
        };
        let messages = [
            ToClient::Changes {
                at: GameTime::from_units(i64::from(u32::MAX) + i64::from(piece)),
                changes: vec![said; 200],
            },
            ToClient::Refused {
                number: 1,
                reason: "x".repeat(10_000),
            },
        ];
        for message in &messages {
            write_frame(&mut frames, message).unwrap();
        }
        frames
    });
}

/// All that is needed for a world of two tiles to be shown.
fn world() -> [ToClient; 5] {
    let view = AgentView {
        id: AgentId(0),
        team: TeamId(0),
        tile: Tile { x: 0, y: 0 },
        facing: Direction::North,
        level: Level::FIRST,
        inventory: Counts::ZERO,
    };
    [
        ToClient::Hello(ServerHello {
            version: WIRE_VERSION,
            program: "hostile".to_owned(),
            since_reference_us: 0,
            tick_period_us: 50_000,
            last_tick: None,
            next_tick_us: 0,
            size: MapSize::new(2, 1).unwrap(),
            teams: vec!["x".repeat(60_000); 8],
            may_control: true,
            delay_ms: 0,
        }),
        ToClient::Clock(ClockAnchor {
            real_us: 0,
            game: GameTime::ZERO,
            frequency: Frequency::new(100).unwrap(),
            paused: false,
        }),
        ToClient::Snapshot(SnapshotPart::Ground {
            first: 0,
            tiles: vec![Counts::ZERO; 2],
        }),
        ToClient::Snapshot(SnapshotPart::Agents(vec![AgentState {
            view,
            action: None,
            food_ends: None,
        }])),
        ToClient::SnapshotEnd {
            at: GameTime::from_units(1),
        },
    ]
}
