//! A picture in memory: a target without a window, and its way back from the graphics card.

use std::io;
use std::path::Path;

use wgpu::{Buffer, CommandEncoder, Device, Texture, TextureFormat, TextureUsages, TextureView};

use super::context::Context;
use super::resources::{texture, view};

#[derive(Debug)]
pub struct Offscreen {
    size: (u32, u32),
    texture: Texture,
    readback: Buffer,
}

/// A finished picture: rows from top to bottom, four bytes a pixel (red, green, blue, opacity).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    pub width: u32,
    pub height: u32,
    /// `4 · width · height` bytes.
    pub rgba: Vec<u8>,
}

impl Offscreen {
    /// What pictures in memory are made of, unless something else is asked for.
    pub const FORMAT: TextureFormat = TextureFormat::Rgba8Unorm;

    /// A target of `size` pixels, a side of 0 counting as 1, in one of the formats of four bytes a pixel.
    pub fn new(device: &Device, format: TextureFormat, size: (u32, u32)) -> Self {
        let size = (size.0.max(1), size.1.max(1));
        let usage = TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC;
        Self {
            size,
            texture: texture(device, "picture", size, format, 1, usage),
            readback: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("readback"),
                size: u64::from(row_bytes(size.0)) * u64::from(size.1),
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                mapped_at_creation: false,
            }),
        }
    }

    pub fn view(&self) -> TextureView {
        view(&self.texture)
    }

    /// Last of all commands: brings what was drawn to where it can be read.
    pub fn encode_copy(&self, encoder: &mut CommandEncoder) {
        encoder.copy_texture_to_buffer(
            self.texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &self.readback,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(row_bytes(self.size.0)),
                    rows_per_image: None,
                },
            },
            self.texture.size(),
        );
    }

    /// Waits until the commands given to the device are done, and reads the picture.
    pub fn read(&self, context: &Context) -> io::Result<Pixels> {
        let (width, height) = self.size;
        let (sender, receiver) = crossbeam_channel::bounded(1);
        self.readback.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver lives until the answer came; see below.
            let _ = sender.send(result);
        });
        let lost =
            |what: &str| io::Error::other(format!("the graphics device was lost while drawing: {what}"));
        context
            .device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| lost(&error.to_string()))?;
        if let Some(why) = context.lost() {
            return Err(lost(why));
        }
        receiver
            .try_recv()
            .map_err(|_| lost("no answer"))?
            .map_err(|error| lost(&error.to_string()))?;
        let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
        {
            let mapped = self
                .readback
                .get_mapped_range(..)
                .map_err(|error| lost(&error.to_string()))?;
            for row in mapped.chunks(row_bytes(width) as usize) {
                rgba.extend_from_slice(&row[..width as usize * 4]);
            }
        }
        self.readback.unmap();
        let blue_first = matches!(
            self.texture.format(),
            TextureFormat::Bgra8Unorm | TextureFormat::Bgra8UnormSrgb
        );
        for pixel in rgba.chunks_exact_mut(4) {
            if blue_first {
                pixel.swap(0, 2);
            }
            // What is in a file is not looked through, whatever was drawn over each other.
            pixel[3] = u8::MAX;
        }
        Ok(Pixels { width, height, rgba })
    }
}

impl Pixels {
    /// Writes a PNG file: colours alone, since a picture in a file is not looked through.
    pub fn write_png(&self, path: &Path) -> io::Result<()> {
        let rgb: Vec<u8> = self
            .rgba
            .chunks_exact(4)
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .collect();
        let file = io::BufWriter::new(std::fs::File::create(path)?);
        let mut encoder = png::Encoder::new(file, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_image_data(&rgb).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)
    }
}

/// Bytes of a row in a buffer: copies want them rounded up.
fn row_bytes(width: u32) -> u32 {
    (width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT)
}
