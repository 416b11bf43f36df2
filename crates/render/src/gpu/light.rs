//! What shaders read besides instances: the frame's numbers, the map of shadows, the ground's paint.

use wgpu::{
    BindGroup, BindGroupLayout, Buffer, Device, Queue, Sampler, Texture, TextureFormat, TextureUsages,
    TextureView,
};

use super::bindings::{self, Patch};
use super::targets::{DEPTH_FORMAT, texture, texture_with_levels, view};
use super::uniforms::FrameUniform;
use crate::picture::ground::{DirtyRows, GroundPaint};

/// All of it, on one device.
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
    shadow_sampler: Sampler,
    paint_sampler: Sampler,
    paint: Texture,
    crowd: Texture,
}

impl Light {
    /// With a map of shadows of so many pixels a side.
    pub(super) fn new(device: &Device, shadow_side: u32) -> Self {
        let frame_layout = frame_layout(device);
        let lit_layout = lit_layout(device);
        let uniform = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("frame"),
            size: size_of::<FrameUniform>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let frame = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("frame"),
            layout: &frame_layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: uniform.as_entire_binding(),
            }],
        });
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
        let lit = lit_group(
            device,
            &lit_layout,
            (&shadow_map, &shadow_sampler),
            [&paint, &crowd],
            &paint_sampler,
        );
        Self {
            uniform,
            frame,
            frame_layout,
            lit,
            lit_layout,
            shadow_map,
            shadow_sampler,
            paint_sampler,
            paint,
            crowd,
        }
    }

    /// Gives a frame's numbers to the device.
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
            self.lit = lit_group(
                device,
                &self.lit_layout,
                (&self.shadow_map, &self.shadow_sampler),
                [&self.paint, &self.crowd],
                &self.paint_sampler,
            );
            paint.forget_uploads();
        }
        let (width, height) = crowd_sides;
        let mut changed = false;
        if let Some(texels) = paint.crowd_mut().take_new() {
            changed = true;
            let patch = Patch {
                mip_level: 0,
                x: 0,
                y: 0,
                width,
                height,
            };
            bindings::write_texels(queue, &self.crowd, patch, bytemuck::cast_slice(texels));
        }
        let mut bands = paint.take_budget();
        while bands > 0
            && let Some(rows) = paint.take_dirty()
        {
            bands -= 1;
            changed = true;
            for (number, level) in paint.levels().iter().enumerate() {
                let first = rows.first >> number;
                let end = (rows.first + rows.count).div_ceil(1 << number).min(level.height);
                if first < end {
                    let rows = DirtyRows {
                        first,
                        count: end - first,
                    };
                    write_rows(
                        queue,
                        &self.paint,
                        number as u32,
                        level.width,
                        rows,
                        &level.texels,
                    );
                }
            }
        }
        changed
    }
}

fn write_rows(
    queue: &Queue,
    texture: &Texture,
    mip_level: u32,
    width: u32,
    rows: DirtyRows,
    texels: &[[u8; 4]],
) {
    let first = (rows.first * width) as usize;
    let texels = &texels[first..first + (rows.count * width) as usize];
    let patch = Patch {
        mip_level,
        x: 0,
        y: rows.first,
        width,
        height: rows.count,
    };
    bindings::write_texels(queue, texture, patch, bytemuck::cast_slice(texels));
}

fn frame_layout(device: &Device) -> BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("frame"),
        entries: &[bindings::uniform(0, wgpu::ShaderStages::VERTEX_FRAGMENT)],
    })
}

fn lit_layout(device: &Device) -> BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("light"),
        entries: &[
            bindings::depth(0),
            bindings::sampler(1, wgpu::SamplerBindingType::Comparison),
            bindings::picture(2),
            bindings::sampler(3, wgpu::SamplerBindingType::Filtering),
            bindings::picture(4),
        ],
    })
}

fn lit_group(
    device: &Device,
    layout: &BindGroupLayout,
    (shadow_map, shadow_sampler): (&TextureView, &Sampler),
    [paint, crowd]: [&Texture; 2],
    paint_sampler: &Sampler,
) -> BindGroup {
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("light"),
        layout,
        entries: &[
            wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::TextureView(shadow_map),
            },
            wgpu::BindGroupEntry {
                binding: 1,
                resource: wgpu::BindingResource::Sampler(shadow_sampler),
            },
            wgpu::BindGroupEntry {
                binding: 2,
                resource: wgpu::BindingResource::TextureView(&view(paint)),
            },
            wgpu::BindGroupEntry {
                binding: 3,
                resource: wgpu::BindingResource::Sampler(paint_sampler),
            },
            wgpu::BindGroupEntry {
                binding: 4,
                resource: wgpu::BindingResource::TextureView(&view(crowd)),
            },
        ],
    })
}

fn paint_texture(device: &Device, label: &str, sides: (u32, u32), levels: u32) -> Texture {
    texture_with_levels(
        device,
        label,
        sides,
        TextureFormat::Rgba8Unorm,
        levels,
        1,
        TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
    )
}
