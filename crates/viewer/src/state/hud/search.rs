//! Search for an agent by its number or a team by its name.

use egui::{Align2, Context, Key, Modifiers, Order, TextEdit, vec2};
use trantor_client::{Scene, SceneAgent};

use super::layout::EDGE;
use super::{PanelContext, theme, words};
use crate::intent::{Intent, Selection};

/// More do not fit beside the board.
const FOUND_MAX: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Search {
    pub text: String,
    /// The result that Enter takes.
    chosen: usize,
}

pub(super) fn show(context: &Context, cx: &mut PanelContext<'_>, search: &mut Option<Search>) {
    let Some(Search { text, chosen: place }) = search else {
        return;
    };
    let is_new = text.is_empty();
    let top = if cx.plan.is_wide() { 70.0 } else { EDGE };
    let at = context.content_rect().center_top() + vec2(0.0, top);
    let area = theme::area("search", Order::Foreground, Align2::CENTER_TOP, at);
    let area = area.constrain(true).fade_in(true);
    let card = cx.colors.upper_card();
    let content = |ui: &mut egui::Ui| {
        ui.set_width(300.0);
        // Before the field, which would move its cursor.
        let (up, down) = ui.input_mut(|keys| {
            let mut pressed = |key| keys.consume_key(Modifiers::NONE, key);
            (pressed(Key::ArrowUp), pressed(Key::ArrowDown))
        });
        let field = TextEdit::singleline(text)
            .hint_text("number of an agent, or name of a team")
            .desired_width(f32::INFINITY);
        let response = ui.add(field);
        if is_new {
            response.request_focus();
        }
        if response.changed() {
            *place = 0;
        }
        let count = found(cx.scene(), text).take(FOUND_MAX).count();
        *place = (*place + usize::from(down)).saturating_sub(up.into());
        *place = (*place).min(count.saturating_sub(1));
        let enter = ui.input(|keys| keys.key_pressed(Key::Enter));
        let mut chosen = None;
        for (row, agent) in found(cx.scene(), text).take(FOUND_MAX).enumerate() {
            ui.horizontal(|ui| {
                theme::swatch(ui, &cx.colors, cx.colors.team(agent.team), 9.0);
                let (id, level) = (agent.id.0, agent.level.get());
                let words = format!("#{id} · {} · level {level}", cx.team_name(agent.team));
                let words = words::body(ui, &words);
                let button = egui::Button::selectable(row == *place, words).truncate();
                if ui.add(button).clicked() || enter && row == *place {
                    chosen = Some(agent);
                }
            });
        }
        chosen
    };
    if let Some(agent) = theme::show_card(context, area, card, content).inner {
        *search = None;
        cx.request(Intent::Visit(Selection::Agent(agent.id)));
    }
}

/// Agents by the beginning of their number, or by a part of their team's name.
fn found<'a>(scene: &'a Scene, text: &str) -> impl Iterator<Item = &'a SceneAgent> {
    let wanted = text.trim().trim_start_matches('#').to_lowercase();
    let is_named = |team: &trantor_client::SceneTeam| team.name.to_lowercase().contains(&wanted);
    let teams: Vec<bool> = scene.teams.iter().map(is_named).collect();
    scene.agents.iter().filter(move |agent| {
        let is_of_team = teams.get(usize::from(agent.team.0)).copied();
        agent.id.0.to_string().starts_with(&wanted) || is_of_team.unwrap_or(false)
    })
}
