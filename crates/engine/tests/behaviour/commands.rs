//! What agents ask for, and what the world does by itself: when it takes effect.

use trantor_engine::{AdminRequest, EngineConfig};
use trantor_game::AdminAction;
use trantor_model::{AgentId, Counts, Direction, Resource, Tile};

use super::{amid_riches, instants, ms, ns, quiet};
use crate::harness::{Bench, game_config};

#[test]
fn one_command_at_a_time_in_order_and_at_once_if_idle() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.take_heard();
    let began = bench.now;
    bench.send(agent, b"Inventory\nLeft\nConnect_nbr\nInventory\n");
    bench.run_for(ms(500));
    assert_eq!(
        instants(&mut bench, agent, began),
        [10_000_000, 80_000_000, 80_000_000, 90_000_000]
    );
    // Idle, at a moment that is no whole unit: it starts there and then.
    bench.run_for(ns(3_333_333));
    let began = bench.now;
    bench.send(agent, b"Left\n");
    bench.run_for(ms(100));
    assert_eq!(instants(&mut bench, agent, began), [70_000_000]);
}

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
fn ten_commands_wait_and_the_eleventh_is_dropped_and_counted() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.take_heard();
    bench.send(agent, &b"Left\n".repeat(11));
    bench.send(agent, b"Left\n");
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).counters.commands_dropped, 2);
    bench.run_for(ms(5_000));
    assert_eq!(bench.lines(agent).len(), 10);
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

#[test]
fn conditions_are_checked_when_they_count() {
    // An item that is there when it is asked for and gone when the delay ends; and the other way round.
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.put_agent(0, 5, 5, Direction::North);
    bench.take_heard();
    let tile = Tile { x: 5, y: 5 };
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts([1; 7]),
    });
    bench.send(agent, b"Take phiras\n");
    bench.run_for(ms(69));
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts::ZERO,
    });
    bench.run_for(ms(1));
    assert_eq!(bench.lines(agent), ["ko"]);
    bench.send(agent, b"Take phiras\n");
    bench.run_for(ms(69));
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts([1; 7]),
    });
    bench.run_for(ms(1));
    assert_eq!(bench.lines(agent), ["ok"]);
    // An elevation: refused at the start, or at the end.
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts::ZERO,
    });
    bench.send(agent, b"Incantation\n");
    assert_eq!(bench.lines(agent), ["ko"]);
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts([1; 7]),
    });
    bench.send(agent, b"Incantation\n");
    bench.run_for(ms(2_999));
    assert_eq!(bench.lines(agent), ["Elevation underway"]);
    bench.act(AdminAction::SetGround {
        tile,
        ground: Counts::ZERO,
    });
    bench.run_for(ms(1));
    assert_eq!(bench.lines(agent), ["ko"]);
}

#[test]
fn nothing_of_a_dead_or_departed_agent_is_left() {
    let mut bench = quiet(100);
    bench.act(AdminAction::SetHunger { enabled: true });
    let [killed, gone] = [bench.join("A", "a"), bench.join("B", "b")];
    bench.take_heard();
    for agent in [killed, gone] {
        bench.send(agent, &b"Forward\n".repeat(10));
    }
    bench.run_for(ms(10));
    bench.act(AdminAction::Kill { agent: AgentId(0) });
    assert_eq!(bench.lines(killed), ["dead", "[end]"]);
    bench.close(gone);
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "no command, no hunger, no limit is pending"
    );
    assert_eq!(bench.engine.game().world().agents().len(), 0);
}

/// Everybody's stock of one resource, for the reader who wants to see that operators' words arrive.
#[test]
fn operators_reach_into_the_world_and_are_refused_in_words() {
    let mut bench = quiet(100);
    bench.join("A", "a");
    bench.act(AdminAction::SetInventory {
        agent: AgentId(0),
        resource: Resource::Sibur,
        count: 5,
    });
    let agent = bench.engine.game().world().agent(AgentId(0)).expect("it lives");
    assert_eq!(agent.inventory()[Resource::Sibur], 5);
    for (request, words) in [
        (
            AdminRequest::Act(AdminAction::Kill { agent: AgentId(9) }),
            "no such agent",
        ),
        (AdminRequest::Kick(AgentId(9)), "nobody plays agent 9"),
        (AdminRequest::SetFrequency(0), "from 1 to 10000"),
        (AdminRequest::Start, "started already"),
        (AdminRequest::Say(b"a\nb".to_vec()), "one line"),
    ] {
        let refusal = bench.admin(request).expect_err("it does not fit");
        assert!(refusal.to_string().contains(words), "{refusal}");
    }
}
