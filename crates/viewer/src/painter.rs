//! Draws a frame: the picture, and the panels over it.
//!
//! The painter of panels that comes with egui asks for each pixel how to filter textures and dither colours: on a
//! software adapter that costs five times as much as this one, more than the rest of a frame. This one knows one case:
//! colour times texture, blended over what is there.

use std::collections::BTreeMap;

use egui::epaint::{ClippedShape, ImageDelta, Primitive, Vertex};
use egui::{ClippedPrimitive, ImageData, TextureFilter, TextureId, TexturesDelta};
use wgpu::{
    BindGroup, BindGroupLayout, BindingResource, BlendState, Buffer, CommandEncoder, Device, IndexFormat,
    RenderPass, RenderPipeline, Sampler, Texture, TextureFormat, TextureUsages, TextureView, VertexStepMode,
    vertex_attr_array,
};

use trantor_render::gpu::pipelines::{Kind, pipeline};
use trantor_render::gpu::resources::{self, Lists, texture, view};
use trantor_render::gpu::{Context, Offscreen, Pixels, Quality, Renderer};

use crate::state::ViewerState;

/// The renderer of the picture and the painter of the panels on one device, and the panels as they are laid out now.
/// Another device has others, since textures belong to it.
pub struct FramePainter {
    pub renderer: Renderer,
    painter: Painter,
    pub egui: egui::Context,
    /// The last layout, and its triangles.
    shapes: Vec<ClippedShape>,
    laid: Laid,
    format: TextureFormat,
}

impl FramePainter {
    /// For frames of `size` pixels in `format`.
    pub fn new(context: &Context, quality: Quality, format: TextureFormat, size: (u32, u32)) -> Self {
        Self {
            renderer: Renderer::new(context, quality, format, size),
            painter: Painter::new(context, format),
            egui: egui::Context::default(),
            shapes: Vec::new(),
            laid: Laid::default(),
            format,
        }
    }

    /// Draws with another quality from now on.
    pub fn set_quality(&mut self, context: &Context, quality: Quality, size: (u32, u32)) {
        if quality != self.renderer.quality() {
            self.renderer = Renderer::new(context, quality, self.format, size);
        }
    }

    /// Takes over the panels as egui has laid them out; answers whether they look different.
    pub fn lay(&mut self, output: egui::FullOutput) -> bool {
        let is_other = !output.textures_delta.is_empty()
            || self.laid.pixels_per_point != output.pixels_per_point
            || self.shapes != output.shapes;
        // Textures that no frame has uploaded yet must be kept.
        self.laid.textures.append(output.textures_delta);
        if is_other {
            self.shapes.clone_from(&output.shapes);
            self.laid.primitives = self.egui.tessellate(output.shapes, output.pixels_per_point);
            self.laid.pixels_per_point = output.pixels_per_point;
        }
        is_other
    }

    /// Takes changes of the panels' textures over without a frame.
    pub fn skip(&mut self, context: &Context) {
        self.painter.paint(context, &mut self.laid, None);
    }

    /// Draws what was composed, and the panels over it, on `view` of `size` pixels.
    pub fn encode(
        &mut self,
        context: &Context,
        state: &mut ViewerState,
        view: &TextureView,
        size: (u32, u32),
    ) -> CommandEncoder {
        let Context { device, queue, .. } = context;
        let mut encoder = device.create_command_encoder(&Default::default());
        let (list, paint) = state.drawing.list_and_paint();
        self.renderer.upload(device, queue, list, paint);
        self.renderer.encode(&mut encoder, list, view);
        let onto = Some((&mut encoder, view, size));
        self.painter.paint(context, &mut self.laid, onto);
        encoder
    }

    /// Draws the same into memory.
    pub fn picture(
        &mut self,
        context: &Context,
        state: &mut ViewerState,
        size: (u32, u32),
    ) -> std::io::Result<Pixels> {
        let target = Offscreen::new(&context.device, self.format, size);
        let mut encoder = self.encode(context, state, &target.view(), size);
        target.encode_copy(&mut encoder);
        context.queue.submit([encoder.finish()]);
        target.read(context)
    }
}

