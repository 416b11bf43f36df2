//! Where things are in windows of many sizes, read from what is laid out.

mod fits;
mod labels;
mod words;

use std::sync::Arc;

use egui::epaint::Shape;
use egui::{Event, Pos2, RawInput, Rect, Vec2, vec2};
use trantor_client::{ClientStats, SceneTeam};
use trantor_model::AgentId;
use trantor_time::{RealSpan, RealTime};

use super::*;
use crate::demo::{Demo, DemoScene};
use crate::hud::figures::Figures;
use crate::input::Bindings;
use crate::intent::Selection;
use crate::source::Repeat;
use trantor_render::picture::CameraPose;
use trantor_render::picture::camera::View;
use trantor_render::picture::compose::Places;
use trantor_render::picture::ground::GroundPaint;
use trantor_render::picture::torus::TorusWindow;

/// Windows in use, and some that are hardly of use.
const SIZES: [(f32, f32); 9] = [
    (1920.0, 1080.0),
    (1280.0, 720.0),
    (1000.0, 560.0),
    (900.0, 400.0),
    (800.0, 500.0),
    (640.0, 360.0),
    (560.0, 400.0),
    (480.0, 900.0),
    (320.0, 480.0),
];

/// Panels that are given a scene frame after frame.
struct Bench {
    hud: Hud,
    scene: Scene,
    figures: Figures,
    stats: Option<ClientStats>,
    selection: Selection,
    paint_mode: PaintMode,
    theme: Theme,
    size: Vec2,
    pointer: Option<Pos2>,
    context: egui::Context,
    frames: i64,
    words: Vec<Words>,
    /// What the pointer does next, one thing a frame.
    gestures: Vec<Event>,
    intents: Vec<Intent>,
}

/// Words as laid out.
#[derive(Clone, Debug)]
struct Words {
    text: String,
    rect: Rect,
    /// Beyond which nothing of them is seen.
    clip: Rect,
}

impl Words {
    fn is_whole(&self) -> bool {
        // A hair is lost to nobody.
        self.clip.expand(1.0).contains_rect(self.rect)
    }
}

impl Bench {
    fn new(which: DemoScene, (width, height): (f32, f32)) -> Self {
        let mut scene = Scene::default();
        Demo::new(which).scene(320.0, &mut scene);
        Self {
            hud: Hud::new(false),
            scene,
            figures: Figures::default(),
            stats: None,
            selection: Selection::None,
            paint_mode: PaintMode::Mixture,
            theme: Theme::Dark,
            size: vec2(width, height),
            pointer: None,
            context: egui::Context::default(),
            frames: 0,
            words: Vec::new(),
            gestures: Vec::new(),
            intents: Vec::new(),
        }
    }

    /// The same with teams of long names, who have much.
    fn with_teams(which: DemoScene, size: (f32, f32), count: usize) -> Self {
        let mut bench = Self::new(which, size);
        bench.scene.teams = (0..count)
            .map(|team| SceneTeam {
                name: Arc::from(format!("Team{team}OfAVeryLongNameThatIsCutSomewhere")),
                agents: 2_500,
                by_level: [4, 0, 0, 0, 0, 0, 0, 850],
                eggs: 20,
                carried: [17_498; 7],
            })
            .collect();
        bench
    }

    fn view(&self) -> Option<(View, TorusWindow)> {
        let size = self.scene.ground.as_ref()?.size;
        let sides = glam::Vec2::new(f32::from(size.width()), f32::from(size.height()));
        let pose = CameraPose::overview(
            sides,
            self.size.x / self.size.y,
            (glam::Vec2::ZERO, glam::Vec2::ONE),
        );
        let view = pose.view(self.size.x as u32, self.size.y as u32);
        Some((view, TorusWindow::whole(size)))
    }

    /// Lays out some frames; what glides has settled then.
    fn run(&mut self) {
        let bindings = Bindings::default();
        let mut paint = GroundPaint::default();
        if let Some(ground) = &self.scene.ground {
            paint.update(ground, self.paint_mode);
        }
        let view = self.view();
        let mut places = Places::default();
        places.gather(&self.scene);
        for _ in 0..6 {
            self.frames += 1;
            self.hud.sample(&self.scene);
            self.scene.clock.game += trantor_time::GameSpan::from_units(20);
            let input = HudInput {
                now: RealTime::ZERO + RealSpan::from_millis(16 * self.frames),
                scene: &self.scene,
                stats: self.stats.as_ref(),
                source: "a-server-with-quite-a-long-name.example.org:4242",
                recording: None,
                repeat: Repeat::default(),
                frames: FrameFigures::default(),
                volume: None,
                figures: &self.figures,
                selection: self.selection,
                waiting: None,
                follows: false,
                paint_mode: self.paint_mode,
                paint: &paint,
                view: view.as_ref().map(|(view, window)| (view, window)),
                places: &places,
                camera: CameraPose {
                    target: glam::Vec2::ZERO,
                    distance: 10.0,
                    yaw: 0.0,
                    pitch: 0.9,
                },
                bindings: &bindings,
                theme: self.theme,
            };
            let raw = RawInput {
                screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size)),
                time: Some(self.frames as f64 / 60.0),
                events: (self.pointer.map(Event::PointerMoved).into_iter())
                    .chain(self.gestures.pop())
                    .collect(),
                ..RawInput::default()
            };
            let hud = &mut self.hud;
            let mut output = self
                .context
                .run_ui(raw, |ui| hud.show(&ui.ctx().clone(), &input, &mut self.intents));
            output.textures_delta.clear();
            self.words.clear();
            for shape in &output.shapes {
                words_in(&shape.shape, shape.clip_rect, &mut self.words);
            }
        }
    }

    /// Lays out some frames while the pointer is pressed and let go of at a place.
    fn click(&mut self, at: Pos2) {
        self.pointer = Some(at);
        self.run();
        self.gestures = [false, true]
            .map(|pressed| Event::PointerButton {
                pos: at,
                button: egui::PointerButton::Primary,
                pressed,
                modifiers: egui::Modifiers::NONE,
            })
            .to_vec();
        self.run();
    }

    fn window(&self) -> Rect {
        Rect::from_min_size(Pos2::ZERO, self.size)
    }

    fn says(&self, text: &str) -> Option<&Words> {
        self.words
            .iter()
            .find(|words| words.text.replace('\u{2009}', " ") == text)
    }

    /// Where an area is that was laid out in the last frame.
    fn area(&self, name: &'static str) -> Rect {
        self.context
            .memory(|memory| memory.area_rect(egui::Id::unique(name)))
            .unwrap_or_else(|| panic!("there is no {name}"))
    }
}

fn words_in(shape: &Shape, clip: Rect, found: &mut Vec<Words>) {
    match shape {
        Shape::Vec(shapes) => shapes.iter().for_each(|shape| words_in(shape, clip, found)),
        Shape::Text(text) => found.push(Words {
            // What is cut is told by the last glyph.
            text: text.galley.rows.iter().map(|row| row.text()).collect(),
            rect: text.galley.rect.translate(text.pos.to_vec2()),
            clip,
        }),
        _ => {}
    }
}
