//! Who may start, who is in flight, and what becomes of a result: the bookkeeping of jobs, without threads.
//!
//! It holds no work and no results, only ids; [`super::workers`] holds those and obeys. Instants are handed in.

use std::collections::{BTreeMap, VecDeque};

use trantor_time::RealTime;
use trantor_time::heap::DeadlineHeap;
use trantor_time::store::TimerId;

use super::spec::{JobId, JobRefused, JobSpec, JobStats, OwnerId};

/// Jobs that may wait for a worker unless told otherwise: more would only hide that the workers are too slow.
pub const JOBS_WAITING_MAX: usize = 256;

/// One start in so many goes to the lower priority, if it has any waiting.
pub const OTHER_SHARE: u64 = 4;

/// What is to be done with a result that has reached the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Apply,
    Cancelled,
    Late,
}

#[derive(Debug)]
pub(super) struct Ledger {
    workers: usize,
    waiting_max: usize,
    open: bool,
    jobs: BTreeMap<JobId, Job>,
    /// By priority, in the order submitted. Ids of jobs that were cancelled meanwhile are passed over.
    queues: [VecDeque<JobId>; 2],
    /// Fresh jobs in the queues, those resumed not counted: they were admitted once already.
    fresh: usize,
    running: usize,
    suspended: usize,
    keys: BTreeMap<(&'static str, u64), JobId>,
    limits: DeadlineHeap<RealTime, JobId>,
    next_id: u64,
    starts: u64,
    counts: JobStats,
}

#[derive(Debug)]
struct Job {
    spec: JobSpec,
    state: State,
    submitted: RealTime,
    started: Option<RealTime>,
    limit: Option<TimerId>,
    cancelled: bool,
    timed_out: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In a queue, never started.
    Fresh,
    /// In a queue, to go on.
    Ready,
    /// With a worker; `woken` if it was made ready meanwhile.
    Running { woken: bool },
    /// Waits to be made ready, without a worker.
    Suspended,
    /// Its result is on the way to the loop.
    Ended,
}

impl Ledger {
    /// A ledger for `workers` at a time, with at most `waiting_max` jobs waiting for them.
    pub(super) fn new(workers: usize, waiting_max: usize) -> Self {
        Self {
            workers,
            waiting_max,
            open: true,
            jobs: BTreeMap::new(),
            queues: Default::default(),
            fresh: 0,
            running: 0,
            suspended: 0,
            keys: BTreeMap::new(),
            limits: DeadlineHeap::new(),
            next_id: 0,
            starts: 0,
            counts: JobStats::default(),
        }
    }

    pub(super) fn submit(&mut self, spec: JobSpec, now: RealTime) -> Result<JobId, JobRefused> {
        let key = spec.key.map(|key| (spec.name, key));
        let refusal = if !self.open {
            Some(JobRefused::Closed)
        } else if key.is_some_and(|key| self.keys.contains_key(&key)) {
            Some(JobRefused::KeyBusy)
        } else if self.fresh >= self.waiting_max {
            Some(JobRefused::Full)
        } else {
            None
        };
        if let Some(refusal) = refusal {
            self.counts.refused += 1;
            return Err(refusal);
        }
        let id = JobId(self.next_id);
        self.next_id += 1;
        if let Some(key) = key {
            self.keys.insert(key, id);
        }
        let limit = spec
            .time_limit
            .map(|limit| self.limits.schedule(now.saturating_add(limit), id));
        self.queues[spec.priority as usize].push_back(id);
        self.fresh += 1;
        self.jobs.insert(
            id,
            Job {
                spec,
                state: State::Fresh,
                submitted: now,
                started: None,
                limit,
                cancelled: false,
                timed_out: false,
            },
        );
        Ok(id)
    }

    /// The job that a free worker is to run or go on with; `None` if there is none, or no worker is free.
    pub(super) fn start_next(&mut self, now: RealTime) -> Option<JobId> {
        if self.running >= self.workers {
            return None;
        }
        let id = self.take_queued()?;
        self.starts += 1;
        self.running += 1;
        let job = self
            .jobs
            .get_mut(&id)
            .expect("a queued id that was taken is that of a job");
        self.fresh -= usize::from(job.state == State::Fresh);
        job.state = State::Running { woken: false };
        if job.started.is_none() {
            job.started = Some(now);
            self.counts.waited_ns_max = self.counts.waited_ns_max.max(now.since(job.submitted).as_nanos());
        }
        Some(id)
    }

