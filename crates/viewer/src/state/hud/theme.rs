//! How the panels look: colours, type, cards, and the small widgets that several panels use.

use egui::{
    Align2, Area, Color32, Context, CornerRadius, FontId, Frame, Id, InnerResponse, Label, Margin, Order,
    Pos2, Response, RichText, ScrollArea, Sense, Shadow, Stroke, StrokeKind, TextStyle, Ui, Vec2, Visuals,
    vec2,
};
use trantor_client::SceneTeam;
use trantor_model::TeamId;
use trantor_render::picture::palette::{Rgb, TeamColors, Theme};

use super::icons::Pen;

/// Limits of brightness, of 255, for signs on a dark and on a light card: beyond them contrast is less than 3 to 1.
const DIM_BELOW: u32 = 100;
const BRIGHT_FROM: u32 = 160;

#[derive(Clone, Copy, Debug)]
pub(super) struct Colors {
    /// Background of a card, slightly transparent.
    pub card: Color32,
    pub edge: Color32,
    /// Background of fields and rows within a card.
    pub well: Color32,
    pub text: Color32,
    /// Less important text.
    pub weak: Color32,
    /// Active controls and progress.
    pub accent: Color32,
    /// Victory and warnings, in text and lines.
    pub gold: Color32,
    /// Victory and the highest level, as a surface: brighter than text could be on a light card.
    pub gold_fill: Color32,
    pub alarm: Color32,
    /// Food of an agent that is not in danger.
    pub life: Color32,
    rim: Color32,
    teams: TeamColors,
    theme: Theme,
}

impl Colors {
    pub(super) fn new(theme: Theme, teams: &[SceneTeam]) -> Self {
        let pick = |dark: u32, light: u32| {
            let code = if theme == Theme::Dark { dark } else { light };
            let [red, green, blue, alpha] = code.to_be_bytes();
            Color32::from_rgba_unmultiplied(red, green, blue, alpha)
        };
        Self {
            card: pick(0x10_17_29_E8, 0xFA_FC_FF_EE),
            edge: pick(0xB9_CC_FF_1E, 0x16_26_4A_24),
            well: pick(0xFF_FF_FF_0E, 0x10_22_44_10),
            text: pick(0xE6_EC_F8_FF, 0x18_22_36_FF),
            weak: pick(0x9D_AB_C9_FF, 0x4A_58_74_FF),
            accent: pick(0x5C_C8_FF_FF, 0x0A_74_B8_FF),
            gold: pick(0xFF_D2_6B_FF, 0x96_66_00_FF),
            gold_fill: pick(0xFF_D2_6B_FF, 0xF2_B4_2C_FF),
            alarm: pick(0xFF_7A_6B_FF, 0xC2_36_24_FF),
            life: pick(0x6F_C4_5C_FF, 0x35_8A_2C_FF),
            rim: pick(0xC8_D6_F5_96, 0x10_1C_38_96),
            teams: TeamColors::of(teams),
            theme,
        }
    }

    pub(super) fn team(&self, team: TeamId) -> Color32 {
        color(self.teams.team(team))
    }

    /// An outline for a fill that has too little contrast with the card, else none.
    pub(super) fn rim(&self, fill: Color32) -> Stroke {
        let is_lost = match self.theme {
            Theme::Dark => brightness(fill) < DIM_BELOW,
            Theme::Light => brightness(fill) >= BRIGHT_FROM,
        };
        match is_lost {
            true => Stroke::new(1.0, self.rim),
            false => Stroke::NONE,
        }
    }

    /// The colour in a shade with enough contrast with the card for lines and characters.
    pub(super) fn legible(&self, color: Color32) -> Color32 {
        match self.rim(color) {
            Stroke { width: 0.0, .. } => color,
            _ => color.lerp_to_gamma(self.text, 0.4),
        }
    }

    /// An opaque card, for panels over other cards.
    pub(super) fn upper_card(&self) -> Frame {
        self.card().fill(self.card.to_opaque())
    }

    pub(super) fn card(&self) -> Frame {
        Frame::new()
            .fill(self.card)
            .stroke(Stroke::new(1.0, self.edge))
            .corner_radius(12)
            .inner_margin(Margin::symmetric(16, 12))
            .shadow(Shadow {
                offset: [0, 4],
                blur: 18,
                spread: 0,
                color: Color32::from_black_alpha(70),
            })
    }
}

