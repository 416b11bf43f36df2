//! What shaders read besides instances: the frame's numbers, the map of shadows, the ground's paint.

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Vec2, Vec3, Vec4};
use wgpu::{
    BindGroup, BindGroupLayout, BindingResource, Buffer, Device, Queue, Sampler, Texture, TextureFormat,
    TextureUsages, TextureView,
};

use super::pipelines::DEPTH_FORMAT;
use super::resources::{self, texture, texture_with_levels, view};
use crate::picture::draw_list::FrameLook;
use crate::picture::ground::GroundPaint;

#[derive(Debug)]
pub(super) struct Light {
    uniform: Buffer,
    /// The frame's numbers; first in every pipeline.
    pub(super) frame: BindGroup,
    pub(super) frame_layout: BindGroupLayout,
    /// Shadows, paint and crowd; second where things are lit.
    pub(super) lit: BindGroup,
    pub(super) lit_layout: BindGroupLayout,
    /// What the sun sees, to be drawn on.
    pub(super) shadow_map: TextureView,
    /// Of shadows and of paint.
    samplers: [Sampler; 2],
    paint: Texture,
    crowd: Texture,
}

impl Light {
    /// With a map of shadows of so many pixels a side.
    pub(super) fn new(device: &Device, shadow_side: u32) -> Self {
        let frame_entries = [resources::uniform(0, wgpu::ShaderStages::VERTEX_FRAGMENT)];
        let frame_layout = resources::layout(device, "frame", &frame_entries);
        let lit_entries = [
            resources::depth(0),
            resources::sampler(1, wgpu::SamplerBindingType::Comparison),
            resources::picture(2),
            resources::sampler(3, wgpu::SamplerBindingType::Filtering),
            resources::picture(4),
        ];
        let lit_layout = resources::layout(device, "light", &lit_entries);
        let uniform = resources::uniform_buffer(device, "frame", size_of::<FrameUniform>());
        let frame = resources::group(device, "frame", &frame_layout, &[uniform.as_entire_binding()]);
        let shadow_map = view(&texture(
            device,
            "shadows",
            (shadow_side, shadow_side),
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
        let paint_sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("paint"),
            // The paint goes round as the map does.
            address_mode_u: wgpu::AddressMode::Repeat,
            address_mode_v: wgpu::AddressMode::Repeat,
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            mipmap_filter: wgpu::MipmapFilterMode::Linear,
            ..Default::default()
        });
        let paint = paint_texture(device, "paint", (1, 1), 1);
        let crowd = paint_texture(device, "crowd", (1, 1), 1);
        let samplers = [shadow_sampler, paint_sampler];
        Self {
            uniform,
            frame,
            frame_layout,
            lit: lit_group(device, &lit_layout, &shadow_map, &samplers, [&paint, &crowd]),
            lit_layout,
            shadow_map,
            samplers,
            paint,
            crowd,
        }
    }

    pub(super) fn set_frame(&self, queue: &Queue, frame: &FrameUniform) {
        queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(frame));
    }

    /// Gives some of the paint that changed to the device; answers whether there was any.
    pub(super) fn upload_paint(&mut self, device: &Device, queue: &Queue, paint: &mut GroundPaint) -> bool {
        let Some(size) = paint.size() else {
            return false;
        };
        let sides = (u32::from(size.width()), u32::from(size.height()));
        let crowd_sides = paint.crowd().sides();
        let is_another = |texture: &Texture, sides: (u32, u32)| (texture.width(), texture.height()) != sides;
        if is_another(&self.paint, sides) || (crowd_sides.0 > 0 && is_another(&self.crowd, crowd_sides)) {
            self.paint = paint_texture(device, "paint", sides, paint.levels().len() as u32);
            self.crowd = paint_texture(device, "crowd", (crowd_sides.0.max(1), crowd_sides.1.max(1)), 1);
            let paints = [&self.paint, &self.crowd];
            self.lit = lit_group(device, &self.lit_layout, &self.shadow_map, &self.samplers, paints);
            paint.forget_uploads();
        }
        let mut changed = false;
        if let Some(texels) = paint.crowd_mut().take_new() {
            changed = true;
            resources::write_texels(queue, &self.crowd, 0, [0, 0], crowd_sides.0, texels);
        }
        let mut bands = paint.take_budget();
        while bands > 0
            && let Some(rows) = paint.take_dirty()
        {
            bands -= 1;
            changed = true;
            for (number, level) in paint.levels().iter().enumerate() {
                let first = rows.start >> number;
                let end = rows.end.div_ceil(1 << number).min(level.height);
                if first < end {
                    let texels = &level.texels[(first * level.width) as usize..(end * level.width) as usize];
                    resources::write_texels(
                        queue,
                        &self.paint,
                        number as u32,
                        [0, first],
                        level.width,
                        texels,
                    );
                }
            }
        }
        changed
    }
}

fn lit_group(
    device: &Device,
    layout: &BindGroupLayout,
    shadow_map: &TextureView,
    [of_shadows, of_paint]: &[Sampler; 2],
    [paint, crowd]: [&Texture; 2],
) -> BindGroup {
    let resources = [
        BindingResource::TextureView(shadow_map),
        BindingResource::Sampler(of_shadows),
        BindingResource::TextureView(&view(paint)),
        BindingResource::Sampler(of_paint),
        BindingResource::TextureView(&view(crowd)),
    ];
    resources::group(device, "light", layout, &resources)
}

