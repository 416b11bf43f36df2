//! Where scenes come from: a server's game ([`mod@live`]), or a synthetic one ([`demo`]).

mod connection;
mod live;
mod playing;
mod repeat;

use std::fmt::Debug;

use trantor_client::{
    Client, ClientStats, ControlRequest, FeedEntry, Language, Recording, Scene, SceneClock,
};
use trantor_model::{AgentId, CommandKind};
use trantor_protocol::wire::{LinkState, ScorePoint};
use trantor_runtime::wait::Waker;
use trantor_time::{GameTime, RealTime};

use crate::demo::Demo;
use live::Live;
pub(crate) use playing::Playing;
pub use repeat::Repeat;

/// Watches the server at `host` and `port`, and shows it a token if there is one. `waker` is called when data came.
///
/// # Errors
/// If the operating system refuses a thread.
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

    /// Asks for another speed, a pause or a step.
    ///
    /// # Errors
    /// If it cannot be asked; the text is for the user.
    fn request(&mut self, request: ControlRequest, now: RealTime) -> Result<(), String>;

    /// Writes speed and pause as they were asked for, without waiting for the next scene.
    fn fill_speed(&self, clock: &mut SceneClock);

    /// The oldest entry of the feed that was shown and not yet read.
    fn poll_feed(&mut self) -> Option<FeedEntry>;

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

    /// The timeline of a recording.
    fn recording(&self) -> Option<&Recording> {
        self.client()?.recording()
    }

    /// Moves a recording to another game time.
    ///
    /// # Errors
    /// If it cannot be; the text is for the user.
    fn seek(&mut self, to: GameTime) -> Result<(), String> {
        let why_not = match self.as_demo() {
            Some(_) => "this is no recording",
            None => "there is no connection",
        };
        let client = self.client_mut().ok_or(why_not)?;
        client.seek(to).map_err(|error| error.to_string())
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

    /// Figures about the connection.
    fn stats(&self, now: RealTime) -> Option<ClientStats> {
        Some(self.client()?.stats(now))
    }
}

#[cfg(test)]
mod tests;
