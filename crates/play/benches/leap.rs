//! How fast a leap is: units of game time and agent actions per second, on one core.
//!
//! `cargo bench -p trantor-play --bench leap` prints one row for each map and each kind of mind. An action is
//! one command, from being thought to being answered. No agent is hungry, so that the number of agents stays.
//!
//! What good looks like, for a thousand agents in the same run: minds that play to win make 0.12 of the actions of trivial
//! minds in a hundred teams, and 0.05 in two teams of 500, where each receives five messages per action.

use std::hint::black_box;

use trantor_game::{GameConfig, Rules};
use trantor_model::{AdminAction, Control, MapSize};
use trantor_play::leap::Leap;
use trantor_play::minds::MindKind;
use trantor_time::{GameSpan, GameTime};

/// How long each row is measured, in milliseconds of processor time.
const MEASURED_MS: u128 = 1_000;

/// Units leapt between two looks at the clock.
const STRIDE: GameSpan = GameSpan::from_units(50);

/// One row of the table.
struct Row {
    side: u32,
    agents: u32,
    teams: u32,
    kind: MindKind,
}

fn leap_of(row: &Row) -> Leap {
    let config = GameConfig {
        size: MapSize::new(row.side, row.side).expect("benches ask for maps that exist"),
        teams: (0..row.teams).map(|team| format!("t{team}")).collect(),
        places_per_team: row.agents / row.teams,
        seed: 1,
        rules: Rules {
            lock_step: true,
            ..Rules::default()
        },
    };
    let mut leap = Leap::new(config, &[row.kind]);
    let done = leap.control(Control::Act(AdminAction::SetHunger { enabled: false }));
    assert_eq!(done, Ok(()), "hunger can be turned off");
    leap
}

/// Units and actions per second.
#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures against the real clock"
)]
fn measure(row: &Row) -> (f64, f64) {
    let mut leap = leap_of(row);
    let mut until = GameTime::ZERO;
    let (mut units, mut actions) = (0.0, 0);
    let began = std::time::Instant::now();
    while began.elapsed().as_millis() < MEASURED_MS {
        let before = leap.actions();
        until += STRIDE;
        black_box(leap.run(Some(until)));
        actions += leap.actions() - before;
        units += STRIDE.as_units_f64();
        if leap.game().winner().is_some() {
            leap = leap_of(row);
            until = GameTime::ZERO;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    (units / seconds, actions as f64 / seconds)
}

fn main() {
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| name == wanted);
    println!("| map | agents, teams | minds | units/s | actions/s |");
    println!("|---|---:|---|---:|---:|");
    for (side, agents, teams) in [(10, 2, 2), (20, 12, 2), (100, 1_000, 100), (100, 1_000, 2)] {
        let minds = [("trivial", MindKind::Trivial), ("playing", MindKind::Team)];
        for (name, kind) in minds.into_iter().filter(|(name, _)| is_wanted(name)) {
            let row = Row {
                side,
                agents,
                teams,
                kind,
            };
            let (units, actions) = measure(&row);
            println!("| {side}×{side} | {agents}, {teams} | {name} | {units:.0} | {actions:.0} |");
        }
    }
}
