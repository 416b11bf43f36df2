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

use trantor_engine::{ConnId, Engine, Input, Output};
use trantor_model::TeamId;
use trantor_runtime::signals::Signals;
use trantor_time::{NANOS, RealSpan, RealTime};

use crate::conn::{ReadOutcome, WriteOutcome};
use crate::console;
use crate::listener::Listener;
use crate::passes::{Budget, Turn};
use crate::shell::timers::Ran;
use crate::shell::{Shell, TOKEN_LISTENER, TOKEN_SIGNALS};
use crate::wait::{WaitPolicy, spacing_at};

/// Time that a stage may take in one pass: a tenth of what a player would notice.
const STAGE_SPAN: RealSpan = RealSpan::from_millis(5);

/// How long the server stays after a win that ends it: the slowest of many viewers are updated twenty times a second.
const AFTER_WIN_SPAN: RealSpan = RealSpan::from_secs(2);

/// The timer that ends the server then.
const AFTER_WIN: &str = "after_win";

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
    let has_work = shell.conns.has_to_read();
    let next = [
        has_work.then_some(shell.now),
        shell.engine.operator_line_at(shell.now),
        shell.listener.as_ref().and_then(Listener::next_try),
        shell.timers.next_deadline(),
        shell.engine.poll_timeout(),
        // An ending loop finishes the rest itself.
        shell.storage.next_deadline().filter(|_| shell.jobs.has_disk()),
    ];
    next.into_iter().flatten().min()
}

/// Whether accepted work is unfinished, which an orderly end waits for.
pub(crate) fn has_unfinished(shell: &Shell) -> bool {
    shell.tasks.len() > 0
        || shell.jobs.in_flight() > 0
        || is_due(&shell.engine, shell.now)
        || shell.unwritten > 0
        || shell.has_messages_left
}

/// Passes on what the system reported, and accepts new connections.
fn accept(shell: &mut Shell, turn: &mut Turn<'_>) {
    let now = shell.now;
    shell.engine.begin_pass(now);
    let mut signal = None;
    while let Some(ready) = shell.wait.next_ready() {
        match ready.token {
            TOKEN_LISTENER => shell.listener.iter_mut().for_each(Listener::note_ready),
            TOKEN_SIGNALS => signal = shell.signals.as_mut().and_then(Signals::received),
            _ => shell.conns.note_ready(ready),
        }
    }
    if let Some(name) = signal.and_then(|signal| shell.obey(signal)) {
        log::info!("{name}: ending");
        shell.stop.request();
    }
    let has_pending = |shell: &Shell| shell.listener.as_ref().is_some_and(|it| it.has_pending(now));
    while has_pending(shell) && turn.admits("accept") {
        accept_one(shell, turn.arrival());
    }
}

fn accept_one(shell: &mut Shell, now: RealTime) {
    let Some(listener) = &mut shell.listener else {
        return;
    };
    // One more may come, for which the engine closes another.
    if shell.conns.len() > shell.connections_room {
        listener.back_off("the free descriptors are reserved for the journal and saves", now);
        return;
    }
    let Some((socket, peer)) = listener.accept(now) else {
        return;
    };
    match shell.conns.open(socket, shell.wait.registry()) {
        Ok(conn) => {
            log::debug!("connection {conn} from {peer}");
            shell.engine.handle(Input::Opened { conn, peer }, now);
            // Right away: it may close another connection to make room.
            carry_out_outputs(shell, || {});
        }
        Err(error) => log::warn!("a connection from {peer} cannot be watched and is closed: {error}"),
    }
}

/// Reads what is ready, fresh data first (`ReadTurns`). Input is stamped after the read, or it could be carried out before it
/// was sent.
fn read(shell: &mut Shell, turn: &mut Turn<'_>) {
    while shell.conns.has_to_read() && turn.admits_short("read") {
        match shell.conns.read_next(&mut shell.read_buffer) {
            None => {}
            Some((conn, ReadOutcome::Bytes(bytes))) => {
                shell.engine.handle(Input::Bytes { conn, bytes }, turn.arrival());
                // Right away, or a throttled connection would be read again in this pass.
                carry_out_outputs(shell, || {});
            }
            Some((conn, ReadOutcome::Ended)) => close_lost(shell, conn, turn.arrival()),
        }
    }
}

