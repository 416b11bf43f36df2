//! Scripts on threads of their own, for a match with a clock: whatever a script does, no one else waits for it for long.
//!
//! ```text
//!  loop                                      thread of a file
//!  prepare(now)  ── Request::Decide ──>      perceive, decide
//!  decide(now)   <── Answered::Decided ──    commands, next wake-up
//! ```
//!
//! The loop waits for each decision, so that a match has one outcome, but only while the script's thread uses less processor
//! time for it than its limit. Beyond that the match continues, and what the script decides is carried out when it comes. Without
//! a clock scripts run in the caller's thread instead. What the thread does, and what it may use, is in [`super::worker`].

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crossbeam_channel::{Receiver, bounded};
use trantor_game::Game;
use trantor_model::Change;
use trantor_play::minds::{Act, Mind, MindFactory, Newborn, Percept, Published, Scenario, ScenarioAct};
use trantor_runtime::threads::{self, Thread};
use trantor_runtime::{RealClock, ThreadClock};
use trantor_script::limits::HEARD_MAX;
use trantor_script::{
    Bytecode, Data, JobWorker, ScenarioEvents, ScriptCounts, ScriptError, ScriptEvent, ScriptNews,
};
use trantor_time::{Clock, GameTime, RealSpan, RealTime};

use super::mailbox::{Mailbox, Nothing, mailbox};
use super::request::{Answer, Answered, LeftOut, Member, Notify, Request, Role, ScenarioInput, Shared};
use super::worker::{Loaded, Worker};

/// The longest that the loop waits for a thread that the machine does not run.
const STALLED_SPAN_MAX: RealSpan = RealSpan::from_millis(100);

/// How long a script that was given up may still not answer before it counts as suspended.
const LOST_SPAN: RealSpan = RealSpan::from_secs(2);

/// How often it is said that something was left out.
const LEFT_OUT_SPAN: RealSpan = RealSpan::from_secs(1);

/// Requests that wait for a script's thread. The loop waits for the decisions of some dozens of agents at a time; more wait
/// only behind a script that does not answer, and then its other agents ask again later.
const REQUESTS_MAX: usize = 1_024;

/// Answers that wait for the loop: of all requests, so that a script's thread never waits for room.
const ANSWERS_MAX: usize = REQUESTS_MAX + 1;

/// How long the end of the server waits for a script.
const ENDING_SPAN: RealSpan = RealSpan::from_millis(100);

/// What scripts on threads of their own need of the server.
pub struct Isolation {
    /// Whether the match waits for a script no longer than a limit: not in lock-step, where no clock runs.
    pub is_limited: bool,
    pub notify: Notify,
    /// Computes what scripts ask for by `trantor.jobs.run`.
    pub job_worker: JobWorker,
}

/// A script that is being loaded on its thread.
pub(super) struct Loading {
    loaded: Receiver<Result<Loaded, String>>,
    link: Link,
}

/// Starts a thread that reads, compiles and tries out the script in a file.
pub(super) fn load(path: &Path, role: Role, isolation: &Isolation) -> io::Result<Loading> {
    let (is_limited, notify) = (isolation.is_limited, Arc::clone(&isolation.notify));
    let job_worker = Arc::clone(&isolation.job_worker);
    let (requests, asked) = mailbox(REQUESTS_MAX);
    let (answer, answers) = mailbox(ANSWERS_MAX);
    let (send, loaded) = bounded(1);
    let shared = Arc::new(Shared {
        is_awaited: Arc::default(),
        began_ns: AtomicI64::new(-1),
        notify,
    });
    let (file, theirs) = (path.to_owned(), Arc::clone(&shared));
    let thread = threads::spawn("script", move || {
        let started = Worker::start(&file, role, is_limited, job_worker, &theirs);
        let (worker, said) = match started {
            Ok((worker, loaded)) => (Some(worker), Ok(loaded)),
            Err(why) => (None, Err(why)),
        };
        let _is_wanted = send.send(said);
        (theirs.notify)();
        if let Some(worker) = worker {
            worker.serve(&asked, &answer, &theirs);
        }
    })?;
    let state = State {
        requests,
        answers,
        ready: BTreeMap::new(),
        directed: None,
        replaced: VecDeque::new(),
        counts: ScriptCounts::default(),
        is_suspended: false,
        epoch: 0,
        events: VecDeque::new(),
        left_out: LeftOut::default(),
        left_out_said_at: None,
        next_slot: 0,
        changes: Vec::new(),
        asked_at: GameTime::ZERO,
        given_up_at: None,
        times_late: 0,
    };
    let link = Link {
        file: path.to_owned(),
        shared,
        clock: Cell::new(None),
        is_limited,
        state: RefCell::new(state),
        thread: Some(thread),
    };
    Ok(Loading { loaded, link })
}

