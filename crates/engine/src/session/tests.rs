//! Sessions found, listed, sent to and dirty.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use trantor_model::MapSize;
use trantor_time::{RealSpan, RealTime, TokenRate};

use super::{Role, Session, Sessions};
use crate::limits::{DELAYED_BYTES_MAX, DELAYED_BYTES_PER_VIEWER_MAX, Limits, TEXT_VIEWERS_AT_ONCE_MAX};
use crate::shell::{CloseReason, ConnId};

fn conn(slot: u32, generation: u32) -> ConnId {
    ConnId { slot, generation }
}

fn session(conn: ConnId) -> Session {
    let limits = Limits::default();
    Session::new(
        conn,
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        0,
        RealTime::ZERO,
        &limits,
        TokenRate::new(1, 2),
    )
}

fn sessions(slots: u32) -> Sessions {
    let mut sessions = Sessions::new(MapSize::new(1, 1).unwrap());
    for slot in 0..slots {
        sessions.insert(session(conn(slot, 0)));
    }
    sessions
}

#[test]
fn partly_written_sessions_go_first_among_their_kind() {
    let mut sessions = sessions(4);
    sessions.set_role(conn(2, 0), Role::TextViewer);
    sessions.set_role(conn(3, 0), Role::TextViewer);
    for slot in [3, 2, 1, 0] {
        sessions.push(conn(slot, 0), |outbox| outbox.push(b'x'));
    }
    assert_eq!(sessions.take_dirty_message(), Some(conn(3, 0)));
    assert_eq!(sessions.take_dirty_answer(), Some(conn(1, 0)));
    sessions.mark_dirty_first(conn(3, 0));
    sessions.mark_dirty_first(conn(1, 0));
    sessions.mark_dirty_first(conn(1, 0));
    for slot in [1, 0, 3, 2] {
        assert_eq!(sessions.take_dirty(), Some(conn(slot, 0)));
    }
    assert_eq!(sessions.take_dirty(), None);
    sessions.sent(conn(1, 0), 1);
    sessions.mark_dirty_first(conn(1, 0));
    assert_eq!(sessions.take_dirty(), None, "nothing is left");
}

/// A session that was sent a message and is then answered comes with the answers, once.
#[test]
fn answers_go_before_messages() {
    let mut sessions = sessions(3);
    for slot in [0, 1] {
        sessions.push_message(conn(slot, 0), |outbox| outbox.push(b'm'));
    }
    for slot in [2, 1] {
        sessions.push(conn(slot, 0), |outbox| outbox.push(b'a'));
    }
    assert_eq!(sessions.take_dirty_answer(), Some(conn(2, 0)));
    assert_eq!(sessions.take_dirty_answer(), Some(conn(1, 0)));
    sessions.mark_dirty_first(conn(1, 0));
    assert_eq!(
        sessions.take_dirty_answer(),
        Some(conn(1, 0)),
        "its answer was not written"
    );
    assert_eq!(sessions.take_dirty_answer(), None);
    for piece in [1, 1] {
        sessions.sent(conn(1, 0), piece);
    }
    assert_eq!(sessions.take_dirty_message(), Some(conn(0, 0)));
    assert_eq!(sessions.take_dirty_message(), None);
    sessions.push_message(conn(1, 0), |outbox| outbox.push(b'm'));
    assert_eq!(sessions.take_dirty_answer(), None);
    assert_eq!(sessions.take_dirty_message(), Some(conn(1, 0)));
}

/// A text viewer that has the world, and is sent updates after `delay`.
fn add_text_viewer(sessions: &mut Sessions, conn: ConnId, delay: RealSpan) {
    sessions.insert(session(conn));
    let session = sessions.get_mut(conn).unwrap();
    session.outbox.make_stream();
    session.delay = delay;
    sessions.set_role(conn, Role::TextViewer);
    sessions.finish_joining(conn);
}

