//! What agents ask for, and what the world does by itself: when it takes effect.

use trantor_engine::EngineConfig;
use trantor_game::AdminAction;
use trantor_model::{Counts, Tile};

use super::{instants, ms, ns, quiet};
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
