//! The textures that a frame passes through; made anew when the size changes.

use wgpu::{
    Device, Extent3d, Texture, TextureDescriptor, TextureDimension, TextureFormat, TextureUsages, TextureView,
};

/// Light without upper bound, as long as it is not on a screen.
pub(super) const LIGHT_FORMAT: TextureFormat = TextureFormat::Rgba16Float;
pub(super) const DEPTH_FORMAT: TextureFormat = TextureFormat::Depth32Float;

#[derive(Debug)]
pub(super) struct Targets {
    pub(super) size: (u32, u32),
    /// What is drawn on, when there are several samples a pixel.
    pub(super) samples: Option<TextureView>,
    pub(super) depth: TextureView,
}

impl Targets {
    /// Targets for pictures of `size` in `format`.
    pub(super) fn new(device: &Device, size: (u32, u32), samples: u32, format: TextureFormat) -> Self {
        let drawn = TextureUsages::RENDER_ATTACHMENT;
        Self {
            size,
            samples: (samples > 1).then(|| view(&texture(device, "samples", size, format, samples, drawn))),
            depth: view(&texture(device, "depth", size, DEPTH_FORMAT, samples, drawn)),
        }
    }
}

pub fn texture(
    device: &Device,
    label: &str,
    sides: (u32, u32),
    format: TextureFormat,
    sample_count: u32,
    usage: TextureUsages,
) -> Texture {
    texture_with_levels(device, label, sides, format, [1, sample_count], usage)
}

pub(super) fn texture_with_levels(
    device: &Device,
    label: &str,
    (width, height): (u32, u32),
    format: TextureFormat,
    [mip_level_count, sample_count]: [u32; 2],
    usage: TextureUsages,
) -> Texture {
    device.create_texture(&TextureDescriptor {
        label: Some(label),
        size: Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        },
        mip_level_count,
        sample_count,
        dimension: TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

pub fn view(texture: &Texture) -> TextureView {
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}
