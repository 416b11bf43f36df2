//! Transcripts: who says what when, and what is answered.
//!
//! ```text
//! -x 10 -y 10 -n a b -c 2 -f 100          options, as of the server; --bare: nothing lies on the ground
//! # a comment
//! @0 A opens                              a connection from the machine itself; `from ADDRESS` from elsewhere
//! @0 A< WELCOME                           what A hears, in one write: expected, and rewritten by BLESS=1
//! @0 A> a                                 A sends a line
//! @0 A>| For                              A sends bytes without a line feed; \n \r \t \s \xHH \\ are understood
//! @0 A>*12 Right                          A sends a line twelve times, each in a packet of its own
//! @0 A closes                             A hangs up
//! @0 B joins a                            B opens and sends `a`
//! @0 G watches                            G opens and sends `GRAPHIC`; what it is told at first is not shown
//! @0 G hides bct                          lines of G that begin with `bct` are not shown
//! @0 A stays                              A does not hang up when it is told that there is no more
//! @0 A stops reading, A reads             as it says
//! @0 V watches in frames                  V is a frame viewer; its messages are shown as lines; `with TOKEN` shows one
//! @0 V> pause; step unit                  V sends messages in one packet; the words are in `operator.rs`
//! @7 admin tp 0 5 5 N                     an operator's request; the words are in `operator.rs`
//! @7 figures agents violations            figures of the engine, each by its name
//! @7 next wake-up                         when the server wakes up next
//! @7 silence                              nobody heard anything after the moment of the last action
//! @9 wait, @9 end                          nothing but time; the transcript runs to here
//! ```
//!
//! `@7` is a moment in units of game time, `@7.25` too; `@70ms` and `@60s` are real time since the start.
//! What is heard between two actions stands after the first of them, in order of time, then of peers.

use std::fmt::Write as _;

use trantor_time::{GameTime, RealSpan, RealTime};

use super::operator::{read_message, read_request};
use super::options::Options;
use super::viewer::Viewer;
use super::{Bench, Heard};

/// Runs a transcript; answers it as it should have been written.
pub fn run(text: &str) -> String {
    let mut lines = text.lines().peekable();
    let mut written = String::new();
    let mut options = String::new();
    while let Some(line) = lines.next_if(|line| line.starts_with(['#', '-']) || line.is_empty()) {
        if line.starts_with('-') {
            options += line;
            options += " ";
        }
        writeln!(written, "{line}").expect(TEXT_GROWS);
    }
    let mut stage = Stage::new(Options::read(&options));
    for line in lines {
        if line.is_empty() || line.starts_with('#') {
            stage.pending_notes.push(line.to_owned());
        } else if is_heard(line) {
            // What is expected is compared by comparing the whole text.
        } else {
            stage.act(line, &mut written);
        }
    }
    stage.flush(&mut written);
    stage.bench.assert_replays();
    written
}

/// Why writing to a text cannot fail.
const TEXT_GROWS: &str = "a text grows as needed";

/// Whether the line is about what is heard: `@7  A< ok`.
fn is_heard(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next();
    words.next().is_some_and(|word| word.ends_with('<'))
}

struct Stage {
    bench: Bench,
    began: RealTime,
    last_action: RealTime,
    is_in_real_time: bool,
    /// Comments and empty lines before the next action.
    pending_notes: Vec<String>,
}

impl Stage {
    fn new(options: Options) -> Self {
        let mut bench = Bench::new(options.config);
        bench.engine.start_recording();
        if options.is_bare {
            bench.make_bare();
        }
        let is_in_real_time = options.is_in_real_time;
        Self {
            began: bench.now,
            last_action: bench.now,
            bench,
            is_in_real_time,
            pending_notes: Vec::new(),
        }
    }