impl Loading {
    /// Whether [`Self::finish`] would not wait.
    pub(super) fn is_done(&self) -> bool {
        !self.loaded.is_empty()
    }

    /// Waits until the script is loaded.
    pub(super) fn finish(self) -> Result<Rc<Link>, String> {
        let loaded = self.loaded.recv().unwrap_or_else(|_| Err(LOST.to_owned()))?;
        self.link.clock.set(Some((loaded.clock, loaded.awaited_span)));
        Ok(Rc::new(self.link))
    }
}

const LOST: &str = "its thread has ended: this is a fault of the server, please report it";

/// A script on its thread, as the loop knows it.
pub(super) struct Link {
    file: PathBuf,
    shared: Arc<Shared>,
    /// Of its thread, and how long to wait for a decision.
    clock: Cell<Option<(ThreadClock, RealSpan)>>,
    /// Without a limit the loop waits as long as the steps allow.
    is_limited: bool,
    state: RefCell<State>,
    thread: Option<Thread<()>>,
}

struct State {
    requests: Mailbox<Request>,
    answers: Mailbox<Answer>,
    /// Decisions that were answered and not taken, by slot.
    ready: BTreeMap<u32, (Vec<Act>, Option<GameTime>)>,
    directed: Option<Directed>,
    replaced: VecDeque<Result<(), ScriptError>>,
    counts: ScriptCounts,
    is_suspended: bool,
    /// Rises when all agents begin anew.
    epoch: u64,
    events: VecDeque<ScriptEvent>,
    left_out: LeftOut,
    /// When it was said last what was left out.
    left_out_said_at: Option<RealTime>,
    next_slot: u32,
    /// Births and deaths that its thread is sent before the next request: they count for what its agents may use.
    changes: Vec<Member>,
    /// The game's time of the latest decision that was asked for.
    asked_at: GameTime,
    /// When the loop stopped waiting for it, until it has answered all.
    given_up_at: Option<RealTime>,
    times_late: u64,
}

struct Directed {
    acts: Vec<ScenarioAct>,
    wake_at: Option<GameTime>,
    handled: Vec<Box<str>>,
}

impl State {
    fn take(&mut self, answer: Answer) {
        match answer.what {
            Answered::Decided { slot, acts, wake_at } => drop(self.ready.insert(slot, (acts, wake_at))),
            Answered::Directed {
                acts,
                wake_at,
                handled,
            } => {
                self.directed = Some(Directed {
                    acts,
                    wake_at,
                    handled,
                });
            }
            Answered::Replaced(result) => {
                self.epoch += u64::from(result.is_ok());
                self.replaced.push_back(result);
            }
        }
        self.counts = answer.counts;
        self.is_suspended = answer.is_suspended;
        self.left_out.add(answer.left_out);
        self.events.extend(answer.events);
    }

    fn drain(&mut self) {
        while let Some(answer) = self.answers.try_receive() {
            self.take(answer);
        }
    }
}

impl Link {
    /// Whether there is room for a request, and one about births and deaths before it.
    fn has_room(&self) -> bool {
        self.state.borrow().requests.len() + 2 <= REQUESTS_MAX
    }

    /// Answers whether there was room for the request. After a fault of the thread there is none, which `wait` reports.
    fn ask(&self, request: Request) -> bool {
        let mut state = self.state.borrow_mut();
        if !state.changes.is_empty() {
            let changes = std::mem::take(&mut state.changes);
            if let Err(Request::Members(changes)) = state.requests.send(Request::Members(changes)) {
                state.changes = changes;
                return false;
            }
        }
        state.requests.send(request).is_ok()
    }

