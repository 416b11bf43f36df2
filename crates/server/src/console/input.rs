//! The console on standard input.
//!
//! A thread reads it, since a file cannot be polled beside sockets. Each line is sent to the loop, and the answer is printed
//! by the thread: a stopped terminal must not block the loop. The end of standard input ends the server only with
//! `--console until-end`: servers are often started without any input.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::sync_channel;

use trantor_model::show::is_shown;
use trantor_protocol::text::{Cut, LineCutter};
use trantor_runtime::StopSignal;
use trantor_runtime::threads::{self, Thread};
use trantor_time::RealSpan;

use self::system::{StandardInput, Stop, is_in_foreground};
use super::Answer;
use crate::options::ConsoleInput;
use crate::shell::Shell;
use crate::shell::tasks::{TaskError, TaskSender};

const PIECE_BYTES: usize = 1024;

/// Whether to read standard input, for a game that waits for `start` there or does not.
pub fn is_wanted(input: ConsoleInput, awaits_start: bool) -> bool {
    match input {
        ConsoleInput::On | ConsoleInput::UntilEnd => true,
        ConsoleInput::Off => false,
        // The system stops a program that reads its terminal from the background: one started with `&` has no console.
        ConsoleInput::Auto => awaits_start || (io::stdin().is_terminal() && is_in_foreground()),
    }
}

/// How long the end of the program waits for the console: it may be writing to a terminal that is held.
const ENDING_SPAN: RealSpan = RealSpan::from_millis(100);

/// Reads standard input until [`Self::end`].
pub struct ConsoleThread {
    stop: Stop,
    thread: Thread<()>,
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
        Ok(Self { stop, thread })
    }

    /// Ends the thread; answers whether it has ended. One that is blocked in a write is left behind.
    pub fn end(self) -> bool {
        drop(self.stop);
        match self.thread.join_within(ENDING_SPAN) {
            Ok(_) => true,
            Err(thread) => {
                thread.abandon();
                false
            }
        }
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
    // Scripts and their errors have a part in it.
    let printable = |letter: &char| *letter == '\n' || is_shown(*letter);
    let text: String = text.chars().filter(printable).collect();
    let _has_reader = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

/// Has the loop carry out a line; `None` if there is no loop any more.
fn ask(tasks: &TaskSender, line: &str) -> Option<Answer> {
    let (send, answer) = sync_channel(1);
    let line = line.to_owned();
    let carry_out = move |shell: &mut Shell| {
        // The console waits for it, or the program is ending.
        let reply = move |_: &mut Shell, answer| drop(send.send(answer));
        super::carry_out(shell, None, &line, Box::new(reply));
    };
    match tasks.send("console", carry_out) {
        Ok(()) => answer.recv().ok(),
        Err(TaskError::Full) => Some(Err("the server is too busy; try again".to_owned())),
        Err(TaskError::Closed) => None,
    }
}

enum Read {
    Bytes(usize),
    /// Ctrl-D on a terminal that is still there.
    EndOfTyping,
    Nothing,
    End,
}

#[cfg(unix)]
mod system {
    use std::io::{self, IsTerminal};
    use std::os::unix::net::UnixStream;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    use super::Read;

    /// Dropped, it ends a read.
    pub(super) type Stop = UnixStream;

    pub(super) struct StandardInput {
        stopped: UnixStream,
        is_terminal: bool,
    }

    pub(super) fn is_in_foreground() -> bool {
        rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    impl StandardInput {
        pub(super) fn open() -> io::Result<(Stop, Self)> {
            let (stop, stopped) = UnixStream::pair()?;
            let is_terminal = io::stdin().is_terminal();
            Ok((stop, Self { stopped, is_terminal }))
        }

        /// Waits for input. A program in the background (Ctrl-Z, then `bg`) must not read its terminal: the system would
        /// stop it. `None` once the [`Stop`] is dropped.
        pub(super) fn read(&self, piece: &mut [u8]) -> Option<Read> {
            let stdin = io::stdin();
            let mut watched = [
                PollFd::new(&self.stopped, PollFlags::IN),
                PollFd::new(&stdin, PollFlags::IN),
            ];
            if poll(&mut watched, None).is_err() {
                return Some(Read::Nothing);
            }
            if !watched[0].revents().is_empty() {
                return None;
            }
            if self.is_terminal && !is_in_foreground() {
                let mut stop_only = [PollFd::new(&self.stopped, PollFlags::IN)];
                let _rested = poll(&mut stop_only, Some(&BACKGROUND_LOOK));
                return Some(Read::Nothing);
            }
            // Not through the standard library's buffer: a poll does not see the bytes in it.
            Some(match rustix::io::read(&stdin, piece) {
                Ok(0) if self.is_terminal && !has_hung_up() => Read::EndOfTyping,
                Ok(count @ 1..) => Read::Bytes(count),
                Err(Errno::INTR) => Read::Nothing,
                Ok(0) | Err(_) => Read::End,
            })
        }
    }

    /// Whether standard input is a terminal that is gone.
    fn has_hung_up() -> bool {
        let stdin = io::stdin();
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut watched, Some(&at_once)).is_err()
            || watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// How often a program in the background looks whether it is in front again: a person does not notice the wait.
    const BACKGROUND_LOOK: Timespec = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
}

/// A read that nothing ends but input: the thread is left behind at the end of the program.
#[cfg(not(unix))]
mod system {
    use std::io::{self, IsTerminal, Read as _};

    use super::Read;

    pub(super) struct Stop;

    pub(super) struct StandardInput {
        is_terminal: bool,
    }

    pub(super) fn is_in_foreground() -> bool {
        true
    }

    impl StandardInput {
        pub(super) fn open() -> io::Result<(Stop, Self)> {
            let is_terminal = io::stdin().is_terminal();
            Ok((Stop, Self { is_terminal }))
        }

        pub(super) fn read(&self, piece: &mut [u8]) -> Option<Read> {
            Some(match io::stdin().lock().read(piece) {
                Ok(0) if self.is_terminal => Read::EndOfTyping,
                Ok(count @ 1..) => Read::Bytes(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Read::Nothing,
                Ok(0) | Err(_) => Read::End,
            })
        }
    }
}
