//! Everything about one tile: what lies there, who stands there, and its elevation.

use egui::{Align, Layout, RichText, Sense, Ui, vec2};
use glam::Vec2;
use trantor_model::Tile;

use super::super::theme::{self, Colors};
use super::super::{HudInput, icons};
use super::{card, doing, inventory, span};
use crate::intent::{Intent, Selection};

/// Agents listed on a tile.
const AGENTS_LISTED: usize = 6;

pub(super) fn show(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    tile: Tile,
    bottom: f32,
    intents: &mut Vec<Intent>,
) {
    card(ui, colors, bottom, |ui| {
        ui.horizontal(|ui| {
            ui.label(
                RichText::new(format!("tile {}, {}", tile.x, tile.y))
                    .size(16.0)
                    .strong(),
            );
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if ui
                    .add(egui::Button::new(RichText::new("look").size(11.0)))
                    .clicked()
                {
                    intents.push(Intent::Visit(Vec2::new(f32::from(tile.x), f32::from(tile.y))));
                }
            });
        });
        if let Some(counts) = input.scene.ground.as_ref().and_then(|ground| ground.at(tile)) {
            inventory(ui, colors, counts);
        }
        let mut more = 0;
        let mut listed = 0;
        for agent in input.scene.agents.iter().filter(|agent| agent.tile == tile) {
            if listed == AGENTS_LISTED {
                more += 1;
                continue;
            }
            listed += 1;
            ui.horizontal(|ui| {
                theme::swatch(ui, colors, colors.team(agent.team), 9.0);
                let text = format!("#{} · level {}", agent.id.0, agent.level.get());
                if ui
                    .add(egui::Button::new(RichText::new(text).size(11.5)).frame(false))
                    .clicked()
                {
                    intents.push(Intent::Select(Selection::Agent(agent.id)));
                }
                let words = agent.action.as_ref().map_or("", doing);
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    ui.label(RichText::new(words).small().color(colors.weak));
                });
            });
        }
        if more > 0 {
            ui.label(RichText::new(format!("and {more} more")).color(colors.weak));
        }
        for egg in input
            .scene
            .eggs
            .iter()
            .filter(|egg| egg.tile == tile)
            .take(AGENTS_LISTED)
        {
            ui.horizontal(|ui| {
                let (rect, _) = ui.allocate_exact_size(vec2(10.0, 12.0), Sense::hover());
                let tint = colors.team(egg.team);
                icons::egg(ui.painter(), rect.center(), 12.0, tint, colors);
                ui.label(format!("egg #{}", egg.id.0));
            });
        }
        for ritual in input.scene.rituals.iter().filter(|ritual| ritual.tile == tile) {
            let text = format!(
                "ritual of level {} to {} · {}",
                ritual.level.get(),
                ritual.level.get() + 1,
                span(ritual.remaining_units, &input.scene.clock)
            );
            ui.label(text);
            theme::bar(ui, colors, ritual.progress, colors.gold_fill, 5.0);
        }
    });
}
