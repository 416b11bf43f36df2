//! What a line of words means, or what to type instead.

use log::LevelFilter;
use trantor_client::ControlRequest::{self, SetFrequency, Step};
use trantor_protocol::wire::StepKind;
use trantor_time::{GameTime, Pace, Pacing, Rate};

use crate::input::Action;
use crate::intent::Intent;
use crate::lag::Lag;
use crate::sound::SoundChange;
use trantor_protocol::limits::TEXT_FREQUENCY_MAX;
use trantor_render::gpu::Quality;
use trantor_render::gpu::surface::Forced;

use super::values::{
    REMIND_SECONDS_MAX, frame_rate, frequency, lag, log_level, panel_scale, percent, rate_change, seconds,
    take,
};
use super::words::{WORDS, Word, usage_of};

/// What a line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// All commands, or one.
    Help(Option<&'static Word>),
    /// What could be asked for by a key or a panel too.
    Intent(Intent),
    /// The rates of all systems, or of one.
    Rates(Option<String>),
    /// A change to how a system is called.
    Rate(String, RateChange),
    /// Frames to aim at; `None` for what displays say.
    Frames(Option<Rate>),
    /// How long the way to the server is made.
    Lags,
    /// Makes it that long.
    Lag(Option<Lag>),
    /// How much the log says.
    Levels,
    /// Changes that, for a target or for all.
    Log(LevelFilter, Option<String>),
    /// Published values whose names begin so.
    Values(String),
    /// What is waited for.
    Timers,
    /// A text after so many seconds.
    Remind(f64, String),
    /// Takes a timer back.
    Cancel(u64),
    /// Which key does what; all, or one action's.
    Keys(Option<Action>),
    /// Gives an action these keys.
    Bind(Action, Vec<String>),
    /// Gives an action its usual keys.
    Unbind(Action),
    /// How large the panels are, as a part of what the display asks for.
    Scale(f32),
    /// How loud it is.
    Volume,
    /// Joins the server again.
    Reconnect,
    /// Forgets what was said.
    Clear,
}

/// What is changed about how a system is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateChange {
    /// How often.
    Pace(Pace),
    /// From what its interval counts.
    Pacing(Pacing),
    /// Whether at all.
    Enabled(bool),
}

/// Why a line means nothing; the text says what to type instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// No such word.
    #[error("there is no command {word:?}{}; type help for all of them", suggestion.as_ref().map(|near| format!(", did you mean {near}?")).unwrap_or_default())]
    NoSuchCommand {
        /// What was typed.
        word: String,
        /// What is much like it.
        suggestion: Option<&'static str>,
    },
    /// No action of that name.
    #[error("there is no action {name:?}; type keys for all of them")]
    NoSuchAction {
        /// What was typed.
        name: String,
    },
    /// What follows the word does not fit.
    #[error("{what}; type {usage}")]
    Usage {
        /// What is wrong.
        what: String,
        /// What would be right.
        usage: String,
    },
}

