//! How much a peer may ask for in a while, and how it is answered then.

use trantor_engine::{AdminRequest, limits};
use trantor_game::AdminAction;
use trantor_model::AgentId;
use trantor_time::RealSpan;

use super::{bench, ms};
use crate::harness::Bench;

/// The whole map is answered piece by piece, in order, and what is asked behind it is answered behind it.
#[test]
fn an_answer_about_a_large_map_comes_whole_and_in_its_place() {
    let mut bench = bench(100, 100, 3);
    let viewer = bench.join("G", "GRAPHIC");
    bench.run_for(ms(10));
    bench.lines(viewer);
    bench.send(viewer, b"mct\nsgt\nmct\n");
    bench.run_for(ms(10_000));
    let lines = bench.lines(viewer);
    assert_eq!(lines.len(), 2 * 10_000 + 1);
    assert!(lines[0].starts_with("bct 0 0 ") && lines[9_999].starts_with("bct 99 99 "));
    assert_eq!(lines[10_000], "sgt 100");
    assert!(lines[10_001].starts_with("bct 0 0 "));
}

/// A flood is carried out at its rate: nothing is lost, and it costs no more than that. Text viewers share another
/// rate on top, all together.
#[test]
fn requests_beyond_the_rate_wait_and_are_counted() {
    let mut bench = bench(5, 5, 3);
    let floods = ["F", "G"].map(|name| bench.join(name, "GRAPHIC"));
    bench.take_heard();
    let rate = 2 * (u64::from(limits::REQUESTS_PER_SECOND) + 100)
        + u64::from(limits::REQUESTS_PER_SECOND * limits::SPARE_REQUESTS_FACTOR);
    let thousands_each = 2 * rate / 1_000;
    for _ in 0..thousands_each {
        for flooder in floods {
            bench.send(flooder, &b"sgt\n".repeat(1_000));
        }
    }
    let at_once = rate * u64::from(limits::REQUESTS_SAVED_SECONDS);
    let heard = |bench: &mut Bench| {
        floods
            .map(|flooder| bench.lines(flooder).len() as u64)
            .iter()
            .sum::<u64>()
    };
    let answered = heard(&mut bench);
    assert!(
        (at_once - 2..=at_once + 2).contains(&answered),
        "{answered} of {at_once}"
    );
    bench.run_for(ms(1_000));
    let answered = heard(&mut bench);
    assert!(
        (rate * 9 / 10..=rate * 11 / 10).contains(&answered),
        "{answered} of {rate}"
    );
    bench.run_for(ms(5_000));
    let now = bench.now;
    let counters = bench.engine.stats(now).counters;
    assert_eq!(counters.gui_requests, 2 * thousands_each * 1_000);
    assert_eq!(counters.throttled_peers, 2);
}

/// Viewers that ask for all they can know of every agent in each frame are answered at once.
#[test]
fn viewers_that_ask_for_everything_in_every_frame_are_not_held_up() {
    let mut bench = bench(20, 20, 100);
    let agents: Vec<_> = (0..100).map(|nth| bench.join(&format!("A{nth}"), "a")).collect();
    let viewer = bench.join("G", "GRAPHIC");
    bench.act(AdminAction::SetHunger { enabled: false });
    // A hundred agents are more than one piece of the greeting.
    bench.run_for(ms(1));
    let mut frame = b"mct\n".to_vec();
    for number in 0..agents.len() {
        frame.extend(format!("ppo #{number}\nplv #{number}\npin #{number}\n").bytes());
    }
    for _ in 0..600 {
        bench.take_heard();
        bench.send(viewer, &frame);
        assert_eq!(bench.lines(viewer).len(), 400 + 300);
        bench.run_for(RealSpan::from_nanos(1_000_000_000 / 60));
    }
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).counters.throttled, 0);
}

/// The rate grows with the speed: an agent is never held up for commands that it could use.
#[test]
fn r_000_41_an_agent_that_keeps_ten_open_is_not_held_up_at_any_speed() {
    for (frequency, commands) in [(1, 100), (100, 1_000), (10_000, 30_000)] {
        let mut bench = bench(5, 5, 3);
        let agent = bench.join("A", "a");
        bench.act(AdminAction::SetHunger { enabled: false });
        bench.admin(AdminRequest::SetFrequency(frequency)).unwrap();
        bench.lines(agent);
        bench.send(agent, &b"Inventory\n".repeat(10));
        for _ in 0..commands {
            bench.run_for(RealSpan::from_nanos(1_000_000_000 / i64::from(frequency)));
            for _ in bench.lines(agent) {
                bench.send(agent, b"Inventory\n");
            }
        }
        let now = bench.now;
        let counters = bench.engine.stats(now).counters;
        assert_eq!(
            counters.throttled + counters.commands_dropped,
            0,
            "at {frequency}"
        );
        assert!(
            counters.commands > commands,
            "{} at {frequency}",
            counters.commands
        );
    }
}

/// Who has asked for too much and waits for that holds up nobody else's answer.
#[test]
fn a_flood_of_questions_about_the_map_delays_no_newcomer() {
    let mut bench = bench(200, 200, 3);
    let flooder = bench.join("F", "GRAPHIC");
    bench.send(flooder, &b"mct\n".repeat(1_000));
    bench.run_for(ms(2_000));
    bench.take_heard();
    let newcomer = bench.join("G", "GRAPHIC");
    bench.run_for(ms(50));
    let lines = bench.lines(newcomer);
    let tiles = lines.iter().filter(|line| line.starts_with("bct")).count();
    assert_eq!(tiles, 40_000);
}