/// Text colour on a filled surface: dark on bright ones, white on dark ones.
pub(super) fn ink_on(fill: Color32) -> Color32 {
    match brightness(fill) > 140 {
        true => Color32::from_rgb(0x10, 0x17, 0x29),
        false => Color32::WHITE,
    }
}

fn brightness(fill: Color32) -> u32 {
    let [red, green, blue, _] = fill.to_array().map(u32::from);
    (red * 299 + green * 587 + blue * 114) / 1_000
}

pub(super) fn color(rgb: Rgb) -> Color32 {
    let [red, green, blue] = rgb.0;
    Color32::from_rgb(red, green, blue)
}

pub(super) fn apply(context: &Context, theme: Theme) {
    let base = match theme {
        Theme::Dark => egui::Theme::Dark,
        Theme::Light => egui::Theme::Light,
    };
    context.set_theme(base);
    // The viewer's own keys change the size.
    context.options_mut(|options| {
        options.zoom_with_keyboard = false;
        // A machine that draws two frames a second sees long presses only.
        options.input_options.max_click_duration = f64::INFINITY;
    });
    context.style_mut_of(base, |style| {
        style.text_styles = [
            (TextStyle::Small, FontId::proportional(11.5)),
            (TextStyle::Body, FontId::proportional(13.0)),
            (TextStyle::Button, FontId::proportional(13.0)),
            (TextStyle::Heading, FontId::proportional(22.0)),
            (TextStyle::Monospace, FontId::monospace(12.0)),
        ]
        .into();
        style.spacing.item_spacing = vec2(8.0, 6.0);
        style.spacing.button_padding = vec2(10.0, 5.0);
        style.spacing.slider_rail_height = 5.0;
        style.spacing.interact_size = vec2(30.0, 22.0);
        style.animation_time = 0.12;
        style.spacing.scroll.fade.strength = 1.0;
        style.interaction.selectable_labels = false;
        visuals(&mut style.visuals, &Colors::new(theme, &[]));
    });
}

fn visuals(visuals: &mut Visuals, colors: &Colors) {
    visuals.override_text_color = Some(colors.text);
    visuals.weak_text_color = Some(colors.weak);
    visuals.panel_fill = Color32::TRANSPARENT;
    visuals.window_fill = colors.card;
    visuals.window_stroke = Stroke::new(1.0, colors.edge);
    visuals.window_corner_radius = CornerRadius::same(10);
    visuals.extreme_bg_color = colors.well;
    visuals.text_edit_bg_color = Some(colors.well);
    visuals.faint_bg_color = colors.well;
    visuals.selection.bg_fill = colors.accent.gamma_multiply(0.55);
    visuals.selection.stroke = Stroke::new(1.0, colors.text);
    visuals.slider_trailing_fill = true;
    visuals.handle_shape = egui::style::HandleShape::Circle;
    let widgets = &mut visuals.widgets;
    let accent = |part: f32| colors.accent.gamma_multiply(part);
    let (well, none) = (colors.well, Color32::TRANSPARENT);
    for (state, fill, edge, expansion) in [
        (&mut widgets.noninteractive, well, none, 0.0),
        (&mut widgets.inactive, well, colors.edge, 0.0),
        (&mut widgets.hovered, accent(0.28), colors.accent, 1.0),
        (&mut widgets.active, accent(0.5), colors.accent, 1.0),
        (&mut widgets.open, well, colors.edge, 0.0),
    ] {
        state.bg_fill = fill;
        state.weak_bg_fill = fill;
        state.bg_stroke = Stroke::new(1.0, edge);
        state.fg_stroke = Stroke::new(1.5, colors.text);
        state.corner_radius = CornerRadius::same(6);
        state.expansion = expansion;
    }
}

/// An area for a panel: its corner, edge or middle `pivot` stays at `at`.
pub(super) fn area(name: &'static str, order: Order, pivot: Align2, at: Pos2) -> Area {
    Area::new(Id::unique(name))
        .order(order)
        .pivot(pivot)
        .fixed_pos(at)
        .constrain(false)
        .fade_in(false)
}

/// Shows a card with `content` in an area of its own.
pub(super) fn show_card<R>(
    context: &Context,
    area: Area,
    card: Frame,
    content: impl FnOnce(&mut Ui) -> R,
) -> InnerResponse<R> {
    area.show(context, |ui| card.show(ui, content).inner)
}