impl Command {
    /// What `line` asks for; `None` if it is empty.
    ///
    /// # Errors
    /// If it means nothing.
    pub fn parse(line: &str) -> Result<Option<Self>, Mistake> {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else {
            return Ok(None);
        };
        let word = find_word(first)?;
        let rest: Vec<&str> = words.collect();
        let usage = |what: String| Mistake::Usage {
            what,
            usage: usage_of(word),
        };
        let control = |request| Self::Intent(Intent::Control(request));
        let sound = |change| Self::Intent(Intent::Sound(change));
        let command = match (word.name, rest.as_slice()) {
            ("help", []) => Self::Help(None),
            ("help", [name]) => Self::Help(Some(find_word(name)?)),
            ("speed", ["max"]) => control(SetFrequency(TEXT_FREQUENCY_MAX)),
            ("speed", [speed]) => control(SetFrequency(frequency(speed).map_err(usage)?)),
            ("pause", []) => control(ControlRequest::Pause),
            ("resume", []) => control(ControlRequest::Resume),
            ("step", [] | ["unit"]) => control(Step(StepKind::Unit)),
            ("step", ["action"]) => control(Step(StepKind::Action)),
            ("step", ["event"]) => control(Step(StepKind::Event)),
            ("rate", []) => Self::Rates(None),
            ("rate", [system]) => Self::Rates(Some((*system).to_owned())),
            ("rate", [system, change]) => {
                Self::Rate((*system).to_owned(), rate_change(change).map_err(usage)?)
            }
            ("frames", ["auto"]) => Self::Frames(None),
            ("frames", [rate]) => Self::Frames(Some(frame_rate(rate).map_err(usage)?)),
            ("lag", []) => Self::Lags,
            ("lag", ["off"]) => Self::Lag(None),
            ("lag", [latency]) => Self::Lag(Some(lag(latency, "0").map_err(usage)?)),
            ("lag", [latency, jitter]) => Self::Lag(Some(lag(latency, jitter).map_err(usage)?)),
            ("log", []) => Self::Levels,
            ("log", [level]) => Self::Log(log_level(level).map_err(usage)?, None),
            ("log", [level, target]) => {
                Self::Log(log_level(level).map_err(usage)?, Some((*target).to_owned()))
            }
            ("values", []) => Self::Values(String::new()),
            ("values", [beginning]) => Self::Values((*beginning).to_owned()),
            ("timers", []) => Self::Timers,
            ("remind", [after, text @ ..]) if !text.is_empty() => {
                Self::Remind(seconds(after, REMIND_SECONDS_MAX).map_err(usage)?, text.join(" "))
            }
            ("cancel", [timer]) => {
                let number = timer.trim_start_matches('#').parse();
                Self::Cancel(number.map_err(|_| usage(format!("{timer:?} is no number of a timer")))?)
            }
            ("keys", []) => Self::Keys(None),
            ("keys", [action]) => Self::Keys(Some(find_action(action)?)),
            ("bind", [action, keys @ ..]) if !keys.is_empty() => Self::Bind(
                find_action(action)?,
                keys.iter().map(|key| key.to_lowercase()).collect(),
            ),
            ("unbind", [action]) => Self::Unbind(find_action(action)?),
            ("do", [action]) => Self::Intent(Intent::Do(find_action(action)?)),
            ("goto", [x, y]) => match (x.parse(), y.parse()) {
                (Ok(x), Ok(y)) => Self::Intent(Intent::GoTo(x, y)),
                _ => return Err(usage(format!("{x:?} and {y:?} are no tile"))),
            },
            ("record", [span, how @ ..]) if how.len() <= 2 => {
                Self::Intent(Intent::Record(take(span, how).map_err(usage)?))
            }
            ("seek", [units]) => match units.parse() {
                Ok(units) => Self::Intent(Intent::Seek(GameTime::from_units(units))),
                Err(_) => return Err(usage(format!("{units:?} is no number of units"))),
            },
            ("scale", [factor]) => Self::Scale(panel_scale(factor).map_err(usage)?),
            ("quality", ["swift"]) => Self::Intent(Intent::Quality(Some(Quality::Swift))),
            ("quality", ["fine"]) => Self::Intent(Intent::Quality(Some(Quality::Fine))),
            ("quality", ["auto"]) => Self::Intent(Intent::Quality(None)),
            ("volume", []) => Self::Volume,
            ("volume", ["off"]) => sound(SoundChange::Mute(true)),
            ("volume", ["on"]) => sound(SoundChange::Mute(false)),
            ("volume", [volume]) => sound(SoundChange::Volume(percent(volume).map_err(usage)?)),
            ("gpu", [name]) => match Forced::named(name) {
                Some(forced) => Self::Intent(Intent::Gpu(forced)),
                None => return Err(usage(format!("{name:?} does not fit here"))),
            },
            ("reconnect", []) => Self::Reconnect,
            ("clear", []) => Self::Clear,
            ("quit", []) => Self::Intent(Intent::Do(Action::Quit)),
            (_, []) => return Err(usage("something is missing".to_owned())),
            (_, [first, ..]) => return Err(usage(format!("{first:?} does not fit here"))),
        };
        Ok(Some(command))
    }
}

fn find_word(name: &str) -> Result<&'static Word, Mistake> {
    WORDS.iter().find(|word| word.name == name).ok_or_else(|| {
        let near = WORDS.iter().map(|word| word.name);
        Mistake::NoSuchCommand {
            word: name.to_owned(),
            suggestion: near
                .map(|near| (strsim::damerau_levenshtein(near, name), near))
                .min()
                .filter(|&(off, near)| off <= 1 + near.len() / 4)
                .map(|(_, near)| near),
        }
    })
}

