//! Systems on a manual clock: exact counts, no sleeping.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use trantor_time::{Clock, ManualClock};

use super::*;
use crate::fault::{CallbackResult, FaultPolicy};
use crate::listeners::{TimerManager, TimerServer};
use crate::publish::Published;
use crate::service::EndReason;
use crate::wait::ManualWait;

/// Calls by system, in order, with what each was told.
#[derive(Debug, Default)]
struct World {
    order: Vec<&'static str>,
    calls: BTreeMap<&'static str, u64>,
    elapsed: BTreeMap<&'static str, RealSpan>,
}

impl World {
    fn note(&mut self, name: &'static str, call: &SystemCall<'_>) {
        self.order.push(name);
        *self.calls.entry(name).or_default() += 1;
        *self.elapsed.entry(name).or_insert(RealSpan::ZERO) += call.elapsed;
    }
}

/// A system that notes its calls and takes `cost` for each.
fn noting(
    name: &'static str,
    clock: &ManualClock,
    cost: RealSpan,
) -> impl FnMut(&mut World, &mut SystemCall<'_>) -> CallbackResult + 'static {
    let clock = clock.clone();
    move |world, call| {
        world.note(name, call);
        clock.advance(cost);
        Ok(())
    }
}

/// Drives systems as an exact loop does: runs what is due, then moves the clock to the next due instant.
fn run_until(systems: &mut Systems<World>, world: &mut World, clock: &ManualClock, end: RealTime) {
    let mut faults = Faults::new(FaultPolicy::Contain);
    while clock.now() < end {
        let now = clock.now();
        systems.run_due(world, now, &mut || clock.now(), &mut faults);
        match systems.next_due(now) {
            // The least that a pass takes, so that uncapped systems do not stop time.
            Some(due) if due <= clock.now() => clock.advance(micros(1)),
            Some(due) => clock.advance_to(due.min(end)),
            None => clock.advance_to(end),
        }
    }
    assert_eq!(faults.first(), None);
}

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn micros(micros: i64) -> RealSpan {
    RealSpan::from_micros(micros)
}

fn at(millis: i64) -> RealTime {
    RealTime::ZERO + ms(millis)
}

fn spec(name: &'static str, per_second: f64) -> SystemSpec {
    SystemSpec::at(name, per_second).unwrap()
}

#[test]
fn systems_run_in_their_declared_order_and_requested_timers_last() {
    let clock = ManualClock::default();
    let mut systems = Systems::new(clock.now());
    for (name, _) in STANDARD {
        systems = systems.add(SystemSpec::standard(name), noting(name, &clock, RealSpan::ZERO));
    }
    let (server, mut manager) = (TimerServer::new(8), TimerManager::new());
    manager.register(&server);
    server.request("timer", RealSpan::ZERO, clock.now()).unwrap();
    let wait = ManualWait::new(&clock);
    let systems = systems.fire_requested(manager, |world: &mut World, _, listener| {
        world.order.push(listener);
        Ok(())
    });
    let mut a_loop = SystemLoop::new("test", World::default(), systems, clock.clone(), wait);
    a_loop.start().unwrap();
    assert_eq!(a_loop.pass(), None);
    let order = &a_loop.inner.service().state.state.order;
    assert_eq!(
        *order,
        [
            "input",
            "network",
            "ai",
            "world",
            "sound",
            "graphics",
            "statistics",
            "timer"
        ]
    );
}

#[test]
fn negative_is_uncapped_and_zero_is_refused() {
    assert!(SystemSpec::at("x", 0.0).is_err());
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(spec("uncapped", -1.0), noting("uncapped", &clock, micros(9)))
        .add(spec("disabled", 10.0), noting("disabled", &clock, RealSpan::ZERO));
    systems.control().set_enabled("disabled", false);
    run_until(&mut systems, &mut world, &clock, at(10));
    assert_eq!(world.calls["uncapped"], 1_000, "once in each pass of 10 us");
    assert!(!world.calls.contains_key("disabled"));
}

#[test]
fn thirty_a_second_for_a_minute() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems =
        Systems::new(clock.now()).add(spec("world", 30.0), noting("world", &clock, micros(100)));
    run_until(&mut systems, &mut world, &clock, at(60_000));
    assert_eq!(world.calls["world"], 1_800);
    let missing = ms(60_000) - world.elapsed["world"];
    assert!(
        missing < ms(34),
        "all elapsed times together are the time of the last call"
    );
}

