//! The pipelines of the picture: which shader reads which lists, what covers what.

mod background;

use wgpu::{
    BindGroupLayout, BlendComponent, BlendFactor, BlendOperation, BlendState, ColorTargetState, ColorWrites,
    CompareFunction, DepthStencilState, Device, FragmentState, MultisampleState, PipelineLayout,
    PrimitiveState, PrimitiveTopology, RenderPipeline, ShaderModule, TextureFormat, VertexBufferLayout,
    VertexState, VertexStepMode, vertex_attr_array,
};

use self::background::{Background, backdrops, backgrounds};
use super::shaders;
use super::targets::{DEPTH_FORMAT, LIGHT_FORMAT};
use crate::picture::draw_list::{Decal, DecalKind, Glow, GlowKind, Instance, Wave};
use crate::picture::mesh::Vertex;

/// Corners drawn for a wave: two a step, and the first two again.
pub(super) const WAVE_VERTICES: u32 = (shaders::WAVE_STEPS + 1) * 2;

#[derive(Debug)]
pub(super) struct Pipelines {
    /// The background, in full and at half of the picture's size.
    background: [Background; 2],
    /// A kept background into the picture, from one of the same size and from one of half of it; `None` where the
    /// background is drawn anew each time.
    pub(super) backdrop: Option<[RenderPipeline; 2]>,
    /// Without parts that move, and with them.
    pub(super) bodies: [RenderPipeline; 2],
    /// The same two, as the sun sees them.
    pub(super) shadows: [RenderPipeline; 2],
    /// By kind.
    pub(super) decals: [RenderPipeline; DecalKind::COUNT],
    pub(super) wave: RenderPipeline,
    /// By kind.
    pub(super) glows: [RenderPipeline; GlowKind::COUNT],
}

/// What shaders are given besides what they draw.
pub(super) struct Layouts<'a> {
    pub(super) frame: &'a BindGroupLayout,
    pub(super) light: &'a BindGroupLayout,
    pub(super) backdrop: &'a BindGroupLayout,
}

/// Colour times its own opacity is laid over what is there; beyond its opacity it adds.
const OVER: BlendState = BlendState {
    color: BlendComponent {
        src_factor: BlendFactor::One,
        dst_factor: BlendFactor::OneMinusSrcAlpha,
        operation: BlendOperation::Add,
    },
    alpha: BlendComponent::OVER,
};

/// Light is added to light.
const ADD: BlendState = BlendState {
    color: BlendComponent {
        src_factor: BlendFactor::One,
        dst_factor: BlendFactor::One,
        operation: BlendOperation::Add,
    },
    alpha: BlendComponent::OVER,
};

/// What one pipeline of the picture differs in from the others.
struct Kind<'a> {
    label: &'a str,
    module: &'a ShaderModule,
    layout: &'a PipelineLayout,
    buffers: &'a [Option<VertexBufferLayout<'a>>],
    topology: PrimitiveTopology,
    blend: Option<BlendState>,
    /// `None` where nothing can be in front or behind.
    depth: Option<CompareFunction>,
    writes_depth: bool,
    samples: u32,
    /// What the shader is fixed to, besides what holds for all.
    fixed: &'a [(&'static str, f64)],
}

