//! Frame viewers: how they join and leave, their snapshot on credit, and overload. Single messages are in the transcripts.

use trantor_engine::{ControlAccess, EngineConfig, limits};
use trantor_model::{AdminAction, AgentId, Control, Counts, Resource, Tile};
use trantor_protocol::wire::{ClientHello, ToServer, WIRE_VERSION, write_frame};
use trantor_time::{Frequency, RealSpan};

use super::{bench, ms};
use crate::harness::{Bench, game_config};

/// A busy little game: all agents act all the time.
fn keep_busy(bench: &mut Bench, agents: &[usize], rounds: usize) {
    let lines =
        "Forward,Take food,Right,Look,Broadcast hi,Set food,Eject,Fork,Incantation,Left,Take linemate,foo";
    let lines: Vec<&str> = lines.split(',').collect();
    for round in 0..rounds {
        for (number, agent) in agents.iter().enumerate() {
            let line = lines[(round * 5 + number * 7 + round / 3) % lines.len()];
            bench.send(*agent, format!("{line}\n").as_bytes());
        }
        bench.run_for(ms(37));
    }
}

fn join_agents(bench: &mut Bench, count: usize) -> Vec<usize> {
    (0..count)
        .map(|nth| bench.join(&format!("A{nth}"), ["a", "b"][nth % 2]))
        .collect()
}

#[test]
fn the_copy_equals_the_world_between_end_marks() {
    let mut bench = bench(6, 5, 8);
    let agents = join_agents(&mut bench, 6);
    let viewer = bench.watch("V");
    keep_busy(&mut bench, &agents[..3], 40);
    let late = bench.watch("W");
    keep_busy(&mut bench, &agents, 200);
    bench.close(agents[1]);
    bench.act(AdminAction::Kill { agent: AgentId(2) });
    bench.run_for(ms(15_000));
    for peer in [viewer, late] {
        let viewer = bench.viewer(peer);
        assert!(viewer.is_acked() && viewer.is_complete());
        assert!(viewer.changes > 500, "{} changes", viewer.changes);
        assert_eq!(viewer.snapshots, 1);
    }
    assert!(bench.copies_compared > 500);
    let agents = bench.engine.game().world().agents().len();
    assert_eq!(agents, 0, "in the end all have starved");
}

/// Pieces of ground show a later moment than the rest: what changed since the beginning comes after them all the same.
#[test]
fn a_large_world_comes_on_credit_and_changes_meanwhile() {
    let mut bench = bench(300, 200, 8);
    bench.act(AdminAction::SetRefill { enabled: false });
    let agents = join_agents(&mut bench, 4);
    let viewer = bench.watch_without_credit("V");
    assert_eq!(bench.viewer(viewer).parts, 20, "no more than there is credit for");
    let ends = [Tile { x: 0, y: 0 }, Tile { x: 299, y: 199 }];
    for (nth, count) in [(1, 7), (2, 3), (3, 5)] {
        for tile in ends {
            let mut ground = Counts::ZERO;
            ground[Resource::Phiras] = count;
            bench.act(AdminAction::SetGround { tile, ground });
        }
        keep_busy(&mut bench, &agents, 2);
        bench.viewer(viewer).credit(5);
        bench.speak(viewer);
        assert_eq!(bench.viewer(viewer).parts, 20 + 5 * nth);
    }
    assert_eq!(bench.copies_compared, 0, "the rest is still to come");
    bench.viewer(viewer).withholds_credit = false;
    let uncredited = bench.viewer(viewer).uncredited;
    bench.viewer(viewer).credit(uncredited);
    bench.speak(viewer);
    bench.run_for(ms(100));
    let parts = 300 * 200 / 1024 + 1 + 2;
    let size = bench.engine.config().game.size;
    let seen = bench.viewer(viewer);
    assert_eq!((seen.parts, seen.snapshots), (parts as u32, 1));
    assert!(seen.changes > 0, "what happened meanwhile came after it");
    let ground = seen.copy.as_ref().unwrap().ground();
    assert!(
        ends.iter()
            .all(|tile| ground[size.index_of(*tile)][Resource::Phiras] == 5)
    );
    assert!(bench.copies_compared > 0);
}

