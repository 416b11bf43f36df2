//! A server that says anything at all: the client ends the connection or goes on, within its limits, and
//! never panics.

use crate::support::{agent, client};
use proptest::prelude::*;
use trantor_client::session::HANDSHAKE_MAX;
use trantor_client::{
    Client, ClientEvent, ControlRequest, FeedEntry, FeedKind, LinkState, ProtocolError, Scene, Who,
};
use trantor_model::{AgentId, Counts, Direction, MapSize, TeamId, Tile};
use trantor_protocol::FrameError;
use trantor_protocol::limits::{COMMANDS_WAITING_MAX, HISTORY_EVENTS_MAX};
use trantor_protocol::wire::{
    Change, ClockAnchor, History, Mark, MarkKind, RecordingInfo, ScorePoint, ServerHello, SnapshotPart,
    ToClient, WIRE_VERSION, read_frame, write_frame,
};
use trantor_time::{Frequency, GameTime, RealTime};

fn hello() -> ToClient {
    ToClient::Hello(ServerHello {
        version: WIRE_VERSION,
        program: "hostile".to_owned(),
        since_reference_us: 0,
        // What is shown lies 1,500 ns behind: random messages come within a few of these.
        tick_period_us: 1,
        last_tick: None,
        next_tick_us: 0,
        size: MapSize::new(3, 2).unwrap(),
        teams: vec!["red".to_owned(), "blue".to_owned()],
        may_control: true,
        delay_ms: 0,
    })
}

fn frame(message: &ToClient) -> Vec<u8> {
    let mut out = vec![];
    write_frame(&mut out, message).unwrap();
    out
}

/// All that is needed for a world of 3 x 2 tiles to be shown.
fn world() -> Vec<ToClient> {
    world_at(100, units(1))
}

fn units(units: i64) -> GameTime {
    GameTime::from_units(units)
}

fn real(ms: i64) -> RealTime {
    RealTime::from_nanos(ms * 1_000_000)
}

fn world_at(hertz: u64, at: GameTime) -> Vec<ToClient> {
    vec![
        hello(),
        ToClient::Clock(anchor(0, 0, hertz, false)),
        bare_ground(6),
        agents(0..2),
        ToClient::SnapshotEnd { at },
    ]
}

fn bare_ground(tiles: usize) -> ToClient {
    let tiles = vec![Counts::ZERO; tiles];
    ToClient::Snapshot(SnapshotPart::Ground { first: 0, tiles })
}

fn agents(ids: std::ops::Range<u32>) -> ToClient {
    let agent = |id| agent(id, Tile { x: 0, y: 0 });
    ToClient::Snapshot(SnapshotPart::Agents(ids.map(agent).collect()))
}

fn anchor(real_us: i64, units: i64, hertz: u64, paused: bool) -> ClockAnchor {
    ClockAnchor {
        real_us,
        game: self::units(units),
        frequency: Frequency::new(hertz).unwrap(),
        paused,
    }
}

/// A client of such a server, and what it shows.
struct Peer {
    client: Client,
    scene: Scene,
}

impl Peer {
    /// One that was greeted and takes these messages at once.
    fn new(messages: impl IntoIterator<Item = ToClient>) -> Self {
        let mut peer = Self {
            client: client(),
            scene: Scene::default(),
        };
        peer.client.handle(b"WELCOME\n", real(0));
        peer.take(0, messages);
        peer
    }

    /// Takes messages at that millisecond, and draws a frame.
    fn take(&mut self, ms: i64, messages: impl IntoIterator<Item = ToClient>) {
        for message in messages {
            self.client.handle(&frame(&message), real(ms));
        }
        self.client.handle_timeout(real(ms));
        self.client.scene(real(ms), &mut self.scene);
    }

    fn error(&mut self) -> Option<ProtocolError> {
        std::iter::from_fn(|| self.client.poll_event()).find_map(|event| match event {
            ClientEvent::Ended { error, .. } => Some(error.expect("only errors end these")),
            _ => None,
        })
    }
}

