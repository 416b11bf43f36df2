//! The textures that a frame passes through; made anew when the size changes.

use wgpu::{
    Device, Extent3d, Texture, TextureDescriptor, TextureDimension, TextureFormat, TextureUsages, TextureView,
};

/// Light without upper bound, as long as it is not on a screen.
pub(super) const LIGHT_FORMAT: TextureFormat = TextureFormat::Rgba16Float;
/// How far away a pixel is.
pub(super) const DEPTH_FORMAT: TextureFormat = TextureFormat::Depth32Float;
/// How often the glow is halved: the widest halo is then an eighth of the picture.
pub(super) const GLOW_LEVELS: usize = 5;

/// All of them, for one size.
#[derive(Debug)]
pub(super) struct Targets {
    pub(super) size: (u32, u32),
    /// What is drawn on, when there are several samples a pixel.
    pub(super) samples: Option<TextureView>,
    pub(super) light: TextureView,
    pub(super) depth: TextureView,
    /// Half of the size, a quarter, and so on.
    pub(super) glow: Vec<TextureView>,
}

impl Targets {
    pub(super) fn new(device: &Device, size: (u32, u32), samples: u32) -> Self {
        let size = (size.0.max(1), size.1.max(1));
        let drawn = TextureUsages::RENDER_ATTACHMENT;
        let read = drawn | TextureUsages::TEXTURE_BINDING;
        let glow = (1..=GLOW_LEVELS)
            .map(|level| {
                let half = |side: u32| (side >> level).max(1);
                view(&texture(
                    device,
                    "glow",
                    (half(size.0), half(size.1)),
                    LIGHT_FORMAT,
                    1,
                    read,
                ))
            })
            .collect();
        Self {
            size,
            samples: (samples > 1)
                .then(|| view(&texture(device, "samples", size, LIGHT_FORMAT, samples, drawn))),
            light: view(&texture(device, "light", size, LIGHT_FORMAT, 1, read)),
            depth: view(&texture(device, "depth", size, DEPTH_FORMAT, samples, drawn)),
            glow,
        }
    }
}

/// A flat texture.
pub(super) fn texture(
    device: &Device,
    label: &str,
    (width, height): (u32, u32),
    format: TextureFormat,
    sample_count: u32,
    usage: TextureUsages,
) -> Texture {
    device.create_texture(&TextureDescriptor {
        label: Some(label),
        size: Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count,
        dimension: TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

pub(super) fn view(texture: &Texture) -> TextureView {
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}
