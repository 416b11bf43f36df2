//! Jobs that wait for the disk: one worker thread, which syncs and packs the journal and writes saves.
//!
//! ```text
//!  loop                                  worker
//!  submit(name, work, done) ── queue ─>  work()
//!  done(shell, outcome)     <─ task ───  its outcome, or the message of its panic
//! ```
//!
//! Work owns what it needs, so that the loop's state has no lock.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};
use trantor_runtime::RealClock;
use trantor_runtime::fault::caught;
use trantor_runtime::threads::{self, Thread};
use trantor_time::{Clock, RealSpan, RealTime};

use super::Shell;
use super::tasks::{Task, TaskSender};

/// The work of a job, with its end.
pub type Work = Box<dyn FnOnce() + Send>;

/// Jobs in flight: a sync, a pack and a save, of which there is one each.
const JOBS_MAX: usize = 3;

/// The disk worker, as the loop knows it. Dropping it waits for the present job.
pub(crate) struct Disk {
    /// `None` while no more jobs are accepted. Before the thread, which ends when this is dropped.
    jobs: Option<Sender<Work>>,
    thread: Option<Thread<()>>,
    /// The worker's end of the jobs, in a simulation without a thread.
    simulated: Option<Receiver<Work>>,
    tasks: TaskSender,
    /// By name, with the time they were submitted at, in the order in which they are worked on.
    in_flight: VecDeque<(&'static str, RealTime)>,
    started: Arc<AtomicU64>,
    pub(crate) stats: DiskStats,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskStats {
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    pub(crate) waited_max: RealSpan,
}

/// Why a second job of a name is refused.
const UNDER_WAY: &str = "the one before is still under way";

impl Disk {
    /// No worker yet; see [`Self::start`].
    pub(crate) fn new(tasks: TaskSender) -> Self {
        Self {
            jobs: None,
            thread: None,
            simulated: None,
            tasks,
            in_flight: VecDeque::new(),
            started: Arc::default(),
            stats: DiskStats::default(),
        }
    }

    pub(crate) fn start(&mut self) -> io::Result<()> {
        if self.is_open() {
            return Ok(());
        }
        let (sender, jobs) = bounded::<Work>(JOBS_MAX);
        self.thread = Some(threads::spawn("disk", move || {
            jobs.iter().for_each(|job| job());
        })?);
        self.jobs = Some(sender);
        Ok(())
    }

    /// Accepts jobs without a worker: [`Self::take_work`] has them.
    pub(crate) fn simulate(&mut self) {
        let (sender, jobs) = bounded(JOBS_MAX);
        (self.jobs, self.simulated) = (Some(sender), Some(jobs));
    }

    /// The next job of a simulation: its name and work.
    pub(crate) fn take_work(&mut self) -> Option<(&'static str, Work)> {
        let jobs = self.simulated.as_ref()?;
        let (name, _) = self.in_flight.get(self.in_flight.len() - jobs.len())?;
        Some((name, jobs.try_recv().ok()?))
    }

    /// Has the worker do `work`, and then the loop `done` with what came of it. There is one job of a name at a time.
    pub(crate) fn submit<T: Send + 'static, E: Display>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
        done: impl FnOnce(&mut Shell, Result<T, String>) + Send + 'static,
    ) -> Result<(), &'static str> {
        let submitted = RealClock::new().now();
        let (tasks, started) = (self.tasks.clone(), Arc::clone(&self.started));
        let job = move || {
            started.fetch_add(1, Ordering::AcqRel);
            let waited = RealClock::new().now() - submitted;
            let outcome = caught(work);
            let run = Box::new(move |shell: &mut Shell| {
                shell.disk.note_end(waited, outcome.is_ok());
                done(shell, outcome);
            });
            if !tasks.send_end(Task { name, run }) {
                log::warn!("{name} ended after its loop");
            }
        };
        let is_under_way = self.in_flight.iter().any(|(other, _)| *other == name);
        let accepted = match &self.jobs {
            None => Err("the loop is stopping"),
            Some(_) if is_under_way => Err(UNDER_WAY),
            // There is room for one of each.
            Some(jobs) => jobs.try_send(Box::new(job)).map_err(|_| UNDER_WAY),
        };
        match accepted {
            Ok(()) => self.in_flight.push_back((name, submitted)),
            Err(_) => self.stats.refused += 1,
        }
        accepted
    }

    fn note_end(&mut self, waited: RealSpan, is_done: bool) {
        self.in_flight.pop_front();
        self.stats.waited_max = self.stats.waited_max.max(waited);
        match is_done {
            true => self.stats.done += 1,
            false => self.stats.failed += 1,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.jobs.is_some()
    }

    /// Accepts no more jobs; the worker ends after those in flight.
    pub(crate) fn close(&mut self) {
        self.jobs = None;
    }

    /// Waits for the worker's end, and leaves it behind after `limit`.
    pub(crate) fn stop(&mut self, limit: RealSpan) {
        self.close();
        match self.thread.take().map(|thread| thread.join_within(limit)) {
            None | Some(Ok(Ok(()))) => {}
            Some(Ok(Err(panicked))) => log::error!("{panicked}"),
            Some(Err(thread)) => thread.abandon(),
        }
    }

    /// Jobs whose end has not come to the loop.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// How many of those the worker has begun.
    pub(crate) fn running(&self) -> usize {
        let ended = self.stats.done + self.stats.failed;
        (self.started.load(Ordering::Acquire) - ended) as usize
    }

    /// How long the first job that the worker has not begun has waited.
    pub(crate) fn oldest_age(&self, now: RealTime) -> RealSpan {
        let oldest = self.in_flight.get(self.running());
        oldest.map_or(RealSpan::ZERO, |(_, submitted)| now - *submitted)
    }
}
