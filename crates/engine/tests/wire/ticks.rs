//! Ticks, their marks, stream time and figures.

use trantor_engine::AdminRequest;
use trantor_game::AdminAction;
use trantor_protocol::wire::{ToClient, ToServer};
use trantor_time::RealSpan;

use super::{bench, ms};

/// Nobody watches: no ticks, no figures, nothing to wake up for. Somebody comes back: the sum still comes out.
#[test]
fn ticks_run_only_while_somebody_watches() {
    let mut bench = bench(3, 3);
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "a full world without agents has nothing to do"
    );
    let viewer = bench.watch("V");
    assert!(bench.engine.poll_timeout().is_some());
    bench.run_for(ms(200));
    bench.close(viewer);
    assert_eq!(bench.engine.poll_timeout(), None);
    bench.run_for(ms(3_600_000));
    let viewer = bench.watch("V");
    bench.run_for(ms(125));
    let (number, instant_us) = bench.viewer(viewer).last_tick.unwrap();
    assert_eq!((number, instant_us), (6, 100_000));
    let now = bench.now;
    assert_eq!(
        bench.engine.stats(now).ticks_skipped,
        0,
        "instants without a watcher are not skips"
    );
    assert!(
        bench.viewer(viewer).skipped > 70_000,
        "but they count in the marks"
    );
}

#[test]
fn idle_text_viewers_and_agents_wake_nobody() {
    let mut bench = bench(5, 5);
    for number in 0..50 {
        bench.join(&format!("G{number}"), "GRAPHIC");
    }
    assert_eq!(bench.engine.poll_timeout(), None);
    bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    // So many viewers hear by and by that it has come.
    bench.run_for(trantor_engine::limits::TEXT_NEWS_SPAN);
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "an agent without hunger and commands has nothing to do"
    );
    bench.act(AdminAction::SetHunger { enabled: true });
    bench.admin(AdminRequest::Pause).unwrap();
    assert_eq!(
        bench.engine.poll_timeout(),
        None,
        "a paused game has nothing to do"
    );
}

/// Begin mark, what happened, end mark; between ticks, stream time just before what it belongs to, and only if
/// the viewer would otherwise take it for another moment.
#[test]
fn marks_and_stream_time_are_used_together() {
    let mut bench = bench(5, 5);
    bench.act(AdminAction::SetRefill { enabled: false });
    let agent = bench.join("A", "a");
    bench.act(AdminAction::SetHunger { enabled: false });
    let viewer = bench.watch("V");
    bench.run_for(ms(60));
    bench.viewer(viewer).log = Some(Vec::new());
    bench.send(agent, b"Right\n");
    bench.run_for(ms(20));
    bench.say(viewer, &ToServer::Pause);
    bench.say(viewer, &ToServer::Resume);
    bench.run_for(ms(80));
    let log = bench.viewer(viewer).log.take().unwrap();
    let kinds: Vec<_> = log
        .iter()
        .map(|message| match message {
            ToClient::TickBegin { number, skipped: 0 } => format!("begin {number}"),
            ToClient::TickEnd { number } => format!("end {number}"),
            ToClient::StreamTime { instant_us } => format!("stream {instant_us}"),
            ToClient::Changes { changes, .. } => format!("{} change", changes.len()),
            ToClient::Clock(_) => "clock".to_owned(),
            ToClient::Ack { number } => format!("ack {number}"),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        // At 80 ms, between the ticks of 50 and of 100: both messages belong to one moment, told once.
        "stream 80000",
        "clock",
        "ack 5",
        "clock",
        "ack 6",
        // What began at 60 ms, then what ended at 130 ms.
        "begin 1",
        "1 change",
        "end 1",
        "begin 2",
        "1 change",
        "end 2",
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn figures_come_once_a_second() {
    let mut bench = bench(4, 4);
    let agent = bench.join("A", "a");
    let viewer = bench.watch("V");
    bench.join("G", "GRAPHIC");
    bench.send(agent, b"Forward\nForward\n");
    bench.run_for(ms(3_500));
    let stats = bench.viewer(viewer).stats.clone();
    assert_eq!(stats.len(), 3);
    let last = &stats[2];
    assert_eq!((last.connections, last.viewers), (3, 2));
    assert_eq!(
        (last.teams.len(), last.teams[0].agents, last.teams[0].places),
        (2, 1, 7)
    );
    assert_eq!(last.effective_frequency_milli, 100_000);
    assert_eq!(
        (last.uptime_ms, last.slipped_units, last.ticks_skipped),
        (3_000, 0, 0)
    );
    assert!(last.deadlines_fired >= 4 && last.passes > 0);
    assert_eq!(last.lateness_max_ns, 0, "a manual clock is never late");
}

/// Under overload, with ticks late by up to three periods, stream time never goes back; the dull
/// viewer checks it at every message. Passes are as far apart as a stalled machine would make them.
#[test]
fn stream_time_never_goes_back_under_overload() {
    let mut bench = bench(2, 2);
    let agents: Vec<_> = (0..2)
        .map(|number| bench.join(&format!("A{number}"), "a"))
        .collect();
    bench.act(AdminAction::SetHunger { enabled: false });
    let viewer = bench.watch("V");
    let mut stall: u64 = 12_345;
    for round in 0..50_000_u64 {
        // A small generator of our own: the same stalls each time.
        stall = stall
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        bench.now += RealSpan::from_nanos((stall >> 33) as i64 % 150_000_000);
        let agent = agents[(round % 2) as usize];
        let messages = [
            ToServer::Probe { token: round },
            ToServer::SetFrequency {
                frequency: 1 + (round % 300) as u32,
            },
            ToServer::Pause,
            ToServer::Resume,
        ];
        bench
            .viewer(viewer)
            .say(&messages[(stall >> 60) as usize % messages.len()]);
        // Input comes first in a pass, so it is read while ticks and deadlines are still due.
        let bytes = std::mem::take(&mut bench.viewer(viewer).to_send);
        let conn = bench.peers[viewer].conn;
        let agent_conn = bench.peers[agent].conn;
        bench.pass(|engine, now| {
            engine.handle(trantor_engine::Input::Bytes { conn, bytes: &bytes }, now);
            engine.handle(
                trantor_engine::Input::Bytes {
                    conn: agent_conn,
                    bytes: b"Forward\n",
                },
                now,
            );
        });
        bench.take_heard();
    }
    let now = bench.now;
    let hours = (now.as_nanos() - 1_000_000_000) as f64 / 3.6e12;
    assert!(hours > 1.0, "{hours} hours passed");
    assert!(bench.viewer(viewer).skipped > 20_000);
    assert!(bench.viewer(viewer).is_acked());
    assert_eq!(
        bench.engine.stats(now).ticks_skipped,
        bench.viewer(viewer).skipped
    );
}