impl Pipelines {
    /// `direct` is the screen's format if the picture goes there at once.
    pub(super) fn new(
        device: &Device,
        layouts: &Layouts<'_>,
        samples: u32,
        direct: Option<TextureFormat>,
    ) -> Self {
        let plain = layout(device, &[Some(layouts.frame)]);
        let lit = layout(device, &[Some(layouts.frame), Some(layouts.light)]);
        let kept = layout(device, &[Some(layouts.frame), Some(layouts.backdrop)]);
        let vertex = VertexBufferLayout {
            array_stride: size_of::<Vertex>() as u64,
            step_mode: VertexStepMode::Vertex,
            attributes: &vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Unorm8x4, 3 => Uint8x4],
        };
        let body_attributes =
            vertex_attr_array![4 => Float32x4, 5 => Float32x3, 6 => Float32x4, 7 => Unorm8x4, 8 => Unorm8x4];
        let body = [Some(vertex), Some(instances::<Instance>(&body_attributes))];
        let decal_attributes =
            vertex_attr_array![0 => Float32x2, 1 => Float32x2, 2 => Float32x2, 3 => Unorm8x4];
        let decal = [Some(instances::<Decal>(&decal_attributes))];
        let wave_attributes = vertex_attr_array![0 => Float32x2, 1 => Float32x2, 2 => Unorm8x4];
        let glow_attributes =
            vertex_attr_array![0 => Float32x3, 1 => Float32x2, 2 => Float32x2, 3 => Unorm8x4];
        let glow = [Some(instances::<Glow>(&glow_attributes))];
        let module = |label: &str, source: &str| shaders::module(device, label, source);
        let bodies = module("bodies", shaders::BODY);
        let marks = module("marks", shaders::DECAL);
        let lights = module("lights", shaders::GLOW);
        let over_ground = |label, module, buffers, fixed: &[(&'static str, f64)]| {
            pipeline(
                device,
                &Kind {
                    label,
                    module,
                    layout: &plain,
                    buffers,
                    topology: PrimitiveTopology::TriangleStrip,
                    blend: Some(OVER),
                    // Drawn right after the ground and before all that stands on it: nothing can be in front.
                    depth: Some(CompareFunction::Always),
                    writes_depth: false,
                    samples,
                    fixed,
                },
                direct,
            )
        };
        Self {
            background: backgrounds(device, &plain, &lit, samples, direct),
            backdrop: direct.map(|_| backdrops(device, &kept, samples, direct)),
            bodies: [0.0, 1.0].map(|posed| {
                pipeline(
                    device,
                    &Kind {
                        label: "bodies",
                        module: &bodies,
                        layout: &lit,
                        buffers: &body,
                        topology: PrimitiveTopology::TriangleList,
                        blend: None,
                        depth: Some(CompareFunction::Less),
                        writes_depth: true,
                        samples,
                        fixed: &[("POSED", posed)],
                    },
                    direct,
                )
            }),
            shadows: [0.0, 1.0].map(|posed| shadow_pipeline(device, &bodies, &plain, &body, posed)),
            decals: std::array::from_fn(|kind| {
                over_ground("marks", &marks, &decal, &[("KIND", kind as f64)])
            }),
            wave: over_ground(
                "waves",
                &module("waves", shaders::WAVE),
                &[Some(instances::<Wave>(&wave_attributes))],
                &[],
            ),
            glows: std::array::from_fn(|kind| {
                pipeline(
                    device,
                    &Kind {
                        label: "lights",
                        module: &lights,
                        layout: &plain,
                        buffers: &glow,
                        topology: PrimitiveTopology::TriangleStrip,
                        blend: Some(ADD),
                        depth: Some(CompareFunction::Less),
                        writes_depth: false,
                        samples,
                        fixed: &[("KIND", kind as f64)],
                    },
                    direct,
                )
            }),
        }
    }
}

fn instances<'a, T>(attributes: &'a [wgpu::VertexAttribute]) -> VertexBufferLayout<'a> {
    VertexBufferLayout {
        array_stride: size_of::<T>() as u64,
        step_mode: VertexStepMode::Instance,
        attributes,
    }
}

fn layout(device: &Device, groups: &[Option<&BindGroupLayout>]) -> PipelineLayout {
    device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("picture"),
        bind_group_layouts: groups,
        immediate_size: 0,
    })
}

fn pipeline(device: &Device, kind: &Kind<'_>, direct: Option<TextureFormat>) -> RenderPipeline {
    let direct_or_not = if direct.is_some() { 1.0 } else { 0.0 };
    let mut constants = vec![("DIRECT", direct_or_not), ("SHADOWS", 1.0 - direct_or_not)];
    constants.extend(kind.fixed.iter().copied());
    let options = wgpu::PipelineCompilationOptions {
        constants: &constants,
        ..Default::default()
    };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(kind.label),
        layout: Some(kind.layout),
        vertex: VertexState {
            module: kind.module,
            entry_point: Some("vertex"),
            compilation_options: options.clone(),
            buffers: kind.buffers,
        },
        primitive: PrimitiveState {
            topology: kind.topology,
            // Leaves and grass are drawn from both sides; nothing else is large enough to gain by culling.
            cull_mode: None,
            ..Default::default()
        },
        depth_stencil: kind.depth.map(|compare| DepthStencilState {
            format: DEPTH_FORMAT,
            depth_write_enabled: Some(kind.writes_depth),
            depth_compare: Some(compare),
            stencil: Default::default(),
            bias: Default::default(),
        }),
        multisample: MultisampleState {
            count: kind.samples,
            ..Default::default()
        },
        fragment: Some(FragmentState {
            module: kind.module,
            entry_point: Some("fragment"),
            compilation_options: options,
            targets: &[Some(ColorTargetState {
                format: direct.unwrap_or(LIGHT_FORMAT),
                blend: kind.blend,
                write_mask: ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    })
}

fn shadow_pipeline(
    device: &Device,
    module: &ShaderModule,
    layout: &PipelineLayout,
    buffers: &[Option<VertexBufferLayout<'_>>],
    posed: f64,
) -> RenderPipeline {
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("shadows"),
        layout: Some(layout),
        vertex: VertexState {
            module,
            entry_point: Some("shadow_vertex"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[("POSED", posed)],
                ..Default::default()
            },
            buffers,
        },
        primitive: PrimitiveState::default(),
        depth_stencil: Some(DepthStencilState {
            format: DEPTH_FORMAT,
            depth_write_enabled: Some(true),
            depth_compare: Some(CompareFunction::Less),
            stencil: Default::default(),
            bias: wgpu::DepthBiasState {
                constant: 1,
                slope_scale: 1.5,
                clamp: 0.0,
            },
        }),
        multisample: MultisampleState::default(),
        fragment: None,
        multiview_mask: None,
        cache: None,
    })
}
