//! The program as transcripts: how it is called and talked to, what it answers and logs, and what it leaves on the disk.
//!
//! ```text
//! # …                    a remark
//! env NAME=VALUE …       the environment of the programs that follow, and nothing else of ours
//! file NAME TEXT; TEXT   a file with these lines; `+` before the name keeps what it has
//! remove NAME            no such file any more
//! recordings             writes those of `replay::write_recordings`
//! there NAME …           files that are there within half a minute
//! gone NAME …            files that are not there
//! $ ARGUMENTS            runs the program to its end; it prints, answers and ends with:
//! sh COMMAND             runs a command of bash, which knows `trantor-server`, as the program is run
//! | TEXT                   a line on standard output
//! ! TEXT                   a line on standard error
//! = 84                     the status, 0 where it is not said
//! server ARGUMENTS       a server on a port of its choice; then the line that it prints when it listens
//! in TEXT                a line for its standard input; `in` alone is the end of it
//! signal NAME            a signal for it
//! log TEXT               a line that it logs next, others skipped
//! ends STATUS            how it ends
//! A> TEXT                a peer sends a line; a new name connects first
//! A< TEXT                its next line
//! A<< TEXT               the next line like that, others skipped
//! A.                     its connection ends in order
//! ```
//!
//! All files lie in a folder of the transcript's own, where the programs run. `…` stands for any text, alone for any lines;
//! `{port}`, `{address}` and `{folder}` for those of the last server.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use trantor_runtime::threads;

use crate::replay::write_recordings;
use crate::support::{Folder, PROGRAM, Peer, Program, command, outcome, wait_until};

struct Transcript {
    folder: Folder,
    environment: Vec<(String, String)>,
    /// The last one is spoken of; those before it stay.
    servers: Vec<Program>,
    peers: BTreeMap<String, Peer>,
    /// The step that is played, for messages.
    at: String,
}

