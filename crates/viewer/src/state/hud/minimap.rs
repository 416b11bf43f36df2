//! The map in the corner: resources, agents, and the part in view; a click moves the camera. And the legend of a heat map.

use egui::{
    Align2, Color32, ColorImage, Context, FontId, Label, Margin, Order, Painter, Pos2, Rect, RichText, Sense,
    Shape, Stroke, TextureHandle, TextureOptions, Ui, pos2, vec2,
};
use glam::Vec2;
use trantor_model::{MapSize, Resource};
use trantor_render::picture::ground::{PaintMode, heat_color};
use trantor_render::picture::palette::{Rgb, Theme};
use trantor_time::{RealSpan, RealTime};

use super::PanelContext;
use super::icons::Pen;
use super::theme::{self, color, ink_on};
use crate::intent::Intent;

/// The longest side of the texture of the ground, in texels: more could not be seen.
const TEXELS_MAX: u32 = 200;
/// How often that texture is refreshed.
const REFRESH: RealSpan = RealSpan::from_millis(500);
/// Agents shown as dots at most; of more, the texture shows their density: more dots would cover the map, and take
/// longer than all other panels together.
const DOTS_MAX: usize = 400;
/// Elevations shown as rings at most; more are points.
const RINGS_MAX: usize = 12;
/// Greatest height of the map, in points: a square one is as wide as its card.
const HEIGHT_MAX: f32 = 224.0;
/// Height of the rest of the card, in points.
const AROUND: f32 = 56.0;
const BUTTON_GAP: f32 = 2.0;

/// Colours in the legend of a heat map at most.
const COLORS_MAX: u32 = 7;
const COLOR_WIDTH_LEAST: f32 = 15.0;
const COLOR_WIDTH_MOST: f32 = 26.0;
const COLOR_HEIGHT: f32 = 15.0;
/// Height of the legend without its margins, and width of the words on its scale, in points.
const LEGEND_HEIGHT: f32 = 22.0;
const TOP_WIDTH: f32 = 140.0;

/// Height of the card with `width` points for its content; `None` while there is no map.
pub(super) fn height(cx: &PanelContext<'_>, width: f32) -> Option<f32> {
    let size = cx.state.drawing.paint.size()?;
    Some(f32::from(size.height()) * scale(size, width) + AROUND)
}

/// Points of a tile's side in a card with `width` points for its content.
fn scale(size: MapSize, width: f32) -> f32 {
    (width / f32::from(size.width())).min(HEIGHT_MAX / f32::from(size.height()))
}

#[derive(Default)]
pub(super) struct Minimap {
    texture: Option<TextureHandle>,
    /// The texture's content: an equal one is not uploaded again.
    image: Option<ColorImage>,
    /// When it was made, and for which mode and theme.
    made: Option<(RealTime, PaintMode, Theme)>,
}

impl std::fmt::Debug for Minimap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Minimap")
    }
}

impl Minimap {
    pub(super) fn show(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(size) = cx.state.drawing.paint.size() else {
            return;
        };
        let (width, height) = (f32::from(size.width()), f32::from(size.height()));
        cx.colors.card().show(ui, |ui| {
            let scale = scale(size, ui.available_width());
            let map = vec2(width, height) * scale;
            let (rect, response) = ui
                .vertical_centered(|ui| ui.allocate_exact_size(map, Sense::click_and_drag()))
                .inner;
            self.refresh(ui.ctx(), cx, size);
            if let Some(texture) = &self.texture {
                let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
                ui.painter().image(texture.id(), rect, whole, Color32::WHITE);
            }
            let painter = ui.painter_at(rect);
            let at = |x: f32, y: f32| {
                let home = vec2((x + 0.5).rem_euclid(width), (y + 0.5).rem_euclid(height));
                rect.min + home * scale
            };
            let elevations = &cx.scene().elevations;
            let ring = if elevations.len() > RINGS_MAX { 1.0 } else { 4.0 };
            for elevation in elevations.iter().take(DOTS_MAX) {
                let middle = at(f32::from(elevation.tile.x), f32::from(elevation.tile.y));
                painter.circle_stroke(middle, ring, Stroke::new(1.5, cx.colors.gold));
            }
            let agents = &cx.scene().agents;
            let dot = (scale * 0.42).clamp(1.2, 3.6);
            for agent in agents.iter().filter(|_| agents.len() <= DOTS_MAX) {
                let middle = at(agent.x, agent.y);
                let tint = cx.colors.team(agent.team);
                // The edge is around the dot: a bright one on it would leave a ring of so small a dot.
                painter.circle_filled(middle, dot + 1.0, Color32::from_black_alpha(150));
                painter.circle_filled(middle, dot, tint);
            }
            outline(&painter, cx, rect, scale);
            if (response.clicked() || response.dragged())
                && let Some(point) = response.interact_pointer_pos()
            {
                let tile = (point - rect.min) / scale;
                cx.request(Intent::LookAt(Vec2::new(tile.x - 0.5, tile.y - 0.5)));
            }
            heat_buttons(ui, cx);
        });
    }

