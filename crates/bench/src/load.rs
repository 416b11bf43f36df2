//! Loads of `trantor-load` on a server, and what they come to.

use anyhow::{Context, Result, bail};
use trantor_bot::load::cli::Options;
use trantor_bot::load::{Phase, Report, run_watched};
use trantor_cli::Parsed;
use trantor_runtime::RealClock;
use trantor_time::{Clock, RealSpan};

use crate::process::{Metrics, Server};

/// A load with these flags of `trantor-load`: by default agents of the teams `red` and `blue` with two commands in flight
/// each. With one, every command would wait for a round trip, which is not the server's latency.
pub(crate) fn load(server: &Server, flags: &str, duration: RealSpan) -> Result<Options> {
    let (host, port) = (server.address.ip(), server.address.port());
    let flags = format!("load -h {host} -p {port} --warm-up 1.5 {flags}");
    match trantor_cli::parse::<Options>(flags.split(' ').map(Into::into)) {
        Ok(Parsed::Run((options, _))) => Ok(Options { duration, ..options }),
        other => bail!("{flags}: {other:?}"),
    }
}

/// A server under load: figures of the clients, and of the server's process while they were measured.
pub(crate) struct Measured {
    pub(crate) report: Report,
    pub(crate) processor: RealSpan,
    /// Share of game time that the server gave up.
    pub(crate) slowed: f64,
    /// Memory of the server at the end, and its peak.
    pub(crate) memory_bytes: [u64; 2],
    /// At the end.
    pub(crate) metrics: Metrics,
}

impl Measured {
    /// Used share of a core, in percent.
    pub(crate) fn core_percent(&self) -> f64 {
        100.0 * self.processor.as_secs_f64() / self.report.measured_s
    }
}

/// Runs a load, and calls `watch` at each of its phases.
pub(crate) fn measure(server: &Server, load: &Options, mut watch: impl FnMut(Phase)) -> Result<Measured> {
    let clock = RealClock::new();
    let (mut warm, mut begun, mut ended) = (None, None, None);
    let report = run_watched(load, |phase| {
        watch(phase);
        match phase {
            Phase::Joined | Phase::Begun => {}
            Phase::Warm => warm = Some((clock.now(), server.metrics())),
            Phase::Measuring => begun = Some(server.process.processor()),
            Phase::Measured => ended = Some((server.process.processor(), clock.now(), server.metrics())),
        }
    })?;
    let missed = "a load that was measured went through all phases";
    let (from, before) = warm.context(missed)?;
    let (processor, to, metrics) = ended.context(missed)?;
    let slipped = |metrics: &Metrics| metrics.get("game_slipped_units_total");
    let metrics = metrics?;
    let units = to.since(from).as_secs_f64() * f64::from(report.frequency);
    Ok(Measured {
        slowed: (slipped(&metrics) - slipped(&before?)) / units,
        processor: processor? - begun.context(missed)??,
        memory_bytes: server.process.memory_bytes()?,
        metrics,
        report,
    })
}
