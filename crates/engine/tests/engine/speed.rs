//! Game time against real time: units, changes of speed, pauses, a century.

use trantor_engine::{EngineConfig, FiredKind};
use trantor_model::Control;
use trantor_time::{Frequency, GameSpan, GameTime};

use super::{ms, ns, quiet, quiet_with};
use crate::harness::{Arrival, game_config};

/// A hundred Forward without a gap, though every pass comes 0.4 ms late.
#[test]
fn back_to_back_commands_leave_no_gap() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.send(agent, &b"Forward\n".repeat(10));
    bench.take_received();
    let began = bench.now;
    let mut received = Vec::new();
    for _ in 0..100 {
        let due = bench.engine.poll_timeout().expect("a command is under way");
        bench.now = due + ns(400_000);
        bench.pass(|_, _| {});
        received.extend(
            bench
                .take_received()
                .into_iter()
                .map(|received| (received.real - began).as_nanos()),
        );
        bench.send(agent, b"Forward\n");
    }
    let expected: Vec<i64> = (1..=100).map(|step| step * 70_000_000 + 400_000).collect();
    assert_eq!(
        received, expected,
        "the last one at 7.000 s, and as late as its own pass"
    );
}

/// A thousand units take a tenth of a second, and the pass that notices comes a second later.
#[test]
fn a_sprint_that_is_noticed_late_ends_at_its_unit() {
    let mut bench = quiet(100);
    let began = bench.engine.game_now();
    bench.control(Control::Sprint(1_000)).unwrap();
    bench.now += ms(1_100);
    bench.pass(|_, _| {});
    assert_eq!(bench.engine.game_now() - began, GameSpan::from_units(1_100));
}

/// Ten thousand changes at random: the units that passed are the sum over the frequencies, exactly, and the
/// order of completion is that of a run without any change.
#[test]
fn ten_thousand_changes_lose_no_time_and_no_order() {
    let lines = ["Forward\n", "Inventory\n", "Fork\n", "Left\n", "Look\n"];
    let run = |changes: usize| {
        let mut bench = quiet(100);
        let agents: Vec<_> = (0..5)
            .map(|number| bench.join(&number.to_string(), "a"))
            .collect();
        for (agent, line) in agents.iter().zip(lines) {
            bench.send(*agent, line.repeat(10).as_bytes());
        }
        bench.take_received();
        let game_began = bench.engine.game_now();
        let mut passed_nu = 0;
        let mut chance: u64 = 99;
        for _ in 0..changes {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let frequency = 1 + (chance >> 40) as u32 % 1_000;
            let gap = ns((chance >> 33) as i64 % 200_000);
            bench.control(Control::SetFrequency(frequency)).unwrap();
            bench.run_for(gap);
            passed_nu += i128::from(gap.as_nanos()) * i128::from(frequency);
        }
        let shown = bench.engine.game_clock().now(bench.now) - game_began;
        assert_eq!(
            shown.as_nanounits(),
            passed_nu,
            "game time is the integral of the frequency"
        );
        bench.control(Control::SetFrequency(1_000)).unwrap();
        bench.run_for(ms(2_000));
        bench
            .take_received()
            .into_iter()
            .map(|received| (received.game, received.peer, received.what))
            .collect::<Vec<_>>()
    };
    let (changed, steady) = (run(10_000), run(0));
    let what = |received: &(GameTime, usize, Arrival)| (received.1, received.2.clone());
    assert_eq!(
        changed.iter().map(what).collect::<Vec<_>>(),
        steady.iter().map(what).collect::<Vec<_>>()
    );
    assert!(changed.len() == 50);
}

/// A game without a limit on its lag may be behind for ever, and is to be seen and operated meanwhile.
#[test]
fn timers_do_not_wait_until_a_game_without_a_limit_has_caught_up() {
    let mut config = EngineConfig::new(game_config(10, 10, 10));
    config.overload_max = None;
    config.frequency = Frequency::new(10_000).unwrap();
    let mut bench = quiet_with(config);
    let agents: Vec<usize> = (0..10).map(|nth| bench.join(&format!("A{nth}"), "a")).collect();
    bench.watch("V");
    let mut kinds = Vec::new();
    for pass in 0..2_000 {
        // A deadline a pass, and meanwhile each agent has carried out fourteen commands by right.
        bench.now += ms(10);
        bench.engine.begin_pass(bench.now);
        bench.hand_in(agents[pass % agents.len()], b"Left\nLeft\n");
        kinds.extend(bench.engine.fire_next(bench.now).map(|fired| fired.kind));
        bench.after_pass();
    }
    let is_game = |kind: &&FiredKind| matches!(kind, FiredKind::Game(_));
    let commands = kinds.iter().filter(is_game).count();
    assert!(
        (1_000..1_950).contains(&commands),
        "{commands} of {}",
        kinds.len()
    );
}

/// When passes come too late for the speed that was set, the game slows, and says by how much.
#[test]
fn a_shortfall_shows_in_the_figures() {
    let mut bench = quiet(10_000);
    let agent = bench.join("A", "a");
    bench.send(agent, &b"Left\n".repeat(10));
    bench.now += ms(1_000);
    // One deadline a pass, and each pass a second after the last: far too slow for what is due.
    let mut lateness = Vec::new();
    for _ in 0..3 {
        bench.engine.begin_pass(bench.now);
        lateness.extend(bench.engine.fire_next(bench.now).map(|fired| fired.lateness_ns));
        bench.after_pass();
        bench.now += ms(1_000);
    }
    let now = bench.now;
    let stats = bench.engine.stats(now);
    assert_eq!(lateness, [250_000_000; 3], "no more than the lag allowed");
    assert_eq!(stats.slips, 3);
    assert!(stats.slipped.as_units_f64() > 7_400.0, "{:?}", stats.slipped);
    assert_eq!(
        bench.lines(agent).iter().filter(|line| *line == "ok").count(),
        3,
        "and nothing is lost"
    );
}
