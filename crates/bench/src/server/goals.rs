//! What is required of the server under load, and whether it was met; beside the least program, `least` says that.
//!
//! The figures are those of one core of a two-core machine with the load generator on the other. A goal is met if the
//! median of the rounds meets it.

use super::row::Load;
use super::{Figure, Figures};
use crate::samples::Runs;
use crate::table::Table;

/// One figure of one row, and what it may be at most or must be at least.
struct Goal {
    load: Load,
    what: &'static str,
    figure: Figure,
    bound: Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

use Bound::{AtLeast, AtMost};

const P99: (&str, Figure) = ("p99 of lateness, µs", |row| row.late_p99_us);
const IDEAL: (&str, Figure) = ("achieved/ideal, or slowed by as much", |row| {
    row.achieved / (1.0 - row.slowed).max(1e-9)
});
const MEMORY: (&str, Figure) = ("memory, MB", |row| row.memory_bytes / 1e6);

const GOALS: [Goal; 8] = [
    goal(Load::spread(2_000, 100), MEMORY, AtMost(12.0)),
    goal(Load::spread(5_000, 100), P99, AtMost(1_000.0)),
    goal(Load::with_all_open(10_000, 100), IDEAL, AtLeast(0.999)),
    goal(Load::spread(100, 1_000), IDEAL, AtLeast(0.999)),
    goal(Load::spread(100, 10_000), IDEAL, AtLeast(0.99)),
    goal(Load::spread(100, 10_000), P99, AtMost(500.0)),
    goal(Load::with_all_open(100, 10_000), IDEAL, AtLeast(0.99)),
    goal(Load::with_all_open(100, 10_000), P99, AtMost(500.0)),
];

const fn goal(load: Load, (what, figure): (&'static str, Figure), bound: Bound) -> Goal {
    Goal {
        load,
        what,
        figure,
        bound,
    }
}

/// A table of goals with what was measured in the `rounds` of each row; goals whose row was not measured are left out.
pub(super) fn compare(rounds: &[Vec<Figures>]) -> Table {
    let mut table = Table::new(["load", "what", "goal", "measured", "in all rounds", ""]);
    for goal in &GOALS {
        if let Some(rounds) = rounds.iter().find(|rounds| rounds[0].load == goal.load) {
            let load = format!("{} at {}", goal.load.name(), goal.load.frequency);
            let measured: Runs = rounds.iter().map(goal.figure).collect();
            let range = measured.range().map_or_else(String::new, |(least, greatest)| {
                format!("{} to {}", number(least), number(greatest))
            });
            let measured = (goal.figure)(&Figures::median(rounds));
            add(&mut table, load, goal.what, goal.bound, measured, range);
        }
    }
    let medians: Vec<Figures> = rounds.iter().map(|rounds| Figures::median(rounds)).collect();
    for (load, what, bound, measured) in over_all(&medians) {
        add(&mut table, load.to_owned(), what, bound, measured, String::new());
    }
    table
}

/// With as many digits as say something.
fn number(figure: f64) -> String {
    let digits = if figure < 10.0 { 4 } else { 1 };
    let figure = format!("{figure:.digits$}");
    figure.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Goals that are about several rows.
fn over_all(rows: &[Figures]) -> Vec<(&'static str, &'static str, Bound, f64)> {
    let plain = |agents: usize| {
        rows.iter()
            .find(move |row| row.load.agents == agents && row.load.frequency == 100 && !row.load.in_step)
    };
    let mut found = Vec::new();
    let per_core = rows
        .iter()
        .filter(|row| row.core > 0.9)
        .map(|row| row.commands_per_s / row.core);
    if let Some(best) = per_core.reduce(f64::max) {
        found.push((
            "where a core is full",
            "commands a second and core",
            AtLeast(150_000.0),
            best,
        ));
    }
    if let (Some(few), Some(many)) = (plain(100), plain(10_000)) {
        let ratio = many.us_per_command / few.us_per_command;
        found.push(("10,000 to 100", "cost of a command", AtMost(1.5), ratio));
    }
    if let Some(many) = plain(10_000) {
        let kib = many.bytes_per_agent / 1_024.0;
        found.push(("10,000 idle", "memory of an agent, KiB", AtMost(4.0), kib));
    }
    found
}

fn add(table: &mut Table, load: String, what: &str, bound: Bound, measured: f64, range: String) {
    let (goal, is_met) = match bound {
        AtMost(most) => (format!("≤ {most}"), measured <= most),
        AtLeast(least) => (format!("≥ {least}"), measured >= least),
    };
    let verdict = if is_met { "met" } else { "missed" };
    table.row(vec![
        load,
        what.to_owned(),
        goal,
        number(measured),
        range,
        verdict.to_owned(),
    ]);
}
