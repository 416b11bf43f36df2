//! What the text protocol costs per line, both ways.
//!
//! Stands for the part of a command that is spent on bytes. Good is well below the microsecond in which a
//! command passes everything above the sockets.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use trantor_model::{AgentId, Counts, Direction, Sight, Tile};
use trantor_protocol::text::client::parse_server_line;
use trantor_protocol::text::{
    AiLine, Cut, Dialect, GuiEvent, GuiIds, LineCutter, parse_command, write_ai_line, write_gui_event,
};

fn commands(c: &mut Criterion) {
    let lines: [&[u8]; 5] = [
        b"Forward",
        b"Take deraumere",
        b"Look",
        b"Broadcast hello world",
        b"Incantation",
    ];
    let stream: Vec<u8> = lines
        .iter()
        .flat_map(|line| [line, &b"\n"[..]].concat())
        .collect();
    let mut group = c.benchmark_group("commands");
    group.throughput(Throughput::Elements(lines.len() as u64));
    group.bench_function("cut and understand five lines of one packet", |b| {
        let mut cutter = LineCutter::new();
        b.iter(|| {
            let mut piece = black_box(&stream[..]);
            while let Some(Cut::Line(line)) = cutter.next(&mut piece) {
                black_box(parse_command(Dialect::Epitech, line));
            }
        });
    });
    group.finish();
}

fn answers(c: &mut Criterion) {
    let sights: Vec<Sight> = (0..81)
        .map(|at| Sight {
            agents: u32::from(at == 0),
            ground: Counts([at % 2, at % 3, 0, at % 5 / 4, 0, 0, 0]),
            eggs: 0,
        })
        .collect();
    let inventory = Counts([9, 1, 2, 3, 4, 5, 6]);
    let mut group = c.benchmark_group("answers");
    let mut out = Vec::with_capacity(4_096);
    for (name, line) in [
        ("ok", AiLine::Ok),
        (
            "inventory",
            AiLine::Inventory {
                inventory: &inventory,
                life_units: 1_260,
            },
        ),
        ("look at level 1", AiLine::Look(&sights[..4])),
        ("look at level 8", AiLine::Look(&sights)),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                write_ai_line(&mut out, Dialect::Epitech, black_box(&line));
            });
        });
    }
    write_ai_line(&mut out, Dialect::Epitech, &AiLine::Look(&sights));
    let look = out.trim_ascii_end().to_vec();
    group.bench_function("read a look at level 8 back", |b| {
        b.iter(|| black_box(parse_server_line(Dialect::Epitech, black_box(&look))));
    });
    group.finish();
}

fn events(c: &mut Criterion) {
    let tile = Tile { x: 12, y: 34 };
    let ground = Counts([9, 1, 2, 3, 4, 5, 6]);
    let agent = AgentId(123);
    let mut group = c.benchmark_group("events");
    let mut out = Vec::with_capacity(4_096);
    for (name, event) in [
        (
            "ppo",
            GuiEvent::Position {
                agent,
                tile,
                facing: Direction::East,
            },
        ),
        ("bct", GuiEvent::Tile { tile, ground }),
        (
            "pin",
            GuiEvent::Inventory {
                agent,
                tile: Some(tile),
                inventory: ground,
            },
        ),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                write_gui_event(&mut out, GuiIds::Hash, black_box(&event));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, commands, answers, events);
criterion_main!(benches);
