//! The bytecode of a source: read, guarded, and written again.
//!
//! Luau's compiler is the only program that reads sources, so what a script does is known from what it is compiled to and
//! from nothing else. Three kinds of instructions cost or decide more than their step says. Each is moved to the end of its
//! function, behind a guard, and its place holds a jump to it; nothing else moves, so jumps, lines and captures stay valid:
//!
//! - `SETTABLE` with a key that may be a table or a function: such keys are hashed by their address, so the order of the
//!   table would differ from run to run. The guard passes numbers, texts and booleans, and calls [`KEY_GUARD`] with others.
//! - `CONCAT`: the guard calls [`TEXT_GUARD`] with a text that is longer than [`TEXT_MAX`].
//! - Each 128th instruction in a row, or each 16th that may read a number from a text: a jump that counts as a step, so that code without loops and calls is counted too.
//!
//! The format is Luau's own and changes with its version. Whatever is not as expected is refused, never guessed.

use std::collections::HashMap;

use crate::limits::{STRAIGHT_INSTRUCTIONS, TEXT_INSTRUCTIONS, TEXT_MAX};

/// The function of the prelude that refuses a key. No name of a script contains a space.
pub(crate) const KEY_GUARD: &str = "key guard";

/// The function of the prelude that refuses a text.
pub(crate) const TEXT_GUARD: &str = "text guard";

/// The key that makes a table weak: when its entries go depends on the collector.
const WEAK: &[u8] = b"__mode";

/// Registers that a guard uses beyond those of its function, and the most that there can be.
const GUARD_REGISTERS: u8 = 2;

/// What Luau's compiler writes.
const VERSION: u8 = 9;
const TYPES_VERSION: u8 = 3;

/// Fast calls by number.
const FAST_TYPE: u8 = 40;
const FAST_RAWLEN: u8 = 58;

/// Instructions by number.
pub(crate) mod op {
    pub(crate) const LOADNIL: u8 = 2;
    pub(crate) const LOADB: u8 = 3;
    pub(crate) const LOADN: u8 = 4;
    pub(crate) const LOADK: u8 = 5;
    pub(crate) const MOVE: u8 = 6;
    pub(crate) const GETGLOBAL: u8 = 7;
    pub(crate) const SETGLOBAL: u8 = 8;
    pub(crate) const GETUPVAL: u8 = 9;
    pub(crate) const SETUPVAL: u8 = 10;
    pub(crate) const CLOSEUPVALS: u8 = 11;
    pub(crate) const GETIMPORT: u8 = 12;
    pub(crate) const GETTABLE: u8 = 13;
    pub(crate) const SETTABLE: u8 = 14;
    pub(crate) const GETTABLEKS: u8 = 15;
    pub(crate) const SETTABLEKS: u8 = 16;
    pub(crate) const GETTABLEN: u8 = 17;
    pub(crate) const SETTABLEN: u8 = 18;
    pub(crate) const NEWCLOSURE: u8 = 19;
    pub(crate) const NAMECALL: u8 = 20;
    pub(crate) const CALL: u8 = 21;
    pub(crate) const RETURN: u8 = 22;
    pub(crate) const JUMP: u8 = 23;
    pub(crate) const JUMPBACK: u8 = 24;
    pub(crate) const JUMPIFLE: u8 = 28;
    pub(crate) const JUMPIFNOTLT: u8 = 32;
    pub(crate) const ADD: u8 = 33;
    pub(crate) const POW: u8 = 38;
    pub(crate) const ADDK: u8 = 39;
    pub(crate) const POWK: u8 = 44;
    pub(crate) const ORK: u8 = 48;
    pub(crate) const CONCAT: u8 = 49;
    pub(crate) const NOT: u8 = 50;
    pub(crate) const MINUS: u8 = 51;
    pub(crate) const LENGTH: u8 = 52;
    pub(crate) const NEWTABLE: u8 = 53;
    pub(crate) const DUPTABLE: u8 = 54;
    pub(crate) const SETLIST: u8 = 55;
    pub(crate) const FORNPREP: u8 = 56;
    pub(crate) const FORNLOOP: u8 = 57;
    pub(crate) const FORGLOOP: u8 = 58;
    pub(crate) const FORGPREP_INEXT: u8 = 59;
    pub(crate) const FASTCALL3: u8 = 60;
    pub(crate) const FORGPREP_NEXT: u8 = 61;
    pub(crate) const GETVARARGS: u8 = 63;
    pub(crate) const DUPCLOSURE: u8 = 64;
    pub(crate) const PREPVARARGS: u8 = 65;
    pub(crate) const LOADKX: u8 = 66;
    pub(crate) const JUMPX: u8 = 67;
    pub(crate) const FASTCALL: u8 = 68;
    pub(crate) const CAPTURE: u8 = 70;
    pub(crate) const SUBRK: u8 = 71;
    pub(crate) const DIVRK: u8 = 72;
    pub(crate) const FASTCALL1: u8 = 73;
    pub(crate) const FASTCALL2: u8 = 74;
    pub(crate) const FASTCALL2K: u8 = 75;
    pub(crate) const FORGPREP: u8 = 76;
    pub(crate) const JUMPXEQKNIL: u8 = 77;
    pub(crate) const JUMPXEQKS: u8 = 80;
    pub(crate) const IDIV: u8 = 81;
    pub(crate) const IDIVK: u8 = 82;
}

