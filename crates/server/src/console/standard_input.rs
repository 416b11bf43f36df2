//! Standard input for a thread that another one can stop.

pub(super) use system::{StandardInput, Stop, is_in_foreground};

/// What a read found.
pub(super) enum Read {
    Bytes(usize),
    /// Ctrl-D on a terminal that is still there.
    EndOfTyping,
    /// Nothing for us.
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
    pub(in super::super) type Stop = UnixStream;

    pub(in super::super) struct StandardInput {
        stopped: UnixStream,
        is_terminal: bool,
    }

    /// Whether the terminal is ours to read.
    pub(in super::super) fn is_in_foreground() -> bool {
        rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    impl StandardInput {
        pub(in super::super) fn open() -> io::Result<(Stop, Self)> {
            let (stop, stopped) = UnixStream::pair()?;
            let is_terminal = io::stdin().is_terminal();
            Ok((stop, Self { stopped, is_terminal }))
        }

        /// Waits for input. A program in the background (Ctrl-Z, then `bg`) must not read its terminal: the system would
        /// stop it. `None` once the [`Stop`] is dropped.
        pub(in super::super) fn read(&self, piece: &mut [u8]) -> Option<Read> {
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

    pub(in super::super) struct Stop;

    pub(in super::super) struct StandardInput {
        is_terminal: bool,
    }

    pub(in super::super) fn is_in_foreground() -> bool {
        true
    }

    impl StandardInput {
        pub(in super::super) fn open() -> io::Result<(Stop, Self)> {
            let is_terminal = io::stdin().is_terminal();
            Ok((Stop, Self { is_terminal }))
        }

        pub(in super::super) fn read(&self, piece: &mut [u8]) -> Option<Read> {
            Some(match io::stdin().lock().read(piece) {
                Ok(0) if self.is_terminal => Read::EndOfTyping,
                Ok(count @ 1..) => Read::Bytes(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Read::Nothing,
                Ok(0) | Err(_) => Read::End,
            })
        }
    }
}
