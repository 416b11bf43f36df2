//! Pictures of a server's game: the viewer's own loop in real time, on a screen in memory.

use std::time::Duration;

use anyhow::{Result, bail};
use trantor_client::{Language, LinkState};
use trantor_model::Tile;
use trantor_render::gpu::{Context, Offscreen, Pixels, Quality, Renderer};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Wait as _};
use trantor_time::{Clock as _, Rate, RealSpan, RealTime};
use trantor_viewer::game_loop::{GameLoop, Screen, Wake};
use trantor_viewer::hud::figures::Figures;
use trantor_viewer::intent::Intent;
use trantor_viewer::painter::{Laid, Painter};
use trantor_viewer::settings::Settings;
use trantor_viewer::source::Source;
use trantor_viewer::stage::{Stage, StageOptions};
use trantor_viewer::terminal::{TextScale, TextScene, TextView};

/// Frames a second that are aimed at: what most displays show.
const FRAMES_PER_SECOND: f64 = 60.0;
/// How long the world may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// A viewer that watches a server.
pub struct Watcher {
    game_loop: GameLoop<ScreenInMemory, RealClock>,
    parker: Parker,
}

struct ScreenInMemory {
    context: Context,
    target: Offscreen,
    renderer: Renderer,
    painter: Painter,
    egui: egui::Context,
    laid: Laid,
    size: (u32, u32),
}

impl Watcher {
    /// Connects, and watches until the world is there.
    ///
    /// # Errors
    /// If there is nothing to draw with, or no server.
    pub fn connect(host: &str, port: u16, size: (u32, u32)) -> Result<Self> {
        let parker = Parker::new();
        let waker = parker.waker();
        let source = Source::live(host, port, Language::Frames, None, move || waker.wake())?;
        let options = StageOptions {
            panels: true,
            ..StageOptions::default()
        };
        let mut stage = Stage::new(source, options);
        let screen = ScreenInMemory::new(size)?;
        stage.set_detail(screen.renderer.quality().detail());
        let clock = RealClock::new();
        let mut watcher = Self {
            game_loop: GameLoop::new(stage, screen, Settings::default(), clock),
            parker,
        };
        let mut waited = Duration::ZERO;
        while !matches!(watcher.stage().link(), LinkState::Live) {
            if waited >= PATIENCE {
                bail!("no world came from {host}:{port}");
            }
            watcher.run(Duration::from_millis(100));
            waited += Duration::from_millis(100);
        }
        Ok(watcher)
    }

    /// What is watched, to point at things.
    pub fn stage(&mut self) -> &mut Stage {
        &mut self.game_loop.viewer().stage
    }

    /// Now, as the loop counts.
    pub fn now(&self) -> RealTime {
        self.game_loop.clock().now()
    }

    /// Watches for so long.
    pub fn run(&mut self, how_long: Duration) {
        let end = self.now() + RealSpan::from_nanos(how_long.as_nanos() as i64);
        while self.now() < end {
            if let Wake::At(wake) = self.game_loop.turn() {
                self.parker.wait(Some(wake.min(end)));
            }
        }
    }

    /// The picture shown last.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn picture(&mut self) -> Result<Pixels> {
        let screen = &mut self.game_loop.viewer().screen;
        let mut encoder = screen.context.device.create_command_encoder(&Default::default());
        screen.target.encode_copy(&mut encoder);
        screen.context.queue.submit([encoder.finish()]);
        Ok(screen.target.read(&screen.context)?)
    }

    /// The same moment as characters.
    pub fn text(&mut self, columns: u16, rows: u16) -> String {
        let (scene, feed) = self.stage().scene_and_feed();
        let size = scene.ground.as_ref().map(|ground| ground.size);
        let view = TextView {
            columns,
            rows,
            scale: size.map_or(TextScale::Close, |size| TextScale::whole(size, columns, rows)),
            center: Tile { x: 0, y: 0 },
            colored: true,
            unicode: true,
            footer: "trantor-viewer --text",
        };
        let mut text = String::new();
        TextScene::default().draw(scene, &view, feed, &mut text);
        text
    }
}

impl ScreenInMemory {
    fn new(size: (u32, u32)) -> Result<Self> {
        let context = Context::without_window()?;
        // As the window chooses.
        let quality = if context.is_software() {
            Quality::Swift
        } else {
            Quality::Fine
        };
        Ok(Self {
            target: Offscreen::new(&context.device, Offscreen::FORMAT, size),
            renderer: Renderer::new(&context, quality, Offscreen::FORMAT, size),
            painter: Painter::new(&context, Offscreen::FORMAT),
            egui: egui::Context::default(),
            laid: Laid::empty(),
            size,
            context,
        })
    }
}

impl Screen for ScreenInMemory {
    fn display_rate(&mut self, _: RealTime) -> Rate {
        Rate::per_second(FRAMES_PER_SECOND).expect("sixty is a rate")
    }

    fn size(&self) -> ((u32, u32), f32) {
        (self.size, 1.0)
    }

    fn lay_out(&mut self, stage: &mut Stage, figures: &Figures, now: RealTime) {
        let (width, height) = (self.size.0 as f32, self.size.1 as f32);
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(
                egui::Pos2::ZERO,
                egui::vec2(width, height),
            )),
            time: Some(now.as_nanos() as f64 / 1e9),
            ..Default::default()
        };
        let output = self
            .egui
            .run_ui(input, |ui| stage.panels(&ui.ctx().clone(), figures, now));
        self.laid.textures.append(output.textures_delta);
        self.laid.primitives = self.egui.tessellate(output.shapes, output.pixels_per_point);
        self.laid.pixels_per_point = output.pixels_per_point;
    }

    fn draw(&mut self, stage: &mut Stage, _: RealTime) -> Result<bool> {
        stage.compose();
        let Context { device, queue, .. } = &self.context;
        let mut encoder = device.create_command_encoder(&Default::default());
        let view = self.target.view();
        let (list, paint) = stage.drawing();
        self.renderer.upload(device, queue, list, paint);
        self.renderer.encode(&mut encoder, list, &view);
        let onto = (&mut encoder, &view, self.size);
        self.painter.paint(&self.context, &mut self.laid, Some(onto));
        queue.submit([encoder.finish()]);
        // A window waits for its picture as well.
        device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(true)
    }

    fn host_request(&mut self, _: Intent, _: &mut Stage, _: RealTime) -> Option<String> {
        None
    }
}
