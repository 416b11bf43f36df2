//! A source that watches a server of which only the socket is there.

use super::{Stage, StageOptions};
use crate::demo::{Demo, DemoScene};
use crate::intent::Selection;
use crate::source::{self, Source};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use trantor_client::{ControlRequest, Language, LinkState, Scene};
use trantor_model::{Counts, MapSize, TeamId, Tile};
use trantor_protocol::wire::{Change, ServerHello, SnapshotPart, ToClient, WIRE_VERSION, write_frame};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Wait as _};
use trantor_time::{Clock as _, GameTime, RealSpan};

/// How long anything may take on a busy machine, before the test fails.
const PATIENCE: RealSpan = RealSpan::from_secs(20);

/// A source that watches `listener`, with what its loop would do.
struct Watching {
    source: Box<dyn Source>,
    parker: Parker,
    clock: RealClock,
    scene: Scene,
}

impl Watching {
    fn start(listener: &TcpListener) -> Self {
        let parker = Parker::new();
        let waker = parker.waker();
        let port = listener.local_addr().unwrap().port();
        let source = source::live("127.0.0.1", port, Language::Frames, None, move || waker.wake()).unwrap();
        Self {
            source,
            parker,
            clock: RealClock::new(),
            scene: Scene::default(),
        }
    }

    fn until<T>(&mut self, mut done: impl FnMut(&mut dyn Source, &Scene) -> Option<T>) -> T {
        let end = self.clock.now() + PATIENCE;
        loop {
            let now = self.clock.now();
            assert!(now < end, "nothing came of it: {:?}", self.scene.link);
            while self.source.take_network(now) {}
            self.source.tend(now);
            self.source.scene(now, &mut self.scene);
            if let Some(done) = done(&mut *self.source, &self.scene) {
                return done;
            }
            self.parker.wait(Some(now + RealSpan::from_millis(10)));
        }
    }

    /// The same where a stage has the source.
    fn until_staged(&mut self, stage: &mut Stage, done: impl Fn(&Stage) -> bool) {
        let end = self.clock.now() + PATIENCE;
        while !done(stage) {
            let now = self.clock.now();
            assert!(now < end, "nothing came of it: {:?}", stage.scene().link);
            while stage.source().take_network(now) {}
            stage.update(None, now);
            self.parker.wait(Some(now + RealSpan::from_millis(10)));
        }
    }
}

fn greet(listener: &TcpListener) -> TcpStream {
    let (mut socket, _) = listener.accept().unwrap();
    socket.write_all(b"WELCOME\n").unwrap();
    socket
}

fn over(_: &mut dyn Source, scene: &Scene) -> Option<Arc<str>> {
    match &scene.link {
        LinkState::Ended { reason } => Some(Arc::clone(reason)),
        _ => None,
    }
}

#[test]
fn a_server_that_talks_nonsense_is_left_told_of_and_joined_again_on_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watching = Watching::start(&listener);
    let mut server = greet(&listener);
    server.write_all(&[0xff; 64]).unwrap();
    let notice = watching.until(|source, _| source.poll_notice());
    assert!(!notice.is_empty());
    let reason = watching.until(over);
    assert!(reason.contains(&notice) || !reason.is_empty());
    // It was left: there is nothing more to read, and no new connection by itself.
    let mut said = Vec::new();
    server.read_to_end(&mut said).ok();
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "no connection");
    listener.set_nonblocking(false).unwrap();
    watching.source.reconnect().unwrap();
    drop(greet(&listener));
}

#[test]
fn a_server_that_is_gone_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watching = Watching::start(&listener);
    drop(greet(&listener));
    let reason = watching.until(over);
    assert!(reason.contains("waiting for a server at 127.0.0.1"), "{reason}");
    // And joined as soon as it is there again.
    let _server = greet(&listener);
    watching.until(|_, scene| (!matches!(scene.link, LinkState::Ended { .. })).then_some(()));
}

