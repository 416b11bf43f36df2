//! What the graphics card holds and reads: lists, textures, groups of bindings; and passes. One function for each kind.
//!
//! Which group holds what is said where the group is made.

use std::ops::Range;

use wgpu::{
    BindGroup, BindGroupEntry, BindGroupLayout, BindGroupLayoutEntry, BindingResource, BindingType, Buffer,
    BufferSlice, BufferUsages, Color, CommandEncoder, Device, Extent3d, FilterMode, LoadOp, Operations,
    Queue, RenderPass, Sampler, ShaderModule, ShaderStages, StoreOp, Texture, TextureDescriptor,
    TextureDimension, TextureFormat, TextureUsages, TextureView,
};

/// The lists of a frame (instances, corners, indices), one behind the other in one buffer: one write a frame, however many
/// lists there are. The buffer grows with them, and never shrinks.
#[derive(Debug)]
pub struct Lists {
    label: &'static str,
    buffer: Buffer,
    /// Where each list's bytes are, and how many entries they are; in the order in which they were given.
    runs: Vec<(Range<u64>, u32)>,
}

/// Bytes of a buffer to begin with: enough for a small map, so that most buffers grow never or once.
const FIRST_BYTES: u64 = 16 * 1024;

impl Lists {
    pub fn new(device: &Device, label: &'static str) -> Self {
        Self {
            label,
            buffer: allocate(device, label, FIRST_BYTES),
            runs: Vec::new(),
        }
    }

    /// Replaces all of them by `lists`: the bytes of each, and how many entries they are. Bytes come in fours.
    pub fn upload<'a>(
        &mut self,
        device: &Device,
        queue: &Queue,
        lists: impl Iterator<Item = (&'a [u8], usize)> + Clone,
    ) {
        self.runs.clear();
        let mut needed = 0;
        for (bytes, count) in lists.clone() {
            let count = u32::try_from(count).expect("no list has as many entries as an index has values");
            let begin = needed;
            needed += bytes.len() as u64;
            self.runs.push((begin..needed, count));
        }
        if needed > self.buffer.size() {
            // Twice the need, so that a slowly growing list does not make a new buffer each frame.
            self.buffer = allocate(device, self.label, needed * 2);
        }
        let Some(size) = wgpu::BufferSize::new(needed) else {
            return;
        };
        let Some(mut view) = queue.write_buffer_with(&self.buffer, 0, size) else {
            // The device was lost, which drawing reports.
            return self.runs.clear();
        };
        for ((bytes, _), (run, _)) in lists.zip(&self.runs) {
            view.slice(run.start as usize..run.end as usize)
                .copy_from_slice(bytes);
        }
    }

    /// One of the lists, and how many entries it has, if it has any.
    pub fn of(&self, list: usize) -> Option<(BufferSlice<'_>, u32)> {
        let (bytes, count) = self.runs.get(list).filter(|(_, count)| *count > 0)?;
        Some((self.buffer.slice(bytes.clone()), *count))
    }
}

fn allocate(device: &Device, label: &str, bytes: u64) -> Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT),
        usage: BufferUsages::VERTEX | BufferUsages::INDEX | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

pub fn shader(device: &Device, label: &str, source: &str) -> ShaderModule {
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    })
}

pub fn texture(
    device: &Device,
    label: &str,
    sides: (u32, u32),
    format: TextureFormat,
    sample_count: u32,
    usage: TextureUsages,
) -> Texture {
    texture_with_levels(device, label, sides, format, [1, sample_count], usage)
}

pub(super) fn texture_with_levels(
    device: &Device,
    label: &str,
    (width, height): (u32, u32),
    format: TextureFormat,
    [mip_level_count, sample_count]: [u32; 2],
    usage: TextureUsages,
) -> Texture {
    device.create_texture(&TextureDescriptor {
        label: Some(label),
        size: Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        },
        mip_level_count,
        sample_count,
        dimension: TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

pub fn view(texture: &Texture) -> TextureView {
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

pub fn layout(device: &Device, label: &str, entries: &[BindGroupLayoutEntry]) -> BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(label),
        entries,
    })
}

/// A group of these resources, bound in their order.
pub fn group(
    device: &Device,
    label: &str,
    layout: &BindGroupLayout,
    resources: &[BindingResource<'_>],
) -> BindGroup {
    let entries = resources.iter().cloned().zip(0..);
    let entries: Vec<_> = entries
        .map(|(resource, binding)| BindGroupEntry { binding, resource })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some(label),
        layout,
        entries: &entries,
    })
}

pub fn uniform_buffer(device: &Device, label: &str, bytes: usize) -> Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes as u64,
        usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// A sampler that reads between texels in this way, and not beyond the edge.
pub fn filter(device: &Device, label: &str, filter: FilterMode) -> Sampler {
    device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some(label),
        mag_filter: filter,
        min_filter: filter,
        ..Default::default()
    })
}

/// A pass without depth that draws on `view`: over what is there, or on black.
pub fn color_pass<'a>(
    encoder: &'a mut CommandEncoder,
    label: &str,
    view: &TextureView,
    is_over: bool,
) -> RenderPass<'a> {
    let load = match is_over {
        true => LoadOp::Load,
        false => LoadOp::Clear(Color::BLACK),
    };
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some(label),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view,
            depth_slice: None,
            resolve_target: None,
            ops: Operations {
                load,
                store: StoreOp::Store,
            },
        })],
        ..Default::default()
    })
}

pub fn uniform(binding: u32, stages: ShaderStages) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: stages,
        ty: BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}

/// A picture that fragments read, smoothly.
pub fn picture(binding: u32) -> BindGroupLayoutEntry {
    texture_entry(binding, wgpu::TextureSampleType::Float { filterable: true })
}

/// A depth map that fragments compare with.
pub(super) fn depth(binding: u32) -> BindGroupLayoutEntry {
    texture_entry(binding, wgpu::TextureSampleType::Depth)
}

pub fn sampler(binding: u32, kind: wgpu::SamplerBindingType) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::FRAGMENT,
        ty: BindingType::Sampler(kind),
        count: None,
    }
}

fn texture_entry(binding: u32, sample_type: wgpu::TextureSampleType) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::FRAGMENT,
        ty: BindingType::Texture {
            sample_type,
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        },
        count: None,
    }
}

/// Writes a rectangle of a texture of four bytes a texel, whose least corner is `[x, y]`: `texels` are its rows, one behind
/// the other, of `width` texels each.
pub fn write_texels<T: bytemuck::Pod>(
    queue: &Queue,
    texture: &Texture,
    mip_level: u32,
    [x, y]: [u32; 2],
    width: u32,
    texels: &[T],
) {
    let texels: &[u8] = bytemuck::cast_slice(texels);
    queue.write_texture(
        wgpu::TexelCopyTextureInfo {
            texture,
            mip_level,
            origin: wgpu::Origin3d { x, y, z: 0 },
            aspect: wgpu::TextureAspect::All,
        },
        texels,
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(width * 4),
            rows_per_image: None,
        },
        wgpu::Extent3d {
            width,
            height: texels.len() as u32 / (width * 4).max(1),
            depth_or_array_layers: 1,
        },
    );
}
