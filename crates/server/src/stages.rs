//! The stages of the server's pass, in their order, and what each may spend.
//!
//! ```text
//!  wait ─> accept ─> read ─> operators ─> tasks ─> timers ─> deadlines ─> outputs ─> journal ─> flush ─> messages ─> watch
//!  ─> round
//! ```
//!
//! The clock is read right after the wait, and again after each read: input is stamped with that instant, and the pass
//! continues at it, so that no input is handled before it came. Every stage takes at least one item and stops at its
//! budget, so that neither due work nor input starves the other; the rest comes first in the next pass, which does not wait.
//!
//! The start of an idle agent's next command has no stage of its own: it is a deadline of the game, the last in
//! rank at its instant, so that due work reaches it in the one order that does not depend on where passes are cut.

use trantor_engine::Engine;
use trantor_time::{NANOS, RealSpan, RealTime};

use crate::console;
use crate::listener::Listener;
use crate::passes::{Budget, Turn};
use crate::shell::Shell;

/// Time that a stage may take in one pass: a tenth of what a player would notice.
const STAGE_SPAN: RealSpan = RealSpan::from_millis(5);

/// How long the server stays after a win that ends it: the slowest of many viewers are updated twenty times a second.
const AFTER_WIN_SPAN: RealSpan = RealSpan::from_secs(2);

