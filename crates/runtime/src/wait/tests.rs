//! Waits and wakes: early never, lost never.

use trantor_time::{Clock, RealSpan};

use super::*;
use crate::real_clock::RealClock;

#[test]
fn a_wake_given_while_awake_ends_the_next_wait() {
    let mut parker = Parker::new();
    parker.waker().wake();
    parker.waker().wake();
    assert_eq!(parker.wait(None), Woken::Posted);
    let soon = RealClock::new().now() + RealSpan::from_micros(1);
    assert_eq!(parker.wait(Some(soon)), Woken::Deadline, "two wakes were one");
}

#[test]
fn only_the_first_wake_of_a_sleep_rouses() {
    let roused = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = Arc::clone(&roused);
    let mut gate = WakeGate::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let waker = gate.waker();
    waker.wake();
    assert_eq!(
        roused.load(Ordering::Relaxed),
        0,
        "an awake loop needs no rousing"
    );
    assert!(!gate.lie_down());
    assert!(gate.rise());
    assert!(gate.lie_down());
    (0..1_000).for_each(|_| waker.wake());
    assert_eq!(roused.load(Ordering::Relaxed), 1);
    assert!(gate.rise());
    assert!(!gate.rise(), "a wake counts once");
}

#[test]
fn a_parker_is_never_early() {
    let clock = RealClock::new();
    let mut parker = Parker::new();
    for micros in [0, 1, 50, 300, 1_700] {
        let until = clock.now() + RealSpan::from_micros(micros);
        assert_eq!(parker.wait(Some(until)), Woken::Deadline);
        assert!(clock.now() >= until);
    }
}

#[test]
fn a_parker_is_woken_by_another_thread() {
    let mut parker = Parker::new();
    let waker = parker.waker();
    let other = crate::threads::spawn("waker", move || waker.wake()).unwrap();
    assert_eq!(parker.wait(None), Woken::Posted);
    other.join().unwrap();
}
