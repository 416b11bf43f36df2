//! From checked options to a loop that listens, and what to say when that fails.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use anyhow::{anyhow, ensure};
use trantor_engine::{ControlAccess, Engine, PlaybackStart};
use trantor_model::Control;
use trantor_model::TeamId;
use trantor_model::lag::LagChange;
use trantor_time::RealSpan;

use crate::autosave::Autosave;
use crate::console::operate::{lag_actions, scenario_line};
use crate::descriptors;
use crate::event_loop::EventLoop;
use crate::options::Options;
use crate::playback::{self, PlayCommand};
use crate::recorder::{Recorder, RecorderConfig};
use crate::scripts::{Isolation, Scripts};
use crate::service_manager;
use crate::shell::Shell;
use crate::storage;
use crate::store::SystemFiles;

/// Makes the loop that `options` ask for. Answers it with the line that describes it.
pub fn start(options: &Options) -> anyhow::Result<(EventLoop, String)> {
    let descriptors = descriptors::raise_limit();
    if options.spectator_delay > RealSpan::ZERO
        && matches!(options.control, ControlAccess::Loopback | ControlAccess::Everyone)
    {
        log::warn!(
            "viewers that may control the game see it without delay: spectator-delay is for the others; with --control user, \
             token or off, those are all that show no token"
        );
    }
    let address = options.listen_address();
    let seed = options.game.seed.unwrap_or_else(seed_from_system);
    let mut config = options.engine_config(seed);
    config.token = options.token()?;
    let directory = options.save.directory.as_deref();
    let not_saved = |error: io::Error| {
        let directory = directory.unwrap_or(Path::new("")).display();
        anyhow!("cannot save in {directory}: {}", no_place(&error))
    };
    // Locked before it is read: no other server saves there in between.
    let autosave =
        directory.map(|directory| Autosave::new(SystemFiles::shared(), directory, options.save.keep));
    let autosave = autosave.transpose().map_err(not_saved)?;
    let resumed_from = directory.filter(|_| options.save.resume);
    let saved = resumed_from.map(|saves| storage::resume(&SystemFiles, saves, options.record.as_deref()));
    let saved = saved.transpose()?.flatten();
    // With --after-win exit matches follow each other: a finished one is not resumed.
    let saved = saved.filter(|game| {
        let Some(winner) = game.winner() else {
            return true;
        };
        let how = match winner {
            TeamId::DRAW => "in a draw".to_owned(),
            _ => format!("{} has won", game.config().team_name(winner)),
        };
        match options.ends_at_win {
            true => log::info!("the saved game is over, {how}: a new one"),
            false => log::warn!(
                "the saved game is over, {how}: it can be watched and not joined; --after-win exit or another \
                 place for --save begins a new one"
            ),
        }
        !options.ends_at_win
    });
    // In lock-step deadlines of one instant have another order, from the first unit on.
    ensure!(
        !options.lock_step || saved.as_ref().is_none_or(|game| game.config().rules.lock_step),
        "the saved game was not begun in lock-step, and cannot go on in it: leave out --lock-step"
    );
    // Of all teams it is one of the rules; a game that is resumed keeps its own.
    let lag = LagChange {
        all: None,
        ..options.lag()
    };
    let made = EventLoop::new(listen(address)?, |now| {
        if let Some(game) = saved {
            return Ok(Engine::resume(config, game, now));
        }
        let actions = lag_actions(&config.game, &lag).map_err(io::Error::other)?;
        let mut engine = Engine::new(config, now);
        for action in actions {
            engine
                .control(Control::Act(action), now)
                .map_err(io::Error::other)?;
        }
        Ok(engine)
    });
    let mut event_loop = made.map_err(|error| not_listening(address, &error))?;
    let shell = &mut event_loop.shell;
    shell.conns.keep_alive = options.keep_alive();
    shell.ends_at_win = options.ends_at_win;
    shell.is_precise = options.precise;
    shell.leave_descriptors(descriptors::connections_within(descriptors));
    if let Some(directory) = &options.record {
        let config = RecorderConfig {
            keep: options.record_keep,
            ..RecorderConfig::default()
        };
        Recorder::create(SystemFiles::shared(), directory, config)
            .and_then(|recorder| event_loop.record(recorder))
            .map_err(|error| anyhow!("cannot record in {}: {}", directory.display(), no_place(&error)))?;
    }
    if let Some(mut autosave) = autosave {
        if options.record.is_some() {
            // The run that has just begun continues this save, whenever this server is killed.
            autosave
                .save_now(event_loop.shell.engine.state_to_save())
                .map_err(not_saved)?;
        }
        event_loop.save(autosave, options.save.every).map_err(not_saved)?;
    }
    let tasks = event_loop.tasks();
    let notify = move || {
        // A loop with that many tasks looks at its scripts soon all the same.
        let _is_there = tasks.send("script", Shell::catch_up_with_scripts);
    };
    let computations = event_loop.shell.jobs.computations()?;
    let mut scripts = Scripts::isolated(Isolation {
        is_limited: !options.lock_step,
        notify: Arc::new(notify),
        job_worker: Arc::new(move |name, work| computations.submit(name, work)),
    });
    let engine = &mut event_loop.shell.engine;
    // A match that is over has no place for them.
    if !options.game.mind.is_empty() && engine.game().winner().is_none() {
        let config = engine.game().config();
        let groups = options
            .game
            .minds()
            .map(|mind| mind.group(config, &mut |file| scripts.minds(file)));
        let groups: Result<Vec<_>, _> = groups.collect();
        let groups = groups.map_err(|error| anyhow!("--mind: {error}"))?;
        let asked: u32 = groups.iter().map(|group| group.count).sum();
        let joined = engine.add_minds(groups)?;
        if engine.is_started() && !options.lock_step && joined < asked as usize {
            log::warn!("{joined} of {asked} minds have joined: there were places for no more, see --clients");
        }
    }
    if let Some(file) = &options.game.scenario {
        let seed = event_loop.shell.engine.game().config().seed;
        let scenario = scripts
            .scenario(file, seed)
            .map_err(|error| anyhow!("--scenario: {error}"))?;
        event_loop.shell.engine.direct(scenario, scenario_line)?;
    }
    let shell = &mut event_loop.shell;
    shell.scripts = scripts;
    shell
        .watch_scripts()
        .map_err(|error| anyhow!("script files cannot be watched: {error}"))?;
    // A game that is continued keeps the rules it was begun with, whatever the options say.
    let game = event_loop.shell.engine.game().config();
    let speed = match options.lock_step {
        true => "in lock-step".to_owned(),
        false => format!("{} units/s", options.frequency),
    };
    let line = format!(
        "listening on {} ({}x{}, teams {}, {} places each, {speed}, seed {})",
        event_loop.address(),
        game.size.width(),
        game.size.height(),
        game.teams.join(" "),
        game.places_per_team,
        game.seed,
    );
    Ok((event_loop, line))
}