/// What is wrong with a source, and on which line; 0 if it has none.
pub(crate) type Refusal = (u32, String);

/// Reads bytes in order.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn word(&mut self) -> Option<u32> {
        let bytes = self.take(4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    }

    /// Seven bits a byte, the least significant first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn index(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A list with its length before it. Each entry has a byte at least, so no length is believed that the rest cannot hold.
    fn list<T>(&mut self, mut entry: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = usize::try_from(self.number()?)
            .ok()
            .filter(|count| *count <= self.0.len())?;
        (0..count).map(|_| entry(self)).collect()
    }
}

fn write_number(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// An entry of a function's table of constants.
pub(crate) enum Constant {
    Number,
    /// A text, by its number from 1.
    Text(u32),
    /// The keys of a table, as constants.
    Table(Vec<u32>),
    /// A path of one to three names, as constants.
    Import(Vec<u32>),
    /// A function, by number.
    Function(u32),
    Other,
}

/// One function.
pub(crate) struct Proto<'a> {
    registers: u8,
    /// Parameters, upvalues, whether it takes more arguments, and flags.
    pub(crate) counts: [u8; 4],
    types: &'a [u8],
    pub(crate) code: Vec<u32>,
    pub(crate) constants: Vec<Constant>,
    /// The constants as they are written, without their number.
    constant_bytes: Vec<u8>,
    pub(crate) children: Vec<u32>,
    /// Where it begins, and its name.
    defined: [u32; 2],
    /// The line of each word of the code.
    pub(crate) lines: Vec<u32>,
}

/// A source as it was compiled.
pub(crate) struct Chunk<'a> {
    texts: Vec<std::borrow::Cow<'a, [u8]>>,
    pub(crate) protos: Vec<Proto<'a>>,
    pub(crate) main: u32,
}

/// An instruction: its number, and its operands as registers or as a distance.
#[derive(Clone, Copy)]
pub(crate) struct Instruction(pub(crate) u32);

impl Instruction {
    fn new(op: u8, a: u8, b: u8, c: u8) -> Self {
        Self(u32::from_le_bytes([op, a, b, c]))
    }

    /// With a distance.
    fn far(op: u8, a: u8, distance: i16) -> Self {
        let [low, high] = distance.to_le_bytes();
        Self::new(op, a, low, high)
    }

    pub(crate) fn op(self) -> u8 {
        self.0.to_le_bytes()[0]
    }

    pub(crate) fn a(self) -> u8 {
        self.0.to_le_bytes()[1]
    }

    pub(crate) fn b(self) -> u8 {
        self.0.to_le_bytes()[2]
    }

    pub(crate) fn c(self) -> u8 {
        self.0.to_le_bytes()[3]
    }

    pub(crate) fn d(self) -> i16 {
        (self.0 >> 16) as i16
    }

