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

use super::Options;
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
    /// Whether the flag alone, without a word, says yes.
    pub is_on_alone: bool,
    /// Whether `-h` shows it.
    pub is_common: bool,
}

impl Setting {
    const fn new(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            short: None,
            aliases: &[],
            placeholder: "",
            help: "",
            kind,
            is_on_alone: false,
            is_common: false,
        }
    }

    const fn whole(name: &'static str, from: u64, to: u64, store: fn(&mut Options, u64)) -> Self {
        Self::new(name, Kind::Whole { from, to, store })
    }

    const fn switch(name: &'static str, words: SwitchWords, store: fn(&mut Options, bool)) -> Self {
        let (words, placeholder) = words;
        Self::new(name, Kind::Switch { words, store }).value(placeholder)
    }

    const fn choice(
        name: &'static str,
        words: &'static [&'static str],
        store: fn(&mut Options, usize),
    ) -> Self {
        Self::new(name, Kind::Choice { words, store })
    }

    const fn text(name: &'static str, accepts: &'static str, store: fn(&mut Options, &str) -> bool) -> Self {
        Self::new(name, Kind::Text { accepts, store })
    }

    const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn value(mut self, placeholder: &'static str) -> Self {
        self.placeholder = placeholder;
        self
    }

    const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    const fn on_alone(mut self) -> Self {
        self.is_on_alone = true;
        self
    }

    const fn common(mut self) -> Self {
        self.is_common = true;
        self
    }

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

