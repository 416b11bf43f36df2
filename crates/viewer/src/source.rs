//! Where scenes come from: a server's game, or a synthetic one.

mod live;
mod playing;
mod repeat;

use trantor_client::{
    Client, ClientStats, ControlRequest, FeedEntry, Language, Recording, Scene, SceneClock,
};
use trantor_model::{AgentId, CommandKind};
use trantor_protocol::wire::ScorePoint;
use trantor_time::{GameTime, RealTime};

use crate::demo::Demo;
use crate::lag::Lag;
pub use live::Live;
pub use playing::Playing;
pub use repeat::Repeat;

/// Something to watch.
#[derive(Debug)]
pub enum Source {
    /// A server's game.
    Live(Box<Live>),
    /// A synthetic scene.
    Demo(Box<Playing>),
}

impl Source {
    /// Watches the server at `host` and `port`, and shows it a token if it has one. `wake` is called, from another thread, when something came.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub fn live(
        host: &str,
        port: u16,
        language: Language,
        token: Option<String>,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        Live::new(host, port, language, token, wake).map(|live| Self::Live(Box::new(live)))
    }

    /// Shows a demo.
    pub fn demo(demo: Demo) -> Self {
        Self::Demo(Box::new(Playing::new(demo, None)))
    }

    /// Shows a demo beside a network that brings pieces without meaning: for tests and measurements of the loop.
    ///
    /// `take` handles one piece, given the time, and answers whether there was one.
    pub fn demo_with_network(demo: Demo, take: fn(RealTime) -> bool) -> Self {
        Self::Demo(Box::new(Playing::new(demo, Some(take))))
    }

    /// Takes one thing that came from the network; `false` when nothing waits.
    pub fn take_network(&mut self, now: RealTime) -> bool {
        match self {
            Self::Live(live) => live.take_network(now),
            Self::Demo(playing) => playing.take_network(now),
        }
    }

    /// Whether things from the network wait, and there is room to take them.
    pub fn has_network(&self) -> bool {
        matches!(self, Self::Live(live) if live.has_network())
    }

    /// How many pieces from the network wait.
    pub fn pieces_waiting(&self) -> usize {
        match self {
            Self::Live(live) => live.pieces_waiting(),
            Self::Demo(_) => 0,
        }
    }

    /// Makes the way to the server longer on purpose, or as long as it is.
    ///
    /// # Errors
    /// If there is no way; the text is for the user.
    pub fn set_lag(&mut self, lag: Option<Lag>) -> Result<(), String> {
        let Self::Live(live) = self else {
            return Err("there is no connection that could lag".to_owned());
        };
        live.set_lag(lag);
        Ok(())
    }

    /// How much longer the way is made.
    pub fn lag(&self) -> Option<Lag> {
        match self {
            Self::Live(live) => live.lag().map(|(lag, _)| lag),
            Self::Demo(_) => None,
        }
    }

    /// Leaves the server, if there is one, and joins it again at once.
    ///
    /// # Errors
    /// If there is none to join; the text is for the user.
    pub fn reconnect(&mut self) -> Result<(), String> {
        let Self::Live(live) = self else {
            return Err("there is no server to join".to_owned());
        };
        live.reconnect();
        Ok(())
    }

    /// Does what is due, and sends what is to be sent.
    pub fn tend(&mut self, now: RealTime) {
        if let Self::Live(live) = self {
            live.tend(now);
        }
    }

    /// When [`Self::tend`] has something to do without anything having come.
    pub fn next_timeout(&self) -> Option<RealTime> {
        match self {
            Self::Live(live) => live.next_timeout(),
            Self::Demo(_) => None,
        }
    }

    /// Writes what is to be seen at `now`, never less than before. While there is no world, the last one stays.
    pub fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        match self {
            Self::Live(live) => live.scene(now, scene),
            Self::Demo(playing) => playing.scene(now, scene),
        }
    }

    /// Whether a whole world came since this was asked last: of another moment of a recording, of a game joined again, or
    /// since this viewer had been too slow for the news. What happened in between was not told.
    pub fn take_new_world(&mut self) -> bool {
        match self {
            Self::Live(live) => live.take_new_world(),
            Self::Demo(_) => false,
        }
    }

    /// Whether a world came since this was asked last that is none of the game shown before: the server was started
    /// anew, or it is another one.
    pub fn take_other_run(&mut self) -> bool {
        match self {
            Self::Live(live) => live.take_other_run(),
            Self::Demo(_) => false,
        }
    }

    /// Asks for another speed, a pause or a step.
    ///
    /// # Errors
    /// If it cannot be asked; the text is for the user.
    pub fn request(&mut self, request: ControlRequest, now: RealTime) -> Result<(), String> {
        match self {
            Self::Live(live) => live.request(request, now),
            Self::Demo(playing) => {
                playing.request(request);
                Ok(())
            }
        }
    }

    /// Writes speed and pause as they were asked for, without waiting for the next scene.
    pub fn fill_speed(&self, clock: &mut SceneClock) {
        match self {
            Self::Live(live) => {
                if let Some(client) = live.client() {
                    client.fill_speed(clock);
                }
            }
            Self::Demo(playing) => playing.fill_speed(clock),
        }
    }

    /// The time-line of what is watched, if it is a recording.
    pub fn recording(&self) -> Option<&Recording> {
        match self {
            Self::Live(live) => live.client().and_then(Client::recording),
            Self::Demo(_) => None,
        }
    }

    /// Asks which commands of an agent wait for their turn, from now on.
    pub fn watch(&mut self, agent: Option<AgentId>) {
        if let Self::Live(live) = self {
            live.watch(agent);
        }
    }

    /// The commands of `agent` that wait, as far as they were told.
    pub fn waiting(&self, agent: AgentId) -> Option<&[Option<CommandKind>]> {
        let Self::Live(live) = self else { return None };
        let (of, commands) = live.client()?.waiting()?;
        (of == agent).then_some(commands)
    }

    /// Moves a recording to a moment.
    ///
    /// # Errors
    /// If it cannot be; the text is for the user.
    pub fn seek(&mut self, to: GameTime) -> Result<(), String> {
        match self {
            Self::Live(live) => {
                let client = live.client_mut().ok_or("there is no connection")?;
                client.seek(to).map_err(|error| error.to_string())
            }
            Self::Demo(_) => Err("this is no recording".to_owned()),
        }
    }

    /// How the score went before the world that is shown, once for each world with which that was told.
    pub fn take_scores(&mut self) -> Option<Vec<ScorePoint>> {
        match self {
            Self::Live(live) => live.client_mut().and_then(Client::take_scores),
            Self::Demo(_) => None,
        }
    }

    /// The oldest thing shown and not yet read.
    pub fn poll_feed(&mut self) -> Option<FeedEntry> {
        match self {
            Self::Live(live) => live.client_mut().and_then(Client::poll_feed),
            Self::Demo(playing) => playing.poll_feed(),
        }
    }

    /// The oldest message for the user.
    pub fn poll_notice(&mut self) -> Option<String> {
        match self {
            Self::Live(live) => live.poll_notice(),
            Self::Demo(_) => None,
        }
    }

    /// Figures about the connection, if there is one.
    pub fn stats(&self, now: RealTime) -> Option<ClientStats> {
        match self {
            Self::Live(live) => live.client().map(|client| client.stats(now)),
            Self::Demo(_) => None,
        }
    }

    /// What is watched, in a few words.
    pub fn name(&self) -> &str {
        match self {
            Self::Live(live) => live.address(),
            Self::Demo(_) => "a synthetic scene",
        }
    }

    /// The demo, if it is one.
    pub fn as_demo(&self) -> Option<&Demo> {
        match self {
            Self::Demo(playing) => Some(playing.demo()),
            Self::Live(_) => None,
        }
    }

    /// Says goodbye, if there is somebody to say it to.
    pub fn leave(&mut self) {
        if let Self::Live(live) = self {
            live.leave();
        }
    }
}
