//! A server that says anything at all: the client ends the connection or goes on, within its limits, and
//! never panics.

use proptest::prelude::*;
use trantor_client::session::HANDSHAKE_MAX;
use trantor_client::{
    Client, ClientConfig, ClientEvent, ControlRequest, Language, LinkState, ProtocolError, Scene,
};
use trantor_model::{AgentId, Counts, Direction, MapSize, TeamId, Tile};
use trantor_protocol::FrameError;
use trantor_protocol::limits::COMMANDS_WAITING_MAX;
use trantor_protocol::wire::{
    AgentState, Change, ClockAnchor, Mark, MarkKind, RecordingInfo, ServerHello, SnapshotPart, ToClient,
    WIRE_VERSION, read_frame, write_frame,
};
use trantor_time::{Frequency, GameTime, RealTime};

fn client() -> Client {
    let config = ClientConfig {
        language: Language::Frames,
        program: "test".to_owned(),
        token: None,
    };
    Client::new(config, RealTime::ZERO)
}

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
    world_at(100, GameTime::from_units(1))
}

fn world_at(hertz: u64, at: GameTime) -> Vec<ToClient> {
    let tiles = vec![Counts::ZERO; 6];
    vec![
        hello(),
        ToClient::Clock(anchor(0, 0, hertz, false)),
        ToClient::Snapshot(SnapshotPart::Ground { first: 0, tiles }),
        ToClient::Snapshot(SnapshotPart::Agents(vec![agent(0), agent(1)])),
        ToClient::SnapshotEnd { at },
    ]
}

fn anchor(real_us: i64, units: i64, hertz: u64, paused: bool) -> ClockAnchor {
    ClockAnchor {
        real_us,
        game: GameTime::from_units(units),
        frequency: Frequency::new(hertz).unwrap(),
        paused,
    }
}

fn agent(id: u32) -> AgentState {
    crate::support::agent(id, Tile { x: 0, y: 0 })
}

/// Feeds messages, draws until all is shown, and answers how it ended.
fn play(messages: &[ToClient]) -> (Client, Option<ProtocolError>) {
    let mut client = client();
    let mut scene = Scene::default();
    client.handle(b"WELCOME\n", RealTime::ZERO);
    let mut error = None;
    // A frame with each message, and a second of frames after the last.
    let after = std::iter::repeat_n(None, 150);
    for (number, message) in messages.iter().map(Some).chain(after).enumerate() {
        let now = RealTime::from_nanos(number as i64 * 7_000_000);
        if let Some(message) = message {
            client.handle(&frame(message), now);
        }
        client.handle_timeout(now);
        client.scene(now, &mut scene);
        while let Some(event) = client.poll_event() {
            if let ClientEvent::Ended { error: why, .. } = event {
                error = Some(why.expect("only errors end these"));
            }
        }
    }
    (client, error)
}

fn after_world(messages: impl IntoIterator<Item = ToClient>) -> Option<ProtocolError> {
    let all: Vec<_> = world().into_iter().chain(messages).collect();
    play(&all).1
}

/// A recording of 100 units with deaths at these.
fn recording(deaths: &[i64]) -> ToClient {
    let died = |at: &i64| Mark {
        at: GameTime::from_units(*at),
        count: 1,
        kind: MarkKind::Died { team: TeamId(0) },
    };
    ToClient::Recording(RecordingInfo {
        begin: GameTime::ZERO,
        end: GameTime::from_units(100),
        marks: deaths.iter().map(died).collect(),
    })
}

fn changes(units: i64, change: Change) -> ToClient {
    ToClient::Changes {
        at: GameTime::from_units(units),
        changes: vec![change],
    }
}

