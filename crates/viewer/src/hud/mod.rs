//! The panels over the picture.
//!
//! Panels read a [`HudInput`] and answer with [`Intent`]s; they change nothing themselves, least of all time: the
//! speed shown is always the client's, which knows both what was asked and what the server answered.

mod banner;
mod columns;
mod debug;
mod directions;
mod doings;
mod feed;
mod feed_lines;
pub mod figures;
mod help;
pub mod icons;
mod input;
mod inspect;
mod labels;
mod layout;
mod legend;
mod minimap;
pub mod report;
mod score;
mod search;
mod speed;
mod teams;
pub mod theme;
mod timeline;
mod volume;

use trantor_client::{FeedEntry, Scene};
use trantor_protocol::wire::ScorePoint;
use trantor_time::GameTime;

use crate::console::Console;
use crate::input::Action;
use crate::intent::Intent;
use layout::Plan;
use report::Report;
use theme::Colors;
use trantor_render::picture::ground::PaintMode;
use trantor_render::picture::palette::Theme;

pub use feed_lines::FeedLines;
pub use input::{FrameFigures, HudInput};
pub use layout::COLUMN_WIDTH;

/// Which panels are open; remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panels {
    /// All of them.
    pub any: bool,
    /// The list of keys.
    pub help: bool,
    /// Figures of the inside.
    pub debug: bool,
    /// Names above agents.
    pub labels: bool,
}

impl Default for Panels {
    fn default() -> Self {
        Self {
            any: true,
            help: false,
            debug: false,
            labels: true,
        }
    }
}

/// The panels, and what they remember from frame to frame.
#[derive(Debug)]
pub struct Hud {
    /// Which are open.
    pub panels: Panels,
    /// How large they are, as a part of what the display asks for.
    pub scale: f32,
    /// What tests read.
    pub report: Report,
    feed: feed::Feed,
    /// The same without panels.
    feed_lines: FeedLines,
    doings: doings::Doings,
    score: score::ScoreLine,
    speed: speed::SpeedCard,
    minimap: minimap::Minimap,
    search: search::Search,
    labels: labels::Labels,
    /// The command line.
    pub console: Console,
    debug: debug::DebugView,
    /// What panels cover in this frame.
    cards: Vec<egui::Rect>,
    notice: Option<String>,
    is_notice_new: bool,
    themed: Option<Theme>,
}

impl Hud {
    /// Panels as at a first start. `reports` lets tests read where things are.
    pub fn new(reports: bool) -> Self {
        Self {
            panels: Panels::default(),
            scale: 1.0,
            report: Report::new(reports),
            feed: feed::Feed::default(),
            feed_lines: FeedLines::default(),
            doings: doings::Doings::default(),
            score: score::ScoreLine::default(),
            speed: speed::SpeedCard::default(),
            minimap: minimap::Minimap::default(),
            search: search::Search::default(),
            labels: labels::Labels::default(),
            console: Console::default(),
            debug: debug::DebugView::default(),
            cards: Vec::new(),
            notice: None,
            is_notice_new: false,
            themed: None,
        }
    }

    /// Notes something that happened.
    pub fn tell(&mut self, entry: FeedEntry, scene: &Scene) {
        self.feed.tell(&entry, scene);
        self.doings.tell(&entry);
        self.feed_lines.add(&entry, &scene.teams);
    }

    /// What happened, in lines.
    pub fn feed_lines(&self) -> &FeedLines {
        &self.feed_lines
    }

    /// Shows a message, until another comes or [`Self::forget_notice`].
    pub fn notice(&mut self, text: String) {
        self.notice = Some(text);
        self.is_notice_new = true;
    }

    /// The message that is shown.
    pub fn shown_notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Whether a message came since this was asked last.
    pub fn take_new_notice(&mut self) -> bool {
        std::mem::take(&mut self.is_notice_new)
    }

    /// Shows no message any more.
    pub fn forget_notice(&mut self) {
        self.notice = None;
    }

    /// Gives colours and textures to egui again: it is a new one.
    pub fn forget_context(&mut self) {
        self.themed = None;
        self.minimap = minimap::Minimap::default();
    }

    /// Opens the debugging view and lets keys go into its command line.
    pub fn open_console(&mut self) {
        self.panels.debug = true;
        self.debug.focus();
    }

    /// Notes the standings, for the score line.
    pub fn sample(&mut self, scene: &Scene) {
        self.score.sample(scene);
    }

    /// What is shown was moved back to this moment: what happened later has not happened.
    pub fn go_back_to(&mut self, at: GameTime) {
        let units = at.whole_units();
        self.feed.go_back_to(units);
        self.score.go_back_to(units);
        self.feed_lines.go_back_to(units);
    }