fn paint_texture(device: &Device, label: &str, sides: (u32, u32), levels: u32) -> Texture {
    let usage = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST;
    texture_with_levels(
        device,
        label,
        sides,
        TextureFormat::Rgba8Unorm,
        [levels, 1],
        usage,
    )
}

/// What the shaders are given of a frame; the layout is that of `frame.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct FrameUniform {
    clip_from_world: Mat4,
    shadow_from_world: Mat4,
    eye: Vec4,
    right: Vec4,
    up: Vec4,
    window: Vec4,
    map: Vec4,
    grid: Vec4,
    grid_cells: Vec4,
    detail: Vec4,
    /// The first seven are the light, the others what the ground is made of.
    mood: [Vec4; 12],
    viewport: Vec4,
}

impl FrameUniform {
    pub(super) fn new(look: &FrameLook, pixels: (u32, u32), shadow_side: u32) -> Self {
        let (view, window, mood) = (&look.view, &look.window, &look.mood);
        let (width, height) = (pixels.0 as f32, pixels.1 as f32);
        let fog_end = view.eye.distance(view.target) * 3.2 + 14.0;
        let [detail, no_detail] = look.detail_until;
        let [ground_a, ground_b] = mood.ground;
        let light = [
            mood.sun_direction,
            mood.sun,
            mood.ambient_above,
            mood.ambient_below,
        ];
        let sky = [mood.sky_top, mood.sky_bottom, mood.sky_glow, ground_a];
        let ground = [ground_b, mood.ground_patch, mood.seam, mood.rim];
        let colors = [light, sky, ground].map(|four| four.map(|color| color.extend(0.0)));
        Self {
            clip_from_world: view.clip_from_world,
            shadow_from_world: shadow_from_world(look),
            eye: view.eye.extend(look.units),
            right: view.right.extend(look.paint_everywhere),
            up: view.up.extend(fog_end),
            window: Vec4::from((window.middle, window.half)),
            map: Vec4::from((window.sides(), Vec2::new(window.margin, window.land))),
            grid: Vec4::from((look.ground.least, look.ground.cell)),
            grid_cells: Vec4::new(look.ground.cells.0 as f32, 0.0, 0.0, 0.0),
            detail: Vec4::new(detail, no_detail, 1.0 / shadow_side as f32, look.style_paint),
            mood: bytemuck::cast(colors),
            viewport: Vec4::new(width, height, 1.0 / width, 1.0 / height),
        }
    }

    /// Whether sky and ground are the same in both, whatever light they lie in: the eye has not moved by as much as can
    /// be seen, and nothing else that they show has changed.
    pub(super) fn has_the_background_of(&self, other: &Self) -> bool {
        /// A part of the eye's distance; a fiftieth of a pixel in a picture of usual size.
        const UNSEEN: f32 = 2e-5;
        let unseen = self.eye.y.abs() * UNSEEN;
        let near = |one: Vec4, two: Vec4, most: f32| (one - two).truncate().abs().max_element() <= most;
        near(self.eye, other.eye, unseen)
            && near(self.right, other.right, UNSEEN)
            && near(self.up, other.up, UNSEEN)
            && near(self.window, other.window, unseen)
            && self.all_but_the_eye() == other.all_but_the_eye()
            && self.mood[7..] == other.mood[7..]
    }

    pub(super) fn has_the_light_of(&self, other: &Self) -> bool {
        self.mood[..7] == other.mood[..7]
    }

    /// What the background depends on besides the eye and the mood.
    fn all_but_the_eye(&self) -> [Vec4; 3] {
        let single = Vec4::new(self.right.w, self.window.w, self.detail.w, 0.0);
        [single, self.map, self.viewport]
    }
}

/// The sun's own camera: parallel rays over a square around what is looked at.
///
/// The square moves in whole steps of the map of shadows, since edges would crawl otherwise while the eye moves.
fn shadow_from_world(look: &FrameLook) -> Mat4 {
    let reach = look.shadow_reach;
    let towards = look.mood.sun_direction;
    let turn = turn_to(towards);
    let step = reach * 2.0 / 1024.0;
    let middle = turn.transform_point3(look.view.target);
    let middle = Vec3::new(
        (middle.x / step).round() * step,
        (middle.y / step).round() * step,
        middle.z,
    );
    // Depth runs from 0 towards the sun to 1 away from it; a few tiles of height are all there is, but the ground
    // slants through the whole square.
    let depth = reach * 1.5 + 3.0;
    Mat4::from_cols(
        Vec4::new(1.0 / reach, 0.0, 0.0, 0.0),
        Vec4::new(0.0, 1.0 / reach, 0.0, 0.0),
        Vec4::new(0.0, 0.0, -0.5 / depth, 0.0),
        Vec4::new(
            -middle.x / reach,
            -middle.y / reach,
            0.5 + 0.5 * middle.z / depth,
            1.0,
        ),
    ) * turn
}

/// A turn of the world in which `z` points to the sun.
fn turn_to(sun: Vec3) -> Mat4 {
    let z = sun.normalize();
    let x = Vec3::Y.cross(z).normalize();
    let y = z.cross(x);
    Mat4::from_cols(x.extend(0.0), y.extend(0.0), z.extend(0.0), Vec4::W).transpose()
}
