//! What a viewer of ours asks for, and what it is answered.

use trantor_game::AdminAction;
use trantor_protocol::wire::{StepKind, ToClient, ToServer};
use trantor_time::{GameTime, RealSpan};

use super::{bench, ms};

#[test]
fn speed_pause_and_step_reach_every_viewer_at_once() {
    let mut bench = bench(2, 2);
    bench.act(AdminAction::SetRefill { enabled: false });
    let one = bench.watch("V");
    let other = bench.watch("W");
    bench.run_for(RealSpan::from_nanos(33_333_333));
    bench.say(one, &ToServer::SetFrequency { frequency: 700 });
    for peer in [one, other] {
        let now = bench.now;
        let expected = bench.engine.game_clock().now(now + RealSpan::from_nanos(667));
        let anchor = bench.viewer(peer).clock.unwrap();
        assert_eq!((anchor.frequency.get(), anchor.paused), (700, false));
        assert_eq!(
            (anchor.real_us, anchor.game),
            (33_334, expected),
            "exact, at a whole microsecond"
        );
    }
    bench.say(one, &ToServer::Pause);
    assert!(bench.viewer(other).clock.unwrap().paused);
    let stood = bench.viewer(other).clock.unwrap().game;
    bench.run_for(ms(10_000));
    bench.say(other, &ToServer::Step(StepKind::Unit));
    let anchor = bench.viewer(one).clock.unwrap();
    assert_eq!(
        (anchor.game.whole_units(), anchor.game.unit_fraction_nu()),
        (stood.whole_units() + 1, 0)
    );
    bench.say(other, &ToServer::Resume);
    assert!(!bench.viewer(one).clock.unwrap().paused);
    assert!(bench.viewer(one).is_acked() && bench.viewer(other).is_acked());
    assert_eq!(
        bench.viewer(one).clocks,
        5,
        "one with the hello, one for each change"
    );
}

/// Each begins where the one before has led to, also if they come in one packet.
#[test]
fn steps_that_are_asked_for_at_once_are_done_one_after_another() {
    let mut bench = bench(2, 2);
    bench.act(AdminAction::SetRefill { enabled: false });
    bench.act(AdminAction::SetHunger { enabled: false });
    let viewer = bench.watch("V");
    for name in ["A", "B", "C"] {
        let agent = bench.join(name, "a");
        bench.send(agent, b"Forward\n");
        bench.run_for(ms(10));
    }
    bench.say(viewer, &ToServer::Pause);
    assert_eq!(bench.engine.game_now(), GameTime::from_units(3));
    bench.viewer(viewer).log = Some(Vec::new());
    for kind in [
        StepKind::Event,
        StepKind::Action,
        StepKind::Event,
        StepKind::Event,
    ] {
        bench.viewer(viewer).say(&ToServer::Step(kind));
    }
    bench.viewer(viewer).say(&ToServer::Step(StepKind::Unit));
    bench.viewer(viewer).say(&ToServer::Resume);
    bench.speak(viewer);
    let log = bench.viewer(viewer).log.take().unwrap();
    let anchors: Vec<_> = log
        .iter()
        .filter_map(|message| match message {
            ToClient::Clock(anchor) => Some((anchor.game.whole_units(), anchor.paused)),
            _ => None,
        })
        .collect();
    assert_eq!(
        anchors,
        [(7, true), (8, true), (9, true), (10, true), (10, false)]
    );
    assert!(bench.take_refusal(viewer).contains("nothing is due"));
    assert!(bench.viewer(viewer).is_acked());
}

#[test]
fn refusals_come_in_words_and_change_nothing() {
    let mut bench = bench(2, 2);
    let viewer = bench.watch("V");
    for (message, words) in [
        (ToServer::SetFrequency { frequency: 0 }, "from 1 to 10000"),
        (ToServer::SetFrequency { frequency: 10_001 }, "from 1 to 10000"),
        (ToServer::SetFrequency { frequency: u32::MAX }, "from 1 to 10000"),
        (ToServer::Resume, "not paused"),
        (ToServer::Step(StepKind::Unit), "not paused"),
        (ToServer::Step(StepKind::Event), "not paused"),
    ] {
        let number = bench.say(viewer, &message);
        let (refused, reason) = bench.viewer(viewer).refused.pop().unwrap();
        assert_eq!(refused, number);
        assert!(reason.contains(words), "{reason}");
    }
    bench.say(viewer, &ToServer::Pause);
    assert!(bench.viewer(viewer).refused.is_empty());
    bench.say(viewer, &ToServer::Pause);
    assert!(bench.take_refusal(viewer).contains("paused already"));
    bench.say(viewer, &ToServer::Step(StepKind::Event));
    assert!(bench.take_refusal(viewer).contains("nothing is due"));
    assert_eq!(bench.viewer(viewer).clocks, 2);
    assert_eq!(bench.engine.game_clock().frequency().get(), 100);
}

#[test]
fn each_message_is_acknowledged_after_its_effects() {
    let mut bench = bench(2, 2);
    let viewer = bench.watch("V");
    assert_eq!(
        bench.viewer(viewer).acked,
        3,
        "the hello is number 1, and credit went out for two pieces"
    );
    bench.viewer(viewer).log = Some(Vec::new());
    bench.viewer(viewer).say(&ToServer::Probe { token: 7 });
    bench.viewer(viewer).say(&ToServer::SetFrequency { frequency: 5 });
    bench.viewer(viewer).say(&ToServer::SetFrequency { frequency: 0 });
    bench.viewer(viewer).say(&ToServer::Pause);
    bench.speak(viewer);
    let log = bench.viewer(viewer).log.take().unwrap();
    let kinds: Vec<_> = log
        .iter()
        .filter(|message| !matches!(message, ToClient::StreamTime { .. }))
        .map(|message| match message {
            ToClient::ProbeReply { .. } => "probe".to_owned(),
            ToClient::Clock(_) => "clock".to_owned(),
            ToClient::Refused { number, .. } => format!("refused {number}"),
            ToClient::Ack { number } => format!("ack {number}"),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        "probe",
        "ack 4",
        "clock",
        "ack 5",
        "refused 6",
        "ack 6",
        "clock",
        "ack 7",
    ];
    assert_eq!(kinds, expected);
}

/// Nothing of a pass is acknowledged after it, however many messages there were.
#[test]
fn acknowledgements_come_within_the_pass() {
    let mut bench = bench(2, 2);
    let viewer = bench.watch("V");
    for token in 0..500 {
        bench.viewer(viewer).say(&ToServer::Probe { token });
    }
    bench.speak(viewer);
    assert!(bench.viewer(viewer).is_acked());
    assert_eq!(bench.viewer(viewer).probes.len(), 500);
}
