//! What is drawn of a walking agent, frame by frame: from the rules of a real engine to the list that the graphics card is
//! given, over links from perfect to bad, and with a clock that is as wrong as those of cheap machines.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use glam::Vec2;
use trantor_client::{Client, ClientConfig, Language, Scene};
use trantor_engine::{ConnId, Engine, EngineConfig, Input};
use trantor_game::{GameConfig, Rules};
use trantor_model::Control::{self, Pause, Resume, SetFrequency};
use trantor_model::{AgentId, Direction, MapSize};
use trantor_render::picture::compose::Marks;
use trantor_render::picture::palette::Mood;
use trantor_render::picture::{CameraPose, Compose, Detail, DrawList, Options, Shape};
use trantor_time::{GameSpan, GameTime, RealTime};

const MILLI: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MILLI;
const WIDTH: f32 = 10.0;
const HERTZ: i64 = 144;
const STEPS: usize = 20;
/// The frames before the walk begins.
const WAIT_FRAMES: i64 = HERTZ / 2;

const VIEWER: ConnId = ConnId {
    slot: 0,
    generation: 0,
};
const PLAYER: ConnId = ConnId {
    slot: 1,
    generation: 0,
};

/// One direction of a link: bytes arrive in order, each piece after its own delay.
struct Link {
    /// The least delay, and how much more at most.
    delay: (i64, i64),
    seed: u64,
    under_way: VecDeque<(i64, Vec<u8>)>,
}

impl Link {
    fn send(&mut self, now: i64, bytes: Vec<u8>) {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let extra = (self.seed >> 33) as i64 % self.delay.1.max(1);
        let last = self.under_way.back().map_or(0, |(at, _)| *at);
        let at = last.max(now + self.delay.0 + extra);
        self.under_way.push_back((at, bytes));
    }

    fn receive(&mut self, now: i64) -> Option<Vec<u8>> {
        let is_here = self.under_way.front().is_some_and(|(at, _)| *at <= now);
        is_here.then(|| self.under_way.pop_front().unwrap().1)
    }
}

/// An engine with one agent, a viewer and the link between them, on one manual clock.
struct Watched {
    now: i64,
    engine: Engine,
    client: Client,
    up: Link,
    down: Link,
    /// How much faster the viewer's clock goes than the server's, in millionths.
    clock_off_ppm: i64,
    steps_left: usize,
}

impl Watched {
    /// With an agent that faces east.
    fn new(delay: (i64, i64), clock_off_ppm: i64) -> Self {
        let link = |seed| Link {
            delay,
            seed,
            under_way: VecDeque::new(),
        };
        let config = ClientConfig {
            language: Language::Frames,
            program: "test".to_owned(),
            token: None,
        };
        let mut watched = Self {
            now: 0,
            engine: (0..).map(engine).find(faces_east).unwrap(),
            client: Client::new(config, RealTime::ZERO),
            up: link(1),
            down: link(2),
            clock_off_ppm,
            steps_left: STEPS,
        };
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        watched
            .engine
            .handle(Input::Opened { conn: VIEWER, peer }, RealTime::ZERO);
        watched
    }

    /// What the viewer's clock shows.
    fn real(&self) -> RealTime {
        RealTime::from_nanos(self.now + self.now * self.clock_off_ppm / 1_000_000)
    }

    /// Sends steps, at most those that are left.
    fn walk(&mut self, count: usize) {
        let count = count.min(self.steps_left);
        self.steps_left -= count;
        let bytes = &b"Forward\n".repeat(count)[..];
        let input = Input::Bytes { conn: PLAYER, bytes };
        self.engine.handle(input, RealTime::from_nanos(self.now));
    }

    fn run_until(&mut self, until: i64) {
        while self.now < until {
            let next = self.engine.poll_timeout().map_or(i64::MAX, RealTime::as_nanos);
            self.now = next.clamp(self.now + 1, self.now + MILLI).min(until);
            self.pass();
        }
    }