/// Everything that waits for a session, which takes it.
fn take_all(sessions: &mut Sessions, conn: ConnId) -> Vec<u8> {
    let taken = sessions.get(conn).unwrap().outbox.unsent().to_vec();
    sessions.sent(conn, taken.len());
    taken
}

/// More happens than may be held: text viewers are disconnected, and what others are sent has no gaps.
#[test]
fn a_full_delay_disconnects_text_viewers_and_keeps_tick_marks() {
    let mut sessions = sessions(1);
    let (stays, text) = (conn(0, 0), conn(1, 0));
    let delay = RealSpan::from_secs(60);
    let session = sessions.get_mut(stays).unwrap();
    session.outbox.make_stream();
    session.delay = delay;
    add_text_viewer(&mut sessions, text, delay);
    let updates = vec![b'x'; DELAYED_BYTES_MAX / 4];
    for round in 0..8 {
        sessions.push_mark(stays, |outbox| outbox.push(b'0' + round));
        sessions.append_text(&updates);
        let is_leaving = sessions.get(text).is_none_or(Session::is_leaving);
        assert_eq!(is_leaving, round >= 3, "{round}");
        if let Some((conn, reason)) = sessions.closing.pop_front() {
            assert_eq!((conn, reason), (text, CloseReason::OutboxFull));
            sessions.remove(conn);
        }
    }
    let now = RealTime::ZERO + delay;
    sessions.set_now(now);
    while sessions.release(now) {}
    assert_eq!(take_all(&mut sessions, stays), b"01234567");
}

#[test]
fn a_viewer_that_holds_too_much_is_disconnected_and_its_room_is_free_again() {
    let mut sessions = sessions(2);
    for round in 0..2 {
        // On a large map a viewer may leave more unread, and so hold more.
        let most = DELAYED_BYTES_PER_VIEWER_MAX * (1 + round as usize);
        for slot in 0..2 {
            let session = sessions.get_mut(conn(slot, round)).unwrap();
            (session.delay, session.outbox_bytes_max) = (RealSpan::from_secs(60), most);
        }
        // Two take turns, and are sent the same.
        let mut piece = 0_u32;
        while sessions.closing.pop_front().is_none() {
            for slot in 0..2 {
                let bytes = piece.to_le_bytes().repeat(4_096);
                sessions.push(conn(slot, round), |outbox| outbox.extend_from_slice(&bytes));
            }
            piece += 1;
        }
        let pieces = most / (4 * 4_096);
        assert!(
            (pieces * 99 / 100..=pieces).contains(&(piece as usize)),
            "{piece}"
        );
        sessions.check_text_log();
        for slot in 0..2 {
            sessions.remove(conn(slot, round));
            sessions.insert(session(conn(slot, round + 1)));
        }
        while sessions.closing.pop_front().is_some() {}
    }
    let now = RealTime::ZERO + RealSpan::from_secs(60);
    while sessions.release(now) {}
    assert_eq!((sessions.next_release(), sessions.take_dirty()), (None, None));
    sessions.check_text_log();
}

#[derive(Clone, Debug)]
enum Step {
    Publish(Vec<u8>),
    Answer(usize, Vec<u8>),
    Turns(usize),
    Pass(i64),
    Come(bool),
    Go(usize),
    Leave(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..4);
    let step = prop_oneof![
        6 => bytes().prop_map(Step::Publish),
        3 => (any::<usize>(), bytes()).prop_map(|(viewer, what)| Step::Answer(viewer, what)),
        4 => (0_usize..9).prop_map(Step::Turns),
        4 => (0_i64..900).prop_map(Step::Pass),
        2 => any::<bool>().prop_map(Step::Come),
        1 => any::<usize>().prop_map(Step::Go),
        1 => any::<usize>().prop_map(Step::Leave),
    ];
    prop::collection::vec(step, 0..120)
}

