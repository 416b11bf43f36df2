//! Draws the panels over the picture.

use egui::{ClippedPrimitive, TexturesDelta};
use egui_wgpu::{RendererOptions, ScreenDescriptor};
use wgpu::{CommandEncoder, TextureFormat, TextureView};

use super::context::Context;

/// Draws what egui lays out.
pub struct Painter {
    renderer: egui_wgpu::Renderer,
}

impl std::fmt::Debug for Painter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Painter").finish_non_exhaustive()
    }
}

/// Panels, laid out and cut into triangles. They may be drawn more than once.
#[derive(Debug)]
pub struct Laid {
    /// Textures that came, changed and went. All must be applied, in order, drawn or not.
    pub textures: TexturesDelta,
    /// Triangles.
    pub primitives: Vec<ClippedPrimitive>,
    /// Pixels of a point.
    pub pixels_per_point: f32,
}

impl Laid {
    /// Nothing laid out yet.
    pub fn empty() -> Self {
        Self {
            textures: TexturesDelta::default(),
            primitives: Vec::new(),
            pixels_per_point: 1.0,
        }
    }
}

impl Drop for Laid {
    fn drop(&mut self) {
        // Whoever drops them unpainted will not paint any more, or with a new painter that is given all anew; egui
        // takes textures that nobody applied for a mistake.
        self.textures.clear();
    }
}

impl Painter {
    /// A painter for pictures of this format.
    pub fn new(context: &Context, format: TextureFormat) -> Self {
        Self {
            renderer: egui_wgpu::Renderer::new(&context.device, format, RendererOptions::PREDICTABLE),
        }
    }

    /// Takes over what changed in textures since, as has to be done for every layout, and draws on `target`, if there
    /// is one, of `size` pixels.
    #[expect(
        clippy::iter_over_hash_type,
        reason = "egui keeps changes of textures by texture; which texture is changed first cannot be seen"
    )]
    pub fn paint(
        &mut self,
        context: &Context,
        laid: &mut Laid,
        target: Option<(&mut CommandEncoder, &TextureView, (u32, u32))>,
    ) {
        let Laid {
            textures,
            primitives,
            pixels_per_point,
        } = laid;
        for (id, deltas) in textures.set.drain() {
            for delta in &deltas {
                self.renderer
                    .update_texture(&context.device, &context.queue, id, delta);
            }
        }
        if let Some((encoder, view, size)) = target {
            let screen = ScreenDescriptor {
                size_in_pixels: [size.0, size.1],
                pixels_per_point: *pixels_per_point,
            };
            let more =
                self.renderer
                    .update_buffers(&context.device, &context.queue, encoder, primitives, &screen);
            debug_assert!(more.is_empty(), "panels use no callbacks into the graphics card");
            let mut pass = encoder
                .begin_render_pass(&wgpu::RenderPassDescriptor {
                    label: Some("panels"),
                    color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                        view,
                        depth_slice: None,
                        resolve_target: None,
                        ops: wgpu::Operations {
                            load: wgpu::LoadOp::Load,
                            store: wgpu::StoreOp::Store,
                        },
                    })],
                    ..Default::default()
                })
                .forget_lifetime();
            self.renderer.render(&mut pass, primitives, &screen);
        }
        for id in textures.free.drain() {
            self.renderer.free_texture(&id);
        }
    }
}