    fn pass(&mut self) {
        let (now, real) = (RealTime::from_nanos(self.now), self.real());
        self.engine.begin_pass(now);
        while let Some(bytes) = self.up.receive(self.now) {
            let (conn, bytes) = (VIEWER, &bytes[..]);
            self.engine.handle(Input::Bytes { conn, bytes }, now);
        }
        while self.engine.fire_next(now).is_some() {}
        while self.engine.poll_output().is_some() {}
        while let Some(conn) = self.engine.next_dirty() {
            let bytes = self.engine.unsent(conn).to_vec();
            self.engine.sent(conn, bytes.len());
            match conn {
                VIEWER => self.down.send(self.now, bytes),
                _ => self.walk(bytes.iter().filter(|byte| **byte == b'\n').count()),
            }
        }
        while let Some(bytes) = self.down.receive(self.now) {
            self.client.handle(&bytes, real);
        }
        self.client.handle_timeout(real);
        let unsent = self.client.unsent().to_vec();
        if !unsent.is_empty() {
            self.client.sent(unsent.len());
            self.up.send(self.now, unsent);
        }
    }
}

fn engine(seed: u64) -> Engine {
    let config = EngineConfig::new(GameConfig {
        size: MapSize::new(10, 8).unwrap(),
        teams: vec!["red".to_owned()],
        places_per_team: 1,
        seed,
        rules: Rules::default(),
    });
    let (mut engine, now) = (Engine::new(config, RealTime::ZERO), RealTime::ZERO);
    let (conn, peer) = (PLAYER, IpAddr::V4(Ipv4Addr::LOCALHOST));
    engine.handle(Input::Opened { conn, peer }, now);
    let bytes = b"red\n";
    engine.handle(Input::Bytes { conn, bytes }, now);
    while let Some(conn) = engine.next_dirty() {
        engine.sent(conn, engine.unsent(conn).len());
    }
    engine
}

fn faces_east(engine: &Engine) -> bool {
    let agent = engine.game().world().agent(AgentId(0));
    agent.is_some_and(|agent| agent.facing == Direction::East)
}

#[derive(Clone, Copy, Debug)]
struct Drawn {
    real: i64,
    game: GameTime,
    /// How far east the body's feet are from where it set out, counted on across the seam.
    way: f32,
    delay_ns: i64,
}

/// Draws frames while the agent walks, and `meddle` does something before some; answers what each drew, and when each step
/// ends.
fn record(
    watched: &mut Watched,
    detail: Detail,
    frames: i64,
    mut meddle: impl FnMut(&mut Watched, i64),
) -> (Vec<Drawn>, Vec<GameTime>) {
    let pose = CameraPose::overview(Vec2::new(WIDTH, 8.0), 16.0 / 9.0, (Vec2::ZERO, Vec2::ONE));
    let options = Options {
        pixels: (1280, 720),
        mood: Mood::dusk(),
        paint_everywhere: false,
        middle: None,
        detail,
        elapsed_seconds: 1.0 / HERTZ as f32,
    };
    let (mut composer, mut list) = (Compose::default(), DrawList::default());
    let mut scene = Scene::default();
    let (mut drawn, mut walk_begin) = (Vec::<Drawn>::new(), GameTime::ZERO);
    let mut last_x = None;
    watched.run_until(3 * SECOND / 2);
    let start = watched.now;
    for frame in 0..frames {
        watched.run_until(start + (frame + 1) * SECOND / HERTZ);
        if frame == WAIT_FRAMES {
            walk_begin = watched.engine.game_clock().now(RealTime::from_nanos(watched.now));
            watched.walk(5);
        }
        meddle(watched, frame);
        watched.client.scene(watched.real(), &mut scene);
        composer.compose(&scene, &pose, &options, &Marks::default(), &mut list);
        let bodies = [Shape::Character, Shape::Figurine, Shape::Pawn];
        let mut bodies = bodies.iter().flat_map(|shape| &list.bodies[*shape as usize]);
        let x = bodies.next().expect("the walker is in the picture").position[0];
        let moved = x - last_x.replace(x).unwrap_or(x);
        let before = drawn.last().map_or(0.0, |last| last.way);
        drawn.push(Drawn {
            real: watched.now,
            game: scene.clock.game,
            way: before + moved - (moved / WIDTH).round() * WIDTH,
            delay_ns: watched.client.stats(watched.real()).display_delay_ns,
        });
    }
    let ends = (1..=STEPS as i64).map(|step| walk_begin + GameSpan::from_units(7 * step));
    (drawn, ends.collect())
}

