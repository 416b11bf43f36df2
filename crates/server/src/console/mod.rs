//! The console: what an operator types, at the server's own terminal or over a connection, and what is answered.
//!
//! ```text
//! terminal ─> input (a thread) ─> sent to the loop ───┐
//!                                                    ├─> commands ─> operate ─> engine, saves, the end
//! ADMIN connection ─> engine ─> the stage "operators"┘      answer ─> terminal or connection
//! ```
//!
//! [`commands`] lists the commands, [`operate`] has what each does to an engine, [`remote`] the program at the other end
//! of a connection. What changes the world goes through the game's inputs, and so into the journal.

pub mod commands;
pub mod input;
pub mod operate;
mod picture;
pub mod remote;

use trantor_engine::{ConnId, OperatorLine};
use trantor_play::words;
use trantor_protocol::text::printable;

use self::commands::Line;
use crate::options::values;
use crate::shell::{Reply, Shell};
use crate::{metrics, service_manager};

pub use crate::shell::Answer;

/// Carries out a line of the console, which came over the connection `from` or else from the terminal; `reply` is given the answer,
/// at once or once a script was read and compiled off the loop.
pub fn carry_out(shell: &mut Shell, from: Option<ConnId>, line: &str, reply: Reply) {
    let answer = match commands::parse(line) {
        Err(reason) => Err(reason),
        Ok(None) => Ok(String::new()),
        Ok(Some(line)) => match (line.name, &line.arguments[..]) {
            ("script reload", [file]) => return shell.reload_script(file, reply),
            ("mind add", [spec]) => match words::read(spec) {
                Ok(spec) => return shell.add_minds(spec, reply),
                Err(accepted) => Err(format!("type: mind add {accepted}")),
            },
            _ => answer(shell, from, &line),
        },
    };
    reply(shell, answer);
}

/// The answer of a line that is carried out at once.
fn answer(shell: &mut Shell, from: Option<ConnId>, line: &Line<'_>) -> Answer {
    match (line.name, &line.arguments[..]) {
        ("save", []) => {
            let directory = shell.save()?;
            Ok(format!(
                "saving in {}; the log tells if that fails\n",
                directory.display()
            ))
        }
        ("script list", []) => Ok(shell.scripts.list()),
        ("script resume", [file]) => shell.resume_script(file),
        ("timer list", []) => Ok(shell.timers.shown(shell.now)),
        ("timer remove" | "timer every", [name, ..]) if *name == service_manager::TIMER => Err(format!(
            "{name} tells the service manager that the server is alive; it cannot be changed"
        )),
        ("timer remove", [name]) => {
            shell.timers.remove(name)?;
            Ok(shell.timers.shown(shell.now))
        }
        ("timer every", [name, period]) => {
            let period =
                values::period()(period).map_err(|accepted| format!("{period:?} is not {accepted}"))?;
            shell.timers.set_period(name, period, shell.now)?;
            Ok(shell.timers.shown(shell.now))
        }
        ("metrics", []) => metrics::collect(shell).into_lines(None),
        ("metrics", [word]) => metrics::collect(shell).into_lines(Some(word)),
        ("quit", []) => {
            shell.stop.request();
            Ok("ending\n".to_owned())
        }
        _ if from.is_some() && operate::disconnected(line) == from => {
            Err("this is your own connection, which ends when you close it".to_owned())
        }
        _ => operate::carry_out(&mut shell.engine, line, shell.now),
    }
}

/// Carries out and answers the next line that an operator sent over a connection.
pub(crate) fn answer_operator(shell: &mut Shell) {
    let Some(OperatorLine { conn, line }) = shell.engine.poll_operator_line() else {
        return;
    };
    let typed = cut(line.trim().escape_debug());
    let reply = move |shell: &mut Shell, answer: Answer| {
        // The terminal shows what is typed and answered; of a connection only the log does.
        if let Some(left_out) = shell.operators_logged.note(shell.now) {
            if left_out > 0 {
                log::info!("{left_out} lines of operators were carried out and not logged");
            }
            match &answer {
                Ok(_) => log::info!("connection {conn}: {typed}"),
                Err(reason) => log::info!("connection {conn}: {typed}: {}", cut(printable(reason))),
            }
        }
        shell.engine.answer_operator(conn, &as_lines(&answer));
    };
    carry_out(shell, Some(conn), &line, Box::new(reply));
}

/// Characters of a line, and of the answer to it, in the log: what a person types.
const LOGGED_CHARS_MAX: usize = 200;

fn cut(text: impl IntoIterator<Item = char>) -> String {
    let mut letters = text.into_iter();
    let mut cut: String = letters.by_ref().take(LOGGED_CHARS_MAX).collect();
    if letters.next().is_some() {
        cut.push('…');
    }
    cut
}

/// An answer as it goes over a connection: its text, then a line that begins with `ok` or `ko`.
pub fn as_lines(answer: &Answer) -> String {
    match answer {
        Ok(text) => format!("{text}ok\n"),
        Err(reason) => format!("ko {reason}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_kilobytes_is_cut_in_the_log_and_controls_no_terminal() {
        let logged = cut("x".repeat(5_000).chars());
        assert_eq!(logged.chars().count(), LOGGED_CHARS_MAX + 1);
        assert!(logged.ends_with('…'));
        assert_eq!(cut(printable("no \x1b[2J\u{202e}team")), "no [2Jteam");
    }
}
