//! The whole map in a corner: what lies where, who is where, and which part is seen. A click goes there.

use egui::{Color32, ColorImage, Sense, Shape, Stroke, TextureHandle, TextureOptions, Ui, pos2, vec2};
use glam::Vec2;
use trantor_model::{MapSize, Resource};
use trantor_time::{RealSpan, RealTime};

use super::report::Report;
use super::theme::{self, Colors, color};
use super::{HudInput, icons};
use crate::intent::Intent;
use trantor_render::picture::ground::PaintMode;
use trantor_render::picture::palette::Rgb;
use trantor_render::picture::palette::Theme;

/// The longest side of the small picture of the ground, in texels: more could not be seen.
const TEXELS_MAX: u32 = 200;
/// How often that picture is made anew.
const REFRESH: RealSpan = RealSpan::from_millis(500);
/// Agents shown as dots at most; of more, a part of that picture shows how many there are where. More dots would cover
/// the map and each other, and take longer than all other panels together.
const DOTS_MAX: usize = 400;
/// Elevations shown as rings at most; more are points.
const RINGS_MAX: usize = 12;
/// Height of the map at most, in points: a square one is as wide as its card.
const HEIGHT_MAX: f32 = 224.0;
/// Height of all else in the card: its edges, and the heat maps to choose from; in points.
const AROUND: f32 = 56.0;
/// Between one heat map to choose and the next, in points.
const SIGN_GAP: f32 = 2.0;

/// How high the card is that has `width` points for its content; `None` while there is no map.
pub(super) fn height(input: &HudInput<'_>, width: f32) -> Option<f32> {
    let size = input.paint.size()?;
    Some(f32::from(size.height()) * scale(size, width) + AROUND)
}

/// Points of a tile's side in a card that has `width` points for its content.
fn scale(size: MapSize, width: f32) -> f32 {
    (width / f32::from(size.width())).min(HEIGHT_MAX / f32::from(size.height()))
}

#[derive(Default)]
pub(super) struct Minimap {
    texture: Option<TextureHandle>,
    /// What that is of: one that is the same is not given to the graphics card again.
    image: Option<ColorImage>,
    made_at: Option<RealTime>,
    /// What it shows, and in which light.
    made_for: Option<(PaintMode, Theme)>,
}

impl std::fmt::Debug for Minimap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Minimap")
            .field("made_at", &self.made_at)
            .finish_non_exhaustive()
    }
}

impl Minimap {
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        colors: &Colors,
        input: &HudInput<'_>,
        report: &mut Report,
        intents: &mut Vec<Intent>,
    ) {
        let Some(size) = input.paint.size() else { return };
        colors.card().show(ui, |ui| {
            let (width, height) = (f32::from(size.width()), f32::from(size.height()));
            let scale = scale(size, ui.available_width());
            let (rect, response) = ui
                .vertical_centered(|ui| {
                    ui.allocate_exact_size(vec2(width, height) * scale, Sense::click_and_drag())
                })
                .inner;
            self.refresh(ui.ctx(), input, size);
            if let Some(texture) = &self.texture {
                let whole = egui::Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
                ui.painter().image(texture.id(), rect, whole, Color32::WHITE);
            }
            let painter = ui.painter_at(rect);
            let at = |x: f32, y: f32| {
                pos2(
                    rect.left() + ((x + 0.5).rem_euclid(width)) * scale,
                    rect.top() + ((y + 0.5).rem_euclid(height)) * scale,
                )
            };
            let ring = if input.scene.rituals.len() > RINGS_MAX {
                1.0
            } else {
                4.0
            };
            for ritual in input.scene.rituals.iter().take(DOTS_MAX) {
                let middle = at(f32::from(ritual.tile.x), f32::from(ritual.tile.y));
                painter.circle_stroke(middle, ring, Stroke::new(1.5, colors.gold));
            }
            if input.scene.agents.len() <= DOTS_MAX {
                let dot = (scale * 0.42).clamp(1.2, 3.6);
                for agent in &input.scene.agents {
                    let middle = at(agent.x, agent.y);
                    if dot > 2.0 {
                        painter.circle_filled(middle, dot + 1.0, Color32::from_black_alpha(120));
                    }
                    let tint = colors.team(agent.team);
                    painter.circle(middle, dot, tint, colors.rim(tint));
                }
            }
            seen(&painter, input, rect, scale);
            if (response.clicked() || response.dragged())
                && let Some(point) = response.interact_pointer_pos()
            {
                let tile = (point - rect.min) / scale;
                intents.push(Intent::LookAt(Vec2::new(tile.x - 0.5, tile.y - 0.5)));
            }
            report.widget("minimap", rect);
            paint_buttons(ui, colors, input, report, intents);
        });
    }

    fn refresh(&mut self, context: &egui::Context, input: &HudInput<'_>, size: MapSize) {
        let wanted = Some((input.paint_mode, input.theme));
        if self.made_for == wanted && self.made_at.is_some_and(|at| input.now.since(at) < REFRESH) {
            return;
        }
        self.made_at = Some(input.now);
        self.made_for = wanted;
        let image = picture(input, size);
        if image == self.image {
            return;
        }
        self.image.clone_from(&image);
        match (&mut self.texture, image) {
            (_, None) => {}
            (Some(texture), Some(image)) => texture.set(image, TextureOptions::NEAREST),
            (None, Some(image)) => {
                self.texture = Some(context.load_texture("minimap", image, TextureOptions::NEAREST));
            }
        }
    }
}

