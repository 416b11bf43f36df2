//! How the panels look: colours, type, the cards that everything sits on.

use egui::{
    Align2, Color32, CornerRadius, FontFamily, FontId, Frame, Margin, ScrollArea, Shadow, Stroke, TextStyle,
    Ui, Visuals,
};
use trantor_client::SceneTeam;
use trantor_model::TeamId;

use trantor_render::picture::palette::Theme;
use trantor_render::picture::palette::{Rgb, TeamColors};

/// Brightness of 255 below which a colour is hardly seen on a dark card, and from which on a light one: there its
/// contrast is less than 3 to 1, which is what signs need to be known.
const DIM_BELOW: u32 = 100;
const BRIGHT_FROM: u32 = 160;

/// The colours of the panels.
#[derive(Clone, Copy, Debug)]
pub struct Colors {
    /// Behind everything in a card; lets a little of the picture through.
    pub card: Color32,
    /// The line around a card.
    pub edge: Color32,
    /// Behind what is set into a card.
    pub well: Color32,
    /// Words.
    pub text: Color32,
    /// Words that may be overlooked.
    pub weak: Color32,
    /// What can be acted on, and what is under way.
    pub accent: Color32,
    /// Victory, and what is not as it should be: in words and lines.
    pub gold: Color32,
    /// Victory and the highest level, as a surface: bright on light cards as well, where words of that colour could not be read.
    pub gold_fill: Color32,
    /// What is wrong.
    pub alarm: Color32,
    /// A life that is not in danger.
    pub life: Color32,
    /// Around what has a team's colour, which may be as bright as a card, or as dim.
    pub rim: Color32,
    teams: TeamColors,
    theme: Theme,
}

impl Colors {
    /// Of a theme.
    pub fn of(theme: Theme) -> Self {
        match theme {
            Theme::Dark => Self {
                card: Color32::from_rgba_unmultiplied(0x10, 0x17, 0x29, 232),
                edge: Color32::from_rgba_unmultiplied(0xB9, 0xCC, 0xFF, 30),
                well: Color32::from_rgba_unmultiplied(0xFF, 0xFF, 0xFF, 14),
                text: Color32::from_rgb(0xE6, 0xEC, 0xF8),
                weak: Color32::from_rgb(0x9D, 0xAB, 0xC9),
                accent: Color32::from_rgb(0x5C, 0xC8, 0xFF),
                gold: Color32::from_rgb(0xFF, 0xD2, 0x6B),
                gold_fill: Color32::from_rgb(0xFF, 0xD2, 0x6B),
                alarm: Color32::from_rgb(0xFF, 0x7A, 0x6B),
                life: Color32::from_rgb(0x6F, 0xC4, 0x5C),
                rim: Color32::from_rgba_unmultiplied(0xC8, 0xD6, 0xF5, 150),
                teams: TeamColors::default(),
                theme,
            },
            Theme::Light => Self {
                card: Color32::from_rgba_unmultiplied(0xFA, 0xFC, 0xFF, 238),
                edge: Color32::from_rgba_unmultiplied(0x16, 0x26, 0x4A, 36),
                well: Color32::from_rgba_unmultiplied(0x10, 0x22, 0x44, 16),
                text: Color32::from_rgb(0x18, 0x22, 0x36),
                weak: Color32::from_rgb(0x4A, 0x58, 0x74),
                accent: Color32::from_rgb(0x0A, 0x74, 0xB8),
                gold: Color32::from_rgb(0x96, 0x66, 0x00),
                gold_fill: Color32::from_rgb(0xF2, 0xB4, 0x2C),
                alarm: Color32::from_rgb(0xC2, 0x36, 0x24),
                life: Color32::from_rgb(0x35, 0x8A, 0x2C),
                rim: Color32::from_rgba_unmultiplied(0x10, 0x1C, 0x38, 150),
                teams: TeamColors::default(),
                theme,
            },
        }
    }

