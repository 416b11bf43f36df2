//! Tasks that other threads send to the loop: one bounded queue, whose senders wake the loop.
//!
//! A task is given the [`Shell`], which the loop's thread alone may touch. The ends of jobs ([`super::jobs`]) come
//! this way too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use trantor_runtime::Waker;

use super::Shell;

/// Tasks that may wait: forty passes' worth at the budget of a pass.
const TASKS_MAX: usize = 4_096;

/// The loop's end of the queue.
pub(crate) struct TaskQueue {
    receiver: Receiver<Task>,
    sender: TaskSender,
}

/// Sends tasks to the loop, from any thread.
#[derive(Clone)]
pub struct TaskSender {
    sender: Sender<Task>,
    waker: Waker,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    is_closed: AtomicBool,
    refused: AtomicU64,
}

/// Something to do on the loop's thread.
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) run: Box<dyn FnOnce(&mut Shell) + Send>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    #[error("too many tasks wait for the loop")]
    Full,
    #[error("the loop takes no more tasks")]
    Closed,
}

impl TaskQueue {
    pub(crate) fn new(waker: Waker) -> Self {
        let (sender, receiver) = bounded(TASKS_MAX);
        let shared = Arc::default();
        Self {
            receiver,
            sender: TaskSender {
                sender,
                waker,
                shared,
            },
        }
    }

    pub(crate) fn sender(&self) -> TaskSender {
        self.sender.clone()
    }

    pub(crate) fn next(&self) -> Option<Task> {
        self.receiver.try_recv().ok()
    }

    /// Refuses further tasks, but for the ends of jobs.
    pub(crate) fn close(&self) {
        self.sender.shared.is_closed.store(true, Ordering::Release);
    }

    pub(crate) fn len(&self) -> usize {
        self.receiver.len()
    }

    pub(crate) fn refused(&self) -> u64 {
        self.sender.shared.refused.load(Ordering::Relaxed)
    }
}

impl TaskSender {
    /// Has the loop run `run` under `name`, which logs show. Never blocks.
    pub fn send(
        &self,
        name: &'static str,
        run: impl FnOnce(&mut Shell) + Send + 'static,
    ) -> Result<(), TaskError> {
        let run = Box::new(run);
        let sent = match self.shared.is_closed.load(Ordering::Acquire) {
            true => Err(TaskError::Closed),
            false => self
                .sender
                .try_send(Task { name, run })
                .map_err(|error| match error {
                    TrySendError::Full(_) => TaskError::Full,
                    TrySendError::Disconnected(_) => TaskError::Closed,
                }),
        };
        match sent {
            Ok(()) => self.waker.wake(),
            Err(_) => drop(self.shared.refused.fetch_add(1, Ordering::Relaxed)),
        }
        sent
    }

    /// As [`Self::send`], for the end of a job: waits for room, and is accepted by a stopping loop too. Answers whether
    /// there is a loop.
    pub(crate) fn send_end(&self, task: Task) -> bool {
        let is_sent = self.sender.send(task).is_ok();
        self.waker.wake();
        is_sent
    }
}
