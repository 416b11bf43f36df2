//! Pictures of a server's game: the viewer's own loop in real time, on a screen in memory.

use std::time::Duration;

use anyhow::{Result, bail};
use trantor_client::{Language, LinkState};
use trantor_model::Tile;
use trantor_render::gpu::{Context, Pixels, Quality};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::wait::{Parker, Wait as _};
use trantor_time::{Clock as _, RealSpan, RealTime};
use trantor_viewer::game_loop::{GameLoop, Wake};
use trantor_viewer::offscreen::screenshot::Studio;
use trantor_viewer::source;
use trantor_viewer::state::{ViewerOptions, ViewerState};
use trantor_viewer::terminal::{TextScale, TextScene, TextView};

/// How long the world may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Watcher<'a> {
    game_loop: GameLoop<Studio<'a>, RealClock>,
    parker: Parker,
}

impl<'a> Watcher<'a> {
    /// Connects, and watches until the world is there.
    ///
    /// # Errors
    /// If there is nothing to draw with, or no server.
    pub fn connect(context: &'a Context, host: &str, port: u16, size: (u32, u32)) -> Result<Self> {
        let parker = Parker::new();
        let source = source::live(host, port, Language::Frames, None, parker.waker())?;
        let options = ViewerOptions {
            panels: true,
            ..ViewerOptions::default()
        };
        let mut state = ViewerState::new(source, options);
        // As the window chooses.
        let quality = match context.is_software() {
            true => Quality::Swift,
            false => Quality::Fine,
        };
        let screen = Studio::new(context, quality, size);
        state.detail = quality.detail();
        let clock = RealClock::new();
        let mut watcher = Self {
            game_loop: GameLoop::new(state, screen, clock),
            parker,
        };
        let mut waited = Duration::ZERO;
        while !matches!(watcher.state().scene().link, LinkState::Live) {
            if waited >= PATIENCE {
                bail!("no world came from {host}:{port}");
            }
            watcher.run(Duration::from_millis(100));
            waited += Duration::from_millis(100);
        }
        Ok(watcher)
    }

    /// What is watched, to point at things.
    pub fn state(&mut self) -> &mut ViewerState {
        &mut self.game_loop.viewer().state
    }

    pub fn now(&self) -> RealTime {
        self.game_loop.clock().now()
    }

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
        self.game_loop.viewer().screen.read()
    }

    pub fn text(&mut self, columns: u16, rows: u16) -> String {
        let (scene, feed) = self.state().scene_and_feed();
        let size = scene.ground.as_ref().map(|ground| ground.size);
        let view = TextView {
            columns,
            rows,
            scale: size.map_or(TextScale::Close, |size| TextScale::whole(size, columns, rows)),
            center: Tile { x: 0, y: 0 },
            colored: false,
            unicode: true,
            footer: "trantor-viewer --text",
        };
        let mut text = String::new();
        TextScene::default().draw(scene, &view, feed, &mut text);
        text
    }
}