    /// A running job waits for something and gives its worker back. Answers whether it is ready again already.
    pub(super) fn suspend(&mut self, id: JobId) -> bool {
        self.running -= 1;
        let job = self.jobs.get_mut(&id).expect("a running job is in the ledger");
        let State::Running { woken } = job.state else {
            unreachable!("only a running job is suspended")
        };
        job.state = if woken { State::Ready } else { State::Suspended };
        self.suspended += usize::from(!woken);
        if woken {
            self.queues[job.spec.priority as usize].push_back(id);
        }
        woken
    }

    /// What a suspended job waited for has come. Answers whether a worker should look.
    pub(super) fn make_ready(&mut self, id: JobId) -> bool {
        let Some(job) = self.jobs.get_mut(&id) else {
            return false;
        };
        match job.state {
            State::Suspended => {
                job.state = State::Ready;
                self.suspended -= 1;
                self.queues[job.spec.priority as usize].push_back(id);
                true
            }
            State::Running { .. } => {
                job.state = State::Running { woken: true };
                false
            }
            State::Fresh | State::Ready | State::Ended => false,
        }
    }

    /// The work of a running job is over, well or not.
    pub(super) fn end(&mut self, id: JobId, well: bool, now: RealTime) {
        self.running -= 1;
        let job = self.jobs.get_mut(&id).expect("a running job is in the ledger");
        job.state = State::Ended;
        if let Some(limit) = job.limit.take() {
            self.limits.cancel(limit);
        }
        if !job.timed_out && !job.cancelled {
            let count = if well {
                &mut self.counts.done
            } else {
                &mut self.counts.failed
            };
            *count += 1;
        }
        let ran_ns = job.started.map_or(0, |started| now.since(started).as_nanos());
        self.counts.ran_ns_max = self.counts.ran_ns_max.max(ran_ns);
    }

    /// What the loop is to do with the result of a job that has ended.
    pub(super) fn fate(&mut self, id: JobId) -> Fate {
        let job = &self.jobs[&id];
        match (job.timed_out, job.cancelled) {
            (true, _) => {
                self.counts.late += 1;
                Fate::Late
            }
            (false, true) => Fate::Cancelled,
            (false, false) => Fate::Apply,
        }
    }

    /// The callback has run: the key is free, the job forgotten.
    pub(super) fn retire(&mut self, id: JobId) {
        self.release_key(id);
        self.jobs.remove(&id);
    }

    /// Frees the key of a job that is over its time limit while its work has not ended.
    pub(super) fn release_key(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        if let Some(key) = job.spec.key
            && self.keys.get(&(job.spec.name, key)) == Some(&id)
        {
            self.keys.remove(&(job.spec.name, key));
        }
    }

    /// Takes a job back. `None`: there is no such job any more, or it is cancelled already.
    pub(super) fn cancel(&mut self, id: JobId) -> Option<Cancelled> {
        let job = self
            .jobs
            .get_mut(&id)
            .filter(|job| !job.cancelled && !job.timed_out)?;
        job.cancelled = true;
        self.counts.cancelled += 1;
        if let Some(limit) = job.limit.take() {
            self.limits.cancel(limit);
        }
        match job.state {
            State::Running { .. } | State::Ended => Some(Cancelled::InFlight),
            State::Fresh | State::Ready | State::Suspended => {
                self.forget_unstarted(id);
                Some(Cancelled::Forgotten)
            }
        }
    }

    /// The jobs of `owner`, in the order submitted.
    pub(super) fn jobs_of(&self, owner: OwnerId) -> Vec<JobId> {
        self.jobs
            .iter()
            .filter(|(_, job)| job.spec.owner == Some(owner))
            .map(|(&id, _)| id)
            .collect()
    }

