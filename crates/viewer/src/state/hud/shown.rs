//! What agents and the server show as text: notes and cards in the inspector, and the server's on a card of its own.

use egui::{RichText, Sides, Ui};
use trantor_client::Scene;
use trantor_model::{AgentId, Shown, ShownBy};

use super::inspect::section;
use super::theme::{self, text, truncated};
use super::{PanelContext, words};

/// Of the scenario's card, in points: what is around note and rows, a line of the note, a row, and its least height.
const HEADING: f32 = 44.0;
const NOTE_LINE: f32 = 16.0;
const ROW: f32 = 18.0;
const HEIGHT_LEAST: f32 = 80.0;
/// Its greatest height, so that the events have room below it; the rest is scrolled to.
const HEIGHT_MAX: f32 = 220.0;
/// Characters in a line of the note, about.
const NOTE_LINE_CHARS: usize = 34;
/// Part of the inner width that the name of a card takes at most.
const NAME_SHARE: f32 = 0.5;

/// What an agent thinks, like speech.
pub(super) fn thought(ui: &mut Ui, cx: &PanelContext<'_>, agent: AgentId) {
    if let Some(shown) = cx.scene().shown_by_agent(agent) {
        note(ui, cx, shown);
    }
}

/// The cards of an agent.
pub(super) fn cards(ui: &mut Ui, cx: &PanelContext<'_>, agent: AgentId) {
    let shown = cx.scene().shown_by_agent(agent);
    if let Some(shown) = shown.filter(|shown| !shown.cards.is_empty()) {
        section(ui, &cx.colors, "Cards");
        rows(ui, cx, shown);
    }
}

/// How high the scenario's card is, in points, about; 0 without one.
pub(super) fn height(scene: &Scene) -> f32 {
    of_server(scene).map_or(0.0, |shown| {
        let lines = shown.note.chars().count().div_ceil(NOTE_LINE_CHARS) as f32;
        let note = if lines > 0.0 {
            lines * NOTE_LINE + 16.0
        } else {
            0.0
        };
        (HEADING + note + ROW * shown.cards.len() as f32).min(HEIGHT_MAX)
    })
}

fn of_server(scene: &Scene) -> Option<&Shown> {
    let shown = scene.shown.get(&ShownBy::Server)?;
    (!shown.note.is_empty() || !shown.cards.is_empty()).then_some(shown)
}

/// The note and the cards of the server's scenario, if it shows any.
pub(super) fn scenario(ui: &mut Ui, cx: &PanelContext<'_>) {
    let Some(shown) = of_server(cx.scene()) else {
        return;
    };
    let room = ui.ctx().content_rect().bottom() - ui.cursor().top() - HEADING;
    if room < HEIGHT_LEAST {
        return;
    }
    cx.colors.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 3.0;
        theme::heading(ui, &cx.colors, "Scenario");
        theme::scrolled(ui, room.min(HEIGHT_MAX) - HEADING, |ui| {
            note(ui, cx, shown);
            rows(ui, cx, shown);
        });
    });
}

fn note(ui: &mut Ui, cx: &PanelContext<'_>, shown: &Shown) {
    if shown.note.is_empty() {
        return;
    }
    let well = egui::Frame::new()
        .fill(cx.colors.well)
        .corner_radius(5.0)
        .inner_margin(6.0);
    well.show(ui, |ui| {
        ui.set_width(ui.available_width());
        let job = words::body(ui, &shown.note);
        ui.add(egui::Label::new(job).wrap());
    });
}

fn rows(ui: &mut Ui, cx: &PanelContext<'_>, shown: &Shown) {
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.spacing_mut().interact_size.y = 14.0;
    for (name, value) in &shown.cards {
        let width = ui.available_width() * NAME_SHARE;
        let name = |ui: &mut Ui| {
            ui.set_max_width(width);
            truncated(ui, text(&**name, 12.0, cx.colors.weak));
        };
        let value = |ui: &mut Ui| drop(truncated(ui, RichText::new(&**value).size(12.0)));
        Sides::new().shrink_right().show(ui, name, value);
    }
}
