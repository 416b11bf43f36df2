//! The pipelines of the picture: which shader reads which lists, what covers what.

use wgpu::{
    BindGroup, BindGroupLayout, BlendComponent, BlendFactor, BlendOperation, BlendState, ColorTargetState,
    ColorWrites, CompareFunction, DepthBiasState, DepthStencilState, Device, FragmentState, MultisampleState,
    PrimitiveState, PrimitiveTopology, RenderPass, RenderPipeline, ShaderModule, TextureFormat,
    VertexBufferLayout, VertexState, VertexStepMode, vertex_attr_array,
};

use super::resources::shader;
use crate::picture::draw_list::{Decal, DecalKind, FrameLook, Glow, GlowKind, Instance, Wave};
use crate::picture::mesh::Vertex;

// The shaders' texts, each with what it builds on.
macro_rules! source {
    ($($file:literal),+) => { concat!($(include_str!(concat!("shaders/", $file))),+) };
}

const SKY: &str = source!("screen.wgsl", "frame.wgsl", "sky.wgsl");
const GROUND: &str = source!("screen.wgsl", "frame.wgsl", "light.wgsl", "ground.wgsl");
const BACKDROP: &str = source!("screen.wgsl", "frame.wgsl", "backdrop.wgsl");
const BODY: &str = source!("screen.wgsl", "frame.wgsl", "light.wgsl", "body.wgsl");
const DECAL: &str = source!("screen.wgsl", "frame.wgsl", "decal.wgsl");
const WAVE: &str = source!("screen.wgsl", "frame.wgsl", "wave.wgsl");
const GLOW: &str = source!("screen.wgsl", "frame.wgsl", "glow.wgsl");
pub(super) const POST: &str = source!("screen.wgsl", "post.wgsl");

/// Steps of a wave's band; the same number is in `wave.wgsl`.
const WAVE_STEPS: u32 = 96;

/// Light without upper bound, as long as it is not on a screen.
pub(super) const LIGHT_FORMAT: TextureFormat = TextureFormat::Rgba16Float;
pub(super) const DEPTH_FORMAT: TextureFormat = TextureFormat::Depth32Float;

/// Corners drawn for a wave: two a step, and the first two again.
pub(super) const WAVE_VERTICES: u32 = (WAVE_STEPS + 1) * 2;

#[derive(Debug)]
pub(super) struct Pipelines {
    /// The background, in full and at half of the picture's size.
    background: [Background; 2],
    /// A kept background into the picture, from one of the same size and from one of half of it; `None` where the
    /// background is drawn anew each time.
    pub(super) backdrop: Option<[RenderPipeline; 2]>,
    /// Without parts that move, and with them.
    pub(super) bodies: [RenderPipeline; 2],
    /// [`Self::bodies`] as the sun sees them.
    pub(super) shadows: [RenderPipeline; 2],
    pub(super) decals: [RenderPipeline; DecalKind::COUNT],
    pub(super) wave: RenderPipeline,
    pub(super) glows: [RenderPipeline; GlowKind::COUNT],
}

#[derive(Debug)]
struct Background {
    sky: RenderPipeline,
    /// Without the paint, and with it.
    ground: [RenderPipeline; 2],
}

/// Colour times its own opacity is laid over what is there; beyond its opacity it adds.
const OVER: BlendState = BlendState::PREMULTIPLIED_ALPHA_BLENDING;

pub(super) const ADD: BlendState = BlendState {
    color: BlendComponent {
        src_factor: BlendFactor::One,
        dst_factor: BlendFactor::One,
        operation: BlendOperation::Add,
    },
    alpha: BlendComponent::OVER,
};

/// What one pipeline differs in from the others.
#[derive(Debug)]
pub struct Kind<'a> {
    pub label: &'a str,
    pub module: &'a ShaderModule,
    pub vertex: &'a str,
    /// The shader's function for pixels; `None` if only the depth is drawn.
    pub fragment: Option<&'a str>,
    /// Layouts of the groups that it is given.
    pub groups: &'a [&'a BindGroupLayout],
    pub buffers: &'a [Option<VertexBufferLayout<'a>>],
    pub topology: PrimitiveTopology,
    pub format: TextureFormat,
    /// How it is mixed with what is there; `None` covers it.
    pub blend: Option<BlendState>,
    /// `None` where nothing can be in front or behind.
    pub depth: Option<DepthStencilState>,
    pub samples: u32,
    pub constants: &'a [(&'static str, f64)],
}

