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

#[cfg(test)]
mod tests {
    use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};
    use wgpu::naga::{Module, TypeInner, front::wgsl};

    use super::*;
    use crate::gpu::uniforms::FrameUniform;

    const ALL: [(&str, &str); 8] = [
        ("sky", SKY),
        ("ground", GROUND),
        ("backdrop", BACKDROP),
        ("body", BODY),
        ("decal", DECAL),
        ("wave", WAVE),
        ("glow", GLOW),
        ("post", POST),
    ];

    fn parsed(name: &str, source: &str) -> Module {
        wgsl::parse_str(source).unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)))
    }

    /// Without a device: what a graphics card's driver would refuse is found here.
    #[test]
    fn every_shader_is_valid() {
        for (name, source) in ALL {
            let module = parsed(name, source);
            // No more than what every adapter has: overrides, and nothing optional.
            let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
            if let Err(error) = validator.validate(&module) {
                panic!("{name}: {}", error.emit_to_string(source));
            }
        }
    }

    #[test]
    fn the_frame_has_the_same_layout_on_both_sides() {
        for (name, source) in ALL.into_iter().filter(|(_, source)| source.contains("Frame")) {
            let module = parsed(name, source);
            let span = module.types.iter().find_map(|(_, kind)| match &kind.inner {
                TypeInner::Struct { span, .. } if kind.name.as_deref() == Some("Frame") => Some(*span),
                _ => None,
            });
            assert_eq!(
                span.map(|span| span as usize),
                Some(size_of::<FrameUniform>()),
                "{name}"
            );
        }
        assert!(WAVE.contains(&format!("const STEPS = {WAVE_STEPS}u;")));
    }
}
