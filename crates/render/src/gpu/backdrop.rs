//! Sky and ground, kept from frame to frame: for processors that draw, which would spend half of a frame on them.
//!
//! They change only when the eye moves, the map or its paint changes, or the window is resized. While the eye
//! moves they are drawn at half of the picture's size, which a moving picture hides; once it rests, in full.

use wgpu::{
    BindGroup, BindGroupLayout, BindingResource, CommandEncoder, Device, FilterMode, RenderPass,
    RenderPipeline, TextureFormat, TextureUsages, TextureView,
};

use super::light::FrameUniform;
use super::pipelines::Pipelines;
use super::resources::{self, texture, view};
use crate::picture::draw_list::FrameLook;

/// Frames for which a change of the ground's paint may wait: far away, where it shows, single changes are not followed.
const PAINT_WAITS_FRAMES: u32 = 12;

/// The kept background of one size of the picture.
#[derive(Debug)]
pub(super) struct Backdrop {
    layout: BindGroupLayout,
    pub(super) format: TextureFormat,
    /// In full, and at half of the size.
    kept: [Kept; 2],
    last: Option<FrameUniform>,
    /// Which of the two shows that look.
    shows: Fineness,
    /// What has to be drawn before this frame.
    due: Option<Fineness>,
    /// Whether the paint changed since the background was drawn, and the frames since then.
    paint_changed: bool,
    age_frames: u32,
}

#[derive(Debug)]
struct Kept {
    view: TextureView,
    group: BindGroup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fineness {
    Full = 0,
    Half = 1,
}

impl Backdrop {
    /// One for pictures of `size`, of which nothing is drawn yet.
    pub(super) fn new(
        device: &Device,
        layout: BindGroupLayout,
        format: TextureFormat,
        size: (u32, u32),
    ) -> Self {
        let sampler = resources::filter(device, "backdrop", FilterMode::Linear);
        let kept = [1, 2].map(|divisor| {
            let size = (size.0.div_ceil(divisor).max(1), size.1.div_ceil(divisor).max(1));
            let usage = TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING;
            let view = view(&texture(device, "backdrop", size, format, 1, usage));
            let resources = [
                BindingResource::TextureView(&view),
                BindingResource::Sampler(&sampler),
            ];
            let group = resources::group(device, "backdrop", &layout, &resources);
            Kept { view, group }
        });
        Self {
            layout,
            format,
            kept,
            last: None,
            shows: Fineness::Full,
            due: None,
            paint_changed: false,
            age_frames: 0,
        }
    }

    pub(super) fn resize(&mut self, device: &Device, size: (u32, u32)) {
        *self = Self::new(device, self.layout.clone(), self.format, size);
    }

    /// What a shader reads of a kept background.
    pub(super) fn layout(device: &Device) -> BindGroupLayout {
        resources::layout(
            device,
            "backdrop",
            &[
                resources::picture(0),
                resources::sampler(1, wgpu::SamplerBindingType::Filtering),
            ],
        )
    }

    /// Decides what has to be drawn for a frame that looks like `look`. Follows each frame that is encoded.
    pub(super) fn follow(&mut self, look: &FrameUniform, paint_changed: bool) {
        // Light that drifts with the day is followed as paint is: in full, and not in every frame.
        let relit = (self.last.as_ref()).is_some_and(|last| !last.has_the_light_of(look));
        self.paint_changed |= paint_changed || relit;
        self.age_frames = self.age_frames.saturating_add(1);
        let same = self
            .last
            .as_ref()
            .is_some_and(|last| last.has_the_background_of(look));
        self.due = match (same, self.last.is_some()) {
            (false, true) => Some(Fineness::Half),
            (false, false) => Some(Fineness::Full),
            (true, _) if self.shows == Fineness::Half => Some(Fineness::Full),
            (true, _) if self.paint_changed && self.age_frames >= PAINT_WAITS_FRAMES => Some(Fineness::Full),
            (true, _) => None,
        };
        if let Some(fineness) = self.due {
            self.last = Some(*look);
            self.shows = fineness;
            self.paint_changed = false;
            self.age_frames = 0;
        }
    }

    pub(super) fn encode(
        &self,
        encoder: &mut CommandEncoder,
        pipelines: &Pipelines,
        groups: [&BindGroup; 2],
        look: Option<&FrameLook>,
    ) {
        let Some(fineness) = self.due else { return };
        let kept = &self.kept[fineness as usize].view;
        let mut pass = resources::color_pass(encoder, "backdrop", kept, false);
        pipelines.draw_background(&mut pass, groups, look, fineness == Fineness::Half);
    }

    /// Puts the kept background into a picture.
    pub(super) fn draw(&self, pass: &mut RenderPass<'_>, pipelines: &[RenderPipeline; 2]) {
        pass.set_pipeline(&pipelines[self.shows as usize]);
        pass.set_bind_group(1, &self.kept[self.shows as usize].group, &[]);
        pass.draw(0..3, 0..1);
    }
}
