//! Transcripts: who says what when, and what is answered.
//!
//! ```text
//! -x 10 -y 10 -n a b -c 2 -f 100          options, as of the server; --bare: nothing lies on the ground
//! # a comment
//! @0 A opens                              a connection from the machine itself
//! @0 A< WELCOME                           what A receives, in one write: expected, and rewritten by BLESS=1
//! @0 A> a                                 A sends a line
//! @0 A>| For                              A sends bytes without a line feed; \n \r \t \s \xHH \\ are understood
//! @0 A>*12 Right                          A sends a line twelve times, each in a packet of its own
//! @0 A>*9@5ms+10 Right                    nine packets of ten such lines, 5 ms after each of them (or us)
//! @0 A closes                             A hangs up
//! @0 B joins a                            B opens and sends `a`; `from ADDRESS` from elsewhere
//! @0 C*20 joins a                         twenty peers called C, which count; `C* closes`, `C*> Right`: each of them
//! @0 G watches                            G opens and sends `GRAPHIC`; what it receives at first is not shown
//! @0 G hides bct                          lines of G that begin with `bct` are not shown
//! @0 G counts                             of lines in a row with the same first word, the number and bytes are shown
//! @0 A stays                              A does not hang up when the server has shut down writing
//! @0 A stops reading, A reads             as it says
//! @0 V watches in frames                  V is a frame viewer; its messages are shown as lines; `with TOKEN` shows one,
//!                                         `without credit` returns no credit
//! @0 V> pause; step unit                  V sends messages in one packet; the words are in `operator.rs`
//! @7 admin tp 0 5 5 N                     an operator's request; the words are in `operator.rs`; `admin disconnect A`
//! @7 console                              the shell takes the next line of an operator
//! @7 O is answered ok                     and answers
//! @7 clients                              the kind of each connection
//! @7 reload --token T --limit stall-ms 5  other options in a running game
//! @7 restart                              the game is saved and resumed by another server
//! @7 playback from 500 [paused]           another server shows the recording of the game so far
//! @7 figures agents violations            figures of the engine, each by its name
//! @7 next wake-up                         when the server wakes up next
//! @7 silence                              no peer received anything after the last action
//! @9 wait, @9 end                          nothing but time; the transcript runs to here
//! ```
//!
//! `@7` is a moment in units of game time, `@7.25` too; `@70ms` and `@60s` are real time since the start.
//! What is received between two actions stands after the first of them, in order of time, then of peers.

use trantor_engine::{Engine, EngineConfig, PlaybackStart};
use trantor_game::{Game, Snapshot};
use trantor_time::{GameTime, RealSpan, RealTime};

use super::operator::{read_message, read_request};
use super::options::Options;
use super::viewer::Viewer;
use super::{Bench, game_config};

/// Runs a transcript; answers it as it should have been written.
pub fn run(text: &str) -> String {
    let mut lines = text.lines().peekable();
    let (mut written, mut options) = (String::new(), String::new());
    while let Some(line) = lines.next_if(|line| line.starts_with(['#', '-']) || line.is_empty()) {
        if line.starts_with('-') {
            options += line;
            options += " ";
        }
        written += line;
        written += "\n";
    }
    let config = EngineConfig {
        program: "test".to_owned(),
        ..EngineConfig::new(game_config(10, 10, 2))
    };
    let mut transcript = Transcript::new(Options::read(config, &options), written);
    for line in lines {
        if line.is_empty() || line.starts_with('#') {
            transcript.pending_notes.push(line.to_owned());
        } else if is_output(line) {
            // What is expected is compared by comparing the whole text.
        } else {
            transcript.act(line);
        }
    }
    transcript.flush();
    if !transcript.bench.engine.is_playback() {
        transcript.bench.assert_replays();
    }
    transcript.written
}

/// Whether the line is about what is received: `@7  A< ok`.
fn is_output(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next();
    words.next().is_some_and(|word| word.ends_with('<'))
}

/// Notes that are part of what is expected.
const EXPECTED_NOTES: [&str; 6] = [
    "# refused: ",
    "# figure: ",
    "# wake-up: ",
    "# console: ",
    "# client: ",
    "# saved again: ",
];

/// Lines in a row with the same first word.
#[derive(Default)]
struct Run {
    name: String,
    /// When the last of them was received.
    stamp: String,
    word: String,
    count: u64,
    bytes: usize,
}

struct Transcript {
    bench: Bench,
    /// The transcript as it should have been written.
    written: String,
    began: RealTime,
    last_action: RealTime,
    is_in_real_time: bool,
    /// Comments and empty lines before the next action.
    pending_notes: Vec<String>,
}

impl Transcript {
    fn new(options: Options, written: String) -> Self {
        let bench = Bench::new(options.config);
        let mut transcript = Self {
            began: bench.now,
            last_action: bench.now,
            bench,
            written,
            is_in_real_time: options.is_in_real_time,
            pending_notes: Vec::new(),
        };
        transcript.start();
        if options.is_bare {
            transcript.bench.make_bare();
        }
        transcript
    }

    fn start(&mut self) {
        self.bench.engine.expect_saves();
        self.bench.engine.start_recording();
    }

