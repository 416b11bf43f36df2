//! Minds and a scenario in a server: a match of minds alone has one outcome, whatever carries it out.

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_engine::{Engine, EngineConfig};
use trantor_game::{Game, GameConfig, Lag, Replay, Rules, Snapshot};

use trantor_model::{
    AdminAction, AgentId, Change, Command, Control, Counts, MapSize, Resource, Show, ShownBy, Step, TeamId,
    Tile, TileMark, Turn,
};
use trantor_play::leap::{Ended, Leap};
use trantor_play::minds::{
    Act, Mind, MindFactory, MindGroup, MindKind, MindRate, MindSource, Newborn, OperatorView, Percept,
    Published, Scenario, ScenarioAct,
};
use trantor_time::link::{Chance, Order};
use trantor_time::{Frequency, GameSpan, GameTime, RealSpan, RealTime};

use crate::harness::{Arrival, Bench, Received, game_config};
use crate::{bench, ms};

/// Columns and rows of the map.
const SIDE: u16 = 6;

/// What happens before the first unit: nothing grows any more, so that all have starved some hundred units later and nothing
/// is due any more. A match that goes on until it is won takes ten times as long.
fn famine(seed: u64) -> impl Iterator<Item = AdminAction> {
    let agents = groups(seed).iter().map(|group| group.count).sum();
    let agents = (0..agents).map(AgentId);
    let take_food = |agent| AdminAction::SetInventory {
        agent,
        resource: Resource::Food,
        count: 1,
    };
    let refill = AdminAction::SetRefill { enabled: false };
    let clear = |tile| AdminAction::SetGround {
        tile,
        ground: Counts::ZERO,
    };
    let tiles = (0..SIDE * SIDE).map(|nth| Tile {
        x: nth % SIDE,
        y: nth / SIDE,
    });
    std::iter::once(refill)
        .chain(tiles.map(clear))
        .chain(agents.map(take_food))
}

/// Does something at times of its own, and answers messages: what a script may be.
struct Clockwork {
    rng: Pcg32,
    wakes_at: Option<GameTime>,
    heard: u32,
    percepts: u32,
}

impl Mind for Clockwork {
    fn perceive(&mut self, percept: &Percept) {
        self.percepts += 1;
        self.heard += u32::from(matches!(
            percept,
            Percept::Message { .. } | Percept::Pushed { .. }
        ));
    }

    /// What is published counts, so that it must be the same however the match is carried out.
    fn publish(&mut self, published: &Published) {
        self.percepts += published.living("red").unwrap_or(0);
    }

    fn decide(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        let answer = format!("{} {}", self.heard, self.percepts);
        if self.heard > 80 {
            self.heard = 0;
            acts.push(Act::Show(Show::Note(answer.clone().into())));
            acts.push(Act::Command(Command::Broadcast(answer.into_bytes().into())));
        }
        if self.wakes_at.is_none_or(|at| at <= now) {
            let command = match self.rng.next_u32() % 8 {
                0 => Command::Turn(Turn::Left),
                1 => Command::ConnectNbr,
                2 => Command::Eject,
                3..6 => Command::Take(Resource::Food),
                _ => Command::Forward,
            };
            acts.extend([Act::Command(command), Act::Join]);
            // Now and then in the past, and never twice at one instant.
            let wait = i128::from(self.rng.next_u32() % 12_000) - 1_000;
            self.wakes_at = Some(now + GameSpan::from_nanounits(wait * 1_000_000));
        }
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.wakes_at
    }
}

fn clockwork(born: &Newborn) -> Box<dyn Mind> {
    Box::new(Clockwork {
        rng: Pcg32::new(born.seed, born.index + u64::from(born.agent.0)),
        wakes_at: None,
        heard: 0,
        percepts: 0,
    })
}

/// A scenario that sows food for a while at times of its own, changes the speed, and closes and opens teams as agents die.
struct Sower {
    rng: Pcg32,
    acts: Vec<ScenarioAct>,
    deaths: u64,
    refused: u64,
    wakes_at: Option<GameTime>,
}

