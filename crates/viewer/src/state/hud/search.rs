//! Search for an agent by its number or a team by its name.

use egui::{Align2, Area, Context, Id, Key, Order, TextEdit, vec2};
use trantor_client::{Scene, SceneAgent};

use super::layout::EDGE;
use super::{PanelContext, theme, words};

/// More do not fit beside the board.
const FOUND_MAX: usize = 8;

pub(super) fn show(context: &Context, cx: &mut PanelContext<'_>, search: &mut Option<String>) {
    let Some(text) = search else { return };
    let is_new = text.is_empty();
    let top = if cx.plan.is_wide() { 70.0 } else { EDGE };
    let area = Area::new(Id::unique("search")).order(Order::Foreground);
    let area = area.anchor(Align2::CENTER_TOP, vec2(0.0, top));
    let card = cx.colors.upper_card();
    let content = |ui: &mut egui::Ui| {
        ui.set_width(300.0);
        let field = TextEdit::singleline(text)
            .hint_text("number of an agent, or name of a team")
            .desired_width(f32::INFINITY);
        let response = ui.add(field);
        if is_new {
            response.request_focus();
        }
        let mut enter = ui.input(|keys| keys.key_pressed(Key::Enter));
        let mut chosen = None;
        for agent in found(cx.scene(), text).take(FOUND_MAX) {
            ui.horizontal(|ui| {
                theme::swatch(ui, &cx.colors, cx.colors.team(agent.team), 9.0);
                let (id, level) = (agent.id.0, agent.level.get());
                let words = format!("#{id} · {} · level {level}", cx.team_name(agent.team));
                let words = words::body(ui, &words);
                let button = ui.add(egui::Button::new(words).frame(false).truncate());
                if button.clicked() || std::mem::take(&mut enter) {
                    chosen = Some(agent);
                }
            });
        }
        chosen
    };
    let laid = area.show(context, |ui| card.show(ui, content).inner);
    if let Some(agent) = laid.inner {
        *search = None;
        cx.visit_agent(agent);
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
