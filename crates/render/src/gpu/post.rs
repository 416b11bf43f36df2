//! From light to a screen: the glow around bright things, and the last step.

use wgpu::{
    BindGroup, BindGroupLayout, BlendState, CommandEncoder, Device, LoadOp, Operations, RenderPipeline,
    Sampler, StoreOp, TextureFormat, TextureView,
};

use super::bindings;
use super::shaders;
use super::targets::{GLOW_LEVELS, LIGHT_FORMAT, LightTargets};

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
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("post"),
            entries: &[
                bindings::picture(0),
                bindings::sampler(1, wgpu::SamplerBindingType::Filtering),
                bindings::picture(2),
                bindings::uniform(3, wgpu::ShaderStages::FRAGMENT),
            ],
        });
        let module = shaders::module(device, "post", shaders::POST);
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("post"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let step = |entry: &str, format: TextureFormat, blend: Option<BlendState>| {
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(entry),
                layout: Some(&pipeline_layout),
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some("vertex"),
                    compilation_options: Default::default(),
                    buffers: &[],
                },
                primitive: Default::default(),
                depth_stencil: None,
                multisample: Default::default(),
                fragment: Some(wgpu::FragmentState {
                    module: &module,
                    entry_point: Some(entry),
                    compilation_options: Default::default(),
                    targets: &[Some(wgpu::ColorTargetState {
                        format,
                        blend,
                        write_mask: wgpu::ColorWrites::ALL,
                    })],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let add = BlendState {
            color: wgpu::BlendComponent {
                src_factor: wgpu::BlendFactor::One,
                dst_factor: wgpu::BlendFactor::One,
                operation: wgpu::BlendOperation::Add,
            },
            alpha: wgpu::BlendComponent::OVER,
        };
        Self {
            bright: step("bright", LIGHT_FORMAT, None),
            down: step("down", LIGHT_FORMAT, None),
            up: step("up", LIGHT_FORMAT, Some(add)),
            compose: step("compose", output, None),
            sampler: device.create_sampler(&wgpu::SamplerDescriptor {
                label: Some("post"),
                mag_filter: wgpu::FilterMode::Linear,
                min_filter: wgpu::FilterMode::Linear,
                ..Default::default()
            }),
            settings: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("post"),
                size: 16,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }),
            layout,
            steps: None,
        }
    }

    /// Follows new targets.
    pub(super) fn resize(&mut self, device: &Device, targets: &LightTargets) {
        // What is bound must not be what is drawn on, even if it is not read: hence the first of each twice.
        let group = |source: &TextureView, glow: &TextureView| {
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("post"),
                layout: &self.layout,
                entries: &[
                    wgpu::BindGroupEntry {
                        binding: 0,
                        resource: wgpu::BindingResource::TextureView(source),
                    },
                    wgpu::BindGroupEntry {
                        binding: 1,
                        resource: wgpu::BindingResource::Sampler(&self.sampler),
                    },
                    wgpu::BindGroupEntry {
                        binding: 2,
                        resource: wgpu::BindingResource::TextureView(glow),
                    },
                    wgpu::BindGroupEntry {
                        binding: 3,
                        resource: self.settings.as_entire_binding(),
                    },
                ],
            })
        };
        self.steps = Some(Steps {
            bright: group(&targets.picture, &targets.picture),
            levels: targets.glow.iter().map(|level| group(level, level)).collect(),
            compose: group(&targets.picture, &targets.glow[0]),
        });
    }

    /// Sets how strongly the glow shows.
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
        step(
            encoder,
            "bright",
            &self.bright,
            &steps.bright,
            &targets.glow[0],
            false,
        );
        for level in 1..GLOW_LEVELS {
            step(
                encoder,
                "down",
                &self.down,
                &steps.levels[level - 1],
                &targets.glow[level],
                false,
            );
        }
        for level in (1..GLOW_LEVELS).rev() {
            step(
                encoder,
                "up",
                &self.up,
                &steps.levels[level],
                &targets.glow[level - 1],
                true,
            );
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
    let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some(label),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: draws,
            depth_slice: None,
            resolve_target: None,
            ops: Operations {
                load: if adds {
                    LoadOp::Load
                } else {
                    LoadOp::Clear(wgpu::Color::BLACK)
                },
                store: StoreOp::Store,
            },
        })],
        ..Default::default()
    });
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, reads, &[]);
    pass.draw(0..3, 0..1);
}
