//! What writing the journal costs a loaded server: its stage's share of the loop's busy time, in one and the same run.
//!
//! Comparing runs with and without a journal does not answer it: two runs differ by more than it costs. Writing entries
//! down, before they are written to the file, is a part of other stages, and told by `cargo bench -p trantor-engine`.

use anyhow::Result;
use trantor_time::RealSpan;

use crate::child::ServerProgram;
use crate::samples::Runs;
use crate::server::{JournalCost, journal_cost};
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
    ]);
    for (agents, frequency) in LOADS {
        let (mut writes, mut share) = (Runs::default(), Runs::default());
        for _ in 0..rounds {
            let folder = std::env::temp_dir().join(format!("trantor-cost-{}", std::process::id()));
            let JournalCost {
                writes_per_command,
                busy_share,
            } = journal_cost(program, agents, frequency, STRETCH, &folder)?;
            writes.add(writes_per_command * 100.0);
            share.add(busy_share * 100.0);
            std::fs::remove_dir_all(&folder)?;
        }
        table.row(vec![
            agents.to_string(),
            frequency.to_string(),
            writes.show(1),
            share.show(2),
        ]);
    }
    Ok(table)
}
