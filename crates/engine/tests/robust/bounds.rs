//! How much a peer may leave unread or unsaid, and how many there may be.

use std::net::{IpAddr, Ipv4Addr};

use trantor_engine::{AdminRequest, CloseReason, EngineConfig, limits};
use trantor_game::AdminAction;
use trantor_model::{AgentId, Counts};

use super::{bench, closed, ms};
use crate::harness::viewer::Viewer;
use crate::harness::{Bench, game_config};

/// A look at more than fits any memory is encoded as it is read; what comes later waits behind it.
#[test]
fn a_look_of_any_length_takes_little_memory() {
    let mut bench = bench(5, 5, 3);
    let [looker, other] = [("A", "a"), ("B", "b")].map(|(name, team)| bench.join(name, team));
    let tile = bench.engine.game().world().agent(AgentId(0)).unwrap().tile();
    let ground = Counts([1_000_000, 0, 0, 0, 0, 0, 1]);
    bench.act(AdminAction::SetGround { tile, ground });
    bench.peers[looker].is_reading = false;
    bench.send(looker, b"Look\nInventory\n");
    bench.run_for(ms(70));
    bench.send(other, b"Broadcast behind\n");
    bench.run_for(ms(70));
    let now = bench.now;
    let waiting = bench.engine.stats(now).outbox_bytes;
    assert!((1..64 * 1024).contains(&waiting), "{waiting} bytes");
    bench.lines(looker);
    bench.peers[looker].is_reading = true;
    bench.take_writes(looker);
    let writes = bench.lines(looker);
    let [look @ .., inventory, message] = &writes[..] else {
        panic!("{} writes", writes.len());
    };
    let look = look.concat().replace("[no line feed]", "");
    assert!(look.matches(" food").count() >= 1_000_000);
    assert!(look.starts_with("[ player") && look.ends_with(" ]"));
    assert!(inventory.starts_with("[ food ") && message.ends_with(", behind"));
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).outbox_bytes, 0);
}

/// An agent may be sent any amount while it takes some of it now and then. One that takes nothing is disconnected after a while,
/// sooner if its outbox is full; nobody else notices.
#[test]
fn an_agent_is_disconnected_for_a_stall_and_not_for_a_burst() {
    let mut bench = bench(5, 5, 3);
    let [stalled, slow, quiet, speaker] =
        [("A", "a"), ("B", "a"), ("C", "a"), ("D", "b")].map(|(name, team)| bench.join(name, team));
    bench.act(AdminAction::SetHunger { enabled: false });
    for peer in [stalled, slow, quiet] {
        bench.peers[peer].is_reading = false;
    }
    let speech = format!("Broadcast {}\n", "x".repeat(16_000));
    let say = |bench: &mut Bench, times: usize| {
        bench.send(speaker, speech.repeat(times).as_bytes());
        bench.run_for(ms(70 * times as i64));
    };
    // More than is paused for, and less than the limit: the longer limit on stalls holds.
    say(&mut bench, 5);
    bench.peers[quiet].is_reading = true;
    say(&mut bench, 10);
    bench.peers[quiet].is_reading = false;
    say(&mut bench, 5);
    say(&mut bench, 10);
    let full_at = bench.now;
    let outbox_bytes = |bench: &mut Bench| {
        let now = bench.now;
        bench.engine.stats(now).outbox_bytes
    };
    assert!(outbox_bytes(&mut bench) > 3 * limits::AGENT_OUTBOX_BYTES_MAX);
    bench.run_until(full_at + limits::FULL_OUTBOX_SPAN - ms(2_200));
    assert!(
        [stalled, slow, quiet]
            .iter()
            .all(|peer| bench.peers[*peer].is_open)
    );
    bench.peers[slow].is_reading = true;
    bench.take_writes(slow);
    bench.run_for(ms(2_200));
    assert!(!bench.peers[stalled].is_open);
    assert_eq!(closed(&mut bench, CloseReason::OutboxFull), 1);
    assert!(
        bench.engine.game().world().agent(AgentId(0)).is_none(),
        "its agent is gone with it"
    );
    assert!(bench.peers[slow].is_open && bench.peers[quiet].is_open);
    assert_eq!(bench.lines(speaker).last().unwrap(), "ok");
    bench.run_for(limits::STALL_SPAN);
    assert!(bench.peers[slow].is_open && !bench.peers[quiet].is_open);
    assert_eq!(closed(&mut bench, CloseReason::Stalled), 1);
}