    fn refresh(&mut self, context: &egui::Context, cx: &PanelContext<'_>, size: MapSize) {
        let (now, mode, theme) = (
            cx.now,
            cx.state.drawing.paint_mode,
            cx.state.settings.shown_theme(),
        );
        let is_recent = |at: RealTime| now.since(at) < REFRESH;
        if self
            .made
            .is_some_and(|(at, of, under)| is_recent(at) && (of, under) == (mode, theme))
        {
            return;
        }
        self.made = Some((now, mode, theme));
        let image = ground_image(cx, size);
        if image == self.image {
            return;
        }
        self.image.clone_from(&image);
        let Some(image) = image else { return };
        match &mut self.texture {
            Some(texture) => texture.set(image, TextureOptions::NEAREST),
            none => *none = Some(context.load_texture("minimap", image, TextureOptions::NEAREST)),
        }
    }
}

/// The ground, and over it the density of agents where they are too many for dots.
fn ground_image(cx: &PanelContext<'_>, size: MapSize) -> Option<ColorImage> {
    let ground = match cx.state.settings.shown_theme() {
        Theme::Dark => Rgb::hex(0x33_55_4C),
        Theme::Light => Rgb::hex(0x8C_B4_76),
    };
    let longest = u32::from(size.width().max(size.height()));
    let levels = cx.state.drawing.paint.levels();
    let last = levels.len().checked_sub(1)?;
    let number = (0..last).find(|&number| longest >> number <= TEXELS_MAX);
    let number = number.unwrap_or(last);
    let level = levels.get(number)?;
    // Resources of a small map are only hinted at: for more there are heat maps.
    let part = match (cx.state.drawing.paint_mode, number) {
        (PaintMode::Mixture, 0) => 0.15,
        (PaintMode::Mixture, _) => 0.5,
        (PaintMode::Heat(_), _) => 1.0,
    };
    let crowd = Some(cx.state.drawing.paint.crowd()).filter(|_| cx.state.scene.agents.len() > DOTS_MAX);
    let over = |under: Rgb, [red, green, blue, strength]: [u8; 4], part: f32| {
        under.mix(Rgb([red, green, blue]), f32::from(strength) / 255.0 * part)
    };
    let pixels = (0..).zip(&level.texels).map(|(place, &texel)| {
        let mut shown = over(ground, texel, part);
        if let Some(crowd) = crowd {
            let (columns, rows) = crowd.sides();
            let (x, y) = (place % level.width, place / level.width);
            let cell = y * rows / level.height * columns + x * columns / level.width;
            let texel = crowd.texels().get(cell as usize).copied().unwrap_or_default();
            shown = over(shown, texel, 1.0);
        }
        color(shown)
    });
    let sides = [level.width as usize, level.height as usize];
    Some(ColorImage::new(sides, pixels.collect()))
}

fn outline(painter: &Painter, cx: &PanelContext<'_>, rect: Rect, scale: f32) {
    let Some((view, window)) = &cx.view else { return };
    // Relative to the target, so that the outline stays whole where the map wraps.
    let target = Vec2::new(view.target.x, view.target.z);
    let corner = |corner| {
        let home = window.home(target) + (view.ground_at(corner)? - target);
        Some(rect.min + vec2(home.x + 0.5, home.y + 0.5) * scale)
    };
    let corners = [Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y].map(corner);
    let Some(corners) = corners.into_iter().collect::<Option<Vec<Pos2>>>() else {
        return;
    };
    let bounds = Rect::from_points(&corners);
    // The outline wraps at the edges of the map. Of a view wider than the map only the middle is shown, since its
    // outline would overlap itself.
    let copies = |seen: f32, map: f32| match seen < map {
        true => vec![-map, 0.0, map],
        false => vec![0.0],
    };
    for x in copies(bounds.width(), rect.width()) {
        for y in copies(bounds.height(), rect.height()) {
            let moved = vec2(x, y);
            if !bounds.translate(moved).intersects(rect) {
                continue;
            }
            let corners: Vec<Pos2> = corners.iter().map(|&corner| corner + moved).collect();
            for (width, shade) in [
                (3.0, Color32::from_black_alpha(60)),
                (1.5, Color32::from_white_alpha(210)),
            ] {
                painter.add(Shape::closed_line(corners.clone(), Stroke::new(width, shade)));
            }
        }
    }
}

