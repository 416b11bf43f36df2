//! Values of options as words: what is accepted, and how it is said after "must be".
//!
//! The command line, the environment and the file share these readers. Which options exist is [`super::Options`]' to say.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use log::LevelFilter;
use trantor_cli::values::number;
use trantor_engine::{ControlAccess, RefillUpdates};
use trantor_game::GameConfig;
use trantor_model::names::did_you_mean;
use trantor_protocol::check_team_name;
use trantor_protocol::text::Dialect;
use trantor_time::{Frequency, RealSpan};

use super::{FREQUENCY_MAX, Hosts, OVERLOAD_LIMIT_MS_MAX, OrNone, PERIOD_MS};
use crate::archive::Keep;
use trantor_play::words::{self, MindSpecs};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConsoleInput {
    /// If it is a terminal, or the game waits for its start.
    #[default]
    Auto,
    On,
    /// Whatever it is, and the server ends with it: a program that starts a server and holds its input takes the server
    /// along, however it ends itself.
    UntilEnd,
    Off,
}

/// Reads a value, or says what is accepted.
pub(crate) trait Reader<T>: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {}

impl<T, F: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static> Reader<T> for F {}

/// Narrows a number whose range was checked.
pub(super) fn fits<T: TryFrom<u64>>(number: u64) -> T {
    T::try_from(number)
        .ok()
        .expect("the range of the option lies within the field's")
}

pub(super) fn seconds(from: u64, to: u64) -> impl Reader<RealSpan> {
    number(from, to, |n| RealSpan::from_secs(fits(n)))
}

/// A span of whole seconds; none for 0.
pub(super) fn seconds_or_never(to: u64) -> impl Reader<OrNone<RealSpan>> {
    number(0, to, |n| {
        Some(RealSpan::from_secs(fits(n))).filter(|span| *span > RealSpan::ZERO)
    })
}

pub(super) fn overload_limit() -> impl Reader<OrNone<RealSpan>> {
    number(0, OVERLOAD_LIMIT_MS_MAX, |n| {
        Some(RealSpan::from_millis(fits(n))).filter(|span| *span > RealSpan::ZERO)
    })
}

pub(super) fn minds() -> impl Reader<MindSpecs> {
    |text: &str| words::read_all(text).map_err(|accepted| format!("must be {accepted}"))
}

pub(super) fn team_name() -> impl Reader<String> {
    |name: &str| match check_team_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(fault) => Err(fault.to_string()),
    }
}

pub(super) fn frequency() -> impl Reader<Frequency> {
    number(1, FREQUENCY_MAX, |n| {
        Frequency::new(n).expect("the range lies within a frequency's")
    })
}

pub(super) const ON_OFF: &str = "on|off";
pub(super) const TRUE_FALSE: &str = "true|false";

pub(super) fn switch() -> impl Reader<bool> {
    |word: &str| match word {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => {
            let meant = match word {
                "yes" | "1" => "; did you mean on?".to_owned(),
                "no" | "0" => "; did you mean off?".to_owned(),
                _ => did_you_mean(word, ["on", "off", "true", "false"]),
            };
            Err(format!("on or off, or true or false{meant}"))
        }
    }
}

/// Anything that `read` reads.
fn text<T: 'static>(accepts: &'static str, read: fn(&str) -> Option<T>) -> impl Reader<T> {
    move |word: &str| read(word).ok_or_else(|| accepts.to_owned())
}

pub(super) fn path(accepts: &'static str) -> impl Reader<PathBuf> {
    text(accepts, |path| (!path.is_empty()).then(|| PathBuf::from(path)))
}

pub(super) fn address() -> impl Reader<IpAddr> {
    text(
        "an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::1",
        |text| text.parse().ok(),
    )
}

/// A port of this machine, or an address and a port.
pub(super) fn socket_address() -> impl Reader<SocketAddr> {
    text(
        "a port, or an address and a port such as 127.0.0.1:9100 or [::1]:9100",
        |text| match text.parse() {
            Ok(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            Err(_) => text.parse().ok(),
        },
    )
}

pub(super) fn host_names() -> impl Reader<Hosts> {
    text("host names separated by commas, without ports", |text| {
        let names: Hosts = text.split(',').map(|name| name.trim().to_owned()).collect();
        let is_name = |name: &String| !name.is_empty() && !name.contains([':', '/', ' ']);
        names.iter().all(is_name).then_some(names)
    })
}

pub(super) fn record_keep() -> impl Reader<Keep> {
    text(
        "all, or bytes from 64MB, or days from 2d, or both with a comma, as in 10GB,30d",
        read_keep,
    )
}

/// The period of a timer, with its unit.
pub(crate) fn period() -> impl Reader<RealSpan> {
    text("a time from 100ms to 24h, such as 60s or 5m", |text| {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let number: u64 = digits.parse().ok()?;
        let unit_ms = match &text[digits.len()..] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60 * 1_000,
            "h" => 60 * 60 * 1_000,
            _ => return None,
        };
        let ms = number.checked_mul(unit_ms)?;
        PERIOD_MS.contains(&ms).then(|| RealSpan::from_millis(fits(ms)))
    })
}

