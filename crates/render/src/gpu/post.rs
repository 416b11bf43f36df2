//! From light to a screen: the glow around bright things, and the last step.

use wgpu::{
    BindGroup, BindGroupLayout, BindingResource, CommandEncoder, Device, RenderPipeline, Sampler,
    TextureFormat, TextureView,
};

use super::bindings;
use super::pipelines::{ADD, Kind, pipeline};
use super::shaders;
use super::targets::{LIGHT_FORMAT, LightTargets};

#[derive(Debug)]
pub(super) struct Post {
    layout: BindGroupLayout,
    sampler: Sampler,
    settings: wgpu::Buffer,
    bright: RenderPipeline,
    down: RenderPipeline,
    up: RenderPipeline,
    compose: RenderPipeline,
    steps: Option<Steps>,
}

/// What is read in each step, for one size of the picture.
#[derive(Debug)]
struct Steps {
    /// Reads the light alone.
    bright: BindGroup,
    /// Each reads one level of the glow.
    levels: Vec<BindGroup>,
    /// Reads the light and the finished glow.
    compose: BindGroup,
}

impl Post {
    pub(super) fn new(device: &Device, output: TextureFormat) -> Self {
        let entries = [
            bindings::picture(0),
            bindings::sampler(1, wgpu::SamplerBindingType::Filtering),
            bindings::picture(2),
            bindings::uniform(3, wgpu::ShaderStages::FRAGMENT),
        ];
        let layout = bindings::layout(device, "post", &entries);
        let module = shaders::module(device, "post", shaders::POST);
        let groups = [&layout];
        let step = |entry, format, blend| {
            let kind = Kind {
                fragment: Some(entry),
                blend,
                ..Kind::new(entry, &module, &groups, format)
            };
            pipeline(device, &kind)
        };
        Self {
            bright: step("bright", LIGHT_FORMAT, None),
            down: step("down", LIGHT_FORMAT, None),
            up: step("up", LIGHT_FORMAT, Some(ADD)),
            compose: step("compose", output, None),
            sampler: bindings::filter(device, "post", wgpu::FilterMode::Linear),
            settings: bindings::uniform_buffer(device, "post", size_of::<[f32; 4]>()),
            layout,
            steps: None,
        }
    }

    pub(super) fn resize(&mut self, device: &Device, targets: &LightTargets) {
        // What is bound must not be what is drawn on, even if it is not read: hence the first of each twice.
        let group = |source: &TextureView, glow: &TextureView| {
            let resources = [
                BindingResource::TextureView(source),
                BindingResource::Sampler(&self.sampler),
                BindingResource::TextureView(glow),
                self.settings.as_entire_binding(),
            ];
            bindings::group(device, "post", &self.layout, &resources)
        };
        self.steps = Some(Steps {
            bright: group(&targets.picture, &targets.picture),
            levels: targets.glow.iter().map(|level| group(level, level)).collect(),
            compose: group(&targets.picture, &targets.glow[0]),
        });
    }

    pub(super) fn set(&self, queue: &wgpu::Queue, glow: f32) {
        let settings = [glow, 0.0, 0.0, 0.0];
        queue.write_buffer(&self.settings, 0, bytemuck::cast_slice(&settings));
    }

    /// Draws everything from the light to `output`.
    ///
    /// # Panics
    /// If no targets were given.
    pub(super) fn encode(&self, encoder: &mut CommandEncoder, targets: &LightTargets, output: &TextureView) {
        let steps = self
            .steps
            .as_ref()
            .expect("targets are given before anything is drawn");
        let glow = &targets.glow;
        step(encoder, "bright", &self.bright, &steps.bright, &glow[0], false);
        for (reads, draws) in steps.levels.iter().zip(&glow[1..]) {
            step(encoder, "down", &self.down, reads, draws, false);
        }
        for (reads, draws) in steps.levels[1..].iter().zip(glow).rev() {
            step(encoder, "up", &self.up, reads, draws, true);
        }
        step(encoder, "compose", &self.compose, &steps.compose, output, false);
    }
}

fn step(
    encoder: &mut CommandEncoder,
    label: &str,
    pipeline: &RenderPipeline,
    reads: &BindGroup,
    draws: &TextureView,
    adds: bool,
) {
    let mut pass = bindings::color_pass(encoder, label, draws, adds);
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, reads, &[]);
    pass.draw(0..3, 0..1);
}
