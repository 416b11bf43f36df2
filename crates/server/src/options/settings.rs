//! The table of options: name, flags, kind and help, each written once.
//!
//! A setting's name is its long flag, its key in the file, and (in capitals, `_` for `-`, after
//! [`super::layers::ENVIRONMENT_PREFIX`]) its environment variable.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use log::LevelFilter;
use trantor_engine::{Control, FoodTold, PlacesTold, RefillNews, limits};
use trantor_protocol::limits::TEXT_FREQUENCY_MAX;
use trantor_protocol::text::{Dialect, GuiIds};
use trantor_time::{Frequency, RealSpan};

use super::written::{Kind, Written};
use crate::console::input::ConsoleInput;
use crate::nearest::nearest;
use crate::recorder::RecordKeep;

/// One option.
pub struct Setting {
    /// Long flag and key.
    pub name: &'static str,
    /// Short flag.
    pub short: Option<char>,
    /// Other long flags that mean the same, as the reference server or older scripts spell them.
    pub aliases: &'static [&'static str],
    /// What stands for the value in the help text.
    pub placeholder: &'static str,
    /// One or two sentences for the help text.
    pub help: &'static str,
    /// What it takes.
    pub kind: Kind,
}

impl Setting {
    /// What is accepted from the command line (or, with `in_file`, from the file), as the end of an error line.
    pub fn must_be(&self, in_file: bool) -> String {
        format!("{} must be {}", self.name, self.kind.accepts(in_file))
    }

    /// Why `written` is not accepted, as the end of an error line.
    pub fn refusal(&self, written: Written<'_>) -> String {
        let in_file = matches!(written, Written::Toml(_));
        // `metrics = 9100`: a port that is accepted, but for its quotes.
        let quotes = match written {
            Written::Toml(value) if self.kind.is_quoted_in_file() && !value.is_str() => ", in quotes",
            _ => "",
        };
        let fault = self.kind.fault(written);
        fault.unwrap_or_else(|| self.must_be(in_file) + quotes)
    }
}

/// What the command line and the file call yes and no.
const ON_OFF: [&str; 2] = ["on", "off"];
/// `--display-eggs` alone takes these words, as on the reference server.
const TRUE_FALSE: [&str; 2] = ["true", "false"];
/// Longest match: a year. Nobody waits longer, and no arithmetic on it can overflow.
const MATCH_SECONDS_MAX: u64 = 365 * 24 * 60 * 60;
/// Longest time between two lines with figures: a day.
const METRICS_SECONDS_MAX: u64 = 24 * 60 * 60;
/// Longest silence before the system asks: what Linux takes.
const KEEP_ALIVE_SECONDS_MAX: u64 = 32_767;
/// Longest delay of spectators: ten minutes. What is held for them is bounded too, and a match is seldom longer.
const SPECTATOR_DELAY_SECONDS_MAX: u64 = 600;
/// Longest lag: an hour. Whoever wants more wants no limit.
const LAG_LIMIT_MS_MAX: u64 = 60 * 60 * 1000;
/// Longest wait in lock-step: a day, for a person who debugs a bot.
const LOCK_STEP_SECONDS_MAX: u64 = 24 * 60 * 60;
/// Highest frequency to start with: a unit is then 100 µs, still well above the lateness of a wake-up.
pub const FREQUENCY_MAX: u64 = TEXT_FREQUENCY_MAX as u64;

/// Saves kept. More is an archive, which a copy elsewhere does better.
const SAVES_KEPT_MAX: u64 = 1_000;
/// Time between saves, in milliseconds: a tenth of a second to a day. Less would only wear the disk.
const SAVE_EVERY_MS: std::ops::RangeInclusive<i64> = 100..=24 * 60 * 60 * 1_000;

