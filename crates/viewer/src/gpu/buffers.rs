//! Buffers that grow with what is put into them, and never shrink.

use bytemuck::Pod;
use wgpu::{Buffer, BufferUsages, Device, Queue};

/// Instances, corners or indices of one kind on the graphics card.
#[derive(Debug)]
pub struct InstanceBuffer {
    label: &'static str,
    buffer: Buffer,
    count: u32,
}

/// Bytes of a buffer to begin with: enough for a small map, so that most buffers grow never or once.
const FIRST_BYTES: u64 = 16 * 1024;

impl InstanceBuffer {
    /// An empty buffer.
    pub fn new(device: &Device, label: &'static str) -> Self {
        Self {
            label,
            buffer: allocate(device, label, FIRST_BYTES),
            count: 0,
        }
    }

    /// Replaces what is in it.
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
        self.count = u32::try_from(items.len()).expect("no list has as many entries as an index has values");
    }

    /// How many instances it holds.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All of its bytes.
    pub fn slice(&self) -> wgpu::BufferSlice<'_> {
        self.buffer.slice(..)
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