/// A text viewer with a list of what it is to be sent, from when on.
struct Expected {
    conn: ConnId,
    delay: RealSpan,
    due: Vec<(RealTime, Vec<u8>)>,
    received: Vec<u8>,
}

impl Expected {
    /// All that leaves until `now`.
    fn due_at(&self, now: RealTime) -> Vec<u8> {
        let due = self.due.iter().take_while(|(at, _)| *at <= now);
        due.flat_map(|(_, bytes)| bytes).copied().collect()
    }

    fn receive(&mut self, sessions: &mut Sessions) {
        self.received.extend(take_all(sessions, self.conn));
    }
}

proptest! {
    /// Against a list for each: while viewers come and go, every viewer is sent everything from when it came, in order and never
    /// early, and its own answers where they belong.
    #[test]
    fn many_text_viewers_are_sent_all_that_happens_in_order(steps in steps()) {
        let mut sessions = Sessions::new(MapSize::new(1, 1).unwrap());
        let (mut slots, mut now) = (0, RealTime::ZERO);
        let mut come = |sessions: &mut Sessions, is_delayed: bool| {
            slots += 1;
            let (conn, delay) = (conn(slots - 1, 0), RealSpan::from_secs(i64::from(is_delayed)));
            add_text_viewer(sessions, conn, delay);
            Expected { conn, delay, due: Vec::new(), received: Vec::new() }
        };
        let mut viewers: Vec<_> =
            (0..TEXT_VIEWERS_AT_ONCE_MAX).map(|nth| come(&mut sessions, nth % 2 == 0)).collect();
        for step in steps {
            let count = viewers.len().max(1);
            match step {
                Step::Publish(what) => {
                    sessions.append_text(&what);
                    viewers.iter_mut().for_each(|viewer| viewer.due.push((now + viewer.delay, what.clone())));
                }
                Step::Answer(viewer, what) => {
                    if let Some(viewer) = viewers.get_mut(viewer % count) {
                        sessions.push(viewer.conn, |outbox| outbox.extend_from_slice(&what));
                        viewer.due.push((now + viewer.delay, what));
                        viewer.receive(&mut sessions);
                        if viewer.delay == RealSpan::ZERO {
                            prop_assert_eq!(&viewer.received, &viewer.due_at(now), "an answer comes at once");
                        }
                    }
                }
                Step::Turns(turns) => sessions.serve_turns(turns),
                Step::Pass(millis) => {
                    now += RealSpan::from_millis(millis);
                    sessions.set_now(now);
                    while sessions.release(now) {}
                }
                Step::Come(is_delayed) => viewers.push(come(&mut sessions, is_delayed)),
                Step::Go(viewer) => {
                    if !viewers.is_empty() {
                        sessions.remove(viewers.remove(viewer % count).conn);
                    }
                }
                Step::Leave(viewer) => {
                    if !viewers.is_empty() {
                        let mut viewer = viewers.remove(viewer % count);
                        let leaving = Role::Leaving { reason: CloseReason::Goodbye, is_write_shut: false };
                        sessions.set_role(viewer.conn, leaving);
                        viewer.receive(&mut sessions);
                        if viewer.delay == RealSpan::ZERO {
                            prop_assert_eq!(&viewer.received, &viewer.due_at(now), "all until it leaves");
                        }
                        sessions.remove(viewer.conn);
                    }
                }
            }
            while let Some(conn) = sessions.take_dirty() {
                viewers.iter_mut().find(|viewer| viewer.conn == conn).unwrap().receive(&mut sessions);
            }
            sessions.check_text_log();
            for viewer in &viewers {
                prop_assert!(viewer.due_at(now).starts_with(&viewer.received), "in order and never early");
            }
        }
        now += RealSpan::from_secs(2);
        sessions.set_now(now);
        while sessions.release(now) {}
        sessions.serve_turns(usize::MAX);
        for mut viewer in viewers {
            viewer.receive(&mut sessions);
            prop_assert_eq!(&viewer.received, &viewer.due_at(now));
        }
    }
}
