//! Draws a draw list: the passes in their order.

use wgpu::{
    BindGroup, BindGroupLayout, Buffer, CommandEncoder, Device, LoadOp, Operations, Queue, RenderPass,
    StoreOp, Texture, TextureFormat, TextureUsages, TextureView,
};

use super::buffers::InstanceBuffer;
use super::pipelines::{Pipelines, WAVE_VERTICES};
use super::post::Post;
use super::targets::{DEPTH_FORMAT, Targets, texture, view};
use super::uniforms::FrameUniform;
use crate::picture::draw_list::{DecalKind, DrawList, GlowKind};
use crate::picture::ground::GroundPaint;
use crate::picture::mesh::Vertex;
use crate::picture::palette::Mood;
use crate::picture::{CameraPose, Detail, Shape};

/// How much beauty is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// For processors that draw by themselves: no thrown shadows, no glow round bright things, fewer triangles.
    Swift,
    /// For graphics cards, and for pictures that may take their time.
    Fine,
}

impl Quality {
    /// How much detail this affords.
    pub fn detail(self) -> Detail {
        match self {
            Self::Swift => Detail::SWIFT,
            Self::Fine => Detail::FINE,
        }
    }

    fn samples(self) -> u32 {
        match self {
            // Four would nearly double what a frame costs a processor.
            Self::Swift => 1,
            Self::Fine => 4,
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

/// Everything that draws the picture on one device.
#[derive(Debug)]
pub struct Renderer {
    quality: Quality,
    pipelines: Pipelines,
    /// The steps after the picture; `None` where it goes to the screen at once.
    post: Option<Post>,
    direct: Option<TextureFormat>,
    targets: Targets,
    frame_uniform: Buffer,
    frame_group: BindGroup,
    light_layout: BindGroupLayout,
    light_group: BindGroup,
    shadow_map: TextureView,
    shadow_sampler: wgpu::Sampler,
    paint: Texture,
    meshes: Buffer,
    /// First corner and number of corners of each shape's mesh.
    mesh_ranges: [(u32, u32); Shape::COUNT],
    bodies: [InstanceBuffer; Shape::COUNT],
    decals: [InstanceBuffer; DecalKind::COUNT],
    waves: InstanceBuffer,
    glows: [InstanceBuffer; GlowKind::COUNT],
}

/// Shapes too small or too transparent for their shadow to be seen.
const SHADOWLESS: [Shape; 3] = [Shape::Speck, Shape::Tuft, Shape::Pebble];

impl Renderer {
    /// Sets up for pictures of `size` pixels in `output` format, which must not be one of the sRGB formats: the last
    /// step encodes by itself, as the HUD's painter does.
    pub fn new(device: &Device, quality: Quality, output: TextureFormat, size: (u32, u32)) -> Self {
        assert!(
            !output.is_srgb(),
            "the picture leaves encoded; {output:?} would encode it again"
        );
        let frame_layout = frame_layout(device);
        let light_layout = light_layout(device);
        let frame_uniform = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("frame"),
            size: size_of::<FrameUniform>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let frame_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("frame"),
            layout: &frame_layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: frame_uniform.as_entire_binding(),
            }],
        });
        let side = quality.shadow_side();
        let shadow_map = view(&texture(
            device,
            "shadows",
            (side, side),
            DEPTH_FORMAT,
            1,
            TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
        ));
        let shadow_sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("shadows"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            compare: Some(wgpu::CompareFunction::LessEqual),
            ..Default::default()
        });
        let paint = paint_texture(device, (1, 1));
        let light_group = light_group(device, &light_layout, &shadow_map, &shadow_sampler, &paint);
        let direct = (quality == Quality::Swift).then_some(output);
        let targets = Targets::new(device, size, quality.samples(), direct);
        let post = targets.light.as_ref().map(|light| {
            let mut post = Post::new(device, output);
            post.resize(device, light);
            post
        });
        let (meshes, mesh_ranges) = upload_meshes(device);
        Self {
            quality,
            pipelines: Pipelines::new(device, &frame_layout, &light_layout, quality.samples(), direct),
            post,
            direct,
            targets,
            frame_uniform,
            frame_group,
            light_layout,
            light_group,
            shadow_map,
            shadow_sampler,
            paint,
            meshes,
            mesh_ranges,
            bodies: std::array::from_fn(|_| InstanceBuffer::new(device, "bodies")),
            decals: std::array::from_fn(|_| InstanceBuffer::new(device, "marks")),
            waves: InstanceBuffer::new(device, "waves"),
            glows: std::array::from_fn(|_| InstanceBuffer::new(device, "lights")),
        }
    }

    /// How much beauty is paid for.
    pub fn quality(&self) -> Quality {
        self.quality
    }

    /// Follows a new size of the picture, in pixels; a side of 0 counts as 1.
    pub fn resize(&mut self, device: &Device, size: (u32, u32)) {
        if size != self.targets.size {
            self.targets = Targets::new(device, size, self.quality.samples(), self.direct);
            if let (Some(post), Some(light)) = (&mut self.post, &self.targets.light) {
                post.resize(device, light);
            }
        }
    }

    /// Gives the lists and the changed rows of the paint to the device.
    pub fn upload(&mut self, device: &Device, queue: &Queue, list: &DrawList, paint: &mut GroundPaint) {
        self.upload_paint(device, queue, paint);
        upload_all(device, queue, &mut self.bodies, &list.bodies);
        upload_all(device, queue, &mut self.decals, &list.decals);
        self.waves.upload(device, queue, &list.waves);
        upload_all(device, queue, &mut self.glows, &list.glows);
        let (uniform, bloom) = match &list.frame {
            Some(look) => (
                FrameUniform::new(look, self.targets.size, self.quality.shadow_side()),
                look.mood.bloom,
            ),
            None => (empty_frame(self.targets.size), 0.0),
        };
        queue.write_buffer(&self.frame_uniform, 0, bytemuck::bytes_of(&uniform));
        if let Some(post) = &self.post {
            post.set_glow(queue, bloom * 0.55);
        }
    }

    /// Draws what was uploaded on `output`, which has the size last given.
    pub fn encode(&self, encoder: &mut CommandEncoder, list: &DrawList, output: &TextureView) {
        if list.frame.is_some() && self.quality.has_shadows() {
            self.encode_shadows(encoder);
        }
        match (&self.post, &self.targets.light) {
            (Some(post), Some(light)) => {
                self.encode_picture(encoder, list, &light.picture);
                post.encode(encoder, light, output);
            }
            _ => self.encode_picture(encoder, list, output),
        }
    }

    fn encode_shadows(&self, encoder: &mut CommandEncoder) {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("shadows"),
            depth_stencil_attachment: Some(depth(&self.shadow_map, StoreOp::Store)),
            ..Default::default()
        });
        pass.set_bind_group(0, &self.frame_group, &[]);
        self.draw_bodies(&mut pass, &self.pipelines.shadows, |shape| !SHADOWLESS.contains(&shape));
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
        pass.set_bind_group(0, &self.frame_group, &[]);
        pass.set_pipeline(&self.pipelines.sky);
        pass.draw(0..3, 0..1);
        let Some(look) = &list.frame else { return };
        pass.set_bind_group(1, &self.light_group, &[]);
        pass.set_pipeline(&self.pipelines.ground[usize::from(look.paint_shows)]);
        pass.draw(0..4, 0..look.ground.cells.0 * look.ground.cells.1);
        for (pipeline, decals) in self.pipelines.decals.iter().zip(&self.decals) {
            draw_marks(&mut pass, pipeline, decals, 4);
        }
        draw_marks(&mut pass, &self.pipelines.wave, &self.waves, WAVE_VERTICES);
        self.draw_bodies(&mut pass, &self.pipelines.bodies, |_| true);
        for (pipeline, glows) in self.pipelines.glows.iter().zip(&self.glows) {
            draw_marks(&mut pass, pipeline, glows, 4);
        }
    }

    /// Draws the bodies for which `which` holds; the first pipeline is for still ones, the second for posed ones.
    fn draw_bodies(&self, pass: &mut RenderPass<'_>, pipelines: &[wgpu::RenderPipeline; 2], which: impl Fn(Shape) -> bool) {
        pass.set_vertex_buffer(0, self.meshes.slice(..));
        for (posed, pipeline) in [false, true].into_iter().zip(pipelines) {
            pass.set_pipeline(pipeline);
            for shape in Shape::ALL.into_iter().filter(|&shape| shape.is_posed() == posed && which(shape)) {
                let instances = &self.bodies[shape as usize];
                if instances.count() > 0 {
                    let (first, count) = self.mesh_ranges[shape as usize];
                    pass.set_vertex_buffer(1, instances.slice());
                    pass.draw(first..first + count, 0..instances.count());
                }
            }
        }
    }

    fn upload_paint(&mut self, device: &Device, queue: &Queue, paint: &mut GroundPaint) {
        let Some(size) = paint.size() else { return };
        let sides = (u32::from(size.width()), u32::from(size.height()));
        if (self.paint.width(), self.paint.height()) != sides {
            self.paint = paint_texture(device, sides);
            self.light_group = light_group(
                device,
                &self.light_layout,
                &self.shadow_map,
                &self.shadow_sampler,
                &self.paint,
            );
            paint.forget_uploads();
        }
        let Some(rows) = paint.take_dirty() else { return };
        let first = (rows.first * sides.0) as usize;
        let texels = &paint.texels()[first..first + (rows.count * sides.0) as usize];
        queue.write_texture(
            wgpu::TexelCopyTextureInfo {
                texture: &self.paint,
                mip_level: 0,
                origin: wgpu::Origin3d {
                    x: 0,
                    y: rows.first,
                    z: 0,
                },
                aspect: wgpu::TextureAspect::All,
            },
            bytemuck::cast_slice(texels),
            wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(sides.0 * 4),
                rows_per_image: None,
            },
            wgpu::Extent3d {
                width: sides.0,
                height: rows.count,
                depth_or_array_layers: 1,
            },
        );
    }
}