    /// The same with the colours of these teams.
    pub fn with_teams(self, teams: &[SceneTeam]) -> Self {
        let teams = TeamColors::of(teams);
        Self { teams, ..self }
    }

    /// A team's colour.
    pub fn team(&self, team: TeamId) -> Color32 {
        color(self.teams.team(team))
    }

    /// The line around what has this colour: one that is as bright as a card, or as dim, would not be seen on it.
    pub fn rim(&self, fill: Color32) -> Stroke {
        let is_lost = match self.theme {
            Theme::Dark => brightness(fill) < DIM_BELOW,
            Theme::Light => brightness(fill) >= BRIGHT_FROM,
        };
        if is_lost {
            Stroke::new(1.0, self.rim)
        } else {
            Stroke::NONE
        }
    }

    /// What lies under a line of this width and colour, and is seen on both sides of it; as [`Self::rim`].
    pub fn rim_under(&self, line: f32, fill: Color32) -> Stroke {
        let rim = self.rim(fill);
        match rim.width {
            0.0 => Stroke::NONE,
            width => Stroke::new(line + width * 2.0, rim.color),
        }
    }

    /// A card that lies over others, of which nothing is to shine through its words.
    pub fn upper_card(&self) -> Frame {
        self.card().fill(self.card.to_opaque())
    }

    /// A card to put things on.
    pub fn card(&self) -> Frame {
        Frame::new()
            .fill(self.card)
            .stroke(Stroke::new(1.0, self.edge))
            .corner_radius(CornerRadius::same(12))
            .inner_margin(Margin::symmetric(16, 12))
            .shadow(Shadow {
                offset: [0, 4],
                blur: 18,
                spread: 0,
                color: Color32::from_black_alpha(70),
            })
    }
}

/// What is read on a colour: dark on bright ones, bright on dark ones.
pub fn ink_on(fill: Color32) -> Color32 {
    if brightness(fill) > 140 {
        Color32::from_rgb(0x10, 0x17, 0x29)
    } else {
        Color32::WHITE
    }
}

/// As bright as it looks, of 255.
fn brightness(fill: Color32) -> u32 {
    let [red, green, blue, _] = fill.to_array().map(u32::from);
    (red * 299 + green * 587 + blue * 114) / 1_000
}

/// A colour of the picture in the panels.
pub fn color(rgb: Rgb) -> Color32 {
    let [red, green, blue] = rgb.0;
    Color32::from_rgb(red, green, blue)
}

