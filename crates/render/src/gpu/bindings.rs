//! What shaders are bound to, one word for each kind of it, and texels on their way into a texture.
//!
//! Which group holds what is said where the group is made.

use wgpu::{BindGroupLayoutEntry, BindingType, Queue, ShaderStages, Texture};

/// A uniform that `stages` read.
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

/// How fragments read a texture.
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

/// A rectangle of a texture of four bytes a texel.
#[derive(Clone, Copy, Debug)]
pub struct Patch {
    /// Which of the texture's copies, 0 for the full size.
    pub mip_level: u32,
    /// Texels from the left.
    pub x: u32,
    /// Texels from the top.
    pub y: u32,
    /// Texels across.
    pub width: u32,
    /// Texels down.
    pub height: u32,
}

/// Writes the rows of `patch`, one behind the other, into `texture`.
pub fn write_texels(queue: &Queue, texture: &Texture, patch: Patch, texels: &[u8]) {
    let Patch {
        mip_level,
        x,
        y,
        width,
        height,
    } = patch;
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
            height,
            depth_or_array_layers: 1,
        },
    );
}