impl Sower {
    fn beside(seed: u64) -> Option<Box<dyn Scenario>> {
        let sower = Self {
            rng: Pcg32::new(seed, 3),
            acts: Vec::new(),
            deaths: 0,
            refused: 0,
            wakes_at: Some(GameTime::ZERO),
        };
        (seed % 2 == 1).then(|| Box::new(sower) as Box<dyn Scenario>)
    }

    /// Reads its lines, which are speeds. It sees its own instant, and the minds that are just acting.
    fn read_line(seen: &dyn OperatorView, line: &str) -> Result<(Vec<Control>, String), String> {
        assert_eq!(seen.pace().now, seen.game().now());
        assert!(!seen.mind_groups().is_empty());
        let speed = line.parse().expect("a speed");
        Ok((vec![Control::SetFrequency(speed)], String::new()))
    }

    fn request(&mut self, action: AdminAction) {
        let request = Control::Act(action);
        self.acts.push(ScenarioAct::Control { id: 0, request });
    }
}

impl Scenario for Sower {
    fn begin(&mut self, _: &Game) {}

    fn perceive(&mut self, _: &Game, change: &Change) {
        if matches!(change, Change::Died { .. }) {
            self.deaths += 1;
            let team = TeamId((self.deaths % 4) as u16);
            let action = match (self.deaths + self.refused) % 2 {
                0 => AdminAction::OpenTeam { team },
                _ => AdminAction::CloseTeam { team },
            };
            self.request(action);
        }
    }

    fn decide(&mut self, game: &Game, acts: &mut Vec<ScenarioAct>) {
        acts.append(&mut self.acts);
        let now = game.now();
        if self.wakes_at.is_none_or(|at| at > now) {
            return;
        }
        let mut below = |bound: u32| self.rng.next_u32() % bound;
        let wait = GameSpan::from_nanounits(i128::from(1 + below(60_000)) * 1_000_000);
        let side = u32::from(SIDE);
        let (x, y, speed) = (below(side) as u16, below(side) as u16, 100 + below(1_000));
        let (tile, ground) = (Tile { x, y }, Counts([3, 0, 0, 0, 0, 0, 0]));
        self.request(AdminAction::SetGround { tile, ground });
        let line = speed.to_string();
        self.acts.push(ScenarioAct::Line { id: 0, line });
        acts.append(&mut self.acts);
        self.wakes_at = Some(now + wait).filter(|at| *at < GameTime::from_units(300));
    }

    fn answered(&mut self, _: u64, answer: Result<String, String>) {
        self.refused += u64::from(answer.is_err());
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.wakes_at
    }
}

struct Factory<F>(F);

impl<F: FnMut(&Newborn) -> Box<dyn Mind>> MindFactory for Factory<F> {
    fn awaken(&mut self, born: &Newborn) -> Box<dyn Mind> {
        self.0(born)
    }
}

fn made(awaken: impl FnMut(&Newborn) -> Box<dyn Mind> + 'static) -> MindSource {
    let (name, factory) = ("made".to_owned(), Box::new(Factory(awaken)));
    MindSource::Made { name, factory }
}

fn group(
    team: u16,
    kind: Option<MindKind>,
    count: u32,
    every_milliunits: i128,
    think_milliunits: i128,
) -> MindGroup {
    let span = |milliunits| GameSpan::from_nanounits(milliunits * 1_000_000);
    MindGroup {
        team: TeamId(team),
        source: match kind {
            Some(kind) => MindSource::BuiltIn(kind),
            None => made(clockwork),
        },
        count,
        rate: MindRate {
            every: (every_milliunits > 0).then(|| span(every_milliunits)),
            think: span(think_milliunits),
        },
    }
}

/// Minds of all kinds, at rates and with thinking of their own.
fn groups(seed: u64) -> Vec<MindGroup> {
    let (team, random, trivial) = (
        Some(MindKind::Team),
        Some(MindKind::Random),
        Some(MindKind::Trivial),
    );
    let mut groups = vec![
        group(0, team, 2, 0, 0),
        group(0, team, 1, 7_000, 400),
        group(1, random, 1, 2_500, 0),
        group(1, None, 1, 0, 0),
    ];
    if seed.is_multiple_of(2) {
        groups.push(group(1, trivial, 1, 3_333, 1_200));
        groups.push(group(2, None, 2, 20_000, 3_000));
        groups.push(group(2, random, 1, 0, 5_000));
    }
    groups
}

