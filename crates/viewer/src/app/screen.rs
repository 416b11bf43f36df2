//! The window as the screen of a game loop: opened, drawn on, lost and opened again.

use std::io::Write as _;
use std::sync::Arc;

use trantor_time::{Rate, RealSpan, RealTime};
use winit::dpi::{LogicalSize, PhysicalPosition, PhysicalSize, Size};
use winit::event_loop::ActiveEventLoop;
use winit::window::{Fullscreen, Window, WindowId};

use super::canvas::{Canvas, Drawn};
use super::refresh::{HIDDEN_PER_SECOND, RefreshRate};
use crate::figures::Figures;
use crate::film::recording::Recording;
use crate::game_loop::Screen;
use crate::input::Action;
use crate::intent::Intent;
use crate::options::Cli;
use crate::pictures;
use crate::settings::Settings;
use crate::state::ViewerState;
use trantor_render::gpu::Quality;

/// The window, once it is open.
pub(super) struct WindowScreen {
    cli: Cli,
    pub(super) refresh: RefreshRate,
    /// `None` before the window is open, and once the device is lost.
    pub(super) canvas: Option<Canvas>,
    /// The window, kept while its canvas is replaced.
    window: Option<Arc<Window>>,
    /// Devices lost ever and in a row, and the last loss.
    losses: u64,
    losses_in_a_row: u32,
    last_loss: Option<(RealTime, String)>,
    recording: Option<Recording>,
    /// The render quality; `None` for what the graphics adapter affords.
    quality: Option<Quality>,
    /// For the next start; `None` until the user or the system set it.
    size: Option<(u32, u32)>,
    place: Option<(i32, i32)>,
    is_full: bool,
    /// Whether the control key is held.
    pub(super) has_control: bool,
    /// Where the mouse is, in pixels.
    pub(super) pointer: PhysicalPosition<f64>,
}

/// Losses of a device in a row that end the program: another one would be lost as well.
const LOSSES_IN_A_ROW_MAX: u32 = 4;
/// A device that lasted longer than this ends the row.
const SOON: RealSpan = RealSpan::from_secs(10);

impl WindowScreen {
    /// No window yet; it opens as in `settings`, which `cli` overrides.
    pub(super) fn new(cli: Cli, settings: &Settings) -> Self {
        Self {
            size: cli.size.or(settings.window),
            place: settings.place,
            is_full: settings.full_screen,
            has_control: false,
            pointer: PhysicalPosition::default(),
            quality: cli.quality.or(settings.quality),
            cli,
            refresh: RefreshRate::new(),
            canvas: None,
            window: None,
            losses: 0,
            losses_in_a_row: 0,
            last_loss: None,
            recording: None,
        }
    }

    /// Whether the mouse is on a panel, as the panels were laid out last. egui itself knows where the mouse was at that layout, and
    /// with few frames a second a press comes before the next.
    pub(super) fn is_over_panel(&self) -> bool {
        self.canvas.as_ref().is_some_and(|canvas| {
            let egui = &canvas.frame.egui;
            let at = self.pointer.to_logical::<f32>(f64::from(egui.pixels_per_point()));
            let layer = egui.layer_id_at(egui::pos2(at.x, at.y));
            layer.is_some_and(|layer| layer.order != egui::Order::Background)
        })
    }

    /// Opens the window, or replaces its canvas, if there is none.
    ///
    /// # Errors
    /// If there is nothing to draw with, or it is lost again and again.
    pub(super) fn open(
        &mut self,
        event_loop: &ActiveEventLoop,
        state: &mut ViewerState,
    ) -> anyhow::Result<()> {
        if self.canvas.is_some() {
            return Ok(());
        }
        if let Some((_, why)) = &self.last_loss
            && self.losses_in_a_row > LOSSES_IN_A_ROW_MAX
        {
            anyhow::bail!(
                "the graphics device is lost again and again: {why}. \
                 WGPU_BACKEND=gl tries the other way to it; --text shows the game in a terminal, without any."
            );
        }
        let display = || event_loop.owned_display_handle();
        let kept = self
            .window
            .clone()
            .and_then(|window| Canvas::new(window, display(), self.quality).ok());
        let canvas = match kept {
            Some(canvas) => canvas,
            None => Canvas::new(self.new_window(event_loop)?, display(), self.quality)?,
        };
        self.window = Some(Arc::clone(&canvas.window));
        // A new painter knows no textures, and gets them from new panels.
        state.hud().forget_context();
        state.drawing.paint.forget_uploads();
        follow_quality(state, canvas.quality());
        self.canvas = Some(canvas);
        state.hud().report.state("devices", self.losses + 1);
        Ok(())
    }