    /// A whole world came, of another moment perhaps: what was not told in between is not known, so that what agents did
    /// last is no longer the last, and the score has a gap.
    pub fn begin_anew(&mut self) {
        self.doings = doings::Doings::default();
        self.score.leave_gap();
    }

    /// The score so far was told with the world; the last events follow as entries.
    pub fn begin_with(&mut self, scores: &[ScorePoint]) {
        self.feed = feed::Feed::default();
        self.feed_lines = FeedLines::default();
        self.score = score::ScoreLine::of(scores);
    }

    /// Forgets what belongs to the world before: another server, or the same one begun anew.
    pub fn forget_world(&mut self) {
        self.feed = feed::Feed::default();
        self.feed_lines = FeedLines::default();
        self.doings = doings::Doings::default();
        self.score = score::ScoreLine::default();
    }

    /// Opens or closes the search.
    pub fn toggle_search(&mut self) {
        self.search.toggle();
    }

    /// Closes what lies above everything else; `false` if nothing did.
    pub fn close_top(&mut self) -> bool {
        if self.search.is_open() {
            self.search.toggle();
        } else if self.panels.help {
            self.panels.help = false;
        } else if self.panels.debug {
            self.panels.debug = false;
        } else {
            return false;
        }
        true
    }

    /// Lays all panels out and collects what they ask for.
    pub fn show(&mut self, context: &egui::Context, input: &HudInput<'_>, intents: &mut Vec<Intent>) {
        if self.themed != Some(input.theme) {
            theme::apply(context, input.theme);
            self.themed = Some(input.theme);
        }
        // In force from the next frame on.
        context.set_zoom_factor(self.scale);
        let colors = Colors::of(input.theme).with_teams(&input.scene.teams);
        self.report.begin(context.pixels_per_point());
        self.report.scene(input.scene);
        let size = context.content_rect().size() * context.pixels_per_point();
        self.report
            .state("size", format_args!("{:.0}x{:.0}", size.x, size.y));
        self.report.state("focused", context.input(|input| input.focused));
        self.report_switches(input);
        let points = context.content_rect().size();
        let plan = match self.panels.any {
            true => Plan::new(points, input.scene.teams.len()),
            false => Plan::without_panels(points),
        };
        self.cards.clear();
        let banner = banner::show(context, &colors, plan, input);
        if let Some(text) = &self.notice {
            banner::notice(context, &colors, plan, banner, text);
        }
        self.cards.extend(banner);
        if self.panels.any {
            self.columns(context, &colors, input, intents);
            // The debugging view lies where the time-line is.
            if !self.panels.debug {
                let timeline = timeline::show(context, &colors, input, &mut self.report, intents);
                self.cards.extend(timeline);
                self.cards.extend(legend::show(context, &colors, plan, input));
            }
            self.cards.extend(help::hints(context, &colors, input));
        }
        if self.panels.labels {
            self.labels.show(context, input, &self.cards);
        }
        self.search
            .show(context, &colors, input, &mut self.report, intents);
        if self.panels.debug {
            self.debug
                .show(context, &colors, input, &mut self.console, &mut self.report);
        } else {
            self.report.state("command-line-focus", false);
        }
        if self.panels.help {
            help::show(context, &colors, input, &mut self.report, intents);
        }
    }

    /// What tests want to know of everything that can be switched.
    fn report_switches(&mut self, input: &HudInput<'_>) {
        let report = &mut self.report;
        if !report.is_on() {
            return;
        }
        report.state("help", self.panels.help);
        report.state("debug", self.panels.debug);
        report.state("labels", self.panels.labels);
        report.state("panels", self.panels.any);
        report.state("search", self.search.is_open());
        report.state("follows", input.follows);
        report.state("theme", format_args!("{:?}", input.theme));
        let paint = match input.paint_mode {
            PaintMode::Mixture => "mixture",
            PaintMode::Heat(resource) => resource.name(),
        };
        report.state("paint", paint);
        let keys: Vec<&str> = input.bindings.keys_of(Action::Pause).collect();
        report.state("pause-keys", keys.join(","));
        let goal = input.camera;
        report.state(
            "looks-at",
            format_args!("{:.1},{:.1}", goal.target.x, goal.target.y),
        );
        report.state("yaw", format_args!("{:.2}", goal.yaw));
        report.state("distance", format_args!("{:.1}", goal.distance));
        report.state(
            "notice",
            self.notice.as_deref().unwrap_or("none").replace(' ', "_"),
        );
    }
}

#[cfg(test)]
mod tests;