    /// Carries out one line, after what was heard before it was written down.
    fn act(&mut self, line: &str, written: &mut String) {
        let (stamp, action) = line
            .split_once(' ')
            .unwrap_or_else(|| panic!("no action in {line:?}"));
        let stamp = stamp
            .strip_prefix('@')
            .unwrap_or_else(|| panic!("no moment in {line:?}"));
        self.run_until(stamp);
        let action = action.trim_start();
        if action == "silence" {
            let mut since = self
                .bench
                .heard
                .iter()
                .filter(|heard| heard.real > self.last_action);
            assert_eq!(since.next(), None, "silence at {stamp}");
        }
        self.last_action = self.bench.now;
        self.flush(written);
        writeln!(written, "{line}").expect(TEXT_GROWS);
        if let Some(request) = action.strip_prefix("admin ") {
            match self.bench.admin(read_request(request)) {
                Ok(()) => {}
                Err(refusal) => writeln!(written, "# refused: {refusal}").expect(TEXT_GROWS),
            }
        } else if let Some(names) = action.strip_prefix("figures ") {
            self.show_figures(names, written);
        } else if action == "next wake-up" {
            let at = self.bench.engine.poll_timeout();
            let shown = at.map_or("none".to_owned(), |at| show_real((at - self.began).as_nanos()));
            writeln!(written, "# wake-up: {shown}").expect(TEXT_GROWS);
        } else if !matches!(action, "silence" | "wait" | "end") {
            let (name, verb) = action.split_once([' ', '>']).unwrap_or((action, ""));
            if action[name.len()..].starts_with('>') {
                self.say(name, verb);
            } else {
                self.do_verb(name, verb);
            }
        }
    }

    /// Writes down what was heard.
    fn flush(&mut self, written: &mut String) {
        for Heard {
            game,
            real,
            peer,
            what,
        } in self.bench.take_heard()
        {
            let stamp = if self.is_in_real_time {
                show_real((real - self.began).as_nanos())
            } else {
                show_units(game)
            };
            let line = format!("@{stamp:<3} {}< {what}", self.bench.peers[peer].name);
            writeln!(written, "{}", line.trim_end()).expect(TEXT_GROWS);
        }
        for note in self.pending_notes.drain(..) {
            // These are part of what is expected.
            if !["# refused: ", "# figure: ", "# wake-up: "]
                .iter()
                .any(|start| note.starts_with(start))
            {
                writeln!(written, "{note}").expect(TEXT_GROWS);
            }
        }
    }

    fn run_until(&mut self, stamp: &str) {
        let real = |number: &str, nanos: i64| {
            RealSpan::from_nanos(number.parse::<i64>().unwrap_or_else(|_| panic!("@{stamp}")) * nanos)
        };
        if let Some(millis) = stamp.strip_suffix("ms") {
            self.bench.run_until(self.began + real(millis, 1_000_000));
        } else if let Some(secs) = stamp.strip_suffix('s') {
            self.bench.run_until(self.began + real(secs, 1_000_000_000));
        } else {
            let until = read_units(stamp);
            if until > self.bench.engine.game_now() {
                self.bench.run_until_game(until);
            }
        }
    }

    /// Figures as their `Debug` text has them: what stands behind the name.
    fn show_figures(&mut self, names: &str, written: &mut String) {
        let now = self.bench.now;
        let figures = format!("{:?}", self.bench.engine.stats(now));
        for name in names.split(' ') {
            let (_, behind) = figures
                .split_once(&format!(" {name}: "))
                .unwrap_or_else(|| panic!("no figure {name}"));
            let value = behind.split([',', '}']).next().unwrap_or_default();
            writeln!(written, "# figure: {name} {}", value.trim()).expect(TEXT_GROWS);
        }
    }

    fn say(&mut self, name: &str, rest: &str) {
        let peer = self.bench.peer(name);
        if let Some(raw) = rest.strip_prefix('|') {
            let bytes = unescape(raw.strip_prefix(' ').unwrap_or(raw));
            self.bench.send(peer, &bytes);
            return;
        }
        if self.bench.peers[peer].viewer.is_some() {
            for words in rest.split(';') {
                self.bench.viewer(peer).say(&read_message(words));
            }
            return self.bench.speak(peer);
        }
        let (times, text) = match rest.strip_prefix('*') {
            Some(rest) => {
                let (times, text) = rest.split_once(' ').unwrap_or((rest, ""));
                (times.parse().expect("a number after *"), text)
            }
            None => (1, rest.strip_prefix(' ').unwrap_or(rest)),
        };
        let mut bytes = unescape(text);
        bytes.push(b'\n');
        for _ in 0..times {
            self.bench.send(peer, &bytes);
        }
    }

