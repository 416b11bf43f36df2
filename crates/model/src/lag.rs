//! Lag between agents as people write it: `off`, `radio`, or `speed=2 latency=5 range=10 loss=5%`.
//!
//! The one parser and printer of these settings, for options, files, consoles and viewers. What a link does with them is
//! [`trantor_time::link`]'s, and which message travels on which link is the game's.

use std::fmt::Write as _;
use std::num::NonZeroU64;

use trantor_time::link::{Bandwidth, Chance, LinkSettings, Order};
use trantor_time::{GameSpan, read_decimal};

use crate::names::did_you_mean_or;

/// How messages between agents travel. Distances are in thousandths of a tile, so that speed is in thousandths
/// of a tile a unit, and range in thousandths of a tile.
pub type Lag = LinkSettings;

/// The largest number of each setting: units, tiles, tiles a unit, bytes a unit. A million units are a hundred times
/// what any game lasts between two events that matter, and far from where adding them up overflows.
pub const LAG_SETTING_MAX: u64 = 1_000_000;

/// Settings under a name.
pub const PRESETS: [(&str, &str); 2] = [
    ("radio", "speed=2 latency=2 jitter=1 range=12 loss=2%"),
    (
        "noisy",
        "speed=1 latency=5 jitter=10 range=10 loss=15% copies=5% bandwidth=64 order=any",
    ),
];

/// What is written after `lag`: settings for all teams, for single teams, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LagChange {
    /// For all teams, in place of any that they have of their own.
    pub all: Option<Option<Lag>>,
    /// For teams by name; `None` has a team use those of the others again.
    pub teams: Vec<(String, Option<Option<Lag>>)>,
}

/// The word for a team without settings of its own.
const SAME: &str = "same";

/// What stands between settings.
const SEPARATORS: [char; 3] = [' ', '\t', ','];

/// The word for no lag: messages arrive at once.
const OFF: &str = "off";

/// How long a message may wait for the line if only `bandwidth` is set: as long as 14 broadcasts take.
const QUEUE_SPAN: GameSpan = GameSpan::from_units(100);

/// Decimals of distances, of times and of percentages: what the settings are counted in.
const TILE_DIGITS: usize = 3;
const UNIT_DIGITS: usize = 9;
const PERCENT_DIGITS: usize = 4;

/// Every setting, and what it accepts.
const SETTINGS: [(&str, &str); 9] = [
    ("speed", "tiles a unit from 0.001 up, as in speed=2"),
    ("latency", "units, as in latency=5"),
    ("jitter", "units at most, as in jitter=2.5"),
    ("range", "tiles, as in range=10"),
    ("loss", "the share of messages lost, as in loss=5%"),
    (
        "copies",
        "the share of messages that arrive twice, as in copies=1%",
    ),
    (
        "bandwidth",
        "bytes a unit, a whole number from 1 up, as in bandwidth=64",
    ),
    (
        "queue",
        "the units that a message may wait for the line, behind bandwidth, as in bandwidth=64 queue=100",
    ),
    (
        "order",
        "order=any if a message may overtake an earlier one, or else order=sent",
    ),
];

/// What may be written.
const WRITE: &str = "write off, radio, noisy, or settings as in speed=2 latency=5 jitter=3 range=10 loss=5% copies=1% \
                     bandwidth=64 order=any; a preset comes first, and settings of one team behind its name, as in red:radio";

/// Why a text is no setting of lag: what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LagTextError {
    /// Nothing, or a word that is neither a preset nor a setting.
    #[error("{}", word_fault(.0.as_deref()))]
    Word(Option<String>),
    /// A setting that there is none of.
    #[error("{}", setting_fault(.0))]
    Setting(String),
    /// A value that the setting does not take.
    #[error("{word:?}: {accepted}; numbers are at most {LAG_SETTING_MAX}")]
    Value {
        /// What was written.
        word: String,
        /// What the setting accepts.
        accepted: &'static str,
    },
}

fn word_fault(word: Option<&str>) -> String {
    let known = PRESETS.iter().map(|(name, _)| *name).chain([OFF]);
    match word {
        Some(word) => format!("{word:?} is no setting{}", did_you_mean_or(word, known, WRITE)),
        None => WRITE.to_owned(),
    }
}

fn setting_fault(name: &str) -> String {
    let names = SETTINGS.map(|(name, _)| name);
    let all = format!("there are {}", names.join(", "));
    format!(
        "there is no setting {name:?}{}",
        did_you_mean_or(name, names, &all)
    )
}