/// A button for the heat map of each resource.
fn heat_buttons(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    ui.horizontal(|ui| {
        theme::heading(ui, &cx.colors, "Heat");
        ui.spacing_mut().item_spacing.x = BUTTON_GAP;
        ui.spacing_mut().button_padding = vec2(0.0, 0.0);
        let gaps = BUTTON_GAP * (Resource::COUNT - 1) as f32;
        let width = (ui.available_width() - gaps) / Resource::COUNT as f32;
        for resource in Resource::ALL {
            let heat = PaintMode::Heat(resource);
            let is_chosen = cx.state.drawing.paint_mode == heat;
            let button = theme::toggle(&cx.colors, is_chosen, "".into()).frame_when_inactive(is_chosen);
            let response = ui.add(button.min_size(vec2(width, 20.0)));
            Pen::new(ui.painter(), response.rect.center(), 12.0).resource(resource);
            if response.clicked() {
                cx.request(Intent::Paint(if is_chosen { PaintMode::Mixture } else { heat }));
            }
            response.on_hover_text(resource.name());
        }
    });
}

/// Shows what the colours of a heat map stand for above the time-line, where no other card is; returns its rectangle.
pub(super) fn legend(context: &Context, cx: &PanelContext<'_>, cards: &[Rect]) -> Option<Rect> {
    let PaintMode::Heat(resource) = cx.state.drawing.paint_mode else {
        return None;
    };
    let (left, right, bottom) = cx
        .plan
        .bottom(cx.state.source.recording().is_some(), cx.state.selection);
    let card = cx.colors.card().inner_margin(Margin::symmetric(12, 6));
    let around = card.total_margin().sum();
    let top = bottom - around.y - LEGEND_HEIGHT;
    let room = Rect::from_min_max(pos2(left, top), pos2(right, bottom));
    if cards.iter().any(|card| card.intersects(room)) {
        return None;
    }
    let at = pos2(f32::midpoint(left, right), bottom);
    let area = theme::area("legend", Order::Middle, Align2::CENTER_BOTTOM, at).interactable(false);
    let content = |ui: &mut egui::Ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        theme::icon(ui, vec2(12.0, COLOR_HEIGHT), 12.0, |pen| pen.resource(resource));
        ui.add(Label::new(format!("heat: {}", resource.name())).extend());
        let top = cx.state.drawing.paint.heat_top();
        let counts = legend_counts(top);
        let room = right - left - around.x - ui.min_rect().width() - 6.0;
        let cells = counts.len() as f32;
        let width = (room / cells).clamp(COLOR_WIDTH_LEAST, COLOR_WIDTH_MOST);
        let (scale, _) = ui.allocate_exact_size(vec2(width * cells, COLOR_HEIGHT), Sense::hover());
        for (place, &count) in (0u8..).zip(&counts) {
            let at = pos2(scale.left() + f32::from(place) * width, scale.top());
            let cell = Rect::from_min_size(at, vec2(width, COLOR_HEIGHT));
            let fill = color(heat_color(count, top));
            ui.painter().rect_filled(cell, 0.0, fill);
            let more = if count == top { "+" } else { "" };
            let (text, font) = (format!("{count}{more}"), FontId::proportional(9.5));
            let painter = ui.painter();
            painter.text(cell.center(), Align2::CENTER_CENTER, text, font, ink_on(fill));
        }
        if room - width * cells > TOP_WIDTH {
            ui.add(Label::new(RichText::new("scaled to 99 % of tiles").small().weak()).extend());
        }
    };
    let laid = theme::show_card(context, area, card, |ui| ui.horizontal(content));
    Some(laid.response.rect)
}

/// The counts that the legend of a heat map up to `top` names: all, or some in equal ratios.
fn legend_counts(top: u32) -> Vec<u32> {
    if top < COLORS_MAX {
        return (0..=top).collect();
    }
    let step = (top as f32).ln_1p() / (COLORS_MAX - 1) as f32;
    let mut counts: Vec<u32> = (0..COLORS_MAX)
        .map(|place| (step * place as f32).exp_m1().round() as u32)
        .collect();
    counts.dedup();
    counts
}