/// Connections: as many as a system has descriptors for.
const CONNECTIONS_LIMIT_MAX: u64 = 1_000_000;
/// Longest time that a peer may be given: a day.
const LIMIT_SECONDS_MAX: u64 = 24 * 60 * 60;
/// Shortest message that must pass: the text protocol promises as much.
const MESSAGE_BYTES_MIN: u64 = 8_192;
/// Longest message: it has to fit what is kept of a peer that is held up.
const MESSAGE_BYTES_MAX: u64 = 32 * 1_024;
/// Unread bytes of a player, in KiB: more than where the server stops reading it.
const AGENT_OUTPUT_KIB_MIN: u64 = 128;
/// Unread bytes of a viewer, in KiB: more than where it gets a snapshot instead of news.
const VIEWER_OUTPUT_KIB_MIN: u64 = 2 * 1_024;
/// Unread bytes of any peer, in KiB: a gibibyte.
const OUTPUT_KIB_MAX: u64 = 1_024 * 1_024;

/// Unread bytes of all peers together, in MiB: a tebibyte.
const OUTPUT_MIB_MAX: u64 = 1_024 * 1_024;

const _: () = assert!(
    AGENT_OUTPUT_KIB_MIN as usize * 1_024 > limits::OUTBOX_PAUSE_BYTES
        && VIEWER_OUTPUT_KIB_MIN as usize * 1_024 > limits::VIEWER_NEWS_BYTES_MAX
        && (MESSAGE_BYTES_MAX as usize) < limits::HELD_BYTES_MAX,
    "no limit that can be chosen contradicts another"
);

