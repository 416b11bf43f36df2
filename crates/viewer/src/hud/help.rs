//! The keys: a line at the bottom, and all of them on request.

use egui::{Align2, Area, Context, Id, Order, Rect, RichText, Ui, vec2};

use super::HudInput;
use super::columns;
use super::layout::EDGE;
use super::report::Report;
use super::theme::{self, Colors};
use crate::input::{Action, Bindings};
use crate::intent::Intent;

/// What the line at the bottom names.
const HINTS: [(Action, &str); 7] = [
    (Action::Pause, "pause"),
    (Action::Faster, "faster"),
    (Action::Slower, "slower"),
    (Action::StepUnit, "step"),
    (Action::Overview, "whole map"),
    (Action::HeatMap, "heat map"),
    (Action::Help, "all keys"),
];

/// Points of a window's width below which they would cover the columns.
pub(super) const HINTS_FROM: f32 = 1_150.0;

/// The line at the bottom; answers what it covers.
pub(super) fn hints(context: &Context, colors: &Colors, input: &HudInput<'_>) -> Option<Rect> {
    if context.content_rect().width() < HINTS_FROM {
        return None;
    }
    let laid = Area::new(Id::unique("hints"))
        .anchor(Align2::CENTER_BOTTOM, vec2(0.0, -EDGE))
        .order(Order::Middle)
        .fade_in(false)
        .interactable(false)
        .show(context, |ui| {
            let frame = colors.card().inner_margin(egui::Margin::symmetric(12, 6));
            frame.show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.spacing_mut().item_spacing.x = 5.0;
                    for (action, words) in HINTS {
                        if let Some(key) = input.bindings.keys_of(action).next() {
                            cap(ui, colors, key);
                            ui.add(
                                egui::Label::new(RichText::new(words).size(11.0).color(colors.weak)).extend(),
                            );
                            ui.add_space(5.0);
                        }
                    }
                });
            });
        });
    Some(laid.response.rect)
}

/// What the mouse does.
const MOUSE: [(&str, &str); 4] = [
    ("select an agent or a tile", "click"),
    ("move the board", "drag"),
    ("turn and tilt", "right drag"),
    ("nearer and further", "wheel, pinch"),
];
/// What belongs together: from an action to another, as in [`Action::ALL`]. Groups stand in this order, in columns as high as each other.
const GROUPS: [(&str, Action, Action); 7] = [
    ("Time", Action::Pause, Action::MuchSlower),
    ("Agents", Action::Follow, Action::Search),
    ("Recordings", Action::StepBack, Action::RepeatNothing),
    ("Camera", Action::PanNorth, Action::Overview),
    ("On the board", Action::HeatMap, Action::Labels),
    ("Panels and window", Action::Panels, Action::FullScreen),
    ("Pictures, sound, server", Action::Screenshot, Action::Quit),
];
/// Columns of keys at most, their least width, and what is between them; in points.
const COLUMNS_MAX: usize = 3;
const COLUMN_LEAST: f32 = 216.0;
const COLUMN_GAP: f32 = 20.0;
/// Width of a column where there is room.
const COLUMN_MOST: f32 = 250.0;
/// From the list to the window's edges, both together, in points.
const AROUND: f32 = 40.0;
/// Height of a line, in points.
const LINE: f32 = 17.0;
/// Between a group and the heading of the next one, in points.
const GROUP_GAP: f32 = 6.0;

/// Everything that keys and mouse do, in as many columns as there is room for.
pub(super) fn show(
    context: &Context,
    colors: &Colors,
    input: &HudInput<'_>,
    report: &mut Report,
    intents: &mut Vec<Intent>,
) {
    let card = colors.upper_card();
    let room = context.content_rect().size() - card.total_margin().sum() - egui::Vec2::splat(AROUND);
    let columns = columns::fitting(room.x, COLUMN_LEAST, COLUMN_GAP, COLUMNS_MAX);
    let width = room
        .x
        .min(columns as f32 * (COLUMN_MOST + COLUMN_GAP) - COLUMN_GAP);
    let laid = Area::new(Id::unique("help"))
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .order(Order::Foreground)
        .constrain(false)
        .show(context, |ui| {
            card.show(ui, |ui| {
                ui.set_width(width.max(1.0));
                theme::scrolled(ui, room.y.max(LINE), |ui| {
                    lines(ui, colors, input.bindings, columns)
                });
            });
        });
    report.widget("help", laid.response.rect);
    if laid.response.clicked() {
        intents.push(Intent::Do(Action::Help));
    }
}

