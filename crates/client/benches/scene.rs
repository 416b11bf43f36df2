//! What a frame costs before anything is drawn: everything due goes to the display, and the scene is written.
//!
//! It stands for the viewer's own work in a busy game at 100 units a second and 60 frames a second: every agent
//! walks without rest, so in a frame of the largest world some 2,400 agents arrive and set out again. The goals
//! for everything of ours that is not the GPU's, drawing lists included, are 0.3, 0.8 and 3 ms; the scene should
//! take a third of that.

mod walkers;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

use walkers::Walkers;

fn scene(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scene");
    for (side, agents) in [(20, 12), (100, 1_000), (1_000, 10_000)] {
        let name = format!("{side}x{side}");
        let mut walkers = Walkers::new(side, agents);
        // The first frame takes all tiles.
        walkers.draw();
        group.bench_function(BenchmarkId::new(&name, "told and drawn"), |bencher| {
            bencher.iter(|| {
                walkers.tell();
                walkers.draw();
            });
        });
        assert_eq!(walkers.scene.agents.len(), agents as usize);
        group.bench_function(BenchmarkId::new(&name, "drawn, nothing new"), |bencher| {
            bencher.iter(|| walkers.draw());
        });
    }
    group.finish();
}

criterion_group!(benches, scene);
criterion_main!(benches);
