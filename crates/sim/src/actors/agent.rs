//! Agents: check that each command is answered, in order.

use std::collections::VecDeque;

use trantor_engine::EngineConfig;
use trantor_model::{CommandKind, Resource};
use trantor_protocol::limits::ANSWER_BYTES_MAX;
use trantor_protocol::text::{LineCutter, Words};
use trantor_time::{RealSpan, RealTime};

use super::{Actor, CheckResult, Context, lines};
use crate::fault::{Fault, FaultInjector};
use crate::plan::Role;
use crate::rng::Rng;

/// Most outstanding commands.
const OPEN_MAX: usize = trantor_game::OUTSTANDING_MAX;

/// Delay before an agent without a place names its team again.
const JOIN_RETRY_DELAY: RealSpan = RealSpan::from_millis(300);

/// See the module.
pub(crate) struct Agent {
    role: Role,
    words: &'static Words,
    team: String,
    cutter: LineCutter,
    phase: Phase,
    wake: Option<RealTime>,
    is_winding_down: bool,
    /// Outstanding commands, oldest first.
    open: VecDeque<CommandKind>,
    is_in_ritual: bool,
    /// An elevation ended; it may have been started by this agent.
    has_ritual_result: bool,
    /// Commands and answers of a flooder.
    sent: u64,
    answered: u64,
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
    Away,
}

impl Agent {
    pub(crate) fn new(role: Role, config: &EngineConfig, rng: &mut Rng) -> Self {
        Self {
            role,
            words: config.dialect.words(),
            team: rng.pick(&config.game.teams).clone(),
            cutter: LineCutter::with_max(ANSWER_BYTES_MAX),
            phase: Phase::Away,
            wake: None,
            is_winding_down: false,
            open: VecDeque::new(),
            is_in_ritual: false,
            has_ritual_result: false,
            sent: 0,
            answered: 0,
        }
    }

    fn is_strict(&self) -> bool {
        !matches!(self.role, Role::Flooder | Role::SlowReader)
    }

    fn handle_line(&mut self, line: &[u8], context: &Context<'_>) -> CheckResult {
        let shown = || String::from_utf8_lossy(line).into_owned();
        match self.phase {
            Phase::Greeting if line == self.words.greeting.as_bytes() => {
                self.phase = Phase::Named;
                self.wake = Some(context.now);
                Ok(())
            }
            Phase::Named if line == b"ko" => {
                // No place is free; retry later.
                self.wake = (!self.is_winding_down).then(|| context.now + JOIN_RETRY_DELAY);
                Ok(())
            }
            Phase::Named if line.iter().all(u8::is_ascii_digit) => {
                self.phase = Phase::Counted;
                Ok(())
            }
            Phase::Counted => {
                self.phase = Phase::Playing;
                self.wake = Some(context.now);
                Ok(())
            }
            Phase::Playing => self.handle_playing_line(line),
            phase => Err(format!("an agent in {phase:?} received {:?}", shown())),
        }
    }

    fn handle_playing_line(&mut self, line: &[u8]) -> CheckResult {
        let words = self.words;
        let begins = |word: &str| line.starts_with(word.as_bytes());
        if begins("message ") || begins(words.ejected) {
            return Ok(());
        }
        if line == words.dead.as_bytes() {
            self.phase = Phase::Dead;
            self.open.clear();
            return Ok(());
        }
        if line == words.elevation_underway.as_bytes() {
            self.is_in_ritual = true;
            return Ok(());
        }
        let is_result = begins(words.current_level) || (self.is_in_ritual && line == b"ko");
        if is_result {
            if !std::mem::take(&mut self.is_in_ritual) {
                return Err("an elevation ended that had not begun".to_owned());
            }
            self.has_ritual_result = true;
            return Ok(());
        }
        if !self.is_strict() {
            self.answered += 1;
            let is_more = self.answered > self.sent;
            return if is_more {
                Err("more answers than commands".to_owned())
            } else {
                Ok(())
            };
        }
        self.handle_answer(line)
    }

    fn handle_answer(&mut self, line: &[u8]) -> CheckResult {
        let shown = || String::from_utf8_lossy(line).into_owned();
        // The elevation that ended may be this agent's own: then this line answers the command after it.
        if self.has_ritual_result
            && line != b"ko"
            && self
                .open
                .front()
                .is_some_and(|kind| *kind == CommandKind::Incantation)
        {
            self.open.pop_front();
        }
        self.has_ritual_result = false;
        let Some(open) = self.open.pop_front() else {
            return Err(format!("{:?} answers nothing", shown()));
        };
        let is_list = matches!(line.first(), Some(b'[' | b'{'));
        let is_number = !line.is_empty() && line.iter().all(u8::is_ascii_digit);
        let fits = match open {
            CommandKind::Look | CommandKind::Inventory => is_list,
            CommandKind::ConnectNbr => is_number,
            CommandKind::Incantation => line == b"ko",
            _ => line == b"ok" || line == b"ko",
        };
        if !fits {
            return Err(format!("{:?} answers {:?}", shown(), open));
        }
        Ok(())
    }