#[test]
fn half_a_call_a_second() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems =
        Systems::new(clock.now()).add(spec("slow", 0.5), noting("slow", &clock, RealSpan::ZERO));
    run_until(&mut systems, &mut world, &clock, at(10_000));
    assert_eq!(world.calls["slow"], 5);
}

#[test]
fn one_system_s_rate_does_not_beat_against_another_s() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(spec("world", 30.0), noting("world", &clock, RealSpan::ZERO))
        .add(spec("graphics", 60.0), noting("graphics", &clock, ms(2)));
    run_until(&mut systems, &mut world, &clock, at(60_000));
    assert!(
        world.calls["world"] as f64 >= 29.5 * 60.0,
        "{} calls in a minute",
        world.calls["world"]
    );
}

#[test]
fn on_a_grid_an_uncapped_blocking_system_costs_no_calls() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(
            spec("world", 30.0).on_grid(),
            noting("world", &clock, RealSpan::ZERO),
        )
        .add(spec("graphics", -1.0), noting("graphics", &clock, micros(16_700)));
    run_until(&mut systems, &mut world, &clock, at(60_000));
    let per_second = world.calls["world"] as f64 / 60.0;
    assert!((per_second - 30.0).abs() < 0.05, "{per_second} a second");
}

#[test]
fn the_elapsed_times_add_up_to_the_time_passed() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(spec("a", 7.0), noting("a", &clock, micros(333)))
        .add(spec("b", -1.0), noting("b", &clock, micros(1_017)));
    run_until(&mut systems, &mut world, &clock, at(1_000));
    let last = RealTime::ZERO + world.elapsed["b"];
    assert!(clock.now() - last <= micros(1_400), "up to the last call");
}

#[test]
fn the_first_call_is_told_zero_or_a_declared_value() {
    let clock = ManualClock::starting_at(at(1_000_000));
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(spec("zero", 10.0), noting("zero", &clock, RealSpan::ZERO))
        .add(
            spec("declared", 10.0).first_elapsed(ms(16)),
            noting("declared", &clock, RealSpan::ZERO),
        );
    run_until(&mut systems, &mut world, &clock, at(1_000_000) + micros(1));
    assert_eq!(
        (world.elapsed["zero"], world.elapsed["declared"]),
        (RealSpan::ZERO, ms(16))
    );
}

#[test]
fn a_rate_can_be_changed_from_inside_a_system() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(spec("tuner", 1.0), |_, call| {
            if call.now >= at(1_000) {
                assert!(call.control.set_pace("tuned", Pace::from_setting(100.0)?));
                assert!(!call.control.set_pace("no such system", Pace::Uncapped));
            }
            Ok(())
        })
        .add(spec("tuned", 10.0), noting("tuned", &clock, RealSpan::ZERO));
    run_until(&mut systems, &mut world, &clock, at(1_000));
    assert_eq!(world.calls["tuned"], 10);
    run_until(&mut systems, &mut world, &clock, at(2_000));
    assert_eq!(world.calls["tuned"], 110, "no burst, and nothing lost");
}

