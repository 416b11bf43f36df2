//! Lines that operators type, at the console or over a connection: valid ones, and some that are refused.

use trantor_engine::limits::FREQUENCY_ASKED_MAX;
use trantor_game::GameConfig;
use trantor_model::Resource;

use crate::rng::Rng;

/// The highest speed that an operator sets, but for some requests that are refused.
const HERTZ_MAX: u32 = 3_000;

/// The longest sprint; some tenths of a second at its speed, so that several fit into a run.
const SPRINT_UNITS_MAX: u32 = 1_500;

/// A random line.
pub(crate) fn draw_line(game: &GameConfig, rng: &mut Rng) -> String {
    let agent = rng.below(12);
    // Sometimes off the map.
    let is_off = rng.one_in(8);
    let x = rng.below(u32::from(game.size.width()) + u32::from(is_off));
    let y = rng.below(u32::from(game.size.height()));
    let resource = rng.pick(&Resource::ALL).name();
    match rng.below(28) {
        0 => format!("tick rate {}", rng.between(0, HERTZ_MAX)),
        1 => format!("tick rate {}", FREQUENCY_ASKED_MAX + 1),
        2 => "tick freeze".to_owned(),
        3..=6 => "tick unfreeze".to_owned(),
        7 => format!("tick step {}", rng.pick(&["", "event", "action"])),
        8 => format!("tick step {}", rng.between(0, 60)),
        9 | 10 => format!("tick sprint {}", rng.between(0, SPRINT_UNITS_MAX)),
        11 => format!("seek {}", rng.below(100)),
        12 => "say two  words".to_owned(),
        13 => format!("kick {agent}"),
        14 => format!("kick connection {}.{}", rng.below(12), rng.below(3)),
        15 | 16 => {
            let facing = rng.pick(&["", "", "north", "east", "south", "west"]);
            format!("tp {agent} {x} {y} {facing}")
        }
        // Rare, since the last level may end the game.
        17 if rng.one_in(10) => format!("setlevel {agent} 8"),
        17 => format!("setlevel {agent} {}", rng.between(1, 7)),
        18 => format!("setinventory {agent} {resource} {}", rng.below(20)),
        19 | 20 => format!("settile {resource} {} {x} {y}", rng.below(20)),
        21 => format!("egg {} {x} {y}", rng.pick(&["red", "green", "nobody"])),
        22 => format!("refill {}", rng.pick(&["on", "off"])),
        23 if rng.one_in(3) => format!("kill {agent}"),
        24 if rng.one_in(10) => "end".to_owned(),
        25 => "save".to_owned(),
        26 => rng
            .pick(&["clients", "map", "tile 0 0", "help", "tick query"])
            .to_string(),
        _ => "start".to_owned(),
    }
}
