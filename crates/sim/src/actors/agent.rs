//! Agents: check that each command is answered, in order.

use std::collections::VecDeque;

use anyhow::{bail, ensure};
use trantor_engine::EngineConfig;
use trantor_model::{Command, CommandKind, Percept, Resource, Turn};
use trantor_protocol::limits::ANSWER_BYTES_MAX;
use trantor_protocol::text::{AiLine, Dialect, LineCutter, parse_server_line, write_command};
use trantor_time::{RealSpan, RealTime};

use super::{Actor, CheckResult, Context, lines};
use crate::fault::Fault;
use crate::plan::Role;
use crate::rng::Rng;

/// Most outstanding commands.
const OPEN_MAX: usize = trantor_game::OUTSTANDING_MAX;

/// Delay before an agent without a place names its team again.
const JOIN_RETRY_DELAY: RealSpan = RealSpan::from_millis(300);

/// See the module.
pub(super) struct Agent {
    role: Role,
    dialect: Dialect,
    team: String,
    cutter: LineCutter,
    phase: Phase,
    wake: Option<RealTime>,
    /// Outstanding commands, oldest first; of a flooder also those that the server dropped.
    open: VecDeque<CommandKind>,
    is_in_elevation: bool,
    /// An elevation ended; it may have been started by this agent.
    has_elevation_result: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// It named its team.
    Named,
    /// It received the first of the two lines that confirm a join.
    Counted,
    Playing,
    Dead,
}

impl Agent {
    pub(super) fn new(role: Role, config: &EngineConfig, rng: &mut Rng) -> Self {
        Self {
            role,
            dialect: config.dialect,
            team: rng.pick(&config.game.teams).clone(),
            cutter: LineCutter::with_max(ANSWER_BYTES_MAX),
            phase: Phase::Greeting,
            wake: None,
            open: VecDeque::new(),
            is_in_elevation: false,
            has_elevation_result: false,
        }
    }

    fn is_flooder(&self) -> bool {
        matches!(self.role, Role::Flooder | Role::SlowReader)
    }

    fn handle_line(&mut self, line: &AiLine<'_>, context: &Context<'_>) -> CheckResult {
        match (self.phase, line) {
            (Phase::Greeting, AiLine::Welcome) => {
                self.phase = Phase::Named;
                self.wake = Some(context.now);
            }
            // No place is free; retry later.
            (Phase::Named, AiLine::Percept(Percept::Ko)) => {
                self.wake = (!context.is_settling).then(|| context.now + JOIN_RETRY_DELAY);
            }
            (Phase::Named, AiLine::Percept(Percept::Places(_))) => self.phase = Phase::Counted,
            (Phase::Counted, AiLine::Size(..)) => {
                self.phase = Phase::Playing;
                self.wake = Some(context.now);
            }
            (Phase::Playing, AiLine::Dead) => {
                self.phase = Phase::Dead;
                self.open.clear();
            }
            (Phase::Playing, AiLine::Percept(percept)) => return self.perceive(percept),
            (phase, line) => bail!("an agent in {phase:?} received {line:?}"),
        }
        Ok(())
    }

    fn perceive(&mut self, percept: &Percept) -> CheckResult {
        match percept {
            Percept::Message { .. } | Percept::Pushed { .. } => {}
            Percept::ElevationUnderway => self.is_in_elevation = true,
            Percept::Level(_) | Percept::Ko if self.is_in_elevation => {
                self.is_in_elevation = false;
                self.has_elevation_result = true;
            }
            Percept::Level(_) => bail!("an elevation ended that had not begun"),
            answer => return self.handle_answer(answer),
        }
        Ok(())
    }

