//! What can be chosen at start: as used ([`Options`]), and the four places it is written in.
//!
//! Flags win over the environment, the environment over the file, the file over the defaults.
//! One table, [`settings`], names every option once; the flags ([`cli`]), the file and the environment
//! ([`layers`]) and the sample file are all made from it or tested against it.

pub mod cli;
pub mod config;
pub mod layers;
pub mod log_filter;
pub mod origins;
pub mod settings;
pub mod written;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use log::LevelFilter;
use trantor_engine::limits::Limits;
use trantor_engine::{Control, EngineConfig, FoodTold, PlacesTold, RefillNews, Token};
use trantor_game::{GameConfig, Rules};
use trantor_model::MapSize;
use trantor_protocol::text::{Dialect, GuiIds};
use trantor_time::{Frequency, RealSpan};

use crate::autosave::SaveOptions;
use crate::console::input::ConsoleInput;
use crate::keep_alive::{KEEP_ALIVE, KeepAlive};
use crate::recorder::RecordKeep;

pub use log_filter::LogFilter;
use origins::Origins;

/// Every option, checked and ready to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Address to listen on. Loopback unless told otherwise: nobody opens a port to the world by accident.
    pub bind: IpAddr,
    /// Port to listen on; 0 lets the system choose one, which the first line of output then names.
    pub port: u16,
    /// Columns of the map, `1..=1000`.
    pub width: u16,
    /// Rows of the map, `1..=1000`.
    pub height: u16,
    /// Team names, in the order given; see [`written::Kind::TeamNames`] for what a name may be.
    pub teams: Vec<String>,
    /// Places (eggs) each team starts with, `1..=100_000`.
    pub places_per_team: u32,
    /// Units of game time per second at start, `1..=10_000`.
    pub frequency: Frequency,
    /// Real time after which the leading team wins; `None`: only the rules end a match.
    pub match_duration: Option<RealSpan>,
    /// Whether peers are greeted at once, or only after `start` on the console.
    pub auto_start: bool,
    /// Whether eggs are seen by `Look`.
    pub display_eggs: bool,
    /// Whether `Eject` destroys the eggs on its tile.
    pub eject_eggs: bool,
    /// Units until a laid egg can be joined; 0: at once.
    pub egg_hatch_units: u32,
    /// Whether a team gets a place back when one of its players is gone.
    pub respawn_slots: bool,
    /// What text viewers are told of a refill.
    pub refill_news: RefillNews,
    /// How numbers are written to text viewers.
    pub gui_ids: GuiIds,
    /// The words spoken with players.
    pub dialect: Dialect,
    /// How players of the 42 dialects are told of their food.
    pub food_told: FoodTold,
    /// Which places of its team a newborn player is told.
    pub places_told: PlacesTold,
    /// Whether the server ends once a team has won.
    pub ends_at_win: bool,
    /// What all chance is drawn from; `None`: another one each start, which the first line of output names.
    pub seed: Option<u64>,
    /// Who may change the speed, pause, step and operate.
    pub control: Control,
    /// Where the token for [`Control::Token`] stands.
    pub token_file: Option<PathBuf>,
    /// How much later than it happens viewers that may not control the game are told of it.
    pub spectator_delay: RealSpan,
    /// Whether the console is read on standard input.
    pub console: ConsoleInput,
    /// How far the game may fall behind before it slows down instead; `None`: as far as it likes.
    pub lag_limit: Option<RealSpan>,
    /// What peers may do to the server.
    pub limits: Limits,
    /// Silence after which the system asks whether a peer is still there; `None`: it never asks.
    pub keep_alive: Option<RealSpan>,
    /// Where a journal of the run is kept; `None`: nowhere.
    pub record: Option<PathBuf>,
    /// How much of the recordings there is kept.
    pub record_keep: RecordKeep,
    /// How the game is saved, and whether it goes on from a save.
    pub save: SaveOptions,
    /// How the server's counts are told.
    pub metrics: MetricsOptions,
    /// Whether game time waits for players instead of for the clock.
    pub lock_step: bool,
    /// How long it waits for them at most, at one moment of the game.
    pub lock_step_timeout: RealSpan,
    /// Whether the loop spins for the last microseconds before the game's deadlines.
    pub precise: bool,
    /// What is logged on standard error.
    pub log: LogFilter,
}

/// How what the server counts is told to others. Off unless asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsOptions {
    /// Where `/metrics` and `/health` can be had over HTTP.
    pub address: Option<SocketAddr>,
    /// Names of this host that they may be asked for by, beside its addresses and `localhost`.
    pub hosts: Vec<String>,
    /// At which level a line with the most important figures is logged.
    pub log: LevelFilter,
    /// How often that line is logged.
    pub every: RealSpan,
}

impl Default for MetricsOptions {
    fn default() -> Self {
        Self {
            address: None,
            hosts: Vec::new(),
            log: LevelFilter::Off,
            every: RealSpan::from_secs(60),
        }
    }
}

impl MetricsOptions {
    /// Whether anything is asked for.
    pub fn are_wanted(&self) -> bool {
        self.address.is_some() || self.log != LevelFilter::Off
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 4242,
            width: 20,
            height: 20,
            teams: vec!["red".to_owned(), "blue".to_owned()],
            places_per_team: 6,
            frequency: Frequency::new(100).expect("100 is a frequency"),
            match_duration: None,
            auto_start: true,
            display_eggs: false,
            eject_eggs: true,
            egg_hatch_units: 0,
            respawn_slots: false,
            refill_news: RefillNews::default(),
            gui_ids: GuiIds::default(),
            ends_at_win: false,
            food_told: FoodTold::default(),
            places_told: PlacesTold::default(),
            dialect: Dialect::default(),
            seed: None,
            control: Control::User,
            token_file: None,
            spectator_delay: RealSpan::ZERO,
            console: ConsoleInput::default(),
            lag_limit: Some(RealSpan::from_millis(250)),
            limits: Limits::default(),
            lock_step: false,
            lock_step_timeout: RealSpan::from_secs(5),
            keep_alive: Some(KEEP_ALIVE),
            record: None,
            record_keep: RecordKeep::default(),
            save: SaveOptions::default(),
            metrics: MetricsOptions::default(),
            precise: false,
            log: LogFilter::everything(LevelFilter::Info),
        }
    }
}

