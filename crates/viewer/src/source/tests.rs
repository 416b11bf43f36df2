//! A viewer of a server that is only a socket of the test; and spans that are repeated.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use trantor_client::{Language, LinkState};
use trantor_model::{Change, Control, Counts, MapSize, Refusal, TeamId, Tile};
use trantor_protocol::wire::{ServerHello, SnapshotPart, ToClient, WIRE_VERSION, write_frame};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::Parker;
use trantor_time::{Clock as _, GameTime, RealSpan, RealTime};

use crate::intent::Selection;
use crate::settings::Settings;
use crate::source::{self, Repeat};
use crate::state::ViewerState;

/// How long anything may take on a busy machine, before the test fails.
const PATIENCE: RealSpan = RealSpan::from_secs(20);

struct Viewer {
    state: ViewerState,
    parker: Parker,
    clock: RealClock,
    /// How far its time is ahead of the clock: time-outs and retries are not waited for.
    ahead: RealSpan,
}

impl Viewer {
    fn of(listener: &TcpListener) -> Self {
        Self::at_port(listener.local_addr().unwrap().port())
    }

    fn at_port(port: u16) -> Self {
        let parker = Parker::new();
        let source = source::live("127.0.0.1", port, Language::Frames, None, parker.waker()).unwrap();
        Self {
            state: ViewerState::new(source, Settings::default()),
            parker,
            clock: RealClock::new(),
            ahead: RealSpan::ZERO,
        }
    }

    fn now(&self) -> RealTime {
        self.clock.now() + self.ahead
    }

    fn until(&mut self, is_so: impl Fn(&mut ViewerState) -> bool) {
        let end = self.now() + PATIENCE;
        while !is_so(&mut self.state) {
            let now = self.now();
            assert!(now < end, "nothing came of it: {:?}", self.state.scene().link);
            while self.state.source().take_network(now) {}
            self.state.update(None, now);
            self.parker
                .wait(Some(self.clock.now() + RealSpan::from_millis(10)));
        }
    }

    /// Waits until there is no connection and the reason contains all of these.
    fn until_ended(&mut self, because: &[&str]) {
        self.until(|state| match &state.scene().link {
            LinkState::Ended { reason } => because.iter().all(|part| reason.contains(part)),
            _ => false,
        });
    }

    fn until_joined(&mut self) {
        self.until(|state| !matches!(state.scene().link, LinkState::Ended { .. }));
    }

    fn notice(&mut self) -> Option<&str> {
        self.state.hud().shown_notice()
    }
}

fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

fn greet(listener: &TcpListener) -> TcpStream {
    let (mut socket, _) = listener.accept().unwrap();
    socket.write_all(b"WELCOME\n").unwrap();
    socket
}

/// Lets a viewer into a world of one tile and one team, after so many ticks of the server.
fn let_in(listener: &TcpListener, team: &str, ticks: u64) -> TcpStream {
    let mut out = Vec::new();
    let mut send = |message| write_frame(&mut out, &message).unwrap();
    send(ToClient::Hello(ServerHello {
        version: WIRE_VERSION,
        program: "test".to_owned(),
        since_reference_us: 0,
        tick_period_us: 50_000,
        last_tick: ticks.checked_sub(1).map(|last| (last, 0)),
        next_tick_us: 50_000,
        size: MapSize::new(1, 1).unwrap(),
        teams: vec![team.to_owned()],
        may_control: true,
        delay_ms: 0,
    }));
    for number in ticks..ticks + 10 {
        send(ToClient::TickBegin { number, skipped: 0 });
        send(ToClient::TickEnd { number });
    }
    let tiles = vec![Counts::ZERO];
    send(ToClient::Snapshot(SnapshotPart::Ground { first: 0, tiles }));
    let at = GameTime::from_units(7);
    send(ToClient::SnapshotEnd { at });
    let mut server = greet(listener);
    server.write_all(&out).unwrap();
    server
}

#[test]
fn a_server_that_is_gone_is_waited_for() {
    let listener = listen();
    let mut viewer = Viewer::of(&listener);
    let mut server = greet(&listener);
    viewer.until(|state| matches!(state.scene().link, LinkState::Greeting));
    let mut hello = [0; 1];
    server.read_exact(&mut hello).expect("the viewer writes as well");
    drop(server);
    viewer.until_ended(&["waiting for a server at 127.0.0.1", "after 1 s"]);
    // And joined as soon as it is there again.
    viewer.ahead = RealSpan::from_secs(1);
    viewer.until_joined();
    drop(greet(&listener));
}

