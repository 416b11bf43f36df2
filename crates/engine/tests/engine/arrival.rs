//! Input takes effect at the instant at which it came, also where that lies within a pass, after deadlines that the pass
//! has not carried out yet.

use trantor_engine::EngineConfig;
use trantor_game::{AdminAction, Agent};
use trantor_model::AgentId;
use trantor_time::GameTime;

use super::{bench, instants, ms, ns, quiet, quiet_with};
use crate::harness::{Bench, game_config};

/// A pass begins 60 ms from now. After 75 ms from now, peer after peer with a microsecond between sends a line; then the pass
/// carries out what is due.
fn read_late(bench: &mut Bench, peers: &[usize], line: &[u8]) {
    let began = bench.now;
    bench.engine.begin_pass(began + ms(60));
    for (nth, &peer) in (0..).zip(peers) {
        bench.now = began + ms(75) + ns(nth * 1_000);
        bench.hand_in(peer, line);
    }
    bench.pass(|_, _| {});
}

/// The agent ids of the living.
fn living(bench: &Bench) -> Vec<AgentId> {
    bench.engine.game().world().agents().map(Agent::id).collect()
}

#[test]
fn a_command_starts_when_it_came_and_not_when_the_pass_began() {
    for busy in [false, true] {
        let mut bench = quiet(100);
        let first = bench.join("A", "a");
        let others: Vec<usize> = (0..5).map(|_| bench.join("B", "b")).collect();
        bench.take_received();
        let began = bench.now;
        if busy {
            // What ends between the beginning of the pass and the read.
            bench.send(first, b"Left\n");
        }
        read_late(&mut bench, &others, b"Left\n");
        bench.run_for(ms(300));
        let received = bench.take_received();
        for (nth, peer) in (0..).zip(others) {
            let mine = received.iter().filter(|received| received.peer == peer);
            let at: Vec<i64> = mine.map(|received| (received.real - began).as_nanos()).collect();
            assert_eq!(at, [145_000_000 + nth * 1_000], "{busy}");
        }
    }
}

#[test]
fn the_queue_of_ten_is_that_of_the_instant_at_which_a_command_came() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.take_received();
    let began = bench.now;
    bench.send(agent, &b"Left\n".repeat(10));
    // The first of them was answered before.
    read_late(&mut bench, &[agent], b"Right\n");
    bench.run_for(ms(1_000));
    assert_eq!(instants(&mut bench, agent, began).len(), 11);
}

#[test]
fn an_agent_that_leaves_after_its_fork_leaves_an_egg_and_the_next_player_gets_the_place() {
    let mut bench = quiet_with(EngineConfig::new(game_config(10, 10, 1)));
    let agent = bench.join("A", "a");
    let newcomer = bench.open("N");
    bench.take_received();
    let began = bench.now;
    bench.send(agent, b"Fork\n");
    bench.engine.begin_pass(began + ms(415));
    bench.now = began + ms(425);
    bench.hang_up(agent);
    bench.hand_in(newcomer, b"a\n");
    assert_eq!(living(&bench), [AgentId(0)], "it is there until its Fork is over");
    bench.pass(|_, _| {});
    assert_eq!(bench.lines(newcomer), ["0\\n10 10"]);
    assert_eq!(living(&bench), [AgentId(1)]);
}

/// It died of an older deadline: nothing is left to leave.
#[test]
fn an_agent_that_leaves_after_its_death_was_due_is_dead() {
    let mut bench = bench(10, 10, 1);
    bench.act(AdminAction::SetRefill { enabled: false });
    let agent = bench.join("A", "a");
    let death = bench.engine.game_clock().real_at(GameTime::from_units(1_260));
    let death = death.expect("the clock runs");
    bench.run_until(death - ms(5));
    bench.now = death + ms(5);
    bench.hang_up(agent);
    bench.pass(|_, _| {});
    assert_eq!(living(&bench), []);
    assert_eq!(bench.engine.poll_timeout(), None);
}
