//! The banner: the state of the connection unless it is live, a pause, the winner; and short messages.

use egui::{
    Align2, Area, Color32, Context, FontId, Margin, Order, Rect, RichText, Stroke, TextFormat, TextStyle,
    TextWrapMode, Ui, Vec2, WidgetText, pos2, text::LayoutJob,
};
use trantor_client::LinkState;

use super::icons::{CROWN, Pen, RADIO};
use super::layout::{EDGE, GAP};
use super::{PanelContext, theme, words};
use crate::intent::Selection;

/// Sides of the crown and of the team's or state's colour, in points.
const CROWN_SIDE: f32 = 22.0;
/// Size of the winner's name, where there is room.
const VICTORY_TEXT: f32 = 44.0;
/// Height in which it fits with its margins.
const VICTORY_ROOM: f32 = 96.0;
const SWATCH: f32 = 10.0;
const RADIO_SIDE: f32 = 14.0;

/// Shows the banner if there is a message; returns its rectangle. The story names the winner itself.
pub(super) fn show(context: &Context, cx: &PanelContext<'_>, tells_story: bool) -> Option<Rect> {
    let (scene, colors) = (cx.scene(), &cx.colors);
    if let (LinkState::Live, Some(winner)) = (&scene.link, scene.winner) {
        if tells_story {
            return None;
        }
        let shade = context.global_style().visuals.strong_text_color();
        let text = format!("{} wins", cx.team_name(winner));
        let size = (cx.plan.middle().span() / 12.0)
            .min(context.content_rect().height() / 18.0)
            .clamp(20.0, VICTORY_TEXT);
        let text = words::job(&text, FontId::proportional(size), shade);
        return Some(banner(context, cx, text.into(), colors.team(winner), true));
    }
    let (gold, accent) = (colors.gold, colors.accent);
    let (text, mark) = match &scene.link {
        LinkState::Live if scene.clock.paused => ("paused".to_owned(), accent),
        LinkState::Live if scene.clock.delay_ms > 0 => {
            (format!("{} s ago", scene.clock.delay_ms / 1_000), accent)
        }
        LinkState::Live => return None,
        LinkState::Connecting => (format!("connecting to {} …", cx.state.source.name()), gold),
        LinkState::Greeting => (format!("{} answers …", cx.state.source.name()), gold),
        LinkState::Loading { tiles, of } => {
            let percent = u64::from(*tiles) * 100 / u64::from((*of).max(1));
            (format!("receiving the world: {percent} %"), gold)
        }
        other => (link_text(other), gold),
    };
    let text = RichText::new(text).size(14.0).into();
    Some(banner(context, cx, text, mark, false))
}

/// States of the connection that window and terminal describe alike.
pub fn link_text(link: &LinkState) -> String {
    match link {
        LinkState::Delayed { delay_ms, left_ms } => format!(
            "shown {} s late, the first of it in {} s",
            delay_ms / 1_000,
            left_ms.div_ceil(1_000)
        ),
        LinkState::Silent { for_ms } => format!("nothing heard for {:.1} s", *for_ms as f64 / 1e3),
        LinkState::Ended { reason } => reason.to_string(),
        LinkState::Live => "live".to_owned(),
        LinkState::Connecting => "connecting".to_owned(),
        LinkState::Greeting => "joining".to_owned(),
        LinkState::Loading { tiles, of } => format!("loading {tiles} of {of} tiles"),
    }
}

fn banner(
    context: &Context,
    cx: &PanelContext<'_>,
    text: WidgetText,
    mark: Color32,
    is_victory: bool,
) -> Rect {
    let mut card = cx.colors.upper_card();
    if is_victory {
        card = card.stroke(Stroke::new(2.0, cx.colors.gold_fill));
    }
    let mut room = cx.plan.middle().span() - card.total_margin().sum().x;
    let content = |ui: &mut Ui| {
        let gap = ui.spacing().item_spacing.x;
        room -= SWATCH + gap;
        if is_victory {
            let draw = |pen: Pen<'_>| pen.icon(CROWN, cx.colors.gold);
            theme::icon(ui, Vec2::splat(CROWN_SIDE), CROWN_SIDE, draw);
            room -= CROWN_SIDE + gap;
        }
        theme::swatch(ui, &cx.colors, mark, SWATCH);
        wrapped(ui, text, room);
    };
    let top = cx.plan.middle_top();
    let has_timeline = cx.state.source.recording().is_some();
    let (.., bottom) = cx.plan.bottom(has_timeline, Selection::None);
    // Below cards along the top it would hide the winners.
    let is_low = is_victory && top > EDGE && bottom - top >= VICTORY_ROOM;
    let (edge, at) = match is_low {
        true => (Align2::CENTER_BOTTOM, bottom - GAP),
        false => (Align2::CENTER_TOP, top),
    };
    let area = area(cx, "banner", edge, at);
    let laid = theme::show_card(context, area, card, |ui| ui.horizontal(content));
    laid.response.rect
}

