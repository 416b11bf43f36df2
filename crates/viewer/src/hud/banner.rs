//! What the connection is doing, when it is not simply working; who won; short messages.

use egui::{
    Align2, Area, Color32, Context, FontId, Id, Order, Rect, RichText, Sense, Stroke, TextStyle,
    TextWrapMode, Vec2, WidgetText, vec2,
};
use trantor_client::LinkState;

use super::layout::Plan;
use super::theme::{self, Colors};
use super::{HudInput, directions, icons};

/// Sides of what stands before the words, in points.
const SWATCH: f32 = 10.0;
const CROWN: f32 = 22.0;

pub(super) fn show(context: &Context, colors: &Colors, plan: Plan, input: &HudInput<'_>) -> Option<Rect> {
    let line = |text, mark| Some(line(context, colors, plan, text, (mark, false)));
    let text = match &input.scene.link {
        LinkState::Live => {
            return if let Some(winner) = input.scene.winner {
                let name = input
                    .scene
                    .teams
                    .get(usize::from(winner.0))
                    .map_or("somebody", |team| &team.name);
                let shade = context.global_style().visuals.strong_text_color();
                let words = directions::job(&format!("{name} wins"), FontId::proportional(20.0), shade);
                let mark = (colors.team(winner), true);
                Some(self::line(context, colors, plan, words.into(), mark))
            } else if input.scene.clock.paused {
                line(RichText::new("paused").size(14.0).into(), colors.accent)
            } else if input.scene.clock.delay_ms > 0 {
                let text = format!("{} s ago", input.scene.clock.delay_ms / 1_000);
                line(RichText::new(text).size(14.0).into(), colors.accent)
            } else {
                None
            };
        }
        LinkState::Connecting => format!("connecting to {} …", input.source),
        LinkState::Greeting => format!("{} answers …", input.source),
        LinkState::Delayed { delay_ms, left_ms } => format!(
            "shown {} s late, the first of it in {} s",
            delay_ms / 1_000,
            left_ms.div_ceil(1_000)
        ),
        LinkState::Loading { tiles, of } => {
            let share = u64::from(*tiles) * 100 / u64::from((*of).max(1));
            format!("receiving the world: {share} %")
        }
        LinkState::Silent { for_ms } => format!("nothing heard for {:.1} s", *for_ms as f64 / 1e3),
        LinkState::Ended { reason } => reason.to_string(),
    };
    line(RichText::new(text).size(14.0).into(), colors.gold)
}

/// What is told lies over the cards where there is no room between them; answers what it covers. A victory has a crown and
/// an edge of gold.
fn line(
    context: &Context,
    colors: &Colors,
    plan: Plan,
    text: WidgetText,
    (mark, is_victory): (Color32, bool),
) -> Rect {
    let laid = Area::new(Id::unique("banner"))
        .anchor(Align2::CENTER_TOP, vec2(0.0, plan.middle_top()))
        .order(Order::Foreground)
        .constrain(false)
        .fade_in(false)
        .interactable(false)
        .show(context, |ui| {
            let card = match is_victory {
                true => colors.upper_card().stroke(Stroke::new(2.0, colors.gold_fill)),
                false => colors.upper_card(),
            };
            let room = plan.middle_width() - card.total_margin().sum().x;
            card.show(ui, |ui| {
                ui.horizontal(|ui| {
                    let gap = ui.spacing().item_spacing.x;
                    let mut room = room - SWATCH - gap;
                    if is_victory {
                        let (rect, _) = ui.allocate_exact_size(Vec2::splat(CROWN), Sense::hover());
                        icons::crown(ui.painter(), rect.center(), CROWN, colors.gold_fill, colors);
                        room -= CROWN + gap;
                    }
                    theme::swatch(ui, colors, mark, SWATCH);
                    said(ui, text, room);
                });
            });
        });
    laid.response.rect
}

/// Words in one line where they fit, else in as many as they need.
fn said(ui: &mut egui::Ui, text: WidgetText, room: f32) {
    let style = TextStyle::Body;
    let words = text.into_galley(ui, Some(TextWrapMode::Wrap), room.max(1.0), style);
    ui.label(words);
}

/// Shows a message, below the banner if there is one.
pub(super) fn notice(context: &Context, colors: &Colors, plan: Plan, banner: Option<Rect>, text: &str) {
    let top = banner.map_or(plan.middle_top(), |banner| banner.bottom() + 4.0);
    Area::new(Id::unique("notice"))
        .anchor(Align2::CENTER_TOP, vec2(0.0, top))
        .order(Order::Foreground)
        .constrain(false)
        .interactable(false)
        .show(context, |ui| {
            let card = colors.upper_card();
            let room = plan.middle_width() - card.total_margin().sum().x;
            card.show(ui, |ui| {
                said(ui, RichText::new(text).color(colors.text).into(), room)
            });
        });
}