    /// Words that it takes; none if it is not known.
    pub(crate) fn words(self) -> Option<usize> {
        Some(match self.op() {
            op::GETGLOBAL
            | op::SETGLOBAL
            | op::GETIMPORT
            | op::GETTABLEKS
            | op::SETTABLEKS
            | op::NAMECALL => 2,
            27..=op::JUMPIFNOTLT | op::NEWTABLE | op::SETLIST | op::FORGLOOP | op::LOADKX => 2,
            op::FASTCALL3 | op::FASTCALL2 | op::FASTCALL2K | op::JUMPXEQKNIL..=op::JUMPXEQKS => 2,
            0 | op::LOADNIL..=op::IDIVK if !matches!(self.op(), 62 | 69) => 1,
            _ => return None,
        })
    }

    /// Where it may jump to, as a distance from the word after it.
    pub(crate) fn jump(self) -> Option<i64> {
        Some(match self.op() {
            op::LOADB if self.c() > 0 => self.c().into(),
            op::JUMPX => i64::from((self.0 as i32) >> 8),
            op::JUMP..=op::JUMPIFNOTLT | op::FORNPREP..=op::FORGPREP_INEXT => self.d().into(),
            op::FORGPREP_NEXT | op::FORGPREP | op::JUMPXEQKNIL..=op::JUMPXEQKS => self.d().into(),
            _ => return None,
        })
    }
}

impl<'a> Chunk<'a> {
    /// Reads what the compiler wrote.
    pub(crate) fn read(bytecode: &'a [u8]) -> Option<Self> {
        let mut from = Reader(bytecode);
        if [from.byte()?, from.byte()?] != [VERSION, TYPES_VERSION] {
            return None;
        }
        let texts = from.list(|from| {
            let length = from.number()?.try_into().ok()?;
            from.take(length).map(Into::into)
        })?;
        // Types of the host's own values: there are none.
        if from.byte()? != 0 {
            return None;
        }
        let protos = from.list(Proto::read)?;
        let main = from.index()?;
        let is_whole = from.0.is_empty() && (main as usize) < protos.len();
        let chunk = Self { texts, protos, main };
        (is_whole && chunk.protos.iter().all(|proto| chunk.holds_together(proto))).then_some(chunk)
    }

    /// Whether all that is referred to is there, so that nothing below needs to ask.
    fn holds_together(&self, proto: &Proto<'_>) -> bool {
        let has = |constant: &u32| (*constant as usize) < proto.constants.len();
        let constants = proto.constants.iter().all(|constant| match constant {
            Constant::Text(text) => (1..=self.texts.len()).contains(&(*text as usize)),
            Constant::Table(keys) | Constant::Import(keys) => keys.iter().all(has),
            Constant::Function(function) => (*function as usize) < self.protos.len(),
            Constant::Number | Constant::Other => true,
        });
        let children = proto
            .children
            .iter()
            .all(|child| (*child as usize) < self.protos.len());
        let mut at = 0;
        while at < proto.code.len() {
            let Some(words) = Instruction(proto.code[at]).words() else {
                return false;
            };
            let target = Instruction(proto.code[at])
                .jump()
                .map_or(0, |jump| at as i64 + 1 + jump);
            if !(0..proto.code.len() as i64).contains(&target) {
                return false;
            }
            at += words;
        }
        constants && children && at == proto.code.len() && proto.lines.len() == at
    }

    /// A text that a constant of a function is.
    pub(crate) fn text(&self, proto: &Proto<'_>, constant: u32) -> &[u8] {
        match proto.constants.get(constant as usize) {
            Some(Constant::Text(text)) => self.text_numbered(*text),
            _ => b"",
        }
    }

    /// A text by its number from 1.
    pub(crate) fn text_numbered(&self, number: u32) -> &[u8] {
        &self.texts[number as usize - 1]
    }

    /// Puts the guards in.
    pub(crate) fn guard(&mut self) -> Result<(), Refusal> {
        if let Some(long) = self.texts.iter().find(|text| text.len() > TEXT_MAX) {
            let length = long.len();
            return Err((
                0,
                format!("a text of {length} bytes: a text has at most {TEXT_MAX}"),
            ));
        }
        let mut text_ids = HashMap::new();
        for text in ["number", "string", "__mode", KEY_GUARD, TEXT_GUARD] {
            let found = self.texts.iter().position(|known| **known == *text.as_bytes());
            let place = found.unwrap_or_else(|| {
                self.texts.push(text.as_bytes().into());
                self.texts.len() - 1
            });
            text_ids.insert(text, place as u32 + 1);
        }
        for number in 0..self.protos.len() {
            self.refuse_weak(&self.protos[number])?;
            let plan = plan(&self.protos[number]);
            if !plan.is_empty() {
                Guarding::new(&mut self.protos[number], &text_ids)?.run(&plan);
            }
        }
        Ok(())
    }

