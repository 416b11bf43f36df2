//! An operator on a connection: checks that each line is answered once, in order.

use std::collections::VecDeque;

use trantor_client::link::write_first_line;
use trantor_engine::EngineConfig;
use trantor_game::GameConfig;
use trantor_protocol::text::LineCutter;
use trantor_time::{RealSpan, RealTime};

use super::{Actor, CheckResult, Context, lines};
use crate::console;
use crate::fault::FaultInjector;
use crate::rng::Rng;

/// See the module.
pub(crate) struct Operator {
    token: Option<String>,
    cutter: LineCutter,
    phase: Phase,
    wake: Option<RealTime>,
    is_winding_down: bool,
    game: GameConfig,
    /// Unanswered lines, oldest first, with what their answers must contain.
    open: VecDeque<Option<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// It sent `ADMIN`.
    Asked,
    Operating,
    Refused,
    Away,
}

impl Operator {
    pub(crate) fn new(config: &EngineConfig) -> Self {
        Self {
            game: config.game.clone(),
            token: None,
            cutter: LineCutter::new(),
            phase: Phase::Away,
            wake: None,
            is_winding_down: false,
            open: VecDeque::new(),
        }
    }

    fn line(&mut self, line: &str, context: &Context<'_>) -> CheckResult {
        match self.phase {
            Phase::Greeting => {
                self.phase = Phase::Asked;
                self.wake = Some(context.now);
                Ok(())
            }
            Phase::Asked if line == "ok" => {
                self.phase = Phase::Operating;
                self.wake = Some(context.now);
                Ok(())
            }
            Phase::Asked if line.starts_with("ko ") => {
                self.phase = Phase::Refused;
                match context.has_right_token {
                    true => Err("an operator was refused with the right token".to_owned()),
                    false => Ok(()),
                }
            }
            Phase::Operating => self.answer(line),
            phase => Err(format!("an operator in {phase:?} received {line:?}")),
        }
    }

    /// An answer is any lines, and then one that is `ok` or begins with `ko`.
    fn answer(&mut self, line: &str) -> CheckResult {
        if line != "ok" && !line.starts_with("ko ") {
            return Ok(());
        }
        match self.open.pop_front() {
            // An unknown word is named in its answer, unless a reload has withdrawn control.
            Some(Some(unknown)) if !line.contains(&unknown) && !line.starts_with("ko this server is ") => {
                Err(format!("{line:?} answers {unknown:?}"))
            }
            Some(_) => Ok(()),
            None => Err(format!("{line:?} answers nothing")),
        }
    }
}

impl Actor for Operator {
    fn connected(&mut self, token: Option<String>, _: RealTime) {
        self.token = token;
        self.cutter = LineCutter::new();
        self.phase = Phase::Greeting;
        self.wake = None;
        self.open.clear();
    }

    fn receive(&mut self, bytes: &[u8], context: &Context<'_>, _: &mut FaultInjector) -> CheckResult {
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
            Phase::Asked => {
                write_first_line(out, "ADMIN", self.token.as_deref());
            }
            Phase::Operating if !self.is_winding_down => {
                self.wake = Some(context.now + RealSpan::from_millis(i64::from(rng.between(1, 150))));
                for _ in 0..rng.between(1, 4) {
                    let unknown = rng.one_in(4).then(|| format!("unknown{}", rng.below(1 << 20)));
                    let line = unknown
                        .clone()
                        .unwrap_or_else(|| console::draw_line(&self.game, rng));
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

    fn wind_down(&mut self) {
        self.is_winding_down = true;
    }

    fn disconnected(&mut self, _: RealTime) {
        self.phase = Phase::Away;
        self.wake = None;
        self.open.clear();
    }

    fn check_quiet(&self, now: RealTime) -> CheckResult {
        self.check_done(now)
    }

    fn check_done(&self, _: RealTime) -> CheckResult {
        match self.open.front().filter(|_| self.phase == Phase::Operating) {
            Some(line) => Err(format!("an operator's line {line:?} was never answered")),
            None => Ok(()),
        }
    }
}