    /// Waits for the answer that `take` finds, as long as the loop may.
    fn wait<T>(&self, mut take: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let mut state = self.state.borrow_mut();
        let began = RealClock::new().now();
        loop {
            state.drain();
            if let Some(found) = take(&mut state) {
                return Some(found);
            }
            if state.given_up_at.is_some() {
                return None;
            }
            let waited = RealClock::new().now() - began;
            let Some(span) = self.may_wait(waited) else {
                // Set before the answers are looked at again: the thread looks at it after it has answered.
                self.shared.is_awaited.store(true, Ordering::SeqCst);
                state.given_up_at = Some(RealClock::new().now());
                state.times_late += 1;
                continue;
            };
            match state.answers.receive(Some(span)) {
                Ok(answer) => state.take(answer),
                Err(Nothing::Yet) => {}
                Err(Nothing::Ever) => {
                    log::error!("{}: {LOST}", self.file.display());
                    state.is_suspended = true;
                    state.given_up_at = Some(RealTime::ZERO);
                }
            }
        }
    }

    /// How long the loop may go on to wait for an answer that it waits for already; `None` once the script has used more
    /// processor time for it than one may.
    fn may_wait(&self, waited: RealSpan) -> Option<RealSpan> {
        let Some((clock, awaited_span)) = self.clock.get().filter(|_| self.is_limited) else {
            return Some(RealSpan::from_secs(1));
        };
        if waited < awaited_span {
            return Some(awaited_span - waited);
        }
        let began_ns = self.shared.began_ns.load(Ordering::Acquire);
        let used = clock.used() - RealSpan::from_nanos(began_ns.max(0));
        let left = awaited_span - used.max(RealSpan::ZERO);
        let is_running = began_ns < 0 || left > RealSpan::ZERO;
        (is_running && waited < STALLED_SPAN_MAX).then(|| left.max(RealSpan::from_micros(200)))
    }

    /// Takes in what was answered meanwhile. Answers whether the loop waits for the script again.
    pub(super) fn catch_up(&self) {
        let mut state = self.state.borrow_mut();
        state.drain();
        let is_idle = self.shared.began_ns.load(Ordering::Acquire) < 0;
        if let Some(at) = state.given_up_at
            && at > RealTime::ZERO
        {
            if is_idle {
                self.shared.is_awaited.store(false, Ordering::SeqCst);
                state.given_up_at = None;
                state.drain();
            } else if !state.is_suspended && RealClock::new().now() - at > LOST_SPAN {
                state.is_suspended = true;
                let error = ScriptError {
                    file: self.file.display().to_string().into(),
                    line: 0,
                    column: None,
                    message: "it does not come back from a call, and is not waited for".into(),
                };
                for news in [ScriptNews::Failed(error), ScriptNews::Suspended] {
                    let (agent, at) = (None, state.asked_at);
                    state.events.push_back(ScriptEvent { agent, at, news });
                }
            }
        }
    }

    /// Whether the loop has stopped waiting for it.
    pub(super) fn is_given_up(&self) -> bool {
        self.state.borrow().given_up_at.is_some()
    }

    /// Answers whether the thread has room for it.
    pub(super) fn replace(&self, bytecode: Bytecode) -> bool {
        self.ask(Request::Replace(bytecode))
    }

    /// What came of the oldest [`Self::replace`] that was not taken.
    pub(super) fn next_replaced(&self) -> Option<Result<(), ScriptError>> {
        self.state.borrow_mut().replaced.pop_front()
    }

    pub(super) fn resume(&self) {
        if self.ask(Request::Resume) {
            let mut state = self.state.borrow_mut();
            state.epoch += 1;
            state.is_suspended = false;
        }
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.state.borrow().is_suspended
    }

    pub(super) fn counts(&self) -> ScriptCounts {
        self.state.borrow().counts
    }

    /// Decisions that the loop did not wait for.
    pub(super) fn times_late(&self) -> u64 {
        self.state.borrow().times_late
    }

    pub(super) fn next_event(&self) -> Option<ScriptEvent> {
        self.state.borrow_mut().events.pop_front()
    }

