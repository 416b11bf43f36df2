//! The rows below the picture: recording, inspector, help, figures and command line.

use trantor_client::Recording;
use trantor_model::{Counts, MarkKind};
use trantor_time::GameTime;

use super::text_scene::legend;
use crate::console::{Console, Output};
use crate::figures::{Figures, Row};
use crate::input::{Action, Bindings};
use crate::intent::Selection;
use crate::state::ViewerState;
use crate::state::hud::team_name;

/// Rows of answers above the command line.
const ANSWER_ROWS: usize = 6;
/// Columns of a title before its words.
const TITLE_COLUMNS: usize = 11;
/// Keys in the last row.
const HINTS: [(Action, &str); 7] = [
    (Action::Pause, "pause"),
    (Action::Faster, "faster"),
    (Action::Slower, "slower"),
    (Action::StepUnit, "step"),
    (Action::NextAgent, "next agent"),
    (Action::Debug, "debug"),
    (Action::Console, "command"),
];

/// The position in a recording: a line as long as the page is wide, with marks of events.
pub(super) fn timeline(recording: &Recording, shown: GameTime, columns: usize) -> String {
    let shown = recording.target().unwrap_or(shown);
    let (at, end) = (shown.whole_units(), recording.end().whole_units());
    let words = format!("{at} of {end} units ");
    let width = columns.saturating_sub(words.len() + 2).max(1);
    let length = (recording.end() - recording.begin()).as_units_f64().max(1e-9);
    let place = |at: GameTime| {
        let share = (at - recording.begin()).as_units_f64() / length;
        (share.clamp(0.0, 1.0) * (width - 1) as f64).round() as usize
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

pub(super) fn inspected(state: &ViewerState) -> Option<String> {
    let scene = state.scene();
    let id = match state.selection() {
        Selection::None => return None,
        Selection::Tile(tile) => {
            let counts = scene.ground.as_ref()?.at(tile)?;
            return Some(format!("tile {}, {}: {}", tile.x, tile.y, counts_text(counts)));
        }
        Selection::Agent(id) => id,
    };
    let Some(agent) = scene.agent(id) else {
        return Some(format!("agent #{} is not on the map", id.0));
    };
    let food = agent.food_left_units;
    let food = food.map_or(String::new(), |units| format!(", lives for {units:.0} units"));
    let action = match agent.action {
        Some(action) => format!("{:?} {:.0} %", action.kind, action.progress * 100.0),
        None => "waits".to_owned(),
    };
    let (team, level) = (team_name(&scene.teams, agent.team), agent.level.get());
    let (x, y, carried) = (agent.tile.x, agent.tile.y, counts_text(&agent.inventory));
    let thought = scene.shown_by_agent(id).map(|shown| &shown.note);
    let thought = thought.filter(|note| !note.is_empty());
    let thought = thought.map_or(String::new(), |note| format!("; thinks “{note}”"));
    Some(format!(
        "#{} {team} level {level} at {x}, {y}: {action}{food}; carries {carried}{thought}",
        id.0
    ))
}

fn counts_text(counts: &Counts) -> String {
    let some = counts.iter().filter(|&(_, count)| count > 0);
    let texts: Vec<String> = some
        .map(|(resource, count)| format!("{count} {}", resource.name()))
        .collect();
    match texts.is_empty() {
        true => "nothing".to_owned(),
        false => texts.join(", "),
    }
}

pub(super) fn hints(bindings: &Bindings) -> String {
    let hint = |&(action, words): &(Action, &str)| {
        let key = bindings.keys_of(action).next()?;
        Some(format!("{key} {words} · "))
    };
    HINTS.iter().filter_map(hint).collect::<String>() + "q quit"
}

/// What the characters of the page mean, and all keys.
pub(super) fn help_lines(bindings: &Bindings, columns: usize) -> Vec<String> {
    let keys = Action::ALL.iter().filter_map(|&action| {
        let key = bindings.keys_of(action).next()?;
        Some(format!("{key} {}", action.meaning()))
    });
    let mut lines = wrapped("map", legend(), columns);
    lines.extend(wrapped(
        "teams",
        ["12345678 agents of each level".to_owned()],
        columns,
    ));
    lines.extend(wrapped("keys", keys, columns));
    lines
}

/// The groups of figures, wrapped, and the log.
pub(super) fn figure_lines(figures: &Figures, columns: usize) -> Vec<String> {
    let figure = |row: &Row| {
        let mark = if row.is_bad { "!" } else { "" };
        format!("{mark}{} {}", row.name, row.value)
    };
    let groups = figures.groups.iter();
    let lines = groups.flat_map(|group| wrapped(group.title, group.rows.iter().map(figure), columns));
    let log = figures.log.iter().map(|line| format!("! {line}"));
    lines.chain(log).collect()
}

fn wrapped(title: &str, items: impl IntoIterator<Item = String>, columns: usize) -> Vec<String> {
    let mut lines = vec![format!("{title:<TITLE_COLUMNS$}")];
    let mut is_first = true;
    for item in items {
        let Some(line) = lines.last_mut() else { break };
        let length = line.chars().count() + item.chars().count() + 3;
        match (is_first, length > columns) {
            (true, _) => line.push_str(&item),
            (false, false) => line.push_str(&format!(" | {item}")),
            (false, true) => lines.push(" ".repeat(TITLE_COLUMNS) + &item),
        }
        is_first = false;
    }
    lines
}

/// The command line, and above it the last answers in at most `rows` rows.
///
/// Of a command longer than the page, the end is shown.
pub(super) fn console_lines(console: &Console, columns: usize, rows: usize) -> Vec<String> {
    let answers = ANSWER_ROWS.min(rows.saturating_sub(1));
    let output = console
        .output
        .iter()
        .rev()
        .take(answers)
        .map(|output| match output {
            Output::Command(text) => format!("> {text}"),
            Output::Answer(text) => format!("  {text}"),
            Output::Error(text) => format!("! {text}"),
        });
    let output = output.flat_map(|line| cut(&line, columns).into_iter().rev());
    let mut lines: Vec<String> = output.take(answers).collect();
    lines.reverse();
    let room = columns.saturating_sub("> _".len());
    let hidden = console.line.chars().count().saturating_sub(room);
    let typed: String = console.line.chars().skip(hidden).collect();
    lines.push(format!("> {typed}_"));
    lines
}

/// A line wrapped to `columns`; rows after the first are indented.
fn cut(line: &str, columns: usize) -> Vec<String> {
    let letters: Vec<char> = line.chars().collect();
    let (first, rest) = letters.split_at(letters.len().min(columns));
    let rest = rest.chunks(columns.saturating_sub(4).max(1));
    let rest = rest.map(|piece| format!("    {}", piece.iter().collect::<String>()));
    std::iter::once(first.iter().collect()).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use crate::figures::{Group, judged, row};

    use super::*;

    #[test]
    fn figures_are_wrapped_to_the_page() {
        let frames = [row("a second", "9.9 of 10.0"), judged("took p99", "120 ms", true)];
        let frames = Group::new("Frames", frames);
        let systems = (0..7).map(|_| row("interpolation", "10/s · 0.1 ms"));
        let systems = Group::new("Systems", systems);
        let figures = Figures {
            groups: vec![frames, systems],
            log: vec!["ERROR the rope broke".to_owned()],
            ..Figures::default()
        };
        let lines = figure_lines(&figures, 80);
        assert_eq!(lines[0], "Frames     a second 9.9 of 10.0 | !took p99 120 ms");
        assert!(lines[1].starts_with("Systems    interp") && lines[2].starts_with("           interp"));
        assert_eq!(lines.last().unwrap(), "! ERROR the rope broke");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    }

    #[test]
    fn the_command_line_is_shown_on_the_smallest_page() {
        let mut console = Console::default();
        console.answer("", Err("an answer that is longer than a row".to_owned()));
        console.line = "log debug look_at_the_north, where the last of them went".to_owned();
        let lines = console_lines(&console, 20, 4);
        assert_eq!(
            lines[..3],
            ["! an answer that is ", "    longer than a ro", "    w"]
        );
        assert_eq!(lines[3], "> last of them went_");
        assert_eq!(console_lines(&console, 80, 1).len(), 1);
    }
}
