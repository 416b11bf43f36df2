//! Names that do not exist: `me:fwd()` is found when the file is loaded, not when an agent comes to it.
//!
//! What a register holds is followed through the code of each function: the module, the agent that the main function is
//! given, what their functions answer, and functions of the file that are called with one of these. Whatever is not certain is
//! not followed, so a name is refused only where it would fail. Names that the file itself stores somewhere are its own.

use std::collections::{HashMap, HashSet};

use crate::api::{Class, classes};
use crate::bytecode::{Chunk, Constant, Instruction, Proto, op};

/// How alike a name is that may have been meant, of at most 1: `fwd` is 0.68 like `forward`.
const NEAR: f64 = 0.65;

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Not known.
    Any,
    Require,
    /// The name of the module.
    Name,
    /// A value of a class.
    Of(usize),
    /// A function of a class.
    Entry(usize, usize),
    /// A function of the file.
    Function(usize),
}

/// A name that does not exist, and the sign before it.
pub(crate) struct Unknown {
    pub(crate) line: u32,
    /// `:` or `.` and the name.
    pub(crate) written: String,
    pub(crate) message: String,
}

/// Finds the first name that does not exist.
pub(crate) fn check(chunk: &Chunk<'_>) -> Result<(), Unknown> {
    let classes = classes();
    let mut names = Names {
        chunk,
        own: own_names(chunk),
        parameters: vec![None; chunk.protos.len()],
        escaped: vec![false; chunk.protos.len()],
        upvalues: vec![Vec::new(); chunk.protos.len()],
        classes: &classes,
    };
    // A function comes after those inside it, and after those that it can call by a local name.
    for function in (0..chunk.protos.len()).rev() {
        names.follow(function)?;
    }
    Ok(())
}

/// All names that the file stores something under.
fn own_names<'c>(chunk: &'c Chunk<'_>) -> HashSet<&'c [u8]> {
    let mut own = HashSet::new();
    for proto in &chunk.protos {
        let stored = proto
            .instructions()
            .filter(|(_, instruction)| instruction.op() == op::SETTABLEKS);
        own.extend(stored.map(|(at, _)| chunk.text(proto, proto.code[at + 1])));
        for constant in &proto.constants {
            if let Constant::Table(keys) = constant {
                own.extend(keys.iter().map(|key| chunk.text(proto, *key)));
            }
        }
    }
    own
}

struct Names<'c> {
    chunk: &'c Chunk<'c>,
    own: HashSet<&'c [u8]>,
    classes: &'c [Class],
    /// What each function is called with, as far as it was seen.
    parameters: Vec<Option<Vec<Kind>>>,
    /// Functions that may be called from elsewhere.
    escaped: Vec<bool>,
    upvalues: Vec<Vec<Kind>>,
}

/// The registers of a function, from its first instruction on.
struct Registers {
    kinds: [Kind; 256],
    /// Where each was written to last.
    last: [usize; 256],
    /// Where each register is written to. Of calls, which use what is above all locals, the first register only.
    written: HashMap<u8, Vec<usize>>,
    /// Jumps by where they lead: where each begins.
    jumps: HashMap<usize, Vec<usize>>,
    /// Registers that other functions write to.
    shared: HashSet<u8>,
}

impl Registers {
    fn new(proto: &Proto<'_>, parameters: &[Kind]) -> Self {
        let mut registers = Self {
            kinds: [Kind::Any; 256],
            last: [0; 256],
            written: HashMap::new(),
            jumps: HashMap::new(),
            shared: HashSet::new(),
        };
        for (at, instruction) in proto.instructions() {
            if let Some(jump) = instruction.jump() {
                let target = (at as i64 + 1 + jump) as usize;
                registers.jumps.entry(target).or_default().push(at);
            }
            if instruction.op() == op::CAPTURE && instruction.a() == 1 {
                registers.shared.insert(instruction.b());
            }
        }
        for (at, instruction) in proto.instructions() {
            for register in targets(instruction).take(2) {
                registers.written.entry(register).or_default().push(at);
            }
        }
        registers.kinds[..parameters.len()].copy_from_slice(parameters);
        registers
    }

