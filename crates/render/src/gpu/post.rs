//! From light to a screen: the glow around bright things, and the last step.

use wgpu::{
    BindGroup, BindGroupLayout, BindingResource, CommandEncoder, Device, RenderPipeline, Sampler,
    TextureFormat, TextureUsages, TextureView,
};

use super::pipelines::{ADD, Kind, LIGHT_FORMAT, POST, pipeline};
use super::resources::{self, texture, view};

/// How often the glow is halved: the widest halo is then an eighth of the picture.
const GLOW_LEVELS: usize = 5;

#[derive(Debug)]
pub(super) struct Post {
    layout: BindGroupLayout,
    sampler: Sampler,
    settings: wgpu::Buffer,
    bright: RenderPipeline,
    down: RenderPipeline,
    up: RenderPipeline,
    compose: RenderPipeline,
    targets: Targets,
}

/// What the steps pass on, and what is read in each, for one size of the picture.
#[derive(Debug)]
struct Targets {
    /// The light, before it is bent to a screen.
    picture: TextureView,
    /// Half of the size, a quarter, and so on.
    glow: Vec<TextureView>,
    read_bright: BindGroup,
    read_levels: Vec<BindGroup>,
    read_both: BindGroup,
}

impl Post {
    pub(super) fn new(device: &Device, output: TextureFormat, size: (u32, u32)) -> Self {
        let entries = [
            resources::picture(0),
            resources::sampler(1, wgpu::SamplerBindingType::Filtering),
            resources::picture(2),
            resources::uniform(3, wgpu::ShaderStages::FRAGMENT),
        ];
        let layout = resources::layout(device, "post", &entries);
        let module = resources::shader(device, "post", POST);
        let groups = [&layout];
        let step = |entry, format, blend| {
            let kind = Kind {
                fragment: Some(entry),
                blend,
                ..Kind::new(entry, &module, &groups, format)
            };
            pipeline(device, &kind)
        };
        let sampler = resources::filter(device, "post", wgpu::FilterMode::Linear);
        let settings = resources::uniform_buffer(device, "post", size_of::<[f32; 4]>());
        Self {
            bright: step("bright", LIGHT_FORMAT, None),
            down: step("down", LIGHT_FORMAT, None),
            up: step("up", LIGHT_FORMAT, Some(ADD)),
            compose: step("compose", output, None),
            targets: Targets::new(device, size, &layout, &sampler, &settings),
            sampler,
            settings,
            layout,
        }
    }

    pub(super) fn resize(&mut self, device: &Device, size: (u32, u32)) {
        self.targets = Targets::new(device, size, &self.layout, &self.sampler, &self.settings);
    }

    pub(super) fn picture(&self) -> &TextureView {
        &self.targets.picture
    }

    pub(super) fn set(&self, queue: &wgpu::Queue, glow: f32) {
        let settings = [glow, 0.0, 0.0, 0.0];
        queue.write_buffer(&self.settings, 0, bytemuck::cast_slice(&settings));
    }

    /// Draws everything from the light to `output`.
    pub(super) fn encode(&self, encoder: &mut CommandEncoder, output: &TextureView) {
        let mut step = |label, pipeline, reads: &BindGroup, draws, adds| {
            let mut pass = resources::color_pass(encoder, label, draws, adds);
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, reads, &[]);
            pass.draw(0..3, 0..1);
        };
        let targets = &self.targets;
        let (glow, levels) = (&targets.glow, &targets.read_levels);
        step("bright", &self.bright, &targets.read_bright, &glow[0], false);
        for (reads, draws) in levels.iter().zip(&glow[1..]) {
            step("down", &self.down, reads, draws, false);
        }
        for (reads, draws) in levels[1..].iter().zip(glow).rev() {
            step("up", &self.up, reads, draws, true);
        }
        step("compose", &self.compose, &targets.read_both, output, false);
    }
}

impl Targets {
    fn new(
        device: &Device,
        size: (u32, u32),
        layout: &BindGroupLayout,
        sampler: &Sampler,
        settings: &wgpu::Buffer,
    ) -> Self {
        let target = |label, level: usize| {
            let usage = TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING;
            let size = ((size.0 >> level).max(1), (size.1 >> level).max(1));
            view(&texture(device, label, size, LIGHT_FORMAT, 1, usage))
        };
        let picture = target("light", 0);
        let glow: Vec<_> = (1..=GLOW_LEVELS).map(|level| target("glow", level)).collect();
        // What is bound must not be what is drawn on, even if it is not read: hence the first of each twice.
        let group = |source: &TextureView, glow: &TextureView| {
            let resources = [
                BindingResource::TextureView(source),
                BindingResource::Sampler(sampler),
                BindingResource::TextureView(glow),
                settings.as_entire_binding(),
            ];
            resources::group(device, "post", layout, &resources)
        };
        Self {
            read_bright: group(&picture, &picture),
            read_levels: glow.iter().map(|level| group(level, level)).collect(),
            read_both: group(&picture, &glow[0]),
            picture,
            glow,
        }
    }
}
