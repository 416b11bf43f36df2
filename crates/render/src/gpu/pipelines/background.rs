//! The pipelines of what is behind everything: sky, ground, and both of them kept from frame to frame.

use wgpu::{
    BindGroup, CompareFunction, Device, PipelineLayout, PrimitiveTopology, RenderPass, RenderPipeline,
    TextureFormat,
};

use super::{Kind, Pipelines, pipeline};
use crate::gpu::shaders;
use crate::picture::draw_list::FrameLook;

/// What is behind everything.
#[derive(Debug)]
pub(super) struct Background {
    sky: RenderPipeline,
    /// Without the paint, and with it.
    ground: [RenderPipeline; 2],
}

impl Pipelines {
    /// Draws sky and ground; `coarse` at half of the picture's size. Without `look` there is no ground.
    pub(in crate::gpu) fn draw_background(
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

/// A kept background has no depth: the ground is flat, and what stands on it hides nothing of it.
pub(super) fn backgrounds(
    device: &Device,
    plain: &PipelineLayout,
    lit: &PipelineLayout,
    samples: u32,
    direct: Option<TextureFormat>,
) -> [Background; 2] {
    let sky = shaders::module(device, "sky", shaders::SKY);
    let ground = shaders::module(device, "ground", shaders::GROUND);
    let has_depth = direct.is_none();
    // Where it is kept, it has one sample a pixel: nothing in it has edges that need more.
    let samples = if has_depth { samples } else { 1 };
    [1.0, 2.0].map(|pixel| {
        let make = |label, module, layout, topology, writes_depth, fixed: &[(&'static str, f64)]| {
            let kind = Kind {
                label,
                module,
                layout,
                buffers: &[],
                topology,
                blend: None,
                depth: has_depth.then_some(CompareFunction::LessEqual),
                writes_depth,
                samples,
                fixed,
            };
            pipeline(device, &kind, direct)
        };
        let list = PrimitiveTopology::TriangleList;
        let strip = PrimitiveTopology::TriangleStrip;
        Background {
            sky: make("sky", &sky, plain, list, false, &[("PIXEL", pixel)]),
            ground: [0.0, 1.0].map(|paint| {
                make(
                    "ground",
                    &ground,
                    lit,
                    strip,
                    has_depth,
                    &[("PIXEL", pixel), ("PAINT", paint)],
                )
            }),
        }
    })
}

/// The two pipelines that put a kept background into a picture.
pub(super) fn backdrops(
    device: &Device,
    layout: &PipelineLayout,
    samples: u32,
    direct: Option<TextureFormat>,
) -> [RenderPipeline; 2] {
    let module = shaders::module(device, "backdrop", shaders::BACKDROP);
    [0.0, 1.0].map(|spread| {
        let kind = Kind {
            label: "backdrop",
            module: &module,
            layout,
            buffers: &[],
            topology: PrimitiveTopology::TriangleList,
            blend: None,
            depth: Some(CompareFunction::Always),
            writes_depth: false,
            samples,
            fixed: &[("SPREAD", spread)],
        };
        pipeline(device, &kind, direct)
    })
}
