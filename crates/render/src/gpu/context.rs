//! Finding a graphics device, saying clearly when there is none, and noticing when it is gone.

use std::sync::{Arc, OnceLock};

use wgpu::{Adapter, Device, Instance, Queue, Surface};

#[derive(Debug)]
pub struct Context {
    pub instance: Instance,
    pub adapter: Adapter,
    pub device: Device,
    pub queue: Queue,
    /// Why it cannot be drawn with any more: what was said first.
    lost: Arc<OnceLock<String>>,
}

/// Why there is nothing to draw with. The text says what a person can do about it.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// No adapter fits, or there is not even a driver to look for one.
    #[error(
        "no graphics adapter was found ({reason}). On Debian or Ubuntu install one that draws in software: \
         apt-get install libvulkan1 mesa-vulkan-drivers. --text shows the game in a terminal, without any."
    )]
    NoAdapter { reason: String },
    /// The adapter gave no device.
    #[error(
        "the graphics adapter {adapter:?} refused to work: {reason}. WGPU_BACKEND=gl tries the other way to it."
    )]
    NoDevice { adapter: String, reason: String },
}

impl Context {
    /// A device for pictures without a window.
    pub fn without_window() -> Result<Self, ContextError> {
        let instance = Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        Self::with(instance, None)
    }

    /// A device that can draw on `surface`, or on none.
    pub fn with(instance: Instance, surface: Option<&Surface<'_>>) -> Result<Self, ContextError> {
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            compatible_surface: surface,
            ..Default::default()
        }))
        .map_err(|error| ContextError::NoAdapter {
            reason: error.to_string(),
        })?;
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("trantor"),
            // The least that every adapter has, except for the size of pictures, which is the adapter's own.
            required_limits: wgpu::Limits::downlevel_defaults().using_resolution(adapter.limits()),
            ..Default::default()
        }))
        .map_err(|error| ContextError::NoDevice {
            adapter: adapter.get_info().name,
            reason: error.to_string(),
        })?;
        let lost = Arc::new(OnceLock::new());
        let reason_of = Arc::clone(&lost);
        device.set_device_lost_callback(move |reason, said| {
            // Whatever was said before is why.
            let _ = reason_of.set(format!("{reason:?} {said}").trim_end().to_owned());
        });
        let reason_of = Arc::clone(&lost);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            log::error!("the graphics device reports a mistake: {error}");
            // What such a device draws is not known any more; a new one is.
            let _ = reason_of.set(error.to_string());
        }));
        let info = adapter.get_info();
        log::info!(
            "drawing with {} ({:?}, {})",
            info.name,
            info.backend,
            info.driver_info
        );
        Ok(Self {
            instance,
            adapter,
            device,
            queue,
            lost,
        })
    }

    /// Why the device cannot be drawn with any more; `None` while it can.
    pub fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Gives the device up, as if its driver had.
    pub fn lose(&self) {
        self.device.destroy();
        // The device reports its end when it is polled.
        if let Err(error) = self.device.poll(wgpu::PollType::Poll) {
            log::debug!("a device that was given up is polled: {error}");
        }
    }

    /// Whether the adapter is a software rasterizer, where quality costs frame rate.
    pub fn is_software(&self) -> bool {
        self.adapter.get_info().device_type == wgpu::DeviceType::Cpu
    }
}
