//! Deadline stores side by side, in one run: what a call costs from a thousand to ten million pending.
//!
//! Stands for the two questions that choose a store: what does a timer cost where few are pending, as in most
//! games, and does that hold where there are millions. Good is: the heap within 1.2 of the best heap and above a
//! million schedule-and-take a second at 10⁶; the wheel within 1.2 of the best wheel and above five million; a
//! change of frequency under 20 ns whatever is pending.
//!
//! ```text
//! cargo bench --bench stores                        all tables, up to 10⁶ pending
//! cargo bench --bench stores -- --pending-max 10000000
//! cargo bench --bench stores -- --repeats 9 --only hold
//! cargo bench --bench stores -- --subject DeadlineHeap      those whose name contains the word, nobody beside them
//! cargo bench --bench stores -- --pending-min 1000000 --delays "4 s"
//! ```
//!
//! Times are processor time of this thread, the median of the repeats; the subjects take turns, so that what
//! else the machine does falls on all of them. In brackets: the ratio to the first column.

mod frequency;
mod measure;
mod memory;
mod subjects;
mod workloads;

use measure::Samples;
use subjects::{
    BinaryHeapWithSet, CancellableWheel, DelayQueue, ExactGame, ExactReal, PlainWheel, Subject, Tree, Wheel,
};
use workloads::{Delays, Workload};

struct Options {
    pending_min: u64,
    pending_max: u64,
    repeats: usize,
    only: Option<String>,
    subject: Option<String>,
    delays: Option<String>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if memory::is_child(&arguments) {
        return;
    }
    let value_of = |flag: &str| {
        arguments
            .iter()
            .position(|argument| argument == flag)
            .and_then(|at| arguments.get(at + 1))
    };
    let number_of = |flag: &str| value_of(flag).map(|text| text.parse().expect("the flag takes a number"));
    let options = Options {
        pending_min: number_of("--pending-min").unwrap_or(1_000),
        pending_max: number_of("--pending-max").unwrap_or(1_000_000),
        repeats: number_of("--repeats").unwrap_or(5) as usize,
        only: value_of("--only").cloned(),
        subject: value_of("--subject").cloned(),
        delays: value_of("--delays").cloned(),
    };
    let contains = |name: &str, word: &Option<String>| word.as_deref().is_none_or(|word| name.contains(word));
    let is_wanted = |name: &str| contains(name, &options.only);

    for delays in Delays::ALL {
        if !contains(delays.title(), &options.delays) {
            continue;
        }
        for workload in Workload::ALL {
            if is_wanted(workload.name()) && workload.is_told_apart_by(delays) {
                heaps(workload, delays, &options);
                wheels(workload, delays, &options);
            }
        }
    }
    if is_wanted("memory") {
        memory::table(options.pending_max.min(1_000_000));
    }
    if is_wanted("frequency") {
        frequency::table(options.pending_max.min(1_000_000), options.repeats);
    }
}

/// One subject in one table: its name, and a way to measure it once.
type Column<'a> = (&'static str, Box<dyn Fn(u64) -> Option<f64> + 'a>);

fn column<'a, S: Subject>(workload: Workload, delays: Delays) -> Column<'a> {
    (
        S::NAME,
        Box::new(move |pending| workload.run::<S>(delays, pending)),
    )
}

fn heaps(workload: Workload, delays: Delays, options: &Options) {
    table(
        workload,
        delays,
        options,
        vec![
            column::<ExactReal>(workload, delays),
            column::<ExactGame>(workload, delays),
            column::<BinaryHeapWithSet>(workload, delays),
            column::<Tree>(workload, delays),
        ],
    );
}

fn wheels(workload: Workload, delays: Delays, options: &Options) {
    table(
        workload,
        delays,
        options,
        vec![
            column::<Wheel>(workload, delays),
            column::<DelayQueue>(workload, delays),
            column::<CancellableWheel>(workload, delays),
            column::<PlainWheel>(workload, delays),
        ],
    );
}

fn table(workload: Workload, delays: Delays, options: &Options, mut columns: Vec<Column<'_>>) {
    columns.retain(|(name, _)| {
        options
            .subject
            .as_deref()
            .is_none_or(|subject| name.contains(subject))
    });
    if columns.is_empty() {
        return;
    }
    println!("\n### {}, {}\n", workload.title(), delays.title());
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    println!("| pending | {} |", names.join(" | "));
    println!("|---:|{}", "---:|".repeat(columns.len()));
    let mut pending = options.pending_min;
    while pending <= options.pending_max {
        // Large ones take long and vary little.
        let repeats = if pending >= 10_000_000 {
            options.repeats.min(2)
        } else {
            options.repeats
        };
        let mut samples = vec![Samples::default(); columns.len()];
        for _ in 0..repeats {
            for ((_, measure), samples) in columns.iter().zip(&mut samples) {
                samples.extend(measure(pending));
            }
        }
        let reference = samples[0].median();
        let cells: Vec<_> = samples.iter().map(|samples| samples.cell(reference)).collect();
        println!("| {pending} | {} |", cells.join(" | "));
        pending *= 10;
    }
}
