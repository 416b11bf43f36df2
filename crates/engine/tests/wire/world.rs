//! What a viewer of ours is told of the world: the snapshot, and then what changes.

use trantor_engine::{AdminRequest, EngineConfig, Step};
use trantor_game::AdminAction;
use trantor_model::{AgentId, CommandKind, Counts, Direction, Resource, Tile};
use trantor_protocol::wire::ToServer;
use trantor_time::{GameTime, RealSpan};

use super::{bench, keep_busy, ms};
use crate::harness::{Bench, game_config};

#[test]
fn a_viewer_that_watches_an_agent_is_told_what_waits_behind_what_it_does() {
    let mut bench = bench(6, 5);
    let (busy, other) = (bench.join("A", "a"), bench.join("B", "b"));
    let viewer = bench.watch("V");
    bench.run_for(ms(60));
    assert!(bench.viewer(viewer).waiting.is_empty(), "nothing was asked for");
    let watched = AgentId(0);
    bench.say(viewer, &ToServer::Watch { agent: Some(watched) });
    bench.send(busy, b"Forward\nRight\nfoo\nLook\n");
    bench.send(other, b"Look\nLook\n");
    bench.run_for(ms(60));
    let told = bench.viewer(viewer).waiting.last().cloned();
    let waiting = vec![Some(CommandKind::Right), None, Some(CommandKind::Look)];
    assert_eq!(told, Some((watched, waiting)));
    bench.run_for(ms(2_000));
    let told = &bench.viewer(viewer).waiting;
    assert_eq!(told.last(), Some(&(watched, vec![])), "all is done");
    let count = told.len();
    assert!(count <= 5, "only changes are told: {told:?}");
    // Nobody is watched any more.
    bench.say(viewer, &ToServer::Watch { agent: None });
    bench.send(busy, b"Forward\nRight\nLook\n");
    bench.run_for(ms(2_000));
    assert_eq!(bench.viewer(viewer).waiting.len(), count);
    assert!(bench.viewer(viewer).is_acked());
}

#[test]
fn the_copy_equals_the_world_between_end_marks() {
    let mut bench = bench(6, 5);
    let agents: Vec<_> = (0..6)
        .map(|number| bench.join(&format!("A{number}"), ["a", "b"][number % 2]))
        .collect();
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
        assert_eq!((viewer.snapshots, viewer.skipped), (1, 0));
    }
    assert!(bench.copies_compared > 500);
    assert_eq!(
        bench.engine.game().world().agents().len(),
        0,
        "in the end all have starved"
    );
}

#[test]
fn a_large_world_comes_on_credit() {
    let mut bench = bench(300, 200);
    let agents: Vec<_> = (0..4)
        .map(|number| bench.join(&format!("A{number}"), "a"))
        .collect();
    let viewer = bench.open("V");
    let mut dull = crate::harness::viewer::Viewer::new();
    dull.hear(b"WELCOME\n");
    dull.credits = false;
    bench.peers[viewer].viewer = Some(Box::new(dull));
    bench.speak(viewer);
    assert_eq!(bench.viewer(viewer).parts, 20, "no more than there is credit for");
    keep_busy(&mut bench, &agents, 10);
    assert_eq!(bench.viewer(viewer).parts, 20);
    bench.viewer(viewer).credit(5);
    bench.speak(viewer);
    assert_eq!(bench.viewer(viewer).parts, 25);
    bench.viewer(viewer).credits = true;
    let owed = bench.viewer(viewer).uncredited;
    bench.viewer(viewer).credit(owed);
    bench.speak(viewer);
    bench.run_for(ms(100));
    let parts = 300 * 200 / 1024 + 1 + 2;
    assert_eq!(bench.viewer(viewer).parts, parts as u32);
    assert_eq!(bench.viewer(viewer).snapshots, 1);
    assert!(
        bench.viewer(viewer).changes > 0,
        "what happened meanwhile came after it"
    );
    keep_busy(&mut bench, &agents, 20);
    assert!(bench.copies_compared > 0);
}

/// What lies on a tile is told as it is when its piece is sent: what changed since the beginning comes after it all the
/// same, and the last word is the right one.
#[test]
fn a_large_world_changes_while_it_is_told() {
    let mut bench = bench(300, 200);
    bench.act(AdminAction::SetRefill { enabled: false });
    let viewer = bench.open("V");
    let mut slow = crate::harness::viewer::Viewer::new();
    slow.hear(b"WELCOME\n");
    slow.credits = false;
    bench.peers[viewer].viewer = Some(Box::new(slow));
    bench.speak(viewer);
    let ends = [Tile { x: 0, y: 0 }, Tile { x: 299, y: 199 }];
    for count in [7, 3, 5] {
        for tile in ends {
            let mut ground = Counts::ZERO;
            ground[Resource::Phiras] = count;
            bench.act(AdminAction::SetGround { tile, ground });
        }
        bench.run_for(ms(60));
        bench.viewer(viewer).credit(10);
        bench.speak(viewer);
    }
    assert_eq!(bench.copies_compared, 0, "it is still being told");
    bench.viewer(viewer).credits = true;
    let owed = bench.viewer(viewer).uncredited;
    bench.viewer(viewer).credit(owed);
    bench.speak(viewer);
    bench.run_for(ms(100));
    assert!(bench.copies_compared > 0, "and then it knows the world as it is");
    let size = bench.engine.config().game.size;
    let copy = bench.viewer(viewer).copy.as_ref().expect("a copy");
    assert!(
        ends.iter()
            .all(|tile| copy.ground[size.index_of(*tile)][Resource::Phiras] == 5)
    );
}

