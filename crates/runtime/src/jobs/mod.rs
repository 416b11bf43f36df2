//! Background jobs in two phases: work on a worker thread, its result applied on the loop thread.
//!
//! ```text
//!  loop thread                      ledger                       worker threads
//!  submit(spec, job) ───────────>   waits, by priority  ──────>  work(&context)
//!  apply(state, value)  <────────   posts, in order     <──────  its value or failure
//! ```
//!
//! Work owns what it needs and hands its result over; it never sees the loop's state, so the state needs no lock
//! and changes only in the order of posts. `ledger` decides who may start and what becomes
//! of a result, without threads; `workers` runs what it allows. A job that waits for something asynchronously
//! holds no worker meanwhile.
//!
//! A program without threads, and every test, calls [`Jobs::work_here`] instead of starting workers.

mod ledger;
mod spec;
mod workers;

use std::fmt::{self, Display};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use trantor_time::{Clock, RealSpan, RealTime};

use crate::posts::Poster;

use self::ledger::{Cancelled, Ledger};
use self::workers::Desk;

pub use self::ledger::{JOBS_WAITING_MAX, OTHER_SHARE};
pub use self::spec::{JobId, JobPriority, JobRefused, JobSpec, JobStats, OwnerId};
pub use self::workers::JobContext;

/// The jobs of one loop, whose state is `S`.
#[derive(Debug)]
pub struct Jobs<S: 'static> {
    desk: Arc<Desk<S>>,
    threads: Vec<crate::threads::Thread<()>>,
    workers: usize,
}

/// Work, and what the loop does with its end.
pub struct Job<S> {
    work: Work<S>,
    on_error: Option<OnError<S>>,
}

/// Why a job brought no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// The work returned an error or panicked; this is what it said.
    #[error("{0}")]
    Failed(String),
    /// The time limit passed. The work may still be running; its result will not be applied.
    #[error("it did not end within its time limit")]
    TimedOut,
    /// The loop stopped before a worker was free.
    #[error("it was dropped because the loop stopped")]
    Dropped,
}

/// What a stop does with jobs that no worker has taken yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingJobs {
    /// They are still run, as far as the stop's time limit allows.
    Run,
    /// They are dropped, and their error callbacks told so.
    Drop,
}

/// The number of workers that leaves the other half of the machine to the loops: half the cores, at least one.
pub fn workers_default() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1))
}

impl<S: 'static> Job<S> {
    /// Runs `work` on a worker and gives its value to `apply` on the loop.
    pub fn new<T, E>(
        work: impl FnOnce(&JobContext) -> Result<T, E> + Send + 'static,
        apply: impl FnOnce(&mut S, T) + Send + 'static,
    ) -> Self
    where
        T: Send + 'static,
        E: Display,
    {
        let work = Box::new(move |context: &JobContext| completion(work(context), apply));
        Self {
            work: Work::Call(work),
            on_error: None,
        }
    }

    /// As [`Self::new`] for work that waits by itself for something else than the processor. Any future will do
    /// that brings its own way of being woken.
    pub fn asynchronous<T, E>(
        work: impl Future<Output = Result<T, E>> + Send + 'static,
        apply: impl FnOnce(&mut S, T) + Send + 'static,
    ) -> Self
    where
        T: Send + 'static,
        E: Display,
    {
        Self {
            work: Work::Future(Box::pin(async move { completion(work.await, apply) })),
            on_error: None,
        }
    }

    /// Tells `callback` on the loop when there will be no result. Without one, failures are logged and counted.
    pub fn on_error(mut self, callback: impl FnOnce(&mut S, JobError) + Send + 'static) -> Self {
        self.on_error = Some(Box::new(callback));
        self
    }
}

