//! Everything about one tile or one agent.

mod agent;
mod tile;

use egui::{Color32, RichText, Sense, Ui, vec2};
use trantor_client::{SceneAction, SceneClock};
use trantor_model::{CommandKind, Counts, Resource};

use super::doings::Doings;
use super::report::Report;
use super::theme::{self, Colors};
use super::{HudInput, icons};
use crate::intent::{Intent, Selection};

/// A card shows at least so much, in points, however low the window: a line or two, to scroll in.
const HEIGHT_LEAST: f32 = 40.0;
/// Height of a cell with its sign and its number, and what is between cells; in points.
const CELL_HEIGHT: f32 = 36.0;
const CELL_GAP: f32 = 4.0;

/// `bottom` is how far down, in points from the window's top, there is room.
pub(super) fn show(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    (doings, bottom): (&Doings, f32),
    report: &mut Report,
    intents: &mut Vec<Intent>,
) {
    match input.selection {
        Selection::None => report.state("selection", "none"),
        Selection::Tile(tile) => {
            report.state("selection", format_args!("tile {} {}", tile.x, tile.y));
            tile::show(ui, colors, input, tile, bottom, intents);
        }
        Selection::Agent(id) => {
            report.state("selection", format_args!("agent {}", id.0));
            match input.scene.agent(id) {
                Some(agent) => agent::show(ui, colors, input, (agent, doings, bottom), report, intents),
                None => card(ui, colors, bottom, |ui| {
                    ui.label(RichText::new(format!("agent #{}", id.0)).size(15.0).strong());
                    ui.label(RichText::new("is not on the map").color(colors.weak));
                }),
            }
        }
    }
}

/// A card that ends at `bottom`, in points from the window's top: what does not fit is scrolled to.
fn card(ui: &mut Ui, colors: &Colors, bottom: f32, content: impl FnOnce(&mut Ui)) {
    let frame = colors.card();
    let room = bottom - ui.cursor().top() - frame.total_margin().sum().y;
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        theme::scrolled(ui, room.max(HEIGHT_LEAST), |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            content(ui);
        });
    });
}

/// A length of game time, in units and, while it runs, in seconds.
fn span(units: f32, clock: &SceneClock) -> String {
    match clock.seconds(units) {
        Some(seconds) if seconds >= 100.0 => format!("{units:.0} u · {:.0} min", seconds / 60.0),
        Some(seconds) => format!("{units:.0} u · {seconds:.1} s"),
        None => format!("{units:.0} u"),
    }
}

/// A heading within a card, apart from what is above it.
fn section(ui: &mut Ui, colors: &Colors, text: &str) {
    ui.add_space(6.0);
    theme::heading(ui, colors, text);
}

/// What is in a place of [`cells`].
struct Cell {
    sign: Sign,
    text: String,
    /// Said under the pointer.
    tip: String,
    shade: Color32,
}

/// The picture in a cell.
enum Sign {
    Person,
    Resource(Resource),
}

/// Places side by side, one for each resource in their order, so that rows of them have the same columns; some may be free.
fn cells(ui: &mut Ui, colors: &Colors, content: impl Fn(Resource) -> Option<Cell>) {
    let count = Resource::COUNT as f32;
    let width = (ui.available_width() - CELL_GAP * (count - 1.0)) / count;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = CELL_GAP;
        for resource in Resource::ALL {
            let (rect, response) = ui.allocate_exact_size(vec2(width, CELL_HEIGHT), Sense::hover());
            let Some(cell) = content(resource) else { continue };
            ui.painter().rect_filled(rect, 5.0, colors.well);
            let middle = egui::pos2(rect.center().x, rect.top() + 13.0);
            match cell.sign {
                Sign::Person => icons::person(ui.painter(), middle, 15.0, colors.weak, colors),
                Sign::Resource(resource) => icons::resource(ui.painter(), middle, 15.0, resource),
            }
            ui.painter().text(
                egui::pos2(rect.center().x, rect.bottom() - 3.0),
                egui::Align2::CENTER_BOTTOM,
                cell.text,
                egui::FontId::proportional(11.0),
                cell.shade,
            );
            response.on_hover_text(cell.tip);
        }
    });
}

fn inventory(ui: &mut Ui, colors: &Colors, counts: &Counts) {
    cells(ui, colors, |resource| {
        let count = counts[resource];
        Some(Cell {
            sign: Sign::Resource(resource),
            text: count.to_string(),
            tip: resource.name().to_owned(),
            shade: if count > 0 { colors.text } else { colors.weak },
        })
    });
}

fn doing(action: &SceneAction) -> &'static str {
    if action.refused {
        return "asks in vain";
    }
    match action.kind {
        CommandKind::Forward => "walks",
        CommandKind::Right => "turns right",
        CommandKind::Left => "turns left",
        CommandKind::Look => "looks around",
        CommandKind::Inventory => "counts what it has",
        CommandKind::Broadcast => "speaks",
        CommandKind::ConnectNbr => "asks for places",
        CommandKind::Fork => "lays an egg",
        CommandKind::Eject => "pushes",
        CommandKind::Take => "picks up",
        CommandKind::Set => "puts down",
        CommandKind::Incantation => "leads a ritual",
    }
}
