//! What recording costs a loaded server: processor time for each command with it and without, in turn.

use anyhow::Result;
use trantor_time::RealSpan;

use crate::child::ServerProgram;
use crate::samples::Runs;
use crate::server::us_per_command;
use crate::table::Table;

/// Agents, and the speed at which they play: a few hundred thousand commands in each stretch.
const AGENTS: usize = 500;
const UNITS_PER_SECOND: u32 = 1_000;

/// How long each stretch is measured.
const STRETCH: RealSpan = RealSpan::from_secs(4);

/// Measures so many times with and without.
pub(super) fn measure(program: &ServerProgram, rounds: u32) -> Result<Table> {
    let (mut plain, mut recorded) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let folder = std::env::temp_dir().join(format!("trantor-cost-{}", std::process::id()));
        let record = ["--record", &folder.to_string_lossy()];
        plain.push(us_per_command(program, AGENTS, UNITS_PER_SECOND, STRETCH, &[])?);
        recorded.push(us_per_command(
            program,
            AGENTS,
            UNITS_PER_SECOND,
            STRETCH,
            &record,
        )?);
        std::fs::remove_dir_all(&folder)?;
    }
    let mut table = Table::new([
        "processor time for a command, µs",
        "all",
        "in the program",
        "more, %",
    ]);
    let mut more = Runs::default();
    for (plain, recorded) in plain.iter().zip(&recorded) {
        more.add((recorded.all / plain.all - 1.0) * 100.0);
    }
    for (what, measured, more) in [
        ("not recorded", &plain, String::new()),
        ("recorded", &recorded, more.show(1)),
    ] {
        let (mut all, mut user) = (Runs::default(), Runs::default());
        for cost in measured {
            all.add(cost.all);
            user.add(cost.user);
        }
        table.row(vec![what.to_owned(), all.show(2), user.show(2), more]);
    }
    Ok(table)
}