/// Carries out lines of operators on connections.
fn operators(shell: &mut Shell, turn: &mut Turn<'_>) {
    let is_due = |shell: &Shell| shell.engine.operator_line_at(shell.now) == Some(shell.now);
    while is_due(shell) && turn.admits("operator's line") {
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
        let outcome = shell.run_timer(&mut timer.callback);
        shell.now = now;
        shell.timers.finish(timer, outcome, now, turn.item_took());
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
    carry_out_outputs(shell, || {
        turn.admits("output");
    });
    if let Some(report_shown) = &shell.report_shown {
        report_shown(&shell.engine);
    }
    if std::mem::take(&mut shell.has_won) {
        shell.storage.save_soon();
        if shell.ends_at_win {
            end_later(shell);
        }
    }
}

/// Carries out all outputs of the engine. At most two for each connection and one for the game can wait, each a system call
/// at most, so this needs no budget.
fn carry_out_outputs(shell: &mut Shell, mut count: impl FnMut()) {
    while let Some(output) = shell.engine.poll_output() {
        count();
        match output {
            Output::ShutdownWrite { conn } => shell.conns.shut_down_write(conn),
            Output::Close { conn, reason } => {
                log::trace!("connection {conn} is closed: {}", reason.name());
                close(shell, conn);
            }
            Output::Reading { conn, is_wanted } => shell.conns.set_reading(conn, is_wanted),
            Output::Won { team } => {
                let name = shell.engine.config().game.team_name(team);
                match team {
                    TeamId::DRAW => log::info!("the match is a draw"),
                    _ => log::info!("team {name} has won"),
                }
                shell.has_won = true;
            }
        }
    }
}

/// Closes a connection that is lost, and tells the engine.
fn close_lost(shell: &mut Shell, conn: ConnId, now: RealTime) {
    log::trace!("connection {conn} is gone");
    shell.engine.handle(Input::Closed { conn }, now);
    close(shell, conn);
}

fn close(shell: &mut Shell, conn: ConnId) {
    shell.conns.close(conn, shell.wait.registry());
    if let Some(listener) = &mut shell.listener {
        listener.room_was_made();
    }
}

/// Ends the loop once all peers were sent the winner: viewers with the next tick, spectators after their delay.
fn end_later(shell: &mut Shell) {
    let span = AFTER_WIN_SPAN + shell.engine.config().spectator_delay;
    log::info!(
        "the match is over: the server ends in {} s",
        span.as_nanos() / NANOS
    );
    shell.once(AFTER_WIN, span, |shell| {
        shell.stop.request();
        Ok(Ran::Done)
    });
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
    // Those that take bytes again are queued, each among those of its kind.
    while let Some(conn) = shell.conns.next_to_write() {
        shell.engine.write_soon(conn);
    }
    let mut is_cut_short = false;
    while let Some(conn) = shell.engine.next_dirty_answer() {
        if !flush_one(shell, conn, || turn.admits_short("write")) {
            is_cut_short = true;
            break;
        }
    }
    // A connection whose outbox is empty may be closed now, without another pass.
    carry_out_outputs(shell, || {});
    shell.unwritten = shell.conns.blocked() + usize::from(is_cut_short);
}

/// Writes to viewers, and to players what other players cause: thousands may watch, and a thousand hear one broadcast. After
/// all replies, with a budget of its own.
fn messages(shell: &mut Shell, turn: &mut Turn<'_>) {
    shell.has_messages_left = false;
    while let Some(conn) = shell.engine.next_dirty_message() {
        if !flush_one(shell, conn, || turn.admits("message")) {
            shell.has_messages_left = true;
            break;
        }
    }
    carry_out_outputs(shell, || {});
}

/// Flushes one outbox, a piece a write, each of which `admits` must allow. What is left comes first of its kind next time.
/// Answers whether all was written that can be.
fn flush_one(shell: &mut Shell, conn: ConnId, mut admits: impl FnMut() -> bool) -> bool {
    let now = shell.now;
    loop {
        if shell.engine.unsent(conn).is_empty() {
            shell.conns.all_written(conn);
            return true;
        }
        if !admits() {
            shell.engine.write_later(conn);
            return false;
        }
        // The journal stage has written most of it, but not what followed from a connection lost since, nor what a viewer that
        // reads again is behind with.
        shell.storage.write_ahead(&mut shell.engine, now);
        match shell.conns.write(conn, shell.engine.unsent(conn)) {
            WriteOutcome::Taken(count) => shell.engine.sent(conn, count),
            WriteOutcome::Blocked => return true,
            WriteOutcome::Failed => {
                close_lost(shell, conn, now);
                return true;
            }
        }
    }
}

/// Watches for write readiness only where bytes wait. Input may wait for the next deadline unless a player's command is
/// awaited, and dense deadlines together (docs/decisions/0106).
fn watch(shell: &mut Shell, _turn: &mut Turn<'_>) {
    shell.wait.policy = WaitPolicy {
        input_may_wait: !shell.engine.awaits_command(),
        spacing: spacing_at(shell.engine.game_clock().frequency()),
        game_due: shell.engine.game_due(),
        is_precise: shell.is_precise,
    };
    let now = shell.now;
    for conn in shell.conns.update_watch(shell.wait.registry()) {
        close_lost(shell, conn, now);
    }
}