/// Lets a viewer into a world of one tile and one team, after so many ticks of the server.
fn let_in(listener: &TcpListener, team: &str, ticks: u64) -> TcpStream {
    let mut out = Vec::new();
    let mut say = |message| write_frame(&mut out, &message).unwrap();
    say(ToClient::Hello(ServerHello {
        version: WIRE_VERSION,
        program: "pretended".to_owned(),
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
        say(ToClient::TickBegin { number, skipped: 0 });
        say(ToClient::TickEnd { number });
    }
    let tiles = vec![Counts::ZERO];
    say(ToClient::Snapshot(SnapshotPart::Ground { first: 0, tiles }));
    let at = GameTime::from_units(7);
    say(ToClient::SnapshotEnd { at });
    let mut server = greet(listener);
    server.write_all(&out).unwrap();
    server
}

#[test]
fn another_run_or_server_is_known_by_its_ticks_and_its_teams() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watching = Watching::start(&listener);
    for (team, ticks, is_other_run) in [
        ("red", 1_000, false),
        ("red", 1_010, false),
        ("red", 1_019, true),
        ("red", 0, true),
        ("red", 10, false),
        ("green", 5_000, true),
        ("green", 5_010, false),
    ] {
        let server = let_in(&listener, team, ticks);
        watching.until(|source, _| source.take_new_world().then_some(()));
        assert_eq!(
            watching.source.take_other_run(),
            is_other_run,
            "{team}, {ticks} ticks"
        );
        assert!(!watching.source.take_other_run(), "it is asked once");
        drop(server);
        watching.source.reconnect().unwrap();
    }
}

#[test]
fn what_is_selected_in_one_run_of_a_server_is_not_in_the_next() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watching = Watching::start(&listener);
    let nothing = source::demo(Demo::new(DemoScene::Overview));
    let source = std::mem::replace(&mut watching.source, nothing);
    let mut stage = Stage::new(source, StageOptions::default());
    let tile = Selection::Tile(Tile { x: 0, y: 0 });
    for (ticks, kept) in [(1_000, Selection::None), (1_010, tile), (0, Selection::None)] {
        let server = let_in(&listener, "red", ticks);
        watching.until_staged(&mut stage, |stage| matches!(stage.scene().link, LinkState::Live));
        assert_eq!(stage.selection(), kept, "after {ticks} ticks");
        stage.select(tile);
        drop(server);
        stage.source().reconnect().unwrap();
        watching.until_staged(&mut stage, |stage| !matches!(stage.scene().link, LinkState::Live));
    }
}

/// Between two matches the server is gone, and that is no failure.
#[test]
fn after_a_victory_the_next_match_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watching = Watching::start(&listener);
    let mut server = let_in(&listener, "red", 0);
    let mut out = Vec::new();
    let at = GameTime::from_units(7);
    let changes = vec![Change::Won { team: TeamId(0) }];
    write_frame(&mut out, &ToClient::Changes { at, changes }).unwrap();
    server.write_all(&out).unwrap();
    watching.until(|_, scene| scene.winner);
    drop(server);
    let reason = watching.until(over);
    assert!(
        reason.starts_with("the match is over: asking for the next one in "),
        "{reason}"
    );
    assert_eq!(watching.source.poll_notice(), None);
    let pause = watching
        .source
        .request(ControlRequest::Pause, watching.clock.now());
    assert_eq!(pause, Err("the match is over".to_owned()));
}

/// A server that stands still looks like a cable that was pulled: it is left, and joined as soon as it answers.
#[test]
fn a_server_that_says_nothing_is_left_and_asked_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watching = Watching::start(&listener);
    let (silent, _) = listener.accept().unwrap();
    watching.until(|_, scene| matches!(scene.link, LinkState::Connecting).then_some(()));
    // Its time-out is not waited for: the source is given a later time.
    let later = watching.clock.now() + RealSpan::from_secs(60);
    watching.source.tend(later);
    let notice = watching.until(|source, _| source.poll_notice());
    assert!(notice.contains("nothing for 60 seconds"), "{notice}");
    let reason = watching.until(over_and_closed);
    assert!(
        reason.contains("asked again after 1 s") && reason.contains("nothing for 60 seconds"),
        "{reason}"
    );
    drop(silent);
    let _server = greet(&listener);
    watching.until(|_, scene| (!matches!(scene.link, LinkState::Ended { .. })).then_some(()));
}

fn over_and_closed(source: &mut dyn Source, scene: &Scene) -> Option<Arc<str>> {
    over(source, scene).filter(|reason| reason.starts_with("waiting"))
}

#[test]
fn addresses_of_the_sixth_version_are_written_as_they_should_be() {
    for host in ["::1", "[::1]"] {
        let source = source::live(host, 4242, Language::Frames, None, || {}).unwrap();
        assert_eq!(source.name(), "[::1]:4242");
    }
}