    fn new_window(&self, event_loop: &ActiveEventLoop) -> anyhow::Result<Arc<Window>> {
        let size = match self.size {
            Some((width, height)) => PhysicalSize::new(width, height).into(),
            None => first_size(event_loop),
        };
        let mut attributes = Window::default_attributes()
            .with_title("Trantor")
            .with_inner_size(size);
        if let Some((x, y)) = self.place.filter(|place| is_on_a_monitor(event_loop, *place)) {
            attributes = attributes.with_position(PhysicalPosition::new(x, y));
        }
        if self.is_full {
            attributes = attributes.with_fullscreen(Some(Fullscreen::Borderless(None)));
        }
        Ok(Arc::new(event_loop.create_window(attributes)?))
    }

    pub(super) fn shows_on(&self, window: WindowId) -> bool {
        self.window.as_ref().is_some_and(|shown| shown.id() == window)
    }

    pub(super) fn resize(&mut self, size: PhysicalSize<u32>) {
        if let Some(canvas) = &mut self.canvas {
            // The next frame follows it: a drag sends many sizes before that.
            (canvas.is_stale, canvas.is_shown) = (true, false);
        }
        if size.width > 0 && size.height > 0 && !self.is_full {
            self.size = Some((size.width, size.height));
        }
    }

    /// Whether drawing can be skipped: the window is hidden, and no recording needs its pictures.
    fn is_unseen(&self) -> bool {
        self.refresh.is_hidden() && self.recording.is_none()
    }

    pub(super) fn moved(&mut self, place: PhysicalPosition<i32>) {
        if !self.is_full {
            self.place = Some((place.x, place.y));
        }
    }

    /// Writes the window's place and size into the settings. A size of the command line is for this session, unless the user
    /// has changed it since.
    pub(super) fn remember(&self, settings: &mut Settings) {
        if self.size.is_some() && self.cli.size != self.size {
            settings.window = self.size;
        }
        settings.place = self.place;
        settings.full_screen = self.is_full;
    }

    fn toggle_full_screen(&mut self) {
        let Some(canvas) = &self.canvas else { return };
        self.is_full = !self.is_full;
        let wanted = self.is_full.then_some(Fullscreen::Borderless(None));
        canvas.window.set_fullscreen(wanted);
    }

    /// Draws with another quality from the next frame on; answers what the user should read.
    fn set_quality(&mut self, quality: Option<Quality>, state: &mut ViewerState) -> Option<String> {
        self.quality = quality;
        let canvas = self.canvas.as_mut()?;
        let quality = canvas.set_quality(quality);
        // The new renderer has none of the uploads of the last one.
        state.drawing.paint.forget_uploads();
        canvas.is_shown = false;
        follow_quality(state, quality);
        Some(format!("render quality: {}", quality.name()))
    }

    fn take_picture(&mut self, state: &mut ViewerState) -> Option<String> {
        let canvas = self.canvas.as_mut()?;
        let file = match pictures::new_file(state.scene(), "png") {
            Ok(file) => file,
            Err(error) => return Some(format!("cannot save the picture: {error}")),
        };
        let saved = canvas.picture(state).and_then(|pixels| pixels.write_png(&file));
        Some(match saved {
            Ok(()) => format!("saved as {}", file.display()),
            Err(error) => format!("cannot save {}: {error}", file.display()),
        })
    }

    /// Records the picture just drawn, if one is due.
    fn record(&mut self, state: &mut ViewerState, now: RealTime) {
        if let (Some(canvas), Some(recording)) = (&mut self.canvas, &mut self.recording)
            && recording.is_due(now)
        {
            match canvas.picture(state) {
                Ok(pixels) => recording.add(pixels, now),
                Err(error) => log::warn!("a picture could not be recorded: {error}"),
            }
        }
    }

    /// Answers the message of a recording that has been written.
    fn poll_recording(&mut self, now: RealTime) -> Option<String> {
        let said = self.recording.as_mut()?.poll_end(now)?;
        self.recording = None;
        Some(said)
    }
}

impl Screen for WindowScreen {
    fn display_rate(&mut self, now: RealTime) -> Rate {
        let window = self.canvas.as_ref().map(|canvas| &*canvas.window);
        let rate = self.refresh.follow(window, now);
        match self.is_unseen() {
            true => Rate::per_second(HIDDEN_PER_SECOND).expect("it is a rate"),
            false => rate,
        }
    }

    fn size(&self) -> ((u32, u32), f32) {
        let Some(Canvas { window, .. }) = &self.canvas else {
            return ((1, 1), 1.0);
        };
        (window.inner_size().into(), window.scale_factor() as f32)
    }

    fn lay_out(&mut self, state: &mut ViewerState, figures: &Figures, now: RealTime) {
        let is_unseen = self.is_unseen();
        if let Some(canvas) = self.canvas.as_mut().filter(|_| !is_unseen) {
            canvas.lay_out(state, figures, now);
        }
        print_report(state);
    }