#[test]
fn a_server_that_is_never_there_is_asked_for_less_and_less_until_the_user_asks() {
    let port = listen().local_addr().unwrap().port();
    let mut viewer = Viewer::at_port(port);
    for seconds in [1, 2, 4, 8, 8] {
        viewer.until_ended(&[&format!("retrying after {seconds} s: Connection refused")]);
        viewer.ahead += RealSpan::from_secs(seconds);
    }
    viewer.until_ended(&["8 s"]);
    viewer.state.source().reconnect().unwrap();
    viewer.until_ended(&["after 1 s"]);
}

#[test]
fn a_server_that_breaks_the_protocol_is_joined_again_only_on_request() {
    let listener = listen();
    let mut viewer = Viewer::of(&listener);
    let mut server = greet(&listener);
    server.write_all(&[0xff; 64]).unwrap();
    viewer.until_ended(&["was left; F5 joins it again"]);
    assert!(viewer.notice().is_some());
    // There is nothing more to read, and no new connection by itself.
    let mut rest = Vec::new();
    server.read_to_end(&mut rest).ok();
    let later = viewer.now() + RealSpan::from_secs(60);
    viewer.state.source().tend(later);
    assert_eq!(viewer.state.source().next_timeout(), None);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "no connection");
    listener.set_nonblocking(false).unwrap();
    viewer.state.source().reconnect().unwrap();
    viewer.until_joined();
    drop(greet(&listener));
}

/// Another run of a server is known by its ticks, another server by its teams; only in the same game the selection stays.
#[test]
fn what_is_selected_in_one_run_of_a_server_is_not_in_the_next() {
    let listener = listen();
    let mut viewer = Viewer::of(&listener);
    let tile = Selection::Tile(Tile { x: 0, y: 0 });
    for (team, ticks, kept) in [
        ("red", 1_000, Selection::None),
        ("red", 1_010, tile),
        ("red", 1_019, Selection::None),
        ("red", 0, Selection::None),
        ("red", 10, tile),
        ("green", 5_000, Selection::None),
        ("green", 5_010, tile),
    ] {
        let server = let_in(&listener, team, ticks);
        viewer.until(|state| matches!(state.scene().link, LinkState::Live));
        assert_eq!(viewer.state.selection(), kept, "{team}, {ticks} ticks");
        viewer.state.select(tile);
        drop(server);
        viewer.state.source().reconnect().unwrap();
        viewer.until(|state| !matches!(state.scene().link, LinkState::Live));
    }
}

/// Between two matches the server is gone, and that is no failure.
#[test]
fn after_a_victory_the_next_match_is_waited_for() {
    let listener = listen();
    let mut viewer = Viewer::of(&listener);
    let mut server = let_in(&listener, "red", 0);
    let mut out = Vec::new();
    let at = GameTime::from_units(7);
    let changes = vec![Change::Won {
        team: TeamId(0),
        totals: None,
    }];
    write_frame(&mut out, &ToClient::Changes { at, changes }).unwrap();
    server.write_all(&out).unwrap();
    viewer.until(|state| state.scene().winner.is_some());
    drop(server);
    viewer.until_ended(&["the match is over: asking for the next one in "]);
    assert_eq!(viewer.notice(), None);
    let now = viewer.now();
    let pause = viewer.state.source().request(Control::Pause, now);
    assert_eq!(pause, Err(Refusal::MatchOver));
}

/// A server that stands still looks like a cable that was pulled: it is left, and joined as soon as it answers.
#[test]
fn a_server_that_says_nothing_is_left_and_asked_again() {
    let listener = listen();
    let mut viewer = Viewer::of(&listener);
    let (silent, _) = listener.accept().unwrap();
    viewer.until(|state| state.source().client().is_some());
    viewer.ahead = RealSpan::from_secs(60);
    viewer.until_ended(&["retrying after 1 s", "nothing for 60 seconds"]);
    assert!(viewer.notice().unwrap().contains("nothing for 60 seconds"));
    drop(silent);
    viewer.ahead += RealSpan::from_secs(1);
    viewer.until_joined();
    drop(greet(&listener));
}

#[test]
fn addresses_of_the_sixth_version_are_written_in_brackets() {
    for host in ["::1", "[::1]"] {
        let waker = Parker::new().waker();
        let source = source::live(host, 4242, Language::Frames, None, waker).unwrap();
        assert_eq!(source.name(), "[::1]:4242");
    }
}

#[test]
fn a_span_is_repeated_once_it_has_both_ends() {
    let units = GameTime::from_units;
    let mut repeat = Repeat::default();
    repeat.begin(units(100));
    assert_eq!(repeat.jump(units(500)), None);
    repeat.end(units(200));
    assert_eq!(
        (repeat.jump(units(199)), repeat.jump(units(200))),
        (None, Some(units(100)))
    );
    repeat.end(units(50));
    assert_eq!(
        repeat.ends(),
        (None, Some(units(50))),
        "ends change places with nothing"
    );
    repeat.begin(units(60));
    assert_eq!(repeat.ends(), (Some(units(60)), None));
}
