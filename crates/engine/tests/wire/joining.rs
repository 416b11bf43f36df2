//! How a viewer of ours begins and ends.

use trantor_engine::{Control, Engine, EngineConfig};
use trantor_game::{AdminAction, Game, Snapshot};
use trantor_model::{AgentId, FeedKind, Level, TeamId, Who};
use trantor_protocol::wire::{ClientHello, ScorePoint, StepKind, ToServer, WIRE_VERSION, write_frame};
use trantor_time::RealSpan;

use super::{bench, ms};
use crate::harness::{Bench, game_config};

#[test]
fn who_comes_after_the_end_is_told_who_won_and_who_was_there() {
    let mut bench = bench(6, 5);
    let busy = bench.join("A", "b");
    bench.join("B", "a");
    let viewer = bench.watch("V");
    bench.send(busy, b"Incantation\nForward\n");
    bench.run_for(ms(100));
    let mut agents = bench.viewer(viewer).copy.clone().unwrap().agents;
    assert_eq!(agents.len(), 2);
    assert!(agents.values().any(|agent| agent.action.is_some()));
    for agent in agents.values_mut() {
        (agent.action, agent.food_ends) = (None, None);
    }
    bench.act(AdminAction::EndMatch);
    bench.run_for(ms(100));
    let late = bench.watch("W");
    bench.run_for(ms(100));
    assert_eq!(bench.engine.game().winner(), Some(TeamId(0)));
    for peer in [viewer, late] {
        let copy = bench.viewer(peer).copy.as_ref().unwrap();
        assert_eq!(copy.winner, Some(TeamId(0)));
    }
    assert_eq!(bench.engine.game().world().agents().len(), 0);
    bench.say(late, &ToServer::Pause);
    bench.say(late, &ToServer::Step(StepKind::Event));
    assert_eq!(bench.take_refusal(late), "the match is over");
    bench.run_for(ms(60_000));
    let copy = bench.viewer(late).copy.as_ref().unwrap();
    assert_eq!((&copy.agents, copy.rituals.len()), (&agents, 0), "at rest");
}

/// How the score went and what happened last.
#[test]
fn who_comes_late_is_sent_what_happened_before() {
    let mut bench = bench(6, 5);
    let early = bench.watch("V");
    let history = bench.viewer(early).history.take().unwrap();
    assert_eq!(history.events, []);
    let speaker = bench.join("A", "b");
    bench.join("B", "a");
    bench.run_for(ms(1_000));
    bench.send(speaker, b"Broadcast hello\n");
    bench.run_for(ms(1_000));
    let (agent, level) = (AgentId(0), Level::LAST);
    bench.act(AdminAction::SetLevel { agent, level });
    bench.act(AdminAction::EndMatch);
    bench.run_for(ms(5_000));
    let late = bench.watch("W");
    let history = bench.viewer(late).history.take().unwrap();
    let who = |agent, team| Who {
        agent: AgentId(agent),
        team: TeamId(team),
    };
    let events: Vec<_> = history.events.iter().map(|entry| entry.kind.clone()).collect();
    let expected = [
        FeedKind::Joined(who(0, 1)),
        FeedKind::Joined(who(1, 0)),
        FeedKind::Said(who(0, 1), b"hello"[..].into()),
        FeedKind::Rose(who(0, 1), Level::LAST),
        FeedKind::Won(TeamId(1)),
    ];
    assert_eq!(events, expected);
    let scores = |point: &ScorePoint| point.scores.clone();
    assert_eq!(history.scores.first().map(scores), Some(vec![1, 1]));
    assert_eq!(history.scores.last().map(scores), Some(vec![1, 64]));
    assert_eq!(
        history.scores.last().unwrap().at,
        history.events.last().unwrap().at
    );
}

/// A save from after a victory is one of the victory, and whoever watches it is told who was there.
#[test]
fn a_match_that_was_over_when_it_was_saved_goes_on_as_its_last_moment() {
    let config = EngineConfig::new(game_config(6, 5, 5));
    let mut bench = Bench::new(config.clone());
    bench.engine.expect_saves();
    let busy = bench.join("A", "b");
    bench.join("B", "a");
    let viewer = bench.watch("V");
    bench.send(busy, b"Incantation\nForward\n");
    bench.run_for(ms(100));
    let mut agents = bench.viewer(viewer).copy.clone().unwrap().agents;
    for agent in agents.values_mut() {
        (agent.action, agent.food_ends) = (None, None);
    }
    bench.act(AdminAction::EndMatch);
    bench.run_for(ms(500));
    assert_eq!(bench.engine.game().world().agents().len(), 0, "they were let go");
    let saved = bench.engine.state_to_save().encode();

    let game = Snapshot::decode(&saved).and_then(Game::restore).unwrap();
    let mut resumed = Bench::around(Engine::resume(config, game, bench.now), bench.now);
    resumed.engine.expect_saves();
    let ours = resumed.watch("V");
    resumed.run_for(ms(500));
    let copy = resumed.viewer(ours).copy.as_ref().unwrap();
    assert_eq!((&copy.agents, copy.winner), (&agents, Some(TeamId(0))));
    assert_eq!(copy.rituals.len(), 0);
    assert!(resumed.copies_compared > 0);
    let text = resumed.join("G", "GRAPHIC");
    let lines = resumed.lines(text);
    for told in ["pnw #0 ", "pnw #1 ", "seg a"] {
        let count = lines.iter().filter(|line| line.starts_with(told)).count();
        assert_eq!(count, 1, "{told}: {lines:?}");
    }
    assert_eq!(lines.last().unwrap(), "seg a");
    let latecomer = resumed.open("L");
    resumed.send(latecomer, b"a\n");
    assert_eq!(resumed.lines(latecomer), ["WELCOME", "ko"]);
    resumed.run_for(ms(60_000));
    assert!(resumed.lines(text).is_empty(), "nobody goes");
    assert_eq!(
        resumed.engine.state_to_save().encode(),
        saved,
        "and it is saved again"
    );
}