#[test]
fn each_error_ends_the_connection_with_a_reason() {
    let moved = |agent: u32, x: u16| Change::Moved {
        agent: AgentId(agent),
        tile: Tile { x, y: 0 },
        facing: Direction::North,
        forced: false,
    };
    let cases: Vec<(Vec<ToClient>, &str)> = vec![
        (vec![hello()], "a second hello came after the first"),
        (vec![changes(2, moved(7, 0))], "there is no agent AgentId(7)"),
        (
            vec![changes(2, moved(0, 3))],
            "tile Tile { x: 3, y: 0 } is not on the map",
        ),
        (
            vec![changes(0, moved(0, 0))],
            "changes of 0.000000000 u came after changes of 1.000000000 u",
        ),
        (
            vec![ToClient::Changes {
                at: GameTime::from_nanounits(i128::MAX),
                changes: vec![],
            }],
            "is out of range",
        ),
        (vec![ToClient::Ack { number: 99 }], "message 99 was acknowledged"),
        (
            vec![ToClient::TickBegin {
                number: 1,
                skipped: 0,
            }],
            "tick 1 began where tick 0 was due",
        ),
        (
            vec![ToClient::ProbeReply {
                token: 77,
                server_us: 0,
            }],
            "probe 77, which was not sent",
        ),
        (
            vec![
                ToClient::Clock(anchor(9, 0, 1, false)),
                ToClient::Clock(anchor(8, 0, 1, false)),
            ],
            "8 microseconds was sent after that at 9",
        ),
        (
            vec![ToClient::SnapshotEnd { at: GameTime::ZERO }],
            "the end of a world came without its pieces",
        ),
        (
            vec![ToClient::Sought(anchor(0, 5, 1, false))],
            "another moment came in a game that is being played",
        ),
        (
            vec![recording(&[]), recording(&[])],
            "a second recording came after the first",
        ),
        (
            vec![recording(&[7, 6])],
            "changes of 6.000000000 u came after changes of 7.000000000 u",
        ),
        (
            vec![changes(
                2,
                Change::Said {
                    agent: AgentId(0),
                    text: vec![b'x'; 257],
                },
            )],
            "more than 256 bytes in a broadcast",
        ),
        (vec![recording(&[101])], "101.000000000 u is out of range"),
        (
            vec![
                recording(&[]),
                ToClient::Sought(anchor(0, 5, 1, false)),
                changes(6, moved(0, 1)),
            ],
            "a change of the world came before the world was complete",
        ),
        (
            vec![ToClient::Waiting {
                agent: AgentId(0),
                commands: vec![None; COMMANDS_WAITING_MAX + 1],
            }],
            "waiting commands",
        ),
    ];
    for (messages, reason) in cases {
        let error = after_world(messages).expect(reason).to_string();
        assert!(error.contains(reason), "{error:?} should contain {reason:?}");
    }
}

/// A jump: the old picture stays until the new world is whole, and then game time may be less than it was.
#[test]
fn a_recording_jumps_back_with_a_world_of_its_own() {
    let mut client = client();
    let mut scene = Scene::default();
    let units = |scene: &Scene| scene.clock.game.as_units_f64();
    let second = |seconds: i64| RealTime::from_nanos(seconds * 1_000_000_000);
    client.handle(b"WELCOME\n", second(0));
    for message in world().into_iter().chain([recording(&[40])]) {
        client.handle(&frame(&message), second(0));
    }
    client.scene(second(0), &mut scene);
    client.scene(second(1), &mut scene);
    assert!((80.0..=100.0).contains(&units(&scene)));
    assert_eq!(client.recording().unwrap().marks().len(), 1);

    client.seek(GameTime::from_units(-3)).unwrap();
    assert_eq!(client.recording().unwrap().target(), Some(GameTime::ZERO));
    client.handle(
        &frame(&ToClient::Sought(anchor(1_000_000, 0, 100, true))),
        second(1),
    );
    // The hello, the credit for the first world, and this.
    client.handle(&frame(&ToClient::Ack { number: 3 }), second(1));
    let tiles = vec![Counts::ZERO; 6];
    client.handle(
        &frame(&ToClient::Snapshot(SnapshotPart::Ground { first: 0, tiles })),
        second(1),
    );
    client.scene(second(2), &mut scene);
    assert!(
        units(&scene) >= 80.0 && scene.agents.len() == 2,
        "the old picture stays"
    );
    assert_eq!(scene.link, LinkState::Live);
    let alone = ToClient::Snapshot(SnapshotPart::Agents(vec![agent(0)]));
    client.handle(&frame(&alone), second(2));
    client.handle(&frame(&ToClient::SnapshotEnd { at: GameTime::ZERO }), second(2));
    client.scene(second(2), &mut scene);
    assert_eq!((scene.clock.game, scene.agents.len()), (GameTime::ZERO, 1));
    assert_eq!(client.recording().unwrap().target(), None);
}

