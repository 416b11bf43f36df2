//! What somebody chooses: what panels ask for, what is selected, where to look, which moment to see.

use glam::Vec2;
use trantor_client::ControlRequest;
use trantor_model::Tile;
use trantor_time::{GameTime, RealTime};

use super::Stage;
use crate::intent::{Intent, Selection};

impl Stage {
    /// Does what the user asks for, or asks the program around the stage to do it.
    ///
    /// # Errors
    /// If it cannot be done; the text is for the user.
    pub fn intend(&mut self, intent: Intent, now: RealTime) -> Result<(), String> {
        match intent {
            Intent::Do(action) => self.act(action, now),
            Intent::Control(request) => return self.request(request, now),
            Intent::Select(selection) => self.select(selection),
            Intent::LookAt(place) => {
                self.look_at(place);
                self.keep_view_of_hand();
            }
            Intent::Visit(place) => {
                self.look_at(place);
                self.come_near();
            }
            Intent::GoTo(x, y) => return self.go_to(x, y),
            Intent::Seek(to) => return self.source.seek(to),
            Intent::Paint(mode) => self.paint_mode = mode,
            Intent::Sound(_) | Intent::Record(_) | Intent::Quality(_) | Intent::Gpu(_) => {
                self.ask_host(intent)
            }
        }
        Ok(())
    }

    fn request(&mut self, request: ControlRequest, now: RealTime) -> Result<(), String> {
        self.source.request(request, now)?;
        // A second key in the same frame goes on from here.
        self.source.fill_speed(&mut self.scene.clock);
        Ok(())
    }

    pub fn seek(&mut self, to: GameTime) {
        if let Err(why) = self.source.seek(to) {
            self.hud.notice(why);
        }
    }

    /// Jumps back at the end of a span that is repeated.
    pub(super) fn repeat_recording(&mut self) {
        let Some(recording) = self.source.recording() else {
            return;
        };
        // A repetition up to the very end would wait for a moment that is never passed.
        let shown = self.scene.clock.game.min(recording.end());
        if recording.target().is_none()
            && let Some(to) = self.repeat.jump(shown)
        {
            self.seek(to);
        }
    }

    /// Moves the camera over a place of the map.
    pub(super) fn look_at(&mut self, place: Vec2) {
        self.follows = false;
        self.moved = true;
        if let Some(window) = self.window() {
            let target = self.camera.goal.target;
            self.camera.goal.target = target + window.shortest(target, place);
        }
    }

    /// Looks at a tile, and selects it.
    ///
    /// # Errors
    /// If the map has none there; the text is for the user.
    fn go_to(&mut self, x: u16, y: u16) -> Result<(), String> {
        let size = self.scene.ground.as_ref().map(|ground| ground.size);
        let size = size.ok_or("there is no map yet")?;
        let tile = Tile { x, y };
        if !size.contains(tile) {
            let (x_max, y_max) = (size.width() - 1, size.height() - 1);
            return Err(format!("tiles go from 0 0 to {x_max} {y_max}"));
        }
        self.select(Selection::Tile(tile));
        self.look_at(Vec2::new(f32::from(x), f32::from(y)));
        Ok(())
    }

    pub fn select(&mut self, selection: Selection) {
        if self.selection != selection {
            self.selection = selection;
            self.follows = false;
            self.source.watch(selection.agent());
        }
    }
}
