//! What winit tells, and what is done about it.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use trantor_runtime::frames::{FramePacer, target_rate};
use trantor_runtime::real_clock::{RealClock, date_for_records};
use trantor_runtime::wait::WakeGate;
use trantor_time::{Clock as _, RealSpan, RealTime};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{ElementState, KeyEvent, StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow};
use winit::window::{Fullscreen, Window, WindowId};

use super::Roused;
use super::pointer::Pointer;
use super::refresh::RefreshRate;
use super::window::{Canvas, Drawn};
use crate::gpu::painter::Laid;
use crate::hud::FrameFigures;
use crate::input::Action;
use crate::options::Cli;
use crate::settings::Settings;
use crate::stage::{Outside, Stage};

/// Pieces from the network taken before window events are looked at again.
const PIECES_PER_TURN: u32 = 16;

/// The program with a window.
pub(super) struct App {
    cli: Cli,
    settings: Settings,
    clock: RealClock,
    gate: WakeGate,
    stage: Stage,
    pacer: FramePacer,
    refresh: RefreshRate,
    pointer: Pointer,
    egui: egui::Context,
    window: Option<Open>,
    figures: FrameFigures,
    failure: Option<anyhow::Error>,
}

/// What there is while there is a window.
struct Open {
    canvas: Canvas,
    input: egui_winit::State,
}

impl App {
    pub(super) fn new(cli: &Cli, settings: Settings, stage: Stage, gate: WakeGate) -> Self {
        let clock = RealClock::new();
        Self {
            cli: cli.clone(),
            settings,
            clock,
            gate,
            stage,
            pacer: FramePacer::new(target_rate([]), clock.now()),
            refresh: RefreshRate::new(),
            pointer: Pointer::default(),
            egui: egui::Context::default(),
            window: None,
            figures: FrameFigures::default(),
            failure: None,
        }
    }

    /// Says goodbye and remembers; answers what went wrong, if something did.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        self.stage.source().leave();
        self.settings.theme = Some(self.stage.theme());
        self.settings.save();
        self.failure.map_or(Ok(()), Err)
    }

    fn open_or_end(&mut self, event_loop: &ActiveEventLoop) {
        match self.open(event_loop) {
            Ok(open) => self.window = Some(open),
            Err(error) => {
                self.failure.get_or_insert(error);
                event_loop.exit();
            }
        }
    }

    fn open(&mut self, event_loop: &ActiveEventLoop) -> anyhow::Result<Open> {
        let (width, height) = self.cli.size.or(self.settings.window).unwrap_or(Cli::SIZE);
        let attributes = Window::default_attributes()
            .with_title("Trantor")
            .with_inner_size(PhysicalSize::new(width, height));
        let window = Arc::new(event_loop.create_window(attributes)?);
        let display = event_loop.owned_display_handle();
        let canvas = Canvas::new(Arc::clone(&window), display, self.cli.quality)?;
        self.stage.set_detail(canvas.quality().detail());
        let input = egui_winit::State::new(
            self.egui.clone(),
            egui::ViewportId::ROOT,
            &window,
            Some(window.scale_factor() as f32),
            None,
            Some(canvas.texture_side_max()),
        );
        Ok(Open { canvas, input })
    }

    /// Handles an event of the window; the panels have seen it before, and may have used it.
    fn handle(&mut self, event_loop: &ActiveEventLoop, event: WindowEvent, used: bool, now: RealTime) {
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Resized(size) => {
                if let Some(open) = &mut self.window {
                    open.canvas.resize(size);
                }
                if size.width > 0 && size.height > 0 {
                    self.settings.window = Some((size.width, size.height));
                }
            }
            WindowEvent::KeyboardInput { event, .. } => self.key(&event, now),
            WindowEvent::Focused(false) => self.stage.release_all(),
            WindowEvent::CursorMoved { position, .. } => {
                let over = self.egui.is_pointer_over_egui();
                self.pointer.moved(position, over, &mut self.stage);
            }
            WindowEvent::CursorLeft { .. } => self.stage.hover(None),
            WindowEvent::MouseInput { state, button, .. } => {
                self.pointer.button(button, state, used, &mut self.stage);
            }
            WindowEvent::MouseWheel { delta, .. } if !used => self.pointer.wheel(delta, &mut self.stage),
            WindowEvent::PinchGesture { delta, .. } => self.pointer.pinch(delta, &mut self.stage),
            _ => {}
        }
    }

    fn key(&mut self, event: &KeyEvent, now: RealTime) {
        let Some(action) = self.stage.bindings().action(&event.logical_key) else {
            return;
        };
        let pressed = event.state == ElementState::Pressed;
        // While somebody types, keys are letters; only the way out stays.
        if pressed && self.egui.egui_wants_keyboard_input() && action != Action::Clear {
            return;
        }
        self.stage.hold(action, pressed);
        if pressed && (!event.repeat || action.repeats()) {
            self.stage.act(action, now);
        }
    }

    /// Draws a frame: update, lists, panels, picture.
    fn frame(&mut self, event_loop: &ActiveEventLoop) {
        let Some(open) = &mut self.window else { return };
        let start = self.clock.now();
        let frame = self.pacer.begin_frame(start);
        if let Some(rate) = self.refresh.follow(&open.canvas.window, start) {
            self.pacer.set_target(rate);
        }
        let size = open.canvas.window.inner_size();
        let scale = egui_winit::pixels_per_point(&self.egui, &open.canvas.window);
        let points = egui::vec2(size.width as f32, size.height as f32) / scale;
        self.stage.resize((size.width, size.height), points);
        self.stage
            .update(frame.update.map(|update| update.elapsed), frame.start);
        let updated = self.clock.now();
        self.stage.compose();
        let composed = self.clock.now();
        let laid = lay_out(&self.egui, open, &mut self.stage, self.figures, frame.start);
        let laid_out = self.clock.now();
        let drawn = open.canvas.draw(&mut self.stage, laid);
        let end = self.clock.now();
        self.pacer.end_frame(end);
        self.count(start, [updated, composed, laid_out, end]);
        self.print_report();
        if drawn == Drawn::Lost {
            self.window = None;
            self.open_or_end(event_loop);
        }
        while let Some(outside) = self.stage.poll_outside() {
            self.outside(outside, frame.start);
        }
    }

    fn count(&mut self, start: RealTime, ends: [RealTime; 4]) {
        let mut from = start;
        let stages_ms = ends.map(|end| {
            let took = end.since(from).as_millis_f64();
            from = end;
            took
        });
        let target = self.pacer.target().as_per_second();
        let stats = self.pacer.stats();
        self.figures = FrameFigures {
            per_second: stats.frames_per_second(ends[3]),
            target,
            p50_ms: stats.frame_time(0.5).as_millis_f64(),
            p99_ms: stats.frame_time(0.99).as_millis_f64(),
            max_ms: stats.frame_time_max().as_millis_f64(),
            last_ms: ends[3].since(start).as_millis_f64(),
            stages_ms,
            instances: self.stage.instances(),
        };
    }

    /// Prints what tests want to know.
    fn print_report(&mut self) {
        let mut out = std::io::stdout().lock();
        for line in self.stage.hud().report.take_lines() {
            // A reader that is gone does not end the viewer.
            let _ = writeln!(out, "{line}");
        }
    }

    fn outside(&mut self, outside: Outside, now: RealTime) {
        let Some(open) = &mut self.window else { return };
        match outside {
            Outside::FullScreen => {
                let window = &open.canvas.window;
                let wanted = window
                    .fullscreen()
                    .is_none()
                    .then_some(Fullscreen::Borderless(None));
                window.set_fullscreen(wanted);
            }
            Outside::Screenshot => {
                let laid = lay_out(&self.egui, open, &mut self.stage, self.figures, now);
                let file = picture_path();
                let saved = open
                    .canvas
                    .picture(&mut self.stage, laid)
                    .and_then(|pixels| pixels.write_png(&file));
                let said = match saved {
                    Ok(()) => format!("saved as {}", file.display()),
                    Err(error) => format!("cannot save {}: {error}", file.display()),
                };
                self.stage.hud().notice(said, now);
            }
        }
    }

    /// Takes what the network brought, yielding to frames, and to the window after a while.
    fn take_network(&mut self, event_loop: &ActiveEventLoop) {
        for _ in 0..PIECES_PER_TURN {
            let started = self.clock.now();
            if !self.stage.source().take_network(started) {
                return;
            }
            self.after_event(event_loop, started);
        }
    }

    /// Counts an event's time, and draws if a frame is due though events may wait.
    fn after_event(&mut self, event_loop: &ActiveEventLoop, started: RealTime) {
        let now = self.clock.now();
        self.pacer.event_handled(started, now);
        if self.pacer.frame_due(now) {
            self.frame(event_loop);
        }
    }
}