fn lines(ui: &mut Ui, colors: &Colors, bindings: &Bindings, columns: usize) {
    ui.label(RichText::new("Keys and mouse").size(18.0).strong());
    ui.add_space(2.0);
    let groups = groups();
    let heights: Vec<usize> = groups.iter().map(|(_, lines)| lines.len() + 1).collect();
    let places = columns::even(&heights, columns);
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.x = COLUMN_GAP;
        ui.columns(columns, |columns| {
            let mut last = None;
            for ((title, lines), place) in groups.iter().zip(places) {
                let column = &mut columns[place];
                column.spacing_mut().item_spacing = vec2(6.0, 2.0);
                column.spacing_mut().interact_size.y = LINE;
                if last.replace(place) == Some(place) {
                    column.add_space(GROUP_GAP);
                }
                theme::heading(column, colors, title);
                for line in lines {
                    line.show(column, colors, bindings);
                }
            }
        });
    });
    ui.add_space(GROUP_GAP);
    let note = "To change keys, type : and then, for instance, bind pause p. They are remembered.";
    ui.label(RichText::new(note).small().color(colors.weak));
}

/// All that there is, with what each group is called.
fn groups() -> Vec<(&'static str, Vec<Line>)> {
    let mouse = MOUSE.into_iter().map(|(what, how)| Line::Mouse(what, how));
    let mut groups = vec![("Mouse", mouse.collect::<Vec<_>>())];
    groups.extend(GROUPS.map(|(title, first, last)| {
        let actions = Action::ALL
            .iter()
            .filter(|action| (first..=last).contains(action));
        (title, actions.map(|&action| Line::Key(action)).collect())
    }));
    groups
}

/// What an action does, for those who read what its group is called.
pub(super) fn meaning(action: Action) -> &'static str {
    let meaning = action.meaning();
    meaning.strip_prefix("a recording: ").unwrap_or(meaning)
}

/// What is done, and with what.
enum Line {
    Mouse(&'static str, &'static str),
    Key(Action),
}

impl Line {
    fn show(&self, ui: &mut Ui, colors: &Colors, bindings: &Bindings) {
        let what = match self {
            Self::Mouse(what, _) => what,
            Self::Key(action) => meaning(*action),
        };
        let what = |ui: &mut Ui| ui.add(egui::Label::new(RichText::new(what).size(11.5)).truncate());
        let with = |ui: &mut Ui| match self {
            Self::Mouse(_, how) => cap(ui, colors, how),
            Self::Key(action) => {
                ui.spacing_mut().item_spacing.x = 3.0;
                // They are laid out from the right.
                let keys: Vec<&str> = bindings.keys_of(*action).collect();
                for key in keys.into_iter().rev() {
                    cap(ui, colors, key);
                }
            }
        };
        egui::Sides::new().shrink_left().show(ui, what, with);
    }
}

/// A key as it looks.
fn cap(ui: &mut Ui, colors: &Colors, key: &str) {
    let name = match key {
        "arrowup" => "↑",
        "arrowdown" => "↓",
        "arrowleft" => "←",
        "arrowright" => "→",
        "escape" => "esc",
        "pageup" => "pg ↑",
        "pagedown" => "pg ↓",
        other => other,
    };
    egui::Frame::new()
        .fill(colors.well)
        .stroke(egui::Stroke::new(1.0, colors.edge))
        .corner_radius(4)
        .inner_margin(egui::Margin::symmetric(5, 1))
        .show(ui, |ui| {
            ui.add(egui::Label::new(RichText::new(name).size(10.5).monospace()).extend());
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_in_one_group() {
        for action in Action::ALL {
            let groups = GROUPS
                .iter()
                .filter(|(_, first, last)| (first..=last).contains(&action));
            assert_eq!(groups.count(), 1, "{action:?}");
        }
    }
}
