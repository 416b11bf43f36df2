//! The thread of a script: it carries out what the loop asks, within limits of its own.
//!
//! A script whose time is not explained by its steps is suspended ([`Meter`]). What it logs and shows has a rate. How long the
//! loop waits is in [`super::link`].

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use trantor_model::MapSize;
use trantor_play::minds::{Act, Mind, MindFactory, Newborn, Scenario as _, ScenarioAct};
use trantor_runtime::{RealClock, ThreadClock};
use trantor_script::{Bytecode, Host, JobWorker, Scenario, Script, ScriptEvent, ScriptNews, TimeLimit};
use trantor_time::{Clock, GameTime, RealSpan, RealTime, TokenBucket, TokenRate};

use super::Source;
use super::mailbox::Mailbox;
use super::request::{Answer, Answered, LeftOut, Member, Request, Role, ScenarioInput, Shared};

/// Processor time that the loop waits for one decision of a script, on a machine that takes [`STEP_NS_EXPECTED`] for a step: well
/// above what the largest resumption takes, and below what a player would notice.
const AWAITED_SPAN: RealSpan = RealSpan::from_millis(4);

/// The longest that the loop waits on a machine that is slower than expected.
const AWAITED_SPAN_MAX: RealSpan = RealSpan::from_millis(20);

/// Nanoseconds of a step of a script on the machines that the limits were chosen for.
const STEP_NS_EXPECTED: i64 = 40;

/// Times as long as a plain step that a step may take, library and collector included.
const STEP_FACTOR: i64 = 4;

/// Steps whose time each decision may take besides its own: what is perceived and answered is translated.
const DECISION_STEPS: i64 = 10_000;

/// Processor time beyond that of its steps that a script may use at once. A resumption's worth: its collector and the first
/// touch of memory take some of it.
const EXCESS_SPAN_MAX: RealSpan = RealSpan::from_millis(2);

/// One part of real time in so many comes back to what a script may use beyond its steps.
const EXCESS_REFILL_PARTS: i64 = 100;

/// Lines of a script that are logged: people read fewer than 20 a second, and a script has more to say at its beginning.
const LOG_RATE: TokenRate = TokenRate::new(20, 100);

/// Notes, marks and cards that a script may show: some of each agent of a large team, all of them when they are born.
const SHOW_RATE: TokenRate = TokenRate::new(1_000, 2_000);

/// Events of a script that wait for the loop; more are counted.
const EVENTS_MAX: usize = 256;

/// What the loop needs to know of a thread whose script is loaded.
pub(super) struct Loaded {
    pub(super) clock: ThreadClock,
    pub(super) awaited_span: RealSpan,
}

/// The processor time of a script's thread, and how much of it its steps do not explain: a token bucket, so that work that is
/// counted as no step cannot go on for long, whatever it is. How long a step takes is measured when the script is loaded.
struct Meter {
    clock: ThreadClock,
    step_ns: i64,
    began: Cell<RealSpan>,
    /// Steps of the script before the decision under way.
    steps_before: Cell<u64>,
    excess: Cell<RealSpan>,
    /// When the bucket was drained last.
    drained_at: Cell<RealTime>,
}

impl Meter {
    fn new() -> Self {
        let clock = ThreadClock::of_this_thread();
        Self {
            clock,
            step_ns: STEP_NS_EXPECTED,
            began: Cell::new(clock.used()),
            steps_before: Cell::default(),
            excess: Cell::default(),
            drained_at: Cell::new(RealClock::new().now()),
        }
    }

    fn begin(&self, shared: &Shared) {
        let began = self.clock.used();
        self.began.set(began);
        shared.began_ns.store(began.as_nanos(), Ordering::Release);
    }

    /// What the decision under way has used beyond what its steps explain, with what earlier ones have. `steps` are all that the
    /// script has taken.
    fn excess(&self, steps: u64) -> RealSpan {
        let used = self.clock.used() - self.began.get();
        let steps = i64::try_from(steps - self.steps_before.get()).unwrap_or(i64::MAX);
        let explained = steps.saturating_mul(STEP_FACTOR).saturating_add(DECISION_STEPS);
        let excess = used - RealSpan::from_nanos(explained.saturating_mul(self.step_ns));
        self.excess.get() + excess.max(RealSpan::ZERO)
    }

    /// A decision has ended. Answers whether too much is unexplained.
    fn end(&self, steps: u64) -> bool {
        let now = RealClock::new().now();
        let back = (now - self.drained_at.replace(now)).as_nanos() / EXCESS_REFILL_PARTS;
        let excess = self.excess(steps) - RealSpan::from_nanos(back);
        self.excess.set(excess.max(RealSpan::ZERO));
        self.steps_before.set(steps);
        self.excess.get() > self.excess_max()
    }

    fn excess_max(&self) -> RealSpan {
        RealSpan::from_nanos(EXCESS_SPAN_MAX.as_nanos() / STEP_NS_EXPECTED * self.step_ns)
    }

