//! The options of a server: [`Options`] is the one list, with the flag, the range and the help of each.
//!
//! Flags win over the environment, the environment over the file, the file over the defaults. [`values`] reads the words
//! of an option, [`settings`] finds options by name and reads the environment and the file, and [`crate::cli`] reads the
//! command line.

mod error;
pub mod settings;
pub mod values;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::ArgAction;
use log::LevelFilter;
use trantor_engine::limits::{self, Limits};
use trantor_engine::{ControlAccess, EngineConfig, InventoryFood, JoinPlaces, RefillUpdates, Token};
use trantor_game::{GameConfig, Rules};
use trantor_model::MapSize;
use trantor_model::agent::EGGS_MAX;
use trantor_model::lag::{self, LagChange};
use trantor_protocol::limits::{TEXT_FREQUENCY_MAX, TOKEN_FILE_BYTES_MAX};
use trantor_protocol::text::{Dialect, GuiIds};
use trantor_runtime::files::read_regular_text;
use trantor_time::{Frequency, RealSpan};

use crate::archive::Keep;
use crate::conn::KeepAlive;
use trantor_play::words::unknown_team;
use trantor_play::words::{MindSpec, MindSpecs};

pub(crate) use error::{COMMANDS, explain, flag_of};
pub use error::{EXIT_STATUS_REFUSED, OptionError, PROGRAM};
use trantor_cli::values::{choice, number, whole};
use values::{
    CONSOLES, CONTROLS, DIALECTS, LEVELS, ON_OFF, REFILL_UPDATES, TRUE_FALSE, address, fits, frequency,
    host_names, log_filter, minds, overload_limit, path, period, record_keep, seconds, seconds_or_never,
    socket_address, switch, team_name,
};
pub use values::{ConsoleInput, LogFilter};

/// A value that 0 switches off. An alias, since clap takes an `Option` for a flag that may be left out.
pub type OrNone<T> = Option<T>;

/// Names of hosts, from one word. An alias, since clap takes a `Vec` for a flag with many words.
pub type Hosts = Vec<String>;

/// Longest of most times: a day. The interval of log lines, a peer's limits, and a wait in lock-step, for a person who
/// debugs a bot.
const SECONDS_MAX: u64 = 24 * 60 * 60;
/// Longest match: a year. No arithmetic on it can overflow.
const MATCH_SECONDS_MAX: u64 = 365 * SECONDS_MAX;
/// Longest silence before the first keep-alive probe: the maximum of Linux.
const KEEP_ALIVE_SECONDS_MAX: u64 = 32_767;
/// Longest delay of spectators: ten minutes. The output held for them is bounded too, and a match is seldom longer.
const SPECTATOR_DELAY_SECONDS_MAX: u64 = 600;
/// Longest lag: an hour. Beyond that, 0 for no limit is meant.
const OVERLOAD_LIMIT_MS_MAX: u64 = 60 * 60 * 1000;
/// Highest frequency to start with: a unit is then 100 µs, still well above the lateness of a wake-up.
pub const FREQUENCY_MAX: u64 = TEXT_FREQUENCY_MAX as u64;

/// Saves kept. More is an archive, which a copy elsewhere does better.
const SAVES_KEPT_MAX: u64 = 1_000;
/// Time between saves, in milliseconds: a tenth of a second to a day. Less would only wear the disk.
const PERIOD_MS: std::ops::RangeInclusive<u64> = 100..=SECONDS_MAX * 1_000;

/// Connections: as many as a system has descriptors for.
const CONNECTIONS_LIMIT_MAX: u64 = 1_000_000;
/// Shortest message that must pass: the text protocol promises as much.
const MESSAGE_BYTES_MIN: u64 = 8_192;
/// Longest message: it has to fit the input that is held of a throttled peer.
const MESSAGE_BYTES_MAX: u64 = 32 * 1_024;
/// Unread bytes of a player, in KiB: more than where the server stops reading it.
const AGENT_OUTPUT_KIB_MIN: u64 = 128;
/// Unread bytes of a viewer, in KiB: more than where it gets a snapshot instead of updates.
const VIEWER_OUTPUT_KIB_MIN: u64 = 2 * 1_024;
/// Unread bytes of any peer, in KiB, and of all together, in MiB: a gibibyte and a tebibyte.
const OUTPUT_MAX: u64 = 1_024 * 1_024;

