//! Standard input, where the operator of this very machine types.
//!
//! A thread reads it, since a terminal or a file cannot be waited for beside sockets. Each line is posted to the loop,
//! and the answer comes back to be printed here: a terminal that is held must not hold the loop. The end of standard
//! input ends nothing: servers are often started without any input at all.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::mpsc::sync_channel;

use trantor_protocol::text::{Cut, LineCutter};
use trantor_runtime::Poster;
use trantor_runtime::posts::PostError;
use trantor_runtime::service::Service;
use trantor_runtime::threads::{self, Thread};

use super::Answer;
use crate::shell::Shell;

/// Bytes read at once.
const PIECE_BYTES: usize = 1024;

/// Whether standard input is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConsoleInput {
    /// If it is a terminal, or the game waits for its start.
    #[default]
    Auto,
    /// Whatever it is.
    On,
    /// Never.
    Off,
}

impl ConsoleInput {
    /// Whether to read standard input, for a game that waits for `start` there or does not.
    pub fn is_wanted(self, awaits_start: bool) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::Auto => awaits_start || is_our_terminal(),
        }
    }
}

/// Whether standard input is a terminal that we may read. The system stops a program that reads its terminal from the
/// background, so one that was started with `&` has no console.
fn is_our_terminal() -> bool {
    let stdin = io::stdin();
    stdin.is_terminal()
        && rustix::termios::tcgetpgrp(&stdin).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Starts reading standard input, for as long as the server runs.
///
/// # Errors
/// If the system refuses a thread.
pub fn watch(poster: Poster<Service<Shell>>) -> io::Result<Thread<()>> {
    threads::spawn("console", move || {
        read_lines(io::stdin().lock(), io::stdout(), &poster);
    })
}

fn read_lines(mut input: impl Read, mut output: impl Write, poster: &Poster<Service<Shell>>) {
    let mut lines = LineCutter::new();
    let mut piece = [0; PIECE_BYTES];
    loop {
        let mut bytes = match input.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => &piece[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        while let Some(cut) = lines.next(&mut bytes) {
            let answer = match cut {
                Cut::Line(line) => ask(poster, &String::from_utf8_lossy(line)),
                Cut::TooLong => Some(Err("this line is too long".to_owned())),
            };
            let shown = match answer {
                Some(Ok(text)) => text,
                Some(Err(reason)) => format!("{reason}\n"),
                None => return,
            };
            // With nobody to read the answers the questions may go on.
            let _nobody_reads = output.write_all(shown.as_bytes()).and_then(|()| output.flush());
        }
    }
}

/// Has the loop carry out a line; `None` if there is no loop any more.
fn ask(poster: &Poster<Service<Shell>>, line: &str) -> Option<Answer> {
    let (told, answer) = sync_channel(1);
    let line = line.to_owned();
    let carry_out = move |service: &mut Service<Shell>| {
        // Whoever asked is waiting, or the program is ending.
        let _received = told.send(super::carry_out(service, "console", &line));
    };
    match poster.post("console", carry_out) {
        Ok(()) => answer.recv().ok(),
        Err(PostError::Full) => Some(Err("the server is too busy; try again".to_owned())),
        Err(PostError::Closed) => None,
    }
}
