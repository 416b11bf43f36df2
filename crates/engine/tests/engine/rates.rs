//! How much a peer may ask for in a while, and how it is answered then.

use trantor_engine::{AdminRequest, EngineConfig, limits};
use trantor_game::AdminAction;
use trantor_model::AgentId;
use trantor_time::RealSpan;

use super::{bench, ms};
use crate::harness::{Bench, game_config};

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
fn an_agent_that_keeps_ten_open_is_not_held_up_at_any_speed() {
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

/// `speakers` of one team and `hearers` of the other on one tile; each team may cause so many messages to others in a second.
fn two_teams(fan_out_of_team: u32, speakers: usize, hearers: usize) -> (Bench, Vec<usize>, Vec<usize>) {
    let mut config = EngineConfig::new(game_config(1, 1, 100));
    config.limits.fan_out_per_second = 2 * fan_out_of_team;
    config.game.rules.eject_eggs = false;
    let mut bench = Bench::new(config);
    let [speakers, hearers] = [("a", speakers), ("b", hearers)]
        .map(|(team, count)| (0..count).map(|_| bench.join(team, team)).collect());
    bench.act(AdminAction::SetHunger { enabled: false });
    bench.take_heard();
    (bench, speakers, hearers)
}

/// How many lines a peer has heard since it was last asked that begin with `word`.
fn count(bench: &mut Bench, peer: usize, word: &str) -> u32 {
    let lines = bench.lines(peer);
    lines.iter().filter(|line| line.starts_with(word)).count() as u32
}

/// How often a team that may send 5,000 messages a second may do within so many seconds what sends so many.
fn allowed(seconds: u32, tokens: u32) -> std::ops::RangeInclusive<u32> {
    let most = (limits::REQUESTS_SAVED_SECONDS + seconds) * 5_000 / tokens;
    most * 9 / 10..=most + 1
}

/// Twenty that shout as long and as often as they may are heard as often as their team's limit allows. Whoever reads stays,
/// and the other team speaks as if they were not there.
#[test]
fn broadcasts_are_limited_for_each_team_by_bytes_and_hearers() {
    let (mut bench, shouters, hearers) = two_teams(5_000, 20, 10);
    let shout = format!("Broadcast {}\n", "x".repeat(16_000));
    for nth in 0..200 {
        bench.send(shouters[nth % 20], shout.as_bytes());
    }
    for _ in 0..5 {
        bench.send(hearers[1], b"Broadcast hello\n");
        bench.run_for(ms(70));
        assert_eq!(count(&mut bench, hearers[1], "ok"), 1);
        bench.run_for(ms(930));
    }
    let heard = count(&mut bench, hearers[0], "message 0, xx");
    let tokens = 29 * (1 + 16_000 / limits::FAN_OUT_BYTES_PER_TOKEN as u32);
    assert!(allowed(5, tokens).contains(&heard), "{heard}");
    bench.run_for(ms(35_000));
    assert!(bench.peers.iter().all(|peer| peer.is_open));
    let later = count(&mut bench, hearers[0], "message 0, xx");
    assert_eq!(heard + later, 200, "all of it is said in the end");
}

/// Agents that push each other without end do so as often as their team's limit allows; others are answered in time.
#[test]
fn pushes_are_limited_for_each_team_by_those_they_move() {
    let (mut bench, pushers, others) = two_teams(5_000, 60, 10);
    for &pusher in &pushers {
        bench.send(pusher, &b"Eject\n".repeat(50));
    }
    for _ in 0..20 {
        bench.send(others[1], b"Left\n");
        bench.run_for(ms(70));
        assert_eq!(count(&mut bench, others[1], "ok"), 1);
    }
    bench.run_for(ms(600));
    let pushes = count(&mut bench, others[0], "eject");
    assert!(allowed(2, 69).contains(&pushes), "{pushes}");
}

/// A push is paid for by those it moves in the end, however few were there when it was asked for.
#[test]
fn what_a_push_sends_beyond_the_estimate_is_charged_as_well() {
    let (mut bench, pushers, _) = two_teams(100, 1, 0);
    bench.send(pushers[0], &b"Eject\n".repeat(10));
    for _ in 0..60 {
        bench.join("B", "b");
    }
    bench.run_for(ms(700));
    bench.take_heard();
    let now = bench.now;
    assert_eq!(
        bench.engine.stats(now).counters.throttled,
        0,
        "what was accepted is done"
    );
    bench.send(pushers[0], b"Eject\n");
    bench.run_for(ms(2_000));
    assert_eq!(bench.lines(pushers[0]), Vec::<String>::new());
    bench.run_for(ms(5_000));
    assert_eq!(bench.lines(pushers[0]), ["ok"]);
}