fn config(seed: u64) -> GameConfig {
    GameConfig {
        size: MapSize::new(SIDE.into(), SIDE.into()).expect("a side is in range"),
        teams: vec!["red".to_owned(), "blue".to_owned(), "green".to_owned()],
        places_per_team: 3,
        seed,
        rules: Rules {
            lock_step: true,
            lag: (seed.is_multiple_of(3)).then_some(Lag {
                speed: None,
                latency: GameSpan::from_units(2),
                jitter_max: GameSpan::ZERO,
                loss: Chance::default(),
                duplication: Chance::default(),
                range: None,
                bandwidth: None,
                order: Order::Fifo,
            }),
            ..Rules::default()
        },
    }
}

/// How a match went: the digest of its end, the commands and the agents of it.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    digest: u64,
    steps: u64,
    decisions: Vec<u64>,
    joined: u64,
}

fn leapt(seed: u64) -> (Outcome, Vec<u8>) {
    let mut leap = Leap::with_groups(config(seed), groups(seed));
    leap.start_recording("test");
    if let Some(scenario) = Sower::beside(seed) {
        leap.direct(scenario, Sower::read_line);
    }
    for action in famine(seed) {
        assert_eq!(leap.control(Control::Act(action)), Ok(()));
    }
    assert_eq!(leap.run(None), Ended::NothingDue);
    let outcome = Outcome {
        digest: leap.game().digest(),
        steps: leap.game().steps(),
        decisions: leap.mind_groups().map(|group| group.decisions).collect(),
        joined: leap.joins(),
    };
    let mut journal = leap.take_journal();
    journal.extend(leap.stop_recording());
    (outcome, journal)
}

/// The same match in a server on a manual clock that is disturbed at random: passes come late and end early, the speed
/// changes, the game is paused and moved on in steps.
fn lived(seed: u64, frequency: u32, lock_step: bool) -> (Outcome, Vec<u8>) {
    let mut rng = Pcg32::new(seed, u64::from(frequency));
    let mut below = move |bound: u32| rng.next_u32() % bound;
    let unit_ns = 1_000_000_000 / i64::from(frequency);
    let mut config = EngineConfig::new(config(seed));
    config.frequency = Frequency::new(u64::from(frequency)).expect("a frequency is in range");
    config.lock_step = lock_step.then(|| ms(1_000));
    config.overload_max = Some(RealSpan::from_nanos(20 * unit_ns));
    let mut now = RealTime::ZERO;
    let mut engine = Engine::new(config, now);
    engine.start_recording();
    now += ms(5);
    engine.add_minds(groups(seed)).expect("a game has room for minds");
    if let Some(scenario) = Sower::beside(seed) {
        engine
            .direct(scenario, Sower::read_line)
            .expect("a game has room for a scenario");
    }
    let mut journal = Vec::new();
    let mut has_begun = false;
    while let Some(due) = engine.poll_timeout() {
        now = now.max(due);
        if below(4) == 0 {
            // Now and then later than the game may lag, so that it slips.
            let late_units_max = if below(8) == 0 { 40 } else { 3 };
            now += RealSpan::from_nanos(i64::from(below(late_units_max)) * unit_ns);
        }
        engine.begin_pass(now);
        let is_begun = engine.game().world().agents().len() > 0;
        if is_begun && !std::mem::replace(&mut has_begun, true) {
            for action in famine(seed) {
                engine
                    .control(Control::Act(action), now)
                    .expect("an operator may act");
            }
        }
        let mut fires = 1 + below(100);
        while fires > 0 && engine.fire_next(now).is_some() {
            fires -= 1;
        }
        while let Some(bytes) = engine.poll_journal() {
            journal.extend(bytes.bytes);
        }
        while engine.poll_output().is_some() {}
        if !lock_step && below(64) == 0 {
            engine
                .control(Control::SetFrequency(frequency - below(frequency / 2)), now)
                .expect("the frequency is in range");
            engine.control(Control::Pause, now).expect("a game can be paused");
            now += ms(i64::from(below(3_000)));
            engine.begin_pass(now);
            for step in [Step::Units(1 + below(5)), Step::Event] {
                let _nothing_due = engine.control(Control::Step(step), now);
                for _ in 0..below(20) {
                    let _fired = engine.fire_next(now);
                }
            }
            engine
                .control(Control::Resume, now)
                .expect("a game can be resumed");
        }
    }
    assert!(lock_step || engine.stats(now).slips > 0, "the clock slips too");
    let outcome = Outcome {
        digest: engine.game().digest(),
        steps: engine.game().steps(),
        decisions: engine.mind_groups().map(|group| group.decisions).collect(),
        joined: engine.stats(now).counters.joined,
    };
    journal.extend(engine.stop_recording().into_iter().flat_map(|bytes| bytes.bytes));
    (outcome, journal)
}