fn upload_all<T: bytemuck::Pod>(
    device: &Device,
    queue: &Queue,
    buffers: &mut [InstanceBuffer],
    lists: &[Vec<T>],
) {
    for (buffer, instances) in buffers.iter_mut().zip(lists) {
        buffer.upload(device, queue, instances);
    }
}

fn draw_marks(
    pass: &mut RenderPass<'_>,
    pipeline: &wgpu::RenderPipeline,
    instances: &InstanceBuffer,
    corners: u32,
) {
    if instances.count() > 0 {
        pass.set_pipeline(pipeline);
        pass.set_vertex_buffer(0, instances.slice());
        pass.draw(0..corners, 0..instances.count());
    }
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
fn empty_frame(pixels: (u32, u32)) -> FrameUniform {
    let pose = CameraPose {
        target: glam::Vec2::ZERO,
        distance: 10.0,
        yaw: 0.0,
        pitch: 1.0,
    };
    let look = crate::picture::draw_list::FrameLook {
        view: pose.view(pixels.0, pixels.1),
        window: crate::picture::TorusWindow {
            middle: glam::Vec2::ZERO,
            half: glam::Vec2::ONE,
            margin: 1.0,
        },
        mood: Mood::dusk(),
        units: 0.0,
        detail_until: [1.0, 2.0],
        paint_everywhere: 0.0,
        paint_shows: false,
        shadow_reach: 1.0,
        ground: Default::default(),
    };
    FrameUniform::new(&look, pixels, 1)
}

fn upload_meshes(device: &Device) -> (Buffer, [(u32, u32); Shape::COUNT]) {
    use wgpu::util::DeviceExt as _;
    let mut vertices: Vec<Vertex> = Vec::new();
    let ranges = Shape::ALL.map(|shape| {
        let mesh = shape.mesh();
        let range = (vertices.len() as u32, mesh.len() as u32);
        vertices.extend(mesh);
        range
    });
    let buffer = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("meshes"),
        contents: bytemuck::cast_slice(&vertices),
        usage: wgpu::BufferUsages::VERTEX,
    });
    (buffer, ranges)
}