pub(super) fn text(words: impl Into<String>, size: f32, color: Color32) -> RichText {
    RichText::new(words).size(size).color(color)
}

/// A label that is cut with an ellipsis where there is no room for all of it.
pub(super) fn truncated(ui: &mut Ui, words: RichText) -> Response {
    ui.add(Label::new(words).truncate())
}

pub(super) fn toggle<'a>(colors: &Colors, is_on: bool, words: RichText) -> egui::Button<'a> {
    let button = egui::Button::new(words).selected(is_on);
    match is_on {
        true => button
            .fill(colors.accent.gamma_multiply(0.35))
            .stroke(Stroke::new(1.0, colors.accent)),
        false => button,
    }
}

pub(super) fn heading(ui: &mut Ui, colors: &Colors, words: &str) {
    let words = text(words.to_uppercase(), 11.0, colors.weak);
    ui.label(words.extra_letter_spacing(1.4).strong());
}

/// A thin progress bar; `share` is 0 to 1.
pub(super) fn bar(ui: &mut Ui, colors: &Colors, share: f32, fill: Color32) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 5.0), Sense::hover());
    ui.painter().rect_filled(rect, 2.0, colors.well);
    let filled = rect.with_max_x(rect.left() + rect.width() * share.clamp(0.0, 1.0));
    if filled.width() >= 1.0 {
        ui.painter()
            .rect(filled, 2.0, fill, colors.rim(fill), StrokeKind::Inside);
    }
}

pub(super) fn swatch(ui: &mut Ui, colors: &Colors, fill: Color32, size: f32) {
    pip(ui, colors, Vec2::splat(size), Some(fill));
}

/// One of several that are counted: filled, or empty.
pub(super) fn pip(ui: &mut Ui, colors: &Colors, size: Vec2, fill: Option<Color32>) {
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let rim = fill.map_or(Stroke::NONE, |fill| colors.rim(fill));
    let (fill, radius) = (fill.unwrap_or(colors.well), (size.y * 0.28).clamp(2.0, 4.0));
    ui.painter().rect(rect, radius, fill, rim, StrokeKind::Inside);
}

/// An icon of `size` in a box of its own.
pub(super) fn icon(ui: &mut Ui, room: Vec2, size: f32, draw: impl FnOnce(Pen<'_>)) -> Response {
    let (rect, response) = ui.allocate_exact_size(room, Sense::hover());
    draw(Pen::new(ui.painter(), rect.center(), size));
    response
}

/// Content that scrolls where it is higher than `height`.
///
/// An area remembers how high it was; asked how much room there is, it would never grow again.
pub(super) fn scrolled(ui: &mut Ui, height: f32, content: impl FnOnce(&mut Ui)) {
    ScrollArea::vertical()
        .max_height(height)
        .min_scrolled_height(height)
        .auto_shrink([false, true])
        .show(ui, content);
}

/// A name on the left, its value on the right.
pub(super) fn row(ui: &mut Ui, name: &str, value: impl Into<RichText>) {
    egui::Sides::new().show(ui, |ui| ui.weak(name), |ui| ui.label(value.into()));
}

/// A number with a thin space between thousands.
pub(super) fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut grouped = String::from(if number < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    grouped
}

/// Match time as minutes and seconds: game time at the usual speed of 100 units a second, whatever the speed is.
pub(super) fn match_time(units: i128) -> String {
    let seconds = units.max(0) / 100;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// How many columns at least `least` wide, `gap` apart, fit into `width`: one to three.
pub(super) fn columns_in(width: f32, least: f32, gap: f32) -> usize {
    (((width + gap) / (least + gap)) as usize).clamp(1, 3)
}

/// Blocks in columns of about the same height, in their order; `heights` in lines.
pub(super) fn in_columns(
    ui: &mut Ui,
    (count, gap): (usize, f32),
    heights: Vec<usize>,
    mut block: impl FnMut(&mut Ui, usize),
) {
    let all = heights.iter().sum::<usize>().max(1);
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.x = gap;
        ui.columns(count, |columns| {
            let mut before = 0;
            for (place, height) in heights.into_iter().enumerate() {
                let middle = before + height / 2;
                before += height;
                block(&mut columns[middle * count / all], place);
            }
        });
    });
}