const _: () = assert!(
    AGENT_OUTPUT_KIB_MIN as usize * 1_024 > limits::OUTBOX_PAUSE_BYTES
        && VIEWER_OUTPUT_KIB_MIN as usize * 1_024 > limits::VIEWER_UPDATES_BYTES_MAX
        && (MESSAGE_BYTES_MAX as usize) < limits::HELD_BYTES_MAX,
    "no limit that can be chosen contradicts another"
);

/// Every option, checked and ready to use. The documentation of a field is its help text, and its name in kebab case is
/// the long flag and the key in the file, where `long` says nothing else.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// Port for players and viewers; 0 lets the system choose one
    #[arg(short, long, value_parser = whole::<u16>(0, 65_535))]
    pub port: u16,
    /// Address to listen on; 0.0.0.0 or :: for every network this machine is in
    #[arg(long, value_name = "ADDRESS", value_parser = address())]
    pub bind: IpAddr,
    /// The game itself.
    #[command(flatten)]
    pub game: GameOptions,
    /// End the match after this long, counted anew with --resume; the leading team wins
    #[arg(long, value_name = "SECONDS", aliases = ["match_duration", "game-duration", "game_duration"])]
    #[arg(value_parser = seconds(1, MATCH_SECONDS_MAX))]
    pub match_duration: Option<RealSpan>,
    /// Once a team has won: stay for viewers, or exit with status 0
    #[arg(long = "after-win", value_name = "stay|exit", alias = "after_win", action = ArgAction::Set)]
    #[arg(value_parser = choice(&[("stay", false), ("exit", true)]))]
    pub ends_at_win: bool,
    /// Greet peers at once, or only after start on the console
    #[arg(long, value_name = ON_OFF, alias = "auto_start", action = ArgAction::Set, value_parser = switch())]
    pub auto_start: bool,
    /// Units of game time per second
    #[arg(short, long, value_name = "UNITS", alias = "freq", value_parser = frequency())]
    pub frequency: Frequency,
    /// Milliseconds the game may fall behind before it slows down instead; 0 lets it catch up all of it
    #[arg(long, value_name = "MS", aliases = ["overload_limit", "lag-limit", "lag_limit"], value_parser = overload_limit())]
    pub overload_limit: OrNone<RealSpan>,
    /// Let game time wait for the command of every idle player instead of for the clock; -f has no effect then
    #[arg(long, value_name = ON_OFF, alias = "lock_step", action = ArgAction::Set, value_parser = switch())]
    #[arg(num_args = 0..=1, default_missing_value = "on")]
    pub lock_step: bool,
    /// How long lock-step waits for players at one instant of the game, and before it begins
    #[arg(long, value_name = "SECONDS", alias = "lock_step_timeout")]
    #[arg(value_parser = seconds(1, SECONDS_MAX))]
    pub lock_step_timeout: RealSpan,
    /// Wake early and spin until the deadline, on a machine with a core to spare: lower lateness for processor time
    #[arg(long, value_name = ON_OFF, action = ArgAction::Set, value_parser = switch())]
    #[arg(num_args = 0..=1, default_missing_value = "on")]
    pub precise: bool,
    /// Protocol of players: Epitech's of today or until 2016, or School 42's in French (42) or English (42en)
    #[arg(long, value_name = "WORDS", value_parser = choice(&DIALECTS))]
    pub dialect: Dialect,
    /// Food in inventories of the dialects 42 and 42en: units of life left, or meals
    #[arg(long, value_name = "HOW", aliases = ["inventory_food", "food-told", "food_told"])]
    #[arg(value_parser = choice(&[("life", InventoryFood::Life), ("meals", InventoryFood::Meals)]))]
    pub inventory_food: InventoryFood,
    /// Free places reported to a player that joins: without its own (after), or with it (before)
    #[arg(long, value_name = "WHEN", aliases = ["join_places", "places-told", "places_told"])]
    #[arg(value_parser = choice(&[("after", JoinPlaces::After), ("before", JoinPlaces::Before)]))]
    pub join_places: JoinPlaces,
    /// Agent numbers for text viewers: with # (hash), without (plain), with # in pnw only (pnw)
    #[arg(long, value_name = "STYLE", alias = "gui_ids")]
    #[arg(value_parser = choice(&[("hash", GuiIds::Hash), ("plain", GuiIds::Plain), ("pnw", GuiIds::Pnw)]))]
    pub gui_ids: GuiIds,
    /// Tiles sent to text viewers when the ground is refilled
    #[arg(long, value_name = "WHICH", aliases = ["refill_updates", "refill-news", "refill_news"], value_parser = choice(&REFILL_UPDATES))]
    pub refill_updates: RefillUpdates,
    /// Who may change the speed, pause, step and operate: programs of the user who runs it (user), any on this machine
    /// (loopback), by --token-file (token), everyone, or none (off)
    #[arg(long, value_name = "WHO", value_parser = choice(&CONTROLS))]
    pub control: ControlAccess,
    /// The token for --control token: the first line of FILE
    #[arg(long, value_name = "FILE", alias = "token_file", value_parser = path("the path of a file"))]
    pub token_file: Option<PathBuf>,
    /// Delay of what viewers see that may not control the game; 0 for none
    #[arg(long, value_name = "SECONDS", alias = "spectator_delay")]
    #[arg(value_parser = seconds(0, SPECTATOR_DELAY_SECONDS_MAX))]
    pub spectator_delay: RealSpan,
    /// Read console commands from standard input: if it is a terminal (auto), always (on), never (off), always and end
    /// with it (until-end)
    #[arg(long, value_name = "WHEN", value_parser = choice(&CONSOLES))]
    pub console: ConsoleInput,
    /// The limits of peers.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// Silence before TCP keep-alive probes; 0 for none
    #[arg(long, value_name = "SECONDS", alias = "keep_alive")]
    #[arg(value_parser = seconds_or_never(KEEP_ALIVE_SECONDS_MAX))]
    pub keep_alive: OrNone<RealSpan>,
    /// Keep a journal of the run in a new directory in DIR, for trantor-server replay
    #[arg(long, value_name = "DIR", value_parser = path("the path of a directory"))]
    pub record: Option<PathBuf>,
    /// Remove the oldest recordings in DIR beyond so many bytes (10GB), so many days (30d) or both (10GB,30d)
    #[arg(long, value_name = "BOUNDS", value_parser = record_keep())]
    pub record_keep: Keep,
    /// How the game is saved, and whether it goes on from a save.
    #[command(flatten)]
    pub save: SaveOptions,
    /// How metrics are exported.
    #[command(flatten)]
    pub metrics: MetricsOptions,
    /// Least level logged on standard error, for all (info) or by module (warn,trantor_engine=trace)
    #[arg(long, value_name = "LEVEL", value_parser = log_filter())]
    pub log: LogFilter,
}