    fn send_command(&mut self, kind: CommandKind, rng: &mut Rng, out: &mut Vec<u8>) {
        out.extend_from_slice(self.words.command_word(kind).as_bytes());
        match kind {
            CommandKind::Broadcast => {
                out.push(b' ');
                let said = rng.between(1, 40);
                out.extend(
                    rng.bytes(said)
                        .into_iter()
                        .filter(|byte| !matches!(byte, b'\n' | b'\r')),
                );
                // A broadcast is never empty.
                out.push(b'!');
            }
            CommandKind::Take | CommandKind::Set => {
                out.push(b' ');
                let resource = *rng.pick(&Resource::ALL);
                out.extend_from_slice(self.words.resource_word(resource).as_bytes());
            }
            _ => {}
        }
        out.push(b'\n');
        self.sent += 1;
        if !self.is_strict() {
            return;
        }
        self.open.push_back(kind);
    }
}

/// Commands of agents; `Take` is frequent enough that they survive.
const KINDS: [CommandKind; 14] = [
    CommandKind::Forward,
    CommandKind::Forward,
    CommandKind::Right,
    CommandKind::Left,
    CommandKind::Look,
    CommandKind::Inventory,
    CommandKind::Inventory,
    CommandKind::Broadcast,
    CommandKind::ConnectNbr,
    CommandKind::Fork,
    CommandKind::Eject,
    CommandKind::Take,
    CommandKind::Take,
    CommandKind::Set,
];

impl Actor for Agent {
    fn connected(&mut self, _: Option<String>, _: RealTime) {
        self.cutter = LineCutter::with_max(ANSWER_BYTES_MAX);
        self.phase = Phase::Greeting;
        self.wake = None;
        self.open.clear();
        self.is_in_ritual = false;
        self.has_ritual_result = false;
        (self.sent, self.answered) = (0, 0);
    }

    fn receive(&mut self, bytes: &[u8], context: &Context<'_>, injector: &mut FaultInjector) -> CheckResult {
        for line in lines(&mut self.cutter, bytes)? {
            let is_answer = self.phase == Phase::Playing && self.is_strict() && line == b"ok";
            if !(is_answer && injector.injects(Fault::DroppedReply)) {
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
            Phase::Playing if !self.is_winding_down => {
                self.wake = Some(context.now + RealSpan::from_millis(i64::from(rng.between(1, 80))));
                match self.role {
                    Role::Flooder | Role::SlowReader => {
                        let kind =
                            *rng.pick(&[CommandKind::Look, CommandKind::Inventory, CommandKind::ConnectNbr]);
                        for _ in 0..rng.between(1, 60) {
                            self.send_command(kind, rng, out);
                        }
                    }
                    Role::Incanter if self.open.is_empty() && !rng.one_in(3) => {
                        self.send_command(CommandKind::Incantation, rng, out);
                        self.send_command(CommandKind::ConnectNbr, rng, out);
                    }
                    role => {
                        let room = OPEN_MAX - self.open.len();
                        let most = if role == Role::Random { 10 } else { 1 };
                        let is_free = role == Role::Random || self.open.is_empty();
                        let count = if is_free {
                            room.min(rng.between(1, most) as usize)
                        } else {
                            0
                        };
                        for _ in 0..count {
                            let kind = *rng.pick(&KINDS);
                            self.send_command(kind, rng, out);
                        }
                    }
                }
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
        let is_slow = self.role == Role::SlowReader && !self.is_winding_down;
        RealSpan::from_millis(if is_slow { 60 } else { 0 })
    }

    fn wind_down(&mut self) {
        self.is_winding_down = true;
    }

    fn disconnected(&mut self, _: RealTime) {
        self.phase = Phase::Away;
        self.wake = None;
        self.open.clear();
    }

    fn check_done(&self, _: RealTime) -> CheckResult {
        let awaits = self.open.front().filter(|_| self.phase == Phase::Playing);
        awaits.map_or(Ok(()), |open| Err(format!("no answer came to {:?}", open)))
    }
}