    fn draw(&mut self, state: &mut ViewerState, now: RealTime) -> anyhow::Result<bool> {
        if let Some(said) = self.poll_recording(now) {
            state.notice(said);
        }
        let is_unseen = self.is_unseen();
        let Some(canvas) = &mut self.canvas else {
            return Ok(false);
        };
        if is_unseen {
            canvas.is_shown = false;
            state.hud().report.state("drawn", false);
            return Ok(false);
        }
        state.compose();
        let is_resting = canvas.rests(state.drawing.is_as_before());
        let drawn = match is_resting {
            true => Drawn::Shown,
            false => canvas.draw(state),
        };
        canvas.is_shown |= drawn == Drawn::Shown;
        let report = &mut state.hud().report;
        report.state("resting", is_resting);
        report.state("surface-recoveries", canvas.state.recoveries());
        report.state("drawn", drawn == Drawn::Shown);
        match drawn {
            Drawn::Shown => self.record(state, now),
            Drawn::Unseen => {}
            Drawn::Lost => {
                let why = canvas.context.lost().unwrap_or("the window's surface is gone");
                log::error!("the graphics device was lost, a new one is asked for: {why}");
                let why = why.to_owned();
                self.canvas = None;
                let last = self.last_loss.replace((now, why));
                let is_soon = last.is_some_and(|(at, _)| now.since(at) < SOON);
                self.losses_in_a_row = if is_soon { self.losses_in_a_row + 1 } else { 1 };
                self.losses += 1;
                state.notice("The graphics device was lost; all is drawn anew".to_owned());
            }
        }
        Ok(drawn == Drawn::Shown)
    }

    fn host_request(&mut self, what: Intent, state: &mut ViewerState, now: RealTime) -> Option<String> {
        match what {
            Intent::Do(Action::FullScreen) => {
                self.toggle_full_screen();
                None
            }
            Intent::Do(Action::Screenshot) => self.take_picture(state),
            Intent::Record(take) => Some(match &mut self.recording {
                Some(recording) => {
                    recording.stop();
                    format!("{} is being written", recording.target().display())
                }
                None => match pictures::new_film(state.scene())
                    .and_then(|file| Recording::start(file, take, self.cli.film.bytes_max(), now))
                {
                    Ok(recording) => {
                        let said = format!("recording into {}", recording.target().display());
                        self.recording = Some(recording);
                        said
                    }
                    Err(error) => format!("cannot record: {error}"),
                },
            }),
            Intent::Quality(quality) => self.set_quality(quality, state),
            Intent::Gpu(fault) => {
                if let Some(canvas) = &mut self.canvas {
                    canvas.inject(fault);
                }
                None
            }
            // The loop's own.
            _ => None,
        }
    }
}

/// The size of a first window: so many points, as panels are measured in, but no larger than a monitor shows. A desktop
/// with panels makes room for them itself.
fn first_size(event_loop: &ActiveEventLoop) -> Size {
    let monitor = event_loop.primary_monitor();
    let monitor = monitor.or_else(|| event_loop.available_monitors().next());
    let (mut width, mut height) = (f64::from(Cli::SIZE.0), f64::from(Cli::SIZE.1));
    if let Some(monitor) = monitor {
        let room: LogicalSize<f64> = monitor.size().to_logical(monitor.scale_factor());
        (width, height) = (width.min(room.width), height.min(room.height));
    }
    LogicalSize::new(width, height).into()
}

/// A place that was remembered may be on a monitor that is gone.
fn is_on_a_monitor(event_loop: &ActiveEventLoop, (x, y): (i32, i32)) -> bool {
    event_loop.available_monitors().any(|monitor| {
        let (from, size) = (monitor.position(), monitor.size());
        let (width, height) = (size.width as i32, size.height as i32);
        (from.x..from.x.saturating_add(width)).contains(&x)
            && (from.y..from.y.saturating_add(height)).contains(&y)
    })
}

/// Draws as much detail as `quality` affords.
fn follow_quality(state: &mut ViewerState, quality: Quality) {
    state.drawing.detail = quality.detail();
    state.hud().report.state("quality", quality.name());
}

fn print_report(state: &mut ViewerState) {
    let mut out = std::io::stdout().lock();
    for line in state.hud().report.take_lines() {
        // A reader that is gone does not end the viewer.
        let _ = writeln!(out, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn a_size_asked_for_is_for_this_once_and_one_dragged_is_kept() {
        let mut settings = Settings {
            window: Some((800, 600)),
            ..Settings::default()
        };
        let cli = Cli::parse_from(["trantor-viewer", "--size", "160x100"]);
        let mut screen = WindowScreen::new(cli, &settings);
        assert_eq!(screen.size, Some((160, 100)));
        screen.remember(&mut settings);
        assert_eq!(settings.window, Some((800, 600)));
        screen.resize(PhysicalSize::new(640, 480));
        screen.remember(&mut settings);
        assert_eq!(settings.window, Some((640, 480)));
    }
}
