//! [`Session`] against scripted servers and Trantor's server.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;

use trantor_bot::{Command, Dialect, Event, Percept, Resource, Session, SessionError};
use trantor_runtime::threads::{self, Thread};
use trantor_server::options::Options;
use trantor_time::Frequency;

use crate::support::{PATIENCE, listen, serve};

#[test]
fn commands_are_answered_in_order_and_events_wait() {
    let (address, server) = scripted(&[
        (0, "WELCOME\n"),
        (1, "3\n10 12\n"),
        (1, "ok\n"),
        (2, "message 1, hi\nok\n[player food, ,,linemate]\n"),
    ]);
    let mut session = Session::join(address, "red").unwrap();
    assert_eq!((session.places_left(), session.map_size()), (3, (10, 12)));
    assert_eq!(session.ask(Command::Forward).unwrap(), Percept::Ok);
    session.send(Command::Take(Resource::Food)).unwrap();
    session.send(Command::Look).unwrap();
    let taken = (Command::Take(Resource::Food), Percept::Ok);
    assert_eq!(session.wait().unwrap(), taken);
    assert!(matches!(session.wait().unwrap(), (_, Percept::Look(sights)) if sights.len() == 4));
    let (direction, text) = (1, (*b"hi").into());
    let message = Percept::Message { direction, text };
    assert_eq!(session.take_event(), Some(Event::Percept(message)));
    assert!(matches!(session.wait(), Err(SessionError::NothingOpen)));
    assert_eq!(server.join().unwrap(), "red\nForward\nTake food\nLook\n");
    let closed = session.ask(Command::Look);
    assert!(matches!(closed, Err(SessionError::Closed | SessionError::Io(_))));
}

#[test]
fn death_and_refusal_are_distinct_errors() {
    let (address, server) = scripted(&[(0, "WELCOME\n"), (1, "ko\n")]);
    assert!(matches!(Session::join(address, "red"), Err(SessionError::Refused(team)) if team == "red"));
    server.join().unwrap();
    let (address, server) = scripted(&[(0, "BIENVENUE\n"), (1, "0\n5 5\n"), (1, "mort\n")]);
    let mut session = Session::join_in(Dialect::French42, address, "red").unwrap();
    assert!(matches!(session.ask(Command::Look), Err(SessionError::Dead)));
    server.join().unwrap();
}

#[test]
fn an_eleventh_open_command_is_refused_here_and_not_lost_there() {
    let server = serve(&Options {
        frequency: Frequency::new(500).unwrap(),
        ..Options::default()
    });
    let mut session = Session::join(server.address(), "red").unwrap();
    for _ in 0..10 {
        session.send(Command::Forward).unwrap();
    }
    assert!(matches!(session.send(Command::Forward), Err(SessionError::Full)));
    for _ in 0..10 {
        assert_eq!(session.wait().unwrap(), (Command::Forward, Percept::Ok));
    }
    assert_eq!(session.ask(Command::ConnectNbr).unwrap(), Percept::Places(5));
}

/// A scripted server: each answer follows after this many lines. Returns all lines.
fn scripted(script: &'static [(usize, &'static str)]) -> (SocketAddr, Thread<String>) {
    let (listener, address) = listen();
    let thread = threads::spawn("scripted", move || {
        let (stream, _) = listener.accept().expect("a session connects");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket takes a time limit");
        let (mut reader, mut received) = (BufReader::new(&stream), String::new());
        for (lines, answer) in script {
            for _ in 0..*lines {
                reader.read_line(&mut received).expect("the session sends lines");
            }
            (&stream).write_all(answer.as_bytes()).expect("the session reads");
        }
        received
    });
    (address, thread.expect("a thread"))
}
