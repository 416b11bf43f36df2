//! Work that leaves the loop: the disk's, in its order, and computations for scripts.
//!
//! ```text
//!  loop                                     worker of the name
//!  submit(name, work, done) ── queue ─>     work()
//!  done(shell, outcome)     <─ task ───     its outcome, or the message of its panic
//! ```
//!
//! Work owns what it needs, so that the loop's state has no lock. A script's thread submits computations without the loop, by
//! [`Computations`]. What was done is counted by name.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded};
use trantor_runtime::RealClock;
use trantor_runtime::fault::caught;
use trantor_runtime::threads::{self, Thread};
use trantor_time::{Clock, RealSpan, RealTime};

use super::Shell;
use super::tasks::{Task, TaskSender};

/// The work of a job, with its end.
pub type Work = Box<dyn FnOnce() + Send>;

/// Jobs of the disk in flight: a sync, a pack and a save, of which there is one each.
const DISK_JOBS_MAX: usize = 3;

/// Computations that wait: more than a large team of scripts begins at one instant. Beyond it they are done where they are asked for.
const COMPUTATIONS_MAX: usize = 256;

/// Jobs that compute and wait for no disk.
pub(crate) const COMPILE: &str = "script_compile";

/// Why a second job of a name is refused.
const UNDER_WAY: &str = "the one before is still under way";

const CLOSED: &str = "the loop is stopping";

/// What was done under a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobStats {
    pub(crate) runs: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    /// Submitted and not begun.
    pub(crate) waiting: u64,
    /// Begun and not ended.
    pub(crate) running: u64,
    /// How long the work took, all runs together and the longest.
    pub(crate) took: RealSpan,
    pub(crate) took_max: RealSpan,
    /// How long one waited at most until it began.
    pub(crate) waited_max: RealSpan,
    /// When the oldest of those that wait was submitted.
    waits_since: Option<RealTime>,
}

impl JobStats {
    /// How long the oldest job has waited.
    pub(crate) fn oldest_age(&self, now: RealTime) -> RealSpan {
        self.waits_since.map_or(RealSpan::ZERO, |since| now.since(since))
    }
}

