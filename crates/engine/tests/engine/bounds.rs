//! How much a peer may leave unread or unsaid, and how many there may be.

use trantor_engine::{CloseReason, limits};
use trantor_game::AdminAction;
use trantor_model::{AgentId, Counts};

use super::{bench, closed, ms};
use crate::harness::Bench;

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
/// sooner if its outbox is full; other peers are not affected.
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

/// A viewer that reads, and gives no credit for the rest of the world, would have it kept as it was when it came.
#[test]
fn a_viewer_that_gives_no_credit_is_let_go() {
    let mut bench = bench(150, 150, 3);
    let viewers = [(); 2].map(|()| bench.watch_without_credit("V"));
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

/// A lowered limit counts from the last time a token was taken, also if that was before.
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