fn is_replayed(journal: Vec<u8>) -> u64 {
    let replay = Replay::open(journal).expect("a journal can be read");
    replay.verify().expect("a replay is exact").game.digest()
}

#[test]
fn a_match_of_minds_has_one_outcome() {
    // With and without a scenario, each with and without lag and in lock-step; every speed twice.
    for seed in 1..=6 {
        let (outcome, journal) = leapt(seed);
        assert_eq!(is_replayed(journal), outcome.digest, "a replay needs no minds");
        let speed = [100, 1_000, 10_000][seed as usize / 2 % 3];
        let in_lock_step = [1, 2, 3, 6].contains(&seed).then_some((100, true));
        for (frequency, lock_step) in [(speed, false)].into_iter().chain(in_lock_step) {
            let (same, journal) = lived(seed, frequency, lock_step);
            assert_eq!(
                same, outcome,
                "seed {seed}, {frequency} units/s, lock-step {lock_step}"
            );
            assert_eq!(is_replayed(journal), outcome.digest);
        }
    }
}

/// Turns for ever, and shows how often.
#[derive(Default)]
struct Thinker(u32);

impl Mind for Thinker {
    fn perceive(&mut self, _: &Percept) {
        self.0 += 1;
    }

    fn decide(&mut self, _: GameTime, acts: &mut Vec<Act>) {
        let mark = TileMark {
            tiles: vec![Tile { x: 1, y: 1 }, Tile { x: 99, y: 1 }],
            colour: [255, 0, 0],
            text: "home".into(),
        };
        let key = "home".into();
        let card = Show::Card {
            name: "turns".into(),
            value: self.0.to_string().into(),
        };
        let shows = [
            Show::Note(format!("turned {}", self.0).into()),
            Show::Mark { key, mark },
            card,
        ];
        acts.extend(shows.map(Act::Show));
        acts.push(Act::Command(Command::Turn(Turn::Left)));
    }

    fn wake_at(&self) -> Option<GameTime> {
        None
    }
}

#[test]
fn what_a_mind_shows_reaches_viewers_and_goes_with_its_agent() {
    let mut bench = bench(5, 5, 8);
    let viewer = bench.watch("V");
    let mut thinkers = group(0, None, 1, 0, 0);
    thinkers.source = made(|_| Box::<Thinker>::default());
    bench
        .engine
        .add_minds(vec![thinkers])
        .expect("a game has room for minds");
    bench.run_for(ms(1_060));
    let late = bench.watch("W");
    let by = ShownBy::Agent(AgentId(0));
    let shown = |bench: &mut Bench, peer| bench.viewer(peer).shown.get(&by).cloned();
    for peer in [viewer, late] {
        let shown = shown(&mut bench, peer).expect("it shows something");
        // A turn takes seven units of ten milliseconds.
        assert_eq!((&*shown.note, &*shown.cards[0].1), ("turned 15", "15"));
        assert_eq!(
            shown.marks[0].1.tiles,
            [Tile { x: 1, y: 1 }],
            "the other one is off the map"
        );
    }
    bench.act(AdminAction::Kill { agent: AgentId(0) });
    bench.run_for(ms(100));
    assert_eq!([viewer, late].map(|peer| shown(&mut bench, peer)), [None, None]);
    let late = bench.watch("X");
    assert!(bench.viewer(late).shown.is_empty());
}