#[derive(Debug)]
struct Painter {
    pipeline: RenderPipeline,
    layout: BindGroupLayout,
    /// Linear and nearest.
    samplers: [Sampler; 2],
    screen: Buffer,
    textures: BTreeMap<TextureId, (Texture, BindGroup)>,
    /// Corners, and indices of them.
    lists: Lists,
    /// Upload buffers, kept for their memory.
    corners: Vec<Vertex>,
    indices: Vec<u32>,
}

/// A draw call: one texture in one clip rectangle.
struct Piece {
    texture: TextureId,
    /// Pixels from the left and from the top, width and height.
    clip: [u32; 4],
    indices: std::ops::Range<u32>,
    first_corner: i32,
}

/// Panels, laid out and cut into triangles. They may be drawn more than once.
#[derive(Debug, Default)]
struct Laid {
    /// Textures that came, changed and went. All must be applied, in order, drawn or not.
    textures: TexturesDelta,
    primitives: Vec<ClippedPrimitive>,
    /// 0 before the first layout.
    pixels_per_point: f32,
}

impl Drop for Laid {
    fn drop(&mut self) {
        // Dropped unpainted, they are not painted any more, or by a new painter that gets all textures anew; egui reports
        // textures that were not applied as a mistake.
        self.textures.clear();
    }
}

impl Painter {
    fn new(context: &Context, format: TextureFormat) -> Self {
        let device = &context.device;
        let entries = [
            resources::uniform(0, wgpu::ShaderStages::VERTEX),
            resources::picture(1),
            resources::sampler(2, wgpu::SamplerBindingType::Filtering),
        ];
        let layout = resources::layout(device, "panels", &entries);
        let sampler = |filter| resources::filter(device, "panels", filter);
        Self {
            pipeline: panels_pipeline(device, &layout, format),
            layout,
            samplers: [wgpu::FilterMode::Linear, wgpu::FilterMode::Nearest].map(sampler),
            screen: resources::uniform_buffer(device, "panels", size_of::<[f32; 4]>()),
            textures: BTreeMap::new(),
            lists: Lists::new(device, "panels"),
            corners: Vec::new(),
            indices: Vec::new(),
        }
    }

