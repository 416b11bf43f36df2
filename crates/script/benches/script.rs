//! `cargo xtask bench script`: what scripts cost, without a server.
//!
//! Good is a million resumptions a second for a step in a loop, beside the same mind in Rust; less than 8 KiB an agent beside
//! its VM; less than 20 ms to reload 1,000 lines; an endless loop that holds the server up for less than a millisecond; and
//! half a millisecond at one instant for a team that uses all its steps at once. Honest agents beside scripts are measured by
//! `cargo xtask bench abuse -- --script FILE`.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::time::{Duration, Instant};

use trantor_model::{AgentId, Command, MapSize};
use trantor_play::minds::{Act, Mind, MindFactory, Newborn, Percept};
use trantor_script::Script;
use trantor_time::{GameSpan, GameTime};

/// Resumptions of one measurement.
const STEPS: u32 = 2_000_000;

/// Agents whose memory is measured.
const AGENTS: u32 = 2_000;

/// The same mind in Rust.
struct Walker {
    is_under_way: bool,
}

impl Mind for Walker {
    fn perceive(&mut self, percept: &Percept) {
        self.is_under_way &= *percept != Percept::Ok;
    }

    fn decide(&mut self, _: GameTime, acts: &mut Vec<Act>) {
        if !std::mem::replace(&mut self.is_under_way, true) {
            acts.push(Act::Command(Command::Forward));
        }
    }

    fn wake_at(&self) -> Option<GameTime> {
        None
    }
}

fn main() {
    println!("| what | |\n|---|---|");
    let walk = script("while true do me:forward() end");
    let in_rust: &mut dyn Mind = &mut Walker { is_under_way: false };
    println!(
        "| decisions of a mind in Rust that walks, a second | {:.0} |",
        rate(in_rust)
    );
    println!("| the same in a script | {:.0} |", rate(&mut *born(&walk, 0)));
    let forage = "while true do me:look():nearest(\"food\") me:inventory() end";
    println!(
        "| a script that looks around at level 1 | {:.0} |",
        forager(&mut *born(&script(forage), 0))
    );
    for (name, body) in [
        ("walks", "while true do me:forward() end"),
        ("has a handler and a timer", FULL),
    ] {
        let script = script(body);
        let [before, resident_before] = [script.counts().memory_bytes, resident_bytes()];
        let agents: Vec<_> = (0..AGENTS).map(|number| born(&script, number)).collect();
        let [after, resident] = [script.counts().memory_bytes, resident_bytes()];
        let each = |bytes: usize| bytes as f64 / agents.len() as f64 / 1_024.0;
        println!(
            "| KiB of an agent that {name}, in its VM | {:.2} |",
            each(after - before)
        );
        println!(
            "| in all, by what the process grew | {:.2} |",
            each(resident - resident_before)
        );
    }
    let long: String = (0..990)
        .map(|line| format!("local function f{line}(a) return a + {line} end _ = f{line}\n"))
        .collect();
    let source = |end: &str| format!("{}\n{}", long.replace("local function", "function"), text(end));
    let script = Script::load("long.luau", source("me:wait(1)").as_bytes()).expect("it compiles");
    let mut agents: Vec<_> = (0..10).map(|number| born(&script, number)).collect();
    let longest = (0..20).map(|round| {
        let source = source(&format!("me:wait({round})"));
        let begin = Instant::now();
        script.reload(source.as_bytes()).expect("it compiles");
        let reloaded = begin.elapsed();
        for (number, agent) in (1..).zip(&mut agents) {
            agent.decide(
                GameTime::from_units((round + 1) * 1_000 + number * 50),
                &mut Vec::new(),
            );
        }
        (reloaded, begin.elapsed())
    });
    let (reload, all) = longest.max().expect("some rounds");
    println!("| ms to reload 1,000 lines | {:.2} |", ms(reload));
    println!("| ms until ten agents run them | {:.2} |", ms(all));
    let numbers = "n = t + 0 ".repeat(1_000);
    let numbers = format!("local n, t = 0, (\"1\"):rep(4000) while true do {numbers} end");
    for (name, body) in [
        ("an endless loop", "while true do end"),
        (
            "one that catches its error",
            "while true do pcall(function() while true do end end) end",
        ),
        (
            "one that allocates",
            "while true do local t = table.create(100) end",
        ),
        (
            "one that searches",
            "while true do (\"a\"):rep(1000):find((\"a-\"):rep(9) .. \"b\") end",
        ),
        (
            "one that joins long texts",
            "local t = (\"x\"):rep(4000) while true do t = t:sub(2) .. \"y\" end",
        ),
        (
            "one that reads numbers from long texts",
            "local t = (\"1\"):rep(4000) while true do local n = t + 0 end",
        ),
        ("one that does so in straight code", &numbers),
    ] {
        let script = self::script(body);
        let longest = (0..20).map(|number| {
            let begin = Instant::now();
            drop(born(&script, number));
            begin.elapsed()
        });
        println!(
            "| ms that {name} costs | {:.2} |",
            longest.max().map_or(f64::NAN, ms)
        );
        script.resume();
    }
    let heavy = "while true do for n = 1, 18000 do end me:wait(1) end";
    println!(
        "| ms of the longest instant of six that use 18,000 steps between two waits | {:.2} |",
        longest_instant(heavy)
    );
}