impl<'a> Kind<'a> {
    /// Triangles without corners of their own, which cover what is there.
    pub fn new(
        label: &'a str,
        module: &'a ShaderModule,
        groups: &'a [&'a BindGroupLayout],
        format: TextureFormat,
    ) -> Self {
        Self {
            label,
            module,
            vertex: "vertex",
            fragment: Some("fragment"),
            groups,
            buffers: &[],
            topology: PrimitiveTopology::TriangleList,
            format,
            blend: None,
            depth: None,
            samples: 1,
            constants: &[],
        }
    }
}

/// Makes a pipeline. Nothing is culled: leaves and grass are drawn from both sides, and nothing else is large enough to
/// gain by it.
pub fn pipeline(device: &Device, kind: &Kind<'_>) -> RenderPipeline {
    let groups: Vec<_> = kind.groups.iter().map(|group| Some(*group)).collect();
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(kind.label),
        bind_group_layouts: &groups,
        immediate_size: 0,
    });
    let options = wgpu::PipelineCompilationOptions {
        constants: kind.constants,
        ..Default::default()
    };
    let target = Some(ColorTargetState {
        format: kind.format,
        blend: kind.blend,
        write_mask: ColorWrites::ALL,
    });
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(kind.label),
        layout: Some(&layout),
        vertex: VertexState {
            module: kind.module,
            entry_point: Some(kind.vertex),
            compilation_options: options.clone(),
            buffers: kind.buffers,
        },
        primitive: PrimitiveState {
            topology: kind.topology,
            ..Default::default()
        },
        depth_stencil: kind.depth.clone(),
        multisample: MultisampleState {
            count: kind.samples,
            ..Default::default()
        },
        fragment: kind.fragment.map(|entry| FragmentState {
            module: kind.module,
            entry_point: Some(entry),
            compilation_options: options,
            targets: std::slice::from_ref(&target),
        }),
        multiview_mask: None,
        cache: None,
    })
}

struct Maker<'a> {
    device: &'a Device,
    samples: u32,
    /// The screen's format if the picture goes there at once.
    direct: Option<TextureFormat>,
}

impl Pipelines {
    pub(super) fn new(
        device: &Device,
        [frame, light, backdrop]: [&BindGroupLayout; 3],
        samples: u32,
        direct: Option<TextureFormat>,
    ) -> Self {
        let maker = Maker {
            device,
            samples,
            direct,
        };
        let [plain, lit] = [&[frame][..], &[frame, light]];
        let format = direct.unwrap_or(LIGHT_FORMAT);
        let vertex = VertexBufferLayout {
            array_stride: size_of::<Vertex>() as u64,
            step_mode: VertexStepMode::Vertex,
            attributes: &vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Unorm8x4, 3 => Uint8x4],
        };
        let body_attributes =
            vertex_attr_array![4 => Float32x4, 5 => Float32x3, 6 => Float32x4, 7 => Unorm8x4, 8 => Unorm8x4];
        let body = [Some(vertex), instances::<Instance>(&body_attributes)];
        let decal_attributes =
            vertex_attr_array![0 => Float32x2, 1 => Float32x2, 2 => Float32x2, 3 => Unorm8x4];
        let decal = [instances::<Decal>(&decal_attributes)];
        let wave_attributes = vertex_attr_array![0 => Float32x2, 1 => Float32x3, 2 => Unorm8x4];
        let wave = [instances::<Wave>(&wave_attributes)];
        let glow_attributes =
            vertex_attr_array![0 => Float32x3, 1 => Float32x2, 2 => Float32x2, 3 => Unorm8x4];
        let glow = [instances::<Glow>(&glow_attributes)];
        let bodies = shader(device, "bodies", BODY);
        let marks = shader(device, "marks", DECAL);
        let waves = shader(device, "waves", WAVE);
        let lights = shader(device, "lights", GLOW);
        let strip = |label, module, buffers, blend, compare, constants: &[(&'static str, f64)]| {
            let kind = Kind {
                buffers,
                topology: PrimitiveTopology::TriangleStrip,
                blend: Some(blend),
                depth: Some(depth(compare, false)),
                samples,
                ..Kind::new(label, module, plain, format)
            };
            maker.make(kind, constants)
        };
        // Drawn right after the ground and before all that stands on it: nothing can be in front.
        let over_ground = CompareFunction::Always;
        Self {
            background: maker.backgrounds(plain, lit),
            backdrop: direct.map(|_| maker.backdrops(&[frame, backdrop])),
            bodies: [0.0, 1.0].map(|posed| {
                let kind = Kind {
                    buffers: &body,
                    depth: Some(depth(CompareFunction::Less, true)),
                    samples,
                    ..Kind::new("bodies", &bodies, lit, format)
                };
                maker.make(kind, &[("POSED", posed)])
            }),
            shadows: [0.0, 1.0].map(|posed| {
                let kind = Kind {
                    vertex: "shadow_vertex",
                    fragment: None,
                    buffers: &body,
                    depth: Some(DepthStencilState {
                        bias: DepthBiasState {
                            constant: 1,
                            slope_scale: 1.5,
                            clamp: 0.0,
                        },
                        ..depth(CompareFunction::Less, true)
                    }),
                    constants: &[("POSED", posed)],
                    ..Kind::new("shadows", &bodies, plain, format)
                };
                pipeline(device, &kind)
            }),
            decals: std::array::from_fn(|kind| {
                strip(
                    "marks",
                    &marks,
                    &decal,
                    OVER,
                    over_ground,
                    &[("KIND", kind as f64)],
                )
            }),
            wave: strip("waves", &waves, &wave, OVER, over_ground, &[]),
            glows: std::array::from_fn(|kind| {
                let compare = CompareFunction::Less;
                strip("lights", &lights, &glow, ADD, compare, &[("KIND", kind as f64)])
            }),
        }
    }