/// All options, in the order of the help text and of the sample file.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "port",
        short: Some('p'),
        aliases: &[],
        placeholder: "PORT",
        help: "Port for players and viewers; 0 lets the system choose one",
        kind: Kind::Whole {
            from: 0,
            to: 65_535,
            store: |options, n| options.port = fits(n),
        },
    },
    Setting {
        name: "bind",
        short: None,
        aliases: &[],
        placeholder: "ADDRESS",
        help: "Address to listen on; 0.0.0.0 or :: for every network this machine is in",
        kind: Kind::Address {
            store: |options, address| options.bind = address,
        },
    },
    Setting {
        name: "width",
        short: Some('x'),
        aliases: &[],
        placeholder: "TILES",
        help: "Columns of the map",
        kind: Kind::Whole {
            from: 1,
            to: 1_000,
            store: |options, n| options.width = fits(n),
        },
    },
    Setting {
        name: "height",
        short: Some('y'),
        aliases: &[],
        placeholder: "TILES",
        help: "Rows of the map",
        kind: Kind::Whole {
            from: 1,
            to: 1_000,
            store: |options, n| options.height = fits(n),
        },
    },
    Setting {
        name: "teams",
        short: Some('n'),
        aliases: &["names", "name"],
        placeholder: "NAME",
        help: "Team names, up to the next option",
        kind: Kind::TeamNames {
            store: |options, names| options.teams = names,
        },
    },
    Setting {
        name: "clients",
        short: Some('c'),
        aliases: &["places"],
        placeholder: "PLACES",
        help: "Places (eggs) each team starts with",
        kind: Kind::Whole {
            from: 1,
            to: 100_000,
            store: |options, n| options.places_per_team = fits(n),
        },
    },
    Setting {
        name: "frequency",
        short: Some('f'),
        aliases: &["freq"],
        placeholder: "UNITS",
        help: "Units of game time per second",
        kind: Kind::Whole {
            from: 1,
            to: FREQUENCY_MAX,
            store: |options, n| {
                options.frequency = Frequency::new(n).expect("the range lies within a frequency's")
            },
        },
    },
    Setting {
        name: "match-duration",
        short: None,
        aliases: &["match_duration", "game-duration", "game_duration"],
        placeholder: "SECONDS",
        help: "End the match after this long, counted anew with --resume; the leading team wins",
        kind: Kind::Whole {
            from: 1,
            to: MATCH_SECONDS_MAX,
            store: |options, n| options.match_duration = Some(RealSpan::from_secs(fits(n))),
        },
    },
    Setting {
        name: "after-win",
        short: None,
        aliases: &["after_win"],
        placeholder: "stay|exit",
        help: "Once a team has won: stay for those who watch, or exit with status 0",
        kind: Kind::Choice {
            words: &["stay", "exit"],
            store: |options, place| options.ends_at_win = place == 1,
        },
    },
    Setting {
        name: "auto-start",
        short: None,
        aliases: &["auto_start"],
        placeholder: "on|off",
        help: "Greet peers at once, or only after start on the console",
        kind: Kind::Switch {
            words: ON_OFF,
            store: |options, yes| options.auto_start = yes,
        },
    },
    Setting {
        name: "display-eggs",
        short: None,
        aliases: &["display_eggs"],
        placeholder: "true|false",
        help: "List eggs in Look",
        kind: Kind::Switch {
            words: TRUE_FALSE,
            store: |options, yes| options.display_eggs = yes,
        },
    },
    Setting {
        name: "eject-eggs",
        short: None,
        aliases: &["eject_eggs"],
        placeholder: "on|off",
        help: "Let Eject destroy the eggs on its tile",
        kind: Kind::Switch {
            words: ON_OFF,
            store: |options, yes| options.eject_eggs = yes,
        },
    },
    Setting {
        name: "egg-hatch",
        short: None,
        aliases: &["egg_hatch"],
        placeholder: "UNITS",
        help: "Units until a laid egg is a place; 0 for at once, 600 as in the older rules",
        kind: Kind::Whole {
            from: 0,
            to: 1_000_000,
            store: |options, n| options.egg_hatch_units = fits(n),
        },
    },
    Setting {
        name: "respawn-slots",
        short: None,
        aliases: &["respawn_slots"],
        placeholder: "on|off",
        help: "Give a team its place back when a player is gone",
        kind: Kind::Switch {
            words: ON_OFF,
            store: |options, yes| options.respawn_slots = yes,
        },
    },
    Setting {
        name: "refill-news",
        short: None,
        aliases: &["refill_news"],
        placeholder: "WHICH",
        help: "Tiles that text viewers are told of when the ground is refilled",
        kind: Kind::Choice {
            words: &["changed", "all", "none"],
            store: |options, place| {
                options.refill_news = [RefillNews::Changed, RefillNews::All, RefillNews::Nothing][place];
            },
        },
    },
    Setting {
        name: "gui-ids",
        short: None,
        aliases: &["gui_ids"],
        placeholder: "STYLE",
        help: "Numbers to text viewers: with # (hash), without (plain), with # in pnw only (pnw)",
        kind: Kind::Choice {
            words: &["hash", "plain", "pnw"],
            store: |options, place| options.gui_ids = [GuiIds::Hash, GuiIds::Plain, GuiIds::Pnw][place],
        },
    },
    Setting {
        name: "dialect",
        short: None,
        aliases: &[],
        placeholder: "WORDS",
        help: "Words spoken with players: Epitech's of today or until 2016, or School 42's in French (42) or English (42en)",
        kind: Kind::Choice {
            words: &["epitech", "epitech-2016", "42", "42en"],
            store: |options, place| options.dialect = Dialect::ALL[place],
        },
    },
    Setting {
        name: "food-told",
        short: None,
        aliases: &["food_told"],
        placeholder: "HOW",
        help: "Food in inventories of the dialects 42 and 42en: units of life left, or meals",
        kind: Kind::Choice {
            words: &["life", "meals"],
            store: |options, place| options.food_told = [FoodTold::Life, FoodTold::Meals][place],
        },
    },
    Setting {
        name: "places-told",
        short: None,
        aliases: &["places_told"],
        placeholder: "WHEN",
        help: "Places of its team that a newcomer is told: those left after it, or before it took its own",
        kind: Kind::Choice {
            words: &["after", "before"],
            store: |options, place| options.places_told = [PlacesTold::After, PlacesTold::Before][place],
        },
    },
    Setting {
        name: "seed",
        short: None,
        aliases: &[],
        placeholder: "NUMBER",
        help: "What all chance is drawn from; the same seed makes the same world",
        kind: Kind::Whole {
            from: 0,
            to: u64::MAX,
            store: |options, n| options.seed = Some(n),
        },
    },
    Setting {
        name: "control",
        short: None,
        aliases: &[],
        placeholder: "WHO",
        help: "Who may change the speed, pause, step and operate: programs of the user who runs it (user), any on this machine \
               (loopback), by --token-file (token), everyone, or none (off)",
        kind: Kind::Choice {
            words: &["user", "loopback", "token", "everyone", "off"],
            store: |options, place| {
                options.control = [
                    Control::User,
                    Control::Loopback,
                    Control::Token,
                    Control::Everyone,
                    Control::Nobody,
                ][place];
            },
        },
    },
    Setting {
        name: "token-file",
        short: None,
        aliases: &["token_file"],
        placeholder: "FILE",
        help: "The token for --control token: the first line of FILE",
        kind: Kind::Text {
            accepts: "the path of a file",
            store: |options, path| store_path(&mut options.token_file, path),
        },
    },
    Setting {
        name: "spectator-delay",
        short: None,
        aliases: &["spectator_delay"],
        placeholder: "SECONDS",
        help: "Show viewers that may not control the game what was so long ago; 0 for the present",
        kind: Kind::Whole {
            from: 0,
            to: SPECTATOR_DELAY_SECONDS_MAX,
            store: |options, n| options.spectator_delay = RealSpan::from_secs(fits(n)),
        },
    },
    Setting {
        name: "console",
        short: None,
        aliases: &[],
        placeholder: "WHEN",
        help: "Read the console's words on standard input: if it is a terminal (auto), always (on), never (off), always and \
               end with it (until-end)",
        kind: Kind::Choice {
            words: &["auto", "on", "off", "until-end"],
            store: |options, place| {
                options.console = [
                    ConsoleInput::Auto,
                    ConsoleInput::On,
                    ConsoleInput::Off,
                    ConsoleInput::UntilEnd,
                ][place];
            },
        },
    },
    Setting {
        name: "lag-limit",
        short: None,
        aliases: &["lag_limit"],
        placeholder: "MS",
        help: "Milliseconds the game may fall behind before it slows down instead; 0 lets it catch up all of it",
        kind: Kind::Whole {
            from: 0,
            to: LAG_LIMIT_MS_MAX,
            store: |options, n| {
                options.lag_limit =
                    Some(RealSpan::from_millis(fits(n))).filter(|span| *span > RealSpan::ZERO);
            },
        },
    },
    Setting {
        name: "connections-limit",
        short: None,
        aliases: &[],
        placeholder: "COUNT",
        help: "Connections at one time, all together",
        kind: Kind::Whole {
            from: 1,
            to: CONNECTIONS_LIMIT_MAX,
            store: |options, n| options.limits.connections_max = fits(n),
        },
    },
    Setting {
        name: "connections-per-address",
        short: None,
        aliases: &[],
        placeholder: "COUNT",
        help: "Connections at one time from one other machine; 0 for no limit",
        kind: Kind::Whole {
            from: 0,
            to: CONNECTIONS_LIMIT_MAX,
            store: |options, n| {
                options.limits.connections_per_address_max = Some(fits(n)).filter(|count| *count > 0);
            },
        },
    },
    Setting {
        name: "accept-rate",
        short: None,
        aliases: &[],
        placeholder: "COUNT",
        help: "Connections taken in within a second; more wait",
        kind: Kind::Whole {
            from: 1,
            to: CONNECTIONS_LIMIT_MAX,
            store: |options, n| options.limits.accepts_per_second = fits(n),
        },
    },
    Setting {
        name: "greeting-limit",
        short: None,
        aliases: &[],
        placeholder: "SECONDS",
        help: "How long a peer may take to say what it is",
        kind: Kind::Whole {
            from: 1,
            to: LIMIT_SECONDS_MAX,
            store: |options, n| options.limits.greeting_span = RealSpan::from_secs(fits(n)),
        },
    },
    Setting {
        name: "message-limit",
        short: None,
        aliases: &[],
        placeholder: "BYTES",
        help: "Longest line or message taken from a peer",
        kind: Kind::Whole {
            from: MESSAGE_BYTES_MIN,
            to: MESSAGE_BYTES_MAX,
            store: |options, n| options.limits.message_bytes_max = fits(n),
        },
    },
    Setting {
        name: "violations-limit",
        short: None,
        aliases: &[],
        placeholder: "COUNT",
        help: "Longer ones that a peer may send before it is let go",
        kind: Kind::Whole {
            from: 1,
            to: 1_000_000,
            store: |options, n| options.limits.violations_max = fits(n),
        },
    },
    Setting {
        name: "request-rate",
        short: None,
        aliases: &[],
        placeholder: "COUNT",
        help: "Requests of one peer carried out in a second, besides one for each unit of game time; viewers of text share 20 times as many more",
        kind: Kind::Whole {
            from: 1,
            to: 1_000_000,
            store: |options, n| options.limits.requests_per_second = fits(n),
        },
    },
    Setting {
        name: "fan-out-rate",
        short: None,
        aliases: &[],
        placeholder: "COUNT",
        help: "Messages to other players that broadcasts and pushes may cause in a second, shared equally by the teams; every 512 bytes of a message count as another one",
        kind: Kind::Whole {
            from: 1,
            to: 1_000_000_000,
            store: |options, n| options.limits.fan_out_per_second = fits(n),
        },
    },
    Setting {
        name: "agent-output-limit",
        short: None,
        aliases: &[],
        placeholder: "KIB",
        help: "Kibibytes that may wait for a player that takes nothing for ten seconds",
        kind: Kind::Whole {
            from: AGENT_OUTPUT_KIB_MIN,
            to: OUTPUT_KIB_MAX,
            store: |options, n| options.limits.agent_outbox_bytes_max = fits::<usize>(n) * 1_024,
        },
    },
    Setting {
        name: "viewer-output-limit",
        short: None,
        aliases: &[],
        placeholder: "KIB",
        help: "Kibibytes that a viewer may leave unread",
        kind: Kind::Whole {
            from: VIEWER_OUTPUT_KIB_MIN,
            to: OUTPUT_KIB_MAX,
            store: |options, n| options.limits.viewer_outbox_bytes_max = fits::<usize>(n) * 1_024,
        },
    },
    Setting {
        name: "output-limit",
        short: None,
        aliases: &[],
        placeholder: "MIB",
        help: "Mebibytes that may wait for all peers together",
        kind: Kind::Whole {
            from: 16,
            to: OUTPUT_MIB_MAX,
            store: |options, n| options.limits.output_bytes_max = fits::<usize>(n) * 1_024 * 1_024,
        },
    },
    Setting {
        name: "stall-limit",
        short: None,
        aliases: &[],
        placeholder: "SECONDS",
        help: "How long a peer that is owed much may read nothing",
        kind: Kind::Whole {
            from: 1,
            to: LIMIT_SECONDS_MAX,
            store: |options, n| options.limits.stall_span = RealSpan::from_secs(fits(n)),
        },
    },
    Setting {
        name: "idle-limit",
        short: None,
        aliases: &["idle_limit"],
        placeholder: "SECONDS",
        help: "Let players go who say and do nothing for this long (at most twice as long); 0 for never",
        kind: Kind::Whole {
            from: 0,
            to: LIMIT_SECONDS_MAX,
            store: |options, n| options.limits.idle_span = seconds_or_never(n),
        },
    },
    Setting {
        name: "keep-alive",
        short: None,
        aliases: &["keep_alive"],
        placeholder: "SECONDS",
        help: "Silence after which the system asks whether a peer is still there; 0 for never",
        kind: Kind::Whole {
            from: 0,
            to: KEEP_ALIVE_SECONDS_MAX,
            store: |options, n| options.keep_alive = seconds_or_never(n),
        },
    },
    Setting {
        name: "record",
        short: None,
        aliases: &[],
        placeholder: "DIR",
        help: "Keep a journal of the run in a new directory in DIR, for trantor-server replay",
        kind: Kind::Text {
            accepts: "the path of a directory",
            store: |options, path| store_path(&mut options.record, path),
        },
    },
    Setting {
        name: "record-keep",
        short: None,
        aliases: &[],
        placeholder: "BOUNDS",
        help: "Remove the oldest recordings in DIR beyond so many bytes (10GB), so many days (30d) or both (10GB,30d)",
        kind: Kind::Text {
            accepts: "all, or bytes from 64MB, or days from 2d, or both with a comma, as in 10GB,30d",
            store: |options, text| {
                RecordKeep::read(text)
                    .map(|keep| options.record_keep = keep)
                    .is_some()
            },
        },
    },
    Setting {
        name: "lock-step",
        short: None,
        aliases: &["lock_step"],
        placeholder: "on|off",
        help: "Let game time wait for every player that owes a command instead of for the clock; -f has no effect then",
        kind: Kind::Switch {
            words: ON_OFF,
            store: |options, yes| options.lock_step = yes,
        },
    },
    Setting {
        name: "lock-step-timeout",
        short: None,
        aliases: &["lock_step_timeout"],
        placeholder: "SECONDS",
        help: "How long lock-step waits for players at one moment of the game, and before it begins",
        kind: Kind::Whole {
            from: 1,
            to: LOCK_STEP_SECONDS_MAX,
            store: |options, n| options.lock_step_timeout = RealSpan::from_secs(fits(n)),
        },
    },
    Setting {
        name: "precise",
        short: None,
        aliases: &[],
        placeholder: "on|off",
        help: "Wake early and spin until the deadline, on a machine with a core to spare: sharper answers for processor time",
        kind: Kind::Switch {
            words: ON_OFF,
            store: |options, yes| options.precise = yes,
        },
    },
    Setting {
        name: "save",
        short: None,
        aliases: &[],
        placeholder: "DIR",
        help: "Save the game in DIR now and then, and at the end",
        kind: Kind::Text {
            accepts: "the path of a directory",
            store: |options, path| store_path(&mut options.save.directory, path),
        },
    },
    Setting {
        name: "save-every",
        short: None,
        aliases: &[],
        placeholder: "SPAN",
        help: "How often the game is saved: 60s, 5m, 500ms",
        kind: Kind::Text {
            accepts: "a time from 100ms to 24h, such as 60s or 5m",
            store: |options, text| span(text).map(|span| options.save.every = span).is_some(),
        },
    },
    Setting {
        name: "save-keep",
        short: None,
        aliases: &[],
        placeholder: "COUNT",
        help: "How many saves are kept, the newest ones",
        kind: Kind::Whole {
            from: 1,
            to: SAVES_KEPT_MAX,
            store: |options, n| options.save.keep = fits(n),
        },
    },
    Setting {
        name: "resume",
        short: None,
        aliases: &[],
        placeholder: "on|off",
        help: "Go on with the newest good save in the directory of --save; a new game if there is none",
        kind: Kind::Switch {
            words: ON_OFF,
            store: |options, yes| options.save.resume = yes,
        },
    },
    Setting {
        name: "metrics",
        short: None,
        aliases: &[],
        placeholder: "ADDRESS",
        help: "Serve /metrics and /health over HTTP on this port of this machine, or on ADDRESS:PORT",
        kind: Kind::Text {
            accepts: "a port, or an address and a port such as 127.0.0.1:9100 or [::1]:9100",
            store: |options, address| {
                let port = address
                    .parse()
                    .map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
                port.or_else(|_| address.parse())
                    .map(|address| options.metrics.address = Some(address))
                    .is_ok()
            },
        },
    },
    Setting {
        name: "metrics-hosts",
        short: None,
        aliases: &[],
        placeholder: "NAMES",
        help: "Names of this host that --metrics answers to, separated by commas; its addresses and localhost always count",
        kind: Kind::Text {
            accepts: "host names separated by commas, without ports",
            store: |options, names| {
                let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
                let is_name = |name: &String| !name.is_empty() && !name.contains([':', '/', ' ']);
                let are_names = names.iter().all(is_name);
                if are_names {
                    options.metrics.hosts = names;
                }
                are_names
            },
        },
    },
    Setting {
        name: "metrics-log",
        short: None,
        aliases: &[],
        placeholder: "LEVEL",
        help: "Log a line with the most important figures at this level, again and again",
        kind: Kind::Choice {
            words: &["off", "error", "warn", "info", "debug", "trace"],
            store: |options, place| {
                options.metrics.log = LevelFilter::iter()
                    .nth(place)
                    .expect("the words are those of the levels, in their order");
            },
        },
    },
    Setting {
        name: "metrics-every",
        short: None,
        aliases: &[],
        placeholder: "SECONDS",
        help: "How often that line is logged",
        kind: Kind::Whole {
            from: 1,
            to: METRICS_SECONDS_MAX,
            store: |options, n| options.metrics.every = RealSpan::from_secs(fits(n)),
        },
    },
    Setting {
        name: "log",
        short: None,
        aliases: &[],
        placeholder: "LEVEL",
        help: "Least level logged on standard error, for all (info) or by module (warn,trantor_engine=trace)",
        kind: Kind::Text {
            accepts: "error, warn, info, debug, trace or off, also by module as in warn,trantor_engine=trace",
            store: |options, filter| filter.parse().map(|filter| options.log = filter).is_ok(),
        },
    },
];