    /// Refuses `t.__mode = …` and `{ __mode = … }`.
    fn refuse_weak(&self, proto: &Proto<'_>) -> Result<(), Refusal> {
        for (at, instruction) in proto.instructions() {
            let is_weak = match instruction.op() {
                op::SETTABLEKS => self.text(proto, proto.code[at + 1]) == WEAK,
                op::DUPTABLE => match proto.constants.get(usize::from(instruction.d() as u16)) {
                    Some(Constant::Table(keys)) => keys.iter().any(|key| self.text(proto, *key) == WEAK),
                    _ => false,
                },
                _ => false,
            };
            if is_weak {
                return Err((
                    proto.lines[at],
                    "weak tables (__mode) are not available".to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// Writes what the VM loads.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut into = vec![VERSION, TYPES_VERSION];
        write_number(&mut into, self.texts.len() as u64);
        for text in &self.texts {
            write_number(&mut into, text.len() as u64);
            into.extend_from_slice(text);
        }
        into.push(0);
        write_number(&mut into, self.protos.len() as u64);
        for proto in &self.protos {
            proto.write(&mut into);
        }
        write_number(&mut into, self.main.into());
        into
    }
}

impl<'a> Proto<'a> {
    fn read(from: &mut Reader<'a>) -> Option<Self> {
        let registers = from.byte()?;
        let counts = from.take(4)?.try_into().ok()?;
        let length = from.number()?.try_into().ok()?;
        let types = from.take(length)?;
        let code = from.list(Reader::word)?;
        let begin = from.0;
        let constants = from.list(Constant::read)?;
        let mut written = Reader(&begin[..begin.len() - from.0.len()]);
        written.number()?;
        let children = from.list(Reader::index)?;
        let defined = [from.index()?, from.index()?];
        let lines = if from.byte()? == 1 {
            let log = from.byte().filter(|log| *log < 32)?;
            let mut line = 0u8;
            let within: Vec<u8> = (code.iter())
                .map(|_| from.byte().map(|more| (line = line.wrapping_add(more), line).1))
                .collect::<Option<_>>()?;
            let intervals = (code.len().checked_sub(1)? >> log) + 1;
            let mut base = 0u32;
            let bases: Vec<u32> = (0..intervals)
                .map(|_| from.word().map(|more| (base = base.wrapping_add(more), base).1))
                .collect::<Option<_>>()?;
            let line = |(at, within): (usize, &u8)| bases[at >> log].wrapping_add((*within).into());
            within.iter().enumerate().map(line).collect()
        } else {
            vec![0; code.len()]
        };
        // Names of locals are not asked for.
        (from.byte()? == 0).then_some(Self {
            registers,
            counts,
            types,
            code,
            constants,
            constant_bytes: written.0.to_vec(),
            children,
            defined,
            lines,
        })
    }

    fn write(&self, into: &mut Vec<u8>) {
        into.push(self.registers);
        into.extend_from_slice(&self.counts);
        write_number(into, self.types.len() as u64);
        into.extend_from_slice(self.types);
        write_number(into, self.code.len() as u64);
        into.extend(self.code.iter().flat_map(|word| word.to_le_bytes()));
        write_number(into, self.constants.len() as u64);
        into.extend_from_slice(&self.constant_bytes);
        write_number(into, self.children.len() as u64);
        for number in self.children.iter().chain(&self.defined) {
            write_number(into, (*number).into());
        }
        if self.lines.contains(&0) {
            into.extend([0, 0]);
            return;
        }
        // A line is the least of its interval, and a byte more.
        let fits = |log: &u32| {
            self.lines.chunks(1 << log).all(|lines| {
                let [least, most] =
                    [lines.iter().min(), lines.iter().max()].map(|line| line.copied().unwrap_or(0));
                most - least <= u8::MAX.into()
            })
        };
        let log = (0..=24).rev().find(fits).unwrap_or(0);
        into.extend([1, log as u8]);
        let bases: Vec<u32> = (self.lines.chunks(1 << log))
            .map(|lines| lines.iter().min().copied().unwrap_or(0))
            .collect();
        let mut last = 0u8;
        for (at, line) in self.lines.iter().enumerate() {
            let within = (line - bases[at >> log]) as u8;
            into.push(within.wrapping_sub(last));
            last = within;
        }
        let mut last = 0u32;
        for base in bases {
            into.extend(base.wrapping_sub(last).to_le_bytes());
            last = base;
        }
        into.push(0);
    }

    /// The instructions, and where each begins.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = (usize, Instruction)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let instruction = Instruction(*self.code.get(at)?);
            let found = (at, instruction);
            at += instruction.words().unwrap_or(1);
            Some(found)
        })
    }
}

impl Constant {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(match from.byte()? {
            0 => Self::Other,
            1 => from.take(1).map(|_| Self::Other)?,
            2 => from.take(8).map(|_| Self::Number)?,
            3 => Self::Text(from.index()?),
            4 => {
                let path = from.word()?;
                let names = (0..path >> 30).map(|name| (path >> (20 - 10 * name)) & 0x3ff);
                Self::Import(names.collect())
            }
            5 => Self::Table(from.list(Reader::index)?),
            6 => Self::Function(from.index()?),
            7 => from.take(16).map(|_| Self::Other)?,
            8 => Self::Table(from.list(|from| {
                let key = from.index()?;
                from.word()?;
                Some(key)
            })?),
            9 => {
                from.byte()?;
                from.number()?;
                Self::Other
            }
            _ => return None,
        })
    }
}

