//! The keys: a line at the bottom, and all of them on request.

use egui::{Align2, Context, Frame, Label, Margin, Order, Rect, RichText, Sides, Stroke, Ui, Vec2, vec2};

use super::PanelContext;
use super::layout::EDGE;
use super::theme::{self, Colors, text, truncated};
use crate::input::{Action, Bindings};
use crate::intent::Intent;

const HINTS: [(Action, &str); 7] = [
    (Action::Pause, "pause"),
    (Action::Faster, "faster"),
    (Action::Slower, "slower"),
    (Action::StepUnit, "step"),
    (Action::Overview, "whole map"),
    (Action::HeatMap, "heat map"),
    (Action::Help, "all keys"),
];
/// Least width of a window with that line, in points: it would cover the columns of a smaller one.
pub(super) const HINTS_FROM: f32 = 1_150.0;
const MOUSE: [(&str, &str); 4] = [
    ("select an agent or a tile", "click"),
    ("move the board", "drag"),
    ("turn and tilt", "right drag"),
    ("nearer and further", "wheel, pinch"),
];
/// Groups of actions: the first and the last of each, as in [`Action::ALL`].
const GROUPS: [(&str, Action, Action); 7] = [
    ("Time", Action::Pause, Action::MuchSlower),
    ("Agents", Action::Follow, Action::Search),
    ("Recordings", Action::StepBack, Action::RepeatNothing),
    ("Camera", Action::PanNorth, Action::Overview),
    ("On the board", Action::HeatMap, Action::Labels),
    ("Panels and window", Action::Panels, Action::UsualSize),
    ("Pictures, server", Action::Screenshot, Action::Quit),
];
const COLUMN_LEAST: f32 = 216.0;
const COLUMN_MOST: f32 = 250.0;
const COLUMN_GAP: f32 = 20.0;
/// From the list to the window's edges, both together, in points.
const AROUND: f32 = 40.0;
const LINE_HEIGHT: f32 = 16.0;

/// The line at the bottom; returns its rectangle.
pub(super) fn hints(context: &Context, cx: &PanelContext<'_>) -> Option<Rect> {
    if context.content_rect().width() < HINTS_FROM || cx.plan.is_stage {
        return None;
    }
    let colors = &cx.colors;
    let card = colors.card().inner_margin(Margin::symmetric(12, 6));
    let at = context.content_rect().center_bottom() - vec2(0.0, EDGE);
    let area = theme::area("hints", Order::Middle, Align2::CENTER_BOTTOM, at).interactable(false);
    let content = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        for (action, words) in HINTS {
            if let Some(key) = cx.state.keys.bindings.keys_of(action).next() {
                key_cap(ui, colors, key);
                ui.add(Label::new(text(words, 11.0, colors.weak)).extend());
                ui.add_space(5.0);
            }
        }
    };
    let laid = theme::show_card(context, area, card, |ui| ui.horizontal(content));
    Some(laid.response.rect)
}

/// Everything that keys and mouse do, in as many columns as there is room for.
pub(super) fn show(context: &Context, cx: &mut PanelContext<'_>) {
    let card = cx.colors.upper_card();
    let room = context.content_rect().size() - card.total_margin().sum() - Vec2::splat(AROUND);
    let columns = theme::columns_in(room.x, COLUMN_LEAST, COLUMN_GAP);
    let width = columns as f32 * (COLUMN_MOST + COLUMN_GAP) - COLUMN_GAP;
    let middle = context.content_rect().center();
    let area = theme::area("help", Order::Foreground, Align2::CENTER_CENTER, middle).fade_in(true);
    let laid = theme::show_card(context, area, card, |ui| {
        ui.set_width(room.x.min(width).max(1.0));
        theme::scrolled(ui, room.y.max(LINE_HEIGHT), |ui| {
            lines(ui, &cx.colors, &cx.state.keys.bindings, columns)
        });
    });
    if laid.response.clicked() {
        cx.request(Intent::Do(Action::Help));
    }
}

fn lines(ui: &mut Ui, colors: &Colors, bindings: &Bindings, columns: usize) {
    ui.label(RichText::new("Keys and mouse").size(18.0).strong());
    ui.add_space(2.0);
    let mouse = MOUSE.map(|(what, how)| (what, vec![how])).to_vec();
    let mut groups = vec![("Mouse", mouse)];
    groups.extend(GROUPS.map(|(title, first, last)| {
        let actions = Action::ALL
            .iter()
            .filter(|action| (first..=last).contains(action));
        let line = |&action| (meaning(action), bindings.keys_of(action).collect());
        (title, actions.map(line).collect())
    }));
    let heights = groups.iter().map(|(_, lines)| lines.len() + 1).collect();
    theme::in_columns(ui, (columns, COLUMN_GAP), heights, |ui, place| {
        ui.spacing_mut().item_spacing = vec2(6.0, 0.5);
        ui.spacing_mut().interact_size.y = LINE_HEIGHT;
        let (title, lines) = &groups[place];
        theme::heading(ui, colors, title);
        for (what, keys) in lines {
            let what = |ui: &mut Ui| truncated(ui, RichText::new(*what).size(11.5));
            let keys = |ui: &mut Ui| {
                ui.spacing_mut().item_spacing.x = 3.0;
                // They are laid out from the right.
                keys.iter().rev().for_each(|key| key_cap(ui, colors, key));
            };
            Sides::new().shrink_left().show(ui, what, keys);
        }
        ui.add_space(4.0);
    });
    let note = "To change keys, type : and then, for instance, bind pause p. They are remembered.";
    ui.label(RichText::new(note).small().weak());
}

/// The meaning of an action below its group's heading.
pub(super) fn meaning(action: Action) -> &'static str {
    let meaning = action.meaning();
    meaning.strip_prefix("a recording: ").unwrap_or(meaning)
}

fn key_cap(ui: &mut Ui, colors: &Colors, key: &str) {
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
    let frame = Frame::new()
        .fill(colors.well)
        .stroke(Stroke::new(1.0, colors.edge))
        .corner_radius(4)
        .inner_margin(Margin::symmetric(5, 1));
    let name = Label::new(RichText::new(name).size(10.5).monospace()).extend();
    frame.show(ui, |ui| ui.add(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_in_one_group() {
        let groups = GROUPS.iter().map(|(_, first, last)| *first..=*last);
        let count = |action| groups.clone().filter(|group| group.contains(action)).count();
        assert!(Action::ALL.iter().all(|action| count(action) == 1));
    }
}