/// A viewer that asks for the whole map without end and never reads costs two pieces of an answer, and goes in time.
#[test]
fn a_text_viewer_that_does_not_read_is_let_go() {
    let mut bench = bench(150, 150, 3);
    let deaf = bench.join("G", "GRAPHIC");
    let other = bench.join("H", "GRAPHIC");
    bench.peers[deaf].is_reading = false;
    for _ in 0..40 {
        bench.send(deaf, &b"mct\n".repeat(250));
        let now = bench.now;
        assert!(bench.engine.stats(now).outbox_bytes <= 2 * limits::OUTBOX_PAUSE_BYTES);
    }
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).counters.blocked_peers, 1);
    bench.run_for(limits::STALL_SPAN - ms(1));
    assert!(bench.peers[deaf].is_open);
    bench.run_for(ms(10));
    assert!(!bench.peers[deaf].is_open);
    assert_eq!(closed(&mut bench, CloseReason::Stalled), 1);
    bench.lines(other);
    bench.send(other, b"sgt\n");
    assert_eq!(bench.lines(other), ["sgt 100"]);
}

/// A viewer that reads, and gives no credit for the rest of the world, would have it kept as it was when it came.
#[test]
fn a_viewer_that_gives_no_credit_is_let_go() {
    let mut bench = bench(300, 200, 3);
    let viewers = [(); 2].map(|()| {
        let viewer = bench.open("V");
        let mut dull = Viewer::new();
        dull.hear(b"WELCOME\n");
        dull.credits = false;
        bench.peers[viewer].viewer = Some(Box::new(dull));
        bench.speak(viewer);
        viewer
    });
    let [silent, slow] = viewers;
    let spared = bench.watch("W");
    bench.run_for(limits::STALL_SPAN - ms(1));
    bench.viewer(slow).credit(1);
    bench.speak(slow);
    assert!(viewers.iter().all(|viewer| bench.peers[*viewer].is_open));
    bench.run_for(ms(10));
    let goodbye = bench.viewer(silent).goodbye.clone().expect("words");
    assert!(goodbye.contains("no credit"), "{goodbye}");
    assert!(!bench.peers[silent].is_open);
    assert_eq!(closed(&mut bench, CloseReason::Stalled), 1);
    bench.run_for(limits::STALL_SPAN - ms(100));
    assert!(bench.peers[slow].is_open, "it has given some");
    bench.run_for(ms(200));
    assert!(!bench.peers[slow].is_open);
    assert!(bench.peers[spared].is_open, "it has the world");
    assert_eq!(closed(&mut bench, CloseReason::Stalled), 2);
}

/// A limit that is lowered counts from when somebody took something last, also if that was before.
#[test]
fn another_limit_counts_for_those_who_take_nothing_already() {
    let mut bench = bench(150, 150, 3);
    let mut deaf = || {
        let deaf = bench.join("G", "GRAPHIC");
        bench.peers[deaf].is_reading = false;
        bench.send(deaf, &b"mct\n".repeat(250));
        deaf
    };
    let (first, second) = (deaf(), deaf());
    bench.run_for(ms(1_000));
    assert!(bench.peers[first].is_open);
    let mut limits = bench.engine.config().limits.clone();
    limits.stall_span = ms(500);
    bench.engine.set_limits(&limits);
    bench.run_for(ms(10));
    assert!(!bench.peers[first].is_open && !bench.peers[second].is_open);
    assert_eq!(closed(&mut bench, CloseReason::Stalled), 2);
}

/// News that a viewer of text does not read grow up to its bound; then it goes.
#[test]
fn news_for_a_text_viewer_that_does_not_read_are_bounded() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.viewer_outbox_bytes_max = 100_000;
    let mut bench = Bench::new(config);
    let deaf = bench.join("G", "GRAPHIC");
    let agent = bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    bench.peers[deaf].is_reading = false;
    let speech = format!("Broadcast {}\n", "x".repeat(16_000));
    for _ in 0..7 {
        assert!(bench.peers[deaf].is_open);
        bench.send(agent, speech.as_bytes());
        bench.run_for(ms(70));
    }
    assert_eq!(closed(&mut bench, CloseReason::OutboxFull), 1);
}