/// Makes the loop that plays a recording. Answers it with the line that describes it.
pub fn play(asked: &PlayCommand) -> anyhow::Result<(EventLoop, String)> {
    descriptors::raise_limit();
    let options = &asked.options;
    let recording = playback::load(&asked.files)?;
    let address = options.listen_address();
    let mut config = options.engine_config(recording.config().seed);
    config.token = options.token()?;
    let start = PlaybackStart {
        at: asked.at.of(&recording),
        follows_speed: asked.follows_speed,
        is_paused: asked.is_paused,
    };
    let made = EventLoop::new(listen(address)?, |now| {
        Engine::play(config, &recording, start, now).map_err(io::Error::other)
    });
    let mut event_loop = made.map_err(|error| not_listening(address, &error))?;
    event_loop.shell.conns.keep_alive = options.keep_alive();
    let (address, what) = (event_loop.address(), playback::described(&recording));
    Ok((
        event_loop,
        format!("listening on {address} (a recording: {what})"),
    ))
}

/// The socket that a service manager has opened, or else one of our own on `address`.
fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let inherited = service_manager::inherited_listener().map_err(|error| {
        anyhow!("LISTEN_FDS: the socket that was handed over is no TCP socket that listens: {error}")
    })?;
    match inherited {
        Some(socket) => Ok(socket),
        None => TcpListener::bind(address).map_err(|error| not_listening(address, &error)),
    }
}

/// Why nothing can listen on `address`, with what would help.
fn not_listening(address: SocketAddr, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => anyhow!(
            "{address} is in use: another server is running there, or choose another port with -p (0 for any)"
        ),
        io::ErrorKind::AddrNotAvailable => {
            anyhow!("{} is no address of this machine; see --bind", address.ip())
        }
        io::ErrorKind::PermissionDenied => anyhow!(
            "port {} is not for ordinary users; choose one from 1024 up with -p",
            address.port()
        ),
        _ => anyhow!("cannot listen on {address}: {error}"),
    }
}

/// Why nothing can be written in a directory; in our own words where those of the system say little.
fn no_place(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "that is a file; name a directory, or one that can be made".to_owned()
        }
        io::ErrorKind::WouldBlock => {
            "another server saves there; end that one, or give each a directory of its own".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Another number each time: the system seeds the standard library's hash maps, and that is enough for a game. Half of the
/// range, since numbers of TOML are signed.
fn seed_from_system() -> u64 {
    RandomState::new().hash_one("trantor") >> 1
}