/// What is put before an instruction.
enum Guard {
    Key,
    Text,
    Step,
}

/// Where guards are needed in a function.
fn plan(proto: &Proto<'_>) -> Vec<(usize, Guard)> {
    let mut known = Known::new(proto);
    let mut plan = Vec::new();
    let mut in_a_row = 0;
    let mut is_open = false;
    for (at, instruction) in proto.instructions() {
        known.enter(at);
        in_a_row += if known.may_read_text(instruction) {
            TEXT_INSTRUCTIONS
        } else {
            1
        };
        let op = instruction.op();
        match op {
            op::SETTABLE if !known.numbers[usize::from(instruction.c())] => plan.push((at, Guard::Key)),
            op::CONCAT => plan.push((at, Guard::Text)),
            _ if in_a_row > STRAIGHT_INSTRUCTIONS && !is_open && is_plain(op) => {
                plan.push((at, Guard::Step));
                in_a_row = 0;
            }
            _ => {}
        }
        // What follows takes all values up to the top.
        is_open = op == op::CALL && instruction.c() == 0 || op == op::GETVARARGS && instruction.b() == 0;
        known.leave(proto, instruction);
    }
    plan
}

/// Instructions that may be moved: they depend on nothing beside them.
fn is_plain(op: u8) -> bool {
    matches!(
        op,
        op::LOADNIL | op::LOADN..=op::SETUPVAL | op::GETIMPORT..=op::SETTABLEN | op::ADD..=op::ORK | op::NOT..=op::DUPTABLE
            | op::SUBRK | op::DIVRK | op::IDIV | op::IDIVK
    )
}

/// Registers that hold a number, as far as one pass tells.
struct Known {
    numbers: [bool; 256],
    /// Registers that other functions write to: nothing is known of them.
    is_shared: [bool; 256],
    /// Where jumps lead to, and so nothing is known but the variables of loops.
    is_target: Vec<bool>,
    /// Loops over numbers: where each begins and ends, and the register of its variable.
    loops: Vec<(usize, usize, u8)>,
    /// The loops that the place is in.
    open: Vec<(usize, u8)>,
    next_loop: usize,
}

impl Known {
    fn new(proto: &Proto<'_>) -> Self {
        let mut known = Self {
            numbers: [false; 256],
            is_shared: [false; 256],
            is_target: vec![false; proto.code.len() + 1],
            loops: Vec::new(),
            open: Vec::new(),
            next_loop: 0,
        };
        for (at, instruction) in proto.instructions() {
            if let Some(jump) = instruction.jump() {
                known.is_target[(at as i64 + 1 + jump) as usize] = true;
            }
            match instruction.op() {
                op::CAPTURE if instruction.a() == 1 => known.is_shared[usize::from(instruction.b())] = true,
                op::FORNPREP => {
                    let end = (at as i64 + 1 + i64::from(instruction.d())) as usize;
                    // The loop's own count is in the third register, which nothing else writes to.
                    known.loops.push((at, end, instruction.a().saturating_add(2)));
                    known.is_target[at + 1] = true;
                }
                _ => {}
            }
        }
        known
    }