/// By name, shared with the workers.
#[derive(Clone, Default)]
struct AllStats(Arc<Mutex<BTreeMap<&'static str, JobStats>>>);

impl AllStats {
    fn change(&self, name: &'static str, change: impl FnOnce(&mut JobStats)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(all.entry(name).or_default());
    }

    fn submitted(&self, name: &'static str, at: RealTime) {
        self.change(name, |stats| {
            stats.waiting += 1;
            stats.waits_since.get_or_insert(at);
        });
    }

    /// Does work that was submitted, and counts it.
    fn run<T, E: Display>(
        &self,
        name: &'static str,
        submitted: RealTime,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, String> {
        let clock = RealClock::new();
        let began = clock.now();
        self.change(name, |stats| {
            stats.waiting -= 1;
            stats.running += 1;
            stats.waited_max = stats.waited_max.max(began - submitted);
            stats.waits_since = (stats.waiting > 0).then_some(began);
        });
        let outcome = caught(work);
        let took = clock.now() - began;
        self.change(name, |stats| {
            stats.running -= 1;
            stats.runs += 1;
            stats.failed += u64::from(outcome.is_err());
            stats.took = RealSpan::from_nanos(stats.took.as_nanos().saturating_add(took.as_nanos()));
            stats.took_max = stats.took_max.max(took);
        });
        outcome
    }
}

/// The way to a worker, for any thread; `None` once no more jobs are accepted, which ends the worker.
type Queue = Arc<Mutex<Option<Sender<Work>>>>;

/// Answers the job if the queue is full or closed.
fn try_send(queue: &Queue, job: Work) -> Result<(), Work> {
    match &*queue.lock().unwrap_or_else(PoisonError::into_inner) {
        None => Err(job),
        Some(jobs) => jobs.try_send(job).map_err(|refused| refused.into_inner()),
    }
}

/// One thread that does what it is sent, in order.
struct Worker {
    queue: Queue,
    thread: Option<Thread<()>>,
}

impl Worker {
    fn start(name: &str, capacity: usize) -> io::Result<Self> {
        let (sender, jobs) = bounded::<Work>(capacity);
        let thread = threads::spawn(name, move || jobs.iter().for_each(|job| job()))?;
        Ok(Self {
            queue: Arc::new(Mutex::new(Some(sender))),
            thread: Some(thread),
        })
    }

    /// Waits for the end of what was submitted, and leaves it behind after `limit`.
    fn stop(&mut self, limit: RealSpan) {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = None;
        match self.thread.take().map(|thread| thread.join_within(limit)) {
            None | Some(Ok(Ok(()))) => {}
            Some(Ok(Err(panicked))) => log::error!("{panicked}"),
            Some(Err(thread)) => thread.abandon(),
        }
    }
}

/// The workers, as the loop knows them. Dropping them waits for the present jobs.
pub(crate) struct Jobs {
    disk: Option<Worker>,
    computing: Option<Worker>,
    /// The worker's end of the disk's jobs, in a simulation without threads.
    simulated: Option<Receiver<(&'static str, Work)>>,
    simulates: Option<Sender<(&'static str, Work)>>,
    tasks: TaskSender,
    /// Names of jobs whose end has not come to the loop.
    in_flight: Vec<&'static str>,
    is_closed: bool,
    stats: AllStats,
}

impl Drop for Worker {
    fn drop(&mut self) {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Jobs {
    /// No workers yet; see [`Self::start_disk`] and [`Self::computations`].
    pub(crate) fn new(tasks: TaskSender) -> Self {
        Self {
            disk: None,
            computing: None,
            simulated: None,
            simulates: None,
            tasks,
            in_flight: Vec::new(),
            is_closed: false,
            stats: AllStats::default(),
        }
    }

    pub(crate) fn start_disk(&mut self) -> io::Result<()> {
        if self.disk.is_none() {
            self.disk = Some(Worker::start("disk", DISK_JOBS_MAX)?);
        }
        Ok(())
    }

    /// The worker that computes; started if it was not.
    pub(crate) fn computations(&mut self) -> io::Result<Computations> {
        let worker = match &mut self.computing {
            Some(worker) => worker,
            None => self.computing.insert(Worker::start("compute", COMPUTATIONS_MAX)?),
        };
        Ok(Computations {
            queue: Arc::clone(&worker.queue),
            stats: self.stats.clone(),
        })
    }

    /// Accepts jobs without a worker: [`Self::take_work`] has them.
    pub(crate) fn simulate(&mut self) {
        let (sender, jobs) = bounded(DISK_JOBS_MAX);
        (self.simulates, self.simulated) = (Some(sender), Some(jobs));
    }

    /// The next job of a simulation: its name and work.
    pub(crate) fn take_work(&mut self) -> Option<(&'static str, Work)> {
        self.simulated.as_ref()?.try_recv().ok()
    }

    /// Has the worker of this name do `work`, and then the loop `done` with what came of it. There is one job of a name at a time.
    pub(crate) fn submit<T: Send + 'static, E: Display>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
        done: impl FnOnce(&mut Shell, Result<T, String>) + Send + 'static,
    ) -> Result<(), &'static str> {
        let submitted = RealClock::new().now();
        let (tasks, stats) = (self.tasks.clone(), self.stats.clone());
        let job = move || {
            let outcome = stats.run(name, submitted, work);
            let run = Box::new(move |shell: &mut Shell| {
                shell.jobs.in_flight.retain(|other| *other != name);
                done(shell, outcome);
            });
            if !tasks.send_end(Task { name, run }) {
                log::warn!("{name} ended after its loop");
            }
        };
        let accepted = match self.in_flight.contains(&name) {
            true => Err(UNDER_WAY),
            false => {
                // Before a worker may begin it.
                self.stats.submitted(name, submitted);
                let sent = self.send(name, Box::new(job));
                if sent.is_err() {
                    self.stats.change(name, |stats| stats.waiting -= 1);
                }
                sent
            }
        };
        match accepted {
            Ok(()) => self.in_flight.push(name),
            Err(_) => self.stats.change(name, |stats| stats.refused += 1),
        }
        accepted
    }

    fn send(&mut self, name: &'static str, job: Work) -> Result<(), &'static str> {
        if self.is_closed {
            return Err(CLOSED);
        }
        if let Some(simulates) = &self.simulates {
            return simulates.try_send((name, job)).map_err(|_| UNDER_WAY);
        }
        if name == COMPILE {
            self.computations().map_err(|_| "there is no thread for it")?;
        }
        let worker = if name == COMPILE {
            &self.computing
        } else {
            &self.disk
        };
        let queue = &worker.as_ref().ok_or(CLOSED)?.queue;
        // There is room for one of each.
        try_send(queue, job).map_err(|_| UNDER_WAY)
    }

    /// Whether the disk's jobs are accepted.
    pub(crate) fn has_disk(&self) -> bool {
        !self.is_closed && (self.disk.is_some() || self.simulates.is_some())
    }

    /// Accepts no more jobs; the workers end after those in flight.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Waits for the end of the workers, and leaves them behind after `limit`.
    pub(crate) fn stop(&mut self, limit: RealSpan) {
        self.close();
        for mut worker in [self.disk.take(), self.computing.take()].into_iter().flatten() {
            worker.stop(limit);
        }
    }

    /// Jobs whose end has not come to the loop.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// What was done, by name.
    pub(crate) fn stats(&self) -> BTreeMap<&'static str, JobStats> {
        let all = self.stats.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

/// Submits computations from any thread.
#[derive(Clone)]
pub(crate) struct Computations {
    queue: Queue,
    stats: AllStats,
}

impl Computations {
    /// Has `work` done on the worker, or here if it has too much to do.
    pub(crate) fn submit(
        &self,
        name: &'static str,
        work: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) {
        let submitted = RealClock::new().now();
        let stats = self.stats.clone();
        self.stats.submitted(name, submitted);
        let job: Work = Box::new(move || {
            // Counted; whoever waits for the work was sent what is wrong.
            let _outcome = stats.run(name, submitted, work);
        });
        if let Err(job) = try_send(&self.queue, job) {
            job();
        }
    }
}
