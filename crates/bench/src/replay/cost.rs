//! What recording costs a loaded server: its processor time with a journal and without one, in turns, and the share of the
//! journal's stage in the loop's busy time.
//!
//! Two runs of one load differ by a few percent, so that the processor time needs several rounds. The stage is measured
//! within one run and varies less, but encoding the entries and packing finished pieces are not in it.

use anyhow::Result;
use trantor_time::RealSpan;

use crate::child::ServerProgram;
use crate::samples::Runs;
use crate::server::journal_cost;
use crate::table::Table;

/// Agents, and the speed at which they play.
const LOADS: [(usize, u32); 4] = [(12, 100), (1_000, 100), (100, 1_000), (500, 1_000)];

/// How long each load is measured.
const STRETCH: RealSpan = RealSpan::from_secs(4);

/// Measures each load so many times.
pub(super) fn measure(program: &ServerProgram, rounds: u32) -> Result<Table> {
    let mut table = Table::new([
        "agents",
        "units a second",
        "writes of the journal for 100 commands",
        "its share of the loop's busy time, %",
        "processor time of a command without recording, µs",
        "with it, µs",
    ]);
    for (agents, frequency) in LOADS {
        let (mut writes, mut share) = (Runs::default(), Runs::default());
        let (mut without, mut with) = (Runs::default(), Runs::default());
        for _ in 0..rounds {
            without.add(journal_cost(program, agents, frequency, STRETCH, None)?.0);
            let folder = std::env::temp_dir().join(format!("trantor-cost-{}", std::process::id()));
            let (us_per_command, cost) = journal_cost(program, agents, frequency, STRETCH, Some(&folder))?;
            with.add(us_per_command);
            writes.add(cost.writes_per_command * 100.0);
            share.add(cost.busy_share * 100.0);
            std::fs::remove_dir_all(&folder)?;
        }
        table.row(vec![
            agents.to_string(),
            frequency.to_string(),
            writes.show(1),
            share.show(2),
            without.show(2),
            with.show(2),
        ]);
    }
    Ok(table)
}
