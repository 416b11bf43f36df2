//! Agents: every answer is awaited, in order, and none may come sooner than its command takes.

use std::collections::VecDeque;

use trantor_engine::EngineConfig;
use trantor_model::{CommandKind, Resource};
use trantor_protocol::limits::ANSWER_BYTES_MAX;
use trantor_protocol::text::{Cut, LineCutter, Words};
use trantor_time::{GameSpan, GameTime, RealSpan, RealTime};

use super::{Actor, CheckResult, Moment};
use crate::access::TokenNumber;
use crate::fault::{Fault, Sabotage};
use crate::plan::Role;
use crate::rng::Rng;

/// Commands an agent may have open; see [`trantor_game::OUTSTANDING_MAX`].
const OPEN_MAX: usize = trantor_game::OUTSTANDING_MAX;

/// How long an agent without a place waits before it asks again.
const NEXT_TRY: RealSpan = RealSpan::from_millis(300);

/// See the module.
pub(crate) struct Agent {
    role: Role,
    words: &'static Words,
    team: String,
    cutter: LineCutter,
    phase: Phase,
    wake: Option<RealTime>,
    is_resting: bool,
    /// What answers are owed for, oldest first.
    open: VecDeque<Open>,
    /// No further answer comes before this.
    game_least: GameTime,
    is_in_ritual: bool,
    /// An elevation ended that may have been the one asked for.
    has_ritual_result: bool,
    /// For those who send more than they may: what they sent, and what came back.
    sent: u64,
    answered: u64,
}

/// A command whose answer is awaited.
#[derive(Clone, Copy, Debug)]
struct Open {
    kind: CommandKind,
    /// Its answer comes no sooner.
    game_least: GameTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// It named its team.
    Named,
    /// The first line of the two that let it in has come.
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
            is_resting: false,
            open: VecDeque::new(),
            game_least: GameTime::ZERO,
            is_in_ritual: false,
            has_ritual_result: false,
            sent: 0,
            answered: 0,
        }
    }

    fn is_strict(&self) -> bool {
        !matches!(self.role, Role::Flooder | Role::SlowReader)
    }

    fn hear_line(&mut self, line: &[u8], moment: &Moment<'_>) -> CheckResult {
        let shown = || String::from_utf8_lossy(line).into_owned();
        match self.phase {
            Phase::Greeting if line == self.words.greeting.as_bytes() => {
                self.phase = Phase::Named;
                self.wake = Some(moment.now);
                Ok(())
            }
            Phase::Named if line == b"ko" => {
                // No place is left; there may be one later.
                self.wake = (!self.is_resting).then(|| moment.now + NEXT_TRY);
                Ok(())
            }
            Phase::Named if line.iter().all(u8::is_ascii_digit) => {
                self.phase = Phase::Counted;
                Ok(())
            }
            Phase::Counted => {
                self.phase = Phase::Playing;
                self.wake = Some(moment.now);
                Ok(())
            }
            Phase::Playing => self.hear_playing(line, moment),
            phase => Err(format!("an agent that is {phase:?} heard {:?}", shown())),
        }
    }

    fn hear_playing(&mut self, line: &[u8], moment: &Moment<'_>) -> CheckResult {
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
        self.hear_answer(line, moment)
    }

    fn hear_answer(&mut self, line: &[u8], moment: &Moment<'_>) -> CheckResult {
        let shown = || String::from_utf8_lossy(line).into_owned();
        // An elevation that ended may have been the one that was asked for: then the next answer is to what
        // was asked after it.
        if self.has_ritual_result
            && line != b"ko"
            && self
                .open
                .front()
                .is_some_and(|open| open.kind == CommandKind::Incantation)
        {
            self.open.pop_front();
        }
        self.has_ritual_result = false;
        let Some(open) = self.open.pop_front() else {
            return Err(format!("{:?} answers nothing", shown()));
        };
        let is_list = matches!(line.first(), Some(b'[' | b'{'));
        let is_number = !line.is_empty() && line.iter().all(u8::is_ascii_digit);
        let fits = match open.kind {
            CommandKind::Look | CommandKind::Inventory => is_list,
            CommandKind::ConnectNbr => is_number,
            CommandKind::Incantation => line == b"ko",
            _ => line == b"ok" || line == b"ko",
        };
        if !fits {
            return Err(format!("{:?} answers {:?}", shown(), open.kind));
        }
        if moment.game_most < open.game_least {
            return Err(format!(
                "{:?} was answered at {:?}, which takes until {:?}",
                open.kind, moment.game_most, open.game_least
            ));
        }
        Ok(())
    }

    fn say(&mut self, kind: CommandKind, moment: &Moment<'_>, rng: &mut Rng, out: &mut Vec<u8>) {
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
                // Something is always left to be said.
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
        // A refused elevation takes no time.
        let units = match kind {
            CommandKind::Incantation => 0,
            kind => i64::from(kind.duration_units()),
        };
        self.game_least = self.game_least.max(moment.game_least) + GameSpan::from_units(units);
        self.open.push_back(Open {
            kind,
            game_least: self.game_least,
        });
    }
}