    fn handle_answer(&mut self, answer: &Percept) -> CheckResult {
        // The elevation that ended may be this agent's own: then this line answers the command after it.
        let was_own = self.open.front() == Some(&CommandKind::Incantation) && *answer != Percept::Ko;
        if std::mem::take(&mut self.has_elevation_result) && was_own {
            self.open.pop_front();
        }
        let Some(open) = self.open.pop_front() else {
            bail!("{answer:?} answers nothing");
        };
        let fits = match open {
            CommandKind::Look => matches!(answer, Percept::Look(_)),
            CommandKind::Inventory => matches!(answer, Percept::Inventory { .. }),
            CommandKind::ConnectNbr => matches!(answer, Percept::Places(_)),
            CommandKind::Incantation => *answer == Percept::Ko,
            _ => matches!(answer, Percept::Ok | Percept::Ko),
        };
        ensure!(fits || self.is_flooder(), "{answer:?} answers {open:?}");
        Ok(())
    }

    fn send(&mut self, command: &Command, out: &mut Vec<u8>) {
        write_command(out, self.dialect, command);
        self.open.extend(command.kind());
    }

    fn send_commands(&mut self, rng: &mut Rng, out: &mut Vec<u8>) {
        match self.role {
            Role::Flooder | Role::SlowReader => {
                let command = rng
                    .pick(&[Command::Look, Command::Inventory, Command::ConnectNbr])
                    .clone();
                for _ in 0..rng.between(1, 60) {
                    self.send(&command, out);
                }
            }
            Role::Incanter if self.open.is_empty() && !rng.one_in(3) => {
                self.send(&Command::Incantation, out);
                self.send(&Command::ConnectNbr, out);
            }
            Role::Random => {
                let room = OPEN_MAX - self.open.len();
                for _ in 0..room.min(rng.between(1, 10) as usize) {
                    self.send(&draw_command(rng), out);
                }
            }
            _ if self.open.is_empty() => self.send(&draw_command(rng), out),
            _ => {}
        }
    }
}

/// A command; `Take` is frequent enough that agents survive.
fn draw_command(rng: &mut Rng) -> Command {
    let resource = *rng.pick(&Resource::ALL);
    match rng.below(14) {
        0 | 1 => Command::Forward,
        2 => Command::Turn(Turn::Right),
        3 => Command::Turn(Turn::Left),
        4 => Command::Look,
        5 | 6 => Command::Inventory,
        7 => {
            let length = rng.between(1, 40);
            let mut text = rng.bytes(length);
            text.retain(|byte| !matches!(byte, b'\n' | b'\r'));
            // A broadcast is never empty.
            text.push(b'!');
            Command::Broadcast(text.into())
        }
        8 => Command::ConnectNbr,
        9 => Command::Fork,
        10 => Command::Eject,
        11 => Command::Set(resource),
        _ => Command::Take(resource),
    }
}

impl Actor for Agent {
    fn receive(&mut self, bytes: &[u8], context: &Context<'_>) -> CheckResult {
        for line in lines(&mut self.cutter, bytes)? {
            let line = parse_server_line(self.dialect, &line);
            let is_answer =
                self.phase == Phase::Playing && !self.is_flooder() && line == AiLine::Percept(Percept::Ok);
            if !(is_answer && context.injector.injects(Fault::DroppedReply)) {
                self.handle_line(&line, context)?;
            }
        }
        Ok(())
    }

    fn act(&mut self, context: &Context<'_>, rng: &mut Rng, out: &mut Vec<u8>) -> bool {
        if self.wake.is_none_or(|wake| wake > context.now) {
            return true;
        }
        self.wake = None;
        match self.phase {
            Phase::Named => {
                out.extend_from_slice(self.team.as_bytes());
                out.push(b'\n');
            }
            Phase::Playing if !context.is_settling => {
                self.wake = Some(context.now + rng.millis(1, 80));
                self.send_commands(rng, out);
                return !rng.one_in(400);
            }
            _ => {}
        }
        true
    }

    fn wake(&self) -> Option<RealTime> {
        self.wake
    }

    fn reading_pause(&self) -> RealSpan {
        RealSpan::from_millis(if self.role == Role::SlowReader { 60 } else { 0 })
    }

    fn check_done(&self) -> CheckResult {
        let is_done = self.open.is_empty() || self.phase != Phase::Playing || self.is_flooder();
        ensure!(is_done, "no answer came to {:?}", self.open);
        Ok(())
    }
}