/// What is played, by the server and by `sim`.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct GameOptions {
    /// Columns of the map
    #[arg(short = 'x', long, value_name = "TILES", value_parser = whole::<u16>(1, 1_000))]
    pub width: u16,
    /// Rows of the map
    #[arg(short = 'y', long, value_name = "TILES", value_parser = whole::<u16>(1, 1_000))]
    pub height: u16,
    /// Team names, up to the next option
    #[arg(short = 'n', long, value_name = "NAME", num_args = 1.., action = ArgAction::Set)]
    #[arg(aliases = ["names", "name"], value_parser = team_name())]
    pub teams: Vec<String>,
    /// Places (eggs) each team starts with
    #[arg(short = 'c', long = "clients", value_name = "PLACES", alias = "places", value_parser = whole::<u32>(1, 100_000))]
    pub places_per_team: u32,
    /// Seed of all random numbers; the same seed makes the same world
    #[arg(long, value_name = "NUMBER", value_parser = whole::<u64>(0, u64::MAX))]
    pub seed: Option<u64>,
    /// Agents without a connection: trivial, random, solo, duo, quartet, sextet, team (plays to win) or script:FILE; may be
    /// repeated; docs/minds.md
    #[arg(long, value_name = trantor_play::words::USAGE, action = ArgAction::Append, value_parser = minds())]
    pub mind: Vec<MindSpecs>,
    /// List eggs in Look
    #[arg(long, value_name = TRUE_FALSE, alias = "display_eggs", action = ArgAction::Set)]
    #[arg(value_parser = switch())]
    pub display_eggs: bool,
    /// Let Eject destroy the eggs on its tile
    #[arg(long, value_name = ON_OFF, alias = "eject_eggs", action = ArgAction::Set, value_parser = switch())]
    pub eject_eggs: bool,
    /// Units until a laid egg is a place; 0 for at once, 600 as in the older rules
    #[arg(long = "egg-hatch", value_name = "UNITS", alias = "egg_hatch", value_parser = whole::<u32>(0, 1_000_000))]
    pub egg_hatch_units: u32,
    /// Give a team its place back when a player dies or leaves
    #[arg(long, value_name = ON_OFF, alias = "respawn_slots", action = ArgAction::Set, value_parser = switch())]
    pub respawn_slots: bool,
    /// Script that runs beside the game and acts as an operator does: a scenario
    #[arg(long, value_name = "FILE", value_parser = path("the path of a file"))]
    pub scenario: Option<PathBuf>,
    /// How broadcasts travel between players: off for at once, radio, noisy, or settings such as speed=2 latency=5 jitter=3
    /// range=10 loss=5% copies=1% bandwidth=64 order=any (tiles, units, bytes a unit), also for what a team sends: radio red:off
    #[arg(long, value_name = "SETTINGS", num_args = 1.., action = ArgAction::Set)]
    lag: Vec<String>,
}