/// Takes messages in a frame each, and draws for a second more.
fn play(messages: impl IntoIterator<Item = ToClient>) -> Peer {
    let mut peer = Peer::new([]);
    let after = std::iter::repeat_n(None, 150);
    for (number, message) in messages.into_iter().map(Some).chain(after).enumerate() {
        peer.take(number as i64 * 7, message);
    }
    peer
}

/// A recording of 100 units with deaths at these.
fn recording(deaths: &[i64]) -> ToClient {
    let died = |at: &i64| Mark {
        at: units(*at),
        count: 1,
        kind: MarkKind::Died { team: TeamId(0) },
    };
    ToClient::Recording(RecordingInfo {
        begin: GameTime::ZERO,
        end: units(100),
        marks: deaths.iter().map(died).collect(),
    })
}

/// Three events and scores, spoilt.
fn history(spoil: impl Fn(&mut History)) -> ToClient {
    let who = |agent| Who {
        agent: AgentId(agent),
        team: TeamId(0),
    };
    let event = |number: i64| FeedEntry {
        at: units(number),
        kind: FeedKind::Pushed(who(number as u32)),
    };
    let score = |number: i64| ScorePoint {
        at: units(number),
        scores: vec![number as u64; 2],
    };
    let (scores, events) = ((0..3).map(score).collect(), (0..3).map(event).collect());
    let mut history = History { scores, events };
    spoil(&mut history);
    ToClient::History(history)
}

fn changes(at: GameTime, change: Change) -> ToClient {
    let changes = vec![change];
    ToClient::Changes { at, changes }
}

fn moved(at: i64, agent: u32, x: u16) -> ToClient {
    let moved = Change::Moved {
        agent: AgentId(agent),
        tile: Tile { x, y: 0 },
        facing: Direction::North,
        forced: false,
    };
    changes(units(at), moved)
}

fn waiting(agent: u32, commands: usize) -> ToClient {
    ToClient::Waiting {
        agent: AgentId(agent),
        commands: vec![None; commands],
    }
}

#[test]
fn each_error_ends_the_connection_with_a_reason() {
    let (number, skipped) = (1, 0);
    let tick = ToClient::TickBegin { number, skipped };
    let (token, server_us) = (77, 0);
    let reply = ToClient::ProbeReply { token, server_us };
    let clock = |us| ToClient::Clock(anchor(us, 0, 1, false));
    let sought = ToClient::Sought(anchor(0, 5, 1, false));
    let said = Change::Said {
        agent: AgentId(0),
        text: vec![b'x'; 257],
    };
    let end = ToClient::SnapshotEnd { at: units(0) };
    let never = GameTime::from_nanounits(i128::MAX);
    let other_team = |history: &mut History| history.scores[1].scores.push(1);
    let too_long = |history: &mut History| {
        history.events = vec![history.events[0].clone(); HISTORY_EVENTS_MAX + 1];
    };
    for (reason, messages) in [
        ("a second hello came after the first", vec![hello()]),
        ("there is no agent AgentId(7)", vec![moved(2, 7, 0)]),
        ("tile Tile { x: 3, y: 0 } is not on the map", vec![moved(2, 0, 3)]),
        ("u came after changes of 1.0", vec![moved(0, 0, 0)]),
        ("holds no message", vec![changes(never, said.clone())]),
        ("256 bytes in a broadcast", vec![changes(units(2), said)]),
        ("message 99 was acknowledged", vec![ToClient::Ack { number: 99 }]),
        ("tick 1 began where tick 0 was due", vec![tick]),
        ("probe 77, which was not sent", vec![reply]),
        ("sent after that at 9", vec![clock(9), clock(8)]),
        ("without its pieces", vec![end]),
        ("in a game that is being", vec![sought.clone()]),
        ("a second recording", vec![recording(&[]), recording(&[])]),
        ("u came after changes of 7.0", vec![recording(&[7, 6])]),
        ("101.000000000 u is out of range", vec![recording(&[101])]),
        (
            "before the world was",
            vec![recording(&[]), sought, moved(6, 0, 1)],
        ),
        ("waiting commands", vec![waiting(0, COMMANDS_WAITING_MAX + 1)]),
        ("u came after", vec![history(|it| it.events.swap(0, 1))]),
        ("u came after", vec![history(|it| it.scores.swap(0, 1))]),
        ("of other teams", vec![history(other_team)]),
        ("past events", vec![history(too_long)]),
    ] {
        let error = play(world().into_iter().chain(messages)).error().expect(reason);
        let error = error.to_string();
        assert!(error.contains(reason), "{error:?} should contain {reason:?}");
    }
}