/// A flood of lines that make no sense is answered at a tenth of the rate, and none is left without its answer.
#[test]
fn commands_that_make_no_sense_count_as_several() {
    let mut bench = bench(5, 5, 3);
    let flooder = bench.join("F", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    bench.lines(flooder);
    bench.send(flooder, &b"Dance\n".repeat(5_000));
    let rate = (limits::REQUESTS_PER_SECOND + 100) / limits::REQUESTS_PER_REFUSAL;
    let at_once = bench.lines(flooder).len();
    let saved = (rate * limits::REQUESTS_SAVED_SECONDS) as usize;
    assert!((saved..=saved + 1).contains(&at_once), "{at_once}");
    bench.run_for(ms(10_000));
    let answered = bench.lines(flooder).len();
    assert!(
        (9 * rate as usize..=11 * rate as usize).contains(&answered),
        "{answered}"
    );
    bench.run_for(ms(60_000));
    assert_eq!(at_once + answered + bench.lines(flooder).len(), 5_000);
}

/// Who is let go and floods to the last is not read any faster than before, and goes all the same.
#[test]
fn who_leaves_is_drained_at_its_rate() {
    let mut bench = bench(5, 5, 3);
    let flooder = bench.join("F", "a");
    bench.peers[flooder].hangs_up = false;
    bench.act(AdminAction::SetHunger { enabled: false });
    let flood = b"Inventory\n".repeat(4_000);
    bench.send(flooder, &flood);
    bench.act(AdminAction::Kill { agent: AgentId(0) });
    let now = bench.now;
    let before = bench.engine.stats(now).counters.bytes_dropped;
    for _ in 0..999 {
        bench.send(flooder, &flood);
        bench.run_for(ms(1));
    }
    let rate = limits::BYTES_PER_REQUEST as u64 * (u64::from(limits::REQUESTS_PER_SECOND) + 100);
    let now = bench.now;
    let drained = bench.engine.stats(now).counters.bytes_dropped - before;
    assert!(
        (rate / 2..rate * u64::from(limits::REQUESTS_SAVED_SECONDS + 2)).contains(&drained),
        "{drained} at {rate} a second"
    );
    bench.run_for(ms(100));
    assert!(!bench.peers[flooder].is_open);
}

/// Many viewers of text hear everything, each within the span of a tick, and not all at one moment.
#[test]
fn many_text_viewers_are_told_by_and_by() {
    let mut bench = bench(5, 5, 3);
    let agent = bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    let viewers: Vec<_> = (0..100)
        .map(|nth| bench.join(&format!("G{nth}"), "GRAPHIC"))
        .collect();
    bench.take_heard();
    bench.send(agent, b"Right\n");
    bench.run_for(ms(70));
    let told_at_once = viewers
        .iter()
        .filter(|viewer| !bench.lines(**viewer).is_empty())
        .count();
    assert_eq!(told_at_once, 0);
    bench.run_for(ms(25));
    let told: Vec<_> = viewers
        .iter()
        .copied()
        .filter(|viewer| {
            bench
                .lines(*viewer)
                .iter()
                .any(|line| line.starts_with("ppo #0 "))
        })
        .collect();
    assert!((1..100).contains(&told.len()), "{} of them were told", told.len());
    bench.run_for(ms(25));
    for viewer in viewers.iter().filter(|viewer| !told.contains(viewer)) {
        assert_eq!(bench.lines(*viewer).len(), 1);
    }
    // A viewer's own question takes what waits along, in order.
    bench.send(agent, b"Right\n");
    bench.run_for(ms(70));
    bench.send(viewers[99], b"sgt\n");
    let heard = bench.lines(viewers[99]);
    assert!(
        heard[0].starts_with("ppo #0 ") && heard[1] == "sgt 100",
        "{heard:?}"
    );
    // One that leaves meanwhile takes nobody's turn.
    bench.close(viewers[3]);
    bench.run_for(limits::TEXT_NEWS_SPAN);
    assert!(viewers.iter().enumerate().all(|(nth, viewer)| {
        nth == 3
            || nth == 99
            || bench
                .lines(*viewer)
                .iter()
                .any(|line| line.starts_with("ppo #0 "))
    }));
    let now = bench.now;
    assert_eq!(bench.engine.stats(now).outbox_bytes, 0);
}

/// One flood a pass from an agent costs what it sends, and nobody else's answers are late.
#[test]
fn r_000_29_a_flood_of_commands_is_dropped_and_counted() {
    let mut bench = bench(5, 5, 3);
    let flooder = bench.join("A", "a");
    let other = bench.join("B", "b");
    let flood = b"Forward\n".repeat(5_000);
    bench.take_heard();
    bench.send(flooder, &flood);
    bench.send(other, b"Left\n");
    bench.run_for(ms(70));
    assert_eq!(bench.lines(other), ["ok"]);
    let now = bench.now;
    let counters = bench.engine.stats(now).counters;
    assert_eq!(
        counters.commands_dropped,
        counters.commands - 11,
        "ten and the other's are taken"
    );
    assert!(
        counters.commands_dropped > 2_000,
        "what was saved up is spent at once"
    );
    assert!(counters.commands < 3_000, "the rest is held up");
    bench.run_for(ms(630));
    assert_eq!(bench.lines(flooder).len(), 10);
}
