//! The frame rule under the four kinds of stress: what is measured beside what is required (R-002-20 to R-002-23).
//!
//! `cargo run --release --example frame_rule_under_stress` runs each kind for ten seconds on this machine's clock, with
//! pretend work that keeps a processor busy; `-- manual` runs a minute of each on a manual clock, in no time and exactly.

use trantor_runtime::frames::stress::{Outcome, Required, STRESSES};
use trantor_time::RealSpan;

fn main() -> std::io::Result<()> {
    let is_manual = std::env::args().any(|argument| argument == "manual");
    println!(
        "{:<10} {:>22} {:>22} {:>16} {:>22}",
        "stressed", "frames/s", "events' share", "processor", "event delay p99"
    );
    let mut all_met = true;
    for stress in &STRESSES {
        let outcome = if is_manual {
            stress.run_manual(RealSpan::from_secs(60), RealSpan::ZERO)
        } else {
            stress.run_real(RealSpan::from_secs(10))?
        };
        let is_met = stress.required.is_met_by(&outcome);
        all_met &= is_met;
        println!(
            "{:<10} {} {}",
            stress.name,
            row(&outcome, &stress.required),
            if is_met { "met" } else { "MISSED" }
        );
    }
    println!("in brackets: required; the real figures mean something on an otherwise idle machine only");
    std::process::exit(i32::from(!all_met));
}

/// The figures of one kind, each with its bounds.
fn row(outcome: &Outcome, required: &Required) -> String {
    let bounds = |(least, most): (f64, f64)| match most.is_finite() {
        true => format!("[{least:.2}, {most:.2}]"),
        false => String::new(),
    };
    let share_max = required.processor_share_max;
    let delay_max_ms = required.event_delay_p99_max.as_millis_f64();
    format!(
        "{:>7.2} {:<14} {:>7.3} {:<14} {:>6.1} % {:<7} {:>7.2} ms {:<10}",
        outcome.frames_per_second,
        bounds(required.frames_per_second),
        outcome.event_share,
        bounds(required.event_share),
        outcome.processor_share * 100.0,
        if share_max.is_finite() {
            format!("[{:.0}]", share_max * 100.0)
        } else {
            String::new()
        },
        outcome.event_delay_p99.as_millis_f64(),
        if delay_max_ms < 1e6 {
            format!("[{delay_max_ms:.0} ms]")
        } else {
            String::new()
        },
    )
}