/// Does the same at each decision, and is woken once if at all.
struct Plain {
    acts: Vec<Act>,
    wakes_at: Option<GameTime>,
}

impl Mind for Plain {
    fn perceive(&mut self, _: &Percept) {}

    fn decide(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        acts.extend_from_slice(&self.acts);
        self.wakes_at = self.wakes_at.filter(|at| *at > now);
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.wakes_at
    }
}

#[test]
fn messages_of_minds_are_not_charged_to_the_players_of_their_team() {
    let mut config = EngineConfig::new(game_config(5, 5, 8));
    config.limits.fan_out_per_second = 20;
    let mut bench = Bench::new(config);
    let [_, player, hearer] = ["a", "a", "b"].map(|team| bench.join(team, team));
    let shout = Act::Command(Command::Broadcast((*b"hey").into()));
    let acts = vec![shout];
    let mut shouters = group(0, None, 4, 7_000, 0);
    shouters.source = made(move |_| {
        let (acts, wakes_at) = (acts.clone(), None);
        Box::new(Plain { acts, wakes_at })
    });
    bench.engine.add_minds(vec![shouters]).expect("a game has room");
    bench.run_for(ms(3_000));
    bench.received.clear();
    bench.send(player, b"Broadcast player\n");
    bench.run_for(ms(80));
    let heard = bench.received.iter().filter(|received| received.peer == hearer);
    let is_from_player = |received: &Received| match &received.what {
        Arrival::Bytes(bytes) => bytes.windows(6).any(|word| word == b"player"),
        _ => false,
    };
    assert_eq!(heard.filter(|received| is_from_player(received)).count(), 1);
}

#[test]
fn minds_that_sleep_cause_no_wake_up() {
    let mut bench = crate::quiet(100);
    let at = GameTime::from_units(5_000);
    let mut sleepers = group(0, None, 8, 0, 0);
    sleepers.source = made(move |_| {
        let (acts, wakes_at) = (Vec::new(), Some(at));
        Box::new(Plain { acts, wakes_at })
    });
    bench.engine.add_minds(vec![sleepers]).expect("a game has room");
    bench.run_for(ms(1_000));
    let woken = bench.engine.game_clock().real_at(at);
    assert_eq!(
        bench.engine.poll_timeout(),
        woken,
        "the next is when they asked to be woken"
    );
    bench.run_for(ms(100_000));
    assert_eq!(bench.engine.poll_timeout(), None);
    assert_eq!(
        bench.engine.mind_groups().next().map(|group| group.decisions),
        Some(16)
    );
}

#[test]
fn minds_of_a_resumed_game_join_again_as_new_agents() {
    let mut bench = bench(5, 5, 8);
    let minds = || vec![group(0, Some(MindKind::Random), 3, 0, 0)];
    assert_eq!(bench.engine.add_minds(minds()), Ok(3));
    bench.run_for(ms(1_000));
    let saved = bench.engine.state_to_save().encode();
    let game = Snapshot::decode(&saved)
        .and_then(Game::restore)
        .expect("a whole save");
    let config = bench.engine.config().clone();
    bench.replace_engine(Engine::resume(config, game, bench.now));
    assert_eq!(bench.engine.game().world().agents().len(), 0);
    assert_eq!(bench.engine.add_minds(minds()), Ok(3));
    bench.run_for(ms(1_000));
    let ids: Vec<u32> = bench
        .engine
        .game()
        .world()
        .agents()
        .map(|agent| agent.id.0)
        .collect();
    assert_eq!(ids, [3, 4, 5]);
    let minds = ids.iter().filter_map(|id| bench.engine.mind_of(AgentId(*id)));
    assert_eq!(minds.collect::<Vec<_>>(), ["random"; 3]);
    assert!(bench.engine.mind_groups().all(|group| group.decisions > 3));
}
