//! Operators: lines that they type, at the console or over a connection, and a check that each line over a connection is
//! answered once, in order.

use std::collections::VecDeque;

use anyhow::{bail, ensure};
use trantor_client::write_first_line;
use trantor_engine::EngineConfig;
use trantor_game::GameConfig;
use trantor_model::Resource;
use trantor_model::control::FREQUENCY_ASKED_MAX;
use trantor_protocol::text::LineCutter;
use trantor_time::RealTime;

use super::{Actor, CheckResult, Context, lines};
use crate::rng::Rng;

/// The highest speed that an operator sets, but for some requests that are refused.
const HERTZ_MAX: u32 = 3_000;

/// The longest sprint; some tenths of a second at its speed, so that several fit into a run.
const SPRINT_UNITS_MAX: u32 = 1_500;

/// A random line, valid or refused.
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

/// An operator on a connection.
pub(super) struct Operator {
    token: Option<String>,
    cutter: LineCutter,
    phase: Phase,
    wake: Option<RealTime>,
    game: GameConfig,
    /// Unanswered lines, oldest first, with what their answers must contain.
    open: VecDeque<Option<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// It sent `ADMIN`.
    Requested,
    Operating,
    Refused,
}

impl Operator {
    pub(super) fn new(config: &EngineConfig, token: Option<String>) -> Self {
        Self {
            token,
            cutter: LineCutter::new(),
            phase: Phase::Greeting,
            wake: None,
            game: config.game.clone(),
            open: VecDeque::new(),
        }
    }

    fn line(&mut self, line: &str, context: &Context<'_>) -> CheckResult {
        let is_refusal = line.starts_with("ko ");
        match self.phase {
            Phase::Greeting => self.phase = Phase::Requested,
            Phase::Requested if line == "ok" => self.phase = Phase::Operating,
            Phase::Requested if is_refusal => {
                ensure!(
                    !context.has_right_token,
                    "an operator was refused with the right token"
                );
                self.phase = Phase::Refused;
            }
            // An answer is any lines, and then one that is `ok` or begins with `ko`.
            Phase::Operating if line == "ok" || is_refusal => return self.answer(line),
            Phase::Operating => return Ok(()),
            phase => bail!("an operator in {phase:?} received {line:?}"),
        }
        self.wake = Some(context.now);
        Ok(())
    }

    fn answer(&mut self, line: &str) -> CheckResult {
        let Some(expected) = self.open.pop_front() else {
            bail!("{line:?} answers nothing");
        };
        // An unknown word is named in its answer, unless a reload has withdrawn control.
        let fits = |word: &String| line.contains(word) || line.starts_with("ko this server is ");
        ensure!(
            expected.as_ref().is_none_or(fits),
            "{line:?} answers {expected:?}"
        );
        Ok(())
    }
}

impl Actor for Operator {
    fn receive(&mut self, bytes: &[u8], context: &Context<'_>) -> CheckResult {
        lines(&mut self.cutter, bytes)?
            .iter()
            .try_for_each(|line| self.line(&String::from_utf8_lossy(line), context))
    }

    fn act(&mut self, context: &Context<'_>, rng: &mut Rng, out: &mut Vec<u8>) -> bool {
        if self.wake.is_none_or(|wake| wake > context.now) {
            return true;
        }
        self.wake = None;
        match self.phase {
            Phase::Requested => write_first_line(out, "ADMIN", self.token.as_deref()),
            Phase::Operating if !context.is_settling => {
                self.wake = Some(context.now + rng.millis(1, 150));
                for _ in 0..rng.between(1, 4) {
                    let unknown = rng.one_in(4).then(|| format!("unknown{}", rng.below(1 << 20)));
                    let line = unknown.clone().unwrap_or_else(|| draw_line(&self.game, rng));
                    out.extend(format!("{line}\n").into_bytes());
                    self.open.push_back(unknown);
                }
                return !rng.one_in(100);
            }
            _ => {}
        }
        true
    }

    fn wake(&self) -> Option<RealTime> {
        self.wake
    }

    fn check_quiet(&self, _: RealTime) -> CheckResult {
        self.check_done()
    }

    fn check_done(&self) -> CheckResult {
        let open = self.open.front().filter(|_| self.phase == Phase::Operating);
        ensure!(open.is_none(), "an operator's line {open:?} was never answered");
        Ok(())
    }
}
