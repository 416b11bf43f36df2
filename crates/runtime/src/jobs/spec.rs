//! What is said of jobs: what is asked of one, why it was not accepted, how they all did.

use trantor_time::RealSpan;

/// Names a job for ever; ids are not used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub(super) u64);

/// Whose a job is: when the owner goes, so do its jobs. The numbers are the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(pub u64);

/// How urgent a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobPriority {
    /// Somebody is waiting for it.
    Interactive,
    /// Nobody notices when exactly it is done.
    #[default]
    Other,
}

/// What is asked of a job besides its work.
#[derive(Clone, Copy, Debug)]
pub struct JobSpec {
    pub(super) name: &'static str,
    pub(super) priority: JobPriority,
    pub(super) key: Option<u64>,
    pub(super) owner: Option<OwnerId>,
    pub(super) time_limit: Option<RealSpan>,
}

impl JobSpec {
    /// A job called `name`, of the lower priority, without key, owner or time limit.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            priority: JobPriority::Other,
            key: None,
            owner: None,
            time_limit: None,
        }
    }

    /// Lets it be started before jobs nobody waits for.
    pub const fn interactive(mut self) -> Self {
        self.priority = JobPriority::Interactive;
        self
    }

    /// Of all jobs with its name and `key`, only one may be in flight.
    pub const fn keyed(mut self, key: u64) -> Self {
        self.key = Some(key);
        self
    }

    /// Lets it be cancelled together with all else of `owner`.
    pub const fn owned_by(mut self, owner: OwnerId) -> Self {
        self.owner = Some(owner);
        self
    }

    /// If it has not ended `limit` after it was submitted, it counts as failed.
    pub const fn limited_to(mut self, limit: RealSpan) -> Self {
        self.time_limit = Some(limit);
        self
    }
}

/// Why a job was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobRefused {
    /// One of the same name and key is in flight.
    #[error("a job of this name and key is already in flight")]
    KeyBusy,
    /// As many wait as may.
    #[error("too many jobs are waiting")]
    Full,
    /// The loop is stopping.
    #[error("no more jobs are accepted")]
    Closed,
}

/// Counts of jobs, all from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobStats {
    /// Waiting now.
    pub waiting: u64,
    /// Holding a worker now.
    pub running: u64,
    /// Waiting for something else than a worker now.
    pub suspended: u64,
    /// Work that ended well.
    pub done: u64,
    /// Work that failed or went over its time limit.
    pub failed: u64,
    /// Jobs that were cancelled.
    pub cancelled: u64,
    /// Waiting jobs dropped by a stop.
    pub dropped: u64,
    /// Results that came after their time limit, or after the loop had ended.
    pub late: u64,
    /// Jobs not accepted.
    pub refused: u64,
    /// The longest time that a job waited for a worker, in nanoseconds.
    pub waited_ns_max: i64,
    /// The longest time from start to end of a job, in nanoseconds.
    pub ran_ns_max: i64,
}