/// Gives egui our colours and sizes.
pub fn apply(context: &egui::Context, theme: Theme) {
    let colors = Colors::of(theme);
    let base = match theme {
        Theme::Dark => egui::Theme::Dark,
        Theme::Light => egui::Theme::Light,
    };
    context.set_theme(base);
    context.style_mut_of(base, |style| {
        style.text_styles = [
            (TextStyle::Small, 10.5),
            (TextStyle::Body, 12.5),
            (TextStyle::Button, 12.5),
            (TextStyle::Heading, 22.0),
        ]
        .into_iter()
        .map(|(name, size)| (name, FontId::new(size, FontFamily::Proportional)))
        .chain([(TextStyle::Monospace, FontId::new(11.5, FontFamily::Monospace))])
        .collect();
        style.spacing.item_spacing = egui::vec2(8.0, 6.0);
        style.spacing.button_padding = egui::vec2(10.0, 5.0);
        style.spacing.slider_rail_height = 5.0;
        style.spacing.interact_size = egui::vec2(30.0, 22.0);
        style.animation_time = 0.12;
        // What goes on beyond an edge is seen to.
        style.spacing.scroll.fade.strength = 1.0;
        // Panels are looked at while the mouse moves over the board: no text in them is for marking.
        style.interaction.selectable_labels = false;
        visuals(&mut style.visuals, &colors);
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
    let states = [
        // What cannot be pressed has no edge.
        (
            &mut visuals.widgets.noninteractive,
            colors.well,
            Color32::TRANSPARENT,
            0.0,
        ),
        (&mut visuals.widgets.inactive, colors.well, colors.edge, 0.0),
        (
            &mut visuals.widgets.hovered,
            colors.accent.gamma_multiply(0.28),
            colors.accent,
            1.0,
        ),
        (
            &mut visuals.widgets.active,
            colors.accent.gamma_multiply(0.5),
            colors.accent,
            1.0,
        ),
        (&mut visuals.widgets.open, colors.well, colors.edge, 0.0),
    ];
    for (state, fill, edge, expansion) in states {
        state.bg_fill = fill;
        state.weak_bg_fill = fill;
        state.bg_stroke = Stroke::new(1.0, edge);
        state.fg_stroke = Stroke::new(1.5, colors.text);
        state.corner_radius = CornerRadius::same(6);
        state.expansion = expansion;
    }
}

/// A button that is on or off: framed in both states, so that it is known for one, and told apart by its edge as well.
pub fn toggle<'a>(colors: &Colors, is_on: bool, text: egui::RichText) -> egui::Button<'a> {
    let button = egui::Button::new(text).selected(is_on);
    if is_on {
        button
            .fill(colors.accent.gamma_multiply(0.35))
            .stroke(Stroke::new(1.0, colors.accent))
    } else {
        button
    }
}

/// A card's small heading: letters apart, in a quiet colour.
pub fn heading(ui: &mut Ui, colors: &Colors, text: &str) {
    ui.label(
        egui::RichText::new(text.to_uppercase())
            .size(10.0)
            .extra_letter_spacing(1.4)
            .color(colors.weak)
            .strong(),
    );
}

/// A thin bar that is filled to `share`.
pub fn bar(ui: &mut Ui, colors: &Colors, share: f32, fill: Color32, height: f32) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(ui.available_width(), height), egui::Sense::hover());
    let radius = CornerRadius::same((height / 2.0) as u8);
    ui.painter().rect_filled(rect, radius, colors.well);
    let mut filled = rect;
    filled.set_width(rect.width() * share.clamp(0.0, 1.0));
    if filled.width() >= 1.0 {
        ui.painter()
            .rect(filled, radius, fill, colors.rim(fill), egui::StrokeKind::Inside);
    }
}

/// A little square in a team's colour.
pub fn swatch(ui: &mut Ui, colors: &Colors, tint: Color32, size: f32) {
    let (rect, _) = ui.allocate_exact_size(egui::Vec2::splat(size), egui::Sense::hover());
    ui.painter().rect(
        rect,
        size * 0.28,
        tint,
        colors.rim(tint),
        egui::StrokeKind::Inside,
    );
}

/// Content that is scrolled where it is higher than `height`.
///
/// An area remembers how high it was; asked how much room there is, it would never grow again.
pub fn scrolled(ui: &mut Ui, height: f32, content: impl FnOnce(&mut Ui)) {
    ScrollArea::vertical()
        .max_height(height)
        .min_scrolled_height(height)
        .auto_shrink([false, true])
        .show(ui, content);
}

/// A name on the left, its value on the right.
pub fn row(ui: &mut Ui, colors: &Colors, name: &str, value: impl Into<egui::WidgetText>) {
    ui.horizontal(|ui| {
        ui.label(egui::RichText::new(name).color(colors.weak));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(value)
        });
    });
}

/// A column of cards at an edge of the window; answers what it covers.
pub fn column(
    context: &egui::Context,
    name: &'static str,
    anchor: Align2,
    offset: egui::Vec2,
    width: f32,
    content: impl FnOnce(&mut Ui),
) -> egui::Rect {
    let laid = egui::Area::new(egui::Id::unique(name))
        .anchor(anchor, offset)
        .order(egui::Order::Middle)
        .fade_in(false)
        .constrain(false)
        .show(context, |ui| {
            ui.set_width(width);
            ui.spacing_mut().item_spacing.y = 8.0;
            content(ui);
        });
    laid.response.rect
}
