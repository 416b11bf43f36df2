//! Draws a draw list: the passes in their order.

use wgpu::util::{BufferInitDescriptor, DeviceExt as _};
use wgpu::{
    Buffer, BufferUsages, CommandEncoder, Device, LoadOp, Operations, Queue, RenderPass, StoreOp,
    TextureFormat, TextureUsages, TextureView,
};

use super::backdrop::Backdrop;
use super::context::Context;
use super::light::{FrameUniform, Light};
use super::pipelines::{DEPTH_FORMAT, LIGHT_FORMAT, Pipelines, WAVE_VERTICES};
use super::post::Post;
use super::resources::{Lists, texture, view};
use crate::picture::draw_list::{DecalKind, DrawList, FrameLook};
use crate::picture::ground::GroundPaint;
use crate::picture::mesh::Vertex;
use crate::picture::palette::Mood;
use crate::picture::{CameraPose, Detail, Shape};

/// What is drawn, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// For processors that draw by themselves: no thrown shadows, no glow round bright things, fewer triangles, and edges
    /// that are smooth on a graphics card only.
    Swift,
    /// For graphics cards, and for pictures that may take their time.
    Fine,
}

impl Quality {
    pub fn name(self) -> &'static str {
        match self {
            Self::Swift => "swift",
            Self::Fine => "fine",
        }
    }

    pub fn detail(self) -> Detail {
        match self {
            Self::Swift => Detail::SWIFT,
            Self::Fine => Detail::FINE,
        }
    }

    fn samples(self, is_software: bool) -> u32 {
        match self {
            // Four make a frame cost a processor two to three times as much, and a graphics card next to nothing.
            Self::Swift if is_software => 1,
            Self::Swift | Self::Fine => 4,
        }
    }

    fn shadow_side(self) -> u32 {
        match self {
            Self::Swift => 1,
            Self::Fine => 2048,
        }
    }

    fn has_shadows(self) -> bool {
        self == Self::Fine
    }
}

#[derive(Debug)]
pub struct Renderer {
    quality: Quality,
    samples: u32,
    pipelines: Pipelines,
    light: Light,
    targets: Targets,
    ending: Ending,
    meshes: Buffer,
    /// First corner and number of corners of each shape's mesh.
    mesh_ranges: [(u32, u32); Shape::COUNT],
    /// Bodies, marks, waves and lights, in this order.
    instances: Lists,
}

/// What is on either side of the picture's own pass.
#[derive(Debug)]
enum Ending {
    /// The picture goes to the screen at once, over a background that is kept.
    Direct(Box<Backdrop>),
    /// The picture is light, and steps follow that bring it to the screen.
    Post(Box<Post>),
}

/// The textures that a frame passes through; made anew when the size changes.
#[derive(Debug)]
struct Targets {
    size: (u32, u32),
    /// What is drawn on, when there are several samples a pixel.
    samples: Option<TextureView>,
    depth: TextureView,
}

impl Targets {
    fn new(device: &Device, size: (u32, u32), samples: u32, format: TextureFormat) -> Self {
        let drawn = TextureUsages::RENDER_ATTACHMENT;
        Self {
            size,
            samples: (samples > 1).then(|| view(&texture(device, "samples", size, format, samples, drawn))),
            depth: view(&texture(device, "depth", size, DEPTH_FORMAT, samples, drawn)),
        }
    }
}

/// Places of kinds among a frame's instances; bodies begin at 0.
const FIRST_DECAL: usize = Shape::COUNT;
const WAVES: usize = FIRST_DECAL + DecalKind::COUNT;
const FIRST_GLOW: usize = WAVES + 1;

/// Shapes too small or too transparent for their shadow to be seen.
const SHADOWLESS: [Shape; 4] = [Shape::Speck, Shape::Tuft, Shape::Pebble, Shape::Flower];

impl Renderer {
    /// Sets up for pictures of `size` pixels in `output` format, which must not be one of the sRGB formats: the last
    /// step encodes by itself, as the HUD's painter does.
    pub fn new(context: &Context, quality: Quality, output: TextureFormat, size: (u32, u32)) -> Self {
        Self::for_adapter(context, context.is_software(), quality, output, size)
    }