    /// Whether an operation on numbers may be given a text, which it reads a number from.
    fn may_read_text(&self, instruction: Instruction) -> bool {
        let [_, b, c] = [instruction.a(), instruction.b(), instruction.c()].map(usize::from);
        match instruction.op() {
            op::ADD..=op::POW | op::IDIV => !(self.numbers[b] && self.numbers[c]),
            op::ADDK..=op::POWK | op::IDIVK | op::MINUS => !self.numbers[b],
            op::SUBRK | op::DIVRK => !self.numbers[c],
            _ => false,
        }
    }

    /// Forgets what another way to this place may have changed.
    fn enter(&mut self, at: usize) {
        self.open.retain(|(end, _)| at < *end);
        if !self.is_target[at] {
            return;
        }
        self.numbers = [false; 256];
        while let Some((begin, end, register)) = self.loops.get(self.next_loop)
            && *begin < at
        {
            self.open.push((*end, *register));
            self.next_loop += 1;
        }
        for (_, register) in &self.open {
            self.numbers[usize::from(*register)] = true;
        }
    }

    fn leave(&mut self, proto: &Proto<'_>, instruction: Instruction) {
        let [a, b, c] = [instruction.a(), instruction.b(), instruction.c()].map(usize::from);
        let numbers = &mut self.numbers;
        let constant = |number: usize| matches!(proto.constants.get(number), Some(Constant::Number));
        let is_number = match instruction.op() {
            op::LOADN | op::LENGTH => true,
            op::LOADK => constant(usize::from(instruction.d() as u16)),
            op::MOVE | op::MINUS => numbers[b],
            op::ADD..=op::POW | op::IDIV => numbers[b] && numbers[c],
            op::ADDK..=op::POWK | op::IDIVK => numbers[b],
            op::SUBRK | op::DIVRK => numbers[c],
            // Write to no register.
            op::SETGLOBAL
            | op::SETUPVAL
            | op::SETTABLE
            | op::SETTABLEKS
            | op::SETTABLEN
            | op::CLOSEUPVALS => return,
            op::JUMP..=op::JUMPIFNOTLT | op::JUMPXEQKNIL..=op::JUMPXEQKS | op::SETLIST | op::CAPTURE => {
                return;
            }
            op::FORNPREP | op::FORNLOOP | 0 => return,
            op::FASTCALL | op::FASTCALL1 | op::FASTCALL2 | op::FASTCALL2K | op::FASTCALL3 => return,
            op::LOADNIL | op::LOADB | op::GETGLOBAL | op::GETUPVAL | op::GETIMPORT | op::GETTABLE => false,
            op::GETTABLEKS | op::GETTABLEN | op::NEWCLOSURE | op::DUPCLOSURE | op::NOT | 45..=op::ORK => {
                false
            }
            op::NEWTABLE | op::DUPTABLE | op::LOADKX => false,
            op::CALL | op::NAMECALL | op::GETVARARGS | op::PREPVARARGS => {
                numbers[a..].fill(false);
                return;
            }
            op::CONCAT => {
                numbers[b..=c.max(b)].fill(false);
                false
            }
            _ => {
                numbers.fill(false);
                return;
            }
        };
        numbers[a] = is_number && !self.is_shared[a];
    }
}

/// Puts the guards of one function in.
struct Guarding<'p, 'a> {
    proto: &'p mut Proto<'a>,
    /// The first register of guards.
    register: u8,
    text_ids: &'p HashMap<&'static str, u32>,
    /// Constants that were added, by text.
    constants: HashMap<&'static str, u32>,
}

impl<'p, 'a> Guarding<'p, 'a> {
    fn new(proto: &'p mut Proto<'a>, text_ids: &'p HashMap<&'static str, u32>) -> Result<Self, Refusal> {
        let register = proto.registers;
        let Some(registers) = register.checked_add(GUARD_REGISTERS) else {
            let line = proto.lines.first().copied().unwrap_or(0);
            return Err((line, "a function has too many locals: split it".to_owned()));
        };
        proto.registers = registers;
        Ok(Self {
            proto,
            register,
            text_ids,
            constants: HashMap::new(),
        })
    }

