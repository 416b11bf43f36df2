//! Buffers that grow with what is put into them, and never shrink.

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
    /// Where each kind's instances are, in bytes, and how many there are; in the order in which they were added.
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    begin: u64,
    bytes: u64,
    count: u32,
}

impl FrameInstances {
    pub fn new(device: &Device) -> Self {
        Self {
            buffer: allocate(device, "instances", FIRST_BYTES),
            runs: Vec::new(),
        }
    }

    /// Replaces all of them. `each` is called with something that takes the kinds in their order, first to measure them
    /// and then to copy them.
    pub fn upload(&mut self, device: &Device, queue: &Queue, each: impl Fn(&mut dyn FnMut(&[u8], usize))) {
        self.runs.clear();
        let mut needed = 0;
        each(&mut |bytes, count| {
            let count = u32::try_from(count).expect("no list has as many entries as an index has values");
            let bytes = bytes.len() as u64;
            self.runs.push(Run {
                begin: needed,
                bytes,
                count,
            });
            needed += bytes;
        });
        if needed > self.buffer.size() {
            self.buffer = allocate(device, "instances", needed * 2);
        }
        let Some(size) = wgpu::BufferSize::new(needed) else {
            return;
        };
        let Some(mut view) = queue.write_buffer_with(&self.buffer, 0, size) else {
            // The device was lost, which drawing reports.
            self.runs.clear();
            return;
        };
        let mut at = 0;
        each(&mut |bytes, _| {
            view.slice(at..at + bytes.len()).copy_from_slice(bytes);
            at += bytes.len();
        });
    }

    /// The instances of one kind and how many there are, if there are any.
    pub fn of(&self, kind: usize) -> Option<(wgpu::BufferSlice<'_>, u32)> {
        let run = self.runs.get(kind).filter(|run| run.count > 0)?;
        Some((self.buffer.slice(run.begin..run.begin + run.bytes), run.count))
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
