//! Everything around the picture in words, a row each, as long as it fits.

use trantor_client::Recording;
use trantor_protocol::wire::MarkKind;
use trantor_time::GameTime;

use crate::console::{Console, Said};
use crate::hud::figures::Figures;
use crate::input::{Action, Bindings};
use crate::intent::Selection;
use crate::stage::Stage;

/// Lines of answers that are shown below the command line.
const SAID_LINES: usize = 6;
/// Keys named in the last row.
const HINTS: [(Action, &str); 7] = [
    (Action::Pause, "pause"),
    (Action::Faster, "faster"),
    (Action::Slower, "slower"),
    (Action::StepUnit, "step"),
    (Action::NextAgent, "next agent"),
    (Action::Debug, "inside"),
    (Action::Console, "command"),
];

/// Where a recording stands: a line as long as the page is wide, with a mark where something happened.
pub(super) fn timeline(recording: &Recording, shown: GameTime, columns: usize) -> String {
    let shown = recording.target().unwrap_or(shown);
    let words = format!(
        "{} of {} units ",
        shown.whole_units(),
        recording.end().whole_units()
    );
    let width = columns.saturating_sub(words.len() + 2).max(1);
    let length = (recording.end() - recording.begin()).as_units_f64().max(1e-9);
    let place = |at: GameTime| {
        let share = (at - recording.begin()).as_units_f64() / length;
        ((share.clamp(0.0, 1.0) * (width - 1) as f64).round()) as usize
    };
    let mut line = vec!['-'; width];
    for mark in recording.marks() {
        line[place(mark.at)] = match mark.kind {
            MarkKind::Died { .. } => 'x',
            MarkKind::Rose { .. } => '^',
            MarkKind::Won { .. } => 'W',
            MarkKind::Speed { .. } | MarkKind::Paused | MarkKind::Resumed => 's',
        };
    }
    line[place(shown)] = '|';
    format!("{words}[{}]", line.into_iter().collect::<String>())
}

/// Everything about the selected agent or tile, in a line.
pub(super) fn inspected(stage: &Stage) -> Option<String> {
    let scene = stage.scene();
    match stage.selection() {
        Selection::None => None,
        Selection::Tile(tile) => {
            let counts = scene.ground.as_ref()?.at(tile)?;
            Some(format!("tile {}, {}: {}", tile.x, tile.y, counts_words(counts)))
        }
        Selection::Agent(id) => Some(match scene.agent(id) {
            None => format!("agent #{} is not on the map", id.0),
            Some(agent) => {
                let team = scene.teams.get(usize::from(agent.team.0));
                let lives = match agent.food_left_units {
                    Some(units) => format!(", lives for {units:.0} units"),
                    None => String::new(),
                };
                let does = match agent.action {
                    Some(action) => format!("{:?} {:.0} %", action.kind, action.progress * 100.0),
                    None => "waits".to_owned(),
                };
                format!(
                    "#{} {} level {} at {}, {}: {does}{lives}; carries {}",
                    id.0,
                    team.map_or("", |team| &*team.name),
                    agent.level.get(),
                    agent.tile.x,
                    agent.tile.y,
                    counts_words(&agent.inventory)
                )
            }
        }),
    }
}

fn counts_words(counts: &trantor_model::Counts) -> String {
    let some = counts.iter().filter(|&(_, count)| count > 0);
    let words: Vec<String> = some
        .map(|(resource, count)| format!("{count} {}", resource.name()))
        .collect();
    match words.is_empty() {
        true => "nothing".to_owned(),
        false => words.join(", "),
    }
}

pub(super) fn hints(bindings: &Bindings) -> String {
    let hint = |&(action, words): &(Action, &str)| {
        let key = bindings.keys_of(action).next()?;
        Some(format!("{key} {words}"))
    };
    let mut words: Vec<String> = HINTS.iter().filter_map(hint).collect();
    words.push("q quit".to_owned());
    words.join(" · ")
}

fn key_words(bindings: &Bindings) -> impl Iterator<Item = String> + '_ {
    Action::ALL.iter().filter_map(|&action| {
        let key = bindings.keys_of(action).next()?;
        Some(format!("{key} {}", action.meaning()))
    })
}

/// Figures as lines of at most `columns` characters, a group on as few as it needs.
pub(super) fn figure_lines(figures: &Figures, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &figures.groups {
        let words = group.rows.iter().map(|row| {
            let mark = if row.is_bad { "!" } else { "" };
            format!("{mark}{} {}", row.name, row.value)
        });
        lines.extend(wrapped(group.title, words, columns));
    }
    lines.extend(figures.log.iter().map(|line| format!("! {line}")));
    lines
}

/// Columns of a title before its words.
const TITLE_COLUMNS: usize = 11;