/// A few that do not read cannot take more together than all may: whoever has let most wait makes room.
#[test]
fn what_waits_for_all_together_is_bounded() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.output_bytes_max = 150_000;
    let mut bench = Bench::new(config);
    let agent = bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    let speech = format!("Broadcast {}\n", "x".repeat(16_000));
    let first = bench.join("G", "GRAPHIC");
    bench.peers[first].is_reading = false;
    bench.send(agent, speech.as_bytes());
    bench.run_for(ms(70));
    let later: Vec<_> = ["H", "I"].map(|name| bench.join(name, "GRAPHIC")).to_vec();
    for viewer in &later {
        bench.peers[*viewer].is_reading = false;
    }
    for _ in 0..3 {
        bench.send(agent, speech.as_bytes());
        bench.run_for(ms(70));
    }
    assert!(!bench.peers[first].is_open, "it had let most wait");
    assert!(later.iter().all(|viewer| bench.peers[*viewer].is_open));
    assert_eq!(closed(&mut bench, CloseReason::MemoryFull), 1);
}

#[test]
fn connections_are_limited_in_all_and_by_address() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.connections_max = 5;
    config.limits.connections_per_address_max = Some(2);
    let mut bench = Bench::new(config);
    let far = |last| IpAddr::from([192, 0, 2, last]);
    let watch_from = |bench: &mut Bench, name: &str, peer| {
        let viewer = bench.open_from(name, peer);
        bench.send(viewer, b"GRAPHIC\n");
        viewer
    };
    let first = watch_from(&mut bench, "A", far(1));
    watch_from(&mut bench, "B", "::ffff:192.0.2.1".parse().unwrap());
    let third = bench.open_from("C", far(1));
    assert!(!bench.peers[third].is_open);
    assert_eq!(bench.lines(third), ["[closed: too_many_from_address]"]);
    bench.close(first);
    let again = bench.open_from("D", far(1));
    assert!(bench.peers[again].is_open, "there is room again");
    for name in ["E", "F", "G"] {
        let own = watch_from(&mut bench, name, Ipv4Addr::LOCALHOST.into());
        assert!(bench.peers[own].is_open, "this machine counts as many");
    }
    bench.send(again, b"GRAPHIC\n");
    let sixth = bench.open_from("H", far(2));
    assert_eq!(bench.lines(sixth), ["[closed: too_many_connections]"]);
    assert_eq!(closed(&mut bench, CloseReason::TooManyConnections), 1);
    assert_eq!(closed(&mut bench, CloseReason::TooManyFromAddress), 1);
}

#[test]
fn an_ipv6_network_counts_as_one_address() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.connections_per_address_max = Some(1);
    let mut bench = Bench::new(config);
    for (peer, expected) in [
        ("2001:db8:0:1::1", true),
        ("2001:db8:0:1:ffff::2", false),
        ("2001:db8:0:2::1", true),
    ] {
        let viewer = bench.open_from(peer, peer.parse().unwrap());
        bench.send(viewer, b"GRAPHIC\n");
        assert_eq!(bench.peers[viewer].is_open, expected, "{peer}");
    }
}

#[test]
fn when_places_are_short_the_oldest_silent_peer_of_the_fullest_address_makes_room() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.connections_max = 4;
    let mut bench = Bench::new(config);
    let far = |last| IpAddr::from([192, 0, 2, last]);
    let alone = bench.open_from("A", far(1));
    let [older, newer] = ["B", "C"].map(|name| bench.open_from(name, far(2)));
    let agent = bench.join("D", "a");
    let newcomer = bench.open_from("E", far(3));
    let open = [alone, older, newer, agent, newcomer].map(|peer| bench.peers[peer].is_open);
    assert_eq!(open, [true, false, true, true, true]);
    assert_eq!(closed(&mut bench, CloseReason::Evicted), 1);
}

