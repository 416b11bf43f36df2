//! How loud the game is, as a speaker to click on and a slider; only where something plays it.

use egui::{Align, Layout, RichText, Ui, vec2};

use super::icons::Sign;
use super::report::Report;
use super::speed::button;
use super::theme::Colors;
use crate::intent::Intent;
use crate::sound::{SoundChange, Volume};

/// Width of the words behind the slider, in points: those of the longest.
const WORDS_WIDTH: f32 = 40.0;

pub(super) fn show(
    ui: &mut Ui,
    colors: &Colors,
    volume: Volume,
    report: &mut Report,
    intents: &mut Vec<Intent>,
) {
    let (sign, tip, words) = match volume.is_muted {
        true => (Sign::Silence, "sound on", "off".to_owned()),
        false => (Sign::Sound, "sound off", format!("{} %", volume.percent)),
    };
    report.state("sound", words.replace(' ', ""));
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 8.0;
        let mute = button(ui, colors, sign, 32.0, true).on_hover_text(tip);
        report.widget("mute", mute.rect);
        if mute.clicked() {
            intents.push(Intent::Sound(SoundChange::ToggleMute));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let size = vec2(WORDS_WIDTH, ui.spacing().interact_size.y);
            ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
                ui.set_min_width(WORDS_WIDTH);
                ui.label(RichText::new(words).color(colors.weak));
            });
            if volume.is_muted {
                ui.visuals_mut().selection.bg_fill = colors.weak.gamma_multiply(0.35);
            }
            ui.spacing_mut().slider_width = ui.available_width();
            let mut percent = volume.percent;
            let slider = ui.add(egui::Slider::new(&mut percent, 0..=100).show_value(false));
            report.widget("volume-slider", slider.rect);
            if slider.changed() {
                intents.push(Intent::Sound(SoundChange::Volume(percent)));
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use egui::{Event, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2};

    use super::*;
    use trantor_render::picture::palette::Theme;

    const ROW: Rect = Rect::from_min_max(Pos2::ZERO, pos2(224.0, 40.0));

    /// What a click asks for, at a part of a widget's width.
    fn clicked(name: &str, part: f32, is_muted: bool) -> Vec<Intent> {
        let context = egui::Context::default();
        let (mut report, mut intents) = (Report::new(true), Vec::new());
        let percent = 20;
        let mut frame = |events: Vec<Event>, intents: &mut Vec<Intent>| {
            let input = RawInput {
                screen_rect: Some(ROW),
                events,
                ..RawInput::default()
            };
            let mut output = context.run_ui(input, |ui| {
                show(
                    ui,
                    &Colors::of(Theme::Dark),
                    Volume { percent, is_muted },
                    &mut report,
                    intents,
                );
            });
            output.textures_delta.clear();
            report.take_lines().collect::<Vec<_>>()
        };
        // The first frame finds out how large things are.
        let mut lines = frame(Vec::new(), &mut intents);
        lines.extend(frame(Vec::new(), &mut intents));
        let line = lines
            .iter()
            .rfind(|line| line.starts_with(&format!("widget {name} ")));
        let places: Vec<f32> = line
            .unwrap()
            .split(' ')
            .skip(2)
            .map(|word| word.parse().unwrap())
            .collect();
        let at = pos2(
            places[0] + (places[2] - places[0]) * part,
            f32::midpoint(places[1], places[3]),
        );
        for pressed in [true, false] {
            let button = Event::PointerButton {
                pos: at,
                button: PointerButton::Primary,
                pressed,
                modifiers: Modifiers::NONE,
            };
            frame(vec![Event::PointerMoved(at), button], &mut intents);
        }
        intents
    }

    #[test]
    fn a_click_on_the_speaker_mutes_and_one_on_the_slider_is_a_volume() {
        for is_muted in [false, true] {
            let intents = clicked("mute", 0.5, is_muted);
            assert!(
                matches!(intents[..], [Intent::Sound(SoundChange::ToggleMute)]),
                "{intents:?}"
            );
            let intents = clicked("volume-slider", 0.75, is_muted);
            assert!(
                matches!(intents[0], Intent::Sound(SoundChange::Volume(70..=80))),
                "{intents:?}"
            );
        }
    }
}