    /// The next job that has gone over its time limit at `now`, and whether a worker is still busy with it.
    ///
    /// If not, the job can be retired as soon as its failure was told.
    pub(super) fn take_expired(&mut self, now: RealTime) -> Option<(JobId, Cancelled)> {
        let id = self.limits.take_due(now)?.item;
        let job = self.jobs.get_mut(&id).expect("the limit of a job goes with it");
        job.limit = None;
        job.timed_out = true;
        self.counts.failed += 1;
        if matches!(job.state, State::Running { .. }) {
            return Some((id, Cancelled::InFlight));
        }
        let queued = job.state != State::Suspended;
        self.suspended -= usize::from(!queued);
        self.fresh -= usize::from(job.state == State::Fresh);
        job.state = State::Ended;
        if queued {
            self.unqueue(id);
        }
        Some((id, Cancelled::Forgotten))
    }

    /// When to ask [`Self::take_expired`] again.
    pub(super) fn next_deadline(&self) -> Option<RealTime> {
        self.limits.next_deadline()
    }

    /// Accepts no more jobs.
    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// Takes a waiting job out to drop it, the oldest first; for a stop that does not run them.
    pub(super) fn take_dropped(&mut self) -> Option<JobId> {
        let id = self
            .jobs
            .iter()
            .find(|(_, job)| job.state == State::Fresh)
            .map(|(&id, _)| id)?;
        self.counts.dropped += 1;
        self.fresh -= 1;
        self.unqueue(id);
        let job = self.jobs.get_mut(&id).expect("it was found just now");
        job.state = State::Ended;
        if let Some(limit) = job.limit.take() {
            self.limits.cancel(limit);
        }
        Some(id)
    }

    /// Counts a result that found no loop any more.
    pub(super) fn count_late(&mut self) {
        self.counts.late += 1;
    }

    /// Jobs not yet retired.
    pub(super) fn in_flight(&self) -> usize {
        self.jobs.len()
    }

    /// Jobs that are with a worker.
    pub(super) fn running(&self) -> impl Iterator<Item = JobId> + '_ {
        let running = |(&id, job): (&JobId, &Job)| matches!(job.state, State::Running { .. }).then_some(id);
        self.jobs.iter().filter_map(running)
    }

    /// The name a job was submitted under.
    pub(super) fn name(&self, id: JobId) -> Option<&'static str> {
        self.jobs.get(&id).map(|job| job.spec.name)
    }

    /// Since when the oldest waiting job has been waiting.
    pub(super) fn oldest_waiting(&self) -> Option<RealTime> {
        // Jobs queue in the order submitted, so the first fresh one of each queue is its oldest.
        let is_fresh = |job: &&Job| job.state == State::Fresh;
        let oldest = |queue: &VecDeque<JobId>| queue.iter().map(|id| &self.jobs[id]).find(is_fresh);
        self.queues
            .iter()
            .filter_map(oldest)
            .map(|job| job.submitted)
            .min()
    }

    pub(super) fn stats(&self) -> JobStats {
        JobStats {
            waiting: self.fresh as u64,
            running: self.running as u64,
            suspended: self.suspended as u64,
            ..self.counts
        }
    }

    /// Interactive jobs first, but every fourth start goes to the others.
    fn take_queued(&mut self) -> Option<JobId> {
        let [interactive, other] = &mut self.queues;
        if self.starts % OTHER_SHARE == OTHER_SHARE - 1 {
            other.pop_front().or_else(|| interactive.pop_front())
        } else {
            interactive.pop_front().or_else(|| other.pop_front())
        }
    }

    fn forget_unstarted(&mut self, id: JobId) {
        let state = self.jobs[&id].state;
        self.fresh -= usize::from(state == State::Fresh);
        if state == State::Suspended {
            self.suspended -= 1;
        } else {
            self.unqueue(id);
        }
        self.retire(id);
    }

    /// Linear in the queue, which is bounded and from which jobs are seldom taken but at the front.
    fn unqueue(&mut self, id: JobId) {
        for queue in &mut self.queues {
            queue.retain(|&queued| queued != id);
        }
    }
}

/// How far a cancelled or expired job had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// No worker has it: its work can be dropped at once.
    Forgotten,
    /// A worker has it, or its result is on the way: it will come, and not be applied.
    InFlight,
}

#[cfg(test)]
mod tests;