#[test]
fn the_feed_begins_with_the_last_events_and_the_score_comes_once() {
    let ToClient::History(sent) = history(|_| {}) else {
        unreachable!("a history is one")
    };
    let mut all = world();
    all.insert(1, ToClient::History(sent.clone()));
    let mut client = play(all).client;
    let feed: Vec<_> = std::iter::from_fn(|| client.poll_feed()).collect();
    assert_eq!(feed, sent.events);
    assert_eq!(client.take_scores(), Some(sent.scores));
    assert_eq!(client.take_scores(), None);
}

#[test]
fn the_waiting_commands_are_those_of_the_agent_watched_last() {
    let mut peer = Peer::new(world());
    assert_eq!(peer.client.waiting(), None);
    peer.client.watch(Some(AgentId(3))).unwrap();
    peer.take(1, [waiting(3, 2)]);
    assert_eq!(peer.client.waiting(), Some((AgentId(3), &[None; 2][..])));
    peer.client.watch(Some(AgentId(1))).unwrap();
    assert_eq!(peer.client.waiting(), None, "those of another are not shown");
}

/// A jump: the old picture stays until the new world is whole, and then game time may be less than it was.
#[test]
fn a_recording_jumps_back_with_a_world_of_its_own() {
    let mut peer = Peer::new(world().into_iter().chain([recording(&[40])]));
    let shown = |peer: &Peer| (peer.scene.clock.game.as_units_f64(), peer.scene.agents.len());
    peer.take(1_000, []);
    assert!((80.0..=100.0).contains(&shown(&peer).0));
    assert_eq!(peer.client.recording().unwrap().marks().len(), 1);

    peer.client.seek(units(-3)).unwrap();
    assert_eq!(peer.client.recording().unwrap().target(), Some(GameTime::ZERO));
    let sought = ToClient::Sought(anchor(1_000_000, 0, 100, true));
    // The hello, the credit for the first world, a probe, and this.
    peer.take(1_000, [sought, ToClient::Ack { number: 4 }, bare_ground(6)]);
    peer.take(2_000, []);
    assert!(
        shown(&peer).0 >= 80.0 && shown(&peer).1 == 2,
        "the old picture stays"
    );
    assert_eq!(peer.scene.link, LinkState::Live);
    peer.take(
        2_000,
        [agents(0..1), ToClient::SnapshotEnd { at: GameTime::ZERO }],
    );
    assert_eq!(shown(&peer), (0.0, 1));
    assert_eq!(peer.client.recording().unwrap().target(), None);
}

#[test]
fn the_last_picture_stays_and_says_why() {
    let Peer { mut client, .. } = play(world().into_iter().chain([hello()]));
    let mut scene = Scene::default();
    client.scene(RealTime::from_nanos(1 << 40), &mut scene);
    assert_eq!(scene.agents.len(), 2);
    let LinkState::Ended { reason } = &scene.link else {
        panic!("it ended: {:?}", scene.link);
    };
    assert!(reason.contains("a second hello"));
    assert!(client.unsent().is_empty());
    assert!(client.request(ControlRequest::Pause).is_err());
    assert_eq!(client.next_timeout(), None);
}

