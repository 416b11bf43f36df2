//! Runs what the ledger allows: the desk that loop and workers share, and what a worker does at it.
//!
//! One lock guards ledger and work together. No code of the program runs while it is held: work, callbacks,
//! futures and their drops all happen outside.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake};

use trantor_time::{Clock, RealTime};

use crate::fault::caught;
use crate::inbox::AbortMark;
use crate::posts::Poster;

use super::ledger::{Cancelled, Fate, Ledger};
use super::spec::{JobId, JobRefused, JobSpec};
use super::{Completion, Job, JobError, OnError, Work};

/// What work may ask while it runs.
#[derive(Clone, Debug)]
pub struct JobContext {
    told_to_end: AbortMark,
}

impl JobContext {
    /// Whether the work was cancelled, went over its time limit, or the loop is ending. Long work looks now and then.
    pub fn is_told_to_end(&self) -> bool {
        self.told_to_end.is_set()
    }
}

/// Where loop and workers meet.
pub(super) struct Desk<S> {
    drawers: Mutex<Drawers<S>>,
    work_ready: Condvar,
    poster: Poster<S>,
}

pub(super) struct Drawers<S> {
    pub(super) ledger: Ledger,
    entries: BTreeMap<JobId, Entry<S>>,
    closed: bool,
}

struct Entry<S> {
    /// `None` while a worker has it, and after.
    work: Option<Work<S>>,
    on_error: Option<OnError<S>>,
    context: JobContext,
}