/// The words for yes and no on the command line, and what stands for them in the help text.
type SwitchWords = ([&'static str; 2], &'static str);
const ON_OFF: SwitchWords = (["on", "off"], "on|off");
/// `--display-eggs` alone takes these words, as on the reference server.
const TRUE_FALSE: SwitchWords = (["true", "false"], "true|false");
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

const NETWORK: &[Setting] = &[
    Setting::whole("port", 0, 65_535, |o, n| o.port = fits(n))
        .short('p')
        .value("PORT")
        .help("Port for players and viewers; 0 lets the system choose one")
        .common(),
    Setting::new(
        "bind",
        Kind::Address {
            store: |o, address| o.bind = address,
        },
    )
    .value("ADDRESS")
    .help("Address to listen on; 0.0.0.0 or :: for every network this machine is in")
    .common(),
];

const GAME: &[Setting] = &[
    Setting::whole("width", 1, 1_000, |o, n| o.width = fits(n))
        .short('x')
        .value("TILES")
        .help("Columns of the map")
        .common(),
    Setting::whole("height", 1, 1_000, |o, n| o.height = fits(n))
        .short('y')
        .value("TILES")
        .help("Rows of the map")
        .common(),
    Setting::new(
        "teams",
        Kind::TeamNames {
            store: |o, names| o.teams = names,
        },
    )
    .short('n')
    .aliases(&["names", "name"])
    .value("NAME")
    .help("Team names, up to the next option")
    .common(),
    Setting::whole("clients", 1, 100_000, |o, n| o.places_per_team = fits(n))
        .short('c')
        .aliases(&["places"])
        .value("PLACES")
        .help("Places (eggs) each team starts with")
        .common(),
    Setting::whole("seed", 0, u64::MAX, |o, n| o.seed = Some(n))
        .value("NUMBER")
        .help("What all chance is drawn from; the same seed makes the same world")
        .common(),
    Setting::whole("match-duration", 1, MATCH_SECONDS_MAX, |o, n| {
        o.match_duration = Some(RealSpan::from_secs(fits(n)))
    })
    .aliases(&["match_duration", "game-duration", "game_duration"])
    .value("SECONDS")
    .help("End the match after this long, counted anew with --resume; the leading team wins")
    .common(),
    Setting::choice("after-win", &["stay", "exit"], |o, place| {
        o.ends_at_win = place == 1
    })
    .aliases(&["after_win"])
    .value("stay|exit")
    .help("Once a team has won: stay for those who watch, or exit with status 0"),
    Setting::switch("auto-start", ON_OFF, |o, yes| o.auto_start = yes)
        .aliases(&["auto_start"])
        .help("Greet peers at once, or only after start on the console"),
];

const TIME: &[Setting] = &[
    Setting::whole("frequency", 1, FREQUENCY_MAX, |o, n| {
        o.frequency = Frequency::new(n).expect("the range lies within a frequency's")
    })
    .short('f')
    .aliases(&["freq"])
    .value("UNITS")
    .help("Units of game time per second")
    .common(),
    Setting::whole("lag-limit", 0, LAG_LIMIT_MS_MAX, |o, n| {
        o.lag_limit = Some(RealSpan::from_millis(fits(n))).filter(|span| *span > RealSpan::ZERO);
    })
    .aliases(&["lag_limit"])
    .value("MS")
    .help(
        "Milliseconds the game may fall behind before it slows down instead; 0 lets it catch up \
         all of it",
    ),
    Setting::switch("lock-step", ON_OFF, |o, yes| o.lock_step = yes)
        .aliases(&["lock_step"])
        .on_alone()
        .help(
            "Let game time wait for every player that owes a command instead of for the clock; -f has \
             no effect then",
        ),
    Setting::whole("lock-step-timeout", 1, LOCK_STEP_SECONDS_MAX, |o, n| {
        o.lock_step_timeout = RealSpan::from_secs(fits(n))
    })
    .aliases(&["lock_step_timeout"])
    .value("SECONDS")
    .help("How long lock-step waits for players at one moment of the game, and before it begins"),
    Setting::switch("precise", ON_OFF, |o, yes| o.precise = yes)
        .on_alone()
        .help(
            "Wake early and spin until the deadline, on a machine with a core to spare: sharper \
             answers for processor time",
        ),
];

const RULES: &[Setting] = &[
    Setting::switch("display-eggs", TRUE_FALSE, |o, yes| o.display_eggs = yes)
        .aliases(&["display_eggs"])
        .help("List eggs in Look"),
    Setting::switch("eject-eggs", ON_OFF, |o, yes| o.eject_eggs = yes)
        .aliases(&["eject_eggs"])
        .help("Let Eject destroy the eggs on its tile"),
    Setting::whole("egg-hatch", 0, 1_000_000, |o, n| o.egg_hatch_units = fits(n))
        .aliases(&["egg_hatch"])
        .value("UNITS")
        .help("Units until a laid egg is a place; 0 for at once, 600 as in the older rules"),
    Setting::switch("respawn-slots", ON_OFF, |o, yes| o.respawn_slots = yes)
        .aliases(&["respawn_slots"])
        .help("Give a team its place back when a player is gone"),
];

const PROTOCOL: &[Setting] = &[
    Setting::choice(
        "dialect",
        &["epitech", "epitech-2016", "42", "42en"],
        |o, place| o.dialect = Dialect::ALL[place],
    )
    .value("WORDS")
    .help(
        "Words spoken with players: Epitech's of today or until 2016, or School 42's in French \
         (42) or English (42en)",
    )
    .common(),
    Setting::choice("food-told", &["life", "meals"], |o, place| {
        o.food_told = [FoodTold::Life, FoodTold::Meals][place]
    })
    .aliases(&["food_told"])
    .value("HOW")
    .help("Food in inventories of the dialects 42 and 42en: units of life left, or meals"),
    Setting::choice("places-told", &["after", "before"], |o, place| {
        o.places_told = [PlacesTold::After, PlacesTold::Before][place]
    })
    .aliases(&["places_told"])
    .value("WHEN")
    .help("Places of its team that a newcomer is told: those left after it, or before it took its own"),
    Setting::choice("gui-ids", &["hash", "plain", "pnw"], |o, place| {
        o.gui_ids = [GuiIds::Hash, GuiIds::Plain, GuiIds::Pnw][place]
    })
    .aliases(&["gui_ids"])
    .value("STYLE")
    .help("Numbers to text viewers: with # (hash), without (plain), with # in pnw only (pnw)"),
    Setting::choice("refill-news", &["changed", "all", "none"], |o, place| {
        o.refill_news = [RefillNews::Changed, RefillNews::All, RefillNews::Nothing][place];
    })
    .aliases(&["refill_news"])
    .value("WHICH")
    .help("Tiles that text viewers are told of when the ground is refilled"),
];

const CONTROL: &[Setting] = &[
    Setting::choice(
        "control",
        &["user", "loopback", "token", "everyone", "off"],
        |o, place| {
            o.control = [
                Control::User,
                Control::Loopback,
                Control::Token,
                Control::Everyone,
                Control::Nobody,
            ][place];
        },
    )
    .value("WHO")
    .help(
        "Who may change the speed, pause, step and operate: programs of the user who runs it \
         (user), any on this machine (loopback), by --token-file (token), everyone, or none (off)",
    )
    .common(),
    Setting::text("token-file", "the path of a file", |o, path| {
        store_path(&mut o.token_file, path)
    })
    .aliases(&["token_file"])
    .value("FILE")
    .help("The token for --control token: the first line of FILE"),
    Setting::whole("spectator-delay", 0, SPECTATOR_DELAY_SECONDS_MAX, |o, n| {
        o.spectator_delay = RealSpan::from_secs(fits(n))
    })
    .aliases(&["spectator_delay"])
    .value("SECONDS")
    .help("Show viewers that may not control the game what was so long ago; 0 for the present"),
    Setting::choice("console", &["auto", "on", "off", "until-end"], |o, place| {
        o.console = [
            ConsoleInput::Auto,
            ConsoleInput::On,
            ConsoleInput::Off,
            ConsoleInput::UntilEnd,
        ][place];
    })
    .value("WHEN")
    .help(
        "Read the console's words on standard input: if it is a terminal (auto), always (on), \
         never (off), always and end with it (until-end)",
    ),
];

const LIMITS: &[Setting] = &[
    Setting::whole("connections-limit", 1, CONNECTIONS_LIMIT_MAX, |o, n| {
        o.limits.connections_max = fits(n)
    })
    .value("COUNT")
    .help("Connections at one time, all together"),
    Setting::whole("connections-per-address", 0, CONNECTIONS_LIMIT_MAX, |o, n| {
        o.limits.connections_per_address_max = Some(fits(n)).filter(|count| *count > 0);
    })
    .value("COUNT")
    .help("Connections at one time from one other machine; 0 for no limit"),
    Setting::whole("accept-rate", 1, CONNECTIONS_LIMIT_MAX, |o, n| {
        o.limits.accepts_per_second = fits(n)
    })
    .value("COUNT")
    .help("Connections taken in within a second; more wait"),
    Setting::whole("greeting-limit", 1, LIMIT_SECONDS_MAX, |o, n| {
        o.limits.greeting_span = RealSpan::from_secs(fits(n))
    })
    .value("SECONDS")
    .help("How long a peer may take to say what it is"),
    Setting::whole("message-limit", MESSAGE_BYTES_MIN, MESSAGE_BYTES_MAX, |o, n| {
        o.limits.message_bytes_max = fits(n)
    })
    .value("BYTES")
    .help("Longest line or message taken from a peer"),
    Setting::whole("violations-limit", 1, 1_000_000, |o, n| {
        o.limits.violations_max = fits(n)
    })
    .value("COUNT")
    .help("Longer ones that a peer may send before it is let go"),
    Setting::whole("request-rate", 1, 1_000_000, |o, n| {
        o.limits.requests_per_second = fits(n)
    })
    .value("COUNT")
    .help(
        "Requests of one peer carried out in a second, besides one for each unit of game time; \
         viewers of text share 20 times as many more",
    ),
    Setting::whole("fan-out-rate", 1, 1_000_000_000, |o, n| {
        o.limits.fan_out_per_second = fits(n)
    })
    .value("COUNT")
    .help(
        "Messages to other players that broadcasts and pushes may cause in a second, shared \
         equally by the teams; every 512 bytes of a message count as another one",
    ),
    Setting::whole(
        "agent-output-limit",
        AGENT_OUTPUT_KIB_MIN,
        OUTPUT_KIB_MAX,
        |o, n| o.limits.agent_outbox_bytes_max = fits::<usize>(n) * 1_024,
    )
    .value("KIB")
    .help("Kibibytes that may wait for a player that takes nothing for ten seconds"),
    Setting::whole(
        "viewer-output-limit",
        VIEWER_OUTPUT_KIB_MIN,
        OUTPUT_KIB_MAX,
        |o, n| o.limits.viewer_outbox_bytes_max = fits::<usize>(n) * 1_024,
    )
    .value("KIB")
    .help("Kibibytes that a viewer may leave unread"),
    Setting::whole("output-limit", 16, OUTPUT_MIB_MAX, |o, n| {
        o.limits.output_bytes_max = fits::<usize>(n) * 1_024 * 1_024
    })
    .value("MIB")
    .help("Mebibytes that may wait for all peers together"),
    Setting::whole("stall-limit", 1, LIMIT_SECONDS_MAX, |o, n| {
        o.limits.stall_span = RealSpan::from_secs(fits(n))
    })
    .value("SECONDS")
    .help("How long a peer that is owed much may read nothing"),
    Setting::whole("idle-limit", 0, LIMIT_SECONDS_MAX, |o, n| {
        o.limits.idle_span = seconds_or_never(n)
    })
    .aliases(&["idle_limit"])
    .value("SECONDS")
    .help("Let players go who say and do nothing for this long (at most twice as long); 0 for never"),
    Setting::whole("keep-alive", 0, KEEP_ALIVE_SECONDS_MAX, |o, n| {
        o.keep_alive = seconds_or_never(n)
    })
    .aliases(&["keep_alive"])
    .value("SECONDS")
    .help("Silence after which the system asks whether a peer is still there; 0 for never"),
];

const RECORDINGS_AND_SAVES: &[Setting] = &[
    Setting::text("record", "the path of a directory", |o, path| {
        store_path(&mut o.record, path)
    })
    .value("DIR")
    .help("Keep a journal of the run in a new directory in DIR, for trantor-server replay")
    .common(),
    Setting::text(
        "record-keep",
        "all, or bytes from 64MB, or days from 2d, or both with a comma, as in 10GB,30d",
        |o, text| RecordKeep::read(text).map(|keep| o.record_keep = keep).is_some(),
    )
    .value("BOUNDS")
    .help(
        "Remove the oldest recordings in DIR beyond so many bytes (10GB), so many days (30d) or \
         both (10GB,30d)",
    ),
    Setting::text("save", "the path of a directory", |o, path| {
        store_path(&mut o.save.directory, path)
    })
    .value("DIR")
    .help("Save the game in DIR now and then, and at the end")
    .common(),
    Setting::text(
        "save-every",
        "a time from 100ms to 24h, such as 60s or 5m",
        |o, text| span(text).map(|span| o.save.every = span).is_some(),
    )
    .value("SPAN")
    .help("How often the game is saved: 60s, 5m, 500ms"),
    Setting::whole("save-keep", 1, SAVES_KEPT_MAX, |o, n| o.save.keep = fits(n))
        .value("COUNT")
        .help("How many saves are kept, the newest ones"),
    Setting::switch("resume", ON_OFF, |o, yes| o.save.resume = yes)
        .on_alone()
        .help("Go on with the newest good save in the directory of --save; a new game if there is none")
        .common(),
];

const METRICS_AND_LOG: &[Setting] = &[
    Setting::text(
        "metrics",
        "a port, or an address and a port such as 127.0.0.1:9100 or [::1]:9100",
        |o, address| {
            let port = address
                .parse()
                .map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
            port.or_else(|_| address.parse())
                .map(|address| o.metrics.address = Some(address))
                .is_ok()
        },
    )
    .value("ADDRESS")
    .help("Serve /metrics and /health over HTTP on this port of this machine, or on ADDRESS:PORT")
    .common(),
    Setting::text(
        "metrics-hosts",
        "host names separated by commas, without ports",
        |o, names| {
            let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
            let is_name = |name: &String| !name.is_empty() && !name.contains([':', '/', ' ']);
            let are_names = names.iter().all(is_name);
            if are_names {
                o.metrics.hosts = names;
            }
            are_names
        },
    )
    .value("NAMES")
    .help(
        "Names of this host that --metrics answers to, separated by commas; its addresses and \
         localhost always count",
    ),
    Setting::choice(
        "metrics-log",
        &["off", "error", "warn", "info", "debug", "trace"],
        |o, place| {
            o.metrics.log = LevelFilter::iter()
                .nth(place)
                .expect("the words are those of the levels, in their order");
        },
    )
    .value("LEVEL")
    .help("Log a line with the most important figures at this level, again and again"),
    Setting::whole("metrics-every", 1, METRICS_SECONDS_MAX, |o, n| {
        o.metrics.every = RealSpan::from_secs(fits(n))
    })
    .value("SECONDS")
    .help("How often that line is logged"),
    Setting::text(
        "log",
        "error, warn, info, debug, trace or off, also by module as in warn,trantor_engine=trace",
        |o, filter| filter.parse().map(|filter| o.log = filter).is_ok(),
    )
    .value("LEVEL")
    .help(
        "Least level logged on standard error, for all (info) or by module \
         (warn,trantor_engine=trace)",
    )
    .common(),
];

/// All options by the headings of `--help`.
pub const SECTIONS: &[(&str, &[Setting])] = &[
    ("Network", NETWORK),
    ("Game", GAME),
    ("Time", TIME),
    ("Rules", RULES),
    ("Protocol", PROTOCOL),
    ("Control", CONTROL),
    ("Limits", LIMITS),
    ("Recordings and saves", RECORDINGS_AND_SAVES),
    ("Metrics and log", METRICS_AND_LOG),
];

/// All options.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().flat_map(|(_, settings)| *settings)
}

/// The setting of that name, if there is one.
pub fn find(name: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.name == name)
}

/// The known name that looks most like `unknown`, if any looks like it at all. Other flags are looked at as well, and
/// lead to the name, which is known in the file and in the environment too.
///
/// `extra` are further names known where `unknown` was written.
pub fn nearest_name(unknown: &str, extra: &[&'static str]) -> Option<&'static str> {
    let unknown = unknown.to_lowercase().replace('_', "-");
    let names = settings().flat_map(|setting| std::iter::once(&setting.name).chain(setting.aliases));
    let found = nearest(&unknown, names.chain(extra).copied())?;
    let meant = settings().find(|setting| setting.aliases.contains(&found));
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
