//! The window's surface, the device that draws on it and the panels over it: made, resized, lost; a frame onto it.

use std::sync::Arc;

use anyhow::Context as _;
use egui::{Event, Key};
use trantor_time::RealTime;
use wgpu::{PresentMode, Surface, SurfaceConfiguration, TextureFormat};
use winit::dpi::PhysicalSize;
use winit::event_loop::OwnedDisplayHandle;
use winit::window::Window;

use crate::figures::Figures;
use crate::painter::FramePainter;
use crate::state::ViewerState;
use trantor_render::gpu::surface::{Fault, Recovery, Status, SurfaceState};
use trantor_render::gpu::{Context, ContextError, Pixels, Quality};

/// Frames that are drawn though the world looks the same since: what is kept from frame to frame follows it later. The
/// crowd of a large map is made over two times 15 frames, and a background that is kept waits up to 12 for it.
const FOLLOWS_WITHIN_FRAMES: u32 = 48;

/// What draws one window on one device.
pub(super) struct Canvas {
    pub(super) window: Arc<Window>,
    pub(super) context: Context,
    surface: Surface<'static>,
    config: SurfaceConfiguration,
    pub(super) frame: FramePainter,
    pub(super) input: egui_winit::State,
    /// Whether the surface has to be set up again before it is drawn on.
    pub(super) is_stale: bool,
    pub(super) state: SurfaceState,
    injected: Option<Status>,
    /// Frames in a row in which the world looks the same.
    same_frames: u32,
    /// Whether the window shows the last picture; not once panels have changed, or it was covered.
    pub(super) is_shown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    Shown,
    /// Not seen: the window is hidden, or without area, or about to change.
    Unseen,
    /// The surface or its device is gone; the canvas has to be made again.
    Lost,
}