fn frame_layout(device: &Device) -> BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("frame"),
        entries: &[wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        }],
    })
}

fn light_layout(device: &Device) -> BindGroupLayout {
    let texture = |binding, sample_type| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::FRAGMENT,
        ty: wgpu::BindingType::Texture {
            sample_type,
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        },
        count: None,
    };
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("light"),
        entries: &[
            texture(0, wgpu::TextureSampleType::Depth),
            wgpu::BindGroupLayoutEntry {
                binding: 1,
                visibility: wgpu::ShaderStages::FRAGMENT,
                ty: wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Comparison),
                count: None,
            },
            texture(2, wgpu::TextureSampleType::Float { filterable: false }),
        ],
    })
}

fn light_group(
    device: &Device,
    layout: &BindGroupLayout,
    shadow_map: &TextureView,
    shadow_sampler: &wgpu::Sampler,
    paint: &Texture,
) -> BindGroup {
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("light"),
        layout,
        entries: &[
            wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::TextureView(shadow_map),
            },
            wgpu::BindGroupEntry {
                binding: 1,
                resource: wgpu::BindingResource::Sampler(shadow_sampler),
            },
            wgpu::BindGroupEntry {
                binding: 2,
                resource: wgpu::BindingResource::TextureView(&view(paint)),
            },
        ],
    })
}

fn paint_texture(device: &Device, sides: (u32, u32)) -> Texture {
    texture(
        device,
        "paint",
        sides,
        TextureFormat::Rgba8Unorm,
        1,
        TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
    )
}