    /// Draws as on a graphics card (`is_software` is false) or as on a processor, whichever adapter there is.
    pub fn for_adapter(
        context: &Context,
        is_software: bool,
        quality: Quality,
        output: TextureFormat,
        size: (u32, u32),
    ) -> Self {
        let device = &context.device;
        assert!(
            !output.is_srgb(),
            "the picture leaves encoded; {output:?} would encode it again"
        );
        let light = Light::new(device, quality.shadow_side());
        let backdrop_layout = Backdrop::layout(device);
        let direct = (quality == Quality::Swift).then_some(output);
        let layouts = [&light.frame_layout, &light.lit_layout, &backdrop_layout];
        let samples = quality.samples(is_software);
        let pipelines = Pipelines::new(device, layouts, samples, direct);
        let size = (size.0.max(1), size.1.max(1));
        let targets = Targets::new(device, size, samples, direct.unwrap_or(LIGHT_FORMAT));
        let ending = match quality {
            Quality::Fine => Ending::Post(Box::new(Post::new(device, output, size))),
            Quality::Swift => Ending::Direct(Box::new(Backdrop::new(device, backdrop_layout, output, size))),
        };
        let (meshes, mesh_ranges) = upload_meshes(device);
        Self {
            quality,
            samples,
            pipelines,
            light,
            targets,
            ending,
            meshes,
            mesh_ranges,
            instances: Lists::new(device, "instances"),
        }
    }

    pub fn quality(&self) -> Quality {
        self.quality
    }

    /// Follows a new size of the picture, in pixels; a side of 0 counts as 1.
    pub fn resize(&mut self, device: &Device, size: (u32, u32)) {
        if size == self.targets.size {
            return;
        }
        let size = (size.0.max(1), size.1.max(1));
        let format = match &mut self.ending {
            Ending::Post(post) => {
                post.resize(device, size);
                LIGHT_FORMAT
            }
            Ending::Direct(backdrop) => {
                backdrop.resize(device, size);
                backdrop.format
            }
        };
        self.targets = Targets::new(device, size, self.samples, format);
    }

    /// Gives the lists and the changed rows of the paint to the device. Each call is followed by one of
    /// [`Self::encode`], since what is kept from frame to frame is kept in step with it.
    pub fn upload(&mut self, device: &Device, queue: &Queue, list: &DrawList, paint: &mut GroundPaint) {
        let kinds = bytes_of(&list.bodies)
            .chain(bytes_of(&list.decals))
            .chain(bytes_of(std::slice::from_ref(&list.waves)))
            .chain(bytes_of(&list.glows));
        self.instances.upload(device, queue, kinds);
        let nothing = empty_look(self.targets.size);
        let look = list.frame.as_ref().unwrap_or(&nothing);
        // Paint that does not show can wait until it does.
        let painted = look.paint_shows && self.light.upload_paint(device, queue, paint);
        let uniform = FrameUniform::new(look, self.targets.size, self.quality.shadow_side());
        self.light.set_frame(queue, &uniform);
        match &mut self.ending {
            Ending::Direct(backdrop) => backdrop.follow(&uniform, painted),
            Ending::Post(post) => post.set(queue, look.mood.bloom * 0.55),
        }
    }

    /// Draws what was uploaded on `output`, which has the size last given.
    pub fn encode(&self, encoder: &mut CommandEncoder, list: &DrawList, output: &TextureView) {
        if list.frame.is_some() && self.quality.has_shadows() {
            self.encode_shadows(encoder);
        }
        match &self.ending {
            Ending::Post(post) => {
                self.encode_picture(encoder, list, post.picture());
                post.encode(encoder, output);
            }
            Ending::Direct(backdrop) => {
                let groups = [&self.light.frame, &self.light.lit];
                let look = list.frame.as_ref();
                backdrop.encode(encoder, &self.pipelines, groups, look);
                self.encode_picture(encoder, list, output);
            }
        }
    }

