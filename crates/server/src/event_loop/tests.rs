//! The loop as a whole: its ends, its tasks and jobs, and the time at which it handles input.

use super::*;

use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::net::TcpStream;
use std::rc::Rc;

use trantor_time::ManualClock;

use crate::console;
use crate::options::Options;
use crate::shell::tasks::TaskError;
use crate::store::SystemFiles;

fn event_loop(options: Options) -> EventLoop {
    let options = Options { port: 0, ..options };
    EventLoop::new(TcpListener::bind(options.listen_address()).unwrap(), |now| {
        Ok(Engine::new(options.engine_config(1), now))
    })
    .unwrap()
}

/// What a line of the terminal's console is answered.
fn say(event_loop: &mut EventLoop, line: &str) -> console::Answer {
    let (send, answer) = std::sync::mpsc::sync_channel(1);
    let reply = Box::new(move |_: &mut Shell, answer| send.send(answer).unwrap());
    console::carry_out(&mut event_loop.shell, None, line, reply);
    answer.recv().unwrap()
}

#[test]
fn a_save_that_is_not_begun_is_not_said_to_be() {
    let directory = std::env::temp_dir().join(format!("trantor-save-twice-{}", std::process::id()));
    let mut event_loop = event_loop(Options::default());
    let say = |event_loop: &mut EventLoop| say(event_loop, "save");
    assert!(say(&mut event_loop).unwrap_err().contains("--save DIR"));
    let autosave = Autosave::new(SystemFiles::shared(), &directory, 3).unwrap();
    event_loop.save(autosave, RealSpan::from_secs(60)).unwrap();
    assert!(say(&mut event_loop).unwrap().starts_with("saving in "));
    let refused = say(&mut event_loop).unwrap_err();
    assert!(refused.contains("still being written"), "{refused}");
    drop(event_loop);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_pass_allocates_nothing() {
    let mut event_loop = event_loop(Options::default());
    let waker = event_loop.shell.wait.waker();
    let mut pass = || {
        waker.wake();
        assert_eq!(event_loop.pass(), None);
    };
    (0..10).for_each(|_| pass());
    assert_eq!(
        allocation_counter::measure(|| (0..100).for_each(|_| pass())).count_total,
        0
    );
}

#[test]
fn a_stopping_loop_runs_the_tasks_it_has_accepted_and_refuses_others() {
    let event_loop = event_loop(Options::default());
    let (tasks, stop) = (event_loop.tasks(), event_loop.stop_signal());
    let (outcomes, ran) = std::sync::mpsc::sync_channel(2);
    let (other, later_outcomes) = (tasks.clone(), outcomes.clone());
    let first = move |_: &mut Shell| outcomes.send(other.send("late", |_| {})).unwrap();
    tasks.send("first", first).unwrap();
    tasks
        .send("second", move |_| later_outcomes.send(Ok(())).unwrap())
        .unwrap();
    stop.request();
    assert_eq!(event_loop.run().why, EndReason::Stopped);
    let outcomes: Vec<_> = ran.iter().collect();
    assert_eq!(outcomes, [Err(TaskError::Closed), Ok(())]);
    assert_eq!(tasks.send("after the end", |_| {}), Err(TaskError::Closed));
}

#[test]
fn the_queue_of_tasks_is_bounded() {
    let event_loop = event_loop(Options::default());
    let tasks = event_loop.tasks();
    let refusal = (0..100_000).find_map(|_| tasks.send("one of many", |_| {}).err());
    assert_eq!(refusal, Some(TaskError::Full));
}

#[test]
fn a_panic_ends_the_loop_and_is_reported_with_its_place() {
    let event_loop = event_loop(Options::default());
    event_loop.tasks().send("broken", |_| panic!("no way")).unwrap();
    match event_loop.run().why {
        EndReason::Failed(fault) => assert_eq!(fault.to_string(), "tasks: broken failed: no way"),
        why => panic!("{why:?}"),
    }
}

#[test]
fn there_is_one_disk_job_of_a_name_and_its_failure_comes_to_the_loop() {
    let mut event_loop = event_loop(Options::default());
    let jobs = &mut event_loop.shell.jobs;
    jobs.start_disk().unwrap();
    let (report, outcomes) = std::sync::mpsc::sync_channel(2);
    let done = move |_: &mut Shell, outcome| report.send(outcome).unwrap();
    let broken = || -> Result<(), String> { panic!("no disk") };
    jobs.submit("sync", broken, done.clone()).unwrap();
    assert!(jobs.submit("sync", broken, done.clone()).is_err());
    jobs.submit("save", || Ok::<_, String>(()), done).unwrap();
    while event_loop.shell.jobs.in_flight() > 0 {
        event_loop.pass();
    }
    assert_eq!(
        outcomes.try_iter().collect::<Vec<_>>(),
        [Err("no disk".to_owned()), Ok(())]
    );
    let stats = event_loop.shell.jobs.stats();
    let counts = ["save", "sync"].map(|name| (stats[name].runs, stats[name].failed, stats[name].refused));
    assert_eq!(counts, [(1, 0, 0), (1, 1, 1)]);
}

/// A loop around an engine on a manual clock, whose disk jobs the test runs.
fn manual_loop() -> (EventLoop, ManualClock) {
    let options = Options {
        port: 0,
        ..Options::default()
    };
    let listener = Listener::new(TcpListener::bind(options.listen_address()).unwrap()).unwrap();
    let (address, clock) = (listener.address(), ManualClock::default());
    let engine = Engine::new(options.engine_config(1), clock.now());
    let shell = Shell::new(engine, listener, clock.now()).unwrap();
    let mut event_loop = EventLoop::of(shell, Box::new(clock.clone()), address);
    event_loop.shell.jobs.simulate();
    (event_loop, clock)
}

/// The disk refuses one save of four, and another timer panics each time.
#[test]
fn timers_that_fail_are_counted_and_run_again_and_operators_see_and_change_them() {
    let directory = std::env::temp_dir().join(format!("trantor-timers-{}", std::process::id()));
    let _none_left = std::fs::remove_dir_all(&directory);
    let (mut event_loop, clock) = manual_loop();
    let autosave = Autosave::new(SystemFiles::shared(), &directory, 3).unwrap();
    event_loop.save(autosave, RealSpan::from_secs(60)).unwrap();
    event_loop
        .shell
        .every("broken", RealSpan::from_secs(1), |_| panic!("no way"));
    say(&mut event_loop, "timer every db_save 3s").unwrap();
    for second in 1..=12 {
        match second {
            4 => std::fs::remove_dir_all(&directory).unwrap(),
            8 => std::fs::create_dir(&directory).unwrap(),
            _ => {}
        }
        // A state that is on the disk is not written again.
        say(&mut event_loop, &format!("settile food {second} 0 0")).unwrap();
        clock.advance(RealSpan::from_secs(1));
        event_loop.shell.now = clock.now();
        assert_eq!(event_loop.run_pass(), None, "at second {second}");
        if let Some((_, work)) = event_loop.take_disk_job() {
            work();
            assert_eq!(event_loop.run_pass(), None);
        }
    }
    let list = "\
        name     period  next      runs  skipped  longest  late     errors\n\
        db_save  3s      in 3.0 s  4     0        0.00 ms  0.00 ms  1\n\
        broken   1s      in 1.0 s  12    0        0.00 ms  0.00 ms  12\n";
    assert_eq!(say(&mut event_loop, "timer list").as_deref(), Ok(list));
    assert_eq!(event_loop.timer_panics(), 12);
    let metrics = say(&mut event_loop, "metrics timer_").unwrap();
    for line in [
        "trantor_timer_runs_total{timer=\"db_save\"} 4.0",
        "trantor_timer_skipped_total{timer=\"db_save\"} 0.0",
        "trantor_timer_duration_max_seconds{timer=\"db_save\"} 0.0",
        "trantor_timer_lateness_max_seconds{timer=\"db_save\"} 0.0",
        "trantor_timer_errors_total{timer=\"broken\"} 12.0",
    ] {
        assert!(
            metrics.lines().any(|other| other == line),
            "no {line} in:\n{metrics}"
        );
    }
    let left = say(&mut event_loop, "timer remove broken").unwrap();
    assert!(left.contains("broken   1s      removed"), "{left}");
    for (line, answer) in [
        (
            "timer",
            "type: timer list, or timer remove NAME, or timer every NAME PERIOD",
        ),
        (
            "timer remove dbsave",
            "there is no timer \"dbsave\"; did you mean db_save?",
        ),
        (
            "timer every db_save 1",
            "\"1\" is not a time from 100ms to 24h, such as 60s or 5m",
        ),
        ("timer remove watchdog", "watchdog tells the service manager"),
        ("metrics nothing", "no metric has \"nothing\" in its name"),
    ] {
        let refused = say(&mut event_loop, line).unwrap_err();
        assert!(refused.starts_with(answer), "{line}: {refused}");
    }
    drop(event_loop);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn the_console_shows_the_loops_own_figures_by_their_names() {
    let (mut event_loop, clock) = manual_loop();
    for _ in 0..4 {
        clock.advance(RealSpan::from_secs(1));
        event_loop.shell.now = clock.now();
        assert_eq!(event_loop.run_pass(), None);
    }
    let figures = say(&mut event_loop, "metrics").unwrap();
    let names: Vec<_> = figures
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let expected = [
        "uptime_seconds",
        "loop_passes_total",
        "loop_utilization_ratio",
        "loop_pass_average_seconds",
        "loop_pass_max_seconds",
        "loop_pass_work_average",
        "loop_idle_sleeps_total",
        "outbound_depth_messages",
        "outbound_messages_total",
    ];
    assert_eq!(names, expected.map(|name| format!("trantor_{name}")));
    for line in ["trantor_uptime_seconds 4.0", "trantor_loop_passes_total 4.0"] {
        assert!(figures.lines().any(|other| other == line), "{figures}");
    }
}

/// Drawing a map takes milliseconds, and an operator may ask for hundreds at once.
#[test]
fn an_operator_that_asks_for_much_at_once_gets_it_in_many_passes() {
    let mut options = Options {
        control: ControlAccess::Loopback,
        ..Options::default()
    };
    (options.game.width, options.game.height) = (200, 200);
    let mut event_loop = event_loop(options);
    let mut peer = TcpStream::connect(event_loop.address()).unwrap();
    let lines = format!("ADMIN\n{}tick rate 200\n", "map\n".repeat(100));
    peer.write_all(lines.as_bytes()).unwrap();
    let now = event_loop.clock.now();
    loop {
        event_loop.pass();
        let engine = &mut event_loop.shell.engine;
        if engine.operator_line_at(now).is_some() {
            break;
        }
        assert_eq!(engine.stats(now).counters.admin_requests, 0, "all in one pass");
    }
}

/// A manual clock that moves between any two readings, by so little that no agent starves in all passes together, and an
/// agent's peer that speaks within a pass.
#[derive(Clone)]
struct MovingClock {
    clock: ManualClock,
    peer: Rc<RefCell<TcpStream>>,
    /// Readings until it speaks, while it is yet to speak.
    speaks_in: Rc<Cell<Option<u32>>>,
    spoke_at: Rc<Cell<RealTime>>,
}

impl Clock for MovingClock {
    fn now(&self) -> RealTime {
        self.clock.advance(RealSpan::from_micros(1));
        match self.speaks_in.get() {
            Some(0) => {
                self.spoke_at.set(self.clock.now());
                self.peer.borrow_mut().write_all(b"ght\n").unwrap();
                self.speaks_in.set(None);
            }
            more => self.speaks_in.set(more.map(|readings| readings - 1)),
        }
        self.clock.now()
    }
}

/// Passes until `is_reached`, without sleeping; everything is on loopback and comes at once, or soon. The peer speaks in the
/// first pass if `speaks`: at the second reading, which is not that of the pass.
fn pass_until(
    event_loop: &mut EventLoop,
    clock: &MovingClock,
    mut speaks: bool,
    is_reached: impl Fn(&Engine) -> bool,
) {
    for _ in 0..100_000 {
        if is_reached(&event_loop.shell.engine) {
            return;
        }
        event_loop.shell.wait.wait(Some(RealTime::ZERO));
        if std::mem::take(&mut speaks) {
            clock.speaks_in.set(Some(1));
        }
        event_loop.shell.now = clock.now();
        assert_eq!(event_loop.run_stages(), None);
    }
    panic!("it is never reached");
}

/// The peer sends the end of its command when the pass has begun, and the read stage finds it.
#[test]
fn what_is_read_is_stamped_after_it_was_sent() {
    let options = Options {
        port: 0,
        ..Options::default()
    };
    let listener = Listener::new(TcpListener::bind(options.listen_address()).unwrap()).unwrap();
    let address = listener.address();
    let clock = MovingClock {
        clock: ManualClock::default(),
        peer: Rc::new(RefCell::new(TcpStream::connect(address).unwrap())),
        speaks_in: Rc::default(),
        spoke_at: Rc::default(),
    };
    let now = clock.clock.now();
    let engine = Engine::new(options.engine_config(1), now);
    let shell = Shell::new(engine, listener, now).unwrap();
    let mut event_loop = EventLoop::of(shell, Box::new(clock.clone()), address);
    let team = options.engine_config(1).game.teams[0].clone();
    let say = |text: &str| clock.peer.borrow_mut().write_all(text.as_bytes()).unwrap();
    say(&format!("{team}\n"));
    pass_until(&mut event_loop, &clock, false, |engine| {
        engine.game().world().agents().len() == 1
    });
    // The system reports the beginning before the pass; the rest comes within it.
    say("Ri");
    let started = |engine: &Engine| {
        let agent = engine.game().world().agents().next()?;
        agent.action().map(|action| action.start)
    };
    pass_until(&mut event_loop, &clock, true, |engine| started(engine).is_some());
    let engine = &event_loop.shell.engine;
    let spoke_at = engine.game_clock().now(clock.spoke_at.get());
    assert!(started(engine).unwrap() >= spoke_at);
}
