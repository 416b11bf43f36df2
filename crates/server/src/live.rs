//! A game shown to viewers while it is played: a server in the background that plays the game's journal as it grows.
//!
//! The player sends what it has recorded, and then waits until viewers have seen nearly as much ([`LiveServer::wait`]): their
//! pause and their speed are the game's. Without a viewer nothing is sent, and nothing waits.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use trantor_engine::{Engine, EngineConfig};
use trantor_game::replay::{IndexedPiece, Recording};
use trantor_time::{GameSpan, GameTime, RealSpan};

use crate::background::Background;
use crate::event_loop::EventLoop;
use crate::shell::Shell;

/// A server that shows a game of another thread. Dropping it ends it in order.
pub struct LiveServer {
    progress: Arc<Progress>,
    sent: u64,
    /// The game time of the last one, and of the one before.
    reached: GameTime,
    reached_before: GameTime,
    server: Background,
}

impl LiveServer {
    /// Starts a server for this machine on a port, 0 for any that is free. It shows `journal` until there is more.
    pub fn start(port: u16, journal: &[u8]) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let recording = begun(journal)?;
        let config = EngineConfig::new(recording.config().clone());
        let server = Background::with_loop(move || {
            EventLoop::new(socket, |now| {
                Engine::follow(config, &recording, now).map_err(io::Error::other)
            })
        })?;
        let mut live = Self {
            progress: Arc::default(),
            sent: 0,
            reached: GameTime::ZERO,
            reached_before: GameTime::ZERO,
            server,
        };
        let report = Report(Arc::clone(&live.progress));
        live.send(move |shell| shell.report_shown = Some(Box::new(move |engine| report.set(engine))))?;
        Ok(live)
    }

    pub fn port(&self) -> u16 {
        self.server.address().port()
    }

    pub fn is_watched(&self) -> bool {
        self.progress.shown().is_watched
    }

    /// Shows what `journal` has more than the first `sent` bytes, which were sent before; with 0 a game from its present state
    /// on. The game has come to `reached`, and `journal` as far.
    pub fn show(&mut self, journal: &[u8], sent: usize, reached: GameTime) -> io::Result<()> {
        self.reached_before = std::mem::replace(&mut self.reached, reached);
        if sent > 0 {
            let more = journal[sent..].to_vec();
            return self.send(move |shell| shell.engine.extend(&more, shell.now));
        }
        self.reached_before = reached;
        let recording = begun(journal)?;
        self.send(move |shell| {
            if let Err(refusal) = shell.engine.follow_another(&recording, shell.now) {
                log::error!("the game cannot be shown: {refusal}");
            }
        })
    }

    /// Waits until the game was shown so far that the player may go on, or to its end, but no longer than `span`. Answers whether
    /// there is nothing more to wait for, as without viewers.
    pub fn wait(&self, to_end: bool, span: Duration) -> bool {
        let must_wait = |shown: &mut Shown| {
            let is_behind = !shown.is_all && (to_end || shown.lead < self.reached_before);
            shown.is_watched && (is_behind || shown.taken < self.sent)
        };
        let shown = self.progress.shown();
        let waited = self
            .progress
            .has_changed
            .wait_timeout_while(shown, span, must_wait);
        !waited.expect("no holder panics").1.timed_out()
    }

    fn send(&mut self, run: impl FnOnce(&mut Shell) + Send + 'static) -> io::Result<()> {
        self.sent += 1;
        let progress = Arc::clone(&self.progress);
        let run = move |shell: &mut Shell| {
            run(shell);
            progress.taken.fetch_add(1, Ordering::Relaxed);
        };
        self.server
            .tasks()
            .send("live game", run)
            .map_err(io::Error::other)
    }
}

/// A recording of a game that goes on.
fn begun(journal: &[u8]) -> io::Result<Arc<Recording>> {
    let unusable = |error| io::Error::new(ErrorKind::InvalidData, error);
    let piece = IndexedPiece::new(journal, 0).map_err(unusable)?;
    Ok(Arc::new(
        Recording::join(vec![piece]).expect("one piece fits itself"),
    ))
}

/// How far the player may be ahead of what is shown, besides its last step: long enough to hide the time that most steps take, too
/// short to be noticed after a pause.
const LEAD: RealSpan = RealSpan::from_millis(100);

#[derive(Default)]
struct Progress {
    /// Messages taken from the player, up to now.
    taken: AtomicU64,
    shown: Mutex<Shown>,
    has_changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shown {
    is_watched: bool,
    is_all: bool,
    /// Where the player may be, but for its last step.
    lead: GameTime,
    /// Messages taken from the player before that.
    taken: u64,
}

impl Progress {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().expect("no holder panics")
    }

    fn set(&self, shown: Shown) {
        let before = std::mem::replace(&mut *self.shown(), shown);
        if shown != before {
            self.has_changed.notify_all();
        }
    }
}

/// What the loop reports, at the end of each of its passes.
struct Report(Arc<Progress>);

impl Report {
    fn set(&self, engine: &Engine) {
        let frequency = engine.game_clock().frequency();
        let lead_nu = i128::from(LEAD.as_nanos()) * i128::from(frequency.get());
        self.0.set(Shown {
            is_watched: engine.is_watched(),
            is_all: engine.is_recording_over(),
            lead: engine.game().now() + GameSpan::from_nanounits(lead_nu),
            taken: self.0.taken.load(Ordering::Relaxed),
        });
    }
}

impl Drop for Report {
    /// Nothing waits for a loop that has ended.
    fn drop(&mut self) {
        self.0.set(Shown::default());
    }
}
