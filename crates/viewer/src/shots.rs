//! Moments worth a picture: what the gallery shows, and what tests compare with stored pictures.
//!
//! A shot names a synthetic scene, a moment of it, and what the user did before. It is the same each
//! time, so that two pictures of it differ only if the picture is made in another way.

use trantor_model::AgentId;
use trantor_time::{RealSpan, RealTime};

use crate::demo::{Demo, DemoScene};
use crate::input::Action;
use crate::intent::Selection;
use crate::settings::Settings;
use crate::source;
use crate::state::{ViewerOptions, ViewerState};
use trantor_render::picture::palette::Theme;

#[derive(Clone, Copy, Debug)]
pub struct Shot {
    /// Of its file, without an ending.
    pub name: &'static str,
    /// Above it in the gallery.
    pub title: &'static str,
    /// Below it: what is to be seen.
    pub caption: &'static str,
    pub scene: DemoScene,
    /// Which moment of it, in milliseconds of a demo at its own speed.
    pub at_ms: i64,
    /// For how long before that it is watched, for what has a past: score lines, trails, a gliding eye.
    pub watched_ms: i64,
    pub panels: bool,
    pub theme: Theme,
    /// What the user does once the scene is there.
    pub acts: &'static [Act],
}

#[derive(Clone, Copy, Debug)]
pub enum Act {
    Do(Action),
    Select(AgentId),
}

/// From which the others differ.
const PLAIN: Shot = Shot {
    name: "",
    title: "",
    caption: "",
    scene: DemoScene::Overview,
    at_ms: 5_000,
    watched_ms: 500,
    panels: false,
    theme: Theme::Dark,
    acts: &[],
};

/// All shots of synthetic scenes, in the order of the gallery.
pub const SHOTS: &[Shot] = &[
    Shot {
        name: "overview",
        title: "A match at a glance",
        caption: "Four teams on a map of 20 × 20 tiles: who leads, by how much and since when on the left, time on \
                  the right. The map goes round; beyond the dashed line its own other side fades in.",
        watched_ms: 5_000,
        panels: true,
        ..PLAIN
    },
    Shot {
        name: "close",
        title: "From near",
        caption: "Agents carry their team's colour, look where they face, and count their level around their feet. \
                  Food and the six stones differ in shape first.",
        scene: DemoScene::Close,
        ..PLAIN
    },
    Shot {
        name: "ritual",
        title: "An elevation",
        caption: "Over its 300 units the circle fills, the column rises and sparks gather. It is almost done here.",
        scene: DemoScene::Ritual,
        at_ms: 3_450,
        ..PLAIN
    },
    Shot {
        name: "victory",
        title: "Victory",
        caption: "Six agents of one team have reached level 8. Whoever won is seen, and stays to be seen.",
        scene: DemoScene::Victory,
        at_ms: 2_200,
        panels: true,
        ..PLAIN
    },
    Shot {
        name: "broadcast",
        title: "Words travel",
        caption: "What is said spreads as a wave over the map, and over its edges, until everybody has heard \
                  it. Words for people are spelled out; of what bots say in code there is a sign.",
        scene: DemoScene::Broadcast,
        watched_ms: 5_000,
        panels: true,
        ..PLAIN
    },
    Shot {
        name: "heat-map",
        title: "Where the food is",
        caption: "A heat map of one resource, by a key or a click; brightness alone is enough to read it.",
        panels: true,
        watched_ms: 5_000,
        acts: &[Act::Do(Action::HeatMap)],
        ..PLAIN
    },
    Shot {
        name: "inspector",
        title: "Everything about one agent",
        caption: "What it carries, how long its food lasts, what it is doing. The tiles it sees are marked, and its \
                  trail.",
        scene: DemoScene::Close,
        watched_ms: 5_000,
        panels: true,
        acts: &[Act::Select(AgentId(24)), Act::Do(Action::Follow)],
        ..PLAIN
    },
    Shot {
        name: "day",
        title: "By day",
        caption: "The same board under a morning sky, for bright rooms.",
        watched_ms: 5_000,
        panels: true,
        theme: Theme::Light,
        ..PLAIN
    },
    Shot {
        name: "night",
        title: "By night",
        caption: "The light drifts with game time, from a warm evening to a moonlit night and back, and stands still in a \
                  pause.",
        scene: DemoScene::Close,
        at_ms: 300_000,
        ..PLAIN
    },
    Shot {
        name: "big-world",
        title: "A million tiles",
        caption: "1,000 × 1,000 tiles with 10,000 agents and more than a million resources. Far away the land is green \
                  where food is, bare where there is none, and bluish where there are stones.",
        scene: DemoScene::BigWorld,
        watched_ms: 50,
        ..PLAIN
    },
    Shot {
        name: "whole-world",
        title: "All of it",
        caption: "The same as a whole. Each agent is a dot, and where many of a team are the land has its colour.",
        scene: DemoScene::BigWorld,
        watched_ms: 3_000,
        panels: true,
        acts: &[Act::Do(Action::Overview)],
        ..PLAIN
    },
];

/// Steps in which a scene is watched: those of a display.
const STEP: RealSpan = RealSpan::from_nanos(16_666_667);

impl Shot {
    /// Sets it up for a picture of `size` pixels; answers also the moment that it shows.
    pub fn state(&self, size: (u32, u32)) -> (ViewerState, RealTime) {
        let options = ViewerOptions {
            settings: Settings {
                theme: Some(self.theme),
                ..Settings::default()
            },
            panels: self.panels,
            ..ViewerOptions::default()
        };
        let mut state = ViewerState::new(source::demo(Demo::new(self.scene)), options);
        state.resize(size, egui::vec2(size.0 as f32, size.1 as f32));
        // A demo begins when it is looked at first; what is watched of it comes after a leap.
        state.update(None, RealTime::ZERO);
        let end = RealTime::ZERO + RealSpan::from_millis(self.at_ms);
        let mut now = (end - RealSpan::from_millis(self.watched_ms)).max(RealTime::ZERO);
        state.update(Some(RealSpan::ZERO), now);
        for act in self.acts {
            match *act {
                Act::Do(action) => state.act(action, now),
                Act::Select(agent) => state.select(Selection::Agent(agent)),
            }
        }
        while now < end {
            let step = STEP.min(end - now);
            now += step;
            state.update(Some(step), now);
        }
        (state, end)
    }
}