    /// Carries out one line, after what was received before it was written down.
    fn act(&mut self, line: &str) {
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
                .received
                .iter()
                .filter(|received| received.real > self.last_action);
            assert_eq!(since.next(), None, "silence at {stamp}");
        }
        self.last_action = self.bench.now;
        self.flush();
        self.write(line);
        if let Some(name) = action.strip_prefix("admin disconnect ") {
            let conn = self.bench.peers[self.bench.peer(name)].conn;
            if !self.bench.disconnect(conn) {
                self.write(&format!("# refused: there is no connection {conn}"));
            }
        } else if let Some(request) = action.strip_prefix("admin ") {
            if let Err(refusal) = self.bench.control(read_request(request)) {
                self.write(&format!("# refused: {refusal}"));
            }
        } else if let Some(names) = action.strip_prefix("figures ") {
            self.show_figures(names);
        } else if let Some(options) = action.strip_prefix("reload ") {
            let engine = &mut self.bench.engine;
            let config = Options::read(engine.config().clone(), options).config;
            engine.set_control(config.control, config.token);
            engine.set_limits(&config.limits);
            self.bench.pass(|_, _| {});
        } else if action == "restart" {
            let saved = self.bench.engine.state_to_save().encode();
            let game = Snapshot::decode(&saved)
                .and_then(Game::restore)
                .expect("a whole save");
            let config = self.bench.engine.config().clone();
            let engine = Engine::resume(config, game, self.bench.now);
            self.bench.replace_engine(engine);
            self.start();
            let is_same = self.bench.engine.state_to_save().encode() == saved;
            self.write(match is_same {
                true => "# saved again: the same",
                false => "# saved again: another",
            });
        } else if let Some(from) = action.strip_prefix("playback from ") {
            let recording = self.bench.stop_recording();
            let start = PlaybackStart {
                at: read_units(from.trim_end_matches(" paused")),
                follows_speed: true,
                is_paused: from.ends_with("paused"),
            };
            let config = self.bench.engine.config().clone();
            let engine = Engine::play(config, &recording, start, self.bench.now);
            self.bench.replace_engine(engine.expect("it can be played"));
        } else if action == "next wake-up" {
            let at = self.bench.engine.poll_timeout();
            let shown = at.map_or("none".to_owned(), |at| show_real((at - self.began).as_nanos()));
            self.write(&format!("# wake-up: {shown}"));
        } else if action == "console" {
            let shown = match self.bench.engine.poll_operator_line() {
                Some(said) => {
                    // The next line of an operator waits for the answer; a transcript may give more of it.
                    self.bench.engine.answer_operator(said.conn, "");
                    format!("{} {}", self.bench.name_of(said.conn), said.line)
                }
                None => "none".to_owned(),
            };
            self.write(&format!("# console: {shown}"));
        } else if action == "clients" {
            let clients: Vec<_> = self.bench.engine.clients().collect();
            for client in clients {
                let line = format!("# client: {} {:?}", self.bench.name_of(client.conn), client.kind);
                self.write(&line);
            }
        } else if !matches!(action, "silence" | "wait" | "end") {
            let (name, verb) = action.split_once([' ', '>']).unwrap_or((action, ""));
            let is_said = action[name.len()..].starts_with('>');
            let is_group = name.contains('*');
            let (name, times) = name.split_once('*').unwrap_or((name, "1"));
            if times.is_empty() {
                let named =
                    |peer: &usize| self.bench.peers[*peer].name == name && self.bench.peers[*peer].is_open;
                let all: Vec<usize> = (0..self.bench.peers.len()).filter(named).collect();
                for peer in all {
                    match is_said {
                        true => self.say(peer, verb),
                        false => self.do_verb(peer, verb),
                    }
                }
            } else if is_said {
                self.say(self.bench.peer(name), verb);
            } else {
                for _ in 0..times.parse().expect("a number after *") {
                    self.bench.counts_next = is_group;
                    self.open_or_do(name, verb);
                    self.bench.counts_next = false;
                }
            }
        }
    }

    fn write(&mut self, line: &str) {
        self.written += line;
        self.written += "\n";
    }

    /// Writes down what was received.
    fn flush(&mut self) {
        let mut runs: Vec<Run> = Vec::new();
        // The run that each peer is in: many of one name share runs.
        let mut positions = vec![0; self.bench.peers.len()];
        for received in self.bench.take_received() {
            let stamp = match self.is_in_real_time {
                true => show_real((received.real - self.began).as_nanos()),
                false => show_units(received.game),
            };
            let (name, what) = (&self.bench.peers[received.peer].name, received.what.to_string());
            if !self.bench.peers[received.peer].is_counted {
                let line = format!("@{stamp:<3} {name}< {what}");
                self.write(line.trim_end());
                continue;
            }
            let word = match what.as_bytes() {
                [b'0'..=b'9', ..] => "numbers",
                _ if what.starts_with("[closed") => &what,
                _ => what.split([' ', ':', '(']).next().unwrap_or_default(),
            };
            let word = word.to_owned();
            let position = &mut positions[received.peer];
            let is_same = |run: &Run| run.name == *name && run.word == word;
            *position = match runs[*position..].iter().position(is_same) {
                Some(further) => *position + further,
                None => {
                    runs.push(Run {
                        name: name.clone(),
                        word,
                        ..Run::default()
                    });
                    runs.len() - 1
                }
            };
            let run = &mut runs[*position];
            (run.stamp, run.count, run.bytes) = (stamp, run.count + 1, run.bytes + what.len() + 1);
        }
        for Run {
            name,
            stamp,
            word,
            count,
            bytes,
        } in runs
        {
            self.write(&format!("@{stamp:<3} {name}< {count} {word}, {bytes} bytes"));
        }
        for note in std::mem::take(&mut self.pending_notes) {
            if !EXPECTED_NOTES.iter().any(|start| note.starts_with(start)) {
                self.write(&note);
            }
        }
    }

    fn run_until(&mut self, stamp: &str) {
        if let Some(span) = read_span(stamp) {
            self.bench.run_until(self.began + span);
        } else {
            let until = read_units(stamp);
            if until > self.bench.engine.game_now() {
                self.bench.run_until_game(until);
            }
        }
    }

    /// Figures as their `Debug` text has them: what stands behind the name.
    fn show_figures(&mut self, names: &str) {
        let now = self.bench.now;
        let figures = format!("{:?}", self.bench.engine.stats(now));
        for name in names.split(' ') {
            let (_, behind) = figures
                .split_once(&format!(" {name}: "))
                .unwrap_or_else(|| panic!("no figure {name}"));
            let value = behind.split([',', '}']).next().unwrap_or_default();
            self.write(&format!("# figure: {name} {}", value.trim()));
        }
    }

    fn say(&mut self, peer: usize, rest: &str) {
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
        let (how, text) = match rest.starts_with(['*', '+']) {
            true => rest.split_once(' ').unwrap_or((rest, "")),
            false => ("", rest.strip_prefix(' ').unwrap_or(rest)),
        };
        let (how, lines) = how.split_once('+').unwrap_or((how, "1"));
        let (times, pause) = how.split_once('@').unwrap_or((how, "0ms"));
        let times: usize = times
            .strip_prefix('*')
            .map_or(1, |times| times.parse().expect("a number after *"));
        let pause = read_span(pause).expect("a span after @");
        let packet = [&unescape(text)[..], b"\n"]
            .concat()
            .repeat(lines.parse().expect("a number after +"));
        for _ in 0..times {
            self.bench.send(peer, &packet);
            self.bench.run_for(pause);
        }
    }

    fn open_or_do(&mut self, name: &str, verb: &str) {
        let words: Vec<&str> = verb.split_whitespace().collect();
        let address = |address: &str| address.parse().expect("an address");
        match words[..] {
            ["opens"] => drop(self.bench.open(name)),
            ["opens", "from", from] => drop(self.bench.open_from(name, address(from))),
            ["joins", ref first_line @ .., "from", from] => {
                let peer = self.bench.open_from(name, address(from));
                self.bench
                    .send(peer, format!("{}\n", first_line.join(" ")).as_bytes());
            }
            ["joins", ref first_line @ ..] => drop(self.bench.join(name, &first_line.join(" "))),
            ["watches"] => {
                let peer = self.bench.join(name, "GRAPHIC");
                self.bench.received.retain(|received| received.peer != peer);
            }
            ["watches", "in", "frames", ref how @ ..] => {
                let mut viewer = match how {
                    ["with", token] => Viewer::new(&format!("TRANTOR {token}")),
                    _ => Viewer::new("TRANTOR"),
                };
                viewer.withholds_credit = *how == ["without", "credit"];
                self.bench.watch_as(name, viewer, true);
            }
            _ => self.do_verb(self.bench.peer(name), verb),
        }
    }

    fn do_verb(&mut self, peer: usize, verb: &str) {
        let words: Vec<&str> = verb.split_whitespace().collect();
        let of = &mut self.bench.peers[peer];
        match words[..] {
            ["closes"] => self.bench.close(peer),
            ["stays"] => of.hangs_up = false,
            ["stops", "reading"] => of.is_reading = false,
            ["counts"] => of.is_counted = true,
            ["hides", ..] => of.hidden = words[1..].iter().map(ToString::to_string).collect(),
            ["reads"] => {
                of.is_reading = true;
                self.bench.take_writes(peer);
                self.bench.pass(|_, _| {});
            }
            ["is", "answered", ..] => {
                let (conn, answer) = (of.conn, words[2..].join(" ") + "\n");
                self.bench.pass(|engine, _| engine.answer_operator(conn, &answer));
            }
            _ => panic!("{} cannot {verb:?}", of.name),
        }
    }
}

/// `70ms`, `60s`, `5us` or `1ns`.
fn read_span(text: &str) -> Option<RealSpan> {
    let units = [("ms", 1_000_000), ("us", 1_000), ("s", 1_000_000_000), ("ns", 1)];
    units.into_iter().find_map(|(unit, nanos)| {
        let number: i64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(RealSpan::from_nanos(number * nanos))
    })
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
