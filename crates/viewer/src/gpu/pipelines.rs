//! The pipelines of the picture: which shader reads which lists, what covers what.

use wgpu::{
    BindGroupLayout, BlendComponent, BlendFactor, BlendOperation, BlendState, ColorTargetState, ColorWrites,
    CompareFunction, DepthStencilState, Device, FragmentState, MultisampleState, PipelineLayout,
    PrimitiveState, PrimitiveTopology, RenderPipeline, ShaderModule, TextureFormat, VertexBufferLayout,
    VertexState, VertexStepMode, vertex_attr_array,
};

use super::targets::{DEPTH_FORMAT, LIGHT_FORMAT};
use crate::picture::draw_list::{Decal, DecalKind, Glow, GlowKind, Instance, Wave};
use crate::picture::mesh::Vertex;

/// The sources, each with what it builds on.
pub(super) mod sources {
    macro_rules! source {
        ($($file:literal),+) => { concat!($(include_str!(concat!("shaders/", $file))),+) };
    }
    pub(in crate::gpu) const SKY: &str = source!("screen.wgsl", "frame.wgsl", "sky.wgsl");
    pub(in crate::gpu) const GROUND: &str = source!("screen.wgsl", "frame.wgsl", "light.wgsl", "ground.wgsl");
    pub(in crate::gpu) const BODY: &str = source!("screen.wgsl", "frame.wgsl", "light.wgsl", "body.wgsl");
    pub(in crate::gpu) const DECAL: &str = source!("screen.wgsl", "frame.wgsl", "decal.wgsl");
    pub(in crate::gpu) const WAVE: &str = source!("screen.wgsl", "frame.wgsl", "wave.wgsl");
    pub(in crate::gpu) const GLOW: &str = source!("screen.wgsl", "frame.wgsl", "glow.wgsl");
    pub(in crate::gpu) const POST: &str = source!("screen.wgsl", "post.wgsl");
}

/// Steps of a wave's band; the same number is in `wave.wgsl`.
const WAVE_STEPS: u32 = 96;
/// Corners drawn for a wave: two a step, and the first two again.
pub(super) const WAVE_VERTICES: u32 = (WAVE_STEPS + 1) * 2;

#[derive(Debug)]
pub(super) struct Pipelines {
    pub(super) sky: RenderPipeline,
    /// Without the paint, and with it.
    pub(super) ground: [RenderPipeline; 2],
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
    source: &'a str,
    layout: &'a PipelineLayout,
    buffers: &'a [Option<VertexBufferLayout<'a>>],
    topology: PrimitiveTopology,
    blend: Option<BlendState>,
    depth: CompareFunction,
    writes_depth: bool,
    /// What the shader is fixed to, besides what holds for all.
    fixed: Option<(&'static str, f64)>,
}

impl Pipelines {
    /// `direct` is the screen's format if the picture goes there at once.
    pub(super) fn new(
        device: &Device,
        frame: &BindGroupLayout,
        light: &BindGroupLayout,
        samples: u32,
        direct: Option<TextureFormat>,
    ) -> Self {
        let plain = layout(device, &[Some(frame)]);
        let lit = layout(device, &[Some(frame), Some(light)]);
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
        let wave_attributes = vertex_attr_array![0 => Float32x2, 1 => Float32x2, 2 => Unorm8x4];
        let glow_attributes =
            vertex_attr_array![0 => Float32x3, 1 => Float32x2, 2 => Float32x2, 3 => Unorm8x4];
        let make = |kind: &Kind<'_>| pipeline(device, kind, samples, direct);
        Self {
            sky: make(&Kind {
                label: "sky",
                source: sources::SKY,
                layout: &plain,
                buffers: &[],
                topology: PrimitiveTopology::TriangleList,
                blend: None,
                depth: CompareFunction::Always,
                writes_depth: false,
                fixed: None,
            }),
            ground: [0.0, 1.0].map(|paint| {
                make(&Kind {
                    label: "ground",
                    source: sources::GROUND,
                    layout: &lit,
                    buffers: &[],
                    topology: PrimitiveTopology::TriangleStrip,
                    blend: None,
                    depth: CompareFunction::Less,
                    writes_depth: true,
                    fixed: Some(("PAINT", paint)),
                })
            }),
            bodies: [0.0, 1.0].map(|posed| {
                make(&Kind {
                    label: "bodies",
                    source: sources::BODY,
                    layout: &lit,
                    buffers: &body,
                    topology: PrimitiveTopology::TriangleList,
                    blend: None,
                    depth: CompareFunction::Less,
                    writes_depth: true,
                    fixed: Some(("POSED", posed)),
                })
            }),
            shadows: [0.0, 1.0].map(|posed| shadow_pipeline(device, &plain, &body, posed)),
            decals: std::array::from_fn(|kind| {
                make(&Kind {
                    label: "marks",
                    source: sources::DECAL,
                    layout: &plain,
                    buffers: &[Some(instances::<Decal>(&decal_attributes))],
                    topology: PrimitiveTopology::TriangleStrip,
                    blend: Some(OVER),
                    // Drawn right after the ground and before all that stands on it: nothing can be in front.
                    depth: CompareFunction::Always,
                    writes_depth: false,
                    fixed: Some(("KIND", kind as f64)),
                })
            }),
            wave: make(&Kind {
                label: "waves",
                source: sources::WAVE,
                layout: &plain,
                buffers: &[Some(instances::<Wave>(&wave_attributes))],
                topology: PrimitiveTopology::TriangleStrip,
                blend: Some(OVER),
                depth: CompareFunction::Always,
                writes_depth: false,
                fixed: None,
            }),
            glows: std::array::from_fn(|kind| {
                make(&Kind {
                    label: "lights",
                    source: sources::GLOW,
                    layout: &plain,
                    buffers: &[Some(instances::<Glow>(&glow_attributes))],
                    topology: PrimitiveTopology::TriangleStrip,
                    blend: Some(ADD),
                    depth: CompareFunction::Less,
                    writes_depth: false,
                    fixed: Some(("KIND", kind as f64)),
                })
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

pub(super) fn shader(device: &Device, label: &str, source: &str) -> ShaderModule {
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    })
}

fn pipeline(device: &Device, kind: &Kind<'_>, samples: u32, direct: Option<TextureFormat>) -> RenderPipeline {
    let module = shader(device, kind.label, kind.source);
    let direct_or_not = if direct.is_some() { 1.0 } else { 0.0 };
    let mut constants = vec![("DIRECT", direct_or_not), ("SHADOWS", 1.0 - direct_or_not)];
    constants.extend(kind.fixed);
    let options = wgpu::PipelineCompilationOptions {
        constants: &constants,
        ..Default::default()
    };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(kind.label),
        layout: Some(kind.layout),
        vertex: VertexState {
            module: &module,
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
        depth_stencil: Some(DepthStencilState {
            format: DEPTH_FORMAT,
            depth_write_enabled: Some(kind.writes_depth),
            depth_compare: Some(kind.depth),
            stencil: Default::default(),
            bias: Default::default(),
        }),
        multisample: MultisampleState {
            count: samples,
            ..Default::default()
        },
        fragment: Some(FragmentState {
            module: &module,
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
    layout: &PipelineLayout,
    buffers: &[Option<VertexBufferLayout<'_>>],
    posed: f64,
) -> RenderPipeline {
    let module = shader(device, "shadows", sources::BODY);
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("shadows"),
        layout: Some(layout),
        vertex: VertexState {
            module: &module,
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
