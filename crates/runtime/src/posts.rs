//! Actions posted to the loop thread, run there in the order posted.
//!
//! An action is given the loop's state, which it alone may touch. Posting wakes a sleeping loop, once however many
//! are posted. Results of [`crate::jobs`] come this way too, with room reserved for them, so that a worker never
//! has to wait for the loop.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fault::Faults;
use crate::wait::Waker;

/// Actions that may wait unless told otherwise: forty passes' worth at the default budget of a pass.
pub const POSTS_MAX: usize = 4_096;

/// The loop's end: runs what was posted.
#[derive(Debug)]
pub struct Posts<S> {
    poster: Poster<S>,
}

/// Posts actions, from any thread; clone it freely.
pub struct Poster<S> {
    shared: Arc<Mutex<Queue<S>>>,
    waker: Waker,
}

/// Why an action was not posted; the action is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// As many actions wait as may.
    #[error("too many actions wait for the loop")]
    Full,
    /// The loop has stopped or is stopping.
    #[error("the loop takes no more actions")]
    Closed,
}

impl<S> Posts<S> {
    /// A queue for at most `posts_max` actions, whose loop is woken by `waker`.
    pub fn new(posts_max: usize, waker: Waker) -> Self {
        let queue = Queue {
            actions: VecDeque::new(),
            posts_max,
            ordinary: 0,
            taking: Taking::All,
            counts: PostStats::default(),
        };
        Self {
            poster: Poster {
                shared: Arc::new(Mutex::new(queue)),
                waker,
            },
        }
    }

    /// A new handle to post with.
    pub fn poster(&self) -> Poster<S> {
        self.poster.clone()
    }

    /// Takes the oldest action, to be run by the caller.
    pub fn take(&mut self) -> Option<Post<S>> {
        self.poster.lock().take()
    }

    /// Runs the oldest action on `state`; a failure goes to `faults`. Answers whether there was one.
    pub fn run_next(&mut self, state: &mut S, faults: &mut Faults) -> bool {
        let Some(post) = self.take() else { return false };
        faults.guard(post.name, || post.run(state));
        true
    }

    /// Runs at most `limit` actions, oldest first, and answers how many.
    pub fn run(&mut self, state: &mut S, faults: &mut Faults, limit: usize) -> usize {
        (0..limit).take_while(|_| self.run_next(state, faults)).count()
    }

    /// Refuses further actions; those accepted can still be run.
    pub fn close(&mut self) {
        self.poster.lock().taking = Taking::Reserved;
    }

    /// Actions waiting.
    pub fn len(&self) -> usize {
        self.poster.lock().actions.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What happened so far.
    pub fn stats(&self) -> PostStats {
        self.poster.lock().counts
    }
}

impl<S> Drop for Posts<S> {
    fn drop(&mut self) {
        let mut queue = self.poster.lock();
        queue.taking = Taking::Nothing;
        let left = std::mem::take(&mut queue.actions);
        drop(queue);
        if !left.is_empty() {
            let names: Vec<_> = left.iter().map(|post| post.name).collect();
            log::warn!(
                "{} posted actions were never run: {}",
                left.len(),
                names.join(", ")
            );
        }
    }
}

/// Counts of [`Posts`], all from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostStats {
    /// Actions accepted.
    pub posted: u64,
    /// Actions given out to be run.
    pub run: u64,
    /// Actions refused, for want of room or because the loop was closed.
    pub refused: u64,
}

impl<S> Poster<S> {
    /// Posts an action under `name`, which logs and counters show. Never blocks for longer than another's push.
    ///
    /// # Errors
    /// If too many wait, or the loop takes no more.
    pub fn post(
        &self,
        name: &'static str,
        action: impl FnOnce(&mut S) + Send + 'static,
    ) -> Result<(), PostError> {
        let action = Box::new(move |state: &mut S| {
            action(state);
            Ok(())
        });
        self.push(Post {
            name,
            action,
            reserved: false,
        })
    }

    /// Posts the end of work that was admitted under a limit of its own, which is its room here; also while the
    /// loop is stopping, as long as it runs at all. The action may fail with a message.
    pub(crate) fn post_reserved(
        &self,
        name: &'static str,
        action: impl FnOnce(&mut S) -> Result<(), String> + Send + 'static,
    ) -> Result<(), PostError> {
        self.push(Post {
            name,
            action: Box::new(action),
            reserved: true,
        })
    }

    fn push(&self, post: Post<S>) -> Result<(), PostError> {
        let refused = self.lock().push(post);
        // The lock is released by now: dropping a refused action runs code of the program.
        match refused {
            None => {
                self.waker.wake();
                Ok(())
            }
            Some((refusal, _post)) => Err(refusal),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<S>> {
        // No code of the program runs under the lock, so a poisoned one still guards a sound queue.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Clone for Poster<S> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            waker: self.waker.clone(),
        }
    }
}

impl<S> fmt::Debug for Poster<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poster")
            .field("waiting", &self.lock().actions.len())
            .finish_non_exhaustive()
    }
}

