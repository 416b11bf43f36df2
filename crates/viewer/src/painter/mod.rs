//! Draws the panels over the picture.
//!
//! The painter that comes with egui asks for each pixel how to filter textures and dither colours: on a software adapter
//! that costs five times as much as this one, more than the rest of a frame. This one knows one case: colour times
//! texture, blended over what is there.

use std::collections::BTreeMap;

use egui::epaint::{ImageDelta, Primitive, Vertex};
use egui::{ClippedPrimitive, ImageData, TextureFilter, TextureId, TexturesDelta};
use wgpu::{
    BindGroup, BindGroupLayout, BindingResource, BlendState, Buffer, CommandEncoder, Device, IndexFormat,
    RenderPass, RenderPipeline, Sampler, Texture, TextureFormat, TextureUsages, TextureView, VertexStepMode,
    vertex_attr_array,
};

use trantor_render::gpu::Context;
use trantor_render::gpu::bindings;
use trantor_render::gpu::buffers::InstanceBuffer;
use trantor_render::gpu::pipelines::{Kind, pipeline};
use trantor_render::gpu::shaders;
use trantor_render::gpu::targets::{texture, view};

#[derive(Debug)]
pub struct Painter {
    pipeline: RenderPipeline,
    layout: BindGroupLayout,
    /// Linear and nearest.
    samplers: [Sampler; 2],
    screen: Buffer,
    textures: BTreeMap<TextureId, (Texture, BindGroup)>,
    corners: InstanceBuffer,
    indices: InstanceBuffer,
    /// Upload buffers, kept for their memory.
    all_corners: Vec<Vertex>,
    all_indices: Vec<u32>,
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
#[derive(Debug)]
pub struct Laid {
    /// Textures that came, changed and went. All must be applied, in order, drawn or not.
    pub textures: TexturesDelta,
    pub primitives: Vec<ClippedPrimitive>,
    pub pixels_per_point: f32,
}

impl Laid {
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
        // Dropped unpainted, they are not painted any more, or by a new painter that gets all textures anew; egui reports
        // textures that were not applied as a mistake.
        self.textures.clear();
    }
}

impl Painter {
    pub fn new(context: &Context, format: TextureFormat) -> Self {
        let device = &context.device;
        let entries = [
            bindings::uniform(0, wgpu::ShaderStages::VERTEX),
            bindings::picture(1),
            bindings::sampler(2, wgpu::SamplerBindingType::Filtering),
        ];
        let layout = bindings::layout(device, "panels", &entries);
        let sampler = |filter| bindings::filter(device, "panels", filter);
        Self {
            pipeline: panels_pipeline(device, &layout, format),
            layout,
            samplers: [wgpu::FilterMode::Linear, wgpu::FilterMode::Nearest].map(sampler),
            screen: bindings::uniform_buffer(device, "panels", size_of::<[f32; 4]>()),
            textures: BTreeMap::new(),
            corners: InstanceBuffer::new(device, "panels"),
            indices: InstanceBuffer::new(device, "panels"),
            all_corners: Vec::new(),
            all_indices: Vec::new(),
        }
    }

    /// Applies changes of textures, as every layout needs, and draws on `target`, if there is one, of `size` pixels.
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
        for (id, deltas) in laid.textures.set.drain() {
            for delta in &deltas {
                self.change_texture(context, id, delta);
            }
        }
        if let Some((encoder, view, size)) = target {
            let pieces = self.upload(context, laid, size);
            let mut pass = bindings::color_pass(encoder, "panels", view, true);
            self.draw(&mut pass, &pieces);
        }
        for id in laid.textures.free.drain() {
            self.textures.remove(&id);
        }
    }

    /// Uploads all triangles; returns the draw calls in order.
    fn upload(&mut self, context: &Context, laid: &Laid, size: (u32, u32)) -> Vec<Piece> {
        let Context { device, queue, .. } = context;
        self.all_corners.clear();
        self.all_indices.clear();
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
            let first = self.all_indices.len() as u32;
            pieces.push(Piece {
                texture: mesh.texture_id,
                clip,
                indices: first..first + mesh.indices.len() as u32,
                first_corner: self.all_corners.len() as i32,
            });
            self.all_corners.extend_from_slice(&mesh.vertices);
            self.all_indices.extend_from_slice(&mesh.indices);
        }
        self.corners.upload(device, queue, &self.all_corners);
        self.indices.upload(device, queue, &self.all_indices);
        let [width, height] = [size.0, size.1].map(|side| side.max(1) as f32 / laid.pixels_per_point);
        queue.write_buffer(&self.screen, 0, bytemuck::cast_slice(&[width, height, 0.0, 0.0]));
        pieces
    }

    fn draw(&self, pass: &mut RenderPass<'_>, pieces: &[Piece]) {
        pass.set_pipeline(&self.pipeline);
        pass.set_vertex_buffer(0, self.corners.slice());
        pass.set_index_buffer(self.indices.slice(), IndexFormat::Uint32);
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
            bindings::write_texels(&context.queue, texture, 0, at, width, &image.pixels);
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
        let group = bindings::group(device, "panels", &self.layout, &resources);
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
    let module = shaders::module(device, "panels", include_str!("panels.wgsl"));
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
