//! Input takes effect at the instant at which it came, also where that lies within a pass, after deadlines that the pass
//! has not carried out yet.

use trantor_engine::{CloseCause, EngineConfig, Input};
use trantor_game::AdminAction;
use trantor_model::AgentId;
use trantor_time::RealTime;

use super::{instants, ms, ns, quiet, quiet_with};
use crate::harness::{Bench, game_config};

/// A pass that begins at `begun`, reads at `arrived`, and then carries out what is due.
fn read_late(bench: &mut Bench, begun: RealTime, arrived: RealTime, inputs: &[(usize, &[u8])]) {
    bench.now = begun;
    bench.engine.begin_pass(begun);
    bench.now = arrived;
    for &(peer, bytes) in inputs {
        let conn = bench.peers[peer].conn;
        bench.engine.handle(Input::Bytes { conn, bytes }, arrived);
    }
    bench.pass(|_, _| {});
}

#[test]
fn a_command_starts_when_it_came_and_not_when_the_pass_began() {
    for busy in [false, true] {
        let mut bench = quiet(100);
        let [first, second] = [bench.join("A", "a"), bench.join("B", "b")];
        bench.take_heard();
        let began = bench.now;
        if busy {
            // What ends between the beginning of the pass and the read.
            bench.send(first, b"Left\n");
        }
        read_late(&mut bench, began + ms(60), began + ms(75), &[(second, b"Left\n")]);
        bench.run_for(ms(300));
        assert_eq!(instants(&mut bench, second, began), [145_000_000], "{busy}");
    }
}

/// The longest chain of held-up stamps: many commands come in one pass, each later than a deadline that is due.
#[test]
fn each_command_of_a_pass_has_its_own_instant() {
    let mut bench = quiet(100);
    let busy = bench.join("A", "a");
    let idle: Vec<usize> = (0..5)
        .map(|index| bench.join(&format!("B{index}"), "b"))
        .collect();
    bench.take_heard();
    let began = bench.now;
    bench.send(busy, b"Left\n");
    bench.engine.begin_pass(began + ms(60));
    for (index, peer) in (0..).zip(&idle) {
        let conn = bench.peers[*peer].conn;
        bench.now = began + ms(75) + ns(index * 1_000);
        bench.engine.handle(
            Input::Bytes {
                conn,
                bytes: b"Left\n",
            },
            bench.now,
        );
    }
    bench.pass(|_, _| {});
    bench.run_for(ms(300));
    for (index, peer) in (0..).zip(idle) {
        let heard: Vec<i64> = bench
            .heard
            .iter()
            .filter(|heard| heard.peer == peer)
            .map(|heard| (heard.real - began).as_nanos())
            .collect();
        assert_eq!(heard, [145_000_000 + index * 1_000]);
    }
}

#[test]
fn the_queue_of_ten_is_that_of_the_instant_at_which_a_command_came() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.take_heard();
    let began = bench.now;
    bench.send(agent, &b"Left\n".repeat(10));
    // The first of them was answered by then.
    read_late(&mut bench, began + ms(60), began + ms(75), &[(agent, b"Right\n")]);
    bench.run_for(ms(1_000));
    assert_eq!(bench.lines(agent).len(), 11);
    assert_eq!(bench.engine.stats(bench.now).counters.commands_dropped, 0);
}

#[test]
fn who_leaves_after_the_end_of_a_fork_leaves_an_egg_and_who_comes_after_it_gets_the_place() {
    let mut bench = quiet_with(EngineConfig::new(game_config(10, 10, 1)));
    let agent = bench.join("A", "a");
    let newcomer = bench.open("N");
    bench.take_heard();
    let began = bench.now;
    bench.send(agent, b"Fork\n");
    bench.engine.begin_pass(began + ms(415));
    bench.now = began + ms(425);
    for (peer, bytes) in [(agent, None), (newcomer, Some(b"a\n"))] {
        let conn = bench.peers[peer].conn;
        let input = match bytes {
            Some(bytes) => Input::Bytes { conn, bytes },
            None => Input::Closed {
                conn,
                cause: CloseCause::EndOfStream,
            },
        };
        bench.engine.handle(input, bench.now);
    }
    bench.peers[agent].is_open = false;
    assert_eq!(
        bench.engine.game().world().agents().len(),
        1,
        "it is there until its Fork is over"
    );
    bench.pass(|_, _| {});
    assert_eq!(bench.lines(newcomer), ["0\\n10 10"]);
    let agents: Vec<_> = bench
        .engine
        .game()
        .world()
        .agents()
        .map(|agent| agent.id())
        .collect();
    assert_eq!(agents, [AgentId(1)]);
}

/// It died of an older deadline: nothing is left to leave.
#[test]
fn who_leaves_after_its_death_was_due_is_dead() {
    let mut bench = Bench::new(EngineConfig::new(game_config(10, 10, 1)));
    bench.act(AdminAction::SetRefill { enabled: false });
    let agent = bench.join("A", "a");
    let death = bench
        .engine
        .game_clock()
        .real_at(trantor_time::GameTime::from_units(1_260));
    let death = death.expect("the clock goes");
    bench.run_until(death - ms(5));
    let conn = bench.peers[agent].conn;
    bench.now = death + ms(5);
    bench.engine.handle(
        Input::Closed {
            conn,
            cause: CloseCause::EndOfStream,
        },
        bench.now,
    );
    bench.peers[agent].is_open = false;
    bench.pass(|_, _| {});
    assert_eq!(bench.engine.game().world().agents().len(), 0);
    assert_eq!(bench.engine.poll_timeout(), None);
}
