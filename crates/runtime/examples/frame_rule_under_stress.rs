//! The frame rule under the four kinds of stress: what is measured beside what is required.
//!
//! `cargo run --release --example frame_rule_under_stress` runs each kind for ten seconds on this machine's clock, with
//! pretend work that keeps a processor busy; `-- manual` runs a minute of each on a manual clock, in no time and exactly.
//! The real figures mean something on an otherwise idle machine only.

use trantor_runtime::frames::stress::{STRESSES, TABLE_HEAD};
use trantor_time::RealSpan;

fn main() -> std::io::Result<()> {
    let is_manual = std::env::args().any(|argument| argument == "manual");
    println!("{TABLE_HEAD}");
    let mut all_met = true;
    for stress in &STRESSES {
        let outcome = if is_manual {
            stress.run_manual(RealSpan::from_secs(60), RealSpan::ZERO)
        } else {
            stress.run_real(RealSpan::from_secs(10))?
        };
        all_met &= stress.required.is_met_by(&outcome);
        println!("{}", stress.row(&outcome));
    }
    std::process::exit(i32::from(!all_met));
}