pub(crate) struct Stage {
    /// In logs and metrics.
    pub(crate) name: &'static str,
    pub(crate) budget: Budget,
    /// Does what there is to do, as far as the turn admits. Never blocks.
    pub(crate) run: fn(&mut Shell, &mut Turn<'_>),
}

/// All stages, in the order of a pass.
pub(crate) const STAGES: [Stage; 11] = [
    Stage {
        name: "accept",
        // Each takes some tens of microseconds, which players shall not notice (docs/decisions/0092); see also
        // `Listener::limit_rate`.
        budget: Budget::new(8, RealSpan::from_micros(50)),
        run: accept,
    },
    Stage {
        name: "read",
        // Reads, not connections: each is bounded by `conn::READ_BYTES_MAX`. A read of a flood takes ten times as long as one
        // of a command, and due work waits for all of them, so the span is short.
        budget: Budget::new(128, RealSpan::from_micros(50)),
        run: read,
    },
    Stage {
        name: "operators",
        // Some lines take milliseconds, and an operator that sends hundreds at once delays others by one of them at most.
        budget: Budget::new(16, RealSpan::from_micros(50)),
        run: operators,
    },
    Stage {
        name: "tasks",
        budget: Budget::new(100, STAGE_SPAN),
        run: tasks,
    },
    Stage {
        name: "timers",
        budget: Budget::new(256, STAGE_SPAN),
        run: timers,
    },
    Stage {
        name: "deadlines",
        // Small, because deadlines bunch, and the last reply of a bunch waits for all others: after a stall with 4,000 agents,
        // cutting and flushing every 64 took the p99 of lateness from 3 ms to 1 ms.
        budget: Budget::new(64, STAGE_SPAN),
        run: due_work,
    },
    Stage {
        name: "outputs",
        budget: Budget::UNLIMITED,
        run: outputs,
    },
    Stage {
        name: "journal",
        budget: Budget::UNLIMITED,
        run: journal,
    },
    Stage {
        name: "flush",
        // Writes, so that one connection with many lines is cut short like many with one.
        budget: Budget::new(1_024, STAGE_SPAN),
        run: flush,
    },
    Stage {
        name: "messages",
        // So few writes that a deadline among them is late by no more than a wake-up.
        budget: Budget::new(32, RealSpan::from_micros(120)),
        run: messages,
    },
    Stage {
        name: "watch",
        // Bounded by what was flushed; a socket left out would wait for ever.
        budget: Budget::UNLIMITED,
        run: watch,
    },
];

/// The stages and their budgets, for the log.
pub(crate) fn declared() -> String {
    let shown = STAGES.iter().map(|Stage { name, budget, .. }| match *budget {
        Budget::UNLIMITED => (*name).to_owned(),
        Budget { items_max, time_max } => {
            format!("{name} ({items_max} items, {} ms)", time_max.as_millis_f64())
        }
    });
    shown.collect::<Vec<_>>().join(" > ")
}

/// When a stage has something to do, if no socket is ready and no task comes; `None` for never.
pub(crate) fn next_wake(shell: &Shell) -> Option<RealTime> {
    let has_work = shell.conns.has_to_read() || shell.engine.has_operator_line();
    let next = [
        has_work.then_some(shell.now),
        shell.listener.as_ref().and_then(Listener::next_try),
        shell.timers.next_deadline(),
        shell.engine.poll_timeout(),
        // An ending loop finishes the rest itself.
        shell.storage.next_deadline().filter(|_| shell.disk.is_open()),
    ];
    next.into_iter().flatten().min()
}

/// Whether accepted work is unfinished, which an orderly end waits for.
pub(crate) fn has_unfinished(shell: &Shell) -> bool {
    shell.tasks.len() > 0
        || shell.disk.in_flight() > 0
        || is_due(&shell.engine, shell.now)
        || shell.unwritten > 0
        || shell.has_messages_left
}

/// Accepts new connections.
fn accept(shell: &mut Shell, turn: &mut Turn<'_>) {
    let now = shell.now;
    shell.engine.begin_pass(now);
    let signal = shell.sort_ready();
    if let Some(name) = signal.and_then(|signal| shell.obey(signal)) {
        log::info!("{name}: ending");
        shell.stop.request();
    }
    while has_pending(shell, now) && turn.admits("accept") {
        shell.accept_one(turn.arrival());
    }
}

fn has_pending(shell: &Shell, now: RealTime) -> bool {
    shell
        .listener
        .as_ref()
        .is_some_and(|listener| listener.has_pending(now))
}

/// Reads what is ready, fresh data first (`read_turns`).
fn read(shell: &mut Shell, turn: &mut Turn<'_>) {
    while shell.conns.has_to_read() && turn.admits_short("read") {
        shell.read_one(|| turn.arrival());
    }
}

/// Carries out lines of operators on connections.
fn operators(shell: &mut Shell, turn: &mut Turn<'_>) {
    while shell.engine.has_operator_line() && turn.admits("operator's line") {
        console::answer_operator(shell);
    }
}

fn tasks(shell: &mut Shell, turn: &mut Turn<'_>) {
    while shell.tasks.len() > 0 && turn.admits("task") {
        let Some(task) = shell.tasks.next() else { return };
        turn.name_item(task.name);
        shell.now = turn.arrival();
        (task.run)(shell);
        shell.tasks_run += 1;
    }
}

fn timers(shell: &mut Shell, turn: &mut Turn<'_>) {
    let now = shell.now;
    while shell.timers.next_deadline().is_some_and(|at| at <= now) && turn.admits("timer") {
        let Some(mut timer) = shell.timers.take_due(now) else {
            return;
        };
        turn.name_item(timer.name);
        // In a timer the time is its own deadline, so that delays it asks for do not drift.
        shell.now = timer.at;
        (timer.callback)(shell);
        shell.now = now;
        shell.timers.finish(timer, now, turn.item_took());
    }
}

/// Fires deadlines, of the game and of the engine, one after another.
fn due_work(shell: &mut Shell, turn: &mut Turn<'_>) {
    let now = shell.now;
    while is_due(&shell.engine, now) && turn.admits("deadline") {
        let Some(fired) = shell.engine.fire_next(now) else {
            return;
        };
        turn.name_item(fired.kind.name());
        shell.stats.count_deadline(fired);
    }
    shell.report_scripts();
}

fn is_due(engine: &Engine, now: RealTime) -> bool {
    engine.poll_timeout().is_some_and(|at| at <= now)
}

fn outputs(shell: &mut Shell, turn: &mut Turn<'_>) {
    shell.carry_out_outputs(|| {
        turn.admits("output");
    });
    if let Some(report_shown) = &shell.report_shown {
        report_shown(&shell.engine);
    }
    if shell.take_won() {
        shell.storage.save_soon();
        if shell.ends_at_win {
            end_later(shell);
        }
    }
}

/// Ends the loop once all peers were sent the winner: viewers with the next tick, spectators after their delay.
fn end_later(shell: &mut Shell) {
    let span = AFTER_WIN_SPAN + shell.engine.config().spectator_delay;
    log::info!(
        "the match is over: the server ends in {} s",
        span.as_nanos() / NANOS
    );
    shell.once("after win", span, |shell| shell.stop.request());
}

/// Writes the journal before anything is sent: what a peer knows of is recorded.
fn journal(shell: &mut Shell, turn: &mut Turn<'_>) {
    if shell.storage.recorder.is_some() {
        turn.admits("journal");
    }
    shell.storage.pass(&mut shell.engine, shell.now);
    shell.submit_jobs();
}

/// Writes replies, and messages queued before them, as far as the peers read.
fn flush(shell: &mut Shell, turn: &mut Turn<'_>) {
    let now = shell.now;
    shell.note_writable();
    let mut is_cut_short = false;
    while let Some(conn) = shell.engine.next_dirty_answer() {
        if !shell.flush_one(conn, now, || turn.admits_short("write")) {
            is_cut_short = true;
            break;
        }
    }
    // A connection whose outbox is empty may be closed now, without another pass.
    shell.carry_out_outputs(|| {});
    shell.unwritten = shell.conns.blocked() + usize::from(is_cut_short);
}

/// Writes to viewers, and to players what other players cause: thousands may watch, and a thousand hear one broadcast. After
/// all replies, with a budget of its own.
fn messages(shell: &mut Shell, turn: &mut Turn<'_>) {
    let now = shell.now;
    shell.has_messages_left = false;
    while let Some(conn) = shell.engine.next_dirty_message() {
        if !shell.flush_one(conn, now, || turn.admits("message")) {
            shell.has_messages_left = true;
            break;
        }
    }
    shell.carry_out_outputs(|| {});
}

/// Watches for write readiness only where bytes wait.
fn watch(shell: &mut Shell, _turn: &mut Turn<'_>) {
    shell.update_watch(shell.now);
}
