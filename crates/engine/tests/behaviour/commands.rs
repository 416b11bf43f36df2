//! What agents ask for, and what the world does by itself: when it takes effect.

use trantor_engine::EngineConfig;
use trantor_game::AdminAction;
use trantor_model::{Counts, Tile};

use super::{amid_riches, instants, ms, ns, quiet};
use crate::harness::{Bench, game_config};

/// A hundred Forward without a gap, though every pass comes 0.4 ms late.
#[test]
fn back_to_back_commands_leave_no_gap() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.send(agent, &b"Forward\n".repeat(10));
    bench.take_heard();
    let began = bench.now;
    let mut heard = Vec::new();
    for _ in 0..100 {
        let due = bench.engine.poll_timeout().expect("a command is under way");
        bench.now = due + ns(400_000);
        bench.pass(|_, _| {});
        heard.extend(
            bench
                .take_heard()
                .into_iter()
                .map(|heard| (heard.real - began).as_nanos()),
        );
        bench.send(agent, b"Forward\n");
    }
    let expected: Vec<i64> = (1..=100).map(|step| step * 70_000_000 + 400_000).collect();
    assert_eq!(
        heard, expected,
        "the last one at 7.000 s, and as late as its own pass"
    );
}

#[test]
fn each_command_takes_its_time() {
    let table = [
        ("Forward", 7),
        ("Right", 7),
        ("Left", 7),
        ("Look", 7),
        ("Inventory", 1),
        ("Broadcast x", 7),
        ("Connect_nbr", 0),
        ("Fork", 42),
        ("Eject", 7),
        ("Take food", 7),
        ("Set food", 7),
        ("Incantation", 300),
    ];
    for (line, units) in table {
        let (mut bench, agent) = amid_riches();
        let began = bench.now;
        bench.send(agent, format!("{line}\n").as_bytes());
        bench.run_for(ms(4_000));
        assert_eq!(
            instants(&mut bench, agent, began).last(),
            Some(&(units * 10_000_000)),
            "{line}"
        );
    }
}

#[test]
fn what_is_not_understood_is_answered_and_costs_nothing() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    let viewer = bench.join("G", "GRAPHIC");
    bench.take_heard();
    bench.send(agent, b"dance\n\nforward\n");
    bench.send(viewer, b"dance\n\nppo x\n");
    assert_eq!(bench.lines(agent), ["ko", "ko", "ko"]);
    assert_eq!(bench.lines(viewer), ["suc", "suc", "sbp"]);
    assert_eq!(bench.engine.poll_timeout(), None);
    let now = bench.now;
    let counters = bench.engine.stats(now).counters;
    assert_eq!(
        (
            counters.commands_malformed,
            counters.gui_unknown,
            counters.gui_refused
        ),
        (3, 2, 1)
    );
}

#[test]
fn hunger_and_refill_are_scheduled_work_at_the_exact_unit() {
    let mut bench = Bench::new(EngineConfig::new(game_config(10, 10, 2)));
    let targets = [50_u64, 30, 15, 10, 10, 8, 5];
    assert_eq!(*bench.engine.game().world().ground_totals(), targets);
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "a full world has nothing to refill"
    );
    let began = bench.now;
    bench.run_for(ms(123));
    let agent = bench.join("A", "a");
    bench.take_heard();
    // Taken away at 12.3 units: topped up at 20, on the grid of the world and not of the change.
    bench.act(AdminAction::SetGround {
        tile: Tile { x: 0, y: 0 },
        ground: Counts::ZERO,
    });
    for x in 0..10 {
        bench.act(AdminAction::SetGround {
            tile: Tile { x, y: 3 },
            ground: Counts::ZERO,
        });
    }
    assert_eq!(bench.engine.poll_timeout(), Some(began + ms(200)));
    bench.run_for(ms(77));
    assert_eq!(*bench.engine.game().world().ground_totals(), targets);
    bench.run_for(ms(12_600));
    assert_eq!(
        instants(&mut bench, agent, began),
        [12_723_000_000; 2],
        "dead, 1260 units after birth, and the end"
    );
}
