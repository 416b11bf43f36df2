//! The shaders' texts, each with what it builds on.

use wgpu::{Device, ShaderModule};

macro_rules! source {
    ($($file:literal),+) => { concat!($(include_str!(concat!("shaders/", $file))),+) };
}

pub(super) const SKY: &str = source!("screen.wgsl", "frame.wgsl", "sky.wgsl");
pub(super) const GROUND: &str = source!("screen.wgsl", "frame.wgsl", "light.wgsl", "ground.wgsl");
pub(super) const BACKDROP: &str = source!("screen.wgsl", "frame.wgsl", "backdrop.wgsl");
pub(super) const BODY: &str = source!("screen.wgsl", "frame.wgsl", "light.wgsl", "body.wgsl");
pub(super) const DECAL: &str = source!("screen.wgsl", "frame.wgsl", "decal.wgsl");
pub(super) const WAVE: &str = source!("screen.wgsl", "frame.wgsl", "wave.wgsl");
pub(super) const GLOW: &str = source!("screen.wgsl", "frame.wgsl", "glow.wgsl");
pub(super) const POST: &str = source!("screen.wgsl", "post.wgsl");

/// Steps of a wave's band; the same number is in `wave.wgsl`.
pub(super) const WAVE_STEPS: u32 = 96;

pub fn module(device: &Device, label: &str, source: &str) -> ShaderModule {
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    })
}
