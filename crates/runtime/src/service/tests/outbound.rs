//! The outbound queue and its flush.

use super::*;
use crate::service::outbound::{OutboundFull, OutboundStats, SendError};

/// Sessions 1 to 9 exist; what is written to each is kept, one entry a write.
#[derive(Default)]
struct Sessions {
    encoded: Vec<(u32, String)>,
    written: Vec<(u32, String)>,
}

impl Peers<u32, &'static str> for Sessions {
    fn encode(&mut self, session: u32, message: &'static str) -> Result<(), SendError> {
        match (session, message) {
            (10.., _) => Err(SendError::Gone),
            (_, "bad") => Err(SendError::NotEncoded("bad".to_owned())),
            _ => {
                self.encoded.push((session, message.to_owned()));
                Ok(())
            }
        }
    }

    fn write(&mut self, session: u32) {
        let joined: String = self.encoded.drain(..).map(|(_, message)| message).collect();
        self.written.push((session, joined));
    }
}

struct Program {
    outbound: Outbound<u32, &'static str>,
    sessions: Sessions,
}

fn program_loop(budget: Budget) -> (ServiceLoop<Program, ManualClock, ManualWait>, ManualClock) {
    let clock = ManualClock::default();
    let program = Program {
        outbound: Outbound::new(8),
        sessions: Sessions::default(),
    };
    let wait = ManualWait::new(&clock);
    let a_loop = ServiceBuilder::new("test", ServiceSettings::default(), program, clock.clone(), wait)
        .posts(POSTED)
        .timers(TIMERS)
        .stage_fn("flush", budget, |service, turn| {
            let now = service.now();
            let Program { outbound, sessions } = &mut service.state;
            outbound.flush(sessions, turn, now);
        })
        .build();
    (a_loop, clock)
}

fn queue(a_loop: &mut ServiceLoop<Program, ManualClock, ManualWait>, session: u32, message: &'static str) {
    let now = a_loop.service().now();
    a_loop
        .service()
        .state
        .outbound
        .queue(session, message, now)
        .unwrap();
}

fn written(a_loop: &mut ServiceLoop<Program, ManualClock, ManualWait>) -> Vec<(u32, String)> {
    std::mem::take(&mut a_loop.service().state.sessions.written)
}

#[test]
fn messages_of_a_session_leave_in_order_and_not_before_the_flush() {
    let (mut a_loop, clock) = program_loop(OUTBOUND);
    a_loop.pass();
    let poster = a_loop.service().poster();
    poster
        .post("talk", |service| {
            let now = service.now();
            for (session, message) in [(2, "a"), (1, "b"), (2, "c"), (1, "d")] {
                service.state.outbound.queue(session, message, now).unwrap();
            }
            assert!(
                service.state.sessions.encoded.is_empty(),
                "nothing leaves before the flush"
            );
        })
        .unwrap();
    clock.advance(ms(3));
    a_loop.pass();
    // One write for each session.
    assert_eq!(written(&mut a_loop), [(1, "bd".to_owned()), (2, "ac".to_owned())]);
    assert_eq!(a_loop.service().faults().count(), 0);
}

#[test]
fn a_message_for_a_session_that_is_gone_is_dropped_and_counted() {
    let (mut a_loop, _) = program_loop(OUTBOUND);
    queue(&mut a_loop, 99, "lost");
    a_loop.pass();
    assert!(a_loop.service().state.sessions.encoded.is_empty());
    assert_eq!(a_loop.service().state.outbound.stats().gone, 1);
}

#[test]
fn a_message_that_cannot_be_encoded_costs_no_other_its_way() {
    let (mut a_loop, _) = program_loop(OUTBOUND);
    for message in ["a", "bad", "b"] {
        queue(&mut a_loop, 1, message);
    }
    a_loop.pass();
    assert_eq!(written(&mut a_loop), [(1, "ab".to_owned())]);
    assert_eq!(a_loop.service().state.outbound.stats().failed, 1);
}

