//! Requested timers on instants of our choosing, and against a sorted list.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn ms(millis: i64) -> RealTime {
    RealTime::from_nanos(millis * 1_000_000)
}

fn span(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn fire(manager: &mut TimerManager<&'static str>, now: RealTime) -> Vec<&'static str> {
    let mut told = Vec::new();
    manager.fire_due(now, |_, listener| told.push(listener));
    told
}

#[test]
fn a_listener_is_told_once_by_the_server_it_asked() {
    let (door, lamp) = (TimerServer::new(8), TimerServer::new(8));
    let mut manager = TimerManager::new();
    manager.register(&door);
    manager.register(&lamp);
    manager.register(&door.clone());
    lamp.request("lamp", span(10), ms(0)).unwrap();
    door.request("door", span(10), ms(0)).unwrap();
    door.request("later", span(11), ms(0)).unwrap();
    assert_eq!(manager.next_deadline(), Some(ms(10)));
    assert_eq!(
        fire(&mut manager, ms(10)),
        ["door", "lamp"],
        "equal times by order of servers"
    );
    assert_eq!(fire(&mut manager, ms(11)), ["later"]);
    assert_eq!((door.len(), lamp.len(), manager.fired()), (0, 0, 3));
}

#[test]
fn never_early_and_again_from_the_callback() {
    let server = TimerServer::new(8);
    let mut manager = TimerManager::new();
    manager.register(&server);
    server.request(3_u32, span(5), ms(0)).unwrap();
    let mut told_at = Vec::new();
    for millis in 0..20 {
        manager.fire_due(ms(millis), |_, rounds_left| {
            told_at.push(millis);
            if rounds_left > 0 {
                server.request(rounds_left - 1, span(5), ms(millis)).unwrap();
            }
        });
    }
    assert_eq!(told_at, [5, 10, 15]);
    assert_eq!(server.len(), 1);
}

#[test]
fn a_zero_length_waits_for_the_next_pass() {
    let server = TimerServer::new(8);
    let mut manager = TimerManager::new();
    manager.register(&server);
    server.request((), RealSpan::ZERO, ms(0)).unwrap();
    for pass in 1..4 {
        let again = server.clone();
        let fired = manager.fire_due(ms(0), |_, ()| {
            again.request((), RealSpan::ZERO, ms(0)).unwrap();
        });
        assert_eq!(fired, 1, "in pass {pass}");
    }
}

#[test]
fn at_sixty_passes_a_second_it_is_one_pass_late_at_most() {
    let server = TimerServer::new(1_000);
    let mut manager = TimerManager::new();
    manager.register(&server);
    for number in 0..1_000_i64 {
        server.request(ms(number * 7), span(number * 7), ms(0)).unwrap();
    }
    let pass = RealSpan::from_nanos(16_666_667);
    let (mut now, mut lateness_max, mut lateness_sum) = (ms(0), 0, 0);
    while !server.is_empty() {
        now += pass;
        manager.fire_due(now, |_, deadline| {
            lateness_max = lateness_max.max(now.since(deadline).as_nanos());
            lateness_sum += now.since(deadline).as_nanos();
        });
    }
    assert!(lateness_max <= pass.as_nanos(), "{lateness_max} ns");
    assert!(
        lateness_sum / 1_000 <= 15_000_000,
        "{} ns on average",
        lateness_sum / 1_000
    );
}

#[test]
fn firing_can_be_limited_to_a_rate() {
    let server = TimerServer::new(100);
    let mut manager = TimerManager::new();
    manager.register(&server);
    manager.set_rate(Some(Rate::per_second(10.0).unwrap()));
    for number in 1..=50 {
        server.request("x", span(number * 4), ms(0)).unwrap();
    }
    assert_eq!(fire(&mut manager, ms(4)).len(), 1);
    assert_eq!(manager.next_deadline(), Some(ms(104)));
    assert_eq!(fire(&mut manager, ms(50)).len(), 0);
    assert_eq!(fire(&mut manager, ms(104)).len(), 25, "a block");
}

#[test]
fn refusals_are_reported_and_numbers_not_used_again() {
    let server = TimerServer::new(1);
    assert_eq!(
        server.request("a", span(-1), ms(0)),
        Err(RequestRefused::Negative)
    );
    let first = server.request("a", span(1), ms(0)).unwrap();
    assert_eq!(server.request("b", span(1), ms(0)), Err(RequestRefused::Full));
    assert!(server.cancel(first) && !server.cancel(first));
    let second = server.request("c", span(1), ms(0)).unwrap();
    assert!(second > first && server.refused() == 2);
    let mut manager = TimerManager::new();
    manager.register(&server);
    assert_eq!(fire(&mut manager, ms(1)), ["c"]);
    assert!(!server.cancel(second), "a relayed timer is forgotten");
}

#[test]
fn a_listener_that_disappears_is_not_told() {
    let server = TimerServer::new(8);
    let mut manager = TimerManager::new();
    manager.register(&server);
    let listener = Rc::new("listener");
    server.request(Rc::downgrade(&listener), span(1), ms(0)).unwrap();
    server.request(Rc::downgrade(&listener), span(2), ms(0)).unwrap();
    let mut told = 0;
    manager.fire_due(ms(1), |_, listener| {
        told += usize::from(listener.upgrade().is_some())
    });
    drop(listener);
    manager.fire_due(ms(2), |_, listener| {
        told += usize::from(listener.upgrade().is_some())
    });
    assert_eq!(told, 1);
    server.request(std::rc::Weak::new(), span(2), ms(0)).unwrap();
    assert_eq!(server.forget(|listener| listener.strong_count() == 0), 1);
}

#[test]
fn a_cancel_from_a_callback_holds_in_the_same_pass() {
    let servers = [TimerServer::new(8), TimerServer::new(8)];
    let mut manager = TimerManager::new();
    servers.iter().for_each(|server| manager.register(server));
    let victim = servers[1].request("victim", span(2), ms(0)).unwrap();
    servers[0].request("killer", span(1), ms(0)).unwrap();
    servers[1].request("bystander", span(2), ms(0)).unwrap();
    let mut told = Vec::new();
    manager.fire_due(ms(5), |_, listener| {
        told.push(listener);
        if listener == "killer" {
            assert!(servers[1].cancel(victim));
            servers[0].request("next pass", RealSpan::ZERO, ms(5)).unwrap();
            servers[1].request("already due", span(1), ms(1)).unwrap();
        }
    });
    assert_eq!(told, ["killer", "bystander", "already due"]);
    assert_eq!(fire(&mut manager, ms(5)), ["next pass"]);
}

proptest! {
    /// Requests and cancels at several servers, against a sorted list.
    #[test]
    fn random_requests_and_cancels_match_a_model(
        steps in proptest::collection::vec((0..3_usize, 0..30_i64, any::<bool>(), 0..10_u64), 1..120),
    ) {
        let servers: Vec<TimerServer<()>> = (0..3).map(|_| TimerServer::new(64)).collect();
        let mut manager = TimerManager::new();
        servers.iter().for_each(|server| manager.register(server));
        let mut model: BTreeMap<(RealTime, usize, TimerNumber), ()> = BTreeMap::new();
        let mut now = ms(0);
        for (which, millis, cancels, number) in steps {
            if cancels {
                let number = TimerNumber(number);
                let expected = model.keys().find(|key| (key.1, key.2) == (which, number)).copied();
                prop_assert_eq!(servers[which].cancel(number), expected.is_some());
                if let Some(key) = expected { model.remove(&key); }
            } else if let Ok(number) = servers[which].request((), span(millis), now) {
                model.insert((now + span(millis), which, number), ());
            }
            now += span(millis % 4);
            let mut fired = Vec::new();
            manager.fire_due(now, |number, ()| fired.push(number));
            let due: Vec<_> = model.keys().take_while(|key| key.0 <= now).copied().collect();
            for key in &due { model.remove(key); }
            prop_assert_eq!(fired, due.iter().map(|key| key.2).collect::<Vec<_>>());
            prop_assert_eq!(manager.next_deadline(), model.keys().next().map(|key| key.0));
            // Whoever looks on sees the same, whatever waits for the next pass.
            let mut listed: Vec<_> = servers[which].pending().iter().map(|&(number, at, ())| (at, number)).collect();
            listed.sort_unstable();
            let expected = model.keys().filter(|key| key.1 == which).map(|key| (key.0, key.2));
            prop_assert_eq!(listed, expected.collect::<Vec<_>>());
        }
    }
}
