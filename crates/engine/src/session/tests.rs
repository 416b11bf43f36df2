//! Sessions found, listed, told and announced.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use trantor_model::{AgentId, MapSize};
use trantor_time::{RealSpan, RealTime};

use super::{Role, Session, Sessions};
use crate::input::ConnId;
use crate::limits::{DELAYED_BYTES_MAX, Limits, TEXT_VIEWERS_AT_ONCE_MAX};
use crate::output::CloseReason;

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
        1,
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
fn a_late_word_about_a_connection_that_is_gone_reaches_nobody() {
    let mut sessions = sessions(2);
    assert!(sessions.remove(conn(1, 0)).is_some());
    sessions.insert(session(conn(1, 1)));
    assert!(sessions.get(conn(1, 0)).is_none());
    assert!(sessions.remove(conn(1, 0)).is_none());
    sessions.push(conn(1, 0), |outbox| outbox.push(b'x'));
    assert_eq!(sessions.take_announced(), None);
    assert!(sessions.get(conn(1, 1)).is_some());
    assert_eq!(sessions.len(), 2);
}

#[test]
fn lists_follow_the_roles() {
    let mut sessions = sessions(3);
    sessions.set_role(conn(2, 0), Role::TextViewer);
    sessions.set_role(conn(0, 0), Role::TextViewer);
    sessions.set_role(conn(1, 0), Role::Agent(AgentId(7)));
    sessions.has_world(conn(2, 0), &[]);
    sessions.has_world(conn(0, 0), &[]);
    assert_eq!(
        sessions.text_viewers().told(),
        [conn(2, 0), conn(0, 0)],
        "in the order they came"
    );
    assert_eq!(sessions.of_agent(AgentId(7)), Some(conn(1, 0)));
    sessions.remove(conn(2, 0));
    let leaving = Role::Leaving {
        reason: CloseReason::Died,
        is_write_shut: false,
    };
    sessions.set_role(conn(1, 0), leaving);
    assert_eq!(sessions.text_viewers().told(), [conn(0, 0)]);
    assert_eq!(sessions.of_agent(AgentId(7)), None);
    assert_eq!((sessions.len(), sessions.agents()), (2, 0));
}

#[test]
fn a_session_without_room_is_doomed_once() {
    let mut sessions = sessions(1);
    sessions.get_mut(conn(0, 0)).unwrap().outbox_bytes_max = 3;
    for _ in 0..5 {
        sessions.push(conn(0, 0), |outbox| outbox.extend_from_slice(b"ok"));
    }
    assert_eq!(
        sessions.take_doomed(),
        Some((conn(0, 0), CloseReason::OutboxFull))
    );
    assert_eq!(sessions.take_doomed(), None);
    assert!(sessions.get(conn(0, 0)).unwrap().is_going());
    assert_eq!(sessions.undeliverable(), 3, "what came after it did not fit");
}

#[test]
fn each_session_is_announced_once_and_only_while_bytes_wait() {
    let mut sessions = sessions(2);
    for slot in [1, 0, 1, 1] {
        sessions.push(conn(slot, 0), |outbox| outbox.push(b'x'));
    }
    assert_eq!(sessions.take_announced(), Some(conn(1, 0)));
    sessions.push(conn(1, 0), |outbox| outbox.push(b'x'));
    sessions.sent(conn(0, 0), 1);
    assert_eq!(
        sessions.take_announced(),
        Some(conn(1, 0)),
        "what was written meanwhile is not announced"
    );
    assert_eq!(sessions.take_announced(), None);
}

#[test]
fn what_was_told_in_part_is_told_on_first_among_its_kind() {
    let mut sessions = sessions(4);
    sessions.set_role(conn(2, 0), Role::TextViewer);
    sessions.set_role(conn(3, 0), Role::TextViewer);
    for slot in [3, 2, 1, 0] {
        sessions.push(conn(slot, 0), |outbox| outbox.push(b'x'));
    }
    assert_eq!(sessions.take_announced_message(), Some(conn(3, 0)));
    assert_eq!(sessions.take_announced_answer(), Some(conn(1, 0)));
    sessions.announce_first(conn(3, 0));
    sessions.announce_first(conn(1, 0));
    sessions.announce_first(conn(1, 0));
    for slot in [1, 0, 3, 2] {
        assert_eq!(sessions.take_announced(), Some(conn(slot, 0)));
    }
    assert_eq!(sessions.take_announced(), None);
    sessions.sent(conn(1, 0), 1);
    sessions.announce_first(conn(1, 0));
    assert_eq!(sessions.take_announced(), None, "nothing is left");
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
    assert_eq!(sessions.take_announced_answer(), Some(conn(2, 0)));
    assert_eq!(sessions.take_announced_answer(), Some(conn(1, 0)));
    sessions.announce_first(conn(1, 0));
    assert_eq!(
        sessions.take_announced_answer(),
        Some(conn(1, 0)),
        "its answer was not written"
    );
    assert_eq!(sessions.take_announced_answer(), None);
    for piece in [1, 1] {
        sessions.sent(conn(1, 0), piece);
    }
    assert_eq!(sessions.take_announced_message(), Some(conn(0, 0)));
    assert_eq!(sessions.take_announced_message(), None);
    sessions.push_message(conn(1, 0), |outbox| outbox.push(b'm'));
    assert_eq!(sessions.take_announced_answer(), None);
    assert_eq!(sessions.take_announced_message(), Some(conn(1, 0)));
}