fn lay_out(
    context: &egui::Context,
    open: &mut Open,
    stage: &mut Stage,
    figures: FrameFigures,
    now: RealTime,
) -> Laid {
    let window = &open.canvas.window;
    let input = open.input.take_egui_input(window);
    let output = context.run_ui(input, |ui| stage.panels(&ui.ctx().clone(), figures, now));
    open.input.handle_platform_output(window, output.platform_output);
    Laid {
        textures: output.textures_delta,
        primitives: context.tessellate(output.shapes, output.pixels_per_point),
        pixels_per_point: output.pixels_per_point,
    }
}

/// A new file for a picture, in the folder that the program was started in.
fn picture_path() -> PathBuf {
    PathBuf::from(format!("trantor-{}.png", date_for_records().as_millis()))
}

impl ApplicationHandler<Roused> for App {
    fn new_events(&mut self, _event_loop: &ActiveEventLoop, _cause: StartCause) {
        self.gate.rise();
    }

    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.window.is_none() {
            self.open_or_end(event_loop);
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _window: WindowId, event: WindowEvent) {
        let Some(open) = &mut self.window else { return };
        let started = self.clock.now();
        let response = open.input.on_window_event(&open.canvas.window, &event);
        self.handle(event_loop, event, response.consumed, started);
        self.after_event(event_loop, started);
    }

    fn user_event(&mut self, _event_loop: &ActiveEventLoop, _roused: Roused) {
        // What came is found before the next sleep; see `about_to_wait`.
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        self.take_network(event_loop);
        let now = self.clock.now();
        self.stage.source().tend(now);
        if self.window.is_none() {
            // Without a window there is nothing to pace; the platform gives one when it can.
            event_loop.set_control_flow(ControlFlow::Wait);
            return;
        }
        if self.pacer.frame_due_when_quiet(now) {
            self.frame(event_loop);
        }
        self.pacer.flushed();
        let now = self.clock.now();
        let frame = self.pacer.next_wake(now);
        let wake = self
            .stage
            .source()
            .next_timeout()
            .map_or(frame, |timeout| timeout.min(frame));
        let sleeps = !self.stage.source().has_network() && wake > now && self.gate.lie_down();
        event_loop.set_control_flow(if sleeps {
            ControlFlow::wait_duration(RealSpan::to_std(wake - now))
        } else {
            ControlFlow::Poll
        });
    }
}