    /// What was left out since it was said last, once a second.
    pub(super) fn take_left_out(&self) -> LeftOut {
        let mut state = self.state.borrow_mut();
        let LeftOut { lines, shows } = state.left_out;
        if lines + shows > 0 {
            let now = RealClock::new().now();
            if state.left_out_said_at.is_none_or(|at| now - at >= LEFT_OUT_SPAN) {
                state.left_out_said_at = Some(now);
                return std::mem::take(&mut state.left_out);
            }
        }
        LeftOut::default()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The thread ends once nothing can be asked of it, and what it does is cut short.
        let (requests, _) = mailbox(0);
        self.state.borrow_mut().requests = requests;
        self.shared.is_awaited.store(true, Ordering::SeqCst);
        if let Some(Err(thread)) = self.thread.take().map(|thread| thread.join_within(ENDING_SPAN)) {
            thread.abandon();
        }
    }
}

/// Makes minds that decide on the thread of their script.
pub(super) struct Remote(pub(super) Rc<Link>);

impl MindFactory for Remote {
    fn awaken(&mut self, born: &Newborn) -> Box<dyn Mind> {
        let link = Rc::clone(&self.0);
        let slot = {
            let mut state = link.state.borrow_mut();
            let slot = state.next_slot;
            state.next_slot += 1;
            slot
        };
        let born = born.clone();
        link.state.borrow_mut().changes.push(Member::Born { slot, born });
        Box::new(RemoteMind {
            link,
            slot,
            percepts: VecDeque::new(),
            is_asked: false,
            is_put_off: false,
            wake_at: Some(GameTime::ZERO),
            epoch: None,
            published: Published::default(),
        })
    }
}

struct RemoteMind {
    link: Rc<Link>,
    slot: u32,
    percepts: VecDeque<Percept>,
    /// Whether a decision is under way.
    is_asked: bool,
    /// Whether it would have asked for one and there was no room.
    is_put_off: bool,
    /// As of its last decision.
    wake_at: Option<GameTime>,
    /// Of the script that has decided last.
    epoch: Option<u64>,
    published: Published,
}

impl RemoteMind {
    /// Takes the decision that is under way, if it has been answered or comes in time. Answers whether it was.
    fn take_decision(&mut self, acts: &mut Vec<Act>) -> bool {
        if !self.is_asked {
            return false;
        }
        let slot = self.slot;
        let Some((decided, wake_at)) = self.link.wait(|state| state.ready.remove(&slot)) else {
            return false;
        };
        acts.extend(decided);
        self.wake_at = wake_at;
        self.is_asked = false;
        true
    }
}

impl Mind for RemoteMind {
    fn perceive(&mut self, percept: &Percept) {
        if self.percepts.len() == HEARD_MAX {
            self.percepts.pop_front();
        }
        self.percepts.push_back(percept.clone());
    }

    fn publish(&mut self, published: &Published) {
        self.published = published.clone();
    }

    fn prepare(&mut self, now: GameTime) {
        if self.is_asked {
            return;
        }
        // Behind a script that does not answer: it asks again once that has.
        if !self.link.has_room() {
            self.is_put_off = true;
            return;
        }
        self.is_put_off = false;
        let epoch = {
            let mut state = self.link.state.borrow_mut();
            state.asked_at = now;
            state.epoch
        };
        let (slot, percepts) = (self.slot, self.percepts.drain(..).collect());
        self.is_asked = self.link.ask(Request::Decide {
            slot,
            percepts,
            published: self.published.clone(),
            now,
        });
        self.epoch = self.is_asked.then_some(epoch);
    }

    fn decide(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        let was_late = self.is_asked && !self.percepts.is_empty();
        self.prepare(now);
        // What was perceived while a late decision was under way is decided about now.
        if self.take_decision(acts) && was_late && !self.percepts.is_empty() {
            self.prepare(now);
            self.take_decision(acts);
        }
    }

    fn wake_at(&self) -> Option<GameTime> {
        let state = self.link.state.borrow();
        if self.is_asked {
            return state.ready.contains_key(&self.slot).then_some(GameTime::ZERO);
        }
        if state.is_suspended || self.is_put_off && state.given_up_at.is_some() {
            return None;
        }
        match self.epoch == Some(state.epoch) && !self.is_put_off {
            true => self.wake_at,
            false => Some(GameTime::ZERO),
        }
    }