pub(super) fn log_filter() -> impl Reader<LogFilter> {
    |text: &str| {
        LogFilter::read(text).ok_or_else(|| {
            let levels = text.split(',').map(|part| part.rsplit('=').next().unwrap_or(part));
            let mut unknown = levels.filter(|level| level.parse::<LevelFilter>().is_err());
            let known = LEVELS.map(|(name, _)| name);
            let meant = did_you_mean(unknown.next().unwrap_or_default(), known);
            format!(
                "error, warn, info, debug, trace or off, also by module as in warn,trantor_engine=trace{meant}"
            )
        })
    }
}

pub(super) const DIALECTS: [(&str, Dialect); 4] = [
    ("epitech", Dialect::Epitech),
    ("epitech-2016", Dialect::Epitech2016),
    ("42", Dialect::French42),
    ("42en", Dialect::English42),
];
pub(super) const REFILL_UPDATES: [(&str, RefillUpdates); 3] = [
    ("changed", RefillUpdates::Changed),
    ("all", RefillUpdates::All),
    ("none", RefillUpdates::Nothing),
];
pub(super) const CONTROLS: [(&str, ControlAccess); 5] = [
    ("user", ControlAccess::User),
    ("loopback", ControlAccess::Loopback),
    ("token", ControlAccess::Token),
    ("everyone", ControlAccess::Everyone),
    ("off", ControlAccess::Off),
];
pub(super) const CONSOLES: [(&str, ConsoleInput); 4] = [
    ("auto", ConsoleInput::Auto),
    ("on", ConsoleInput::On),
    ("off", ConsoleInput::Off),
    ("until-end", ConsoleInput::UntilEnd),
];
pub(super) const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::Off),
    ("error", LevelFilter::Error),
    ("warn", LevelFilter::Warn),
    ("info", LevelFilter::Info),
    ("debug", LevelFilter::Debug),
    ("trace", LevelFilter::Trace),
];

pub(super) fn team_names_fault(names: &[String]) -> Option<String> {
    if !(1..=GameConfig::TEAMS_MAX).contains(&names.len()) {
        return Some(format!(
            "there are 1 to {} teams, not {}",
            GameConfig::TEAMS_MAX,
            names.len()
        ));
    }
    if let Some(fault) = names.iter().find_map(|name| check_team_name(name).err()) {
        return Some(fault.to_string());
    }
    let mut seen = BTreeSet::new();
    let twice = names.iter().find(|name| !seen.insert(*name))?;
    Some(format!(
        "teams have different names, and {twice:?} is there twice"
    ))
}

/// A level for everything, and exceptions by module; written `info` or `warn,trantor_engine=trace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter {
    everything: LevelFilter,
    modules: Vec<(String, LevelFilter)>,
}

impl LogFilter {
    pub fn read(written: &str) -> Option<Self> {
        let (mut everything, mut modules) = (None, Vec::new());
        for part in written.split(',') {
            match part.split_once('=') {
                Some((module, level)) if is_module_path(module) => {
                    modules.push((module.to_owned(), level.parse().ok()?));
                }
                // Two levels for everything contradict each other.
                None if everything.is_none() => everything = Some(part.parse().ok()?),
                _ => return None,
            }
        }
        let everything = everything.unwrap_or(LevelFilter::Info);
        Some(Self { everything, modules })
    }

    /// The same exceptions, with at least `level` for everything else.
    pub fn at_least(mut self, level: LevelFilter) -> Self {
        self.everything = self.everything.max(level);
        self
    }

    pub fn apply(&self, builder: &mut env_logger::Builder) {
        builder.filter_level(self.everything);
        for (module, level) in &self.modules {
            builder.filter_module(module, *level);
        }
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |level: LevelFilter| level.as_str().to_lowercase();
        f.write_str(&name(self.everything))?;
        self.modules
            .iter()
            .try_for_each(|(module, level)| write!(f, ",{module}={}", name(*level)))
    }
}

fn is_module_path(path: &str) -> bool {
    !path.is_empty()
        && path
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':')
}

/// The least bytes that can be asked for: what `--resume` needs since the last save, and more.
const BYTES_MIN: u64 = 64 * 1_000_000;

/// The least age: saves are at most a day apart, and `--resume` needs the journal since the last one.
const AGE_MIN: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// Reads `10GB`, `30d`, or both with a comma between them; `all` is neither.
fn read_keep(text: &str) -> Option<Keep> {
    let mut keep = Keep::default();
    if text == "all" {
        return Some(keep);
    }
    for part in text.split(',') {
        let digits = part.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let number: u64 = digits.parse().ok()?;
        let bytes = |unit: u64| number.checked_mul(unit).filter(|bytes| *bytes >= BYTES_MIN);
        match &part[digits.len()..] {
            "MB" if keep.bytes.is_none() => keep.bytes = Some(bytes(1_000_000)?),
            "GB" if keep.bytes.is_none() => keep.bytes = Some(bytes(1_000_000_000)?),
            "TB" if keep.bytes.is_none() => keep.bytes = Some(bytes(1_000_000_000_000)?),
            "d" if keep.age.is_none() => {
                let age = Duration::from_secs(number.checked_mul(24 * 60 * 60)?);
                keep.age = Some(age).filter(|age| *age >= AGE_MIN);
                keep.age?;
            }
            _ => return None,
        }
    }
    Some(keep)
}
