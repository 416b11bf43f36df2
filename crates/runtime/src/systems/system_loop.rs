//! The loop of a simulation: posts, then the systems that are due and the timers requested of them.
//!
//! It is a service loop with these stages. It sleeps until the next system is due, and not at all while one is
//! uncapped.

use trantor_time::{Clock, RealTime};

use crate::life::StopSignal;
use crate::metrics::loop_meter::LoopReader;
use crate::metrics::{Counter, Gauge, Meter, MeterBuilder};
use crate::posts::Poster;
use crate::service::{
    Ended, POSTED, Service, ServiceBuilder, ServiceLoop, ServiceSettings, Stage, StageTurn, TIMERS,
};
use crate::stages::Budget;
use crate::wait::Wait;

use super::{SystemControl, SystemNotStarted, Systems};

/// A simulation loop. Only running it, and asking it to stop, are open to its users: its stages cannot be
/// called from outside.
///
/// ```compile_fail,E0624
/// # use trantor_runtime::{Parker, RealClock, systems::{SystemLoop, Systems}};
/// # use trantor_time::Clock;
/// # let clock = RealClock::new();
/// # let systems = Systems::<()>::new(clock.now());
/// let mut simulation = SystemLoop::new("mine", (), systems, clock, Parker::new());
/// simulation.start();
/// ```
pub struct SystemLoop<S: 'static, C, W> {
    pub(super) inner: ServiceLoop<Simulation<S>, C, W>,
}

/// The state of a simulation loop: the program's, and its systems.
pub struct Simulation<S: 'static> {
    /// The program's state.
    pub state: S,
    systems: Systems<S>,
}

impl<S> Simulation<S> {
    /// What posted actions may change and see of the systems.
    pub fn control(&mut self) -> &mut SystemControl {
        self.systems.control()
    }
}

impl<S: 'static, C: Clock, W: Wait> SystemLoop<S, C, W> {
    /// A loop called `name` over `state`.
    pub fn new(name: &'static str, state: S, systems: Systems<S>, clock: C, wait: W) -> Self {
        let names: Vec<_> = systems.control.names().collect();
        let simulation = Simulation { state, systems };
        let mut builder = ServiceBuilder::new(name, ServiceSettings::default(), simulation, clock, wait);
        let metrics = SystemMetrics::declare_all(&names, builder.metrics());
        let inner = builder
            .posts(POSTED)
            .stage("systems", Budget::UNLIMITED, DueSystems { metrics })
            .timers(TIMERS)
            .build();
        Self { inner }
    }

    /// Starts the systems, runs until shutdown is requested, and gives the state back.
    ///
    /// # Errors
    /// If a system cannot be started; none has run then.
    pub fn run(mut self) -> Result<Ended<S>, SystemNotStarted> {
        self.start()?;
        let ended = self.inner.run();
        Ok(Ended {
            state: ended.state.state,
            why: ended.why,
        })
    }

    /// A handle with which any thread asks the loop to stop, after its present pass.
    pub fn stop_signal(&self) -> StopSignal {
        self.inner.stop_signal()
    }

    /// A handle with which any thread posts actions to the loop: they may change rates, speed and state.
    pub fn poster(&mut self) -> Poster<Service<Simulation<S>>> {
        self.inner.service().poster()
    }

    /// A source of the loop's metrics.
    pub fn metrics(&self) -> LoopReader {
        self.inner.metrics()
    }

    pub(super) fn start(&mut self) -> Result<(), SystemNotStarted> {
        let simulation = &mut self.inner.service().state;
        simulation.systems.start(&mut simulation.state)
    }

    #[cfg(test)]
    pub(super) fn pass(&mut self) -> Option<crate::service::EndReason> {
        self.inner.pass()
    }
}

/// Calls the systems that are due.
struct DueSystems {
    metrics: Vec<SystemMetrics>,
}

/// What is told of one system.
struct SystemMetrics {
    name: &'static str,
    calls: Counter,
    time: Counter,
    time_max: Gauge,
    overruns: Counter,
    missed: Counter,
}

impl SystemMetrics {
    fn declare_all(names: &[&'static str], metrics: &mut MeterBuilder) -> Vec<Self> {
        let one = |&name: &&'static str| Self {
            name,
            calls: metrics.counter(format!("system.{name}.calls_count")),
            time: metrics.counter(format!("system.{name}.time_ns")),
            time_max: metrics.gauge(format!("system.{name}.time_max_ns")),
            overruns: metrics.counter(format!("system.{name}.overruns_count")),
            missed: metrics.counter(format!("system.{name}.missed_count")),
        };
        names.iter().map(one).collect()
    }
}

impl<S: 'static> Stage<Simulation<S>> for DueSystems {
    fn run(&mut self, service: &mut Service<Simulation<S>>, turn: &mut StageTurn<'_>) {
        let now = service.now();
        if self.next_wake(service).is_some_and(|due| due <= now) {
            // One item, whatever it costs: that a pass is long is what uncapped systems ask for.
            turn.admits();
        }
        let (simulation, faults) = service.state_and_faults();
        simulation
            .systems
            .run_due(&mut simulation.state, now, &mut || turn.measured_now(), faults);
        if simulation.control().is_shutdown_requested() {
            service.stop_signal().request();
        }
    }

    fn next_wake(&self, service: &Service<Simulation<S>>) -> Option<RealTime> {
        service.state.systems.next_due(service.now())
    }

    fn measure(&self, service: &Service<Simulation<S>>, meter: &mut Meter) {
        for metrics in &self.metrics {
            let Some(stats) = service.state.systems.control.stats_of(metrics.name) else {
                continue;
            };
            meter.set_total(metrics.calls, stats.calls);
            meter.set_total(metrics.time, stats.time_ns.unsigned_abs());
            meter.set(metrics.time_max, stats.time_ns_max as f64);
            meter.set_total(metrics.overruns, stats.overruns);
            meter.set_total(metrics.missed, stats.missed);
        }
    }
}