    fn died(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        if self.is_asked && !self.take_decision(acts) {
            return;
        }
        let (slot, percepts) = (self.slot, self.percepts.drain(..).collect());
        self.is_asked = self.link.ask(Request::Die { slot, percepts, now });
        self.take_decision(acts);
    }
}

impl Drop for RemoteMind {
    fn drop(&mut self) {
        let mut state = self.link.state.borrow_mut();
        state.changes.push(Member::Gone { slot: self.slot });
        state.ready.remove(&self.slot);
    }
}

/// A scenario on its thread.
pub(super) struct RemoteScenario {
    link: Rc<Link>,
    events: ScenarioEvents,
    heard: Vec<ScenarioInput>,
    is_asked: bool,
    /// Whether it has decided once: before, it takes every event.
    has_begun: bool,
    handled: Vec<Box<str>>,
    wake_at: Option<GameTime>,
    epoch: Option<u64>,
    published: Published,
}

impl RemoteScenario {
    pub(super) fn new(link: Rc<Link>) -> Self {
        Self {
            link,
            events: ScenarioEvents::default(),
            heard: Vec::new(),
            is_asked: false,
            has_begun: false,
            handled: Vec::new(),
            wake_at: Some(GameTime::ZERO),
            epoch: None,
            published: Published::default(),
        }
    }

    fn event(&mut self, event: &str, data: Data) {
        let is_late = self.is_asked && self.heard.len() >= trantor_script::limits::SCENARIO_HEARD_MAX;
        let is_handled = !self.has_begun || self.handled.iter().any(|name| **name == *event);
        if is_handled && !is_late {
            self.heard.push(ScenarioInput::Event(event.into(), data));
        }
    }
}

impl Scenario for RemoteScenario {
    fn begin(&mut self, game: &Game) {
        for (name, data) in self.events.begin(game) {
            self.event(name, data);
        }
    }

    fn perceive(&mut self, game: &Game, change: &Change) {
        if let Some((name, data)) = self.events.read(game, change) {
            self.event(name, data);
        }
    }

    fn answered(&mut self, id: u64, answer: Result<String, String>) {
        self.heard.push(ScenarioInput::Answer { id, answer });
    }

    fn decide(&mut self, game: &Game, acts: &mut Vec<ScenarioAct>) {
        let now = game.now();
        self.published.update_from(game);
        if !self.is_asked {
            let is_due = self.wake_at().is_some_and(|at| at <= now);
            if self.heard.is_empty() && !is_due {
                return;
            }
            self.epoch = Some(self.link.state.borrow().epoch);
            let heard = std::mem::take(&mut self.heard);
            // It asks for one thing at a time, so there is room.
            self.is_asked = self.link.ask(Request::Direct {
                heard,
                published: self.published.clone(),
                now,
            });
        }
        if let Some(directed) = self.link.wait(|state| state.directed.take()) {
            self.is_asked = false;
            self.has_begun = true;
            self.handled = directed.handled;
            self.wake_at = directed.wake_at;
            acts.extend(directed.acts);
        }
    }

