//! `trantor-server console`: the other end of an operator's connection, for a terminal or a script.
//!
//! With words on the command line it says them as one line and ends; without, it says what it reads on standard input.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use clap::Parser;
use trantor_protocol::{OPERATOR_WORD, read_token};
use trantor_runtime::standard_output;

use crate::options::cli::{PROGRAM, first_line};

/// The first word of the command line that asks for it.
pub const WORD: &str = "console";

/// What to say to which server.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "console",
    bin_name = "trantor-server console",
    about = "Operate a running server: its console over a connection.",
    disable_help_flag = true,
    after_help = "Without WORDs it reads lines from standard input. The words are those of the server's help.\n\
                  Ends with status 1 if the server refused a line."
)]
pub struct ConsoleAsked {
    /// The server's host
    #[arg(short = 'h', long, value_name = "HOST", default_value = "localhost")]
    pub host: String,
    /// The server's port
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 4242, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// A file with the server's token in its first line
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// One line for the console, as: tick rate 200
    #[arg(value_name = "WORD", trailing_var_arg = true)]
    pub words: Vec<String>,
    /// Print this help
    #[arg(long, action = clap::ArgAction::HelpLong)]
    help: Option<bool>,
}

/// Reads the command line after the program's name; `Err` holds the help text or a mistake.
///
/// # Errors
/// A mistake in one line.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Result<ConsoleAsked, String>, String> {
    match ConsoleAsked::try_parse_from(arguments) {
        Ok(asked) => Ok(Ok(asked)),
        Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => Ok(Err(error.to_string())),
        Err(error) => Err(first_line(&error)),
    }
}

/// The words as one line.
///
/// # Errors
/// If they are several: a script may hand on what others wrote, and nobody is to operate through it.
fn one_line(words: &[String]) -> Result<String, String> {
    let line = words.join(" ");
    match line.contains(['\n', '\r']) {
        true => Err(format!("{line:?}: words are one line, without line feeds")),
        false => Ok(line),
    }
}

/// Connects, says the lines, prints the answers. Answers whether the server did all that was asked.
///
/// # Errors
/// If the words are no line, there is no connection, or the server does not let us operate: in one line.
pub fn run(asked: &ConsoleAsked) -> Result<bool, String> {
    let words = one_line(&asked.words)?;
    let at = format!("{}:{}", asked.host, asked.port);
    let mut server = Server::connect(asked, &at)?;
    let mut is_all_done = true;
    let mut say = |line: &str| -> Result<(), String> {
        let (is_done, told) = server.ask(line).map_err(|error| format!("{at}: {error}"))?;
        is_all_done &= is_done;
        match told.trim_end() {
            "" => Ok(()),
            told => standard_output::print(told),
        }
    };
    if asked.words.is_empty() {
        for line in io::stdin().lock().lines() {
            match line {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => say(&line)?,
                Err(error) => return Err(format!("standard input: {error}")),
            }
        }
    } else {
        say(&words)?;
    }
    Ok(is_all_done)
}

/// The connection.
struct Server {
    lines: BufReader<TcpStream>,
}

impl Server {
    fn connect(asked: &ConsoleAsked, at: &str) -> Result<Self, String> {
        let token = match &asked.token_file {
            None => None,
            Some(path) => {
                let shown = path.display();
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("{shown}: cannot be read: {error}"))?;
                let token = read_token(&text).map_err(|error| format!("{shown}: {error}"))?;
                Some(token.to_owned())
            }
        };
        let socket = TcpStream::connect((asked.host.as_str(), asked.port))
            .map_err(|error| format!("{at}: {error}; is a {PROGRAM} running there? see -h and -p"))?;
        let mut server = Self {
            lines: BufReader::new(socket),
        };
        let first = match &token {
            Some(token) => format!("{OPERATOR_WORD} {token}"),
            None => OPERATOR_WORD.to_owned(),
        };
        let greeted = server.say(&first).and_then(|()| {
            loop {
                // The greeting comes first, in any dialect; a game that is not started greets nobody.
                match server.line()?.split_once([' ', '\n']) {
                    Some(("ok", _)) => break Ok(None),
                    Some(("ko", reason)) => break Ok(Some(reason.trim().to_owned())),
                    _ => {}
                }
            }
        });
        match greeted {
            Ok(None) => Ok(server),
            Ok(Some(reason)) if reason.is_empty() => Err(format!("{at}: this server takes no operators")),
            Ok(Some(reason)) => Err(format!("{at}: {reason}")),
            Err(error) => Err(format!("{at}: {error}")),
        }
    }

    /// Says one line. Answers whether it was done, and what was told.
    fn ask(&mut self, line: &str) -> io::Result<(bool, String)> {
        self.say(line)?;
        let mut told = String::new();
        loop {
            let answer = self.line()?;
            match answer.trim_end().split_once(' ') {
                None if answer.trim_end() == "ok" => return Ok((true, told)),
                Some(("ko", reason)) => return Ok((false, told + reason)),
                _ => told.push_str(&answer),
            }
        }
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        self.lines.get_mut().write_all(format!("{line}\n").as_bytes())
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line)? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            )),
            _ => Ok(line),
        }
    }
}
