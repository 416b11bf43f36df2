//! The console, as transcripts: what is typed, and what is answered.
//!
//! ```text
//! > tick rate 200        a line for the console; what it answers follows
//! @500ms                 half a second passes
//! + red                  an agent of that team joins
//! # …                    a remark
//! ```

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use trantor_engine::{ConnId, Engine, Input};
use trantor_server::cli::{Invocation, parse};
use trantor_server::console::{as_lines, commands, operate};
use trantor_time::{RealSpan, RealTime};

struct Stage {
    engine: Engine,
    now: RealTime,
    connections: u32,
}

impl Stage {
    fn new(options: &str) -> Self {
        let arguments = std::iter::once("trantor-server").chain(options.split_whitespace());
        let Ok(Invocation::Run(resolved)) = parse(arguments.map(Into::into), []) else {
            panic!("{options:?} should run");
        };
        let now = RealTime::from_nanos(1_000_000_000);
        Self {
            engine: Engine::new(resolved.options.engine_config(1), now),
            now,
            connections: 0,
        }
    }

    fn say(&mut self, line: &str) -> String {
        self.engine.begin_pass(self.now);
        let answer = match commands::parse(line) {
            Ok(None) => Ok(String::new()),
            Ok(Some(line)) => operate::carry_out(&mut self.engine, &line, self.now),
            Err(mistake) => Err(mistake),
        };
        self.fire();
        as_lines(&answer)
    }

    fn pass_time(&mut self, span: RealSpan) {
        let until = self.now + span;
        while let Some(wake) = self.engine.poll_timeout().filter(|wake| *wake <= until) {
            self.now = wake;
            self.engine.begin_pass(self.now);
            self.fire();
        }
        self.now = until;
        self.engine.begin_pass(self.now);
    }

    fn join(&mut self, word: &str) {
        let conn = ConnId {
            slot: self.connections,
            generation: 0,
        };
        self.connections += 1;
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        self.engine.begin_pass(self.now);
        self.engine.handle(Input::Opened { conn, peer }, self.now);
        let bytes = format!("{word}\n").into_bytes();
        self.engine.handle(Input::Bytes { conn, bytes: &bytes }, self.now);
        self.fire();
    }

    fn fire(&mut self) {
        while self.engine.fire_next(self.now).is_some() {}
        while self.engine.poll_output().is_some() {}
        while let Some(conn) = self.engine.next_dirty() {
            while !self.engine.unsent(conn).is_empty() {
                self.engine.sent(conn, self.engine.unsent(conn).len());
            }
        }
    }
}

/// Plays a transcript; answers it as it should have been written.
fn play(text: &str) -> String {
    let mut lines = text.lines();
    let options = lines.next().unwrap();
    let mut stage = Stage::new(options);
    let mut played = format!("{options}\n");
    for line in lines {
        if let Some(typed) = line.strip_prefix("> ") {
            played += &format!("{line}\n{}", stage.say(typed));
        } else if let Some(ms) = line.strip_prefix('@').and_then(|it| it.strip_suffix("ms")) {
            stage.pass_time(RealSpan::from_millis(ms.parse().unwrap()));
            played += &format!("{line}\n");
        } else if let Some(word) = line.strip_prefix("+ ") {
            stage.join(word);
            played += &format!("{line}\n");
        } else if line.starts_with('#') {
            played += &format!("{line}\n");
        }
    }
    played
}

#[test]
fn transcripts() {
    trantor_transcript::check_folder(env!("CARGO_MANIFEST_DIR"), "tests/console", play);
}

proptest! {
    /// Anything may be typed.
    #[test]
    fn no_line_stops_the_server(words in prop::collection::vec(
        prop_oneof!["\\PC{0,12}", "[0-9]{1,30}", "#?[0-9]", prop::sample::select(NAMES.split(' ').collect::<Vec<_>>())
            .prop_map(str::to_owned)],
        0..6,
    )) {
        let mut stage = Stage::new("--seed 1");
        stage.join("red");
        stage.say(&words.join(" "));
    }
}

const NAMES: &str = "help tick query rate step sprint seek clients map tile settile food tp north setlevel setinventory \
                     egg red kill kick connection hunger on say end";
