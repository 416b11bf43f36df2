//! [`Session`] against scripted servers and Trantor's server.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use trantor_bot::{Answer, Command, Dialect, News, Resource, Session, SessionError};
use trantor_runtime::threads::{self, Thread};
use trantor_server::options::Options;
use trantor_time::Frequency;

use support::serve;

#[test]
fn commands_are_answered_in_order_and_news_wait() {
    let (address, server) = scripted(&[
        (0, "WELCOME\n"),
        (1, "3\n10 12\n"),
        (1, "ok\n"),
        (2, "message 1, hi\nok\n[player food, ,,linemate]\n"),
        (1, "Elevation underway\nCurrent level: 2\n"),
    ]);
    let mut session = Session::join(address, "red").unwrap();
    assert_eq!((session.places_left(), session.map_size()), (3, (10, 12)));
    assert_eq!(session.ask(Command::Forward).unwrap(), Answer::Ok);
    session.send(Command::Take(Resource::Food)).unwrap();
    session.send(Command::Look).unwrap();
    assert_eq!(
        session.wait().unwrap(),
        (Command::Take(Resource::Food), Answer::Ok)
    );
    let (_, Answer::Look(sights)) = session.wait().unwrap() else {
        panic!("a look is answered by a look");
    };
    assert_eq!((sights.len(), sights[0].agents), (4, 1));
    assert_eq!(
        session.take_news(),
        Some(News::Message {
            direction: 1,
            text: b"hi".to_vec()
        })
    );
    assert!(matches!(session.ask(Command::Incantation).unwrap(), Answer::Level(level) if level.get() == 2));
    assert!(matches!(session.wait(), Err(SessionError::NothingOpen)));
    let heard = server.join().unwrap();
    assert_eq!(
        heard,
        ["red\n", "Forward\n", "Take food\n", "Look\n", "Incantation\n"]
    );
    assert!(matches!(
        session.ask(Command::Look),
        Err(SessionError::Closed | SessionError::Io(_))
    ));
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
        frequency: Frequency::new(10_000).unwrap(),
        ..Options::default()
    });
    let mut session = Session::join(server.address(), "red").unwrap();
    for _ in 0..10 {
        session.send(Command::Forward).unwrap();
    }
    assert!(matches!(session.send(Command::Forward), Err(SessionError::Full)));
    for _ in 0..10 {
        assert_eq!(session.wait().unwrap(), (Command::Forward, Answer::Ok));
    }
    assert!(matches!(session.ask(Command::Look).unwrap(), Answer::Look(sights) if sights.len() == 4));
    assert!(matches!(
        session.ask(Command::Inventory).unwrap(),
        Answer::Inventory(_)
    ));
    assert_eq!(session.ask(Command::ConnectNbr).unwrap(), Answer::Places(5));
}

/// A scripted server: each answer follows after this many lines.
fn scripted(script: &'static [(usize, &'static str)]) -> (SocketAddr, Thread<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback works");
    let address = listener.local_addr().expect("loopback works");
    let thread = threads::spawn("scripted", move || {
        let (stream, _) = listener.accept().expect("loopback works");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("loopback works");
        let mut reader = BufReader::new(stream.try_clone().expect("loopback works"));
        let mut heard = Vec::new();
        for (lines, answer) in script {
            for _ in 0..*lines {
                let mut line = String::new();
                reader.read_line(&mut line).expect("loopback works");
                heard.push(line);
            }
            (&stream).write_all(answer.as_bytes()).expect("loopback works");
        }
        heard
    });
    (address, thread.expect("loopback works"))
}