    /// Draws sky and ground; `coarse` at half of the picture's size. Without `look` there is no ground.
    pub(super) fn draw_background(
        &self,
        pass: &mut RenderPass<'_>,
        [frame, light]: [&BindGroup; 2],
        look: Option<&FrameLook>,
        coarse: bool,
    ) {
        let background = &self.background[usize::from(coarse)];
        pass.set_bind_group(0, frame, &[]);
        pass.set_pipeline(&background.sky);
        pass.draw(0..3, 0..1);
        if let Some(look) = look {
            pass.set_bind_group(1, light, &[]);
            pass.set_pipeline(&background.ground[usize::from(look.paint_shows)]);
            pass.draw(0..4, 0..look.ground.cells.0 * look.ground.cells.1);
        }
    }
}

impl Maker<'_> {
    /// Makes a pipeline of the picture, whose shaders know whether it goes to the screen at once.
    fn make(&self, kind: Kind<'_>, constants: &[(&'static str, f64)]) -> RenderPipeline {
        let direct = if self.direct.is_some() { 1.0 } else { 0.0 };
        let constants = [&[("DIRECT", direct), ("SHADOWS", 1.0 - direct)], constants].concat();
        pipeline(
            self.device,
            &Kind {
                constants: &constants,
                ..kind
            },
        )
    }

    /// In full and at half of the size. A kept background has no depth: the ground is flat, and what stands on it hides
    /// nothing of it. It has one sample a pixel: nothing in it has edges that need more.
    fn backgrounds(&self, plain: &[&BindGroupLayout], lit: &[&BindGroupLayout]) -> [Background; 2] {
        let sky = shader(self.device, "sky", SKY);
        let ground = shader(self.device, "ground", GROUND);
        let format = self.direct.unwrap_or(LIGHT_FORMAT);
        let is_kept = self.direct.is_some();
        let samples = if is_kept { 1 } else { self.samples };
        let behind = |writes| (!is_kept).then(|| depth(CompareFunction::LessEqual, writes));
        [1.0, 2.0].map(|pixel| {
            let sky = Kind {
                depth: behind(false),
                samples,
                ..Kind::new("sky", &sky, plain, format)
            };
            Background {
                sky: self.make(sky, &[("PIXEL", pixel)]),
                ground: [0.0, 1.0].map(|paint| {
                    let ground = Kind {
                        topology: PrimitiveTopology::TriangleStrip,
                        depth: behind(true),
                        samples,
                        ..Kind::new("ground", &ground, lit, format)
                    };
                    self.make(ground, &[("PIXEL", pixel), ("PAINT", paint)])
                }),
            }
        })
    }

    /// The two pipelines that put a kept background into a picture.
    fn backdrops(&self, groups: &[&BindGroupLayout]) -> [RenderPipeline; 2] {
        let module = shader(self.device, "backdrop", BACKDROP);
        let format = self.direct.unwrap_or(LIGHT_FORMAT);
        [0.0, 1.0].map(|spread| {
            let kind = Kind {
                depth: Some(depth(CompareFunction::Always, false)),
                samples: self.samples,
                ..Kind::new("backdrop", &module, groups, format)
            };
            self.make(kind, &[("SPREAD", spread)])
        })
    }
}

fn depth(compare: CompareFunction, writes: bool) -> DepthStencilState {
    DepthStencilState {
        format: DEPTH_FORMAT,
        depth_write_enabled: Some(writes),
        depth_compare: Some(compare),
        stencil: Default::default(),
        bias: Default::default(),
    }
}

fn instances<T>(attributes: &[wgpu::VertexAttribute]) -> Option<VertexBufferLayout<'_>> {
    Some(VertexBufferLayout {
        array_stride: size_of::<T>() as u64,
        step_mode: VertexStepMode::Instance,
        attributes,
    })
}