impl GameOptions {
    /// The game, with `seed` for its random numbers and [`Self::lag`] of all teams.
    pub fn config(&self, seed: u64, lag: &LagChange) -> GameConfig {
        GameConfig {
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
                // What is due at one instant has one order, so that minds and a scenario have one outcome at any speed.
                lock_step: !self.mind.is_empty() || self.scenario.is_some(),
                lag: lag.all.flatten(),
            },
        }
    }

    /// How broadcasts travel. Its words are read together, which no parser of one value can.
    pub fn lag(&self) -> Result<LagChange, OptionError> {
        let words = self.lag.join(" ");
        lag::read_change(&words)
            .map_err(|error| OptionError::new(format!("--lag {words}"), error.to_string()))
    }

    /// All entries of `--mind`.
    pub fn minds(&self) -> impl Iterator<Item = &MindSpec> {
        self.mind.iter().flat_map(|minds| &minds.0)
    }
}

/// The [`Limits`] that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct LimitOptions {
    /// Connections at one time, all together
    #[arg(long = "connections-limit", value_name = "COUNT", value_parser = whole::<u32>(1, CONNECTIONS_LIMIT_MAX))]
    pub connections_max: u32,
    /// Connections at one time from one other machine; 0 for no limit
    #[arg(long = "connections-per-address", value_name = "COUNT")]
    #[arg(value_parser = number(0, CONNECTIONS_LIMIT_MAX, |n| Some(fits::<u32>(n)).filter(|n| *n > 0)))]
    pub connections_per_address_max: OrNone<u32>,
    /// Connections taken in within a second; more wait
    #[arg(long = "accept-rate", value_name = "COUNT", value_parser = whole::<u32>(1, CONNECTIONS_LIMIT_MAX))]
    pub accepts_per_second: u32,
    /// How long a peer may take to send its first line
    #[arg(long = "greeting-limit", value_name = "SECONDS", value_parser = seconds(1, SECONDS_MAX))]
    pub greeting_span: RealSpan,
    /// Longest line or message taken from a peer
    #[arg(long = "message-limit", value_name = "BYTES")]
    #[arg(value_parser = whole::<usize>(MESSAGE_BYTES_MIN, MESSAGE_BYTES_MAX))]
    pub message_bytes_max: usize,
    /// Longer ones that a peer may send before it is disconnected
    #[arg(long = "violations-limit", value_name = "COUNT", value_parser = whole::<u32>(1, 1_000_000))]
    pub violations_max: u32,
    /// Requests of one peer carried out in a second, besides one for each unit of game time; text viewers share 20 times
    /// as many more
    #[arg(long = "request-rate", value_name = "COUNT", value_parser = whole::<u32>(1, 1_000_000))]
    pub requests_per_second: u32,
    /// Messages to other players that broadcasts and pushes may cause in a second, shared equally by the teams; every
    /// 512 bytes of a message count as another one
    #[arg(long = "fan-out-rate", value_name = "COUNT", value_parser = whole::<u32>(1, 1_000_000_000))]
    pub fan_out_per_second: u32,
    /// Kibibytes that a player may leave unread for ten seconds
    #[arg(long = "agent-output-limit", value_name = "KIB")]
    #[arg(value_parser = number(AGENT_OUTPUT_KIB_MIN, OUTPUT_MAX, |n| fits::<usize>(n) * 1_024))]
    pub agent_outbox_bytes_max: usize,
    /// Kibibytes that a viewer may leave unread
    #[arg(long = "viewer-output-limit", value_name = "KIB")]
    #[arg(value_parser = number(VIEWER_OUTPUT_KIB_MIN, OUTPUT_MAX, |n| fits::<usize>(n) * 1_024))]
    pub viewer_outbox_bytes_max: usize,
    /// Mebibytes that all peers together may leave unread
    #[arg(long = "output-limit", value_name = "MIB")]
    #[arg(value_parser = number(16, OUTPUT_MAX, |n| fits::<usize>(n) * 1_024 * 1_024))]
    pub output_bytes_max: usize,
    /// Disconnect a peer with a large backlog after this long without reading
    #[arg(long = "stall-limit", value_name = "SECONDS", value_parser = seconds(1, SECONDS_MAX))]
    pub stall_span: RealSpan,
    /// Disconnect players that send and do nothing for this long (at most twice as long); 0 for never
    #[arg(long = "idle-limit", value_name = "SECONDS", alias = "idle_limit")]
    #[arg(value_parser = seconds_or_never(SECONDS_MAX))]
    pub idle_span: OrNone<RealSpan>,
}

