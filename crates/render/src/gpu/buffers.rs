//! Buffers that grow with what is put into them, and never shrink.

use std::ops::Range;

use bytemuck::Pod;
use wgpu::{Buffer, BufferUsages, Device, Queue};

/// Corners or indices of one kind on the graphics card.
#[derive(Debug)]
pub struct InstanceBuffer {
    label: &'static str,
    buffer: Buffer,
}

/// Bytes of a buffer to begin with: enough for a small map, so that most buffers grow never or once.
const FIRST_BYTES: u64 = 16 * 1024;

impl InstanceBuffer {
    pub fn new(device: &Device, label: &'static str) -> Self {
        Self {
            label,
            buffer: allocate(device, label, FIRST_BYTES),
        }
    }

    pub fn upload<T: Pod>(&mut self, device: &Device, queue: &Queue, items: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(items);
        let needed = bytes.len() as u64;
        if needed > self.buffer.size() {
            // Twice the need, so that a slowly growing list does not make a new buffer each frame.
            self.buffer = allocate(device, self.label, needed * 2);
        }
        if !bytes.is_empty() {
            queue.write_buffer(&self.buffer, 0, bytes);
        }
    }

    pub fn slice(&self) -> wgpu::BufferSlice<'_> {
        self.buffer.slice(..)
    }
}

/// The instances of a whole frame, kind after kind in one buffer: one write a frame, however many kinds there are.
#[derive(Debug)]
pub struct FrameInstances {
    buffer: Buffer,
    /// Where each kind's bytes are, and how many instances; in the order in which they were given.
    runs: Vec<(Range<u64>, u32)>,
}

impl FrameInstances {
    pub fn new(device: &Device) -> Self {
        Self {
            buffer: allocate(device, "instances", FIRST_BYTES),
            runs: Vec::new(),
        }
    }

    /// Replaces all of them by those of `kinds`: the bytes of each kind, and how many instances they are.
    pub fn upload<'a>(
        &mut self,
        device: &Device,
        queue: &Queue,
        kinds: impl Iterator<Item = (&'a [u8], usize)> + Clone,
    ) {
        self.runs.clear();
        let mut needed = 0;
        for (bytes, count) in kinds.clone() {
            let count = u32::try_from(count).expect("no list has as many entries as an index has values");
            let begin = needed;
            needed += bytes.len() as u64;
            self.runs.push((begin..needed, count));
        }
        if needed > self.buffer.size() {
            self.buffer = allocate(device, "instances", needed * 2);
        }
        let Some(size) = wgpu::BufferSize::new(needed) else {
            return;
        };
        let Some(mut view) = queue.write_buffer_with(&self.buffer, 0, size) else {
            // The device was lost, which drawing reports.
            return self.runs.clear();
        };
        for ((bytes, _), (run, _)) in kinds.zip(&self.runs) {
            view.slice(run.start as usize..run.end as usize)
                .copy_from_slice(bytes);
        }
    }

    /// The instances of one kind and how many there are, if there are any.
    pub fn of(&self, kind: usize) -> Option<(wgpu::BufferSlice<'_>, u32)> {
        let (bytes, count) = self.runs.get(kind).filter(|(_, count)| *count > 0)?;
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
