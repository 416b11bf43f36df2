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
    bytes: Vec<u8>,
    buffer: InstanceBuffer,
    /// Where each kind's bytes are, and how many instances; in the order in which they were added.
    runs: Vec<(Range<u64>, u32)>,
}

impl FrameInstances {
    pub fn new(device: &Device) -> Self {
        Self {
            bytes: Vec::new(),
            buffer: InstanceBuffer::new(device, "instances"),
            runs: Vec::new(),
        }
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.runs.clear();
    }

    /// Adds the instances of the next kinds, a list for each.
    pub fn add<T: Pod>(&mut self, lists: &[Vec<T>]) {
        for list in lists {
            let count =
                u32::try_from(list.len()).expect("no list has as many entries as an index has values");
            let begin = self.bytes.len() as u64;
            self.bytes.extend_from_slice(bytemuck::cast_slice(list));
            self.runs.push((begin..self.bytes.len() as u64, count));
        }
    }

    pub fn upload(&mut self, device: &Device, queue: &Queue) {
        self.buffer.upload(device, queue, &self.bytes);
    }

    /// The instances of one kind and how many there are, if there are any.
    pub fn of(&self, kind: usize) -> Option<(wgpu::BufferSlice<'_>, u32)> {
        let (bytes, count) = self.runs.get(kind).filter(|(_, count)| *count > 0)?;
        Some((self.buffer.buffer.slice(bytes.clone()), *count))
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