fn find_action(name: &str) -> Result<Action, Mistake> {
    Action::named(name).ok_or_else(|| Mistake::NoSuchAction {
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        Command::parse(line).unwrap_err().to_string()
    }

    #[test]
    fn lines_are_understood() {
        let at = |rate| Pace::from_setting(rate).unwrap();
        let asked = Command::Intent;
        for (line, command) in [
            ("speed 250", asked(Intent::Control(SetFrequency(250)))),
            ("speed max", asked(Intent::Control(SetFrequency(10_000)))),
            ("  step   event ", asked(Intent::Control(Step(StepKind::Event)))),
            ("step", asked(Intent::Control(Step(StepKind::Unit)))),
            (
                "rate hud 10",
                Command::Rate("hud".into(), RateChange::Pace(at(10.0))),
            ),
            (
                "rate hud -1",
                Command::Rate("hud".into(), RateChange::Pace(Pace::Uncapped)),
            ),
            (
                "rate hud off",
                Command::Rate("hud".into(), RateChange::Enabled(false)),
            ),
            (
                "rate hud grid",
                Command::Rate("hud".into(), RateChange::Pacing(Pacing::Grid)),
            ),
            ("frames auto", Command::Frames(None)),
            (
                "lag 80 20",
                Command::Lag(Some(Lag {
                    latency_ms: 80,
                    jitter_ms: 20,
                })),
            ),
            ("lag off", Command::Lag(None)),
            (
                "log debug trantor_client",
                Command::Log(LevelFilter::Debug, Some("trantor_client".into())),
            ),
            (
                "remind 2.5 look at the north",
                Command::Remind(2.5, "look at the north".into()),
            ),
            ("cancel #3", Command::Cancel(3)),
            (
                "bind pause P space",
                Command::Bind(Action::Pause, vec!["p".into(), "space".into()]),
            ),
            ("do heat-map", asked(Intent::Do(Action::HeatMap))),
            ("goto 3 5", asked(Intent::GoTo(3, 5))),
            ("quality fine", asked(Intent::Quality(Some(Quality::Fine)))),
            ("quality auto", asked(Intent::Quality(None))),
        ] {
            assert_eq!(Command::parse(line), Ok(Some(command)), "{line}");
        }
        assert_eq!(Command::parse("   "), Ok(None));
    }

    #[test]
    fn a_mistake_says_what_to_type() {
        for (line, wanted) in [
            (
                "spede 100",
                "there is no command \"spede\", did you mean speed?; type help for all of them",
            ),
            (
                "xyzzy",
                "there is no command \"xyzzy\"; type help for all of them",
            ),
            (
                "speed fast",
                "a speed is a whole number from 1 to 10000, not \"fast\"; type speed UNITS_PER_SECOND | max",
            ),
            ("speed", "something is missing; type speed UNITS_PER_SECOND | max"),
            ("pause now", "\"now\" does not fit here; type pause"),
            ("rate hud 0", "type rate [SYSTEM"),
            ("rate hud often", "\"often\" is no rate; type rate"),
            ("lag 9999999", "from 0 to 5000, not \"9999999\"; type lag [MS"),
            ("log loud", "\"loud\" is no level; type log [LEVEL [TARGET]]"),
            ("remind 5", "\"5\" does not fit here; type remind SECONDS TEXT"),
            (
                "record 5 gif 60",
                "1 to 50 pictures a second, not \"60\"; type record SECONDS",
            ),
            (
                "record 5 mpg",
                "pictures are gif or png, not \"mpg\"; type record SECONDS",
            ),
            ("record 5 gif 20 x", "type record SECONDS"),
            ("volume 101", "from 0 to 100, not \"101\"; type volume [PERCENT"),
            ("scale 9", "from 0.5 to 3, not \"9\"; type scale FACTOR"),
            ("frames nan", "a number from 1 to 1000, not \"nan\"; type frames"),
            (
                "bind fly x",
                "there is no action \"fly\"; type keys for all of them",
            ),
            (
                "quality best",
                "\"best\" does not fit here; type quality swift | fine | auto",
            ),
            ("goto a b", "are no tile; type goto X Y"),
            ("help me", "there is no command \"me\""),
        ] {
            assert!(said(line).contains(wanted), "{line}: {}", said(line));
        }
    }

    #[test]
    fn words_are_different_and_their_usage_is_understood_as_written() {
        for (place, word) in WORDS.iter().enumerate() {
            assert!(WORDS[..place].iter().all(|other| other.name != word.name));
            // A word without anything to follow must stand alone, and one with it must not be an unknown word.
            match Command::parse(word.name) {
                Ok(Some(_)) => {}
                Err(Mistake::Usage { usage, .. }) => assert!(usage.starts_with(word.name)),
                other => panic!("{}: {other:?}", word.name),
            }
        }
    }
}