fn wrapped(title: &str, words: impl IntoIterator<Item = String>, columns: usize) -> Vec<String> {
    let mut lines = vec![format!("{title:<TITLE_COLUMNS$}")];
    for word in words {
        let length = word.chars().count();
        let last = lines.last().expect("there is at least the title's");
        if last.chars().count() + length + 3 > columns && last.trim_end().len() > TITLE_COLUMNS {
            lines.push(" ".repeat(TITLE_COLUMNS));
        }
        let last = lines.last_mut().expect("there is at least the title's");
        if last.trim_end().len() > TITLE_COLUMNS {
            last.push_str(" | ");
        }
        last.push_str(&word);
    }
    lines
}

fn said_line(said: &Said) -> String {
    match said {
        Said::Asked(text) => format!("> {text}"),
        Said::Answered(text) => format!("  {text}"),
        Said::Refused(text) => format!("! {text}"),
    }
}

/// All keys, for help.
pub(super) fn help_lines(bindings: &Bindings, columns: usize) -> Vec<String> {
    wrapped("keys", key_words(bindings), columns)
}

/// The command line, and above it the last answers: as many as find room in `rows`.
///
/// Of a line that is longer than the page, its end is shown, where the next letter goes.
pub(super) fn console_lines(console: &Console, columns: usize, rows: usize) -> Vec<String> {
    let answers = SAID_LINES.min(rows.saturating_sub(1));
    let said = console.said().rev().take(answers).map(said_line);
    let said = said.flat_map(|line| cut(&line, columns).into_iter().rev());
    let mut lines: Vec<String> = said.take(answers).collect();
    lines.reverse();
    let room = columns.saturating_sub("> _".len());
    let hidden = console.line.chars().count().saturating_sub(room);
    let typed: String = console.line.chars().skip(hidden).collect();
    lines.push(format!("> {typed}_"));
    lines
}

/// A line in rows of so many characters, those after the first indented.
fn cut(line: &str, columns: usize) -> Vec<String> {
    let letters: Vec<char> = line.chars().collect();
    let (first, rest) = letters.split_at(letters.len().min(columns));
    let rest = rest.chunks(columns.saturating_sub(4).max(1));
    let rest = rest.map(|piece| format!("    {}", piece.iter().collect::<String>()));
    std::iter::once(first.iter().collect()).chain(rest).collect()
}

/// The same in as many characters of ASCII, for terminals that know no others.
pub(super) fn plain(text: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii() => letter,
        '·' | '│' => '|',
        '–' | '—' | '−' => '-',
        '“' | '”' => '"',
        '’' | '‘' => '\'',
        '×' => 'x',
        '…' => '.',
        '\u{2009}' | '\u{a0}' => ' ',
        _ => '?',
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hud::figures::{Group, Row};

    fn row(name: &str, value: &str, is_bad: bool) -> Row {
        Row {
            name: name.to_owned(),
            value: value.to_owned(),
            is_bad,
        }
    }

    #[test]
    fn the_debugging_view_fits_any_terminal() {
        let figures = Figures {
            groups: vec![
                Group {
                    title: "Frames",
                    rows: vec![
                        row("a second", "9.9 of 10.0", false),
                        row("took p99", "120 ms", true),
                    ],
                },
                Group {
                    title: "Systems",
                    rows: (0..7)
                        .map(|_| row("interpolation", "10/s · 0.1 ms", false))
                        .collect(),
                },
            ],
            log: vec!["ERROR the rope broke".to_owned()],
            ..Figures::default()
        };
        let lines = figure_lines(&figures, 80);
        assert_eq!(lines[0], "Frames     a second 9.9 of 10.0 | !took p99 120 ms");
        assert!(
            lines[1].starts_with("Systems    interpolation") && lines[2].starts_with("           interp")
        );
        assert_eq!(lines.last().unwrap(), "! ERROR the rope broke");
        for columns in [40, 80, 200] {
            let lines = figure_lines(&figures, columns);
            assert!(
                lines.iter().all(|line| line.chars().count() <= columns),
                "{columns}: {lines:#?}"
            );
        }
    }

    #[test]
    fn the_command_line_is_seen_on_the_smallest_page() {
        let mut console = Console::default();
        console.line = "help".to_owned();
        console.enter();
        let line = console.take_entered().unwrap();
        console.answer(
            &line,
            Ok((0..20).map(|number| format!("line {number}\n")).collect()),
        );
        console.line = "remind 60 look at the north, where the last of them went".to_owned();
        let lines = console_lines(&console, 20, 3);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2], "> last of them went_");
        assert!(lines.iter().all(|line| line.chars().count() <= 20), "{lines:?}");
        console.answer("", Err("an answer that is longer than a row".to_owned()));
        let lines = console_lines(&console, 20, 4);
        assert_eq!(
            lines[..3],
            ["! an answer that is ", "    longer than a ro", "    w"]
        );
        assert_eq!(
            console_lines(&console, 80, 1).len(),
            1,
            "what is typed comes first"
        );
    }

    #[test]
    fn plain_words_are_as_long_as_the_others() {
        let text = "a · b — “c” 5×5 … ö";
        assert_eq!(plain(text), "a | b - \"c\" 5x5 . ?");
        assert_eq!(plain(text).chars().count(), text.chars().count());
    }
}