/// A walk never goes back, moves in every frame, and arrives at its deadlines.
fn check_walk(drawn: &[Drawn], ends: &[GameTime]) {
    let (first, last) = (ends[0] - GameSpan::from_units(7), ends[STEPS - 1]);
    for pair in drawn.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        assert!(b.game >= a.game && b.way >= a.way - 1e-4, "back: {a:?} {b:?}");
        // A pause is come to ever more slowly, to the microsecond of the wire.
        let moves = a.game >= first && b.game <= last && (b.game - a.game).as_units_f64() > 1e-4;
        assert!(!moves || b.way > a.way, "drawn alike: {a:?} {b:?}");
    }
    for (step, end) in ends.iter().enumerate() {
        let there = (step + 1) as f32;
        let arrived = drawn.iter().position(|frame| frame.game >= *end).unwrap();
        let (before, at) = (drawn[arrived - 1], drawn[arrived]);
        assert!(before.way < there, "before its deadline: {before:?}");
        let (a_frame, late) = (at.way - before.way, at.way - there);
        assert!(
            (-1e-3..=a_frame + 1e-3).contains(&late),
            "not at {end:?}: {before:?} {at:?}"
        );
    }
    assert!((drawn.last().unwrap().way - STEPS as f32).abs() < 1e-3);
}

#[test]
fn no_two_frames_of_a_walk_are_drawn_alike_and_none_goes_back() {
    let speeds: &[(i64, Control)] = &[
        (100, SetFrequency(250)),
        (120, SetFrequency(20)),
        (260, SetFrequency(1_000)),
        (270, SetFrequency(60)),
    ];
    // One change comes while the game stands: nothing moves before it goes on.
    let pause: &[(i64, Control)] = &[
        (90, SetFrequency(40)),
        (130, Pause),
        (160, SetFrequency(180)),
        (200, Resume),
        (230, SetFrequency(100)),
    ];
    for (delay, clock_off_ppm, requests, detail) in [
        ((0, 0), 0, &[][..], Detail::FINE),
        ((2 * MILLI, 3 * MILLI), 0, &[], Detail::FINE),
        ((40 * MILLI, 20 * MILLI), 0, &[], Detail::FINE),
        ((0, 0), 0, pause, Detail::FINE),
        ((3 * MILLI, 4 * MILLI), 0, speeds, Detail::SWIFT),
        ((30 * MILLI, 15 * MILLI), 0, pause, Detail::FINE),
        ((10 * MILLI, 40 * MILLI), -100, pause, Detail::FINE),
        ((10 * MILLI, 40 * MILLI), 100, pause, Detail::SWIFT),
    ] {
        let mut watched = Watched::new(delay, clock_off_ppm);
        let (drawn, ends) = record(&mut watched, detail, 7 * HERTZ, |watched, frame| {
            if let Some((_, request)) = requests.iter().find(|(at, _)| *at == frame) {
                watched.client.request(request.clone()).unwrap();
            }
        });
        check_walk(&drawn, &ends);
        let stats = watched.client.stats(watched.real());
        assert_eq!(stats.late, 0, "{delay:?}, {clock_off_ppm} ppm");
        if !requests.is_empty() {
            continue;
        }
        // The deadline in real time, as late as the picture is by intent, give or take a frame and what is unknown of the
        // server's clock.
        for end in &ends {
            let deadline = watched.engine.game_clock().real_at(*end).unwrap().as_nanos();
            let shown = drawn.iter().find(|frame| frame.game >= *end).unwrap();
            let (off, unknown) = (shown.real - deadline - shown.delay_ns, stats.clock.error_bound_ns);
            assert!(
                (-unknown..=unknown + SECOND / HERTZ).contains(&off),
                "{off} {delay:?}"
            );
        }
    }
}

#[test]
fn changes_that_come_late_are_caught_up_with_without_a_jump() {
    let mut watched = Watched::new((5 * MILLI, 0), 0);
    let (drawn, _) = record(&mut watched, Detail::FINE, 4 * HERTZ, |watched, frame| {
        // For a second nothing takes less than a third of a second.
        match frame {
            130 => watched.down.delay = (300 * MILLI, 50 * MILLI),
            270 => watched.down.delay = (5 * MILLI, 0),
            _ => {}
        }
    });
    let stats = watched.client.stats(watched.real());
    assert!(stats.late > 0, "some were late, or this shows nothing");
    let walk = 100.0 / 7.0 / HERTZ as f32;
    for pair in drawn.windows(2) {
        let moved = pair[1].way - pair[0].way;
        assert!((-1e-4..8.0 * walk).contains(&moved), "back or leaping: {pair:?}");
    }
    assert!((drawn.last().unwrap().way - STEPS as f32).abs() < 1e-4);
    assert!(stats.display_delay_ns < 400 * MILLI);
}
