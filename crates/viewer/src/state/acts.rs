//! What keys, buttons and typed commands ask for: what is selected, where to look, which moment to see.

use glam::Vec2;
use trantor_client::{Recording, SceneAgent};
use trantor_model::control::FREQUENCY_ASKED_MAX;
use trantor_model::{AgentId, Control, Resource, Step, Tile};
use trantor_time::{GameSpan, RealSpan, RealTime};

use super::ViewerState;
use crate::film::recording::Take;
use crate::input::Action;
use crate::intent::{Intent, Selection};
use crate::settings::PANEL_SCALE;
use crate::source::Repeat;
use trantor_render::picture::ground::PaintMode;
use trantor_render::picture::palette::Theme;

/// How far a key moves a recording, in units.
const SEEK_UNITS: i64 = 100;
const RECORD: Take = Take {
    span: RealSpan::from_secs(10),
    per_second: Take::PER_SECOND,
    is_gif: false,
};

/// How much a key enlarges the panels.
const SCALE_STEP: f32 = 1.1;

impl ViewerState {
    pub fn act(&mut self, action: Action, now: RealTime) {
        let clock = &self.scene.clock;
        let frequency = clock.frequency.max(1);
        match action {
            Action::Pause if clock.paused => self.control(Control::Resume, now),
            Action::Pause => self.control(Control::Pause, now),
            Action::StepUnit => self.control(Control::Step(Step::Units(1)), now),
            Action::StepEvent => self.control(Control::Step(Step::Event), now),
            Action::StepAction => self.control(Control::Step(Step::Action), now),
            Action::Faster => self.set_speed(frequency + frequency.div_ceil(2), now),
            Action::Slower => self.set_speed(frequency * 2 / 3, now),
            Action::MuchFaster => self.set_speed(frequency.saturating_mul(10), now),
            Action::MuchSlower => self.set_speed(frequency / 10, now),
            Action::Overview => {
                self.rig.show_whole_map();
                self.settings.view = None;
            }
            Action::Follow => self
                .rig
                .toggle_follow(self.selection, &self.scene, &self.viewport),
            Action::NextAgent => self.next_agent(),
            Action::NextTeam => self.next_team(),
            Action::EventBefore => self.visit_event(),
            Action::Clear if self.hud.close_top() || self.hud.close_story() | self.rig.leave_winners() => {}
            Action::Clear => self.select(Selection::None),
            Action::Search => self.hud.toggle_search(),
            Action::HeatMap => self.drawing.paint_mode = next_heat_map(self.drawing.paint_mode),
            Action::Trails => self.drawing.shows_trails = !self.drawing.shows_trails,
            Action::Labels => self.hud.panels.labels = !self.hud.panels.labels,
            Action::Director => {
                let is_on = !self.rig.director.has_camera();
                self.settings.director = Some(is_on);
                self.settings.save();
                self.direct(is_on);
            }
            Action::Panels => self.hud.panels.any = !self.hud.panels.any,
            Action::Theme => {
                self.settings.theme = Some(match self.settings.shown_theme() {
                    Theme::Dark => Theme::Light,
                    Theme::Light => Theme::Dark,
                });
            }
            Action::Stage => self.hud.panels.stage = !self.hud.panels.stage,
            Action::Larger => self.scale_panels(self.hud.scale * SCALE_STEP),
            Action::Smaller => self.scale_panels(self.hud.scale / SCALE_STEP),
            Action::UsualSize => self.scale_panels(1.0),
            Action::Help => self.hud.panels.help = !self.hud.panels.help,
            Action::Debug => self.hud.panels.debug = !self.hud.panels.debug,
            Action::Console => self.hud.open_console(),
            Action::FullScreen | Action::Screenshot | Action::Quit => self.ask_host(Intent::Do(action)),
            Action::Record => self.ask_host(Intent::Record(RECORD)),
            Action::Reconnect => {
                if let Err(why) = self.source.reconnect() {
                    self.hud.notice(why);
                }
            }
            Action::StepBack => self.seek_by(-1, now),
            Action::SeekBack => self.seek_by(-SEEK_UNITS, now),
            Action::SeekOn => self.seek_by(SEEK_UNITS, now),
            Action::RepeatFrom => self.repeat.begin(self.scene.clock.game),
            Action::RepeatTo => self.repeat.end(self.scene.clock.game),
            Action::RepeatNothing => self.repeat = Repeat::default(),
            // The others last: see [`super::keys::Keys::hold`].
            _ => {}
        }
    }

    /// Changes and saves the size of the panels, as a multiple of the usual one.
    pub fn scale_panels(&mut self, scale: f32) {
        let scale = scale.clamp(*PANEL_SCALE.start(), *PANEL_SCALE.end());
        self.hud.scale = scale;
        self.settings.scale = Some(scale);
        self.settings.save();
    }

    fn control(&mut self, request: Control, now: RealTime) {
        if let Err(why) = self.request(request, now) {
            self.hud.notice(why);
        }
    }

    fn set_speed(&mut self, frequency: u32, now: RealTime) {
        let frequency = frequency.clamp(1, FREQUENCY_ASKED_MAX);
        self.control(Control::SetFrequency(frequency), now);
    }

    /// Moves a recording on or back; several times in a row goes several times as far.
    fn seek_by(&mut self, units: i64, now: RealTime) {
        let target = self.source.recording().and_then(Recording::target);
        let from = target.unwrap_or(self.scene.clock.game);
        self.control(Control::Seek(from + GameSpan::from_units(units)), now);
    }

