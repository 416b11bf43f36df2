//! Memory per timer: what the process grows by, each subject in a process of its own.

use std::process::Command;

use rand_core::Rng;
use rand_pcg::Pcg32;

use crate::subjects::{
    BinaryHeapWithSet, CancellableWheel, DelayQueue, ExactGame, ExactReal, PlainWheel, Subject, Tree, Wheel,
};

const FLAG: &str = "--memory-of";

/// Prints bytes per timer for each subject, with `pending` pending.
pub(crate) fn table(pending: u64) {
    let names = [
        ExactReal::NAME,
        ExactGame::NAME,
        Wheel::NAME,
        BinaryHeapWithSet::NAME,
        Tree::NAME,
        DelayQueue::NAME,
        CancellableWheel::NAME,
        PlainWheel::NAME,
    ];
    println!("\n### Memory per timer with an item of 8 bytes, {pending} pending, delays up to 4 s\n");
    println!("| store | bytes |\n|---|---:|");
    for name in names {
        println!(
            "| {name} | {} |",
            measured(name, pending).unwrap_or_else(|| "–".into())
        );
    }
}

fn measured(name: &str, pending: u64) -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program)
        .args([FLAG, name, &pending.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

/// Whether this process was started to measure one subject; if so, it has done so.
pub(crate) fn is_child(arguments: &[String]) -> bool {
    let [_, flag, name, pending, ..] = arguments else {
        return false;
    };
    if flag != FLAG {
        return false;
    }
    let pending = pending.parse().expect("a number");
    let bytes = match name.as_str() {
        ExactReal::NAME => grown_by::<ExactReal>(pending),
        ExactGame::NAME => grown_by::<ExactGame>(pending),
        Wheel::NAME => grown_by::<Wheel>(pending),
        BinaryHeapWithSet::NAME => grown_by::<BinaryHeapWithSet>(pending),
        Tree::NAME => grown_by::<Tree>(pending),
        DelayQueue::NAME => grown_by::<DelayQueue>(pending),
        CancellableWheel::NAME => grown_by::<CancellableWheel>(pending),
        _ => grown_by::<PlainWheel>(pending),
    };
    if let Some(bytes) = bytes {
        println!("{:.0}", bytes as f64 / pending as f64);
    }
    true
}

fn grown_by<S: Subject>(pending: u64) -> Option<u64> {
    let mut luck = Pcg32::new(1, 1);
    let mut store = S::new();
    let before = resident_bytes()?;
    for item in 0..pending {
        store.schedule((luck.next_u64() % 4_000_000_000) as i64 + 1, item);
    }
    let after = resident_bytes()?;
    store.next_ns();
    Some(after - before)
}

/// What the system has given this process in fact; `None` where it does not say.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}
