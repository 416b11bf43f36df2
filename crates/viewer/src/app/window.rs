//! The window's surface and the device that draws on it: made, resized, lost; a frame onto it.

use std::sync::Arc;

use anyhow::Context as _;
use wgpu::{PresentMode, Surface, SurfaceConfiguration, TextureFormat, TextureView};
use winit::dpi::PhysicalSize;
use winit::event_loop::OwnedDisplayHandle;
use winit::window::Window;

use crate::painter::{Laid, Painter};
use crate::state::ViewerState;
use trantor_render::gpu::surface::{Fault, Recovery, Status, SurfaceState};
use trantor_render::gpu::{Context, ContextError, Offscreen, Pixels, Quality, Renderer};

#[derive(Debug)]
pub(super) struct Canvas {
    pub(super) window: Arc<Window>,
    context: Context,
    surface: Surface<'static>,
    config: SurfaceConfiguration,
    renderer: Renderer,
    painter: Painter,
    /// Whether the surface has to be set up again before it is drawn on.
    stale: bool,
    state: SurfaceState,
    injected: Option<Status>,
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
        let renderer = Renderer::new(&context, quality, format, (config.width, config.height));
        let painter = Painter::new(&context, format);
        let mut canvas = Self {
            window,
            context,
            surface,
            config,
            renderer,
            painter,
            stale: true,
            state: SurfaceState::default(),
            injected: None,
        };
        canvas.set_up(size);
        Ok(canvas)
    }

    pub(super) fn quality(&self) -> Quality {
        self.renderer.quality()
    }

    /// Draws with another quality from now on; answers which one.
    pub(super) fn set_quality(&mut self, quality: Option<Quality>) -> Quality {
        let quality = quality_on(&self.context, quality);
        if quality != self.quality() {
            let size = (self.config.width, self.config.height);
            self.renderer = Renderer::new(&self.context, quality, self.config.format, size);
        }
        quality
    }

    /// Why the device cannot be drawn with any more; `None` while it can.
    pub(super) fn lost(&self) -> Option<&str> {
        self.context.lost()
    }

    pub(super) fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::DeviceLost => self.context.lose(),
            Fault::Surface(status) => self.injected = Some(status),
        }
    }

    pub(super) fn surface_recoveries(&self) -> u64 {
        self.state.recoveries()
    }

    /// The longest side of a texture that the adapter takes.
    pub(super) fn texture_side_max(&self) -> usize {
        self.context.device.limits().max_texture_dimension_2d as usize
    }

    /// Whether nothing is known that would have to be done about the device or the surface.
    pub(super) fn is_sound(&self) -> bool {
        self.context.lost().is_none() && !self.stale && self.injected.is_none()
    }

    /// The window has another size: the next frame follows it. A drag sends many sizes before that.
    pub(super) fn resized(&mut self) {
        self.stale = true;
    }

    /// Sets the surface and what is drawn on up for a window of that size. Nothing is drawn on one without area.
    fn set_up(&mut self, size: PhysicalSize<u32>) {
        let most = self.context.device.limits().max_texture_dimension_2d;
        self.config.width = size.width.min(most);
        self.config.height = size.height.min(most);
        self.stale = !self.has_area();
        if self.has_area() {
            self.surface.configure(&self.context.device, &self.config);
            self.renderer
                .resize(&self.context.device, (self.config.width, self.config.height));
        }
    }

    fn has_area(&self) -> bool {
        self.config.width > 0 && self.config.height > 0
    }

    /// Draws what was composed, and the panels over it.
    pub(super) fn draw(&mut self, state: &mut ViewerState, laid: &mut Laid) -> Drawn {
        if let Some(why) = self.context.lost() {
            log::warn!("the graphics device is lost: {why}");
            return Drawn::Lost;
        }
        if self.stale {
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
                let encoder = self.encode(state, laid, &view);
                self.context.queue.submit([encoder.finish()]);
                self.window.pre_present_notify();
                self.context.queue.present(frame);
                Drawn::Shown
            }
            None => {
                // What changed in the panels' textures is taken over all the same.
                self.painter.paint(&self.context, laid, None);
                Drawn::Unseen
            }
        };
        match self.state.follow(status, (self.config.width, self.config.height)) {
            Recovery::None => drawn,
            Recovery::Reconfigure => {
                self.stale = true;
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
                self.stale = true;
                Drawn::Unseen
            }
            Err(error) => {
                log::error!("and cannot be made again on this device: {error}");
                Drawn::Lost
            }
        }
    }

    /// Draws the same picture into memory.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn picture(&mut self, state: &mut ViewerState, laid: &mut Laid) -> std::io::Result<Pixels> {
        let size = (self.config.width, self.config.height);
        let target = Offscreen::new(&self.context.device, self.config.format, size);
        let mut encoder = self.encode(state, laid, &target.view());
        target.encode_copy(&mut encoder);
        self.context.queue.submit([encoder.finish()]);
        target.read(&self.context)
    }

    fn encode(
        &mut self,
        state: &mut ViewerState,
        laid: &mut Laid,
        view: &TextureView,
    ) -> wgpu::CommandEncoder {
        let Context { device, queue, .. } = &self.context;
        let mut encoder = device.create_command_encoder(&Default::default());
        let (list, paint) = state.drawing();
        self.renderer.upload(device, queue, list, paint);
        self.renderer.encode(&mut encoder, list, view);
        let size = (self.config.width, self.config.height);
        self.painter
            .paint(&self.context, laid, Some((&mut encoder, view, size)));
        encoder
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
