//! Operators of a running program: who they are, and `trantor-server console`.

use std::io::{Read, Write};
use std::path::Path;

use crate::support::{Peer, Program, command, outcome};

#[test]
fn refused_operators_do_not_fill_the_log() {
    const ATTEMPTS: usize = 60;
    let mut program = Program::start("--control off");
    for _ in 0..ATTEMPTS {
        let mut peer = Peer::connect(program.address);
        peer.send("ADMIN\n");
        assert!(peer.rest().unwrap().contains("\nko "));
    }
    let log = program.stop();
    let lines = log.matches("may not operate").count();
    assert!((1..ATTEMPTS / 2).contains(&lines), "{log}");
}

/// A server that says `words` to everybody who connects, until the connection ends.
fn server_that_says(words: impl Fn(&mut std::net::TcpStream) + Send + 'static) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let serve = move || {
        let (mut peer, _) = listener.accept().unwrap();
        words(&mut peer);
        // What it was asked is read, so that the end is in order.
        let _asked = peer.read(&mut [0; 1024]);
    };
    trantor_runtime::threads::spawn("other server", serve)
        .unwrap()
        .abandon();
    port
}

#[test]
fn the_console_takes_no_endless_line_and_no_control_of_the_terminal() {
    let port = server_that_says(|peer| {
        peer.write_all(b"WELCOME\nok\n\x1b]0;PWNED\x07 100 \xc2\x9b2J units/s\nok\n")
            .unwrap();
    });
    let program = |arguments: &str| command(Path::new("."), arguments);
    let console = |port: &str| outcome(&mut program(&format!("console -h 127.0.0.1 -p {port} tick")));
    assert_eq!(
        console(&port),
        (0, "]0;PWNED 100 2J units/s\n".to_owned(), String::new())
    );

    for beginning in ["", "WELCOME\nok\n"] {
        let port = server_that_says(move |peer| {
            let mut is_taken = peer.write_all(beginning.as_bytes()).is_ok();
            // Far more than it keeps; it hangs up long before.
            for _ in 0..64 * 1024 {
                is_taken = is_taken && peer.write_all(&[b'x'; 1024]).is_ok();
            }
            assert!(!is_taken, "64 MiB were taken");
        });
        let (status, out, err) = console(&port);
        assert_eq!((status, out.as_str()), (84, ""));
        assert!(err.contains("a line has more than 65536 bytes"), "{err}");
    }

    // What others wrote and a script passes on is one line, whatever is in it.
    let (status, out, err) = outcome(program("console say").arg("hello\ntick freeze"));
    assert_eq!((status, out.as_str()), (84, ""));
    let expected = r#""say hello\ntick freeze": words are one line"#;
    assert!(err.contains(expected), "{err}");

    let port = server_that_says(|peer| while peer.write_all(b"WELCOME\n").is_ok() {});
    assert!(console(&port).2.contains("this is no trantor-server"));
}
