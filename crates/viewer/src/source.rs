//! Where scenes come from: a server's game ([`mod@live`]), or a synthetic one ([`demo`]).

mod live;
mod playing;
mod repeat;

use std::fmt::Debug;

use trantor_client::{ClientStats, ControlRequest, FeedEntry, Language, Recording, Scene, SceneClock};
use trantor_model::{AgentId, CommandKind};
use trantor_protocol::wire::ScorePoint;
use trantor_time::{GameTime, RealTime};

use crate::demo::Demo;
use live::Live;
use playing::Playing;
pub use repeat::Repeat;

/// Watches the server at `host` and `port`, and shows it a token if it has one. `wake` is called, from another thread,
/// when something came.
///
/// # Errors
/// If the operating system refuses a thread.
pub fn live(
    host: &str,
    port: u16,
    language: Language,
    token: Option<String>,
    wake: impl Fn() + Send + 'static,
) -> std::io::Result<Box<dyn Source>> {
    Ok(Box::new(Live::new(host, port, language, token, wake)?))
}

pub fn demo(demo: Demo) -> Box<dyn Source> {
    Box::new(Playing::new(demo, |_| false))
}

/// Shows a demo beside a network that brings pieces without meaning: for tests and measurements of the loop.
///
/// `take` handles one piece, given the time, and answers whether there was one.
pub fn demo_with_network(demo: Demo, take: fn(RealTime) -> bool) -> Box<dyn Source> {
    Box::new(Playing::new(demo, take))
}

/// Something to watch. The default methods are those of a source without a connection.
pub trait Source: Debug {
    /// What is watched, in a few words.
    fn name(&self) -> &str;

    /// Writes what is to be seen at `now`, never less than before. While there is no world, the last one stays.
    fn scene(&mut self, now: RealTime, scene: &mut Scene);

    /// Asks for another speed, a pause or a step.
    ///
    /// # Errors
    /// If it cannot be asked; the text is for the user.
    fn request(&mut self, request: ControlRequest, now: RealTime) -> Result<(), String>;

    /// Writes speed and pause as they were asked for, without waiting for the next scene.
    fn fill_speed(&self, clock: &mut SceneClock);

    /// The oldest thing shown and not yet read.
    fn poll_feed(&mut self) -> Option<FeedEntry>;

    fn as_demo(&self) -> Option<&Demo> {
        None
    }

    /// Takes one thing that came from the network; `false` when nothing waits.
    fn take_network(&mut self, now: RealTime) -> bool;

    /// How many pieces from the network wait.
    fn pieces_waiting(&self) -> usize {
        0
    }

    /// Handles time-outs that are due, and sends what is to be sent.
    fn tend(&mut self, _now: RealTime) {}

    /// When [`Self::tend`] has something to do without anything having come.
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

    /// Whether a world came since this was asked last that is none of the game shown before: the server was started
    /// anew, or it is another one.
    fn take_other_run(&mut self) -> bool {
        false
    }

    /// The time-line of what is watched, if it is a recording.
    fn recording(&self) -> Option<&Recording> {
        None
    }

    /// Moves a recording to a moment.
    ///
    /// # Errors
    /// If it cannot be; the text is for the user.
    fn seek(&mut self, _to: GameTime) -> Result<(), String> {
        Err("this is no recording".to_owned())
    }

    /// Asks which commands of an agent wait for their turn, from now on.
    fn watch(&mut self, _agent: Option<AgentId>) {}

    /// The commands of `agent` that wait, as far as they are known.
    fn waiting(&self, _agent: AgentId) -> Option<&[Option<CommandKind>]> {
        None
    }

    /// How the score went before the world that is shown, once for each world that came with it.
    fn take_scores(&mut self) -> Option<Vec<ScorePoint>> {
        None
    }

    fn poll_notice(&mut self) -> Option<String> {
        None
    }

    /// Figures about the connection, if there is one.
    fn stats(&self, _now: RealTime) -> Option<ClientStats> {
        None
    }

    fn leave(&mut self) {}
}
