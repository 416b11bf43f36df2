//! Standard input, where an operator starts a game that was told to wait (`--auto-start off`).
//!
//! A thread reads it, since a terminal or a file cannot be waited for beside sockets; what it reads is posted to
//! the loop. Its end ends nothing: servers are often started without any input at all.

use std::io::{self, BufRead};

use trantor_engine::AdminRequest;
use trantor_runtime::Poster;
use trantor_runtime::posts::PostError;
use trantor_runtime::service::Service;
use trantor_runtime::threads::{self, Thread};

use crate::shell::Shell;

/// Starts reading standard input, for as long as the game waits for its start.
///
/// # Errors
/// If the system refuses a thread.
pub fn watch(poster: Poster<Service<Shell>>) -> io::Result<Thread<()>> {
    threads::spawn("console", move || read_lines(io::stdin().lock(), &poster))
}

fn read_lines(input: impl BufRead, poster: &Poster<Service<Shell>>) {
    for line in input.lines() {
        let Ok(line) = line else { return };
        match line.trim() {
            "" => {}
            "/start" => {
                match poster.post("start", start) {
                    // The game is started once, and nothing else is asked for here.
                    Ok(()) | Err(PostError::Closed) => return,
                    Err(PostError::Full) => log::warn!("the server is too busy to start; try again"),
                }
            }
            other => log::warn!("{other:?} is no command; /start starts the game"),
        }
    }
}

fn start(service: &mut Service<Shell>) {
    let now = service.now();
    match service.state.engine.admin(AdminRequest::Start, now) {
        Ok(()) => log::info!("the game is started"),
        Err(refusal) => log::warn!("not started: {refusal}"),
    }
}