    fn awaited_span(&self) -> RealSpan {
        let span = AWAITED_SPAN.as_nanos() / STEP_NS_EXPECTED * self.step_ns;
        RealSpan::from_nanos(span).clamp(AWAITED_SPAN, AWAITED_SPAN_MAX)
    }
}

enum Player {
    Agents {
        script: Script,
        minds: BTreeMap<u32, Box<dyn Mind>>,
    },
    Scenario(Box<Scenario>),
}

impl Player {
    fn script(&self) -> &Script {
        match self {
            Self::Agents { script, .. } => script,
            Self::Scenario(scenario) => scenario.script(),
        }
    }
}

/// A script, and the limits of its thread.
pub(super) struct Worker {
    player: Player,
    meter: Rc<Meter>,
    is_limited: bool,
    now: GameTime,
    lines: TokenBucket,
    shows: TokenBucket,
    left_out: LeftOut,
}

impl Worker {
    /// Reads, compiles and tries out the script in a file.
    pub(super) fn start(
        path: &Path,
        role: Role,
        is_limited: bool,
        job_worker: JobWorker,
        shared: &Arc<Shared>,
    ) -> Result<(Self, Loaded), String> {
        let file = path.display().to_string();
        let bytecode = compile(path)?;
        let mut meter = Meter::new();
        meter.step_ns = step_ns(&meter.clock);
        let (awaited_span, meter) = (meter.awaited_span(), Rc::new(meter));
        let theirs = Rc::clone(&meter);
        let time_limit = is_limited.then(|| TimeLimit {
            is_awaited: Arc::clone(&shared.is_awaited),
            is_exceeded: Box::new(move |steps| theirs.excess(steps) > theirs.excess_max()),
        });
        let host = Host {
            time_limit,
            job_worker: Some(job_worker),
        };
        let player = match role {
            Role::Agents => Script::start(&file, &bytecode, host).map(|script| Player::Agents {
                script,
                minds: BTreeMap::new(),
            }),
            Role::Scenario { seed } => Scenario::start(&file, &bytecode, seed, host)
                .map(|scenario| Player::Scenario(Box::new(scenario))),
        };
        let player = player.map_err(|error| super::luau::refusal(path, &error))?;
        let loaded = Loaded {
            clock: meter.clock,
            awaited_span,
        };
        meter.steps_before.set(player.script().counts().steps);
        let began = RealClock::new().now();
        let worker = Self {
            player,
            meter,
            is_limited,
            now: GameTime::ZERO,
            lines: TokenBucket::full(began, LOG_RATE),
            shows: TokenBucket::full(began, SHOW_RATE),
            left_out: LeftOut::default(),
        };
        Ok((worker, loaded))
    }

    /// Does what is asked, until nothing can be asked any more.
    pub(super) fn serve(mut self, requests: &Mailbox<Request>, answers: &Mailbox<Answer>, shared: &Shared) {
        while let Ok(request) = requests.receive(None) {
            self.meter.begin(shared);
            let answered = self.carry_out(request);
            let counts = self.player.script().counts();
            if self.meter.end(counts.steps) && self.is_limited && !self.player.script().is_suspended() {
                let reason = "its work takes longer than its steps allow: it is not resumed any more";
                self.player.script().suspend(self.now, reason);
            }
            let is_replaced = matches!(answered, Some(Answered::Replaced(_)));
            if let Some(what) = answered {
                let answer = Answer {
                    what,
                    counts,
                    is_suspended: self.player.script().is_suspended(),
                    events: self.events(),
                    left_out: std::mem::take(&mut self.left_out),
                };
                // The loop is ending, or takes it.
                let _is_wanted = answers.send(answer);
            }
            // Looked at before the thread counts as idle: from then on the loop may take that for caught up, and stops waiting.
            let is_awaited = shared.is_awaited.load(Ordering::SeqCst);
            if requests.len() == 0 {
                shared.began_ns.store(-1, Ordering::Release);
            }
            if is_replaced || is_awaited {
                (shared.notify)();
            }
        }
    }

