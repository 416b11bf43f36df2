//! Runs the bots of the documentation as printed there.

use std::process::{Child, Command, Stdio};

use trantor_server::options::Options;

use crate::support::{lines, serve, viewer};

/// Killed when the test ends.
struct Bot(Child);

impl Drop for Bot {
    fn drop(&mut self) {
        self.0.kill().expect("the process has not been reaped");
        self.0.wait().expect("the process exists");
    }
}

/// Runs the first Python block of a page until a text viewer receives `event`. Lock-step makes the game independent of the
/// machine's load.
fn plays_until(page: &str, event: &str) {
    let server = serve(&Options {
        teams: vec!["red".to_owned()],
        places_per_team: 1,
        lock_step: true,
        ..Options::default()
    });
    let viewer = viewer(server.address());
    let (_, from) = page.split_once("```python\n").expect("the page shows a bot");
    let (program, _) = from.split_once("```").expect("the code block ends");
    let port = server.address().port().to_string();
    let bot = Command::new("python3")
        .args(["-c", &program.replace("4242", &port)])
        .stdout(Stdio::null())
        .spawn();
    let _bot = Bot(bot.expect("python3 is installed (.ci/run has the list)"));
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