#[test]
fn a_system_can_be_asked_to_run_once_or_be_exempt() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut asked = false;
    let mut systems = Systems::new(clock.now())
        .add(spec("ai", 1.0), noting("ai", &clock, RealSpan::ZERO))
        .add(spec("graphics", 10.0), move |_, call| {
            if call.now >= at(300) && !std::mem::replace(&mut asked, true) {
                call.control.run_once("ai");
            }
            Ok(())
        });
    run_until(&mut systems, &mut world, &clock, at(1_000));
    assert_eq!(
        world.calls["ai"], 2,
        "at the start and in the pass after it was asked for"
    );
    systems.control().set_exempt("ai", true);
    world.calls.clear();
    // Every pass: those of graphics, and in between as often as passes can be.
    let (now, mut faults) = (clock.now(), Faults::default());
    for _ in 0..5 {
        systems.run_due(&mut world, now, &mut || now, &mut faults);
    }
    assert_eq!(world.calls["ai"], 5);
}

#[test]
fn no_two_frames_of_a_moving_body_are_alike() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let drawn = Rc::new(RefCell::new(Vec::new()));
    let frames = Rc::clone(&drawn);
    let updates = Rc::new(RefCell::new(0_i64));
    let seen = Rc::clone(&updates);
    let mut systems = Systems::new(clock.now())
        .add(spec("world", 30.0), move |_, _| {
            *updates.borrow_mut() += 1;
            Ok(())
        })
        .add(spec("graphics", 120.0), move |_, call| {
            let phase = call.phase_of("world").ok_or("there is a world")?;
            // A body that moves one step in each world update, drawn where it is in between.
            frames
                .borrow_mut()
                .push(*seen.borrow() as f64 - 1.0 + phase.fraction);
            Ok(())
        });
    run_until(&mut systems, &mut world, &clock, at(2_000));
    let drawn = drawn.borrow();
    assert!(drawn.len() >= 239);
    assert!(
        drawn.windows(2).all(|pair| pair[1] > pair[0]),
        "each frame shows it further on"
    );
}

#[test]
fn with_nothing_uncapped_the_loop_sleeps_and_every_pass_has_work() {
    let clock = ManualClock::default();
    let systems = Systems::new(clock.now())
        .add(spec("world", 30.0), noting("world", &clock, RealSpan::ZERO))
        .add(spec("graphics", 60.0), noting("graphics", &clock, RealSpan::ZERO));
    let wait = ManualWait::new(&clock);
    let mut a_loop = SystemLoop::new("test", World::default(), systems, clock.clone(), wait.clone());
    a_loop.start().unwrap();
    while clock.now() < at(10_000) {
        assert_eq!(a_loop.pass(), None);
    }
    let simulation = &mut a_loop.inner.service().state;
    assert_eq!(simulation.control().idle_passes(), 0);
    let calls = simulation.state.calls["graphics"];
    assert!((600..=601).contains(&calls), "{calls}");
    let counts = wait.counts();
    assert!(
        counts.slept <= 901 && counts.passed == 1,
        "{counts:?}: one wake-up for each distinct instant"
    );
}

#[test]
fn speed_applies_to_all_simulated_time_alike() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let told = Rc::new(RefCell::new(RealSpan::ZERO));
    let sum = Rc::clone(&told);
    let mut systems = Systems::new(clock.now()).add(spec("world", 30.0), move |_, call| {
        *sum.borrow_mut() += call.simulated;
        Ok(())
    });
    run_until(&mut systems, &mut world, &clock, at(1_000));
    systems.control().set_speed(clock.now(), 2_500).unwrap();
    run_until(&mut systems, &mut world, &clock, at(2_000));
    systems.control().set_paused(clock.now(), true);
    run_until(&mut systems, &mut world, &clock, at(3_000));
    systems.control().set_paused(clock.now(), false);
    run_until(&mut systems, &mut world, &clock, at(4_000));
    assert_eq!(
        systems.control().simulated(clock.now()),
        ms(1_000 + 2_500 + 2_500)
    );
    let behind = ms(6_000) - *told.borrow();
    assert!(
        behind >= RealSpan::ZERO && behind < ms(84),
        "up to the last call: {behind:?}"
    );
    assert!(systems.control().set_speed(clock.now(), 0).is_err());
}