struct Queue<S> {
    actions: VecDeque<Post<S>>,
    posts_max: usize,
    /// Waiting actions that have no room of their own.
    ordinary: usize,
    taking: Taking,
    counts: PostStats,
}

/// What a queue still accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taking {
    All,
    /// The ends of work accepted before: the loop is stopping.
    Reserved,
    /// The loop is gone.
    Nothing,
}

/// An action that was posted.
pub struct Post<S> {
    /// The name it was posted under.
    pub name: &'static str,
    action: Action<S>,
    reserved: bool,
}

impl<S> Post<S> {
    /// Does it. The result of a job may be that it failed.
    ///
    /// # Errors
    /// With a message, if there is nobody else to tell about that.
    pub fn run(self, state: &mut S) -> Result<(), String> {
        (self.action)(state)
    }
}

impl<S> fmt::Debug for Post<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

type Action<S> = Box<dyn FnOnce(&mut S) -> Result<(), String> + Send>;

impl<S> Queue<S> {
    fn push(&mut self, post: Post<S>) -> Option<(PostError, Post<S>)> {
        let refusal = match (self.taking, post.reserved) {
            (Taking::All, false) => (self.ordinary >= self.posts_max).then_some(PostError::Full),
            (Taking::All | Taking::Reserved, true) => None,
            (Taking::Reserved, false) | (Taking::Nothing, _) => Some(PostError::Closed),
        };
        if let Some(refusal) = refusal {
            self.counts.refused += 1;
            return Some((refusal, post));
        }
        self.ordinary += usize::from(!post.reserved);
        self.counts.posted += 1;
        self.actions.push_back(post);
        None
    }

    fn take(&mut self) -> Option<Post<S>> {
        let post = self.actions.pop_front()?;
        self.ordinary -= usize::from(!post.reserved);
        self.counts.run += 1;
        Some(post)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultPolicy;
    use crate::wait::{ManualWait, Parker, Wait, Woken};
    use trantor_time::ManualClock;

    fn posts<S>(posts_max: usize) -> (Posts<S>, Faults) {
        let waker = ManualWait::new(&ManualClock::default()).waker();
        (Posts::new(posts_max, waker), Faults::new(FaultPolicy::Contain))
    }

    #[test]
    fn actions_run_in_the_order_posted_also_those_posted_by_actions() {
        let (mut posts, mut faults) = posts::<Vec<u32>>(8);
        let poster = posts.poster();
        let inner = poster.clone();
        poster
            .post("first", move |ran| {
                ran.push(1);
                inner.post("third", |ran| ran.push(3)).unwrap();
            })
            .unwrap();
        poster.post("second", |ran| ran.push(2)).unwrap();
        let mut ran = Vec::new();
        assert_eq!(posts.run(&mut ran, &mut faults, 2), 2, "the limit is kept");
        assert_eq!(posts.run(&mut ran, &mut faults, 10), 1);
        assert_eq!(ran, [1, 2, 3]);
    }

    #[test]
    fn posts_are_bounded_except_for_room_reserved() {
        let (mut posts, mut faults) = posts::<u32>(1);
        let poster = posts.poster();
        poster.post("a", |n| *n += 1).unwrap();
        assert_eq!(poster.post("b", |n| *n += 1), Err(PostError::Full));
        poster
            .post_reserved("result", |n| {
                *n += 10;
                Ok(())
            })
            .unwrap();
        let mut n = 0;
        assert_eq!(posts.run(&mut n, &mut faults, 10), 2);
        assert_eq!(n, 11);
        assert_eq!(
            posts.stats(),
            PostStats {
                posted: 2,
                run: 2,
                refused: 1
            }
        );
    }

    #[test]
    fn a_failing_action_is_contained_and_named() {
        let (mut posts, mut faults) = posts::<u32>(8);
        let poster = posts.poster();
        poster.post("broken", |_| panic!("no way")).unwrap();
        poster.post("sound", |n| *n = 1).unwrap();
        let mut n = 0;
        assert_eq!(posts.run(&mut n, &mut faults, 10), 2);
        assert_eq!(n, 1);
        assert_eq!(faults.first().unwrap().to_string(), "broken failed: no way");
    }

    #[test]
    fn a_closed_loop_refuses_posts_and_runs_those_accepted() {
        let (mut posts, mut faults) = posts::<u32>(8);
        let poster = posts.poster();
        poster.post("accepted", |n| *n = 1).unwrap();
        posts.close();
        assert_eq!(poster.post("late", |n| *n = 2), Err(PostError::Closed));
        let mut n = 0;
        posts.run(&mut n, &mut faults, 10);
        assert_eq!(n, 1);
    }

    #[test]
    fn a_post_wakes_a_sleeping_loop() {
        let mut parker = Parker::new();
        let mut posts = Posts::<u32>::new(8, parker.waker());
        let poster = posts.poster();
        let other = crate::threads::spawn("poster", move || poster.post("add", |n| *n += 1)).unwrap();
        assert_eq!(parker.wait(None), Woken::Posted);
        let mut n = 0;
        assert!(posts.run_next(&mut n, &mut Faults::default()));
        assert_eq!(n, 1);
        other.join().unwrap().unwrap();
    }
}