impl<S: 'static> Desk<S> {
    pub(super) fn new(poster: Poster<S>, ledger: Ledger) -> Self {
        let drawers = Drawers {
            ledger,
            entries: BTreeMap::new(),
            closed: false,
        };
        Self {
            drawers: Mutex::new(drawers),
            work_ready: Condvar::new(),
            poster,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Drawers<S>> {
        self.drawers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn submit(&self, spec: JobSpec, job: Job<S>, now: RealTime) -> Result<JobId, JobRefused> {
        let context = JobContext {
            told_to_end: AbortMark::new(),
        };
        let entry = Entry {
            work: Some(job.work),
            on_error: job.on_error,
            context,
        };
        let mut drawers = self.lock();
        // On refusal `entry` is dropped after the lock: it was declared before it.
        let id = drawers.ledger.submit(spec, now)?;
        drawers.entries.insert(id, entry);
        self.work_ready.notify_one();
        Ok(id)
    }

    pub(super) fn cancel(&self, id: JobId) -> bool {
        let mut drawers = self.lock();
        let Some(how) = drawers.ledger.cancel(id) else {
            return false;
        };
        let forgotten = drawers.tell_to_end(id, how);
        drop(drawers);
        drop(forgotten);
        true
    }

    pub(super) fn take_expired(&self, now: RealTime) -> Option<(JobId, Cancelled)> {
        let mut drawers = self.lock();
        let (id, how) = drawers.ledger.take_expired(now)?;
        if let Some(entry) = drawers.entries.get(&id) {
            entry.context.told_to_end.set();
        }
        Some((id, how))
    }

    pub(super) fn take_on_error(&self, id: JobId) -> Option<OnError<S>> {
        self.lock().entries.get_mut(&id)?.on_error.take()
    }

    pub(super) fn retire(&self, id: JobId) {
        let mut drawers = self.lock();
        drawers.ledger.retire(id);
        let entry = drawers.entries.remove(&id);
        drop(drawers);
        drop(entry);
    }

    /// Tells running work and idle workers to end.
    pub(super) fn close(&self) {
        let mut drawers = self.lock();
        drawers.closed = true;
        drawers.ledger.close();
        for id in drawers.ledger.running() {
            if let Some(entry) = drawers.entries.get(&id) {
                entry.context.told_to_end.set();
            }
        }
        self.work_ready.notify_all();
    }

    /// What a worker thread does.
    pub(super) fn work_until_closed(self: &Arc<Self>, clock: &impl Clock) {
        let mut drawers = self.lock();
        while !drawers.closed {
            match drawers.ledger.start_next(clock.now()) {
                Some(id) => {
                    drop(drawers);
                    self.work_on(id, clock);
                    drawers = self.lock();
                }
                None => {
                    drawers = self
                        .work_ready
                        .wait(drawers)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }

    pub(super) fn work_one(self: &Arc<Self>, clock: &impl Clock) -> bool {
        let started = self.lock().ledger.start_next(clock.now());
        started.inspect(|&id| self.work_on(id, clock)).is_some()
    }

    fn work_on(self: &Arc<Self>, id: JobId, clock: &impl Clock) {
        let (work, context) = {
            let mut drawers = self.lock();
            let entry = drawers
                .entries
                .get_mut(&id)
                .expect("a job that may start has its work at the desk");
            (
                entry.work.take().expect("a job is with one worker at a time"),
                entry.context.clone(),
            )
        };
        let completion = match work {
            Work::Call(call) => caught(|| call(&context)),
            Work::Future(mut future) => {
                let waker = Arc::new(WakeJob {
                    desk: Arc::downgrade(self),
                    id,
                })
                .into();
                let poll = caught(|| Ok::<_, String>(future.as_mut().poll(&mut Context::from_waker(&waker))));
                match poll {
                    Ok(Poll::Ready(completion)) => completion,
                    Ok(Poll::Pending) => match self.suspend(id, Work::Future(future)) {
                        None => return,
                        Some(_told_to_end) => Err("it was told to end".to_owned()),
                    },
                    Err(message) => Err(message),
                }
            }
        };
        self.end(id, completion, clock.now());
    }

    /// Puts work that waits for something back to the desk; gives it back if it was told to end meanwhile.
    fn suspend(&self, id: JobId, work: Work<S>) -> Option<Work<S>> {
        let mut drawers = self.lock();
        let entry = drawers
            .entries
            .get_mut(&id)
            .expect("a job in flight has its entry");
        if entry.context.is_told_to_end() {
            return Some(work);
        }
        entry.work = Some(work);
        if drawers.ledger.suspend(id) {
            self.work_ready.notify_one();
        }
        None
    }

    fn end(self: &Arc<Self>, id: JobId, completion: Completion<S>, now: RealTime) {
        let mut drawers = self.lock();
        drawers.ledger.end(id, completion.is_ok(), now);
        let name = drawers.ledger.name(id).unwrap_or("job");
        drop(drawers);
        // The slot it held may let a waiting job start on another worker.
        self.work_ready.notify_one();
        let desk = Arc::clone(self);
        let posted = self
            .poster
            .post_reserved(name, move |state| desk.settle(id, completion, state));
        if posted.is_err() {
            log::warn!("the result of {name} came after its loop had ended");
            self.lock().ledger.count_late();
            self.retire(id);
        }
    }

    /// On the loop thread: does with a result what is to be done with it.
    fn settle(&self, id: JobId, completion: Completion<S>, state: &mut S) -> Result<(), String> {
        // Whatever the callback does, even panic, the job is over and its key free afterwards.
        let _retired = RetireWhenDropped { desk: self, id };
        let fate = self.lock().ledger.fate(id);
        match (fate, completion) {
            (Fate::Apply, Ok(apply)) => apply(state),
            (Fate::Apply, Err(message)) => match self.take_on_error(id) {
                Some(on_error) => on_error(state, JobError::Failed(message)),
                None => return Err(message),
            },
            (Fate::Cancelled, _) => {}
            (Fate::Late, _) => log::warn!("a result came after its time limit and was not applied"),
        }
        Ok(())
    }
}

impl<S> Drawers<S> {
    /// Marks a cancelled job; what no worker holds comes back to be dropped outside the lock.
    fn tell_to_end(&mut self, id: JobId, how: Cancelled) -> Option<Entry<S>> {
        match how {
            Cancelled::Forgotten => self.entries.remove(&id),
            Cancelled::InFlight => {
                if let Some(entry) = self.entries.get(&id) {
                    entry.context.told_to_end.set();
                }
                None
            }
        }
    }
}

impl<S> fmt::Debug for Desk<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

struct RetireWhenDropped<'a, S: 'static> {
    desk: &'a Desk<S>,
    id: JobId,
}

impl<S> Drop for RetireWhenDropped<'_, S> {
    fn drop(&mut self) {
        self.desk.retire(self.id);
    }
}

/// Makes a suspended job ready; what a future is given as its waker.
struct WakeJob<S> {
    desk: Weak<Desk<S>>,
    id: JobId,
}

impl<S: 'static> Wake for WakeJob<S> {
    fn wake(self: Arc<Self>) {
        if let Some(desk) = self.desk.upgrade()
            && desk.lock().ledger.make_ready(self.id)
        {
            desk.work_ready.notify_one();
        }
    }
}
