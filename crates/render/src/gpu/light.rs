//! What shaders read besides instances: the frame's numbers, the map of shadows, the ground's paint.

use wgpu::{
    BindGroup, BindGroupLayout, BindingResource, Buffer, Device, Queue, Sampler, Texture, TextureFormat,
    TextureUsages, TextureView,
};

use super::bindings;
use super::targets::{DEPTH_FORMAT, texture, texture_with_levels, view};
use super::uniforms::FrameUniform;
use crate::picture::ground::GroundPaint;

#[derive(Debug)]
pub(super) struct Light {
    uniform: Buffer,
    /// The frame's numbers; first in every pipeline.
    pub(super) frame: BindGroup,
    pub(super) frame_layout: BindGroupLayout,
    /// Shadows, paint and crowd; second where things are lit.
    pub(super) lit: BindGroup,
    pub(super) lit_layout: BindGroupLayout,
    /// What the sun sees, to be drawn on.
    pub(super) shadow_map: TextureView,
    /// Of shadows and of paint.
    samplers: [Sampler; 2],
    paint: Texture,
    crowd: Texture,
}

impl Light {
    /// With a map of shadows of so many pixels a side.
    pub(super) fn new(device: &Device, shadow_side: u32) -> Self {
        let frame_entries = [bindings::uniform(0, wgpu::ShaderStages::VERTEX_FRAGMENT)];
        let frame_layout = bindings::layout(device, "frame", &frame_entries);
        let lit_entries = [
            bindings::depth(0),
            bindings::sampler(1, wgpu::SamplerBindingType::Comparison),
            bindings::picture(2),
            bindings::sampler(3, wgpu::SamplerBindingType::Filtering),
            bindings::picture(4),
        ];
        let lit_layout = bindings::layout(device, "light", &lit_entries);
        let uniform = bindings::uniform_buffer(device, "frame", size_of::<FrameUniform>());
        let frame = bindings::group(device, "frame", &frame_layout, &[uniform.as_entire_binding()]);
        let shadow_map = view(&texture(
            device,
            "shadows",
            (shadow_side, shadow_side),
            DEPTH_FORMAT,
            1,
            TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
        ));
        let shadow_sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("shadows"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            compare: Some(wgpu::CompareFunction::LessEqual),
            ..Default::default()
        });
        let paint_sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("paint"),
            // The paint goes round as the map does.
            address_mode_u: wgpu::AddressMode::Repeat,
            address_mode_v: wgpu::AddressMode::Repeat,
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            mipmap_filter: wgpu::MipmapFilterMode::Linear,
            ..Default::default()
        });
        let paint = paint_texture(device, "paint", (1, 1), 1);
        let crowd = paint_texture(device, "crowd", (1, 1), 1);
        let samplers = [shadow_sampler, paint_sampler];
        Self {
            uniform,
            frame,
            frame_layout,
            lit: lit_group(device, &lit_layout, &shadow_map, &samplers, [&paint, &crowd]),
            lit_layout,
            shadow_map,
            samplers,
            paint,
            crowd,
        }
    }

    pub(super) fn set_frame(&self, queue: &Queue, frame: &FrameUniform) {
        queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(frame));
    }

    /// Gives some of the paint that changed to the device; answers whether there was any.
    pub(super) fn upload_paint(&mut self, device: &Device, queue: &Queue, paint: &mut GroundPaint) -> bool {
        let Some(size) = paint.size() else {
            return false;
        };
        let sides = (u32::from(size.width()), u32::from(size.height()));
        let crowd_sides = paint.crowd().sides();
        let is_another = |texture: &Texture, sides: (u32, u32)| (texture.width(), texture.height()) != sides;
        if is_another(&self.paint, sides) || (crowd_sides.0 > 0 && is_another(&self.crowd, crowd_sides)) {
            self.paint = paint_texture(device, "paint", sides, paint.levels().len() as u32);
            self.crowd = paint_texture(device, "crowd", (crowd_sides.0.max(1), crowd_sides.1.max(1)), 1);
            let paints = [&self.paint, &self.crowd];
            self.lit = lit_group(device, &self.lit_layout, &self.shadow_map, &self.samplers, paints);
            paint.forget_uploads();
        }
        let mut changed = false;
        if let Some(texels) = paint.crowd_mut().take_new() {
            changed = true;
            bindings::write_texels(queue, &self.crowd, 0, [0, 0], crowd_sides.0, texels);
        }
        let mut bands = paint.take_budget();
        while bands > 0
            && let Some(rows) = paint.take_dirty()
        {
            bands -= 1;
            changed = true;
            for (number, level) in paint.levels().iter().enumerate() {
                let first = rows.start >> number;
                let end = rows.end.div_ceil(1 << number).min(level.height);
                if first < end {
                    let texels = &level.texels[(first * level.width) as usize..(end * level.width) as usize];
                    bindings::write_texels(
                        queue,
                        &self.paint,
                        number as u32,
                        [0, first],
                        level.width,
                        texels,
                    );
                }
            }
        }
        changed
    }
}

fn lit_group(
    device: &Device,
    layout: &BindGroupLayout,
    shadow_map: &TextureView,
    [of_shadows, of_paint]: &[Sampler; 2],
    [paint, crowd]: [&Texture; 2],
) -> BindGroup {
    let resources = [
        BindingResource::TextureView(shadow_map),
        BindingResource::Sampler(of_shadows),
        BindingResource::TextureView(&view(paint)),
        BindingResource::Sampler(of_paint),
        BindingResource::TextureView(&view(crowd)),
    ];
    bindings::group(device, "light", layout, &resources)
}

fn paint_texture(device: &Device, label: &str, sides: (u32, u32), levels: u32) -> Texture {
    let usage = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST;
    texture_with_levels(
        device,
        label,
        sides,
        TextureFormat::Rgba8Unorm,
        [levels, 1],
        usage,
    )
}
