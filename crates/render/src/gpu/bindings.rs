//! What shaders are bound to, one function for each kind of it; passes, and texels on their way into a texture.
//!
//! Which group holds what is said where the group is made.

use wgpu::{
    BindGroup, BindGroupEntry, BindGroupLayout, BindGroupLayoutEntry, BindingResource, BindingType, Buffer,
    BufferUsages, Color, CommandEncoder, Device, FilterMode, LoadOp, Operations, Queue, RenderPass, Sampler,
    ShaderStages, StoreOp, Texture, TextureView,
};

pub fn layout(device: &Device, label: &str, entries: &[BindGroupLayoutEntry]) -> BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(label),
        entries,
    })
}

/// A group of these resources, bound in their order.
pub fn group(
    device: &Device,
    label: &str,
    layout: &BindGroupLayout,
    resources: &[BindingResource<'_>],
) -> BindGroup {
    let entries = resources.iter().cloned().zip(0..);
    let entries: Vec<_> = entries
        .map(|(resource, binding)| BindGroupEntry { binding, resource })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some(label),
        layout,
        entries: &entries,
    })
}

pub fn uniform_buffer(device: &Device, label: &str, bytes: usize) -> Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes as u64,
        usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// A sampler that reads between texels in this way, and not beyond the edge.
pub fn filter(device: &Device, label: &str, filter: FilterMode) -> Sampler {
    device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some(label),
        mag_filter: filter,
        min_filter: filter,
        ..Default::default()
    })
}

/// A pass without depth that draws on `view`: over what is there, or on black.
pub fn color_pass<'a>(
    encoder: &'a mut CommandEncoder,
    label: &str,
    view: &TextureView,
    is_over: bool,
) -> RenderPass<'a> {
    let load = match is_over {
        true => LoadOp::Load,
        false => LoadOp::Clear(Color::BLACK),
    };
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some(label),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view,
            depth_slice: None,
            resolve_target: None,
            ops: Operations {
                load,
                store: StoreOp::Store,
            },
        })],
        ..Default::default()
    })
}

pub fn uniform(binding: u32, stages: ShaderStages) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: stages,
        ty: BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}

/// A picture that fragments read, smoothly.
pub fn picture(binding: u32) -> BindGroupLayoutEntry {
    texture(binding, wgpu::TextureSampleType::Float { filterable: true })
}

/// A depth map that fragments compare with.
pub(super) fn depth(binding: u32) -> BindGroupLayoutEntry {
    texture(binding, wgpu::TextureSampleType::Depth)
}

pub fn sampler(binding: u32, kind: wgpu::SamplerBindingType) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::FRAGMENT,
        ty: BindingType::Sampler(kind),
        count: None,
    }
}

fn texture(binding: u32, sample_type: wgpu::TextureSampleType) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::FRAGMENT,
        ty: BindingType::Texture {
            sample_type,
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        },
        count: None,
    }
}

/// Writes a rectangle of a texture of four bytes a texel, whose least corner is `[x, y]`: `texels` are its rows, one behind
/// the other, of `width` texels each.
pub fn write_texels<T: bytemuck::Pod>(
    queue: &Queue,
    texture: &Texture,
    mip_level: u32,
    [x, y]: [u32; 2],
    width: u32,
    texels: &[T],
) {
    let texels: &[u8] = bytemuck::cast_slice(texels);
    queue.write_texture(
        wgpu::TexelCopyTextureInfo {
            texture,
            mip_level,
            origin: wgpu::Origin3d { x, y, z: 0 },
            aspect: wgpu::TextureAspect::All,
        },
        texels,
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(width * 4),
            rows_per_image: None,
        },
        wgpu::Extent3d {
            width,
            height: texels.len() as u32 / (width * 4).max(1),
            depth_or_array_layers: 1,
        },
    );
}
