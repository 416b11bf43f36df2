//! The console: what an operator types, at the server's own terminal or over a connection, and what is answered.
//!
//! ```text
//! terminal ─> input (a thread) ─> sent to the loop ───┐
//!                                                    ├─> words ─> operate ─> engine, saves, the end
//! ADMIN connection ─> engine ─> the stage "operators"┘      answer ─> terminal or connection
//! ```
//!
//! [`words`] has the vocabulary, [`operate`] what each word does to an engine, [`remote`] the program at the other end
//! of a connection. What changes the world goes through the game's inputs, and so into the journal.

pub mod input;
pub mod operate;
mod picture;
pub mod remote;
pub mod words;

use trantor_engine::{AdminRequest, ConnId, OperatorLine};

use crate::keeping;
use crate::shell::Shell;
use words::Request;

/// What is answered to a line: text of whole lines, or in one line why it was not done.
pub type Answer = Result<String, String>;

/// Carries out a line of the console, which came over the connection `from` or else from the terminal.
pub fn carry_out(shell: &mut Shell, from: Option<ConnId>, line: &str) -> Answer {
    match words::parse(line) {
        Ok(Some(Request::Ask(AdminRequest::Disconnect(conn)))) if from == Some(conn) => {
            Err("this is your own connection, which ends when you close it".to_owned())
        }
        Ok(None) => Ok(String::new()),
        Ok(Some(Request::Save)) => save(shell),
        Ok(Some(Request::Quit)) => {
            shell.stop.request();
            Ok("ending\n".to_owned())
        }
        Ok(Some(request)) => {
            let now = shell.now;
            operate::carry_out(&mut shell.engine, request, now)
        }
        Err(mistake) => Err(mistake.to_string()),
    }
}

/// Carries out and answers the next line that an operator said over a connection.
pub(crate) fn answer_operator(shell: &mut Shell) {
    let Some(OperatorLine { conn, line }) = shell.engine.poll_operator_line() else {
        return;
    };
    let answer = carry_out(shell, Some(conn), &line);
    // At the terminal everybody sees what is typed and answered; here the log is the only witness.
    let (typed, refusal) = (line.trim().escape_debug(), answer.as_ref().err());
    match refusal {
        None => log::info!("connection {conn}: {typed}"),
        Some(reason) => log::info!("connection {conn}: {typed}: {reason}"),
    }
    shell.engine.answer_operator(conn, &as_lines(&answer));
}

/// An answer as it goes over a connection: its text, then a line that begins with `ok` or `ko`.
pub fn as_lines(answer: &Answer) -> String {
    match answer {
        Ok(text) => format!("{text}ok\n"),
        Err(reason) => format!("ko {reason}\n"),
    }
}

fn save(shell: &mut Shell) -> Answer {
    let directory = keeping::save(shell)?;
    Ok(format!(
        "saving in {}; the log tells if that fails\n",
        directory.display()
    ))
}