    fn set(&mut self, at: usize, register: u8, kind: Kind) {
        let is_shared = self.shared.contains(&register);
        self.kinds[usize::from(register)] = if is_shared { Kind::Any } else { kind };
        self.last[usize::from(register)] = at;
    }

    /// Forgets what a jump to this place may have passed over or repeated; functions that are forgotten may be called later.
    fn enter(&mut self, at: usize, escaped: &mut [bool]) {
        let Some(jumps) = self.jumps.get(&at) else { return };
        for register in 0..=u8::MAX {
            let kind = &mut self.kinds[usize::from(register)];
            if *kind == Kind::Any {
                continue;
            }
            let last = self.last[usize::from(register)];
            let places = self.written.get(&register).map_or(&[][..], Vec::as_slice);
            let is_written = jumps.iter().any(|jump| {
                let next = || places.get(places.partition_point(|place| *place < at));
                if *jump < at {
                    last > *jump
                } else {
                    next().is_some_and(|next| next <= jump)
                }
            });
            if is_written {
                if let Kind::Function(function) = *kind {
                    escaped[function] = true;
                }
                *kind = Kind::Any;
            }
        }
    }
}

/// Registers that an instruction writes to, as far as one may matter.
fn targets(instruction: Instruction) -> std::ops::RangeInclusive<u8> {
    let (a, b, c) = (instruction.a(), instruction.b(), instruction.c());
    #[expect(
        clippy::reversed_empty_ranges,
        reason = "an instruction that writes to no register"
    )]
    let none = 1..=0;
    match instruction.op() {
        op::SETGLOBAL
        | op::SETUPVAL
        | op::SETTABLE
        | op::SETTABLEKS
        | op::SETTABLEN
        | op::CLOSEUPVALS
        | op::RETURN => none,
        op::JUMP..=op::JUMPIFNOTLT
        | op::JUMPXEQKNIL..=op::JUMPXEQKS
        | op::SETLIST
        | op::CAPTURE
        | op::JUMPX => none,
        op::FASTCALL | op::FASTCALL1 | op::FASTCALL2 | op::FASTCALL2K | op::FASTCALL3 | op::PREPVARARGS => {
            none
        }
        op::NAMECALL => a..=a.saturating_add(1),
        op::CONCAT => a.min(b)..=a.max(c),
        // Results, and what was handed over.
        op::CALL | op::GETVARARGS | op::FORNPREP..=op::FORGPREP_INEXT | op::FORGPREP_NEXT | op::FORGPREP => {
            a..=u8::MAX
        }
        _ => a..=a,
    }
}