/// A text viewer that has been told how the world is, and is told of what happens after `delay`.
fn add_text_viewer(sessions: &mut Sessions, conn: ConnId, delay: RealSpan) {
    sessions.insert(session(conn));
    let session = sessions.get_mut(conn).unwrap();
    session.outbox.make_stream();
    session.delay = delay;
    sessions.set_role(conn, Role::TextViewer);
    sessions.has_world(conn, &[]);
}

/// Everything that waits for a session, which takes it.
fn take_all(sessions: &mut Sessions, conn: ConnId) -> Vec<u8> {
    let taken = sessions.get(conn).unwrap().outbox.unsent().to_vec();
    sessions.sent(conn, taken.len());
    taken
}

/// More happens than may be held: text viewers go, and what others are told has no gaps.
#[test]
fn too_much_delayed_text_takes_nothing_from_those_who_stay() {
    let mut sessions = sessions(1);
    let (stays, text) = (conn(0, 0), conn(1, 0));
    let delay = RealSpan::from_secs(60);
    let session = sessions.get_mut(stays).unwrap();
    session.outbox.make_stream();
    session.delay = delay;
    add_text_viewer(&mut sessions, text, delay);
    let news = vec![b'x'; DELAYED_BYTES_MAX / 4];
    for round in 0..8 {
        sessions.push_mark(stays, |outbox| outbox.push(b'0' + round));
        sessions.push_to_told(&news, &[]);
        let is_going = sessions.get(text).is_none_or(Session::is_going);
        assert_eq!(is_going, round >= 3, "{round}");
        if let Some((conn, reason)) = sessions.take_doomed() {
            assert_eq!((conn, reason), (text, CloseReason::OutboxFull));
            sessions.remove(conn);
        }
    }
    let now = RealTime::ZERO + delay;
    sessions.set_now(now);
    while sessions.release(now) {}
    assert_eq!(take_all(&mut sessions, stays), b"01234567");
}

#[derive(Clone, Debug)]
enum Step {
    TellAll(Vec<u8>),
    Answer(usize, Vec<u8>),
    Turn(usize),
    Come,
    Go(usize),
    Leave(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..4);
    let step = prop_oneof![
        6 => bytes().prop_map(Step::TellAll),
        3 => (any::<usize>(), bytes()).prop_map(|(viewer, what)| Step::Answer(viewer, what)),
        4 => (0_usize..9).prop_map(Step::Turn),
        2 => Just(Step::Come),
        1 => any::<usize>().prop_map(Step::Go),
        1 => any::<usize>().prop_map(Step::Leave),
    ];
    prop::collection::vec(step, 0..120)
}

proptest! {
    /// Against a list for each: whoever comes and goes, everybody hears everything from when it came, in order, and
    /// its own answers where they belong.
    #[test]
    fn many_text_viewers_hear_all_that_happens_in_order(steps in steps()) {
        let mut sessions = Sessions::new(MapSize::new(1, 1).unwrap());
        let mut slots = 0;
        let mut come = |sessions: &mut Sessions| {
            slots += 1;
            add_text_viewer(sessions, conn(slots - 1, 0), RealSpan::ZERO);
            (conn(slots - 1, 0), Vec::new(), Vec::new())
        };
        // Who, what it is to hear, and what it has heard.
        let mut model: Vec<(ConnId, Vec<u8>, Vec<u8>)> =
            (0..TEXT_VIEWERS_AT_ONCE_MAX).map(|_| come(&mut sessions)).collect();
        for step in steps {
            let count = model.len().max(1);
            match step {
                Step::TellAll(what) => {
                    sessions.push_to_told(&what, &[]);
                    model.iter_mut().for_each(|(_, due, _)| due.extend_from_slice(&what));
                }
                Step::Answer(viewer, what) => {
                    if let Some((conn, due, heard)) = model.get_mut(viewer % count) {
                        sessions.push(*conn, |outbox| outbox.extend_from_slice(&what));
                        due.extend_from_slice(&what);
                        heard.extend(take_all(&mut sessions, *conn));
                        prop_assert_eq!(&*heard, &*due, "an answer comes at once, after all before it");
                    }
                }
                Step::Turn(turn) => sessions.tell_late(turn),
                Step::Come => model.push(come(&mut sessions)),
                Step::Go(viewer) => {
                    if !model.is_empty() {
                        let (conn, ..) = model.remove(viewer % count);
                        sessions.remove(conn);
                    }
                }
                Step::Leave(viewer) => {
                    if !model.is_empty() {
                        let (conn, due, mut heard) = model.remove(viewer % count);
                        let leaving = Role::Leaving { reason: CloseReason::Goodbye, is_write_shut: false };
                        sessions.set_role(conn, leaving);
                        heard.extend(take_all(&mut sessions, conn));
                        prop_assert_eq!(heard, due, "who leaves has all that happened until then");
                        sessions.remove(conn);
                    }
                }
            }
            while let Some(conn) = sessions.take_announced() {
                let (_, _, heard) = model.iter_mut().find(|(viewer, ..)| *viewer == conn).unwrap();
                heard.extend(take_all(&mut sessions, conn));
            }
            sessions.check_text_news();
        }
        sessions.tell_late(usize::MAX);
        for (conn, due, mut heard) in model {
            heard.extend(take_all(&mut sessions, conn));
            prop_assert_eq!(heard, due);
        }
    }
}