/// The setting of that name, if there is one.
pub fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// The known name that looks most like `unknown`, if any looks like it at all. Other flags are looked at as well, and
/// lead to the name, which is known in the file and in the environment too.
///
/// `extra` are further names known where `unknown` was written.
pub fn nearest_name(unknown: &str, extra: &[&'static str]) -> Option<&'static str> {
    let unknown = unknown.to_lowercase().replace('_', "-");
    let names = SETTINGS
        .iter()
        .flat_map(|setting| std::iter::once(&setting.name).chain(setting.aliases));
    let found = nearest(&unknown, names.chain(extra).copied())?;
    let meant = SETTINGS.iter().find(|setting| setting.aliases.contains(&found));
    Some(meant.map_or(found, |setting| setting.name))
}

/// A span of time with its unit, within the range of `--save-every`.
fn span(text: &str) -> Option<RealSpan> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: i64 = digits.parse().ok().filter(|number| *number >= 0)?;
    let unit_ms = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        _ => return None,
    };
    let ms = number.checked_mul(unit_ms)?;
    SAVE_EVERY_MS.contains(&ms).then(|| RealSpan::from_millis(ms))
}

/// A span of whole seconds; none for 0.
fn seconds_or_never(seconds: u64) -> Option<RealSpan> {
    Some(RealSpan::from_secs(fits(seconds))).filter(|span| *span > RealSpan::ZERO)
}

/// Keeps a path, unless it is empty.
fn store_path(option: &mut Option<PathBuf>, path: &str) -> bool {
    if path.is_empty() {
        return false;
    }
    *option = Some(PathBuf::from(path));
    true
}

/// Narrows a number whose range the table has checked.
fn fits<T: TryFrom<u64>>(number: u64) -> T {
    T::try_from(number)
        .ok()
        .expect("the range in the table lies within the field's")
}
