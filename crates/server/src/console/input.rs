//! The console on standard input.
//!
//! A thread reads it, since a file cannot be polled beside sockets. Each line is sent to the loop, and the answer is printed
//! by the thread: a stopped terminal must not block the loop. The end of standard input ends the server only with
//! `--console until-end`: servers are often started without any input.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::sync_channel;

use trantor_protocol::text::{Cut, LineCutter};
use trantor_runtime::StopSignal;
use trantor_runtime::threads::{self, Thread};
use trantor_time::RealSpan;

use super::Answer;
use super::standard_input::{Read, StandardInput, Stop, is_in_foreground};
use crate::options::ConsoleInput;
use crate::shell::Shell;
use crate::shell::tasks::{TaskError, TaskSender};

const PIECE_BYTES: usize = 1024;

/// Whether to read standard input, for a game that waits for `start` there or does not.
pub fn is_wanted(input: ConsoleInput, awaits_start: bool) -> bool {
    match input {
        ConsoleInput::On | ConsoleInput::UntilEnd => true,
        ConsoleInput::Off => false,
        ConsoleInput::Auto => awaits_start || is_our_terminal(),
    }
}

/// Whether standard input is a terminal that we may read. The system stops a program that reads its terminal from the
/// background, so one that was started with `&` has no console.
fn is_our_terminal() -> bool {
    io::stdin().is_terminal() && is_in_foreground()
}

/// How long the end of the program waits for the console: it may be writing to a terminal that is held.
const ENDING_SPAN: RealSpan = RealSpan::from_millis(100);

/// Reads standard input until it is dropped.
pub struct ConsoleThread {
    thread: Option<Thread<()>>,
    stop: Option<Stop>,
}

impl ConsoleThread {
    /// Starts reading; `at_end` is given at the end of standard input.
    pub fn start(tasks: TaskSender, at_end: Option<StopSignal>) -> io::Result<Self> {
        let (stop, input) = StandardInput::open()?;
        let read = move || {
            read_lines(io::stdout(), &input, &tasks);
            if let Some(end) = at_end {
                end.request();
            }
        };
        let thread = threads::spawn("console", read)?;
        Ok(Self {
            thread: Some(thread),
            stop: Some(stop),
        })
    }

    /// Ends the thread; answers whether it has ended. One that is blocked in a write is left behind.
    pub fn end(mut self) -> bool {
        self.stop_reading()
    }

    fn stop_reading(&mut self) -> bool {
        self.stop = None;
        match self.thread.take().map(|thread| thread.join_within(ENDING_SPAN)) {
            Some(Err(thread)) => {
                thread.abandon();
                false
            }
            _ => true,
        }
    }
}

impl Drop for ConsoleThread {
    fn drop(&mut self) {
        self.stop_reading();
    }
}

fn read_lines(mut output: impl Write, input: &StandardInput, tasks: &TaskSender) {
    let mut lines = LineCutter::new();
    let mut piece = [0; PIECE_BYTES];
    loop {
        let mut bytes = match input.read(&mut piece) {
            None => return,
            Some(Read::Bytes(count)) => &piece[..count],
            Some(Read::Nothing) => continue,
            Some(Read::EndOfTyping) => {
                show(&mut output, "the console stays open; quit ends the server\n");
                continue;
            }
            Some(Read::End) => return log::info!("the console is closed: standard input has ended"),
        };
        while let Some(cut) = lines.next(&mut bytes) {
            let answer = match cut {
                Cut::Line(line) => ask(tasks, &String::from_utf8_lossy(line)),
                Cut::TooLong => Some(Err("this line is too long".to_owned())),
            };
            let shown = match answer {
                Some(Ok(text)) => text,
                Some(Err(reason)) => format!("{reason}\n"),
                None => return,
            };
            show(&mut output, &shown);
        }
    }
}

/// Without a reader for the answers the server goes on.
fn show(output: &mut impl Write, text: &str) {
    let _has_reader = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

/// Has the loop carry out a line; `None` if there is no loop any more.
fn ask(tasks: &TaskSender, line: &str) -> Option<Answer> {
    let (send, answer) = sync_channel(1);
    let line = line.to_owned();
    let carry_out = move |shell: &mut Shell| {
        // The console waits for it, or the program is ending.
        let _received = send.send(super::carry_out(shell, None, &line));
    };
    match tasks.send("console", carry_out) {
        Ok(()) => answer.recv().ok(),
        Err(TaskError::Full) => Some(Err("the server is too busy; try again".to_owned())),
        Err(TaskError::Closed) => None,
    }
}