#[test]
fn a_system_that_overruns_is_counted_and_the_others_keep_their_rates() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(spec("heavy", 10.0).budget(ms(5)), noting("heavy", &clock, ms(8)))
        .add(spec("light", 50.0).on_grid(), noting("light", &clock, micros(10)));
    run_until(&mut systems, &mut world, &clock, at(10_000));
    let heavy = systems.control().stats_of("heavy").unwrap();
    let light = systems.control().stats_of("light").unwrap();
    assert_eq!(heavy.overruns, heavy.calls);
    assert_eq!(
        (heavy.time_ns_max, heavy.time_ns),
        (8_000_000, heavy.calls as i64 * 8_000_000)
    );
    assert_eq!(light.overruns, 0);
    assert!((499..=501).contains(&light.calls), "{light:?}");
}

#[test]
fn shutdown_from_inside_a_system_takes_effect_after_the_pass() {
    let clock = ManualClock::default();
    let systems = Systems::new(clock.now())
        .add(spec("first", -1.0), |_: &mut World, call| {
            call.control.request_shutdown();
            Ok(())
        })
        .add(spec("second", -1.0), noting("second", &clock, RealSpan::ZERO));
    let a_loop = SystemLoop::new(
        "test",
        World::default(),
        systems,
        clock.clone(),
        ManualWait::new(&clock),
    );
    let ended = a_loop.run().unwrap();
    assert_eq!(ended.why, EndReason::Stopped);
    assert!(ended.state.calls["second"] >= 1, "the pass was finished");
}

#[test]
fn graphics_and_input_start_first_and_a_failure_ends_the_program() {
    let clock = ManualClock::default();
    let started = Rc::new(RefCell::new(Vec::new()));
    let mut systems = Systems::new(clock.now());
    for name in ["network", "input", "world", "graphics", "sound"] {
        let started = Rc::clone(&started);
        let start = move |_: &mut World| {
            started.borrow_mut().push(name);
            if name == "world" {
                Err("no map".into())
            } else {
                Ok(())
            }
        };
        systems = systems.add_started(SystemSpec::standard(name), start, |_, _| {
            unreachable!("never run")
        });
    }
    let a_loop = SystemLoop::new(
        "test",
        World::default(),
        systems,
        clock.clone(),
        ManualWait::new(&clock),
    );
    let error = a_loop.run().unwrap_err();
    assert_eq!(error.to_string(), "world could not be started: no map");
    assert_eq!(*started.borrow(), ["graphics", "input", "network", "world"]);
}

#[test]
fn a_failing_system_is_contained_and_named() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(spec("broken", -1.0), |_, _| panic!("oh"))
        .add(spec("sound", -1.0), noting("sound", &clock, RealSpan::ZERO));
    let mut faults = Faults::new(FaultPolicy::Contain);
    let called = systems.run_due(&mut world, at(0), &mut || at(0), &mut faults);
    assert_eq!((called, world.calls["sound"]), (2, 1));
    assert_eq!(faults.first().unwrap().to_string(), "broken failed: oh");
}

#[test]
fn a_system_that_fails_in_each_call_is_called_less_and_less() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(spec("broken", -1.0), |_, _| panic!("oh"))
        .add(spec("sound", -1.0), noting("sound", &clock, RealSpan::ZERO));
    let mut faults = Faults::new(FaultPolicy::Contain);
    // Sixty frames a second, for a minute.
    let mut failed_at = Vec::new();
    for frame in 0..3_600 {
        let now = at(0) + RealSpan::from_micros(16_667 * frame);
        systems.run_due(&mut world, now, &mut || now, &mut faults);
        if faults.count() > failed_at.len() as u64 {
            failed_at.push(now);
        }
    }
    let waits: Vec<i64> = failed_at
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_nanos() / 100_000_000)
        .collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 100, 100, 100, 100]);
    assert_eq!(world.calls["sound"], 3_600, "the others keep their rates");
    let failing = systems.control().failing("broken").unwrap();
    assert_eq!((failing.failures, failing.message.as_str()), (12, "oh"));
    // Asleep in between, and not spinning until it may be called again.
    systems.control().set_enabled("sound", false);
    let next = systems.next_due(failed_at[11]).unwrap();
    assert_eq!(next, failed_at[11] + RETRY_AFTER_MAX);
}