#[test]
fn the_last_picture_stays_and_says_why() {
    let mut all = world();
    all.push(hello());
    let (mut client, _) = play(&all);
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
    let far: Vec<Change> = (0..40_000)
        .map(|turn| Change::Moved {
            agent: AgentId(turn % 2),
            tile: Tile { x: 1, y: 1 },
            facing: Direction::ALL[turn as usize % 4],
            forced: turn % 3 == 0,
        })
        .collect();
    let message = ToClient::Changes {
        at: GameTime::from_units(i64::MAX),
        changes: far,
    };
    let mut all = world();
    all.extend(std::iter::repeat_n(message, 10));
    let (client, error) = play(&all);
    assert_eq!(error, None);
    let stats = client.stats(RealTime::from_nanos(1 << 30));
    assert_eq!(stats.pending, trantor_client::timeline::PENDING_MAX);
    assert_eq!(stats.hurried as usize, 400_000 - stats.pending);
}

#[test]
fn a_world_without_end_is_bounded() {
    let agents = |from: u32| SnapshotPart::Agents((from..from + 10_000).map(agent).collect());
    let mut all = world()[..3].to_vec();
    all.extend((0..11).map(|part| ToClient::Snapshot(agents(part * 10_000))));
    let error = play(&all).1.expect("more agents than there may be");
    assert!(error.to_string().contains("more than 100000 agents"), "{error}");
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

/// Whatever was said, what is drawn can be drawn.
fn check(scene: &Scene) -> Result<(), TestCaseError> {
    let Some(ground) = &scene.ground else {
        return Ok(());
    };
    prop_assert_eq!(ground.tiles.len(), ground.size.area());
    prop_assert!(
        ground
            .changed
            .iter()
            .all(|place| (*place as usize) < ground.tiles.len())
    );
    prop_assert!(scene.agents.windows(2).all(|pair| pair[0].id < pair[1].id));
    for agent in &scene.agents {
        let (width, height) = (f32::from(ground.size.width()), f32::from(ground.size.height()));
        prop_assert!((-4.0..width + 4.0).contains(&agent.x), "{:?}", agent);
        prop_assert!((-4.0..height + 4.0).contains(&agent.y), "{:?}", agent);
        prop_assert!(
            (0.0..std::f32::consts::TAU).contains(&agent.heading),
            "{:?}",
            agent
        );
        if let Some(action) = agent.action {
            prop_assert!((0.0..=1.0).contains(&action.progress));
            prop_assert!(action.remaining_units >= 0.0);
        }
    }
    for ritual in &scene.rituals {
        let held = scene.participants(ritual);
        prop_assert_eq!(held.len(), ritual.participants.len as usize);
        prop_assert!(
            held.iter()
                .all(|id| scene.agent(*id).is_some_and(|agent| agent.held))
        );
    }
    for effect in &scene.effects {
        prop_assert!((0.0..=1.0).contains(&effect.progress) && effect.age_units.is_finite());
    }
    Ok(())
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
            check(&scene)?;
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
            check(&scene)?;
        }
    }
}

/// Whatever delay a server names, a viewer that waits for the first picture is told of it, and then of what it receives.
#[test]
fn who_is_shown_the_past_knows_how_long_to_wait_for_it() {
    for delay_ms in [30_000, u32::MAX] {
        let mut client = client();
        let ToClient::Hello(mut hello) = hello() else {
            unreachable!("a hello is one")
        };
        hello.delay_ms = delay_ms;
        client.handle(b"WELCOME\n", RealTime::ZERO);
        client.handle(&frame(&ToClient::Hello(hello)), RealTime::ZERO);
        let at = |ms: i64| RealTime::from_nanos(ms * 1_000_000);
        let delayed = |left_ms| LinkState::Delayed { delay_ms, left_ms };
        assert_eq!(client.link(at(0)), delayed(delay_ms));
        assert_eq!(client.link(at(500)), delayed(delay_ms - 500));
        let tiles = vec![Counts::ZERO; 2];
        let part = SnapshotPart::Ground { first: 0, tiles };
        client.handle(&frame(&ToClient::Snapshot(part)), at(600));
        assert_eq!(client.link(at(600)), LinkState::Loading { tiles: 2, of: 6 });
    }
}
