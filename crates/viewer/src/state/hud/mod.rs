//! The panels over the picture. Lengths are in points.
//!
//! Panels read the [`ViewerState`] and return [`Intent`]s; they change nothing themselves. The speed shown is the client's,
//! which knows the requested and the confirmed one.

mod activity;
mod banner;
mod debug;
mod feed;
mod help;
mod icons;
mod inspect;
mod labels;
mod layout;
mod minimap;
mod report;
mod score;
mod search;
mod speed;
mod story;
mod teams;
mod theme;
mod timeline;
mod words;

use trantor_client::{ClientStats, FeedEntry, Scene, SceneTeam};
use trantor_model::TeamId;
use trantor_protocol::wire::ScorePoint;
use trantor_render::picture::camera::View;
use trantor_render::picture::palette::Theme;
use trantor_render::picture::torus::TorusWindow;
use trantor_time::{GameTime, RealSpan, RealTime};

use self::layout::Plan;
use self::report::Report;
use self::theme::Colors;
use crate::console::Console;
use crate::figures::Figures;
use crate::intent::{Intent, Selection};
use crate::state::ViewerState;

pub use self::banner::link_text;
pub use self::feed::{EventFeed, team_name};
pub use self::layout::COLUMN_WIDTH;

/// How long a message is shown.
pub(super) const NOTICE_FOR: RealSpan = RealSpan::from_secs(5);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameFigures {
    /// Frames drawn in the last second; `None` until it is known.
    pub per_second: Option<f64>,
    /// The frame rate aimed at; 0 for a single picture.
    pub target: f64,
}

/// The input of the panels, and their output: the user's intents.
struct PanelContext<'a> {
    state: &'a ViewerState,
    now: RealTime,
    stats: Option<ClientStats>,
    /// Collected only while the debugging view is open.
    figures: &'a Figures,
    frames: FrameFigures,
    view: Option<(View, TorusWindow)>,
    colors: Colors,
    plan: Plan,
    report: &'a mut Report,
    intents: &'a mut Vec<Intent>,
}

