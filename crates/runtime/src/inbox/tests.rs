//! The queue from both sides; where threads take part, a lost wake-up would hang the test.

use super::*;
use crate::wait::{ManualWait, Parker};
use trantor_time::{Clock, ManualClock};

fn inbox_of<T>(events_max: usize) -> (Inbox<T>, Sender<T>) {
    let inbox = Inbox::new(events_max, ManualWait::new(&ManualClock::default()).waker());
    let sender = inbox.sender();
    (inbox, sender)
}

#[test]
fn the_most_urgent_first_and_first_in_first_out_within_a_priority() {
    let (mut inbox, sender) = inbox_of(8);
    sender.put(Priority::Other, "o1").unwrap();
    sender.put(Priority::Network, "n1").unwrap();
    sender.put(Priority::Network, "n2").unwrap();
    sender.put(Priority::Control, "c1").unwrap();
    assert_eq!(inbox.take_from(Priority::Network), Some("c1"));
    assert_eq!(inbox.take_from(Priority::Network), Some("n1"));
    assert_eq!(inbox.take_from(Priority::Network), Some("n2"));
    assert_eq!(
        inbox.take_from(Priority::Network),
        None,
        "less urgent than asked for"
    );
    assert_eq!(inbox.take(), Some("o1"));
}

#[test]
fn a_receiver_may_name_a_time_limit() {
    let clock = ManualClock::default();
    let mut wait = ManualWait::new(&clock);
    let mut inbox = Inbox::new(4, wait.waker());
    let sender = inbox.sender();
    wait.at(RealTime::from_nanos(5), move |_| {
        sender.put(Priority::Other, 'x').unwrap();
        None
    });
    let ten = Some(RealTime::from_nanos(10));
    assert_eq!(inbox.take_waiting(Priority::Network, ten, &mut wait), None);
    assert_eq!(
        clock.now(),
        RealTime::from_nanos(10),
        "less urgent events do not end the wait"
    );
    assert_eq!(inbox.take_waiting(Priority::Other, ten, &mut wait), Some('x'));
}

#[test]
fn one_in_sixteen_goes_to_the_lowest() {
    let (mut inbox, sender) = inbox_of(200);
    for number in 0..160 {
        sender.put(Priority::Control, ("control", number)).unwrap();
        sender.put(Priority::Other, ("other", number)).unwrap();
    }
    let taken: Vec<_> = (0..160).map(|_| inbox.take().unwrap()).collect();
    let low: Vec<_> = taken
        .iter()
        .filter(|(from, _)| *from == "other")
        .map(|&(_, n)| n)
        .collect();
    assert_eq!(low, (0..10).collect::<Vec<_>>());
}

#[test]
fn an_abort_mark_is_tested_when_the_event_is_taken() {
    let (mut inbox, sender) = inbox_of(8);
    let mark = AbortMark::new();
    sender
        .put(Priority::Network, Event::from(1).with_abort(&mark))
        .unwrap();
    sender.put(Priority::Network, 2).unwrap();
    mark.set();
    assert_eq!(inbox.take(), Some(2));
    assert_eq!(
        inbox.stats(),
        InboxStats {
            taken: 1,
            aborted: 1,
            ..InboxStats::default()
        }
    );
}

#[test]
fn a_permit_is_released_when_the_event_is_taken() {
    let (mut inbox, sender) = inbox_of(8);
    let credit = SourceCredit::new(100);
    let event = |bytes| Event::from(bytes).with_permit(credit.permit(bytes).unwrap());
    sender.put(Priority::Network, event(60)).unwrap();
    sender.put(Priority::Network, event(40)).unwrap();
    assert!(credit.permit(1).is_none(), "this source must stop reading");
    assert_eq!(inbox.take(), Some(60));
    assert_eq!(credit.used_bytes(), 40);
    assert!(credit.permit(61).is_none());
    assert!(credit.permit(60).is_some());
    assert_eq!(inbox.take(), Some(40));
    assert!(
        credit.permit(1_000).is_some(),
        "too large for the limit, but alone"
    );
}