#[test]
fn an_operator_gets_in_where_every_other_place_is_taken() {
    const MOST: usize = 24;
    const FOR_OPERATORS: usize = 3;
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.connections_max = MOST as u32;
    let mut bench = Bench::new(config);
    for place in 0..MOST - FOR_OPERATORS {
        let viewer = bench.join(&format!("V{place}"), "GRAPHIC");
        assert!(bench.peers[viewer].is_open);
    }
    let late = bench.join("late", "GRAPHIC");
    assert!(!bench.peers[late].is_open, "the last places are for operators");
    assert_eq!(closed(&mut bench, CloseReason::TooManyConnections), 1);
    let silent: Vec<_> = (0..2 * FOR_OPERATORS)
        .map(|number| bench.open(&format!("S{number}")))
        .collect();
    let operator = bench.join("operator", "ADMIN");
    assert!(bench.peers[operator].is_open);
    assert_eq!(bench.lines(operator).last().unwrap(), "ok");
    let evicted = silent.iter().filter(|peer| !bench.peers[**peer].is_open).count();
    assert_eq!(
        evicted,
        FOR_OPERATORS + 1,
        "silent peers make room for each other and for it"
    );
}

/// Messages may be shorter than usual, and a peer that does not know is let go sooner.
#[test]
fn the_length_of_messages_and_the_offences_borne_can_be_chosen() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.limits.message_bytes_max = 100;
    config.limits.violations_max = 2;
    let mut bench = Bench::new(config);
    let agent = bench.join("A", "a");
    bench.lines(agent);
    bench.send(agent, format!("Broadcast {}\n", "x".repeat(90)).as_bytes());
    bench.run_for(ms(70));
    assert_eq!(bench.lines(agent), ["ok"]);
    bench.send(agent, format!("Broadcast {}\n", "x".repeat(91)).as_bytes());
    bench.run_for(ms(70));
    assert_eq!(bench.lines(agent), ["ko"]);
    bench.send(agent, &[b'x'; 300]);
    assert_eq!(closed(&mut bench, CloseReason::Violations), 1);
}

#[test]
fn what_is_said_before_the_start_is_bounded() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.auto_start = false;
    let mut bench = Bench::new(config);
    let flooder = bench.open("A");
    let other = bench.open("B");
    bench.send(other, b"b\n");
    for _ in 0..64 {
        bench.send(flooder, &[b'x'; 1024]);
    }
    assert!(bench.peers[flooder].is_open);
    bench.send(flooder, b"x");
    assert!(!bench.peers[flooder].is_open);
    assert_eq!(closed(&mut bench, CloseReason::InboxFull), 1);
    bench.admin(AdminRequest::Start).unwrap();
    assert_eq!(bench.lines(other), ["WELCOME", "2\\n5 5"]);
}

/// Whoever is owed something and does not take it is not waited for longer than the limit.
#[test]
fn a_dead_agent_that_does_not_read_is_closed_after_a_while() {
    let mut bench = bench(5, 5, 3);
    let deaf = bench.join("A", "a");
    bench.peers[deaf].is_reading = false;
    bench.take_heard();
    bench.act(AdminAction::Kill { agent: AgentId(0) });
    bench.run_for(ms(4_999));
    assert_eq!(bench.lines(deaf), Vec::<String>::new());
    bench.run_for(ms(1));
    assert_eq!(bench.lines(deaf), ["[closed: died]"]);
    assert_eq!(bench.engine.poll_timeout(), None);
}

/// More agents than fit the sets of old system calls: places in a table, not bits in a set.
#[test]
fn corner_23_many_connections() {
    let mut bench = bench(10, 10, 550);
    let agents: Vec<_> = (0..1_100)
        .map(|number| bench.join(&number.to_string(), ["a", "b"][number % 2]))
        .collect();
    bench.take_heard();
    assert_eq!(bench.engine.game().world().agents().len(), 1_100);
    let late = bench.join("late", "a");
    assert_eq!(bench.lines(late), ["WELCOME", "ko"]);
    for agent in [agents[0], agents[1_099]] {
        bench.send(agent, b"Inventory\n");
    }
    bench.run_for(ms(10));
    let now = bench.now;
    let stats = bench.engine.stats(now);
    assert_eq!((stats.connections, stats.agents), (1_101, 1_100));
    for agent in [agents[0], agents[1_099]] {
        assert_eq!(bench.lines(agent).len(), 1);
    }
}
