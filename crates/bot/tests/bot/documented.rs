//! Runs the bots of the documentation as printed there.

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use trantor_server::options::Options;

use crate::support::{greet, lines, listen, outcome, serve, viewer};

/// Killed when the test ends.
struct Bot(Child);

impl Drop for Bot {
    fn drop(&mut self) {
        self.0.kill().expect("the process has not been reaped");
        self.0.wait().expect("the process exists");
    }
}

/// Starts the first Python block of a page.
fn shown_on(page: &str, server: SocketAddr) -> Child {
    let (_, from) = page.split_once("```python\n").expect("the page shows a bot");
    let (program, _) = from.split_once("```").expect("the code block ends");
    Command::new("python3")
        .args(["-c", &program.replace("4242", &server.port().to_string())])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3 is installed (.ci/run has the list)")
}

/// Runs the first Python block of a page until a text viewer receives `event`. Lock-step makes the game independent of the
/// machine's load.
fn plays_until(page: &str, event: &str) {
    let mut options = Options {
        lock_step: true,
        ..Options::default()
    };
    options.game.teams = vec!["red".to_owned()];
    options.game.places_per_team = 1;
    let server = serve(&options);
    let viewer = viewer(server.address());
    let _bot = Bot(shown_on(page, server.address()));
    assert!(
        lines(&viewer).any(|line| line.starts_with(event)),
        "{event} in time"
    );
}

#[test]
fn the_bot_on_the_first_page_takes_what_it_finds() {
    plays_until(include_str!("../../../../README.md"), "pgt #0 ");
}

#[test]
fn the_bot_among_the_bots_rises() {
    plays_until(include_str!("../../../../docs/bots.md"), "plv #0 2");
}

#[test]
fn the_bot_on_the_first_page_says_how_it_died_and_where_to_read_on() {
    let (listener, address) = listen();
    let bot = shown_on(include_str!("../../../../README.md"), address);
    let (mut peer, _) = listener.accept().expect("the bot connects");
    greet(&peer);
    peer.write_all(b"5\n20 20\n[ player,,, ]\nok\ndead\n")
        .expect("it reads");
    let (_, _, said) = outcome(bot);
    let end = said.strip_prefix("starved at level 1 after ").expect("its end");
    assert!(end.ends_with(" s; now read docs/bots.md\n"), "{said}");
}