impl<'a> PanelContext<'a> {
    fn scene(&self) -> &'a Scene {
        &self.state.scene
    }

    fn team_name(&self, team: TeamId) -> String {
        team_name(&self.state.scene.teams, team)
    }

    fn request(&mut self, intent: Intent) {
        self.intents.push(intent);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Panels {
    pub any: bool,
    pub help: bool,
    pub debug: bool,
    /// The command line by itself.
    pub command: bool,
    pub labels: bool,
    /// For projectors: large, the race and the events alone.
    pub stage: bool,
    /// For a film: the race and the events alone, in the usual size and without what only a mouse can use.
    pub film: bool,
}

/// The panels and their state.
#[derive(Debug, Default)]
pub struct Hud {
    pub panels: Panels,
    /// Their size, as a multiple of the usual one.
    pub scale: f32,
    pub report: Report,
    /// The frame rate that panels show.
    pub frames: FrameFigures,
    pub feed: EventFeed,
    /// When the event was listed that keys went to last.
    event_visited: Option<i128>,
    /// Whether only events are listed that decide the match.
    only_highlights: bool,
    activity: activity::ActivityLog,
    story: story::Story,
    score: score::ScoreHistory,
    minimap: minimap::Minimap,
    /// The text of the search while it is open.
    search: Option<search::Search>,
    pub console: Console,
    /// Whether the command line gets the focus in the next frame.
    wants_focus: bool,
    /// Rectangles of the panels in this frame.
    cards: Vec<egui::Rect>,
    /// The message on the screen, and when it goes, once it was seen.
    notice: Option<(String, Option<RealTime>)>,
    /// The theme that egui's style was set for.
    themed: Option<Theme>,
}

impl Hud {
    pub fn new() -> Self {
        let mut hud = Self::default();
        (hud.panels.any, hud.panels.labels, hud.scale) = (true, true, 1.0);
        hud
    }

    pub fn add_event(&mut self, entry: &FeedEntry, scene: &Scene) {
        self.feed.add(entry, &scene.teams);
        self.activity.add(entry);
    }

    /// Goes to the event of the list before the last one that was visited, or after the oldest to the newest: when it took
    /// its place in the list, its words, and where that is.
    pub fn event_before(&mut self, scene: &Scene) -> Option<(i128, &str, Option<Selection>)> {
        let before = self.feed.before(self.event_visited, scene);
        let event = before.or_else(|| self.feed.before(None, scene))?;
        self.event_visited = Some(event.0);
        Some(event)
    }

    /// Shows a message for a while, or until the next one.
    pub fn notice(&mut self, text: String) {
        self.notice = Some((text, None));
    }

    pub fn shown_notice(&self) -> Option<&str> {
        self.notice.as_ref().map(|(text, _)| text.as_str())
    }

    pub fn notice_until(&self) -> Option<RealTime> {
        self.notice.as_ref()?.1
    }

    /// Takes the message from the screen when its time is over.
    pub fn follow_notice(&mut self, now: RealTime) {
        self.notice
            .take_if(|(_, until)| *until.get_or_insert(now + NOTICE_FOR) <= now);
    }

    /// Prepares for a new egui context, which needs style and textures again.
    pub fn forget_context(&mut self) {
        self.themed = None;
        self.minimap = minimap::Minimap::default();
    }

    /// Opens the command line, or gives the focus to that of the debugging view.
    pub fn open_console(&mut self) {
        self.panels.command = !self.panels.debug;
        self.wants_focus = true;
    }

    /// Adds how the score went since the last call, and how it is.
    pub fn sample(&mut self, steps: Vec<ScorePoint>, scene: &Scene) {
        self.score.add(steps);
        self.score.sample(scene);
    }

    pub fn tells_story(&self) -> bool {
        self.story.is_open && self.panels.any
    }

    /// Opens the story of the match some time after its end.
    pub fn follow_story(&mut self, scene: &Scene, now: RealTime) {
        self.story.follow(scene, now);
    }

    /// Forgets events later than `at`, after a jump back in a recording.
    pub fn rewind(&mut self, at: GameTime) {
        let units = at.whole_units();
        self.feed.rewind(units);
        self.score.rewind(units);
    }

    /// Forgets the commands before a new snapshot: the responses in between are unknown.
    pub fn forget_commands(&mut self) {
        self.activity = activity::ActivityLog::default();
    }

    /// Takes over the score so far, which comes with a snapshot. The past events, which are to be added, have the first of
    /// each team to reach each level.
    pub fn begin_with(&mut self, scores: Vec<ScorePoint>, teams: &[SceneTeam], past: &[FeedEntry]) {
        self.feed = EventFeed::new(teams, past);
        self.score = score::ScoreHistory::new(scores);
    }

    /// Forgets everything about the match before.
    pub fn reset_match(&mut self, teams: &[SceneTeam]) {
        self.begin_with(Vec::new(), teams, &[]);
        self.event_visited = None;
        self.forget_commands();
    }

    pub fn toggle_search(&mut self) {
        self.search = self.search.is_none().then(search::Search::default);
    }

    /// Closes the topmost panel; `false` if none was open.
    pub fn close_top(&mut self) -> bool {
        if self.search.is_some() {
            self.search = None;
        } else if std::mem::take(&mut self.panels.command) {
            self.console.line.clear();
        } else if self.panels.help {
            self.panels.help = false;
        } else if self.panels.debug {
            self.panels.debug = false;
        } else {
            return false;
        }
        true
    }

    /// Closes the story of the match, also before it opens; `false` if it was not open.
    pub fn close_story(&mut self) -> bool {
        self.story.close()
    }

    /// Lays out all panels and collects the user's intents.
    pub(crate) fn show(
        &mut self,
        context: &egui::Context,
        state: &ViewerState,
        figures: &Figures,
        now: RealTime,
    ) -> Vec<Intent> {
        let (theme, teams, mut intents) = (state.settings.shown_theme(), &state.scene.teams, Vec::new());
        if self.themed.replace(theme) != Some(theme) {
            theme::apply(context, theme);
        }
        // In force from the next frame on.
        context.set_zoom_factor(self.zoom(state.viewport.points));
        let mut report = std::mem::take(&mut self.report);
        report.begin(context, self, state);
        let points = context.content_rect().size();
        let tells_story = self.tells_story();
        let cx = &mut PanelContext {
            state,
            now,
            stats: state.source.stats(now),
            figures,
            frames: self.frames,
            view: state.view(),
            colors: Colors::new(theme, teams),
            // The story takes the place of the other panels.
            plan: match self.panels.any && !tells_story {
                true => Plan::new(
                    points,
                    teams.len(),
                    inspect::scenario_height(&state.scene),
                    self.panels,
                ),
                false if tells_story => Plan::beside(points, story::left(points)),
                false => Plan::without_panels(points),
            },
            report: &mut report,
            intents: &mut intents,
        };
        self.cards.clear();
        let banner = banner::show(context, cx, tells_story);
        let lag = banner::lag(context, cx, banner);
        if self.panels.any {
            banner::director(context, cx, lag.or(banner));
        }
        if let Some(text) = self.shown_notice() {
            banner::notice(context, cx, lag.or(banner), text);
        }
        self.cards.extend(banner);
        self.cards.extend(lag);
        if tells_story {
            self.cards.extend(timeline::show(context, cx));
            self.cards.extend(help::hints(context, cx));
            let card = story::show(context, cx, self);
            self.cards.push(card);
        } else if self.panels.any {
            self.columns(context, cx);
            // The debugging view takes the place of the time-line.
            if !self.panels.debug {
                self.cards.extend(timeline::show(context, cx));
                if !cx.plan.is_stage {
                    let legend = minimap::legend(context, cx, &self.cards);
                    self.cards.extend(legend);
                }
            }
            match cx.plan.has_ticker() {
                true => self.cards.extend(feed::ticker(context, cx, &self.feed)),
                false => self.cards.extend(help::hints(context, cx)),
            }
        }
        if self.panels.labels {
            labels::show(context, cx, &self.cards);
        }
        search::show(context, cx, &mut self.search);
        match self.panels.debug {
            true => debug::show(context, cx, &mut self.console, &mut self.wants_focus),
            false if self.panels.command => {
                let is_open = debug::palette(context, cx, &mut self.console, &mut self.wants_focus);
                self.panels.command = is_open;
            }
            false => cx.report.state("command-line-focus", false),
        }
        if self.panels.help {
            help::show(context, cx);
        }
        self.report = report;
        intents
    }
}

#[cfg(test)]
mod tests;
