//! `trantor-server console`: the other end of an operator's connection, for a terminal or a script.
//!
//! It sends the words of the command line as one line and ends; without words it sends the lines of standard input.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use clap::Parser;
use trantor_cli::values::whole;
use trantor_protocol::limits::TOKEN_FILE_BYTES_MAX;
use trantor_protocol::text::printable;
use trantor_protocol::{OPERATOR_WORD, read_token};
use trantor_runtime::files::read_regular_text;
use trantor_runtime::standard_output;
use trantor_runtime::user_token::user_token;

use crate::options::PROGRAM;

#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(
    name = "console",
    bin_name = "trantor-server console",
    about = "Operate a running server: its console over a connection.",
    disable_help_flag = true,
    after_help = "Without WORDs it reads lines from standard input. The words are those of the server's help.\n\
                  Ends with status 1 if the server refused a line."
)]
pub struct ConsoleCommand {
    /// The server's host
    #[arg(short = 'h', long, value_name = "HOST", default_value = "localhost")]
    pub host: String,
    /// The server's port
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 4242, value_parser = whole::<u16>(1, 65_535))]
    pub port: u16,
    /// A file with the server's token in its first line; without it, the token that a server of this user has left
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// One line for the console, as: tick rate 200
    #[arg(value_name = "WORD", trailing_var_arg = true)]
    pub words: Vec<String>,
    /// Print this help
    #[arg(long, action = clap::ArgAction::HelpLong)]
    help: Option<bool>,
}

/// The words as one line.
///
/// # Errors
/// If they have line feeds: a script may pass on what others wrote, which must not become commands.
fn one_line(words: &[String]) -> Result<String, String> {
    let line = words.join(" ");
    match line.contains(['\n', '\r']) {
        true => Err(format!("{line:?}: words are one line, without line feeds")),
        false => Ok(line),
    }
}

/// Connects, sends the lines, prints the answers. Answers whether the server did all of it.
pub fn run(asked: &ConsoleCommand) -> Result<bool, String> {
    let words = one_line(&asked.words)?;
    let at = format!("{}:{}", asked.host, asked.port);
    let mut server = Server::connect(asked, &at)?;
    let mut is_all_done = true;
    let mut say = |line: &str| -> Result<(), String> {
        is_all_done &= server.ask(line, standard_output::print)?;
        Ok(())
    };
    if asked.words.is_empty() {
        let mut input = io::stdin().lock();
        let refused = |error| format!("standard input: {error}");
        while let Some(line) = read_line(&mut input).map_err(refused)? {
            let line = String::from_utf8(line).map_err(|_| refused(ErrorKind::InvalidData.into()))?;
            match line.trim() {
                "" => {}
                line => say(line)?,
            }
        }
    } else {
        say(&words)?;
    }
    Ok(is_all_done)
}

/// Bytes of the longest line that is taken from a server, and from standard input: its own have a few hundred.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Lines of a server before it accepts or refuses an operator: the greeting, and one more.
const GREETING_LINES_MAX: usize = 16;

/// The connection. What the server sends may be endless, and may be no text.
struct Server {
    at: String,
    reader: BufReader<TcpStream>,
}

impl Server {
    fn connect(asked: &ConsoleCommand, at: &str) -> Result<Self, String> {
        let given = match &asked.token_file {
            None => None,
            Some(path) => {
                let shown = path.display();
                let text = read_regular_text(path, TOKEN_FILE_BYTES_MAX)
                    .map_err(|error| format!("{shown}: cannot be read: {error}"))?;
                let token = read_token(&text).map_err(|error| format!("{shown}: {error}"))?;
                Some(token.to_owned())
            }
        };
        let socket = TcpStream::connect((asked.host.as_str(), asked.port))
            .map_err(|error| format!("{at}: {error}; is a {PROGRAM} running there? see -h and -p"))?;
        let token = given.or_else(|| user_token(socket.local_addr().ok()?, socket.peer_addr().ok()?));
        let mut server = Self {
            at: at.to_owned(),
            reader: BufReader::new(socket),
        };
        let first = match &token {
            Some(token) => format!("{OPERATOR_WORD} {token}"),
            None => OPERATOR_WORD.to_owned(),
        };
        server.say(&first)?;
        // The greeting comes first, in any dialect; a game that is not started sends none.
        for _ in 0..GREETING_LINES_MAX {
            match Answer::read(&server.line()?) {
                Answer::Done => return Ok(server),
                Answer::Refused("") => return Err(format!("{at}: this server takes no operators")),
                Answer::Refused(reason) => return Err(format!("{at}: {reason}")),
                Answer::Text(_) => {}
            }
        }
        Err(format!("{at}: this is no {PROGRAM}"))
    }

    /// Sends one line and hands each line of the answer to `print`. Answers whether it was done.
    fn ask(&mut self, line: &str, mut print: impl FnMut(&str) -> Result<(), String>) -> Result<bool, String> {
        self.say(line)?;
        loop {
            match Answer::read(&self.line()?) {
                Answer::Done => return Ok(true),
                Answer::Refused(reason) => return print(reason).map(|()| false),
                Answer::Text(text) => print(text)?,
            }
        }
    }

    fn say(&mut self, line: &str) -> Result<(), String> {
        let said = self.reader.get_mut().write_all(format!("{line}\n").as_bytes());
        said.map_err(|error| format!("{}: {error}", self.at))
    }

    /// The next line, without what would control a terminal.
    fn line(&mut self) -> Result<String, String> {
        match read_line(&mut self.reader) {
            Err(error) => Err(format!("{}: {error}", self.at)),
            Ok(Some(line)) if line.ends_with(b"\n") => {
                Ok(printable(&String::from_utf8_lossy(&line)).collect())
            }
            Ok(_) => Err(format!("{}: the server closed the connection", self.at)),
        }
    }
}

/// The next line with its end, if it has one; `None` at the end of the input.
///
/// # Errors
/// What the system says, and if the line is longer than [`LINE_BYTES_MAX`].
fn read_line(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    from.take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line)?;
    if line.len() as u64 > LINE_BYTES_MAX {
        let why = format!("a line has more than {LINE_BYTES_MAX} bytes");
        return Err(io::Error::new(ErrorKind::InvalidData, why));
    }
    Ok((!line.is_empty()).then_some(line))
}

enum Answer<'a> {
    /// The last one: it was done.
    Done,
    /// The last one: why it was not done.
    Refused(&'a str),
    /// One of those before.
    Text(&'a str),
}

impl<'a> Answer<'a> {
    fn read(line: &'a str) -> Self {
        let line = line.trim_end();
        match line.split_once(' ') {
            None if line == "ok" => Self::Done,
            None if line == "ko" => Self::Refused(""),
            Some(("ko", reason)) => Self::Refused(reason),
            _ => Self::Text(line),
        }
    }
}