/// A viewer that stops reading is neither disconnected nor sent all of the past.
#[test]
fn a_slow_viewer_is_thinned_to_a_fresh_snapshot() {
    let mut config = EngineConfig::new(game_config(10, 10, 8));
    config.frequency = Frequency::new(1_000).unwrap();
    let mut bench = Bench::new(config);
    let agents = join_agents(&mut bench, 8);
    bench.act(AdminAction::SetHunger { enabled: false });
    let [slow, quick] = ["V", "W"].map(|name| bench.watch(name));
    bench.run_for(ms(100));
    bench.peers[slow].is_reading = false;
    let speech = format!("Broadcast {}\n", "x".repeat(300)).repeat(10);
    for _ in 0..75 {
        for agent in &agents {
            bench.send(*agent, speech.as_bytes());
        }
        bench.run_for(ms(70));
        bench.take_received();
    }
    let stats = bench.engine.stats(bench.now);
    let waiting = stats.outbox_bytes;
    assert_eq!(stats.counters.viewers_thinned, 1, "{waiting} bytes wait");
    assert!(waiting < 2 * limits::VIEWER_UPDATES_BYTES_MAX);
    assert!(bench.peers[slow].is_open);
    let compared = bench.copies_compared;
    bench.peers[slow].is_reading = true;
    bench.take_writes(slow);
    bench.run_for(ms(200));
    assert_eq!(bench.viewer(slow).snapshots, 2);
    assert!(bench.viewer(slow).is_complete() && bench.viewer(slow).is_acked());
    assert_eq!(bench.viewer(quick).snapshots, 1, "a quick one is not concerned");
    keep_busy(&mut bench, &agents, 20);
    assert!(bench.copies_compared > compared);
}

/// More happens within the delay than is held for one viewer: a frame viewer gets no updates for a while, and then a
/// snapshot. Text viewers miss nothing.
#[test]
fn a_frame_spectator_is_thinned_before_any_is_disconnected() {
    const DELAY: RealSpan = RealSpan::from_secs(30);
    const GRID: RealSpan = RealSpan::from_millis(50);
    let mut config = EngineConfig::new(game_config(5, 5, 500));
    (config.control, config.spectator_delay) = (ControlAccess::Off, DELAY);
    let mut bench = super::quiet_with(config);
    for number in 0..1_000_usize {
        bench.join("A", ["a", "b"][number % 2]);
    }
    let text = bench.join("S", "GRAPHIC");
    let watches = bench.watch("V");
    let wait = |bench: &mut Bench, span| {
        bench.run_for(span);
        bench.take_received();
        let viewer = bench.viewer(watches);
        (viewer.snapshots, viewer.changes)
    };
    wait(&mut bench, GRID);
    let thinned = |bench: &mut Bench| {
        let now = bench.now;
        bench.engine.stats(now).counters.viewers_thinned
    };
    // What all agents carry is sent each time.
    let toggle = |bench: &mut Bench| {
        for enabled in [true, false] {
            bench.act(AdminAction::SetHunger { enabled });
        }
    };
    while thinned(&mut bench) == 0 {
        (0..10).for_each(|_| toggle(&mut bench));
        wait(&mut bench, GRID);
        assert!(bench.peers[watches].is_open);
    }
    // What was held is sent, and then the world as it was when most of that was gone.
    let (snapshots, changes) = wait(&mut bench, DELAY + DELAY + GRID + GRID);
    assert_eq!(snapshots, 2);
    toggle(&mut bench);
    let seen = wait(&mut bench, DELAY + GRID + GRID);
    assert_eq!(
        seen,
        (2, changes + 2_000),
        "from then on it gets every update again"
    );
    assert!(bench.peers[watches].is_open && bench.peers[text].is_open);
}

#[test]
fn a_peer_that_breaks_the_rules_of_the_wire_is_disconnected_with_the_reason() {
    let framed = |message: ToServer| {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &message).unwrap();
        bytes
    };
    let hello = |version| {
        let program = "viewer 9".to_owned();
        framed(ToServer::Hello(ClientHello { version, program }))
    };
    for (bytes, words) in [
        (u32::MAX.to_le_bytes().to_vec(), "was announced"),
        ([&1u32.to_le_bytes()[..], &[0xee]].concat(), "no message"),
        (hello(WIRE_VERSION), "said once"),
        (framed(ToServer::Credit { items: 2 }), "more credit"),
    ] {
        let mut bench = bench(2, 2, 1);
        let [other, viewer] = ["W", "V"].map(|name| bench.watch(name));
        bench.send(viewer, &bytes);
        let goodbye = bench.viewer(viewer).goodbye.clone().unwrap();
        assert!(goodbye.contains(words), "{goodbye}");
        assert!(!bench.peers[viewer].is_open);
        bench.run_for(ms(200));
        assert!(bench.peers[other].is_open, "the others notice nothing");
    }
    // Instead of the hello.
    for (first, words) in [
        (framed(ToServer::Control(Control::Pause)), "first message"),
        (hello(WIRE_VERSION + 1), "viewer 9 speaks version"),
    ] {
        let mut bench = bench(2, 2, 1);
        let peer = bench.open("V");
        bench.send(peer, &[&b"TRANTOR\n"[..], &first].concat());
        let received = bench.peers[peer].partial.clone();
        assert!(String::from_utf8_lossy(&received).contains(words), "{received:?}");
        assert!(!bench.peers[peer].is_open);
        assert_eq!(bench.engine.poll_timeout(), None);
    }
}