    fn wake_at(&self) -> Option<GameTime> {
        let state = self.link.state.borrow();
        if self.is_asked {
            return state.directed.is_some().then_some(GameTime::ZERO);
        }
        if state.is_suspended {
            return None;
        }
        match self.epoch == Some(state.epoch) && self.heard.is_empty() {
            true => self.wake_at,
            false => Some(GameTime::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::{SyncSender, sync_channel};

    use trantor_model::{Command, MapSize};
    use trantor_script::Script;

    use super::*;

    /// What the thread may log at once, and a line that came meanwhile.
    const LOG_LINES_MAX: usize = 101;

    /// A script in a file of its own, on its thread; jobs wait until something is sent.
    fn running(name: &str, body: &str) -> (Rc<Link>, SyncSender<()>, Arc<AtomicBool>) {
        let path = std::env::temp_dir().join(format!("trantor-{name}-{}.luau", std::process::id()));
        std::fs::write(
            &path,
            format!("local trantor = require('@trantor') return trantor.agent(function(me) {body} end)"),
        )
        .unwrap();
        let (release, released) = sync_channel(1);
        let released = std::sync::Mutex::new(released);
        let is_notified = Arc::new(AtomicBool::new(false));
        let notified = Arc::clone(&is_notified);
        let isolation = Isolation {
            is_limited: true,
            notify: Arc::new(move || notified.store(true, Ordering::SeqCst)),
            job_worker: Arc::new(move |_, work| {
                let _is_released = released.lock().unwrap().recv();
                let _outcome = work();
            }),
        };
        let link = load(&path, Role::Agents, &isolation).unwrap().finish().unwrap();
        std::fs::remove_file(path).unwrap();
        (link, release, is_notified)
    }

    fn born(factory: &mut dyn MindFactory) -> Box<dyn Mind> {
        factory.awaken(&Newborn {
            seed: 7,
            ..Newborn::first("red", MapSize::new(10, 10).unwrap())
        })
    }

    fn decided(mind: &mut dyn Mind, units: i64) -> Vec<Act> {
        let mut acts = Vec::new();
        mind.decide(GameTime::from_units(units), &mut acts);
        acts
    }

    #[test]
    fn a_script_decides_the_same_on_a_thread_of_its_own() {
        let body = "me:every(3, function() me:note(`{trantor.now()} {math.random(100)}`) end)
            while true do if me:forward() then me:right() else me:broadcast('no') end end";
        let source =
            format!("local trantor = require('@trantor') return trantor.agent(function(me) {body} end)");
        let mut here = born(&mut Script::load("here.luau", source.as_bytes()).unwrap());
        let (link, ..) = running("same", body);
        let mut there = born(&mut Remote(link));
        for unit in 0..200 {
            for mind in [&mut here, &mut there] {
                match unit % 4 {
                    0 => mind.perceive(&Percept::Ok),
                    1 => mind.perceive(&Percept::Ko),
                    2 => mind.perceive(&Percept::Message {
                        direction: 3,
                        text: (*b"hey").into(),
                    }),
                    _ => {}
                }
            }
            there.prepare(GameTime::from_units(unit));
            assert_eq!(
                decided(&mut *here, unit),
                decided(&mut *there, unit),
                "unit {unit}"
            );
            assert_eq!(here.wake_at(), there.wake_at());
        }
    }

    /// The thread waits for a job that is not done, as it might be busy with anything.
    #[test]
    fn the_match_goes_on_without_a_script_that_does_not_answer_and_has_it_back() {
        let path = "trantor.jobs.run('path', { from = { x = 0, y = 0 }, to = { x = 1, y = 0 } })";
        let (link, release, is_notified) = running("late", &format!("{path} me:left() me:right()"));
        let mut mind = born(&mut Remote(Rc::clone(&link)));
        // The job is computed where it is asked for, so even its request does not return.
        assert_eq!(decided(&mut *mind, 0), []);
        assert_eq!((link.times_late(), mind.wake_at()), (1, None));
        let began = RealClock::new().now();
        for unit in 1..50 {
            assert_eq!(decided(&mut *mind, unit), []);
        }
        assert!(
            RealClock::new().now() - began < STALLED_SPAN_MAX * 49,
            "it is not waited for again"
        );
        release.send(()).unwrap();
        while !is_notified.load(Ordering::SeqCst) || link.is_given_up() {
            std::thread::yield_now();
            link.catch_up();
        }
        assert_eq!(mind.wake_at(), Some(GameTime::ZERO), "its decision is there");
        assert_eq!(decided(&mut *mind, 60), []);
        let turned = decided(&mut *mind, 61);
        assert!(
            matches!(turned[..], [Act::Command(Command::Turn(_))]),
            "{turned:?}"
        );
    }

    #[test]
    fn what_is_logged_and_shown_at_once_is_bounded_and_the_rest_is_counted() {
        let (link, ..) = running("loud", "for n = 1, 150 do print(n) me:note(n) end");
        let mut mind = born(&mut Remote(Rc::clone(&link)));
        let shows = decided(&mut *mind, 0).len();
        assert!(shows <= trantor_script::limits::SHOWS_MAX);
        let lines = std::iter::from_fn(|| link.next_event()).count();
        let left_out = link.take_left_out().lines;
        assert!((1..=LOG_LINES_MAX).contains(&lines), "{lines}");
        assert_eq!(lines as u64 + left_out, 150);
    }
}