/// A viewer that stops reading is not let go, and not sent all of the past: it gets a fresh snapshot.
#[test]
fn a_slow_viewer_is_thinned_to_a_fresh_snapshot() {
    let mut config = EngineConfig::new(game_config(10, 10, 8));
    config.frequency = trantor_time::Frequency::new(1_000).unwrap();
    let mut bench = Bench::new(config);
    let agents: Vec<_> = (0..8)
        .map(|number| bench.join(&format!("A{number}"), "a"))
        .collect();
    bench.act(AdminAction::SetHunger { enabled: false });
    let slow = bench.watch("V");
    let quick = bench.watch("W");
    bench.run_for(ms(100));
    bench.peers[slow].is_reading = false;
    let speech = format!("Broadcast {}\n", "x".repeat(300)).repeat(10);
    for _ in 0..75 {
        for agent in &agents {
            bench.send(*agent, speech.as_bytes());
        }
        bench.run_for(ms(70));
        bench.take_heard();
    }
    let now = bench.now;
    let stats = bench.engine.stats(now);
    assert_eq!(
        stats.counters.viewers_thinned, 1,
        "{} bytes wait",
        stats.outbox_bytes
    );
    assert!(stats.outbox_bytes < 2 * trantor_engine::limits::VIEWER_NEWS_BYTES_MAX);
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

/// Game time of everything that is told lies where the anchor says.
#[test]
fn actions_are_told_with_their_ends() {
    let mut bench = bench(10, 10);
    let agent = bench.join("A", "a");
    let viewer = bench.watch("V");
    bench.put_agent(0, 5, 5, Direction::North);
    bench.viewer(viewer).log = Some(Vec::new());
    bench.send(agent, b"Forward\n");
    bench.run_for(ms(60));
    let action = bench.viewer(viewer).copy.as_ref().unwrap().agents[&AgentId(0)]
        .action
        .unwrap();
    assert_eq!(action.kind, trantor_model::CommandKind::Forward);
    assert!(!action.refused);
    assert_eq!(
        (action.start, action.end),
        (GameTime::ZERO, GameTime::from_units(7)),
        "told while it goes on"
    );
    let before = bench.viewer(viewer).copy.as_ref().unwrap().agents[&AgentId(0)]
        .view
        .tile;
    assert_eq!((before.x, before.y), (5, 5));
    bench.run_for(ms(60));
    let after = bench.viewer(viewer).copy.as_ref().unwrap().agents[&AgentId(0)]
        .view
        .tile;
    assert_eq!((after.x, after.y), (5, 4));
}

#[test]
fn a_line_that_is_refused_is_told_so_when_it_begins() {
    let mut bench = bench(10, 10);
    let agent = bench.join("A", "a");
    let viewer = bench.watch("V");
    bench.send(agent, b"Forward x\n");
    bench.run_for(ms(60));
    let action = bench.viewer(viewer).copy.as_ref().unwrap().agents[&AgentId(0)]
        .action
        .unwrap();
    assert_eq!(action.kind, trantor_model::CommandKind::Forward);
    assert!(action.refused, "nothing will come of it");
}

/// Between leaps game time stands still; viewers are shown how fast it goes on the whole.
#[test]
fn in_lock_step_viewers_are_shown_how_fast_the_game_goes() {
    let mut bench = Bench::new(EngineConfig {
        lock_step: Some(RealSpan::from_secs(5)),
        ..EngineConfig::new(game_config(10, 10, 1))
    });
    let viewer = bench.watch("V");
    let agents = [bench.join("A", "a"), bench.join("B", "b")];
    let clock = |bench: &mut Bench| bench.viewer(viewer).clock.unwrap();
    bench.run_for(ms(120));
    assert!(clock(&mut bench).paused, "nobody has sent anything");
    // A step of 7 units every 10 milliseconds.
    for _ in 0..20 {
        for agent in agents {
            bench.send(agent, b"Forward\n");
        }
        bench.run_for(ms(10));
    }
    let shown = clock(&mut bench);
    assert!(!shown.paused);
    assert_eq!(shown.frequency.get(), 700);
    assert_eq!(bench.engine.game().now(), GameTime::from_units(140));
    bench.admin(AdminRequest::Pause).unwrap();
    assert!(clock(&mut bench).paused, "somebody holds it");
    assert!(
        bench.admin(AdminRequest::Step(Step::Units(1))).is_err(),
        "there are no steps"
    );
    bench.admin(AdminRequest::Resume).unwrap();
    bench.run_for(ms(120));
    assert!(clock(&mut bench).paused, "it waits again");
    assert_eq!(clock(&mut bench).game, GameTime::from_units(140));
}