#[test]
fn a_server_that_speaks_text_is_told_apart() {
    for answer in ["ko\n", "1\n10 10\n"] {
        let mut client = client();
        client.handle(format!("WELCOME\n{answer}").as_bytes(), RealTime::ZERO);
        let ended = client.poll_event();
        assert!(
            matches!(
                &ended,
                Some(ClientEvent::Ended { error: Some(ProtocolError::SpeaksText), reason }) if reason.contains("--dialect gui")
            ),
            "{ended:?}"
        );
    }
}

#[test]
fn a_refused_hello_is_readable() {
    let mut client = client();
    client.handle(b"WELCOME\n", RealTime::ZERO);
    let refused = ToClient::Refused {
        number: 1,
        reason: "this server speaks version 7\n\x1b[2J".to_owned(),
    };
    client.handle(&frame(&refused), RealTime::ZERO);
    let reason = "this server speaks version 7[2J".to_owned();
    assert_eq!(
        client.poll_event(),
        Some(ClientEvent::Ended { reason, error: None })
    );
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let mut client = client();
    let mut now = RealTime::ZERO;
    while let Some(next) = client.next_timeout() {
        assert!(next > now, "time-outs move on");
        now = next;
        client.handle_timeout(now);
    }
    assert_eq!(now.as_nanos(), HANDSHAKE_MAX.as_nanos());
    assert!(matches!(
        client.poll_event(),
        Some(ClientEvent::Ended {
            error: Some(ProtocolError::Silent { secs: 25 }),
            ..
        })
    ));
}

#[test]
fn changes_for_the_far_future_are_bounded() {
    let far = (0..40_000).map(|turn| Change::Moved {
        agent: AgentId(turn % 2),
        tile: Tile { x: 1, y: 1 },
        facing: Direction::ALL[turn as usize % 4],
        forced: turn % 3 == 0,
    });
    let message = ToClient::Changes {
        at: units(i64::MAX),
        changes: far.collect(),
    };
    let mut peer = play(world().into_iter().chain(std::iter::repeat_n(message, 10)));
    assert_eq!(peer.error(), None);
    let stats = peer.client.stats(RealTime::from_nanos(1 << 30));
    assert_eq!(stats.pending, trantor_client::timeline::PENDING_MAX);
    assert_eq!(stats.hurried as usize, 400_000 - stats.pending);
}

#[test]
fn a_world_without_end_is_bounded() {
    let parts = (0..11).map(|part| agents(part * 10_000..(part + 1) * 10_000));
    let error = play(world().into_iter().take(3).chain(parts)).error();
    let error = error.expect("more agents than there may be").to_string();
    assert!(error.contains("more than 100000 agents"), "{error}");
}