    fn carry_out(&mut self, request: Request) -> Option<Answered> {
        match (request, &mut self.player) {
            (Request::Members(changes), Player::Agents { script, minds }) => {
                for change in changes {
                    match change {
                        Member::Born { slot, born } => {
                            let mind = script.awaken(&born);
                            minds.insert(slot, mind);
                        }
                        Member::Gone { slot } => drop(minds.remove(&slot)),
                    }
                }
                None
            }
            (
                Request::Decide {
                    slot,
                    percepts,
                    published,
                    now,
                },
                Player::Agents { minds, .. },
            ) => {
                self.now = now;
                let (mut acts, mut wake_at) = (Vec::new(), None);
                if let Some(mind) = minds.get_mut(&slot) {
                    percepts.iter().for_each(|percept| mind.perceive(percept));
                    mind.publish(&published);
                    mind.decide(now, &mut acts);
                    wake_at = mind.wake_at();
                }
                self.limit_shows(&mut acts);
                Some(Answered::Decided { slot, acts, wake_at })
            }
            (Request::Die { slot, percepts, now }, Player::Agents { minds, .. }) => {
                self.now = now;
                let mut acts = Vec::new();
                if let Some(mind) = minds.get_mut(&slot) {
                    percepts.iter().for_each(|percept| mind.perceive(percept));
                    mind.died(now, &mut acts);
                }
                self.limit_shows(&mut acts);
                let wake_at = None;
                Some(Answered::Decided { slot, acts, wake_at })
            }
            (
                Request::Direct {
                    heard,
                    published,
                    now,
                },
                Player::Scenario(scenario),
            ) => {
                scenario.publish(&published);
                self.now = now;
                for heard in heard {
                    match heard {
                        ScenarioInput::Event(name, data) => scenario.event(&name, data),
                        ScenarioInput::Answer { id, answer } => scenario.answer(id, &answer),
                    }
                }
                let mut acts = Vec::new();
                scenario.resume_due(now, &mut acts);
                let (wake_at, handled) = (
                    scenario.wake_at(),
                    scenario.handled_events().map(Box::from).collect(),
                );
                let (shows, left_out) = (&mut self.shows, &mut self.left_out);
                acts.retain(|act| !matches!(act, ScenarioAct::Show(_)) || may_show(shows, left_out));
                Some(Answered::Directed {
                    acts,
                    wake_at,
                    handled,
                })
            }
            (Request::Replace(bytecode), player) => {
                Some(Answered::Replaced(player.script().replace(&bytecode)))
            }
            (Request::Resume, player) => {
                player.script().resume();
                self.meter.excess.set(RealSpan::ZERO);
                None
            }
            (Request::Members(_) | Request::Decide { .. } | Request::Die { .. }, Player::Scenario(_))
            | (Request::Direct { .. }, Player::Agents { .. }) => {
                unreachable!("a thread is asked what its role is")
            }
        }
    }

    fn limit_shows(&mut self, acts: &mut Vec<Act>) {
        let (shows, left_out) = (&mut self.shows, &mut self.left_out);
        acts.retain(|act| !matches!(act, Act::Show(_)) || may_show(shows, left_out));
    }

    /// What has happened, with as many lines of the log as there may be.
    fn events(&mut self) -> Vec<ScriptEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.player.script().next_event() {
            let is_line = matches!(event.news, ScriptNews::Log(_));
            if is_line
                && (events.len() == EVENTS_MAX || !self.lines.takes_one(RealClock::new().now(), LOG_RATE))
            {
                self.left_out.lines += 1;
            } else {
                events.push(event);
            }
        }
        events
    }
}

fn may_show(shows: &mut TokenBucket, left_out: &mut LeftOut) -> bool {
    let may = shows.takes_one(RealClock::new().now(), SHOW_RATE);
    left_out.shows += u64::from(!may);
    may
}

/// Reads and compiles the script in a file, on whatever thread this is called.
pub(crate) fn compile(path: &Path) -> Result<Bytecode, String> {
    compile_source(path, &super::luau::read(path))
}

pub(super) fn compile_source(path: &Path, source: &Source) -> Result<Bytecode, String> {
    let source = source.as_ref().map_err(Clone::clone)?;
    Bytecode::compile(&path.display().to_string(), source).map_err(|error| super::luau::refusal(path, &error))
}

/// Nanoseconds that a plain step takes on this machine: the least of several measurements, which are made once in a process.
fn step_ns(clock: &ThreadClock) -> i64 {
    static MEASURED: OnceLock<i64> = OnceLock::new();
    *MEASURED.get_or_init(|| measure_step_ns(clock))
}

fn measure_step_ns(clock: &ThreadClock) -> i64 {
    const ROUNDS: usize = 3;
    let source = b"return require('@trantor').agent(function() for n = 1, 10000 do end end)";
    let measured = (0..ROUNDS).filter_map(|_| {
        let script = Script::load("measure.luau", source).ok()?;
        let before = (clock.used(), script.counts().steps);
        let mut mind = script
            .clone()
            .awaken(&Newborn::first("", MapSize::new(1, 1).ok()?));
        mind.decide(GameTime::ZERO, &mut Vec::new());
        let steps = i64::try_from(script.counts().steps - before.1).ok()?;
        Some((clock.used() - before.0).as_nanos() / steps.max(1))
    });
    measured.min().unwrap_or(STEP_NS_EXPECTED).max(STEP_NS_EXPECTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_no_script_and_of_another_file_nothing_is_quoted() {
        let folder = std::env::temp_dir();
        let refused = |path: &Path| compile(path).unwrap_err();
        assert!(
            refused(&folder).contains("expected the path of a script"),
            "{}",
            refused(&folder)
        );
        let secret = folder.join(format!("trantor-secret-{}", std::process::id()));
        std::fs::write(&secret, "root:hash:0").unwrap();
        let link = secret.with_extension("luau");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        for path in [&secret, &link] {
            let refusal = refused(path);
            assert!(
                !refusal.contains("root") && !refusal.contains("hash"),
                "{refusal}"
            );
        }
        std::fs::remove_file(secret).unwrap();
        let _is_there = std::fs::remove_file(link);
    }
}
