//! Jobs from both sides: the loop's, and a worker's.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use trantor_runtime::jobs::{Job, JobError, JobRefused, JobSpec, Jobs, OwnerId, WaitingJobs};
use trantor_runtime::posts::Posts;
use trantor_runtime::{FaultPolicy, Faults, ManualWait, Parker, RealClock, Wait};
use trantor_time::{Clock, ManualClock, RealSpan, RealTime};

/// A loop reduced to its state, its posts and its jobs, in one thread and on a manual clock.
struct Loop {
    clock: ManualClock,
    posts: Posts<Vec<String>>,
    jobs: Jobs<Vec<String>>,
    faults: Faults,
    /// What was applied, in order.
    state: Vec<String>,
}

impl Loop {
    fn new() -> Self {
        let clock = ManualClock::default();
        let posts = Posts::new(8, ManualWait::new(&clock).waker());
        let jobs = Jobs::new(posts.poster(), 1, 8);
        Self {
            clock,
            posts,
            jobs,
            faults: Faults::new(FaultPolicy::Contain),
            state: Vec::new(),
        }
    }

    fn submit(&mut self, spec: JobSpec, job: Job<Vec<String>>) -> Result<(), JobRefused> {
        self.jobs.submit(spec, job, self.clock.now()).map(drop)
    }

    /// Tells jobs that are over their time limit; answers how many there were.
    fn expire(&mut self) -> usize {
        let mut expired = 0;
        while let Some(job) = self.jobs.take_expired(self.clock.now()) {
            expired += 1;
            self.faults.guard(job.name(), || job.tell(&mut self.state));
        }
        expired
    }

    /// Runs everything that can run, work and posts.
    fn settle(&mut self) {
        while self.jobs.work_here(&self.clock) || self.posts.run_next(&mut self.state, &mut self.faults) {}
    }
}

fn note(text: &'static str) -> Job<Vec<String>> {
    Job::new(
        move |_| Ok::<_, String>(text),
        |state: &mut Vec<String>, text| state.push(text.to_owned()),
    )
}

fn failing(text: &'static str) -> Job<Vec<String>> {
    Job::new(
        move |_| Err::<(), _>(text),
        |_: &mut Vec<String>, ()| unreachable!("it failed"),
    )
}

#[test]
fn work_runs_elsewhere_and_its_result_is_applied_on_the_loop() {
    let mut a_loop = Loop::new();
    a_loop.submit(JobSpec::new("greet"), note("hello")).unwrap();
    assert!(a_loop.jobs.work_here(&a_loop.clock));
    assert!(
        a_loop.state.is_empty(),
        "the worker touched nothing of the loop's"
    );
    a_loop.settle();
    assert_eq!(a_loop.state, ["hello"]);
}

#[test]
fn an_error_callback_runs_on_the_loop() {
    let mut a_loop = Loop::new();
    let job = failing("disk full").on_error(|state, error| state.push(error.to_string()));
    a_loop.submit(JobSpec::new("save"), job).unwrap();
    a_loop.settle();
    assert_eq!(a_loop.state, ["disk full"]);
    assert_eq!(a_loop.faults.count(), 0, "it was told to somebody");
}

#[test]
fn a_failure_without_error_callback_is_counted_never_lost() {
    let mut a_loop = Loop::new();
    let panicking = Job::new(
        |_| -> Result<(), String> { panic!("oh dear") },
        |_: &mut Vec<String>, ()| {},
    );
    a_loop.submit(JobSpec::new("save"), failing("disk full")).unwrap();
    a_loop.submit(JobSpec::new("load"), panicking).unwrap();
    a_loop.settle();
    assert_eq!(
        a_loop.faults.first().unwrap().to_string(),
        "save failed: disk full"
    );
    assert_eq!(a_loop.faults.last().unwrap().to_string(), "load failed: oh dear");
    assert_eq!(a_loop.jobs.stats().failed, 2);
}

