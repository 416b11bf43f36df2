//! A terminal's page as a picture.

use anyhow::Result;
use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, FontId, LayerId, Order, Pos2, Rect, vec2};
use trantor_render::gpu::{Context, Offscreen, Pixels};
use trantor_viewer::painter::{Laid, Painter};

/// Height of a character, in pixels.
const FONT_SIZE: f32 = 14.0;
/// Around the page, in pixels.
const MARGIN: f32 = 18.0;
const PAPER: Color32 = Color32::from_rgb(0x12, 0x16, 0x20);
const INK: Color32 = Color32::from_rgb(0xC8, 0xD0, 0xDC);

/// Draws `text`, in which colours are the escape sequences of terminals with 256 of them.
///
/// # Errors
/// If there is nothing to draw with.
pub fn draw(text: &str) -> Result<Pixels> {
    let context = Context::without_window()?;
    let egui = egui::Context::default();
    let mut painter = Painter::new(&context, Offscreen::FORMAT);
    let job = laid_out(text);
    let mut size = egui::Vec2::splat(16.0);
    let lay_out = |size: &mut egui::Vec2| {
        let input = egui::RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, *size)),
            ..Default::default()
        };
        let output = egui.run_ui(input, |ui| {
            let painter = ui
                .ctx()
                .layer_painter(LayerId::new(Order::Background, egui::Id::unique("page")));
            let galley = painter.layout_job(job.clone());
            painter.rect_filled(Rect::EVERYTHING, 0.0, PAPER);
            *size = (galley.size() + vec2(MARGIN, MARGIN) * 2.0).ceil();
            painter.galley(Pos2::new(MARGIN, MARGIN), galley, INK);
        });
        Laid {
            textures: output.textures_delta,
            primitives: egui.tessellate(output.shapes, output.pixels_per_point),
            pixels_per_point: output.pixels_per_point,
        }
    };
    // The first layout tells how large the page is.
    let mut measured = lay_out(&mut size);
    painter.paint(&context, &mut measured, None);
    let mut laid = lay_out(&mut size);
    let pixels = (size.x as u32, size.y as u32);
    let target = Offscreen::new(&context.device, Offscreen::FORMAT, pixels);
    let mut encoder = context.device.create_command_encoder(&Default::default());
    let view = target.view();
    painter.paint(&context, &mut laid, Some((&mut encoder, &view, pixels)));
    target.encode_copy(&mut encoder);
    context.queue.submit([encoder.finish()]);
    Ok(target.read(&context)?)
}

fn laid_out(text: &str) -> LayoutJob {
    let mut job = LayoutJob::default();
    let mut color = INK;
    let mut pieces = text.split("\x1b[");
    let mut append = |piece: &str, color: Color32| {
        let format = TextFormat::simple(FontId::monospace(FONT_SIZE), color);
        job.append(piece, 0.0, format);
    };
    append(pieces.next().unwrap_or_default(), color);
    for piece in pieces {
        let (style, words) = piece.split_once('m').unwrap_or(("", piece));
        color = match style.rsplit_once("38;5;") {
            Some((_, number)) => number.parse().map_or(INK, of_terminal),
            None if style.contains(";1") => Color32::WHITE,
            None => INK,
        };
        append(words, color);
    }
    job
}

/// One of a terminal's 256 colours: sixteen of its own, a cube of six steps a side, and greys.
fn of_terminal(number: u8) -> Color32 {
    const OWN: [u32; 8] = [
        0x3A4150, 0xE0646A, 0x6DBB7A, 0xE2B457, 0x5F9BE8, 0xC07FD8, 0x55BCC4, 0xC8D0DC,
    ];
    let step = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match number {
        0..16 => {
            let [_, red, green, blue] = OWN[usize::from(number % 8)].to_be_bytes();
            Color32::from_rgb(red, green, blue)
        }
        16..232 => {
            let cube = number - 16;
            Color32::from_rgb(step(cube / 36), step(cube / 6 % 6), step(cube % 6))
        }
        _ => Color32::from_gray(8 + 10 * (number - 232)),
    }
}