    fn run(mut self, plan: &[(usize, Guard)]) {
        for (at, guard) in plan {
            let begin = self.proto.code.len();
            let line = self.proto.lines[*at];
            let instruction = Instruction(self.proto.code[*at]);
            let words = instruction.words().unwrap_or(1);
            match guard {
                Guard::Key => self.key_guard(instruction.c()),
                Guard::Text | Guard::Step => {}
            }
            self.proto.code.extend_from_within(*at..*at + words);
            if let Guard::Text = guard {
                self.text_guard(instruction.a());
            }
            self.jump(
                *at + words,
                if matches!(guard, Guard::Step) {
                    op::JUMPBACK
                } else {
                    op::JUMP
                },
            );
            // The VM's loader goes over all words, so none may look like another instruction.
            self.proto.code[*at..*at + words].fill(0);
            self.proto.code[*at] = jump(op::JUMP, *at, begin).0;
            self.proto.lines.resize(self.proto.code.len(), line);
        }
    }

    fn push(&mut self, instruction: Instruction) {
        self.proto.code.push(instruction.0);
    }

    fn jump(&mut self, target: usize, op: u8) {
        let from = self.proto.code.len();
        self.push(jump(op, from, target));
    }

    /// The constant that is a text.
    fn constant(&mut self, text: &'static str) -> u32 {
        if let Some(known) = self.constants.get(text) {
            return *known;
        }
        let id = self.text_ids[text];
        self.proto.constants.push(Constant::Text(id));
        self.proto.constant_bytes.push(3);
        write_number(&mut self.proto.constant_bytes, id.into());
        let number = self.proto.constants.len() as u32 - 1;
        self.constants.insert(text, number);
        number
    }

    /// Calls a function of the prelude with what a register holds, for `results` values.
    fn call(&mut self, function: &'static str, argument: u8, results: u8) {
        let constant = self.constant(function);
        self.push(Instruction::new(op::MOVE, self.register + 1, argument, 0));
        self.push(Instruction::new(op::GETGLOBAL, self.register, 0, 0));
        self.proto.code.push(constant);
        self.push(Instruction::new(op::CALL, self.register, 2, results + 1));
    }

    /// Jumps over `words` if a register holds a text, or if it does not.
    fn skip_if(&mut self, register: u8, text: &'static str, is_equal: bool, words: i16) {
        let constant = self.constant(text);
        self.push(Instruction::far(op::JUMPXEQKS, register, words + 1));
        self.proto
            .code
            .push(constant | if is_equal { 0 } else { 1 << 31 });
    }

    fn key_guard(&mut self, key: u8) {
        // A call takes four words, which a fast call passes over.
        self.push(Instruction::new(op::FASTCALL1, FAST_TYPE, key, 3));
        self.call(KEY_GUARD, key, 1);
        self.skip_if(self.register, "number", true, 8);
        self.skip_if(self.register, "string", false, 2);
        self.skip_if(key, "__mode", false, 4);
        self.call(KEY_GUARD, key, 0);
    }

    fn text_guard(&mut self, text: u8) {
        self.push(Instruction::new(op::FASTCALL1, FAST_RAWLEN, text, 3));
        self.call(TEXT_GUARD, text, 1);
        self.push(Instruction::far(op::LOADN, self.register + 1, TEXT_MAX as i16));
        self.push(Instruction::far(op::JUMPIFLE, self.register, 5));
        self.proto.code.push((self.register + 1).into());
        self.call(TEXT_GUARD, text, 0);
    }
}

/// A jump; one that is too far for its kind counts as a step.
fn jump(op: u8, from: usize, target: usize) -> Instruction {
    let distance = target as i64 - from as i64 - 1;
    match i16::try_from(distance) {
        Ok(distance) => Instruction::far(op, 0, distance),
        Err(_) => Instruction(u32::from(op::JUMPX) | (distance as u32) << 8),
    }
}

const _: () = assert!(
    TEXT_MAX <= i16::MAX as usize,
    "a guard compares with a number of 16 bits"
);