impl Options {
    /// Where to listen.
    pub fn listen_address(&self) -> SocketAddr {
        SocketAddr::new(self.bind, self.port)
    }

    /// What the engine is made from, with `seed` for its chance.
    pub fn engine_config(&self, seed: u64) -> EngineConfig {
        let game = GameConfig {
            size: MapSize::new(u32::from(self.width), u32::from(self.height))
                .expect("the sides were checked"),
            teams: self.teams.clone(),
            places_per_team: self.places_per_team,
            seed,
            rules: Rules {
                eject_eggs: self.eject_eggs,
                egg_hatch_units: self.egg_hatch_units,
                respawn_places: self.respawn_slots,
                eggs_in_sight: self.display_eggs,
                ..Rules::default()
            },
        };
        EngineConfig {
            frequency: self.frequency,
            auto_start: self.auto_start,
            match_duration: self.match_duration,
            dialect: self.dialect,
            gui_ids: self.gui_ids,
            food_told: self.food_told,
            places_told: self.places_told,
            refill_news: self.refill_news,
            control: self.control,
            spectator_delay: self.spectator_delay,
            lag_max: self.lag_limit,
            limits: self.limits.clone(),
            lock_step: self.lock_step.then_some(self.lock_step_timeout),
            ..EngineConfig::new(game)
        }
    }

    /// When peers count as gone that nothing is heard of.
    pub fn keep_alive(&self) -> Option<KeepAlive> {
        let silence = self.keep_alive?;
        let stall = self.limits.stall_span;
        Some(KeepAlive { silence, stall })
    }

    /// The token in [`Self::token_file`]; `None` if control is not by token.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no token.
    pub fn token(&self) -> Result<Option<Token>, OptionError> {
        let Some(path) = &self.token_file else {
            return Ok(None);
        };
        let shown = || format!("token-file {}", path.display());
        let text = layers::read_bounded(path).map_err(|error| OptionError::new(shown(), error))?;
        let token = Token::read(&text).map_err(|error| OptionError::new(shown(), error.to_string()))?;
        Ok(Some(token))
    }

    /// Checks what no single option can: a resume from somewhere, a token to control by, and the places of all
    /// teams together.
    pub(crate) fn check_together(&self) -> Result<(), Clash> {
        let clash = |names, written: &str, accepted: &str| {
            let error = OptionError::new(written, accepted);
            Err(Clash { names, error })
        };
        match (self.control, &self.token_file) {
            (Control::Token, None) => {
                let needed = "needs token-file, a file with the token in its first line";
                return clash(["control", "token-file"], "control token", needed);
            }
            (Control::Token, Some(_)) | (_, None) => {}
            (_, Some(_)) => {
                let needed = "is of use with control token only; say --control token too";
                return clash(["token-file", "control"], "token-file", needed);
            }
        }
        if self.save.resume && self.save.directory.is_none() {
            let needed = "needs save, the directory to go on from";
            return clash(["resume", "save"], "resume", needed);
        }
        let (teams, each) = (self.teams.len(), self.places_per_team);
        if each as usize > GameConfig::EGGS_MAX / teams {
            let asked = format!("{teams} teams of {each} places");
            let most = format!("all teams together have at most {} places", GameConfig::EGGS_MAX);
            return clash(["clients", "teams"], &asked, &most);
        }
        Ok(())
    }
}

/// Two options of which each may be as it is, but not beside the other.
#[derive(Debug)]
pub(crate) struct Clash {
    /// Their names, the one to be mended first.
    pub(crate) names: [&'static str; 2],
    /// What is wrong.
    pub(crate) error: OptionError,
}

impl Clash {
    /// The mistake where no flag has a part in it: with the place of what was written.
    pub(crate) fn elsewhere(self, origins: &Origins) -> OptionError {
        let error = match self.names.iter().find_map(|name| origins.of(name)) {
            Some(origin) => self.error.within(&origin.place),
            None => self.error,
        };
        error.elsewhere()
    }
}

/// Why the options cannot be used: what was written, and what is accepted. One line.
///
/// The program prints it and exits with status 84, which the tools of the Zappy world look for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{written}: {accepted}")]
pub struct OptionError {
    written: String,
    accepted: String,
    is_elsewhere: bool,
}

impl OptionError {
    /// The same in a file of options, or at a place in it.
    pub(crate) fn within(self, place: &str) -> Self {
        Self {
            is_elsewhere: self.is_elsewhere,
            ..Self::new(format!("{place}: {}", self.written), self.accepted)
        }
    }

    /// The same as no mistake of the command line.
    pub(crate) fn elsewhere(self) -> Self {
        Self {
            is_elsewhere: true,
            ..self
        }
    }

    /// Whether it stands in the file of options or in the environment, and not on the command line.
    pub fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    pub(crate) fn new(written: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self {
            // A control character in what was written would break the promise of one line.
            written: written.into().replace(char::is_control, "?"),
            accepted: accepted.into().replace(char::is_control, " "),
            is_elsewhere: false,
        }
    }
}