#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct SaveOptions {
    /// Save the game in DIR regularly, and at the end
    #[arg(long = "save", value_name = "DIR", value_parser = path("the path of a directory"))]
    pub directory: Option<PathBuf>,
    /// How often the game is saved: 60s, 5m, 500ms
    #[arg(long = "save-every", value_name = "SPAN", value_parser = period())]
    pub every: RealSpan,
    /// How many saves are kept, the newest ones
    #[arg(long = "save-keep", value_name = "COUNT", value_parser = whole::<usize>(1, SAVES_KEPT_MAX))]
    pub keep: usize,
    /// Resume the newest good save in the directory of --save; a new game if there is none
    #[arg(long, value_name = ON_OFF, action = ArgAction::Set, value_parser = switch())]
    #[arg(num_args = 0..=1, default_missing_value = "on")]
    pub resume: bool,
}

/// How metrics are exported. Off by default.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct MetricsOptions {
    /// Serve /metrics and /health over HTTP on this port of this machine, or on ADDRESS:PORT
    #[arg(id = "metrics", long = "metrics", value_name = "ADDRESS", value_parser = socket_address())]
    pub address: Option<SocketAddr>,
    /// Names of this host that --metrics answers to, separated by commas; its addresses and localhost always count
    #[arg(long = "metrics-hosts", value_name = "NAMES", value_parser = host_names())]
    pub hosts: Option<Hosts>,
    /// Log a line with the most important metrics at this level
    #[arg(id = "metrics-log", long = "metrics-log", value_name = "LEVEL", value_parser = choice(&LEVELS))]
    pub log: LevelFilter,
    /// How often that line is logged
    #[arg(id = "metrics-every", long = "metrics-every", value_name = "SECONDS")]
    #[arg(value_parser = seconds(1, SECONDS_MAX))]
    pub every: RealSpan,
}

impl Default for Options {
    /// As the sample file has them.
    fn default() -> Self {
        settings::DEFAULTS.clone()
    }
}