impl Transcript {
    fn play(text: &str) {
        let mut transcript = Self {
            folder: Folder::new(),
            environment: Vec::new(),
            servers: Vec::new(),
            peers: BTreeMap::new(),
            at: String::new(),
        };
        let mut lines = text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let mut answer = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with(['|', '!', '='])) {
                answer.push(line);
            }
            transcript.at = format!("line {}: {line}", number + 1);
            transcript.step(&transcript.filled_in(line), &answer);
        }
    }

    fn filled_in(&self, line: &str) -> String {
        let Some(address) = self.servers.last().map(|server| server.address) else {
            return line.replace("{folder}", self.folder.to_str().unwrap());
        };
        line.replace("{port}", &address.port().to_string())
            .replace("{address}", &address.to_string())
            .replace("{folder}", self.folder.to_str().unwrap())
    }

    fn step(&mut self, line: &str, answer: &[&str]) {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        let name = word.trim_end_matches(['>', '<', '.']);
        match &word[name.len()..] {
            "" => self.step_of_programs(word, text, answer),
            ">" => {
                let address = self.servers.last().unwrap().address;
                let peer = self.peers.entry(name.to_owned());
                peer.or_insert_with(|| Peer::connect(address))
                    .send(&format!("{text}\n"));
            }
            "." => drop(self.peers.get_mut(name).unwrap().rest().unwrap()),
            skips => loop {
                let line = self.peers.get_mut(name).and_then(Peer::next_line);
                let line = line.unwrap_or_else(|| panic!("{}: the connection ended", self.at));
                if skips == "<" || is_like(text, &line) {
                    break self.expect(text, &line);
                }
            },
        }
    }

    fn step_of_programs(&mut self, word: &str, text: &str, answer: &[&str]) {
        match word {
            "" | "#" => {}
            "env" => {
                let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
                self.environment = pairs.map(|(name, value)| (name.into(), value.into())).collect();
            }
            "file" => {
                let (name, text) = text.split_once(' ').unwrap_or((text, ""));
                let end = if text.is_empty() { "" } else { "\n" };
                let text = text.replace("; ", "\n") + end;
                self.folder.write(name, text.as_bytes());
            }
            "remove" => std::fs::remove_file(self.folder.join(text)).unwrap(),
            "recordings" => write_recordings(&self.folder),
            "there" => text.split(' ').for_each(|name| self.wait_for(name)),
            "gone" => {
                let found = text.split(' ').find(|name| self.folder.join(name).exists());
                assert_eq!(found, None, "{}", self.at);
            }
            "$" => self.run(self.command(text), answer),
            "sh" => {
                let mut shell = self.prepared(Command::new("bash"));
                let program = Path::new(PROGRAM).parent().unwrap().display();
                shell.args(["-c", &format!("PATH={program}:$PATH; {text}")]);
                self.run(shell, answer);
            }
            "server" => {
                self.peers.clear();
                self.servers.push(Program::by(self.command(text), Stdio::piped()));
                let expected = answer
                    .first()
                    .map_or("| …".to_owned(), |line| self.filled_in(line));
                let first = &self.servers.last().unwrap().first_line;
                self.expect(&expected, &format!("| {}", first.trim_end()));
            }
            "in" if text.is_empty() => drop(self.servers.last_mut().unwrap().child.stdin.take()),
            "in" => {
                let stdin = &mut self.servers.last_mut().unwrap().child.stdin;
                writeln!(stdin.as_mut().unwrap(), "{text}").unwrap();
            }
            "signal" => self.servers.last().unwrap().kill(&format!("-{text}")),
            "log" => {
                let mut line = String::new();
                while !is_like(text, line.trim_end()) {
                    line.clear();
                    let read = self.servers.last_mut().unwrap().err.read_line(&mut line);
                    assert!(read.unwrap() > 0, "{}: the log ended", self.at);
                }
            }
            "ends" => {
                let status = self.servers.last_mut().unwrap().child.wait().unwrap().code();
                self.expect(
                    text,
                    &status.map_or("by a signal".to_owned(), |code| code.to_string()),
                );
            }
            _ => panic!("{}: no such step", self.at),
        }
    }

    fn expect(&self, pattern: &str, got: &str) {
        assert!(is_like(pattern, got), "{}\ngot: {got}", self.at);
    }

    fn command(&self, arguments: &str) -> Command {
        self.prepared(command(&self.folder, arguments))
    }

    fn prepared(&self, mut command: Command) -> Command {
        let pairs = self.environment.iter().map(|(name, value)| (name, value));
        let folder = command.current_dir(&*self.folder);
        folder.env_remove("RUST_LOG").envs(pairs);
        command
    }

    fn run(&self, mut command: Command, answer: &[&str]) {
        let (status, out, err) = outcome(&mut command);
        let mut got: Vec<_> = out
            .lines()
            .map(|line| format!("| {}", line.trim_start()))
            .collect();
        got.extend(err.lines().map(|line| format!("! {line}")));
        got.extend((status != 0).then(|| format!("= {status}")));
        let expected: Vec<_> = answer.iter().map(|line| self.filled_in(line)).collect();
        assert!(are_like(&expected, &got), "{}\n{}", self.at, got.join("\n"));
    }

    fn wait_for(&self, name: &str) {
        let missing = format!("{}: {name} is not there", self.at);
        wait_until(&missing, || self.folder.join(name).exists());
    }
}

fn are_like(patterns: &[String], lines: &[String]) -> bool {
    let Some((pattern, rest)) = patterns.split_first() else {
        return lines.is_empty();
    };
    match pattern.as_str() {
        "| …" | "! …" => {
            let skippable = lines.iter().take_while(|line| is_like(pattern, line)).count();
            (0..=skippable).any(|skipped| are_like(rest, &lines[skipped..]))
        }
        _ => lines.first().is_some_and(|line| is_like(pattern, line)) && are_like(rest, &lines[1..]),
    }
}

fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut text) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return text.is_empty();
    };
    for part in parts {
        let Some((_, rest)) = text.split_once(part) else {
            return false;
        };
        text = rest;
    }
    text.ends_with(last)
}

/// All at once, since most of their time is spent waiting for programs.
#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let play = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        threads::spawn(path.file_stem().unwrap().to_str().unwrap(), move || {
            Transcript::play(&text)
        })
    };
    let paths = trantor_transcript::files(&folder);
    let threads: Vec<_> = paths.into_iter().map(|path| play(path).unwrap()).collect();
    let failures = threads.into_iter().filter_map(|thread| thread.join().err());
    let failures: Vec<_> = failures.map(|error| error.to_string()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