    fn do_verb(&mut self, name: &str, verb: &str) {
        let words: Vec<&str> = verb.split_whitespace().collect();
        match words[..] {
            ["opens"] => drop(self.bench.open(name)),
            ["opens", "from", address] => {
                self.bench.open_from(name, address.parse().expect("an address"));
            }
            ["joins", team] => drop(self.bench.join(name, team)),
            ["joins", team, "from", address] => {
                let peer = self.bench.open_from(name, address.parse().expect("an address"));
                self.bench.send(peer, format!("{team}\n").as_bytes());
            }
            ["watches"] => {
                let peer = self.bench.join(name, "GRAPHIC");
                self.bench.heard.retain(|heard| heard.peer != peer);
            }
            ["watches", "in", "frames"] => drop(self.bench.watch_as(name, Viewer::new("TRANTOR"), true)),
            ["watches", "in", "frames", "with", token] => {
                let first_line = format!("TRANTOR {token}");
                self.bench.watch_as(name, Viewer::new(&first_line), true);
            }
            ["closes"] => self.bench.close(self.bench.peer(name)),
            ["stays"] => {
                let peer = self.bench.peer(name);
                self.bench.peers[peer].hangs_up = false;
            }
            ["stops", "reading"] => {
                let peer = self.bench.peer(name);
                self.bench.peers[peer].is_reading = false;
            }
            ["reads"] => {
                let peer = self.bench.peer(name);
                self.bench.peers[peer].is_reading = true;
                self.bench.take_writes(peer);
                self.bench.pass(|_, _| {});
            }
            ["hides", ..] => {
                let peer = self.bench.peer(name);
                self.bench.peers[peer].hidden = words[1..].iter().map(ToString::to_string).collect();
            }
            _ => panic!("{name} cannot {verb:?}"),
        }
    }
}

/// Bytes of a text with escapes: `\n \r \t \s \\ \xHH`, and `\{a*1000}` for many of one. Written bytes above 0x7F are not taken.
pub fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next().expect("something after \\") {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b's' => b' ',
            b'\\' => b'\\',
            b'{' => {
                let inside: Vec<u8> = bytes.by_ref().take_while(|byte| *byte != b'}').collect();
                let (byte, times) = inside.split_at(1);
                let times = std::str::from_utf8(times)
                    .ok()
                    .and_then(|times| times.strip_prefix('*')?.parse().ok());
                out.extend(byte.repeat(times.expect("\\{a*1000}")));
                continue;
            }
            b'x' => {
                let digits = [bytes.next().expect("\\xHH"), bytes.next().expect("\\xHH")];
                let digits = std::str::from_utf8(&digits).expect("\\xHH");
                u8::from_str_radix(digits, 16).expect("\\xHH")
            }
            other => panic!("\\{} is no escape", char::from(other)),
        });
    }
    out
}

/// `7`, or `7.25` where a moment is no whole unit.
fn show_units(game: GameTime) -> String {
    let fraction = format!("{:09}", game.unit_fraction_nu());
    let fraction = fraction.trim_end_matches('0');
    let whole = game.whole_units();
    if fraction.is_empty() {
        whole.to_string()
    } else {
        format!("{whole}.{fraction}")
    }
}

fn read_units(stamp: &str) -> GameTime {
    let (whole, fraction) = stamp.split_once('.').unwrap_or((stamp, ""));
    let nanounits = format!("{whole}{fraction:0<9}");
    GameTime::from_nanounits(nanounits.parse().unwrap_or_else(|_| panic!("@{stamp}")))
}

/// Milliseconds, with as many decimals as needed.
fn show_real(nanos: i64) -> String {
    let fraction = format!("{:06}", nanos % 1_000_000);
    let fraction = fraction.trim_end_matches('0');
    let whole = nanos / 1_000_000;
    if fraction.is_empty() {
        format!("{whole}ms")
    } else {
        format!("{whole}.{fraction}ms")
    }
}