/// A message made of bytes. Most are small, so that they are read as agents, tiles and teams that there are; times are
/// billionths of a unit.
fn message() -> impl Strategy<Value = ToClient> {
    let token = prop_oneof![
        16 => (0u8..5).prop_map(|byte| vec![byte]),
        2 => (0u8..=255, 1u8..32).prop_map(|(low, high)| vec![low | 0x80, high]),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    // Changes come most often, and each begins with its kind.
    let head = prop_oneof![
        2 => (0u8..17).prop_map(|kind| vec![kind]),
        3 => (0x80u8..=255, 0u8..24, 0u8..16).prop_map(|(low, high, kind)| vec![8, low, high, 1, kind]),
    ];
    (head, prop::collection::vec(token, 60)).prop_filter_map("bytes of no message", |(head, tokens)| {
        let bytes = [head, tokens.concat()].concat();
        match read_frame::<ToClient>(&bytes) {
            Err(FrameError::Trailing { extra }) => read_frame(&bytes[..bytes.len() - extra]).ok(),
            read => read.ok(),
        }
    })
}

/// Whatever was sent, the scene can be drawn.
fn check(scene: &Scene) {
    let Some(ground) = &scene.ground else { return };
    let tiles = ground.tiles.len();
    assert_eq!(tiles, ground.size.area());
    assert!(ground.changed.iter().all(|place| (*place as usize) < tiles));
    assert!(scene.agents.windows(2).all(|pair| pair[0].id < pair[1].id));
    for agent in &scene.agents {
        for (at, side) in [(agent.x, ground.size.width()), (agent.y, ground.size.height())] {
            assert!((-4.0..f32::from(side) + 4.0).contains(&at), "{agent:?}");
        }
        assert!((0.0..std::f32::consts::TAU).contains(&agent.heading), "{agent:?}");
        if let Some(action) = agent.action {
            assert!((0.0..=1.0).contains(&action.progress) && action.remaining_units >= 0.0);
        }
    }
    for ritual in &scene.rituals {
        let held = scene.participants(ritual);
        assert_eq!(held.len(), ritual.participants.len as usize);
        assert!(
            held.iter()
                .all(|id| scene.agent(*id).is_some_and(|agent| agent.held))
        );
    }
    for effect in &scene.effects {
        assert!((0.0..=1.0).contains(&effect.progress) && effect.age_units.is_finite());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_message_makes_the_client_panic(messages in prop::collection::vec((message(), 0i64..200), 0..60)) {
        let (mut client, mut scene, mut now) = (client(), Scene::default(), 0);
        client.closed("to begin with", RealTime::ZERO);
        for (message, later) in messages {
            let real = RealTime::from_nanos(now);
            // What has ended is brought back, so that one wrong message does not hide the rest.
            if client.next_timeout().is_none() {
                client = self::client();
                client.handle(b"WELCOME\n", real);
                for message in world_at(1, GameTime::ZERO) {
                    client.handle(&frame(&message), real);
                }
            }
            client.handle(&frame(&message), real);
            now += later;
            let real = RealTime::from_nanos(now);
            client.handle_timeout(real);
            client.scene(real, &mut scene);
            check(&scene);
            let _ = client.request(ControlRequest::SetFrequency(1 + (now % 5_000) as u32));
            let _ = client.request(if now % 2 == 0 { ControlRequest::Pause } else { ControlRequest::Resume });
            let _ = client.seek(GameTime::from_nanounits(now.into()));
            while client.poll_feed().is_some() {}
            prop_assert!(client.stats(real).pending <= trantor_client::timeline::PENDING_MAX);
            if now % 3 == 0 {
                let unsent = client.unsent().len();
                client.sent(unsent);
            }
        }
    }

    #[test]
    fn no_bytes_make_the_client_panic(
        bytes in prop::collection::vec(prop_oneof![2 => Just(0u8), 2 => 0u8..20, 1 => any::<u8>()], 0..400),
        size in 1usize..50,
        joined in any::<bool>(),
    ) {
        let mut client = client();
        let mut scene = Scene::default();
        if joined {
            client.handle(b"WELCOME\n", RealTime::ZERO);
            for message in world() {
                client.handle(&frame(&message), RealTime::ZERO);
            }
        }
        for (number, piece) in bytes.chunks(size).enumerate() {
            let now = RealTime::from_nanos(number as i64 * 1_000_000);
            client.handle(piece, now);
            client.handle_timeout(now);
            client.scene(now, &mut scene);
            check(&scene);
        }
    }
}

/// Whatever delay a server names, the link shows how long the first picture takes, and then what is received.
#[test]
fn a_delayed_viewer_sees_how_long_the_first_picture_takes() {
    for delay_ms in [30_000, u32::MAX] {
        let ToClient::Hello(mut hello) = hello() else {
            unreachable!("a hello is one")
        };
        hello.delay_ms = delay_ms;
        let mut peer = Peer::new([ToClient::Hello(hello)]);
        let delayed = |left_ms| LinkState::Delayed { delay_ms, left_ms };
        assert_eq!(peer.client.link(real(0)), delayed(delay_ms));
        assert_eq!(peer.client.link(real(500)), delayed(delay_ms - 500));
        peer.take(600, [bare_ground(2)]);
        assert_eq!(peer.scene.link, LinkState::Loading { tiles: 2, of: 6 });
    }
}