#[test]
fn the_hello_tells_the_grid_and_ticks_follow_it() {
    let mut bench = bench(2, 2);
    let first = bench.watch("V");
    let hello = bench.viewer(first).hello.clone().unwrap();
    assert_eq!(
        (hello.tick_period_us, hello.last_tick, hello.next_tick_us),
        (50_000, None, 50_000)
    );
    assert_eq!(hello.teams, ["a", "b"]);
    assert!(hello.may_control);
    bench.run_for(ms(1_010));
    assert_eq!(bench.viewer(first).last_tick, Some((19, 1_000_000)));

    let second = bench.watch("W");
    let hello = bench.viewer(second).hello.clone().unwrap();
    assert_eq!(
        (hello.last_tick, hello.next_tick_us),
        (Some((19, -10_000)), 40_000)
    );
    bench.run_for(ms(100));
    assert_eq!(bench.viewer(second).last_tick, Some((21, 90_000)));
}

#[test]
fn viewers_that_may_not_control_are_told_so() {
    let mut config = EngineConfig::new(game_config(2, 2, 1));
    config.control = Control::Nobody;
    let mut bench = Bench::new(config);
    let viewer = bench.watch("V");
    assert!(!bench.viewer(viewer).hello.as_ref().unwrap().may_control);
    for message in [
        ToServer::SetFrequency { frequency: 200 },
        ToServer::Pause,
        ToServer::Resume,
    ] {
        bench.say(viewer, &message);
        assert!(bench.take_refusal(viewer).contains("its own console"));
    }
    assert!(!bench.engine.game_clock().is_paused());
}

#[test]
fn probes_are_answered_with_the_servers_clock() {
    let mut bench = bench(2, 2);
    let viewer = bench.watch("V");
    bench.run_for(RealSpan::from_nanos(12_345_678));
    bench.say(viewer, &ToServer::Probe { token: 99 });
    assert_eq!(bench.viewer(viewer).probes, [(99, 12_345)]);
}

#[test]
fn another_version_is_refused_in_words() {
    let mut bench = bench(2, 2);
    let peer = bench.watch("V");
    assert!(bench.peers[peer].is_open);
    let peer = bench.open("W");
    let mut bytes = b"TRANTOR\n".to_vec();
    let hello = ClientHello {
        version: WIRE_VERSION + 1,
        program: "viewer 9".to_owned(),
    };
    write_frame(&mut bytes, &ToServer::Hello(hello)).unwrap();
    let mut viewer = crate::harness::viewer::Viewer::new();
    viewer.hear(b"WELCOME\n");
    bench.peers[peer].viewer = Some(Box::new(viewer));
    bench.send(peer, &bytes);
    let refused = bench.viewer(peer).refused.clone();
    assert_eq!(refused.len(), 1);
    assert!(
        refused[0].1.contains("viewer 9 speaks version"),
        "{}",
        refused[0].1
    );
    assert!(!bench.peers[peer].is_open, "and the connection ends");
}

#[test]
fn whoever_breaks_the_wire_is_told_and_let_go() {
    let long = u32::MAX.to_le_bytes().to_vec();
    let unknown = [&1u32.to_le_bytes()[..], &[0xee]].concat();
    let framed = |message: &ToServer| {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, message).unwrap();
        bytes
    };
    let hello = framed(&ToServer::Hello(ClientHello {
        version: WIRE_VERSION,
        program: String::new(),
    }));
    let credit = framed(&ToServer::Credit { items: 2 });
    for (bytes, words) in [
        (long, "was announced"),
        (unknown, "no message"),
        (hello, "said once"),
        (credit, "more credit"),
    ] {
        let mut bench = bench(2, 2);
        let other = bench.watch("W");
        let viewer = bench.watch("V");
        bench.send(viewer, &bytes);
        let goodbye = bench.viewer(viewer).goodbye.clone().unwrap();
        assert!(goodbye.contains(words), "{goodbye}");
        assert!(!bench.peers[viewer].is_open);
        bench.run_for(ms(200));
        assert!(bench.peers[other].is_open, "the others hear nothing of it");
    }
    // Before the hello too.
    let mut bench = bench(2, 2);
    let peer = bench.open("V");
    let mut viewer = crate::harness::viewer::Viewer::new();
    viewer.hear(b"WELCOME\n");
    bench.peers[peer].viewer = Some(Box::new(viewer));
    bench.send(peer, &[&b"TRANTOR\n"[..], &framed(&ToServer::Pause)].concat());
    assert!(
        bench
            .viewer(peer)
            .goodbye
            .as_ref()
            .unwrap()
            .contains("first message")
    );
    assert_eq!(bench.engine.poll_timeout(), None);
}