    fn encode_shadows(&self, encoder: &mut CommandEncoder) {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("shadows"),
            depth_stencil_attachment: Some(depth(&self.light.shadow_map, StoreOp::Store)),
            ..Default::default()
        });
        pass.set_bind_group(0, &self.light.frame, &[]);
        self.draw_bodies(&mut pass, &self.pipelines.shadows, |shape| {
            !SHADOWLESS.contains(&shape)
        });
    }

    fn encode_picture(&self, encoder: &mut CommandEncoder, list: &DrawList, onto: &TextureView) {
        let targets = &self.targets;
        let (drawn, resolved) = match &targets.samples {
            Some(samples) => (samples, Some(onto)),
            None => (onto, None),
        };
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: drawn,
                depth_slice: None,
                resolve_target: resolved,
                ops: Operations {
                    load: LoadOp::Clear(wgpu::Color::BLACK),
                    store: if resolved.is_some() {
                        StoreOp::Discard
                    } else {
                        StoreOp::Store
                    },
                },
            })],
            depth_stencil_attachment: Some(depth(&targets.depth, StoreOp::Discard)),
            ..Default::default()
        });
        pass.set_bind_group(0, &self.light.frame, &[]);
        match (&self.ending, &self.pipelines.backdrop) {
            (Ending::Direct(backdrop), Some(pipelines)) => backdrop.draw(&mut pass, pipelines),
            _ => {
                let groups = [&self.light.frame, &self.light.lit];
                self.pipelines
                    .draw_background(&mut pass, groups, list.frame.as_ref(), false);
            }
        }
        if list.frame.is_none() {
            return;
        }
        pass.set_bind_group(1, &self.light.lit, &[]);
        for (kind, pipeline) in self.pipelines.decals.iter().enumerate() {
            self.draw_marks(&mut pass, pipeline, FIRST_DECAL + kind, 4);
        }
        self.draw_marks(&mut pass, &self.pipelines.wave, WAVES, WAVE_VERTICES);
        self.draw_bodies(&mut pass, &self.pipelines.bodies, |_| true);
        for (kind, pipeline) in self.pipelines.glows.iter().enumerate() {
            self.draw_marks(&mut pass, pipeline, FIRST_GLOW + kind, 4);
        }
    }

    /// Draws one kind of instances that have so many corners and no mesh.
    fn draw_marks(
        &self,
        pass: &mut RenderPass<'_>,
        pipeline: &wgpu::RenderPipeline,
        kind: usize,
        corners: u32,
    ) {
        if let Some((instances, copies)) = self.instances.of(kind) {
            pass.set_pipeline(pipeline);
            pass.set_vertex_buffer(0, instances);
            pass.draw(0..corners, 0..copies);
        }
    }

    /// Draws the bodies for which `which` holds; the first pipeline is for still ones, the second for posed ones.
    fn draw_bodies(
        &self,
        pass: &mut RenderPass<'_>,
        pipelines: &[wgpu::RenderPipeline; 2],
        which: impl Fn(Shape) -> bool,
    ) {
        pass.set_vertex_buffer(0, self.meshes.slice(..));
        for (posed, pipeline) in [false, true].into_iter().zip(pipelines) {
            pass.set_pipeline(pipeline);
            for shape in Shape::ALL
                .into_iter()
                .filter(|&shape| shape.is_posed() == posed && which(shape))
            {
                if let Some((instances, copies)) = self.instances.of(shape as usize) {
                    let (first, count) = self.mesh_ranges[shape as usize];
                    pass.set_vertex_buffer(1, instances);
                    pass.draw(first..first + count, 0..copies);
                }
            }
        }
    }
}

fn bytes_of<T: bytemuck::Pod>(lists: &[Vec<T>]) -> impl Iterator<Item = (&[u8], usize)> + Clone {
    lists.iter().map(|list| (bytemuck::cast_slice(list), list.len()))
}

fn depth(view: &TextureView, store: StoreOp) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    wgpu::RenderPassDepthStencilAttachment {
        view,
        depth_ops: Some(Operations {
            load: LoadOp::Clear(1.0),
            store,
        }),
        stencil_ops: None,
    }
}

/// What the background needs while there is no map.
fn empty_look(pixels: (u32, u32)) -> FrameLook {
    let pose = CameraPose {
        target: glam::Vec2::ZERO,
        distance: 10.0,
        yaw: 0.0,
        pitch: 1.0,
    };
    FrameLook {
        view: pose.view(pixels.0, pixels.1),
        mood: Mood {
            bloom: 0.0,
            ..Mood::dusk()
        },
        shadow_reach: 1.0,
        ..Default::default()
    }
}

fn upload_meshes(device: &Device) -> (Buffer, [(u32, u32); Shape::COUNT]) {
    let mut vertices: Vec<Vertex> = Vec::new();
    let ranges = Shape::ALL.map(|shape| {
        let mesh = shape.mesh();
        let range = (vertices.len() as u32, mesh.len() as u32);
        vertices.extend(mesh);
        range
    });
    let buffer = device.create_buffer_init(&BufferInitDescriptor {
        label: Some("meshes"),
        contents: bytemuck::cast_slice(&vertices),
        usage: BufferUsages::VERTEX,
    });
    (buffer, ranges)
}