#[test]
fn a_system_that_has_not_failed_for_long_begins_anew_with_a_short_wait() {
    let mut world = World::default();
    let mut systems = Systems::new(at(0)).add(spec("shaky", -1.0), |_, call| {
        // It fails twice at the beginning, and once much later.
        match call.now {
            now if now < at(150) || now == at(30_000) => Err("no".into()),
            _ => Ok(()),
        }
    });
    let mut faults = Faults::new(FaultPolicy::Contain);
    let mut run = |systems: &mut Systems<World>, millis| {
        systems.run_due(&mut world, at(millis), &mut || at(millis), &mut faults);
        systems.control().failing("shaky").map(|failing| failing.failures)
    };
    assert_eq!(run(&mut systems, 0), Some(1));
    assert_eq!(run(&mut systems, 100), Some(2));
    assert_eq!(run(&mut systems, 400), Some(2), "one good call is not enough");
    assert_eq!(run(&mut systems, 20_100), None);
    assert_eq!(run(&mut systems, 30_000), Some(1));
}

#[test]
fn the_loop_publishes_rates_of_systems_passes_and_frames() {
    let clock = ManualClock::default();
    let mut world = World::default();
    let mut systems = Systems::new(clock.now())
        .add(spec("world", 30.0), noting("world", &clock, RealSpan::ZERO))
        .add(spec("graphics", 60.0), |_, call| {
            // Every second call draws nothing: frames a second counts frames, not calls.
            let calls = call.control.stats_of("graphics").map_or(0, |stats| stats.calls);
            if calls % 2 == 0 {
                call.control.count_frame(call.now);
            }
            Ok(())
        });
    run_until(&mut systems, &mut world, &clock, at(2_000));
    let mut published = Published::new();
    systems.control().publish(&mut published, at(2_000));
    let near = |name: &str, expected: f64| {
        let value = published
            .get(name)
            .unwrap_or_else(|| panic!("{name} is published"));
        assert!(
            (value - expected).abs() <= 1.0,
            "{name} is {value}, not about {expected}"
        );
    };
    near("system.world.calls_per_second", 30.0);
    near("system.graphics.calls_per_second", 60.0);
    near("loop.frames_per_second", 30.0);
    near("loop.uptime_seconds", 2.0);
    near("loop.simulated_seconds", 2.0);
    near("loop.frames_count", 60.0);
}

#[test]
fn a_system_with_its_own_thread_returns_at_once_and_loses_no_time() {
    use std::sync::mpsc::sync_channel;
    let (go_on, may_go_on) = sync_channel::<()>(16);
    let (noted, notes) = sync_channel(16);
    let thread = OwnThread::start("own system", move |note| {
        noted.send(note).unwrap();
        may_go_on.recv().unwrap();
    })
    .unwrap();
    thread.call(ms(5));
    assert_eq!(
        notes.recv().unwrap(),
        Note {
            calls: 1,
            elapsed: ms(5)
        }
    );
    // It is at work; calls return nevertheless, and are told together.
    thread.call(ms(10));
    thread.call(ms(20));
    go_on.send(()).unwrap();
    let both = Note {
        calls: 2,
        elapsed: ms(30),
    };
    assert_eq!(notes.recv().unwrap(), both);
    go_on.send(()).unwrap();
    drop(thread);
    assert!(notes.recv().is_err(), "its thread has ended");
}
