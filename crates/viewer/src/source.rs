//! Where scenes come from: a server's game ([`mod@live`]), or a synthetic one ([`mod@demo`]).

mod live;

use std::collections::VecDeque;
use std::fmt::Debug;

use trantor_client::{
    Client, ClientStats, EffectKind, FeedEntry, FeedKind, Language, Recording, Scene, SceneClock, Who,
};
use trantor_model::{AgentId, CommandKind, Control, Refusal, Step};
use trantor_protocol::wire::{LinkState, ScorePoint};
use trantor_runtime::wait::Waker;
use trantor_time::{GameSpan, GameTime, RealTime};

use crate::demo::{self, Demo};
use live::Live;

/// Watches the server at `host` and `port`, and shows it a token if there is one. `waker` is called when data came.
pub fn live(
    host: &str,
    port: u16,
    language: Language,
    token: Option<String>,
    waker: Waker,
) -> std::io::Result<Box<dyn Source>> {
    Ok(Box::new(Live::new(host, port, language, token, waker)?))
}

pub fn demo(demo: Demo) -> Box<dyn Source> {
    Box::new(Playing::new(demo, |_| false))
}

/// Something to watch. The default methods are those of a source without a connection.
pub trait Source: Debug {
    /// The name that panels show.
    fn name(&self) -> &str;

    /// Writes the scene of `now`; game time never goes back. While there is no world, the last one stays.
    fn scene(&mut self, now: RealTime, scene: &mut Scene);

    /// Asks for something about the match.
    fn request(&mut self, request: Control, now: RealTime) -> Result<(), Refusal>;

    /// Writes speed and pause as they were asked for, without waiting for the next scene.
    fn fill_speed(&self, clock: &mut SceneClock) {
        if let Some(client) = self.client() {
            client.fill_speed(clock);
        }
    }

    /// The oldest entry of the feed that was shown and not yet read.
    fn poll_feed(&mut self) -> Option<FeedEntry> {
        self.client_mut()?.poll_feed()
    }

    fn as_demo(&self) -> Option<&Demo> {
        None
    }

    /// The client of the open connection.
    fn client(&self) -> Option<&Client> {
        None
    }

    fn client_mut(&mut self) -> Option<&mut Client> {
        None
    }

    /// Handles one event from the network; `false` when none waits.
    fn take_network(&mut self, _now: RealTime) -> bool {
        false
    }

    /// Pieces from the network that wait.
    fn pieces_waiting(&self) -> usize {
        0
    }

    /// Handles time-outs that are due, and sends what is to be sent.
    fn tend(&mut self, _now: RealTime) {}

    /// When [`Self::tend`] has something to do without an event.
    fn next_timeout(&self) -> Option<RealTime> {
        None
    }

    /// Leaves the server and joins it again at once.
    ///
    /// # Errors
    /// If there is none to join; the text is for the user.
    fn reconnect(&mut self) -> Result<(), String> {
        Err("there is no server to join".to_owned())
    }

    /// Whether a whole world came since this was asked last: of another moment of a recording, of a game joined again, or
    /// a fresh snapshot for a viewer that was too slow. What happened in between was not sent.
    fn take_new_world(&mut self) -> bool {
        false
    }

    /// Whether a world came since this was asked last that belongs to another game than the one before: the server was
    /// restarted, or it is another one.
    fn take_other_run(&mut self) -> bool {
        false
    }

    /// Asks for the queued commands of an agent, from now on.
    fn watch(&mut self, _agent: Option<AgentId>) {}

    fn poll_notice(&mut self) -> Option<String> {
        None
    }

    /// Says goodbye to the server.
    fn leave(&mut self) {}

    fn recording(&self) -> Option<&Recording> {
        self.client()?.recording()
    }

    /// The queued commands of `agent`, as far as they are known.
    fn waiting(&self, agent: AgentId) -> Option<&[Option<CommandKind>]> {
        let (of, commands) = self.client()?.waiting()?;
        (of == agent).then_some(commands)
    }

    /// The links of `agent`, while messages take time.
    fn links(&self, agent: AgentId) -> Option<&[LinkState]> {
        let (of, links) = self.client()?.links()?;
        (of == agent).then_some(links)
    }

    /// The score history before the world that is shown, once for each world that came with it.
    fn take_scores(&mut self) -> Option<Vec<ScorePoint>> {
        self.client_mut()?.take_scores()
    }

    /// How the score went since the last call: a point for each moment at which it changed.
    fn take_steps(&mut self) -> Vec<ScorePoint> {
        self.client_mut().map(Client::take_steps).unwrap_or_default()
    }

    fn stats(&self, now: RealTime) -> Option<ClientStats> {
        Some(self.client()?.stats(now))
    }
}

/// A synthetic scene that is played, with the little control that makes sense for one.
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

    fn request(&mut self, request: Control, _: RealTime) -> Result<(), Refusal> {
        match request {
            Control::SetFrequency(frequency) => self.frequency = frequency.max(1),
            Control::Pause => self.paused = true,
            Control::Resume => self.paused = false,
            Control::Step(Step::Units(units)) => self.units = self.units.floor() + f64::from(units),
            Control::Step(Step::Event | Step::Action) => {
                self.units = (self.units / 7.0).floor() * 7.0 + 7.0;
            }
            Control::Seek(_) => return Err(Refusal::NotAllowed("this is no recording")),
            _ => return Err(Refusal::NotAllowed("nobody is connected to a synthetic scene")),
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

/// A span of a recording that is shown again and again; either end may be missing yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeat {
    from: Option<GameTime>,
    to: Option<GameTime>,
}

impl Repeat {
    /// It begins here. An end that lies before goes.
    pub fn begin(&mut self, at: GameTime) {
        self.from = Some(at);
        self.to = self.to.filter(|to| *to > at);
    }

    /// It ends here. A beginning that lies behind goes.
    pub fn end(&mut self, at: GameTime) {
        self.to = Some(at);
        self.from = self.from.filter(|from| *from < at);
    }

    /// Where it begins and ends, as far as that is chosen.
    pub fn ends(&self) -> (Option<GameTime>, Option<GameTime>) {
        (self.from, self.to)
    }

    /// Where to jump when `shown` is shown: back to the beginning from the end on.
    pub fn jump(&self, shown: GameTime) -> Option<GameTime> {
        let (from, to) = (self.from?, self.to?);
        (shown >= to).then_some(from)
    }
}

#[cfg(test)]
mod tests;