    fn next_agent(&mut self) {
        let after = match self.selection {
            Selection::Agent(id) => id.0.saturating_add(1),
            _ => 0,
        };
        let agents = &self.scene.agents;
        let place = agents.partition_point(|agent| agent.id < AgentId(after));
        if let Some(agent) = agents.get(place).or(agents.first()) {
            let (place, follows) = (Vec2::new(agent.x, agent.y), self.rig.follows);
            self.select(Selection::Agent(agent.id));
            self.rig.follows = follows;
            self.rig.director.yield_camera();
            if !follows {
                self.rig.aim(place, &self.scene);
            }
        }
    }
}

impl ViewerState {
    /// Selects the best agent of the next team that has any, as a click on the team's row does.
    fn next_team(&mut self) {
        let agents = &self.scene.agents;
        let selected = self.selection.agent().and_then(|id| self.scene.agent(id));
        let teams = self.scene.teams.len();
        let first = selected.map_or(0, |agent| usize::from(agent.team.0) + 1);
        let best = (first..first + teams).find_map(|team| best_agent(agents, team % teams));
        if let Some(agent) = best {
            self.visit(Selection::Agent(agent.id));
        }
    }

    /// Goes to the line of the event list before the last one, or after the oldest to the newest, and says which.
    fn visit_event(&mut self) {
        let Some((at, words, place)) = self.hud.event_before(&self.scene) else {
            self.hud.notice("there are no events yet".to_owned());
            return;
        };
        let notice = format!("unit {at}: {words}");
        self.hud.notice(notice);
        if let Some(place) = place {
            self.visit(place);
        }
    }

    fn visit(&mut self, selection: Selection) {
        self.select(selection);
        let place = match selection {
            Selection::None => None,
            Selection::Tile(tile) => Some(middle_of(tile)),
            Selection::Agent(id) => self.scene.agent(id).map(|agent| Vec2::new(agent.x, agent.y)),
        };
        if let Some(place) = place {
            self.rig.look_at(place, &self.scene);
            self.rig.come_near(&self.viewport);
        }
    }

    /// Does what the user asks for, or passes the request to the program around it.
    ///
    /// # Errors
    /// If it cannot be done; the text is for the user.
    pub fn intend(&mut self, intent: Intent, now: RealTime) -> Result<(), String> {
        match intent {
            Intent::Do(action) => self.act(action, now),
            Intent::Control(request) => return self.request(request, now),
            Intent::Select(selection) => self.select(selection),
            Intent::LookAt(place) => {
                self.rig.look_at(place, &self.scene);
                self.keep_view_of_hand();
            }
            Intent::Visit(selection) => self.visit(selection),
            Intent::GoTo(tile) => return self.go_to(tile),
            Intent::Revisit(to, tile) => {
                self.request(Control::Seek(to), now)?;
                // The way back would lead away from there.
                self.rig.forget_way_back();
                if let Some(tile) = tile {
                    self.visit(Selection::Tile(tile));
                }
            }
            Intent::Paint(mode) => self.drawing.paint_mode = mode,
            Intent::Record(_) | Intent::Quality(_) | Intent::Gpu(_) => self.ask_host(intent),
        }
        Ok(())
    }

    fn request(&mut self, request: Control, now: RealTime) -> Result<(), String> {
        self.source
            .request(request, now)
            .map_err(|refusal| refusal.to_string())?;
        // A second key in the same frame goes on from here.
        self.source.fill_speed(&mut self.scene.clock);
        Ok(())
    }

    /// Jumps back at the end of a span that is repeated.
    pub(super) fn repeat_recording(&mut self, now: RealTime) {
        let Some(recording) = self.source.recording() else {
            return;
        };
        // A repetition up to the very end would wait for a moment that is never passed.
        let shown = self.scene.clock.game.min(recording.end());
        if recording.target().is_none()
            && let Some(to) = self.repeat.jump(shown)
        {
            self.control(Control::Seek(to), now);
        }
    }

    /// Gives the camera to the director, or takes it away.
    pub fn direct(&mut self, is_on: bool) {
        self.rig.direct(is_on, &self.scene);
    }

    /// Looks at a tile, and selects it.
    ///
    /// # Errors
    /// If the map has none there; the text is for the user.
    fn go_to(&mut self, tile: Tile) -> Result<(), String> {
        let size = self.scene.ground.as_ref().map(|ground| ground.size);
        let size = size.ok_or("there is no map yet")?;
        if !size.contains(tile) {
            let (x_max, y_max) = (size.width() - 1, size.height() - 1);
            return Err(format!("tiles go from 0 0 to {x_max} {y_max}"));
        }
        self.select(Selection::Tile(tile));
        self.rig.look_at(middle_of(tile), &self.scene);
        Ok(())
    }

    pub fn select(&mut self, selection: Selection) {
        if self.selection != selection {
            self.selection = selection;
            self.rig.follows = false;
            self.source.watch(selection.agent());
        }
    }
}

fn middle_of(tile: Tile) -> Vec2 {
    Vec2::new(f32::from(tile.x), f32::from(tile.y))
}

/// The agent of a team with the highest level, of several the first.
pub(super) fn best_agent(agents: &[SceneAgent], team: usize) -> Option<&SceneAgent> {
    let agents = agents.iter().filter(|agent| usize::from(agent.team.0) == team);
    agents.max_by_key(|agent| (agent.level, std::cmp::Reverse(agent.id)))
}

/// None, then one for each resource, then none.
fn next_heat_map(mode: PaintMode) -> PaintMode {
    match mode {
        PaintMode::Mixture => PaintMode::Heat(Resource::Food),
        PaintMode::Heat(resource) => {
            Resource::from_index(resource.index() + 1).map_or(PaintMode::Mixture, PaintMode::Heat)
        }
    }
}
