//! Meals that no viewer sees do not wake the server. They are carried out with its next wake-up, as if they had.

use proptest::prelude::*;
use trantor_engine::{AdminRequest, EngineConfig};
use trantor_game::AdminAction;
use trantor_model::{AgentId, Resource};
use trantor_time::{GameTime, RealTime};

use super::{instants, ms};
use crate::harness::{Bench, game_config};

/// How long one food lasts at 100 units a second.
const MEAL_MS: i64 = 1_260;

/// Life of an agent that never eats, at that speed.
const LIFE_MS: i64 = 10 * MEAL_MS;

fn hungry(places: u32) -> Bench {
    let mut bench = Bench::new(EngineConfig::new(game_config(10, 10, places)));
    bench.act(AdminAction::SetRefill { enabled: false });
    bench
}

#[test]
fn silent_agents_wake_the_server_when_the_first_starves_and_not_before() {
    let mut bench = hungry(50);
    let agents: Vec<(usize, RealTime)> = (0..50)
        .map(|index| {
            bench.run_for(ms(3));
            (bench.join(&format!("A{index}"), "a"), bench.now)
        })
        .collect();
    for (agent, born) in agents {
        bench.take_received();
        let death = born + ms(LIFE_MS);
        assert_eq!(bench.engine.poll_timeout(), Some(death));
        bench.run_until(death);
        assert_eq!(instants(&mut bench, agent, death).first(), Some(&0));
    }
    let stats = bench.engine.stats(bench.now);
    assert_eq!((stats.slips, stats.lateness.max_ns), (0, 0));
}

/// Thousands of meals at once would take long.
#[test]
fn meals_do_not_pile_up() {
    let mut bench = hungry(16);
    for index in 0..16 {
        bench.join(&format!("A{index}"), "a");
        bench.act(AdminAction::SetInventory {
            agent: AgentId(index),
            resource: Resource::Food,
            count: 100_000,
        });
    }
    // Beyond the end of the food that they were born with.
    let born = bench.now;
    bench.run_until(born + ms(LIFE_MS));
    let next_meal = born + ms(LIFE_MS + MEAL_MS);
    assert_eq!(
        bench.engine.poll_timeout(),
        Some(next_meal + ms(2_048 / 16 * MEAL_MS))
    );
}

/// A throttled command takes effect when it came, before a meal after that.
#[test]
fn a_throttled_command_comes_before_a_later_meal() {
    let mut bench = hungry(2);
    let [busy, idle] = [bench.join("A", "a"), bench.join("B", "a")];
    let born = bench.now;
    bench.run_until(born + ms(1_185));
    bench.send(busy, b"Left\n");
    bench.take_received();
    bench.engine.begin_pass(born + ms(1_250));
    bench.now = born + ms(1_257);
    bench.hand_in(idle, b"Left\n");
    // Its budget is spent with the other agent's answer.
    bench.engine.fire_next(born + ms(1_258));
    bench.after_pass();
    bench.now = born + ms(1_265);
    bench.pass(|_, _| {});
    bench.run_until(born + ms(1_400));
    assert_eq!(instants(&mut bench, idle, born), [1_327_000_000]);
}

#[derive(Clone, Debug)]
enum Step {
    Wait(i64),
    Join,
    WatchText,
    WatchFrames,
    Say(usize, &'static str),
    Close(usize),
    Admin(AdminRequest),
}

fn step() -> impl Strategy<Value = Step> {
    let food = (0..4u32, 0..60u32).prop_map(|(agent, count)| AdminAction::SetInventory {
        agent: AgentId(agent),
        resource: Resource::Food,
        count,
    });
    let lines = vec![
        "Inventory\n",
        "Set food\nInventory\n",
        "Take food\n",
        "Fork\n",
        "Left\nLeft\n",
        "pin #0\n",
    ];
    prop_oneof![
        // Whole meals of an agent that was born with the game, so that instants coincide, and others.
        3 => (1i64..8).prop_map(|meals| Step::Wait(meals * MEAL_MS)),
        4 => (0i64..4_000).prop_map(Step::Wait),
        4 => Just(Step::Join),
        1 => Just(Step::WatchText),
        1 => Just(Step::WatchFrames),
        6 => (0..8usize, prop::sample::select(lines)).prop_map(|(peer, line)| Step::Say(peer, line)),
        2 => (0..8usize).prop_map(Step::Close),
        2 => food.prop_map(|food| Step::Admin(AdminRequest::Act(food))),
        1 => any::<bool>().prop_map(|enabled| Step::Admin(AdminRequest::Act(AdminAction::SetHunger { enabled }))),
        1 => prop::sample::select(vec![50, 100, 300]).prop_map(|to| Step::Admin(AdminRequest::SetFrequency(to))),
        1 => Just(Step::Admin(AdminRequest::Pause)),
        2 => Just(Step::Admin(AdminRequest::Resume)),
        1 => (1..300u32).prop_map(|units| Step::Admin(AdminRequest::Sprint(units))),
    ]
}

/// A run; with `on_time`, passes begin at the instants of all deadlines, as if all meals had to be seen.
struct Run {
    bench: Bench,
    on_time: bool,
}

impl Run {
    fn new(on_time: bool) -> Self {
        let mut bench = hungry(8);
        bench.engine.start_recording();
        Self { bench, on_time }
    }

    fn take(&mut self, step: &Step) {
        let bench = &mut self.bench;
        let of = |bench: &Bench, index: usize| {
            let open: Vec<usize> = (0..bench.peers.len())
                .filter(|peer| bench.peers[*peer].is_open)
                .collect();
            open.get(index % open.len().max(1)).copied()
        };
        match step {
            Step::Wait(millis) => self.run_until(self.bench.now + ms(*millis)),
            Step::Join => drop(bench.join("A", "a")),
            Step::WatchText => drop(bench.join("G", "GRAPHIC")),
            Step::WatchFrames => drop(bench.watch("V")),
            Step::Say(index, line) => {
                if let Some(peer) = of(bench, *index).filter(|peer| bench.peers[*peer].viewer.is_none()) {
                    bench.send(peer, line.as_bytes());
                }
            }
            Step::Close(index) => {
                if let Some(peer) = of(bench, *index) {
                    bench.close(peer);
                }
            }
            // Refusals are part of the run.
            Step::Admin(request) => drop(bench.admin(request.clone())),
        }
    }

    fn run_until(&mut self, until: RealTime) {
        let deadline = |bench: &Bench| {
            let at: Option<GameTime> = bench.engine.game().next_deadline();
            at.and_then(|at| bench.engine.game_clock().real_at(at))
        };
        while self.on_time
            && let Some(at) = deadline(&self.bench).filter(|at| *at <= until)
        {
            self.bench.run_until(at);
        }
        self.bench.run_until(until);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn meals_carried_out_late_change_nothing_observable(steps in prop::collection::vec(step(), 1..40)) {
        let [mut late, mut on_time] = [false, true].map(Run::new);
        for step in &steps {
            late.take(step);
            on_time.take(step);
            prop_assert_eq!(late.bench.take_received(), on_time.bench.take_received(), "{:?}", step);
            let digest = |run: &Run| run.bench.engine.game().digest();
            prop_assert_eq!(digest(&late), digest(&on_time), "{:?}", step);
        }
        late.bench.assert_replays();
    }
}
