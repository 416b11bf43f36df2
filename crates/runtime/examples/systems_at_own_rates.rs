//! Systems at their own rates: a ball that the world moves 30 times a second and graphics draws 60 times a second.
//!
//! `cargo run --example systems_at_own_rates` draws for five seconds in the terminal. Between two updates of the world,
//! graphics shows the ball where it is on its way; a requested timer doubles the speed halfway through.

use std::io::Write;

use trantor_runtime::listeners::{TimerManager, TimerServer};
use trantor_runtime::publish::Published;
use trantor_runtime::systems::{SystemLoop, SystemSpec, Systems};
use trantor_runtime::{Parker, RealClock};
use trantor_time::{Clock, Pace, RealSpan};

/// Columns of the strip on which the ball moves, and columns it moves in a simulated second.
const COLUMNS: f64 = 40.0;
const SPEED: f64 = 20.0;

#[derive(Default)]
struct Game {
    /// Where the ball was before the last update of the world, and is after it.
    before: f64,
    after: f64,
    is_fast: bool,
    published: Published,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = RealClock::new();
    let start = clock.now();
    let systems = Systems::new(start)
        .add(SystemSpec::standard("world"), |game: &mut Game, call| {
            game.before = game.after;
            game.after += SPEED * call.simulated.as_secs_f64();
            Ok(())
        })
        .add(SystemSpec::at("graphics", 60.0)?, |game, call| {
            let phase = call.phase_of("world").ok_or("there is a world")?;
            let shown = game.before + (game.after - game.before) * phase.fraction.min(1.0);
            let column = (shown % COLUMNS) as usize;
            let value = |name: &str| game.published.get(name).unwrap_or(0.0);
            let world = value("system.world.calls_per_second");
            let graphics = value("system.graphics.calls_per_second");
            let simulated = value("loop.simulated_seconds");
            print!(
                "\r{:column$}o  world {world:.0}/s, graphics {graphics:.0}/s, simulated {simulated:.1} s   ",
                ""
            );
            call.control.count_frame(call.now);
            Ok(std::io::stdout().flush()?)
        })
        .add(SystemSpec::standard("statistics"), move |game, call| {
            call.control.publish(&mut game.published, call.now);
            if game.is_fast {
                // Rates and speed can be changed from inside any system.
                call.control.set_speed(call.now, 2_000)?;
                call.control.set_pace("graphics", Pace::from_setting(30.0)?);
            }
            if call.now.since(start) >= RealSpan::from_secs(5) {
                call.control.request_shutdown();
            }
            Ok(())
        });

    let (timers, mut manager) = (TimerServer::new(1), TimerManager::new());
    manager.register(&timers);
    timers.request("halfway", RealSpan::from_millis(2_500), start)?;
    let systems = systems.fire_requested(manager, |game, _number, _listener| {
        game.is_fast = true;
        Ok(())
    });
    let ended = SystemLoop::new("ball", Game::default(), systems, clock, Parker::new()).run()?;
    println!("\nended: {:?}", ended.why);
    Ok(())
}
