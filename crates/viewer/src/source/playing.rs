//! A synthetic scene that is played, with the little control that makes sense for one.

use std::collections::VecDeque;

use trantor_client::{ControlRequest, EffectKind, FeedEntry, FeedKind, Scene, SceneClock, Who};
use trantor_protocol::wire::StepKind;
use trantor_time::{GameSpan, RealTime};

use super::Source;
use crate::demo::{self, Demo};

#[derive(Debug)]
pub(crate) struct Playing {
    demo: Demo,
    units: f64,
    frequency: u32,
    paused: bool,
    last: Option<RealTime>,
    /// Entries to be read.
    pub(crate) feed: VecDeque<FeedEntry>,
    /// Handles a piece from a network, and answers whether there was one; for tests of the loop.
    network: fn(RealTime) -> bool,
}

impl Playing {
    pub(crate) fn new(demo: Demo, network: fn(RealTime) -> bool) -> Self {
        Self {
            demo,
            units: 0.0,
            frequency: demo::FREQUENCY,
            paused: false,
            last: None,
            feed: VecDeque::with_capacity(FEED_MAX),
            network,
        }
    }
}

impl Source for Playing {
    fn name(&self) -> &str {
        "a synthetic scene"
    }

    fn as_demo(&self) -> Option<&Demo> {
        Some(&self.demo)
    }

    fn take_network(&mut self, now: RealTime) -> bool {
        (self.network)(now)
    }

    fn poll_feed(&mut self) -> Option<FeedEntry> {
        self.feed.pop_front()
    }

    fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        let elapsed = now.since(self.last.unwrap_or(now));
        self.last = Some(now);
        if !self.paused {
            self.units += elapsed.as_secs_f64() * f64::from(self.frequency);
        }
        self.demo.scene(self.units, scene);
        add_to_feed(scene, &mut self.feed);
        self.fill_speed(&mut scene.clock);
    }

    fn fill_speed(&self, clock: &mut SceneClock) {
        clock.frequency = self.frequency;
        clock.paused = self.paused;
    }

    fn request(&mut self, request: ControlRequest, _: RealTime) -> Result<(), String> {
        match request {
            ControlRequest::SetFrequency(frequency) => self.frequency = frequency.max(1),
            ControlRequest::SetLag(_) | ControlRequest::SetTeamLag(..) => {
                return Err("nobody is connected to a synthetic scene".to_owned());
            }
            ControlRequest::Pause => self.paused = true,
            ControlRequest::Resume => self.paused = false,
            ControlRequest::Step(StepKind::Unit) => self.units = self.units.floor() + 1.0,
            ControlRequest::Step(StepKind::Event | StepKind::Action) => {
                self.units = (self.units / 7.0).floor() * 7.0 + 7.0
            }
        }
        Ok(())
    }
}

/// Entries that wait for a reader; one that reads once a frame never misses one.
const FEED_MAX: usize = 256;

/// Adds the effects of `scene` that began since the scene before it; without room the oldest entries go.
fn add_to_feed(scene: &Scene, feed: &mut VecDeque<FeedEntry>) {
    for effect in &scene.effects {
        if effect.age_units >= scene.clock.elapsed_units {
            continue;
        }
        let who = effect.agent.map(|(agent, team)| Who { agent, team });
        let kind = match (effect.kind, who) {
            (EffectKind::Birth, Some(who)) => FeedKind::Joined(who),
            (EffectKind::Death { level, .. }, Some(who)) => FeedKind::Died(who, level),
            (EffectKind::Push { .. }, Some(who)) => FeedKind::Pushed(who),
            (EffectKind::Rose { level }, Some(who)) => FeedKind::Rose(who, level),
            (EffectKind::Broadcast { text, .. }, Some(who)) => FeedKind::Said(who, scene.text(text).into()),
            _ => continue,
        };
        if feed.len() == FEED_MAX {
            feed.pop_front();
        }
        feed.push_back(FeedEntry {
            at: scene.clock.game - GameSpan::from_nanounits((f64::from(effect.age_units) * 1e9) as i128),
            kind,
        });
    }
}