impl Options {
    pub fn listen_address(&self) -> SocketAddr {
        SocketAddr::new(self.bind, self.port)
    }

    /// How broadcasts travel, as it was checked when it was set.
    pub fn lag(&self) -> LagChange {
        self.game.lag().expect("the words were checked")
    }

    /// The configuration of the engine, with `seed` for its random numbers.
    pub fn engine_config(&self, seed: u64) -> EngineConfig {
        let game = self.game.config(seed, &self.lag());
        EngineConfig {
            frequency: self.frequency,
            auto_start: self.auto_start,
            match_duration: self.match_duration,
            dialect: self.dialect,
            gui_ids: self.gui_ids,
            inventory_food: self.inventory_food,
            join_places: self.join_places,
            refill_updates: self.refill_updates,
            control: self.control,
            spectator_delay: self.spectator_delay,
            overload_max: self.overload_limit,
            limits: self.limits(),
            lock_step: self.lock_step.then_some(self.lock_step_timeout),
            ..EngineConfig::new(game)
        }
    }

    pub fn limits(&self) -> Limits {
        let limits = &self.limits;
        Limits {
            connections_max: limits.connections_max,
            connections_per_address_max: limits.connections_per_address_max,
            accepts_per_second: limits.accepts_per_second,
            greeting_span: limits.greeting_span,
            message_bytes_max: limits.message_bytes_max,
            violations_max: limits.violations_max,
            requests_per_second: limits.requests_per_second,
            fan_out_per_second: limits.fan_out_per_second,
            agent_outbox_bytes_max: limits.agent_outbox_bytes_max,
            viewer_outbox_bytes_max: limits.viewer_outbox_bytes_max,
            output_bytes_max: limits.output_bytes_max,
            stall_span: limits.stall_span,
            idle_span: limits.idle_span,
        }
    }

    /// When silent peers count as gone.
    pub fn keep_alive(&self) -> Option<KeepAlive> {
        let stall = self.limits.stall_span;
        self.keep_alive.map(|silence| KeepAlive { silence, stall })
    }

    /// The token in [`Self::token_file`]; `None` if control is not by token.
    pub fn token(&self) -> Result<Option<Token>, OptionError> {
        let Some(path) = &self.token_file else {
            return Ok(None);
        };
        let token = read_regular_text(path, TOKEN_FILE_BYTES_MAX)
            .map_err(|error| format!("cannot be read: {error}"))
            .and_then(|text| Token::read(&text).map_err(|error| error.to_string()));
        let refused = |error| OptionError::new(format!("token-file {}", path.display()), error);
        token.map(Some).map_err(refused)
    }

    /// Checks options that depend on each other. A mistake names two of them, the one to change first.
    fn check_together(&self) -> Result<(), ([&'static str; 2], OptionError)> {
        let clash = |names, written: &str, accepted: &str| Err((names, OptionError::new(written, accepted)));
        match (self.control == ControlAccess::Token, self.token_file.is_some()) {
            (true, false) => {
                let needed = "needs token-file, a file with the token in its first line";
                return clash(["control", "token-file"], "control token", needed);
            }
            (false, true) => {
                let needed = "is of use with control token only; say --control token too";
                return clash(["token-file", "control"], "token-file", needed);
            }
            _ => {}
        }
        if self.save.resume && self.save.directory.is_none() {
            let needed = "needs save, the directory to go on from";
            return clash(["resume", "save"], "resume", needed);
        }
        let (game, lag) = (&self.game, self.lag());
        let lags = lag.teams.iter().map(|(team, _)| ("lag", team));
        let mut named = lags.chain(game.minds().map(|mind| ("mind", &mind.team)));
        if let Some((option, team)) = named.find(|(_, team)| !game.teams.contains(team)) {
            return clash([option, "teams"], option, &unknown_team(team, &game.teams));
        }
        let (teams, each) = (game.teams.len(), game.places_per_team);
        if each as usize > EGGS_MAX / teams {
            let asked = format!("{teams} teams of {each} places");
            let most = format!("all teams together have at most {} places", EGGS_MAX);
            return clash(["clients", "teams"], &asked, &most);
        }
        Ok(())
    }
}
