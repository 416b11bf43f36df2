//! The program's log on standard error, whose filter can be changed while it runs.
//!
//! Logging never waits for the reader of the log: a thread writes the lines, and a full pipe or a stopped terminal blocks that
//! thread and never the loop. When the queue of lines is full, lines are dropped, and the next one that finds room says how
//! many.

use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::{Arc, PoisonError, RwLock};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use env_logger::{Target, WriteStyle};
use log::{Log, Metadata, Record};
use trantor_runtime::threads::{self, Thread};
use trantor_time::{RealSpan, RealTime, TokenBucket, TokenRate};

use crate::options::LogFilter;

/// The log of this process; clones are the same log.
#[derive(Clone)]
pub struct Logging {
    logger: Arc<RwLock<env_logger::Logger>>,
    jobs: Sender<Job>,
}

impl Logging {
    /// Takes the process's log over. Where there is one already, as in tests, that one stays.
    pub fn install(filter: &LogFilter) -> io::Result<(Self, LogThread)> {
        let (jobs, thread) = start(io::stderr())?;
        let logging = Self {
            logger: Arc::new(RwLock::new(logger(filter, &jobs))),
            jobs,
        };
        if log::set_boxed_logger(Box::new(logging.clone())).is_ok() {
            logging.set(filter);
            logging.flush_before_panics();
        }
        Ok((logging, thread))
    }

    pub fn set(&self, filter: &LogFilter) {
        let logger = logger(filter, &self.jobs);
        log::set_max_level(logger.filter());
        *self.logger.write().unwrap_or_else(PoisonError::into_inner) = logger;
    }

    /// Writes queued lines before the message of a panic.
    fn flush_before_panics(&self) {
        let (jobs, tell) = (self.jobs.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |panicked| {
            flush(&jobs);
            tell(panicked);
        }));
    }

    fn with<T>(&self, use_it: impl FnOnce(&env_logger::Logger) -> T) -> T {
        use_it(&self.logger.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Log for Logging {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.with(|logger| logger.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        self.with(|logger| logger.log(record));
    }

    fn flush(&self) {
        flush(&self.jobs);
    }
}

fn logger(filter: &LogFilter, jobs: &Sender<Job>) -> env_logger::Logger {
    let sink = LineSink {
        jobs: jobs.clone(),
        lost: 0,
    };
    let mut builder = env_logger::Builder::new();
    filter.apply(&mut builder);
    builder.format_timestamp_millis();
    builder.target(Target::Pipe(Box::new(sink)));
    builder.write_style(match wants_colours() {
        true => WriteStyle::Always,
        false => WriteStyle::Never,
    });
    builder.build()
}

/// As terminals and people commonly say it: <https://no-color.org>.
fn wants_colours() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stderr().is_terminal()
        && !is_set("NO_COLOR")
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Lines of operators that are logged: a person types one a second, and a program that sends thousands would fill a disk.
const LOGGED_RATE: TokenRate = TokenRate::new(50, 50);

/// The rate of the log of what operators on connections have carried out.
#[derive(Debug)]
pub(crate) struct LinesLogged {
    bucket: TokenBucket,
    left_out: u64,
}

impl LinesLogged {
    pub(crate) fn new(now: RealTime) -> Self {
        Self {
            bucket: TokenBucket::full(now, LOGGED_RATE),
            left_out: 0,
        }
    }

    /// Whether another line may be logged at `now`; if so, how many were left out since the last one.
    pub(crate) fn note(&mut self, now: RealTime) -> Option<u64> {
        if self.bucket.takes_one(now, LOGGED_RATE) {
            return Some(std::mem::take(&mut self.left_out));
        }
        self.left_out += 1;
        None
    }
}

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

/// A place for a logger to write to, a whole line at a time.
struct LineSink {
    jobs: Sender<Job>,
    lost: u64,
}

fn start(output: impl Write + Send + 'static) -> io::Result<(Sender<Job>, LogThread)> {
    let (jobs, to_do) = bounded(LINES_MAX);
    let thread = Some(threads::spawn("log", move || write_out(&to_do, output))?);
    Ok((jobs.clone(), LogThread { thread, jobs }))
}

/// Waits until what was put in so far is written, but not for long.
fn flush(jobs: &Sender<Job>) {
    let (done, flushed) = bounded(1);
    let span = FLUSH_SPAN.to_std();
    if jobs.send_timeout(Job::Flush(done), span).is_ok() {
        let _held = flushed.recv_timeout(span);
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
        match self.jobs.try_send(Job::Write(bytes)) {
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
        let (jobs, thread) = start(Held(taken)).unwrap();
        let mut sink = LineSink { jobs, lost: 0 };
        sink.write_all(b"0\n").unwrap();
        while !sink.jobs.is_empty() {
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

    #[test]
    fn the_log_of_operators_has_a_rate_and_says_what_it_leaves_out() {
        let at = |millis| RealTime::ZERO + RealSpan::from_millis(millis);
        let mut logged = LinesLogged::new(at(0));
        let in_the_first_second = (0..10_000).filter_map(|number| logged.note(at(number / 10)));
        let (lines, left_out) =
            in_the_first_second.fold((0, 0), |(lines, sum), left_out| (lines + 1, sum + left_out));
        let most = u64::from(LOGGED_RATE.burst + LOGGED_RATE.per_second);
        assert!((most - 1..=most).contains(&lines), "{lines}");
        assert_eq!(logged.note(at(2_000)), Some(10_000 - lines - left_out));
        assert_eq!(logged.note(at(2_001)), Some(0));
    }
}
