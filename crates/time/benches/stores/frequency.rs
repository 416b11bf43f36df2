//! A change of speed: moving an anchor, against rescaling real deadlines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_time::{DeadlineHeap, Frequency, GameClock, GameTime, RealTime};

use crate::measure::{Samples, ns_per};

/// Prints what a change costs with so much pending.
pub(crate) fn table(pending_max: u64, repeats: usize) {
    println!("\n### Change of frequency, ns\n");
    println!(
        "| pending | move the anchor, and map the next deadline | pop and push all, rescaled | rescale and rebuild |"
    );
    println!("|---:|---:|---:|---:|");
    let mut pending = 1_000;
    while pending <= pending_max {
        let mut samples = [Samples::default(), Samples::default(), Samples::default()];
        for _ in 0..repeats {
            samples[0].extend([anchor(pending)]);
            samples[1].extend([rescaled(pending, pop_and_push)]);
            samples[2].extend([rescaled(pending, rebuild)]);
        }
        let reference = samples[0].median();
        let [anchor, popped, rebuilt] = samples.map(|samples| samples.cell(reference));
        println!("| {pending} | {anchor} | {popped} | {rebuilt} |");
        pending *= 10;
    }
}

fn anchor(pending: u64) -> f64 {
    let mut luck = Pcg32::new(pending, 1);
    let mut agenda = DeadlineHeap::new();
    for item in 0..pending {
        agenda.schedule(
            GameTime::from_nanounits((luck.next_u64() % 126_000_000_000).into()),
            item,
        );
    }
    let hertz = |hertz| Frequency::new(hertz).expect("a good frequency");
    let frequencies = [hertz(100), hertz(300), hertz(7), hertz(1000)];
    let mut clock = GameClock::new(RealTime::ZERO, GameTime::ZERO, hertz(100));
    let changes = 1_000_000;
    ns_per(changes, || {
        for change in 0..changes {
            let now = RealTime::from_nanos(change as i64 * 60);
            clock.set_frequency(now, frequencies[change as usize % frequencies.len()]);
            black_box(agenda.next_deadline().and_then(|next| clock.real_at(next)));
        }
    })
}

type RealHeap = BinaryHeap<Reverse<(i64, u64)>>;

fn rescaled(pending: u64, rescale: fn(&mut RealHeap, i64)) -> f64 {
    let mut luck = Pcg32::new(pending, 1);
    let mut heap: RealHeap = (0..pending)
        .map(|id| Reverse(((luck.next_u64() % 1_260_000_000) as i64, id)))
        .collect();
    let changes = 2;
    ns_per(changes, || {
        for now_ns in 0..changes {
            rescale(&mut heap, now_ns as i64);
        }
        black_box(heap.peek());
    })
}

/// What is left of each wait at three times the speed.
fn faster(now_ns: i64, at_ns: i64) -> i64 {
    now_ns + (at_ns - now_ns) / 3
}

fn pop_and_push(heap: &mut RealHeap, now_ns: i64) {
    let mut changed = BinaryHeap::with_capacity(heap.len());
    while let Some(Reverse((at_ns, id))) = heap.pop() {
        changed.push(Reverse((faster(now_ns, at_ns), id)));
    }
    *heap = changed;
}

fn rebuild(heap: &mut RealHeap, now_ns: i64) {
    let entries = std::mem::take(heap).into_iter();
    *heap = entries
        .map(|Reverse((at_ns, id))| Reverse((faster(now_ns, at_ns), id)))
        .collect();
}