/// What agents ask for, food and stones often enough to live.
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
    fn opened(&mut self, _: Option<TokenNumber>, _: RealTime) {
        self.cutter = LineCutter::with_max(ANSWER_BYTES_MAX);
        self.phase = Phase::Greeting;
        self.wake = None;
        self.open.clear();
        self.game_least = GameTime::ZERO;
        self.is_in_ritual = false;
        self.has_ritual_result = false;
        (self.sent, self.answered) = (0, 0);
    }

    fn hear(&mut self, mut bytes: &[u8], moment: &Moment<'_>, sabotage: &mut Sabotage) -> CheckResult {
        let mut cutter = std::mem::take(&mut self.cutter);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(cut) = cutter.next(&mut bytes)
        {
            let Cut::Line(line) = cut else {
                result = Err("the server sent a line without end".to_owned());
                break;
            };
            let is_answer = self.phase == Phase::Playing && self.is_strict() && line == b"ok";
            if is_answer && sabotage.strikes(Fault::DroppedReply) {
                continue;
            }
            result = self.hear_line(line, moment);
        }
        self.cutter = cutter;
        result
    }

    fn act(&mut self, moment: &Moment<'_>, rng: &mut Rng, out: &mut Vec<u8>) -> bool {
        if self.wake.is_none_or(|wake| wake > moment.now) {
            return true;
        }
        self.wake = None;
        match self.phase {
            Phase::Named => {
                out.extend_from_slice(self.team.as_bytes());
                out.push(b'\n');
            }
            Phase::Playing if !self.is_resting => {
                self.wake = Some(moment.now + RealSpan::from_millis(i64::from(rng.between(1, 80))));
                match self.role {
                    Role::Flooder | Role::SlowReader => {
                        let kind =
                            *rng.pick(&[CommandKind::Look, CommandKind::Inventory, CommandKind::ConnectNbr]);
                        for _ in 0..rng.between(1, 60) {
                            self.say(kind, moment, rng, out);
                        }
                    }
                    Role::Asker if self.open.is_empty() && !rng.one_in(3) => {
                        self.say(CommandKind::Incantation, moment, rng, out);
                        self.say(CommandKind::ConnectNbr, moment, rng, out);
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
                            self.say(kind, moment, rng, out);
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
        let is_slow = self.role == Role::SlowReader && !self.is_resting;
        RealSpan::from_millis(if is_slow { 60 } else { 0 })
    }

    fn rest(&mut self) {
        self.is_resting = true;
    }

    fn gone(&mut self, _: RealTime) {
        self.phase = Phase::Away;
        self.wake = None;
        self.open.clear();
    }

    fn check_done(&self, _: RealTime) -> CheckResult {
        let awaits = self.open.front().filter(|_| self.phase == Phase::Playing);
        awaits.map_or(Ok(()), |open| Err(format!("no answer came to {:?}", open.kind)))
    }
}