#[test]
fn a_failing_callback_is_contained_and_frees_its_key() {
    let mut a_loop = Loop::new();
    let job = || {
        Job::new(
            |_| Ok::<_, String>(()),
            |_: &mut Vec<String>, ()| panic!("cannot apply"),
        )
    };
    let spec = JobSpec::new("attach").keyed(1);
    a_loop.submit(spec, job()).unwrap();
    assert_eq!(a_loop.submit(spec, job()), Err(JobRefused::KeyBusy));
    a_loop.settle();
    assert_eq!(
        a_loop.faults.first().unwrap().to_string(),
        "attach failed: cannot apply"
    );
    a_loop
        .submit(spec, job())
        .expect("the key is free after the callback ran");
}

#[test]
fn work_that_ended_in_time_is_applied_though_the_loop_comes_late() {
    let mut a_loop = Loop::new();
    let spec = JobSpec::new("compile").limited_to(RealSpan::from_millis(10));
    a_loop.submit(spec, note("in time")).unwrap();
    assert_eq!(
        a_loop.jobs.next_deadline(),
        Some(RealTime::from_nanos(10_000_000))
    );
    a_loop.clock.advance(RealSpan::from_millis(9));
    a_loop.jobs.work_here(&a_loop.clock);
    a_loop.clock.advance(RealSpan::from_millis(9));
    assert_eq!(a_loop.expire(), 0);
    a_loop.settle();
    assert_eq!(a_loop.state, ["in time"]);
}

#[test]
fn a_result_after_the_time_limit_is_reported_and_not_applied() {
    let clock = RealClock::new();
    let mut parker = Parker::new();
    let mut posts = Posts::<Vec<String>>::new(8, parker.waker());
    let mut jobs = Jobs::new(posts.poster(), 1, 8);
    jobs.start_workers(clock).unwrap();
    let (started, has_started) = sync_channel(1);
    let job = Job::new(
        move |context| {
            started.send(()).unwrap();
            while !context.is_told_to_end() {
                std::thread::yield_now();
            }
            Ok::<_, String>("too late")
        },
        |state: &mut Vec<String>, text| state.push(text.to_owned()),
    )
    .on_error(|state, error| state.push(error.to_string()));
    let minute = RealSpan::from_secs(60);
    jobs.submit(JobSpec::new("slow").limited_to(minute), job, clock.now())
        .unwrap();
    has_started.recv().unwrap();
    let (mut state, mut faults) = (Vec::new(), Faults::default());
    // The loop is told that the limit is over; nobody waits for it.
    jobs.take_expired(clock.now() + minute)
        .unwrap()
        .tell(&mut state)
        .unwrap();
    while jobs.in_flight() > 0 {
        parker.wait(None);
        posts.run(&mut state, &mut faults, 8);
    }
    assert_eq!(state, [JobError::TimedOut.to_string()]);
    assert_eq!(
        (jobs.stats().late, jobs.stats().failed, jobs.stats().done),
        (1, 1, 0)
    );
}

#[test]
fn waiting_longer_than_the_time_limit_is_a_failure_too() {
    let mut a_loop = Loop::new();
    let spec = JobSpec::new("compile")
        .keyed(1)
        .limited_to(RealSpan::from_millis(10));
    a_loop
        .submit(
            spec,
            note("never").on_error(|state, error| state.push(error.to_string())),
        )
        .unwrap();
    a_loop.clock.advance(RealSpan::from_millis(10));
    assert_eq!(a_loop.expire(), 1);
    a_loop.submit(spec, note("again")).expect("the key is free");
    a_loop.settle();
    assert_eq!(a_loop.state, ["it did not end within its time limit", "again"]);
}

#[test]
fn the_jobs_of_an_owner_go_with_it() {
    let mut a_loop = Loop::new();
    let session = OwnerId(4);
    a_loop
        .submit(JobSpec::new("a").owned_by(session), note("mine"))
        .unwrap();
    a_loop
        .submit(JobSpec::new("b").owned_by(session), note("mine too"))
        .unwrap();
    a_loop.submit(JobSpec::new("c"), note("another's")).unwrap();
    assert!(
        a_loop.jobs.work_here(&a_loop.clock),
        "the first has its result on the way"
    );
    assert_eq!(a_loop.jobs.cancel_owner(session), 2);
    a_loop.settle();
    assert_eq!(a_loop.state, ["another's"]);
    assert_eq!(a_loop.jobs.in_flight(), 0);
}

