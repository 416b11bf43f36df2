//! A frame into memory, for tests and screenshots: no window, no display.

use std::io;
use std::path::Path;

use wgpu::{Buffer, Texture, TextureFormat, TextureUsages};

use super::context::Context;
use super::renderer::{Quality, Renderer};
use super::targets::{texture, view};
use crate::picture::DrawList;
use crate::picture::ground::GroundPaint;

/// What pictures in memory are made of.
const FORMAT: TextureFormat = TextureFormat::Rgba8Unorm;

/// A renderer that draws into memory.
#[derive(Debug)]
pub struct Offscreen {
    context: Context,
    renderer: Renderer,
    size: (u32, u32),
    target: Texture,
    readback: Buffer,
}

/// A finished picture: rows from top to bottom, four bytes a pixel (red, green, blue, opacity).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Pixels a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// `4 · width · height` bytes.
    pub rgba: Vec<u8>,
}

impl Offscreen {
    /// Sets up for pictures of `size` pixels.
    pub fn new(context: Context, quality: Quality, size: (u32, u32)) -> Self {
        let size = (size.0.max(1), size.1.max(1));
        let device = &context.device;
        let target = texture(
            device,
            "picture",
            size,
            FORMAT,
            1,
            TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
        );
        let readback = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("readback"),
            size: u64::from(row_bytes(size.0)) * u64::from(size.1),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let renderer = Renderer::new(device, quality, FORMAT, size);
        Self {
            context,
            renderer,
            size,
            target,
            readback,
        }
    }

    /// The device it draws with.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Draws a frame, then lets `over` draw on top of it (the HUD), and waits until it is done.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn draw(
        &mut self,
        list: &DrawList,
        paint: &mut GroundPaint,
        over: impl FnOnce(&Context, &mut wgpu::CommandEncoder, &wgpu::TextureView),
    ) -> io::Result<Pixels> {
        let Context { device, queue, .. } = &self.context;
        self.renderer.upload(device, queue, list, paint);
        let mut encoder = device.create_command_encoder(&Default::default());
        let target = view(&self.target);
        self.renderer.encode(&mut encoder, list, &target);
        over(&self.context, &mut encoder, &target);
        encoder.copy_texture_to_buffer(
            self.target.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &self.readback,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(row_bytes(self.size.0)),
                    rows_per_image: None,
                },
            },
            self.target.size(),
        );
        queue.submit([encoder.finish()]);
        self.read()
    }

    fn read(&self) -> io::Result<Pixels> {
        let (width, height) = self.size;
        let (sender, receiver) = crossbeam_channel::bounded(1);
        self.readback.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver lives until the answer came; see below.
            let _ = sender.send(result);
        });
        let lost =
            |what: &str| io::Error::other(format!("the graphics device was lost while drawing: {what}"));
        self.context
            .device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| lost(&error.to_string()))?;
        receiver
            .try_recv()
            .map_err(|_| lost("no answer"))?
            .map_err(|error| lost(&error.to_string()))?;
        let mut rgba = Vec::with_capacity((width * height * 4) as usize);
        {
            let mapped = self
                .readback
                .get_mapped_range(..)
                .map_err(|error| lost(&error.to_string()))?;
            for row in mapped.chunks(row_bytes(width) as usize) {
                rgba.extend_from_slice(&row[..(width * 4) as usize]);
            }
        }
        self.readback.unmap();
        Ok(Pixels { width, height, rgba })
    }
}

impl Pixels {
    /// Writes a PNG file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_png(&self, path: &Path) -> io::Result<()> {
        let file = io::BufWriter::new(std::fs::File::create(path)?);
        let mut encoder = png::Encoder::new(file, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_image_data(&self.rgba).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)
    }
}

/// Bytes of a row in a buffer: copies want them rounded up.
fn row_bytes(width: u32) -> u32 {
    (width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT)
}