impl<S: 'static> Jobs<S> {
    /// Jobs for a loop that `poster` posts to: at most `workers` at a time, and `waiting_max` waiting for them.
    ///
    /// No thread is started yet; see [`Self::start_workers`].
    ///
    /// # Panics
    /// If `workers` is zero: no job would ever start.
    pub fn new(poster: Poster<S>, workers: usize, waiting_max: usize) -> Self {
        assert!(workers > 0, "jobs need at least one worker");
        Self {
            desk: Arc::new(Desk::new(poster, Ledger::new(workers, waiting_max))),
            threads: Vec::new(),
            workers,
        }
    }

    /// Starts the worker threads, which measure with `clock`. Starting twice changes nothing.
    ///
    /// # Errors
    /// If the operating system refuses a thread; those already started go on.
    pub fn start_workers(&mut self, clock: impl Clock + Copy + Send + 'static) -> std::io::Result<()> {
        while self.threads.len() < self.workers {
            let desk = Arc::clone(&self.desk);
            let name = format!("worker {}", self.threads.len());
            self.threads.push(crate::threads::spawn(&name, move || {
                desk.work_until_closed(&clock)
            })?);
        }
        Ok(())
    }

    /// Submits a job at `now`. Never blocks.
    ///
    /// # Errors
    /// If its key is in flight, too many wait, or the loop is stopping; the job is dropped.
    pub fn submit(&mut self, spec: JobSpec, job: Job<S>, now: RealTime) -> Result<JobId, JobRefused> {
        self.desk.submit(spec, job, now)
    }

    /// Takes a job back: it is not started, or told to end, and its result not applied. Answers whether there was one.
    pub fn cancel(&mut self, id: JobId) -> bool {
        self.desk.cancel(id)
    }

    /// Takes back all jobs of `owner`, and answers how many.
    pub fn cancel_owner(&mut self, owner: OwnerId) -> usize {
        let ids = self.desk.lock().ledger.jobs_of(owner);
        ids.into_iter().filter(|&id| self.desk.cancel(id)).count()
    }

    /// When a job next goes over its time limit; wake then for [`Self::take_expired`].
    pub fn next_deadline(&self) -> Option<RealTime> {
        self.desk.lock().ledger.next_deadline()
    }

    /// Takes the next job that is over its time limit at `now`: tell it, so that its error callback runs.
    pub fn take_expired(&mut self, now: RealTime) -> Option<FailedJob<S>> {
        let (id, how) = self.desk.take_expired(now)?;
        Some(self.failed(id, how, JobError::TimedOut))
    }

    /// Runs the next job on this thread, if one may start, and answers whether. Its result is posted as ever.
    pub fn work_here(&mut self, clock: &impl Clock) -> bool {
        self.desk.work_one(clock)
    }

    /// Accepts no more jobs, and answers those that `waiting` drops: tell them.
    ///
    /// Go on running posts until [`Self::in_flight`] is zero or your patience ends, then [`Self::stop_workers`].
    pub fn close(&mut self, waiting: WaitingJobs) -> Vec<FailedJob<S>> {
        let mut drawers = self.desk.lock();
        drawers.ledger.close();
        let dropped: Vec<_> = match waiting {
            WaitingJobs::Run => Vec::new(),
            WaitingJobs::Drop => std::iter::from_fn(|| drawers.ledger.take_dropped()).collect(),
        };
        drop(drawers);
        dropped
            .into_iter()
            .map(|id| self.failed(id, Cancelled::Forgotten, JobError::Dropped))
            .collect()
    }

    /// Jobs accepted whose end has not reached the loop.
    pub fn in_flight(&self) -> usize {
        self.desk.lock().ledger.in_flight()
    }

    /// Ends the worker threads: tells running work to end, and leaves behind what has not after `limit` in all.
    ///
    /// Results that come after this are counted as late and logged. Answers how many threads were left.
    pub fn stop_workers(&mut self, clock: &impl Clock, limit: RealSpan) -> usize {
        self.desk.close();
        let deadline = clock.now().saturating_add(limit);
        let mut left = 0;
        for thread in self.threads.drain(..) {
            match thread.join_within(deadline.since(clock.now())) {
                Ok(Ok(())) => {}
                Ok(Err(panicked)) => log::error!("{panicked}"),
                Err(thread) => {
                    thread.abandon();
                    left += 1;
                }
            }
        }
        let unfinished = self.in_flight();
        if unfinished > 0 {
            log::warn!("{unfinished} jobs had not ended when their workers were stopped");
        }
        left
    }

    /// What happened so far.
    pub fn stats(&self) -> JobStats {
        self.desk.lock().ledger.stats()
    }

    /// How long the oldest waiting job has been waiting at `now`; zero if none is.
    pub fn age_of_oldest(&self, now: RealTime) -> RealSpan {
        self.desk
            .lock()
            .ledger
            .oldest_waiting()
            .map_or(RealSpan::ZERO, |since| now.since(since))
    }

    fn failed(&self, id: JobId, how: Cancelled, error: JobError) -> FailedJob<S> {
        let name = self.desk.lock().ledger.name(id).unwrap_or("job");
        FailedJob {
            desk: Arc::clone(&self.desk),
            id,
            how,
            name,
            error,
        }
    }
}

/// A job that will bring no result, and whose owner has not been told. Its key is free when this is dropped.
pub struct FailedJob<S: 'static> {
    desk: Arc<Desk<S>>,
    id: JobId,
    how: Cancelled,
    name: &'static str,
    error: JobError,
}

impl<S> FailedJob<S> {
    /// The name it was submitted under.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs its error callback on the loop's state.
    ///
    /// # Errors
    /// With the reason as a message, if it has no error callback: then the loop counts it among its faults.
    pub fn tell(self, state: &mut S) -> Result<(), String> {
        let on_error = self
            .desk
            .take_on_error(self.id)
            .ok_or_else(|| self.error.to_string())?;
        on_error(state, self.error.clone());
        Ok(())
    }
}

impl<S> Drop for FailedJob<S> {
    fn drop(&mut self) {
        match self.how {
            Cancelled::Forgotten => self.desk.retire(self.id),
            Cancelled::InFlight => self.desk.lock().ledger.release_key(self.id),
        }
    }
}

impl<S> fmt::Debug for FailedJob<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailedJob")
            .field("name", &self.name)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<S: 'static> Drop for Jobs<S> {
    fn drop(&mut self) {
        // Threads join when dropped; they must have been told to end, and may take as long as their work does.
        self.desk.close();
    }
}

fn completion<S, T: Send + 'static, E: Display>(
    result: Result<T, E>,
    apply: impl FnOnce(&mut S, T) + Send + 'static,
) -> Completion<S> {
    match result {
        Ok(value) => Ok(Box::new(move |state: &mut S| apply(state, value))),
        Err(error) => Err(error.to_string()),
    }
}

/// What work leaves for the loop: its value wrapped in what to do with it, or what went wrong.
type Completion<S> = Result<Box<dyn FnOnce(&mut S) + Send>, String>;
type OnError<S> = Box<dyn FnOnce(&mut S, JobError) + Send>;

type Call<S> = Box<dyn FnOnce(&JobContext) -> Completion<S> + Send>;

enum Work<S> {
    Call(Call<S>),
    Future(Pin<Box<dyn Future<Output = Completion<S>> + Send>>),
}
