//! The panels in a window: their input events, layout and triangles.

use egui::epaint::ClippedShape;
use trantor_time::RealTime;
use winit::event::WindowEvent;
use winit::window::Window;

use crate::hud::figures::Figures;
use crate::painter::Laid;
use crate::state::ViewerState;

/// The panels of one window on one device; another painter, which knows none of their textures, has others.
pub(super) struct Panels {
    egui: egui::Context,
    input: egui_winit::State,
    /// The last layout, and its triangles.
    shapes: Vec<ClippedShape>,
    pub(super) laid: Laid,
}

impl Panels {
    pub(super) fn new(window: &Window, texture_side_max: usize) -> Self {
        let egui = egui::Context::default();
        let input = egui_winit::State::new(
            egui.clone(),
            egui::ViewportId::ROOT,
            window,
            Some(window.scale_factor() as f32),
            None,
            Some(texture_side_max),
        );
        Self {
            egui,
            input,
            shapes: Vec::new(),
            laid: Laid::empty(),
        }
    }

    /// Passes an event on; answers whether the panels use it.
    pub(super) fn event(&mut self, window: &Window, event: &WindowEvent) -> bool {
        self.input.on_window_event(window, event).consumed
    }

    pub(super) fn is_typing(&self) -> bool {
        self.egui.egui_wants_keyboard_input()
    }

    pub(super) fn is_pointer_over(&self) -> bool {
        self.egui.is_pointer_over_egui()
    }

    /// Lays them out; answers whether they have changed.
    pub(super) fn lay_out(
        &mut self,
        window: &Window,
        state: &mut ViewerState,
        figures: &Figures,
        now: RealTime,
    ) -> bool {
        let mut input = self.input.take_egui_input(window);
        if !self.is_typing() {
            input.events.retain(|event| !moves_the_focus(event));
        }
        let output = self
            .egui
            .run_ui(input, |ui| state.panels(&ui.ctx().clone(), figures, now));
        self.input.handle_platform_output(window, output.platform_output);
        let has_other_textures = !output.textures_delta.is_empty();
        // Textures that no frame has uploaded yet must be kept.
        self.laid.textures.append(output.textures_delta);
        let has_other_pixels = self.laid.pixels_per_point != output.pixels_per_point;
        let is_other = has_other_textures || has_other_pixels || self.shapes != output.shapes;
        if is_other {
            self.shapes.clone_from(&output.shapes);
            self.laid.primitives = self.egui.tessellate(output.shapes, output.pixels_per_point);
            self.laid.pixels_per_point = output.pixels_per_point;
        }
        is_other
    }
}

impl std::fmt::Debug for Panels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Panels").finish_non_exhaustive()
    }
}

/// Whether egui would move the keyboard focus: unless a field is edited, Tab selects the next agent.
fn moves_the_focus(event: &egui::Event) -> bool {
    let tab = egui::Key::Tab;
    matches!(event, egui::Event::Key { key, .. } if *key == tab)
}