/// Reads settings of all teams, and behind them settings of single teams after their names:
/// `radio range=6 red:off blue:loss=5%`, or only of single teams.
///
/// # Errors
/// What to write instead.
pub fn read_change(text: &str) -> Result<LagChange, LagTextError> {
    let mut change = LagChange::default();
    // The team, and its settings so far.
    let mut parts = vec![(None, String::new())];
    for word in text.split(SEPARATORS).filter(|word| !word.is_empty()) {
        let setting = match word.rsplit_once(':') {
            Some((team, setting)) => {
                parts.push((Some(team), String::new()));
                setting
            }
            None => word,
        };
        if let Some((_, settings)) = parts.last_mut() {
            settings.push_str(setting);
            settings.push(' ');
        }
    }
    let has_teams = parts.len() > 1;
    for (team, settings) in parts {
        match team {
            None if settings.is_empty() && has_teams => {}
            None => change.all = Some(read(&settings)?),
            Some(team) if settings.trim() == SAME => change.teams.push((team.to_owned(), None)),
            Some(team) => change.teams.push((team.to_owned(), Some(read(&settings)?))),
        }
    }
    Ok(change)
}

/// Reads settings: a preset, settings with their values, or a preset and what differs from it. What is not named
/// has no effect: no delay, no loss, no limit. `None` is no lag.
///
/// # Errors
/// What to write instead.
pub fn read(text: &str) -> Result<Option<Lag>, LagTextError> {
    let words = text.split(SEPARATORS).filter(|word| !word.is_empty());
    let mut words = words.peekable();
    let first = *words.peek().ok_or(LagTextError::Word(None))?;
    let preset = PRESETS.iter().find(|(name, _)| *name == first);
    let mut lag = match preset {
        Some((_, settings)) => read(settings)?.unwrap_or(Lag::PERFECT),
        None => Lag::PERFECT,
    };
    if first == OFF || preset.is_some() {
        words.next();
    }
    if first == OFF {
        return match words.next() {
            None => Ok(None),
            Some(word) => Err(LagTextError::Word(Some(word.to_owned()))),
        };
    }
    for word in words {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| LagTextError::Word(Some(word.to_owned())))?;
        let known = SETTINGS.iter().find(|(known, _)| *known == name);
        let (_, accepted) = known.ok_or_else(|| LagTextError::Setting(name.to_owned()))?;
        set(&mut lag, name, value).ok_or_else(|| LagTextError::Value {
            word: word.to_owned(),
            accepted,
        })?;
    }
    Ok(Some(lag))
}

/// Settings as [`read`] reads them: the name of a preset, or each setting that has an effect.
pub fn show(lag: Option<&Lag>) -> String {
    let Some(lag) = lag else {
        return OFF.to_owned();
    };
    let preset = PRESETS
        .iter()
        .find(|(_, settings)| read(settings).is_ok_and(|preset| preset.as_ref() == Some(lag)));
    preset.map_or_else(|| show_settings(lag), |(name, _)| (*name).to_owned())
}

/// Each setting that has an effect, also of a preset.
pub fn show_settings(lag: &Lag) -> String {
    let mut text = String::new();
    let mut add = |name: &str, number: u128, digits: usize, sign: &str| {
        let number = decimal(number, digits);
        write!(text, " {name}={number}{sign}").expect("a text grows as needed");
    };
    let nanounits = |span: GameSpan| span.as_nanounits().unsigned_abs();
    if let Some(speed) = lag.speed {
        add("speed", speed.get().into(), TILE_DIGITS, "");
    }
    for (name, span) in [("latency", lag.latency), ("jitter", lag.jitter_max)] {
        if span > GameSpan::ZERO {
            add(name, nanounits(span), UNIT_DIGITS, "");
        }
    }
    if let Some(range) = lag.range {
        add("range", range.into(), TILE_DIGITS, "");
    }
    for (name, chance) in [("loss", lag.loss), ("copies", lag.duplication)] {
        if chance != Chance::NEVER {
            add(name, u32::from(chance).into(), PERCENT_DIGITS, "%");
        }
    }
    if let Some(Bandwidth { bytes_per, wait_max }) = lag.bandwidth {
        add("bandwidth", bytes_per.get().into(), 0, "");
        if wait_max != QUEUE_SPAN {
            add("queue", nanounits(wait_max), UNIT_DIGITS, "");
        }
    }
    match lag.order {
        Order::MayOvertake => text += " order=any",
        Order::Fifo if text.is_empty() => text += " order=sent",
        Order::Fifo => {}
    }
    text.split_off(1)
}