const FULL: &str = "me:on(\"message\", function(m) me.state.last = m.text end)
me:every(50, function() me:note(\"walking\") end)
while true do me:forward() end";

fn text(body: &str) -> String {
    format!("local trantor = require(\"@trantor\")\nreturn trantor.agent(function(me)\n{body}\nend)")
}

fn script(body: &str) -> Script {
    Script::load("bench.luau", text(body).as_bytes()).expect("it compiles")
}

/// A mind that has decided once, long after the one before.
fn born(script: &Script, number: u32) -> Box<dyn Mind> {
    let mut mind = unborn(script, number);
    mind.decide(GameTime::from_units(i64::from(number) * 100), &mut Vec::new());
    mind
}

fn unborn(script: &Script, number: u32) -> Box<dyn Mind> {
    script.clone().awaken(&Newborn {
        agent: AgentId(number),
        index: number.into(),
        seed: number.into(),
        ..Newborn::first("red", MapSize::new(10, 10).expect("a size"))
    })
}

/// What the longest of many instants takes in which six minds are woken as they ask for it, in milliseconds.
fn longest_instant(body: &str) -> f64 {
    let script = script(body);
    let mut minds: Vec<_> = (0..6).map(|number| unborn(&script, number)).collect();
    let instants = (0..200).map(|_| {
        let now = minds.iter().filter_map(|mind| mind.wake_at()).min();
        let now = now.expect("they wait for a time");
        let begin = Instant::now();
        for mind in minds
            .iter_mut()
            .filter(|mind| mind.wake_at().is_some_and(|at| at <= now))
        {
            mind.decide(now, &mut Vec::new());
        }
        begin.elapsed()
    });
    instants.max().map_or(f64::NAN, ms)
}

/// Decisions a second, each the answer to a step.
fn rate(mind: &mut dyn Mind) -> f64 {
    let mut acts = Vec::new();
    let mut now = GameTime::ZERO;
    let mut count = 0u32;
    let begin = Instant::now();
    for _ in 0..STEPS {
        now += GameSpan::from_units(7);
        mind.perceive(&Percept::Ok);
        mind.decide(now, &mut acts);
        count += acts.drain(..).count() as u32;
    }
    assert!(count >= STEPS - 1, "each answer leads to the next step");
    f64::from(STEPS) / begin.elapsed().as_secs_f64()
}

/// Decisions a second of one that looks and counts in turn.
fn forager(mind: &mut dyn Mind) -> f64 {
    let sights = Percept::Look([trantor_model::Sight::default(); 4].into());
    let carried = Percept::Inventory {
        inventory: trantor_model::Counts::ZERO,
        life_units: 0,
    };
    let mut acts = Vec::new();
    let begin = Instant::now();
    for step in 0..STEPS / 10 {
        match step % 2 {
            0 => mind.perceive(&sights),
            _ => mind.perceive(&carried),
        }
        mind.decide(GameTime::from_units(i64::from(step) * 7), &mut acts);
        acts.clear();
    }
    f64::from(STEPS / 10) / begin.elapsed().as_secs_f64()
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// Bytes of this process in memory, where the system says so.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0usize) * 4_096
}
