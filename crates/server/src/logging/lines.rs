//! The queue of log lines on their way to standard error.
//!
//! A thread writes them: a full pipe or a stopped terminal blocks that thread and never the loop. When the queue is full,
//! lines are dropped, and the next one that finds room says how many.

use std::io::{self, Write};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use trantor_runtime::threads::{self, Thread};
use trantor_time::RealSpan;

/// Lines that wait to be written: what a storm of connections logs in a second, and less than a megabyte.
const LINES_MAX: usize = 4_096;

/// How long the end of the program waits for queued lines: a terminal takes them in less, and a stopped one must not
/// block the end.
const FLUSH_SPAN: RealSpan = RealSpan::from_millis(500);

enum Job {
    Write(Vec<u8>),
    /// Report that all lines before are written.
    Flush(Sender<()>),
    End,
}

/// The thread that writes. Dropping it writes what waits, and ends it; what is logged after that is lost.
pub struct LogThread {
    thread: Option<Thread<()>>,
    jobs: Sender<Job>,
}

/// The sender of the queue; clones share the queue.
#[derive(Clone)]
pub(super) struct LogLines {
    jobs: Sender<Job>,
}

/// A place for a logger to write to, a whole line at a time.
pub(super) struct LineSink {
    lines: LogLines,
    lost: u64,
}

impl LogLines {
    /// Starts a thread that writes to `output`.
    pub(super) fn start(output: impl Write + Send + 'static) -> io::Result<(Self, LogThread)> {
        let (jobs, to_do) = bounded(LINES_MAX);
        let thread = Some(threads::spawn("log", move || write_out(&to_do, output))?);
        let lines = Self { jobs: jobs.clone() };
        Ok((lines, LogThread { thread, jobs }))
    }

    /// A place to write lines to.
    pub(super) fn sink(&self) -> LineSink {
        LineSink {
            lines: self.clone(),
            lost: 0,
        }
    }

    /// Waits until what was put in so far is written, but not for long.
    pub(super) fn flush(&self) {
        let (done, flushed) = bounded(1);
        let span = FLUSH_SPAN.to_std();
        let _held = match self.jobs.send_timeout(Job::Flush(done), span) {
            Ok(()) => flushed.recv_timeout(span).is_ok(),
            Err(_) => false,
        };
    }
}

impl Drop for LogThread {
    fn drop(&mut self) {
        let _held = self.jobs.send_timeout(Job::End, FLUSH_SPAN.to_std());
        if let Some(Err(thread)) = self.thread.take().map(|thread| thread.join_within(FLUSH_SPAN)) {
            thread.abandon();
        }
    }
}

/// Each call is one line; it never fails and never waits.
impl Write for LineSink {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut bytes = Vec::with_capacity(line.len());
        if self.lost > 0 {
            writeln!(
                bytes,
                "[{} lines of the log are lost: nothing read them]",
                self.lost
            )?;
        }
        bytes.extend_from_slice(line);
        match self.lines.jobs.try_send(Job::Write(bytes)) {
            Ok(()) => self.lost = 0,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.lost += 1,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_out(jobs: &Receiver<Job>, mut output: impl Write) {
    for job in jobs {
        match job {
            Job::Write(bytes) => {
                // Without a reader the server continues.
                let _nobody_reads = output.write_all(&bytes).and_then(|()| output.flush());
            }
            Job::Flush(done) => {
                let _gave_up = done.send(());
            }
            Job::End => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output that blocks until its line is received.
    struct Held(Sender<Vec<u8>>);

    impl Write for Held {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_nobody_reads_are_lost_and_counted_and_hold_nobody() {
        let (taken, lines) = bounded(0);
        let (log, thread) = LogLines::start(Held(taken)).unwrap();
        let mut sink = log.sink();
        sink.write_all(b"0\n").unwrap();
        while !log.jobs.is_empty() {
            std::thread::yield_now();
        }
        for number in 1..2 * LINES_MAX {
            sink.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        // One more than the queue holds is in the thread's hands.
        let lost = LINES_MAX - 1;
        assert_eq!(sink.lost, lost as u64);
        for number in 0..2 * LINES_MAX - lost {
            assert_eq!(lines.recv().unwrap(), format!("{number}\n").into_bytes());
        }
        sink.write_all(b"on\n").unwrap();
        let lines_lost = format!("[{lost} lines of the log are lost: nothing read them]\non\n");
        assert_eq!(lines.recv().unwrap(), lines_lost.into_bytes());
        assert_eq!(sink.lost, 0);
        drop(thread);
    }
}