/// Sets one of [`SETTINGS`]; `None` if it does not take the value.
fn set(lag: &mut Lag, name: &str, value: &str) -> Option<()> {
    let percent = |value: &str| {
        let parts = number(value.strip_suffix('%')?, PERCENT_DIGITS)?;
        Chance::parts_per_million(u32::try_from(parts).ok()?).ok()
    };
    match name {
        "speed" => lag.speed = Some(NonZeroU64::new(number(value, TILE_DIGITS)?)?),
        "latency" => lag.latency = units(number(value, UNIT_DIGITS)?),
        "jitter" => lag.jitter_max = units(number(value, UNIT_DIGITS)?),
        "range" => lag.range = Some(number(value, TILE_DIGITS)?),
        "loss" => lag.loss = percent(value)?,
        "copies" => lag.duplication = percent(value)?,
        "bandwidth" => {
            let wait_max = lag.bandwidth.map(|bandwidth| bandwidth.wait_max);
            lag.bandwidth = Some(Bandwidth {
                bytes_per: NonZeroU64::new(number(value, 0)?)?,
                wait_max: wait_max.unwrap_or(QUEUE_SPAN),
            });
        }
        "queue" => lag.bandwidth.as_mut()?.wait_max = units(number(value, UNIT_DIGITS)?),
        "order" => {
            lag.order = match value {
                "any" => Order::MayOvertake,
                "sent" => Order::Fifo,
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(())
}

fn units(nanounits: u64) -> GameSpan {
    GameSpan::from_nanounits(nanounits.into())
}

/// Reads a number of at most [`LAG_SETTING_MAX`] with at most so many decimals, in units of the last one.
fn number(word: &str, digits: usize) -> Option<u64> {
    let number = u64::try_from(read_decimal(word, digits)?).ok()?;
    (number <= LAG_SETTING_MAX * 10_u64.pow(digits as u32)).then_some(number)
}

/// The reverse of [`number`].
fn decimal(number: u128, digits: usize) -> String {
    let scale = 10_u128.pow(digits as u32);
    let (whole, part) = (number / scale, number % scale);
    match part {
        0 => whole.to_string(),
        _ => format!("{whole}.{part:0digits$}")
            .trim_end_matches('0')
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_again() {
        let texts = [
            "off",
            "radio",
            "noisy",
            "order=sent",
            "speed=0.001 latency=2.5 jitter=0.000000001 range=0 loss=0.0001% copies=100% order=any",
            "latency=1000000 bandwidth=64",
            "range=10.5 bandwidth=1 queue=0",
        ];
        for text in texts {
            assert_eq!(show(read(text).unwrap().as_ref()), text);
        }
        let radio = read("radio").unwrap().unwrap();
        assert_eq!(show_settings(&radio), PRESETS[0].1);
        assert_eq!(read(PRESETS[0].1), Ok(Some(radio)));
        let wider = read("radio, range=15").unwrap().unwrap();
        assert_eq!(wider.range, Some(15_000));
        assert_eq!(wider.latency, radio.latency);
        assert_eq!(
            show(read("latency=05,bandwidth=8,queue=100").unwrap().as_ref()),
            "latency=5 bandwidth=8"
        );
    }

    #[test]
    fn teams_have_settings_behind_their_names() {
        let radio = read("radio").unwrap();
        let range = read("radio range=3").unwrap();
        let red = |lag| vec![("red".to_owned(), lag)];
        for (text, all, teams) in [
            ("radio range=3", Some(range), vec![]),
            ("radio red:off", Some(radio), red(Some(None))),
            ("red:radio,range=3", None, red(Some(range))),
            ("red: radio range=3", None, red(Some(range))),
            ("off red:same", Some(None), red(None)),
        ] {
            assert_eq!(read_change(text), Ok(LagChange { all, teams }), "{text}");
        }
        let two = read_change("red:off a:b:radio").unwrap();
        assert_eq!(
            two.teams,
            [("red".to_owned(), Some(None)), ("a:b".to_owned(), Some(radio))]
        );
        for text in ["", "red:", "same", "radio red:on"] {
            assert!(read_change(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_mistake_is_answered_by_what_to_write() {
        for (text, answer) in [
            ("", "write off, radio, noisy, or settings as in speed=2 "),
            ("on", "\"on\" is no setting"),
            (
                "radoi range=3",
                "\"radoi\" is no setting; did you mean radio? write off, ",
            ),
            ("off range=3", "\"range=3\" is no setting"),
            ("range=3 radio", "\"radio\" is no setting"),
            (
                "sped=2",
                "there is no setting \"sped\"; did you mean speed? there are speed, latency",
            ),
            (
                "speed=0",
                "\"speed=0\": tiles a unit from 0.001 up, as in speed=2",
            ),
            ("latency=-1", "\"latency=-1\": units, as in latency=5"),
            ("latency=1.", "units, as in latency=5"),
            ("latency=1000001", "numbers are at most 1000000"),
            ("loss=5", "as in loss=5%"),
            ("loss=101%", "as in loss=5%"),
            ("queue=5", "behind bandwidth"),
            ("order=fifo", "or else order=sent"),
            ("speed=99999999999999999999", "tiles a unit"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(answer), "{text:?}: {error}");
        }
    }
}
