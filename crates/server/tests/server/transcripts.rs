//! The program as transcripts: how it is called and talked to, what it answers and logs, and what it leaves on the disk.
//!
//! ```text
//! # …                    a remark
//! env NAME=VALUE …       the environment of the programs that follow, and nothing else of ours
//! file NAME TEXT; TEXT   a file with these lines; `+` before the name keeps what it has
//! recordings             writes those of `replay::write_recordings`
//! there NAME …           files that are there within ten seconds
//! gone NAME …            files that are not there
//! $ ARGUMENTS            runs the program to its end; it prints, answers and ends with:
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
use trantor_time::RealSpan;

use crate::replay::write_recordings;
use crate::support::{Folder, Peer, Program, command, now, outcome};

struct Transcript {
    folder: Folder,
    environment: Vec<(String, String)>,
    /// The last one is spoken of; those before it stay.
    servers: Vec<Program>,
    peers: BTreeMap<String, Peer>,
}

impl Transcript {
    fn play(text: &str) {
        let mut transcript = Self {
            folder: Folder::new(),
            environment: Vec::new(),
            servers: Vec::new(),
            peers: BTreeMap::new(),
        };
        let mut lines = text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let mut answer = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with(['|', '!', '='])) {
                answer.push(line);
            }
            if let Err(why) = transcript.step(&transcript.filled_in(line), &answer) {
                panic!("line {}: {line}\n{why}", number + 1);
            }
        }
    }

    fn filled_in(&self, line: &str) -> String {
        let address = self.servers.last().map(|server| server.address);
        let [port, address] = [
            address.map(|it| it.port().to_string()),
            address.map(|it| it.to_string()),
        ]
        .map(Option::unwrap_or_default);
        line.replace("{port}", &port)
            .replace("{address}", &address)
            .replace("{folder}", self.folder.to_str().unwrap())
    }

    fn step(&mut self, line: &str, answer: &[&str]) -> Result<(), String> {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(name) = word.strip_suffix('>') {
            let server = self.servers.last().unwrap();
            let peer = self.peers.entry(name.to_owned());
            peer.or_insert_with(|| Peer::connect(server.address))
                .send(&format!("{text}\n"));
            return Ok(());
        }
        if let Some(name) = word.strip_suffix("<<").or_else(|| word.strip_suffix('<')) {
            return self.receive(name, text, word.ends_with("<<"));
        }
        if let Some(peer) = word.strip_suffix('.').and_then(|name| self.peers.get_mut(name)) {
            return peer.rest().map(drop).map_err(|error| error.to_string());
        }
        match word {
            "" | "#" => Ok(()),
            "env" => {
                let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
                self.environment = pairs.map(|(name, value)| (name.into(), value.into())).collect();
                Ok(())
            }
            "file" => self.write(text),
            "recordings" => {
                write_recordings(&self.folder);
                Ok(())
            }
            "there" => text.split(' ').try_for_each(|name| self.appears(name)),
            "gone" => match text.split(' ').find(|name| self.folder.join(name).exists()) {
                Some(name) => Err(format!("{name} is there")),
                None => Ok(()),
            },
            "$" => self.run(text, answer),
            "server" => {
                self.peers.clear();
                let server = Program::by(self.command(text), Stdio::piped());
                let first = server.first_line.trim_end().to_owned();
                self.servers.push(server);
                let expected = answer
                    .first()
                    .map_or("| …".to_owned(), |line| self.filled_in(line));
                same(&expected, &format!("| {first}"))
            }
            _ => self.step_of_server(word, text),
        }
    }

    fn step_of_server(&mut self, word: &str, text: &str) -> Result<(), String> {
        let server = self.servers.last_mut().unwrap();
        match word {
            "in" if text.is_empty() => drop(server.child.stdin.take()),
            "in" => writeln!(server.child.stdin.as_mut().unwrap(), "{}", text).unwrap(),
            "signal" => server.kill(&format!("-{text}")),
            "log" => loop {
                let mut line = String::new();
                if server.err.read_line(&mut line).unwrap() == 0 {
                    return Err("the log ended".to_owned());
                }
                if is_like(text, line.trim_end()) {
                    break;
                }
            },
            "ends" => {
                let status = server.child.wait().unwrap().code();
                return same(
                    text,
                    &status.map_or("by a signal".to_owned(), |code| code.to_string()),
                );
            }
            _ => return Err("no such step".to_owned()),
        }
        Ok(())
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = command(&self.folder, arguments);
        let pairs = self.environment.iter().map(|(name, value)| (name, value));
        command.env_remove("RUST_LOG").envs(pairs);
        command
    }

    fn run(&self, arguments: &str, answer: &[&str]) -> Result<(), String> {
        let (status, out, err) = outcome(&mut self.command(arguments));
        let printed = out.lines().map(|line| format!("| {}", line.trim_start()));
        let mut got: Vec<_> = printed
            .chain(err.lines().map(|line| format!("! {line}")))
            .collect();
        got.extend((status != 0).then(|| format!("= {status}")));
        let expected: Vec<_> = answer.iter().map(|line| self.filled_in(line)).collect();
        are_like(&expected, &got)
            .then_some(())
            .ok_or_else(|| got.join("\n"))
    }

    fn receive(&mut self, name: &str, text: &str, skips: bool) -> Result<(), String> {
        let peer = self.peers.get_mut(name).ok_or("it has not connected")?;
        let mut skipped = String::new();
        loop {
            let line = peer
                .next_line()
                .ok_or_else(|| format!("the connection ended:\n{skipped}"))?;
            if is_like(text, &line) {
                return Ok(());
            }
            if !skips {
                return same(text, &line);
            }
            skipped += &format!("{line}\n");
        }
    }

    fn write(&self, text: &str) -> Result<(), String> {
        let (name, text) = text.split_once(' ').unwrap_or((text, ""));
        let mut text = text.replace("; ", "\n");
        if !text.is_empty() {
            text += "\n";
        }
        self.folder.write(name, text.as_bytes());
        Ok(())
    }

    fn appears(&self, name: &str) -> Result<(), String> {
        let patience = now() + RealSpan::from_secs(10);
        while !self.folder.join(name).exists() {
            if now() > patience {
                return Err(format!("{name} is not there"));
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

fn same(expected: &str, got: &str) -> Result<(), String> {
    match is_like(expected, got) {
        true => Ok(()),
        false => Err(format!("got: {got}")),
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
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let threads: Vec<_> = paths.map(|path| play(path).unwrap()).collect();
    assert!(!threads.is_empty(), "the transcripts are where they were");
    let failures = threads.into_iter().filter_map(|thread| thread.join().err());
    let failures: Vec<_> = failures.map(|error| error.to_string()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