/// An area that takes no clicks, in the middle between the columns, with its `edge` at `y`.
fn area(cx: &PanelContext<'_>, name: &'static str, edge: Align2, y: f32) -> Area {
    let at = pos2(cx.plan.middle().center(), y);
    theme::area(name, Order::Foreground, edge, at).interactable(false)
}

/// Where the next message has its upper edge: below the banner, if that is at the top.
fn next_top(context: &Context, cx: &PanelContext<'_>, banner: Option<Rect>) -> f32 {
    let middle = context.content_rect().center().y;
    let above = banner.filter(|banner| banner.top() < middle);
    above.map_or(cx.plan.middle_top(), |banner| banner.bottom() + 4.0)
}

/// Says that messages between agents take time, and how they travel; below the banner if there is one. It is shown also without
/// panels, since it changes what a watcher sees.
pub(super) fn lag(context: &Context, cx: &mut PanelContext<'_>, banner: Option<Rect>) -> Option<Rect> {
    let Some(lag) = cx.scene().lag.clone() else {
        cx.report.state("lag", "off");
        return None;
    };
    cx.report.state("lag", lag.replace(' ', "_"));
    let colors = &cx.colors;
    let top = next_top(context, cx, banner);
    let card = colors.upper_card().inner_margin(Margin::symmetric(12, 6));
    let room = cx.plan.middle().span() - card.total_margin().sum().x - RADIO_SIDE - 12.0;
    let mut words = LayoutJob::default();
    for (text, color) in [("LAG  ", colors.gold), (&*lag, colors.text)] {
        words.append(text, 0.0, TextFormat::simple(FontId::proportional(11.5), color));
    }
    let content = |ui: &mut Ui| {
        let draw = |pen: Pen<'_>| pen.icon(RADIO, colors.gold);
        theme::icon(ui, Vec2::splat(RADIO_SIDE), RADIO_SIDE, draw);
        wrapped(ui, words.into(), room);
    };
    let area = area(cx, "lag", Align2::CENTER_TOP, top);
    let laid = theme::show_card(context, area, card, |ui| ui.horizontal(content));
    Some(laid.response.rect)
}

/// Says that the director has the camera, where no banner says anything more important.
pub(super) fn director(context: &Context, cx: &mut PanelContext<'_>, banner: Option<Rect>) {
    let is_on = cx.state.rig.director.has_camera();
    cx.report.state("director", is_on);
    if !is_on || banner.is_some() || cx.plan.is_film {
        return;
    }
    let area = area(cx, "director", Align2::CENTER_TOP, cx.plan.middle_top());
    let card = cx.colors.card().inner_margin(Margin::symmetric(10, 3));
    let word = RichText::new("director").size(11.5).color(cx.colors.text);
    theme::show_card(context, area, card, |ui| ui.label(word));
}

/// Text in one line where it fits, else in as many as it needs.
fn wrapped(ui: &mut Ui, text: WidgetText, room: f32) {
    let galley = text.into_galley(ui, Some(TextWrapMode::Wrap), room.max(1.0), TextStyle::Body);
    ui.label(galley);
}

/// Shows a message, below the banner if there is one.
pub(super) fn notice(context: &Context, cx: &PanelContext<'_>, banner: Option<Rect>, text: &str) {
    let top = next_top(context, cx, banner);
    let card = cx.colors.upper_card();
    let room = cx.plan.middle().span() - card.total_margin().sum().x;
    let text = RichText::new(text).color(cx.colors.text);
    let area = area(cx, "notice", Align2::CENTER_TOP, top).fade_in(true);
    theme::show_card(context, area, card, |ui| wrapped(ui, text.into(), room));
}