#[test]
fn asynchronous_work_lets_others_have_its_worker() {
    let mut a_loop = Loop::new();
    let (letter, mailbox) = mailbox();
    let asynchronous = Job::asynchronous(
        async move { Ok::<_, String>(mailbox.await) },
        |state: &mut Vec<String>, text| state.push(text.to_owned()),
    );
    a_loop.submit(JobSpec::new("mail"), asynchronous).unwrap();
    a_loop.submit(JobSpec::new("plain"), note("plain")).unwrap();
    a_loop.settle();
    assert_eq!(a_loop.state, ["plain"], "the only worker was free for it");
    assert_eq!(a_loop.jobs.stats().suspended, 1);
    letter.send("letter");
    a_loop.settle();
    assert_eq!(a_loop.state, ["plain", "letter"]);
}

#[test]
fn suspended_work_can_be_cancelled() {
    let mut a_loop = Loop::new();
    let (letter, mailbox) = mailbox();
    let asynchronous = Job::asynchronous(
        async move { Ok::<_, String>(mailbox.await) },
        |state: &mut Vec<String>, text| state.push(text.to_owned()),
    );
    let id = a_loop
        .jobs
        .submit(JobSpec::new("mail"), asynchronous, a_loop.clock.now())
        .unwrap();
    a_loop.settle();
    assert!(a_loop.jobs.cancel(id));
    letter.send("nobody reads this");
    a_loop.settle();
    assert!(a_loop.state.is_empty() && a_loop.jobs.in_flight() == 0 && !a_loop.jobs.cancel(id));
}

#[test]
fn a_stop_drops_waiting_jobs_by_choice_and_refuses_new_ones() {
    let mut a_loop = Loop::new();
    a_loop.submit(JobSpec::new("a"), note("ran")).unwrap();
    let told = note("never").on_error(|state, error| state.push(error.to_string()));
    a_loop.submit(JobSpec::new("b"), told).unwrap();
    assert!(a_loop.jobs.work_here(&a_loop.clock));
    for dropped in a_loop.jobs.close(WaitingJobs::Drop) {
        dropped.tell(&mut a_loop.state).unwrap();
    }
    assert_eq!(
        a_loop.submit(JobSpec::new("c"), note("late")),
        Err(JobRefused::Closed)
    );
    a_loop.settle();
    assert_eq!(a_loop.state, ["it was dropped because the loop stopped", "ran"]);
    assert_eq!(a_loop.jobs.stats().dropped, 1);
}

#[test]
fn a_stop_can_run_what_waits() {
    let mut a_loop = Loop::new();
    a_loop.submit(JobSpec::new("a"), note("first")).unwrap();
    a_loop.submit(JobSpec::new("b"), note("second")).unwrap();
    assert!(a_loop.jobs.close(WaitingJobs::Run).is_empty());
    assert_eq!(
        a_loop.submit(JobSpec::new("c"), note("late")),
        Err(JobRefused::Closed)
    );
    a_loop.settle();
    assert_eq!(a_loop.state, ["first", "second"]);
}

#[test]
fn a_result_for_a_loop_that_is_gone_is_counted() {
    let a_loop = Loop::new();
    let Loop {
        clock,
        posts,
        mut jobs,
        ..
    } = a_loop;
    jobs.submit(JobSpec::new("a"), note("too late"), clock.now())
        .unwrap();
    drop(posts);
    assert!(jobs.work_here(&clock));
    assert_eq!((jobs.stats().late, jobs.in_flight()), (1, 0));
}