    /// Applies changes of textures, as every layout needs, and draws on `target`, if there is one, of `size` pixels.
    #[expect(
        clippy::iter_over_hash_type,
        reason = "egui keeps changes of textures by texture; which texture is changed first cannot be seen"
    )]
    fn paint(
        &mut self,
        context: &Context,
        laid: &mut Laid,
        target: Option<(&mut CommandEncoder, &TextureView, (u32, u32))>,
    ) {
        for (id, deltas) in laid.textures.set.drain() {
            for delta in &deltas {
                self.change_texture(context, id, delta);
            }
        }
        if let Some((encoder, view, size)) = target {
            let pieces = self.upload(context, laid, size);
            let mut pass = resources::color_pass(encoder, "panels", view, true);
            self.draw(&mut pass, &pieces);
        }
        for id in laid.textures.free.drain() {
            self.textures.remove(&id);
        }
    }

    /// Uploads all triangles; returns the draw calls in order.
    fn upload(&mut self, context: &Context, laid: &Laid, size: (u32, u32)) -> Vec<Piece> {
        let Context { device, queue, .. } = context;
        self.corners.clear();
        self.indices.clear();
        let mut pieces = Vec::with_capacity(laid.primitives.len());
        for ClippedPrimitive { clip_rect, primitive } in &laid.primitives {
            let Primitive::Mesh(mesh) = primitive else {
                debug_assert!(false, "panels use no callbacks into the graphics card");
                continue;
            };
            let clip = clip_of(*clip_rect * laid.pixels_per_point, size);
            if mesh.indices.is_empty() || clip[2] == 0 || clip[3] == 0 {
                continue;
            }
            let first = self.indices.len() as u32;
            pieces.push(Piece {
                texture: mesh.texture_id,
                clip,
                indices: first..first + mesh.indices.len() as u32,
                first_corner: self.corners.len() as i32,
            });
            self.corners.extend_from_slice(&mesh.vertices);
            self.indices.extend_from_slice(&mesh.indices);
        }
        let corners: &[u8] = bytemuck::cast_slice(&self.corners);
        let indices: &[u8] = bytemuck::cast_slice(&self.indices);
        let lists = [(corners, self.corners.len()), (indices, self.indices.len())];
        self.lists.upload(device, queue, lists.into_iter());
        let [width, height] = [size.0, size.1].map(|side| side.max(1) as f32 / laid.pixels_per_point);
        queue.write_buffer(&self.screen, 0, bytemuck::cast_slice(&[width, height, 0.0, 0.0]));
        pieces
    }

    fn draw(&self, pass: &mut RenderPass<'_>, pieces: &[Piece]) {
        let (Some((corners, _)), Some((indices, _))) = (self.lists.of(0), self.lists.of(1)) else {
            return;
        };
        pass.set_pipeline(&self.pipeline);
        pass.set_vertex_buffer(0, corners);
        pass.set_index_buffer(indices, IndexFormat::Uint32);
        for piece in pieces {
            // A texture that egui never set has nothing to show.
            let Some((_, group)) = self.textures.get(&piece.texture) else {
                continue;
            };
            let [left, top, width, height] = piece.clip;
            pass.set_scissor_rect(left, top, width, height);
            pass.set_bind_group(0, group, &[]);
            pass.draw_indexed(piece.indices.clone(), piece.first_corner, 0..1);
        }
    }

    fn change_texture(&mut self, context: &Context, id: TextureId, delta: &ImageDelta) {
        let ImageData::Color(image) = &delta.image;
        let [width, height] = image.size.map(|side| side as u32);
        let at = match delta.pos {
            Some(at) => at.map(|side| side as u32),
            None => {
                let made = self.make_texture(&context.device, (width, height), delta.options.magnification);
                self.textures.insert(id, made);
                [0, 0]
            }
        };
        if let Some((texture, _)) = self.textures.get(&id) {
            resources::write_texels(&context.queue, texture, 0, at, width, &image.pixels);
        }
    }

    fn make_texture(&self, device: &Device, size: (u32, u32), filter: TextureFilter) -> (Texture, BindGroup) {
        let usage = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST;
        let texture = texture(device, "panels", size, TextureFormat::Rgba8Unorm, 1, usage);
        let sampler = match filter {
            TextureFilter::Linear => &self.samplers[0],
            TextureFilter::Nearest => &self.samplers[1],
        };
        let resources = [
            self.screen.as_entire_binding(),
            BindingResource::TextureView(&view(&texture)),
            BindingResource::Sampler(sampler),
        ];
        let group = resources::group(device, "panels", &self.layout, &resources);
        (texture, group)
    }
}

/// The part of a picture of `size` that lies in `rect`, both in pixels.
fn clip_of(rect: egui::Rect, size: (u32, u32)) -> [u32; 4] {
    let within = |at: f32, most: u32| (at.round().max(0.0) as u32).min(most);
    let (left, top) = (within(rect.min.x, size.0), within(rect.min.y, size.1));
    let (right, bottom) = (within(rect.max.x, size.0), within(rect.max.y, size.1));
    [left, top, right.saturating_sub(left), bottom.saturating_sub(top)]
}

fn panels_pipeline(device: &Device, group: &BindGroupLayout, format: TextureFormat) -> RenderPipeline {
    let module = resources::shader(device, "panels", include_str!("painter/panels.wgsl"));
    let corners = wgpu::VertexBufferLayout {
        array_stride: size_of::<Vertex>() as u64,
        step_mode: VertexStepMode::Vertex,
        attributes: &vertex_attr_array![0 => Float32x2, 1 => Float32x2, 2 => Unorm8x4],
    };
    let (buffers, groups) = ([Some(corners)], [group]);
    let kind = Kind {
        buffers: &buffers,
        blend: Some(BlendState::PREMULTIPLIED_ALPHA_BLENDING),
        ..Kind::new("panels", &module, &groups, format)
    };
    pipeline(device, &kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{Rect, pos2};

    #[test]
    fn a_clip_lies_within_the_picture() {
        let infinity = f32::INFINITY;
        for ([left, top, right, bottom], clip) in [
            ([-5.0, 3.4, 20.0, 60.0], [0, 3, 20, 47]),
            ([-infinity, 0.0, infinity, infinity], [0, 0, 100, 50]),
            ([120.0, 10.0, 130.0, 20.0], [100, 10, 0, 10]),
        ] {
            let rect = Rect::from_min_max(pos2(left, top), pos2(right, bottom));
            assert_eq!(clip_of(rect, (100, 50)), clip);
        }
    }
}