impl Names<'_> {
    /// Follows what the registers of a function hold, and checks the names that are asked of them.
    fn follow(&mut self, function: usize) -> Result<(), Unknown> {
        let chunk = self.chunk;
        let proto = &chunk.protos[function];
        let parameters = self.parameters[function]
            .take()
            .filter(|_| !self.escaped[function]);
        let mut parameters = parameters.unwrap_or_default();
        parameters.truncate(usize::from(proto.counts[0]));
        let is_known = |kind: &Kind| *kind != Kind::Any;
        let knows = parameters.iter().chain(&self.upvalues[function]).any(is_known);
        if !knows && !proto.constants.iter().any(|constant| self.is_module(constant)) {
            return Ok(());
        }
        let mut registers = Registers::new(proto, &parameters);
        let mut made = None;
        for (at, instruction) in proto.instructions() {
            registers.enter(at, &mut self.escaped);
            let [a, b, c] = [instruction.a(), instruction.b(), instruction.c()];
            let of = |register: u8| registers.kinds[usize::from(register)];
            let constant = usize::from(instruction.d() as u16);
            let kind = match instruction.op() {
                op::MOVE => of(b),
                op::GETIMPORT => match proto.constants.get(constant) {
                    Some(Constant::Import(path))
                        if path.len() == 1 && chunk.text(proto, path[0]) == b"require" =>
                    {
                        Kind::Require
                    }
                    _ => Kind::Any,
                },
                op::LOADK if chunk.text(proto, constant as u32) == b"@trantor" => Kind::Name,
                op::GETUPVAL => self.upvalues[function]
                    .get(usize::from(b))
                    .copied()
                    .unwrap_or(Kind::Any),
                op::GETTABLEN => self.element(of(b)),
                op::GETTABLEKS | op::NAMECALL => {
                    let sign = if instruction.op() == op::NAMECALL {
                        ':'
                    } else {
                        '.'
                    };
                    let kind = self.asked(of(b), proto, at, sign)?;
                    if sign == ':' {
                        registers.set(at, a.saturating_add(1), of(b));
                    }
                    kind
                }
                op::NEWCLOSURE | op::DUPCLOSURE => {
                    let child = match instruction.op() {
                        op::NEWCLOSURE => proto.children.get(constant).copied(),
                        _ => match proto.constants.get(constant) {
                            Some(Constant::Function(child)) => Some(*child),
                            _ => None,
                        },
                    };
                    made = child.map(|child| child as usize);
                    made.map_or(Kind::Any, Kind::Function)
                }
                op::CAPTURE => {
                    let kind = match a {
                        0 => of(b),
                        2 => self.upvalues[function]
                            .get(usize::from(b))
                            .copied()
                            .unwrap_or(Kind::Any),
                        _ => {
                            self.escape(of(b));
                            Kind::Any
                        }
                    };
                    if let Some(child) = made {
                        self.upvalues[child].push(kind);
                    }
                    continue;
                }
                op::CALL => {
                    let answer = self.called(&registers.kinds, instruction);
                    if c >= 2 { answer } else { Kind::Any }
                }
                _ => {
                    self.escape_operands(&registers.kinds, instruction);
                    Kind::Any
                }
            };
            let written = targets(instruction);
            if instruction.op() != op::NAMECALL {
                written
                    .clone()
                    .skip(1)
                    .for_each(|register| registers.set(at, register, Kind::Any));
            }
            if !written.is_empty() {
                registers.set(at, *written.start(), kind);
            }
        }
        Ok(())
    }

    fn is_module(&self, constant: &Constant) -> bool {
        matches!(constant, Constant::Text(text) if self.chunk.text_numbered(*text) == b"@trantor")
    }

    /// A function that is somewhere else too may be called with anything.
    fn escape(&mut self, kind: Kind) {
        if let Kind::Function(function) = kind {
            self.escaped[function] = true;
        }
    }

    fn escape_operands(&mut self, kinds: &[Kind; 256], instruction: Instruction) {
        let [a, b, c] = [instruction.a(), instruction.b(), instruction.c()].map(usize::from);
        let read = match instruction.op() {
            op::SETTABLE => vec![a, b, c],
            op::SETGLOBAL | op::SETUPVAL | op::SETTABLEKS | op::SETTABLEN => vec![a],
            45 | 46 => vec![b, c],
            47 | op::ORK => vec![b],
            op::RETURN if b > 0 => (a..a + b - 1).collect(),
            op::SETLIST if c > 0 => (b..b + c - 1).collect(),
            op::RETURN => (a..256).collect(),
            op::SETLIST => (b..256).collect(),
            _ => return,
        };
        for register in read {
            self.escape(kinds[register.min(255)]);
        }
    }

    /// What a call answers; notes what a function of the file is called with.
    fn called(&mut self, kinds: &[Kind; 256], instruction: Instruction) -> Kind {
        let (first, count) = (usize::from(instruction.a()), usize::from(instruction.b()));
        let end = if count == 0 { 256 } else { (first + count).min(256) };
        let arguments = &kinds[first + 1..end.max(first + 1)];
        let mut given = arguments;
        let answer = match kinds[first] {
            Kind::Require if arguments.first() == Some(&Kind::Name) => self.class("Trantor"),
            Kind::Entry(class, entry) => {
                let class = &self.classes[class];
                let entry = &class.entries[entry];
                if class.name == "Trantor"
                    && let Some(Kind::Function(main)) = arguments.first()
                    && let Some(kind) = match entry.name {
                        "agent" => Some(self.class("Agent")),
                        "scenario" => Some(self.class("Scenario")),
                        _ => None,
                    }
                {
                    self.note(*main, &[kind]);
                    given = &arguments[1..];
                }
                self.class(entry.answer().trim_end_matches('?'))
            }
            Kind::Function(function) => {
                self.note(function, arguments);
                Kind::Any
            }
            _ => Kind::Any,
        };
        for kind in given {
            self.escape(*kind);
        }
        answer
    }

    /// A function is called with these; what differs from another call is not known.
    fn note(&mut self, function: usize, arguments: &[Kind]) {
        let count = usize::from(self.chunk.protos[function].counts[0]);
        let given = |place: usize| arguments.get(place).copied().unwrap_or(Kind::Any);
        let given: Vec<Kind> = (0..count).map(given).collect();
        match &mut self.parameters[function] {
            None => self.parameters[function] = Some(given),
            Some(known) => {
                for (known, given) in known.iter_mut().zip(given) {
                    if *known != given {
                        *known = Kind::Any;
                    }
                }
            }
        }
    }

    fn class(&self, name: &str) -> Kind {
        let found = self.classes.iter().position(|class| class.name == name);
        found.map_or(Kind::Any, Kind::Of)
    }

    fn element(&self, list: Kind) -> Kind {
        if list == self.class("Sight") {
            self.class("Tile")
        } else {
            Kind::Any
        }
    }

    /// What a value has under a name, or that it has none.
    fn asked(&self, of: Kind, proto: &Proto<'_>, at: usize, sign: char) -> Result<Kind, Unknown> {
        let Kind::Of(class) = of else {
            return Ok(Kind::Any);
        };
        let name = self.chunk.text(proto, proto.code[at + 1]);
        let mut bases = vec![class];
        bases.extend(
            (self.classes[class].bases()).filter_map(|base| match self.class(base) {
                Kind::Of(base) => Some(base),
                _ => None,
            }),
        );
        let known = |class: usize| {
            let place = self.classes[class]
                .entries
                .iter()
                .position(|entry| entry.name.as_bytes() == name);
            place.map(|entry| (class, entry))
        };
        if let Some((class, entry)) = bases.iter().copied().find_map(known) {
            let found = &self.classes[class].entries[entry];
            return Ok(if found.is_function() {
                Kind::Entry(class, entry)
            } else {
                self.class(found.kind)
            });
        }
        if self.own.contains(name) {
            return Ok(Kind::Any);
        }
        let name = String::from_utf8_lossy(name);
        let entries = bases.iter().flat_map(|class| &self.classes[*class].entries);
        let entries = entries.filter(|entry| sign == '.' || entry.is_function());
        let near = entries.map(|entry| (strsim::jaro_winkler(&name, entry.name), entry));
        let nearest = near.max_by(|one, other| one.0.total_cmp(&other.0));
        let value = self.classes[class].value();
        let hint = nearest
            .filter(|(likeness, _)| *likeness > NEAR)
            .map_or_else(String::new, |(_, entry)| {
                let sign = if entry.is_method() { ':' } else { '.' };
                format!("; did you mean {value}{sign}{}?", entry.name)
            });
        Err(Unknown {
            line: proto.lines[at],
            message: format!("{value}{sign}{name} does not exist{hint}"),
            written: format!("{sign}{name}"),
        })
    }
}