#[test]
fn a_source_can_wait_for_its_permit() {
    let (mut inbox, sender) = inbox_of::<()>(8);
    let credit = SourceCredit::new(10);
    let permit = credit.permit(10).unwrap();
    sender
        .put(Priority::Network, Event::from(()).with_permit(permit))
        .unwrap();
    let of_source = credit.clone();
    let source = crate::threads::spawn("source", move || {
        of_source.permit_waiting(5, RealSpan::from_secs(60)).is_some()
    });
    inbox.take().unwrap();
    assert!(source.unwrap().join().unwrap());
    assert_eq!(credit.used_bytes(), 0);
}

#[test]
fn a_full_inbox_refuses_and_counts() {
    let (inbox, sender) = inbox_of(1);
    sender.put(Priority::Other, 1).unwrap();
    assert!(matches!(
        sender.put(Priority::Other, 2),
        Err(PutError::Full(Event { body: 2, .. }))
    ));
    sender
        .put(Priority::Control, 3)
        .expect("other priorities have their own room");
    assert_eq!(inbox.stats().refused, 1);
    drop(inbox);
    assert!(matches!(sender.put(Priority::Other, 4), Err(PutError::Closed(_))));
}

#[test]
fn a_closed_inbox_refuses_and_gives_out_what_it_accepted() {
    let (mut inbox, sender) = inbox_of(8);
    sender.put(Priority::Other, 1).unwrap();
    inbox.close();
    assert!(matches!(
        sender.put(Priority::Control, 2),
        Err(PutError::Closed(_))
    ));
    assert_eq!((inbox.take(), inbox.take()), (Some(1), None));
}

#[test]
fn putting_never_blocks_the_loop_thread() {
    let (mut inbox, sender) = inbox_of(1);
    assert_eq!(inbox.take(), None); // this thread is now known to be the loop's
    sender.put(Priority::Other, 0).unwrap();
    let hour = RealSpan::from_secs(3_600);
    assert!(matches!(sender.put(Priority::Other, 1), Err(PutError::Full(_))));
    assert!(matches!(
        sender.put_waiting(Priority::Other, 1, hour),
        Err(PutError::Full(_))
    ));
    assert_eq!(inbox.stats().refused, 2);
}

#[test]
fn a_producer_may_wait_for_room() {
    let mut parker = Parker::new();
    let mut inbox = Inbox::new(1, parker.waker());
    let sender = inbox.sender();
    let minute = RealSpan::from_secs(60);
    sender.put(Priority::Other, 0).unwrap();
    let producer = crate::threads::spawn("producer", move || {
        (1..100)
            .try_for_each(|n| sender.put_waiting(Priority::Other, n, minute))
            .is_ok()
    })
    .unwrap();
    for expected in 0..100 {
        assert_eq!(
            inbox.take_waiting(Priority::Other, None, &mut parker),
            Some(expected)
        );
    }
    assert!(producer.join().unwrap());
}

#[test]
fn no_wake_up_is_lost() {
    const PRODUCERS: u64 = 8;
    const EVENTS_EACH: u64 = 20_000;
    let mut parker = Parker::new();
    let mut inbox = Inbox::new(64, parker.waker());
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|_| {
            let sender = inbox.sender();
            crate::threads::spawn("producer", move || {
                for event in 0..EVENTS_EACH {
                    sender
                        .put_waiting(Priority::Network, event, RealSpan::from_secs(60))
                        .unwrap();
                }
            })
            .unwrap()
        })
        .collect();
    // The loop sleeps without limit whenever it finds nothing: one lost wake-up and the test never ends.
    let mut sum = 0;
    for _ in 0..PRODUCERS * EVENTS_EACH {
        sum += inbox.take_waiting(Priority::Other, None, &mut parker).unwrap();
    }
    assert_eq!(sum, PRODUCERS * EVENTS_EACH * (EVENTS_EACH - 1) / 2);
    assert!(inbox.is_empty());
    for producer in producers {
        producer.join().unwrap();
    }
}