#[test]
fn another_thread_may_move_the_bytes_and_not_their_order() {
    use std::sync::mpsc::{SyncSender, sync_channel};
    /// Hands each session's bytes to a thread that writes them; the channel keeps what the loop decided.
    struct ByThread(Vec<u8>, SyncSender<(u32, Vec<u8>)>);
    impl Peers<u32, u8> for ByThread {
        fn encode(&mut self, _session: u32, message: u8) -> Result<(), SendError> {
            self.0.push(message);
            Ok(())
        }
        fn write(&mut self, session: u32) {
            self.1.send((session, std::mem::take(&mut self.0))).unwrap();
        }
    }
    let (bytes, to_write) = sync_channel(64);
    let writer = crate::threads::spawn("writer", move || to_write.iter().collect::<Vec<_>>()).unwrap();
    let clock = ManualClock::default();
    let mut stages = Stages::declare("t", [StageSpec::new("flush", OUTBOUND)], LONG_PASS);
    let (mut outbound, mut peers) = (Outbound::new(64), ByThread(Vec::new(), bytes));
    for pass in 0..10_u8 {
        for session in [2, 1] {
            outbound.queue(session, pass, clock.now()).unwrap();
            outbound.queue(session, pass + 100, clock.now()).unwrap();
        }
        stages.begin_pass(clock.now());
        let mut name = String::new();
        let mut turn = StageTurn::enter(&mut stages, 0, &clock, clock.now(), &mut name);
        outbound.flush(&mut peers, &mut turn, clock.now());
        turn.leave();
    }
    drop(peers);
    // The order was fixed in the loop.
    let expected = (0..10_u8).flat_map(|pass| [1, 2].map(|session| (session, vec![pass, pass + 100])));
    assert_eq!(writer.join().unwrap(), expected.collect::<Vec<_>>());
}

#[test]
fn outbound_order_is_that_of_the_loop() {
    let (mut a_loop, _) = program_loop(Budget::new(3, STAGE_TIME));
    for message in ["a", "b", "c", "d"] {
        queue(&mut a_loop, 1, message);
    }
    // A flush cut short by its budget goes on where it stopped.
    (0..2).for_each(|_| assert_eq!(a_loop.pass(), None));
    assert_eq!(written(&mut a_loop), [(1, "abc".to_owned()), (1, "d".to_owned())]);
}

#[test]
fn a_session_that_is_gone_does_not_end_the_drain() {
    let (mut a_loop, _) = program_loop(OUTBOUND);
    for (session, message) in [(1, "a"), (99, "lost"), (2, "bad"), (2, "b")] {
        queue(&mut a_loop, session, message);
    }
    a_loop.pass();
    let written: Vec<_> = written(&mut a_loop)
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .collect();
    assert_eq!(written, [(1, "a".to_owned()), (2, "b".to_owned())]);
    let stats = a_loop.service().state.outbound.stats();
    // Each dropped message is counted by its reason.
    assert_eq!((stats.sent, stats.gone, stats.failed, stats.depth), (2, 1, 1, 0));
}

#[test]
fn messages_know_their_age() {
    let (mut a_loop, clock) = program_loop(Budget::new(1, STAGE_TIME));
    a_loop.pass();
    queue(&mut a_loop, 1, "a");
    queue(&mut a_loop, 1, "b");
    a_loop.service().poster().post("wake", |_| ()).unwrap();
    a_loop.pass();
    clock.advance(ms(7));
    assert_eq!(a_loop.service().state.outbound.age_of_oldest(clock.now()), ms(7));
    a_loop.pass();
    assert_eq!(a_loop.service().state.outbound.stats().age_ns_max, 7_000_000);
    assert_eq!(written(&mut a_loop), [(1, "a".to_owned()), (1, "b".to_owned())]);
}

#[test]
fn the_outbound_queue_is_bounded() {
    let mut outbound = Outbound::new(1);
    outbound.queue(1, "a", at(0)).unwrap();
    assert_eq!(outbound.queue(1, "b", at(0)), Err(OutboundFull("b")));
    assert_eq!(
        outbound.stats(),
        OutboundStats {
            depth: 1,
            refused: 1,
            ..OutboundStats::default()
        }
    );
    assert_eq!(outbound.forget(1), 1);
    assert!(outbound.is_empty());
}