impl Canvas {
    pub(super) fn new(
        window: Arc<Window>,
        display: OwnedDisplayHandle,
        quality: Option<Quality>,
    ) -> anyhow::Result<Self> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_with_display_handle_from_env(
            Box::new(display),
        ));
        let surface =
            instance
                .create_surface(Arc::clone(&window))
                .map_err(|error| ContextError::NoAdapter {
                    reason: error.to_string(),
                })?;
        let context = Context::with(instance, Some(&surface))?;
        let size = window.inner_size();
        let capabilities = surface.get_capabilities(&context.adapter);
        let format = capabilities
            .formats
            .iter()
            .copied()
            .find(|format| matches!(format, TextureFormat::Bgra8Unorm | TextureFormat::Rgba8Unorm))
            .context("the window takes neither of the two formats that every display has")?;
        let config = SurfaceConfiguration {
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            present_mode: present_mode(&capabilities.present_modes),
            ..surface
                .get_default_config(&context.adapter, size.width.max(1), size.height.max(1))
                .context("the window cannot be drawn on by this graphics adapter")?
        };
        let quality = quality_on(&context, quality);
        let frame = FramePainter::new(&context, quality, format, (config.width, config.height));
        let texture_side_max = context.device.limits().max_texture_dimension_2d as usize;
        let input = egui_winit::State::new(
            frame.egui.clone(),
            egui::ViewportId::ROOT,
            &window,
            Some(window.scale_factor() as f32),
            None,
            Some(texture_side_max),
        );
        let mut canvas = Self {
            window,
            context,
            surface,
            config,
            frame,
            input,
            is_stale: true,
            state: SurfaceState::default(),
            injected: None,
            same_frames: 0,
            is_shown: false,
        };
        canvas.set_up(size);
        Ok(canvas)
    }

    pub(super) fn quality(&self) -> Quality {
        self.frame.renderer.quality()
    }

    /// Draws with another quality from now on; answers which one.
    pub(super) fn set_quality(&mut self, quality: Option<Quality>) -> Quality {
        let quality = quality_on(&self.context, quality);
        self.frame.set_quality(&self.context, quality, self.size());
        quality
    }

    pub(super) fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::DeviceLost => self.context.lose(),
            Fault::Surface(status) => self.injected = Some(status),
        }
    }

    /// A frame is due; `is_same` if its world looks as that of the frame before. Returns whether the window can be left as
    /// it is: most of the cost of a frame of a paused game is drawing the same picture again.
    pub(super) fn rests(&mut self, is_same: bool) -> bool {
        self.same_frames = if is_same {
            self.same_frames.saturating_add(1)
        } else {
            0
        };
        let is_sound = self.context.lost().is_none() && !self.is_stale && self.injected.is_none();
        self.is_shown && self.same_frames > FOLLOWS_WITHIN_FRAMES && is_sound
    }

    pub(super) fn lay_out(&mut self, state: &mut ViewerState, figures: &Figures, now: RealTime) {
        let mut input = self.input.take_egui_input(&self.window);
        if !self.frame.egui.egui_wants_keyboard_input() {
            // Unless a field is edited, Tab selects the next agent; egui would move the keyboard focus.
            let is_tab = |event: &Event| matches!(event, Event::Key { key: Key::Tab, .. });
            input.events.retain(|event| !is_tab(event));
        }
        let egui = &self.frame.egui;
        let mut output = egui.run_ui(input, |ui| state.panels(&ui.ctx().clone(), figures, now));
        let for_platform = std::mem::take(&mut output.platform_output);
        self.input.handle_platform_output(&self.window, for_platform);
        self.is_shown &= !self.frame.lay(output);
    }

    /// Sets the surface and what is drawn on up for a window of that size. Nothing is drawn on one without area.
    fn set_up(&mut self, size: PhysicalSize<u32>) {
        let most = self.context.device.limits().max_texture_dimension_2d;
        self.config.width = size.width.min(most);
        self.config.height = size.height.min(most);
        self.is_stale = !self.has_area();
        if self.has_area() {
            self.surface.configure(&self.context.device, &self.config);
            let size = self.size();
            self.frame.renderer.resize(&self.context.device, size);
        }
    }

    fn size(&self) -> (u32, u32) {
        (self.config.width, self.config.height)
    }

    fn has_area(&self) -> bool {
        self.config.width > 0 && self.config.height > 0
    }

    /// Draws what was composed, and the panels over it.
    pub(super) fn draw(&mut self, state: &mut ViewerState) -> Drawn {
        if let Some(why) = self.context.lost() {
            log::warn!("the graphics device is lost: {why}");
            return Drawn::Lost;
        }
        if self.is_stale {
            self.set_up(self.window.inner_size());
        }
        let (status, frame) = match self.injected.take() {
            Some(status) => (status, None),
            None if self.has_area() => Status::of(self.surface.get_current_texture()),
            None => (Status::None, None),
        };
        let drawn = match frame {
            Some(frame) => {
                let view = frame.texture.create_view(&Default::default());
                let size = self.size();
                let encoder = self.frame.encode(&self.context, state, &view, size);
                self.context.queue.submit([encoder.finish()]);
                self.window.pre_present_notify();
                self.context.queue.present(frame);
                Drawn::Shown
            }
            None => {
                self.frame.skip(&self.context);
                Drawn::Unseen
            }
        };
        match self.state.follow(status, self.size()) {
            Recovery::None => drawn,
            Recovery::Reconfigure => {
                self.is_stale = true;
                drawn
            }
            Recovery::Recreate => self.recreate_surface(),
            Recovery::GiveUp => {
                log::error!("the window's surface gives no picture: {status:?}");
                Drawn::Lost
            }
        }
    }

    fn recreate_surface(&mut self) -> Drawn {
        log::warn!("the window's surface was lost");
        match self.context.instance.create_surface(Arc::clone(&self.window)) {
            Ok(surface) => {
                self.surface = surface;
                self.is_stale = true;
                Drawn::Unseen
            }
            Err(error) => {
                log::error!("and cannot be made again on this device: {error}");
                Drawn::Lost
            }
        }
    }

    /// Draws the same picture into memory.
    pub(super) fn picture(&mut self, state: &mut ViewerState) -> std::io::Result<Pixels> {
        let size = self.size();
        self.frame.picture(&self.context, state, size)
    }
}

/// The quality chosen, or what the graphics adapter affords.
fn quality_on(context: &Context, choice: Option<Quality>) -> Quality {
    choice.unwrap_or(match context.is_software() {
        true => Quality::Swift,
        false => Quality::Fine,
    })
}

/// The loop paces frames itself, so that the surface shall neither wait for the display nor tear: a mailbox, where
/// there is one.
fn present_mode(offered: &[PresentMode]) -> PresentMode {
    if offered.contains(&PresentMode::Mailbox) {
        PresentMode::Mailbox
    } else {
        PresentMode::Fifo
    }
}