/// The ground, and over it the crowd where agents are too many for dots.
fn picture(input: &HudInput<'_>, size: MapSize) -> Option<ColorImage> {
    let ground = match input.theme {
        Theme::Dark => Rgb::hex(0x33_55_4C),
        Theme::Light => Rgb::hex(0x8C_B4_76),
    };
    let longest = u32::from(size.width().max(size.height()));
    let last = input.paint.levels().len().checked_sub(1)?;
    let number = (0..last)
        .find(|&number| longest >> number <= TEXELS_MAX)
        .unwrap_or(last);
    let level = input.paint.levels().get(number)?;
    // What lies there is only hinted at; one who wants to know asks for a heat map. Of a large map it is a land, which is
    // calm by itself.
    let part = match (input.paint_mode, number) {
        (PaintMode::Mixture, 0) => 0.15,
        (PaintMode::Mixture, _) => 0.5,
        (PaintMode::Heat(_), _) => 1.0,
    };
    let crowd = Some(input.paint.crowd()).filter(|_| input.scene.agents.len() > DOTS_MAX);
    let over = |under: Rgb, [red, green, blue, strength]: [u8; 4], part: f32| {
        under.mix(Rgb([red, green, blue]), f32::from(strength) / 255.0 * part)
    };
    let mut pixels = Vec::with_capacity(level.texels.len());
    for (place, &texel) in (0..).zip(&level.texels) {
        let mut shown = over(ground, texel, part);
        if let Some(crowd) = crowd {
            let (columns, rows) = crowd.sides();
            let (x, y) = (place % level.width, place / level.width);
            let cell = y * rows / level.height * columns + x * columns / level.width;
            let texel = crowd.texels().get(cell as usize).copied().unwrap_or_default();
            shown = over(shown, texel, 1.0);
        }
        pixels.push(color(shown));
    }
    Some(ColorImage::new(
        [level.width as usize, level.height as usize],
        pixels,
    ))
}

/// The part of the ground that is seen, as an outline.
fn seen(painter: &egui::Painter, input: &HudInput<'_>, rect: egui::Rect, scale: f32) {
    let Some((view, window)) = input.view else { return };
    let corners: Option<Vec<egui::Pos2>> = [Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y]
        .into_iter()
        .map(|corner| {
            let ground = view.ground_at(corner)?;
            // Relative to the target, so that the outline stays whole where the map wraps.
            let target = Vec2::new(view.target.x, view.target.z);
            let home = window.home(target) + (ground - target);
            Some(pos2(
                rect.left() + (home.x + 0.5) * scale,
                rect.top() + (home.y + 0.5) * scale,
            ))
        })
        .collect();
    let Some(corners) = corners else { return };
    let outline = egui::Rect::from_points(&corners);
    // What goes on beyond an edge of the map does so at the other one. Of one that is wider than the map only the middle is
    // shown: it would lie over itself.
    let beyond = |seen: f32, map: f32| match seen < map {
        true => vec![-map, 0.0, map],
        false => vec![0.0],
    };
    for x in beyond(outline.width(), rect.width()) {
        for y in beyond(outline.height(), rect.height()) {
            let moved = vec2(x, y);
            if !outline.translate(moved).intersects(rect) {
                continue;
            }
            let corners: Vec<egui::Pos2> = corners.iter().map(|&corner| corner + moved).collect();
            for stroke in [
                Stroke::new(3.0, Color32::from_black_alpha(60)),
                Stroke::new(1.5, Color32::from_white_alpha(210)),
            ] {
                painter.add(Shape::closed_line(corners.clone(), stroke));
            }
        }
    }
}

/// A heat map for each resource, and none.
fn paint_buttons(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    report: &mut Report,
    intents: &mut Vec<Intent>,
) {
    ui.horizontal(|ui| {
        theme::heading(ui, colors, "Heat");
        ui.spacing_mut().item_spacing.x = SIGN_GAP;
        // As wide as the map above them, all together.
        let gaps = SIGN_GAP * (Resource::COUNT - 1) as f32;
        let width = (ui.available_width() - gaps) / Resource::COUNT as f32;
        for resource in Resource::ALL {
            let (rect, response) = ui.allocate_exact_size(vec2(width, 20.0), Sense::click());
            report.widget(&format!("heat-{}", resource.name()), rect);
            let chosen = input.paint_mode == PaintMode::Heat(resource);
            if chosen || response.hovered() {
                let fill = if chosen {
                    colors.accent.gamma_multiply(0.35)
                } else {
                    colors.well
                };
                ui.painter().rect_filled(rect, 4.0, fill);
            }
            icons::resource(ui.painter(), rect.center(), 12.0, resource);
            if response.clicked() {
                let mode = if chosen {
                    PaintMode::Mixture
                } else {
                    PaintMode::Heat(resource)
                };
                intents.push(Intent::Paint(mode));
            }
            response.on_hover_text(resource.name());
        }
    });
}