#[test]
fn data_is_handed_over_and_back_not_shared() {
    let mut a_loop = Loop::new();
    // Neither copied nor locked: a buffer of a type that threads cannot share arrives where it was.
    let buffer = vec![std::cell::Cell::new(1_u8); 1_000];
    let place = buffer.as_ptr() as usize;
    let fill = move |_: &_| {
        buffer.iter().for_each(|cell| cell.set(2));
        Ok::<_, String>(buffer)
    };
    let attach = move |state: &mut Vec<String>, buffer: Vec<std::cell::Cell<u8>>| {
        assert_eq!((buffer.as_ptr() as usize, buffer[999].get()), (place, 2));
        state.push("attached".to_owned());
    };
    a_loop
        .submit(JobSpec::new("fill"), Job::new(fill, attach))
        .unwrap();
    a_loop.settle();
    assert_eq!(a_loop.state, ["attached"]);
}

#[test]
fn results_and_posts_keep_their_common_order() {
    let mut a_loop = Loop::new();
    let poster = a_loop.posts.poster();
    a_loop.submit(JobSpec::new("a"), note("result")).unwrap();
    poster
        .post("before", |state| state.push("before".to_owned()))
        .unwrap();
    a_loop.jobs.work_here(&a_loop.clock);
    poster
        .post("after", |state| state.push("after".to_owned()))
        .unwrap();
    a_loop.settle();
    assert_eq!(a_loop.state, ["before", "result", "after"]);
}

#[test]
fn the_result_of_a_worker_thread_wakes_the_loop() {
    let clock = RealClock::new();
    let mut parker = Parker::new();
    let mut posts = Posts::<u64>::new(8, parker.waker());
    let mut jobs = Jobs::new(posts.poster(), 2, 64);
    jobs.start_workers(clock).unwrap();
    jobs.start_workers(clock).unwrap();
    for number in 1..=50_u64 {
        let job = Job::new(
            move |_| Ok::<_, String>(number * number),
            |sum: &mut u64, n| *sum += n,
        );
        jobs.submit(JobSpec::new("square"), job, clock.now()).unwrap();
    }
    let (mut sum, mut faults) = (0, Faults::default());
    while jobs.in_flight() > 0 {
        if !posts.run_next(&mut sum, &mut faults) {
            parker.wait(None);
        }
    }
    assert_eq!(sum, 42_925);
    assert_eq!(jobs.stop_workers(&clock, RealSpan::from_secs(60)), 0);
    assert_eq!(jobs.stats().done, 50);
}

#[test]
fn running_work_is_told_to_end_at_a_stop() {
    let clock = RealClock::new();
    let parker = Parker::new();
    let posts = Posts::<()>::new(8, parker.waker());
    let mut jobs = Jobs::new(posts.poster(), 1, 8);
    jobs.start_workers(clock).unwrap();
    let (started, has_started): (SyncSender<()>, Receiver<()>) = sync_channel(1);
    let endless = Job::new(
        move |context| {
            started.send(()).unwrap();
            while !context.is_told_to_end() {
                std::thread::yield_now();
            }
            Err::<(), _>("told to end")
        },
        |(), ()| {},
    );
    jobs.submit(JobSpec::new("endless"), endless, clock.now())
        .unwrap();
    has_started.recv().unwrap();
    assert_eq!(
        jobs.stop_workers(&clock, RealSpan::from_secs(60)),
        0,
        "no thread was left behind"
    );
}

/// A future that some other part ends, standing for whatever asynchronous source a program has.
fn mailbox() -> (Letter, impl Future<Output = &'static str> + Send) {
    use std::sync::{Arc, Mutex};
    use std::task::{Poll, Waker};
    #[derive(Default)]
    struct Slot {
        text: Option<&'static str>,
        waker: Option<Waker>,
    }
    let slot = Arc::new(Mutex::new(Slot::default()));
    let of_sender = Arc::clone(&slot);
    let future = std::future::poll_fn(move |context| {
        let mut slot = slot.lock().unwrap();
        slot.waker = Some(context.waker().clone());
        slot.text.take().map_or(Poll::Pending, Poll::Ready)
    });
    let send = move |text| {
        let mut slot = of_sender.lock().unwrap();
        slot.text = Some(text);
        let waker = slot.waker.take();
        drop(slot);
        waker.unwrap().wake();
    };
    (Letter(Box::new(send)), future)
}

struct Letter(Box<dyn FnOnce(&'static str)>);

impl Letter {
    fn send(self, text: &'static str) {
        (self.0)(text);
    }
}
