//! What typed commands do.

use std::fmt::{Display, Write as _};
use std::ops::RangeInclusive;
use std::str::FromStr;

use log::LevelFilter;
use trantor_model::control::FREQUENCY_ASKED_MAX;
use trantor_model::names::{did_you_mean, did_you_mean_or};
use trantor_model::{AdminAction, Control, Step, TeamId, Tile, lag};
use trantor_render::gpu::Quality;
use trantor_render::gpu::surface::Fault;
use trantor_time::{GameTime, Pace, Pacing, Rate, RealSpan, RealTime};

use super::{Viewer, figures};
use crate::console::{Command, LEVELS};
use crate::film::film_rate;
use crate::film::recording::{RECORD_SECONDS_MAX, Take};
use crate::input::{Action, Bindings};
use crate::intent::Intent;
use crate::logging;
use crate::settings::PANEL_SCALE;

/// Frames a second that can be aimed at: fewer are no motion, more no display shows.
const FRAMES_PER_SECOND: RangeInclusive<f64> = 1.0..=1_000.0;

impl<S> Viewer<S> {
    /// Does what `line` asks for, and answers what to say.
    ///
    /// # Errors
    /// If it means nothing or cannot be done; the text says what to type instead, where something can be.
    pub(super) fn run_command(&mut self, line: &str, now: RealTime) -> Result<String, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((name, arguments)) = words.split_first() else {
            return Ok(String::new());
        };
        let command = Command::named(name)?;
        let usage = |what: String| match what.ends_with('?') {
            true => format!("{what} type {}", command.usage),
            false => format!("{what}; type {}", command.usage),
        };
        if let Some(intent) = parse_intent(command.name, arguments, usage)? {
            return self.run_intent(intent, now);
        }
        match (command.name, arguments) {
            ("help", []) => {
                return Ok(Command::all()
                    .map(|command| format!("{}\n", command.help))
                    .collect());
            }
            ("help", [name]) => return Ok(format!("{}\n", Command::named(name)?.help)),
            ("rate", []) => return self.rates(None),
            ("rate", [system]) => return self.rates(Some(system)),
            ("rate", [system, change]) => return self.change_rate(system, change, usage),
            ("frames", [rate]) => return self.set_frame_rate(rate).map_err(usage),
            ("log", [level, target @ ..]) if target.len() < 2 => {
                let level: LevelFilter = level
                    .parse()
                    .map_err(|_| usage(format!("{level:?} is no level{}", did_you_mean(level, LEVELS))))?;
                logging::set_level(target.first().copied(), level);
                return Ok(logging::levels());
            }
            ("log", []) => return Ok(logging::levels()),
            ("lag", []) => {
                return Ok(self.state.scene().lag.as_deref().unwrap_or("off").to_owned());
            }
            ("lag", settings) => return self.set_lag(&settings.join(" "), now),
            ("values", []) => return self.list_values("", now),
            ("values", [beginning]) => return self.list_values(beginning, now),
            ("keys", []) => return Ok(self.keys(None)),
            ("keys", [action]) => return Ok(self.keys(Some(find_action(action)?))),
            ("bind", [action, keys @ ..]) if !keys.is_empty() => {
                let keys = keys.iter().map(|key| key.to_lowercase()).collect();
                return self.bind(find_action(action)?, Some(keys));
            }
            ("unbind", [action]) => return self.bind(find_action(action)?, None),
            ("scale", [factor]) => {
                let factor = within(factor, PANEL_SCALE, "a scale is a number").map_err(usage)?;
                self.state.scale_panels(factor);
            }
            ("reconnect", []) => self.state.source().reconnect()?,
            ("clear", []) => self.state.hud().console.output.clear(),
            (_, []) => return Err(usage("something is missing".to_owned())),
            (_, [first, ..]) => {
                let meant = did_you_mean(first, command.words());
                return Err(usage(format!("{first:?} does not fit here{meant}")));
            }
        }
        Ok(String::new())
    }

    /// Asks for the settings of all teams and then for those of single ones.
    fn set_lag(&mut self, settings: &str, now: RealTime) -> Result<String, String> {
        let change = lag::read_change(settings).map_err(|error| error.to_string())?;
        let teams = &self.state.scene().teams;
        let of_teams = change.teams.iter().map(|(name, lag)| {
            let team = teams.iter().position(|team| *team.name == **name);
            let meant = || did_you_mean(name, teams.iter().map(|team| &*team.name));
            let team = team.ok_or_else(|| format!("there is no team {name:?}{}", meant()))?;
            Ok(AdminAction::SetTeamLag {
                team: TeamId(team as u16),
                lag: *lag,
            })
        });
        let of_all = change.all.map(|lag| Ok(AdminAction::SetLag { lag }));
        let actions: Result<Vec<_>, String> = of_all.into_iter().chain(of_teams).collect();
        for action in actions? {
            self.run_intent(Intent::Control(Control::Act(action)), now)?;
        }
        Ok(String::new())
    }

    fn run_intent(&mut self, intent: Intent, now: RealTime) -> Result<String, String> {
        match intent {
            Intent::Do(Action::Quit) => self.quit(),
            Intent::Quality(quality) => {
                self.state.settings.quality = quality;
                self.state.settings.save();
                self.state.intend(intent, now)?;
            }
            intent => self.state.intend(intent, now)?,
        }
        Ok(String::new())
    }

    /// How often systems are called: all, or the one of that name.
    fn rates(&self, only: Option<&str>) -> Result<String, String> {
        let mut lines = String::new();
        let systems = self.schedule.systems().iter().enumerate();
        for (place, system) in systems.filter(|(_, system)| only.is_none_or(|only| only == system.name)) {
            let wanted = match system.pace() {
                None => "off".to_owned(),
                Some(Pace::Uncapped) => "uncapped: each frame".to_owned(),
                Some(Pace::At(rate)) => format!("{} a second", rate.as_per_second()),
            };
            let reached = self.rates.calls(place);
            let reached = reached.map_or_else(String::new, |rate| format!(", called {rate:.1} a second"));
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{}: {wanted}{reached}", system.name);
        }
        match (lines.is_empty(), only) {
            (true, Some(name)) => Err(self.no_such_system(name)),
            _ => Ok(lines),
        }
    }

    fn change_rate(
        &mut self,
        name: &str,
        change: &str,
        usage: impl Fn(String) -> String,
    ) -> Result<String, String> {
        let no_such_system = self.no_such_system(name);
        let system = self.schedule.system_mut(name);
        match change {
            // Without these two `on` could not be typed again.
            "off" if matches!(name, "input" | "hud") => {
                return Err(format!(
                    "without {name} nothing could be typed any more; type rate {name} 5 for a slow one"
                ));
            }
            "off" | "on" => system.ok_or(no_such_system)?.pacer.set_enabled(change == "on"),
            "grid" => system.ok_or(no_such_system)?.pacer.set_pacing(Pacing::Grid),
            "spacing" => system.ok_or(no_such_system)?.pacer.set_pacing(Pacing::Spacing),
            _ => {
                let pace = match change {
                    "uncapped" => Ok(Pace::Uncapped),
                    number => number
                        .parse()
                        .map_err(|_| format!("{number:?} is no rate"))
                        .and_then(|rate| Pace::from_setting(rate).map_err(|error| error.to_string())),
                };
                system.ok_or(no_such_system)?.pacer.set_pace(pace.map_err(usage)?);
            }
        }
        self.rates(Some(name))
    }

    fn no_such_system(&self, name: &str) -> String {
        let names: Vec<_> = self.schedule.systems().iter().map(|system| system.name).collect();
        let all = format!("there are {}", names.join(", "));
        format!(
            "there is no system {name:?}{}",
            did_you_mean_or(name, names, &all)
        )
    }

    fn set_frame_rate(&mut self, rate: &str) -> Result<String, String> {
        if rate == "auto" {
            self.fixed_rate = false;
            return Ok("as the display says, from its next frame on".to_owned());
        }
        let rate = within(rate, FRAMES_PER_SECOND, "frames a second are a number")?;
        let rate = Rate::per_second(rate).map_err(|error| error.to_string())?;
        self.fixed_rate = true;
        self.pacer.budget.set_rate(rate);
        Ok(format!("{} frames a second", rate.as_per_second()))
    }

    /// The figures of the debugging view whose names begin so.
    fn list_values(&mut self, beginning: &str, now: RealTime) -> Result<String, String> {
        let mut lines = String::new();
        for group in figures::groups(self, now) {
            for row in group.rows {
                let name = format!("{}.{}", group.title, row.name)
                    .to_lowercase()
                    .replace(' ', "-");
                if name.starts_with(beginning) {
                    let _ = writeln!(lines, "{name} {}", row.value);
                }
            }
        }
        match lines.is_empty() {
            true => Err(format!(
                "no value begins with {beginning:?}; type values for all of them"
            )),
            false => Ok(lines),
        }
    }

    fn keys(&self, only: Option<Action>) -> String {
        let line = |&action: &Action| {
            let keys: Vec<&str> = self.state.keys.bindings.keys_of(action).collect();
            format!("{}: {} — {}\n", action.name(), keys.join(" "), action.meaning())
        };
        let actions = Action::ALL
            .iter()
            .filter(|action| only.is_none_or(|only| only == **action));
        actions.map(line).collect()
    }

    /// Gives an action other keys, or its usual ones, and remembers it.
    fn bind(&mut self, action: Action, keys: Option<Vec<String>>) -> Result<String, String> {
        let mut changed = self.state.settings.keys.clone();
        match keys {
            Some(keys) => changed.insert(action, keys),
            None => changed.remove(&action),
        };
        let bindings = Bindings::with(&changed);
        // Without these keys the command line could not be opened to undo it.
        if let Some(lost) = [Action::Help, Action::Debug]
            .into_iter()
            .find(|&kept| bindings.keys_of(kept).next().is_none())
        {
            return Err(format!(
                "then {} would have no key; bind it to another first",
                lost.name()
            ));
        }
        self.state.bind(changed);
        Ok(self.keys(Some(action)))
    }
}

/// The intent of a command that a key or a panel could have as well; `None` if it is none of those.
fn parse_intent(
    name: &str,
    arguments: &[&str],
    usage: impl Fn(String) -> String,
) -> Result<Option<Intent>, String> {
    let step = |kind| Intent::Control(Control::Step(kind));
    Ok(Some(match (name, arguments) {
        ("speed", ["max"]) => Intent::Control(Control::SetFrequency(FREQUENCY_ASKED_MAX)),
        ("speed", [speed]) => {
            let speed = within(speed, 1..=FREQUENCY_ASKED_MAX, "a speed is a whole number").map_err(usage)?;
            Intent::Control(Control::SetFrequency(speed))
        }
        ("pause", []) => Intent::Control(Control::Pause),
        ("resume", []) => Intent::Control(Control::Resume),
        ("step", [] | ["unit"]) => step(Step::Units(1)),
        ("step", ["action"]) => step(Step::Action),
        ("step", ["event"]) => step(Step::Event),
        ("do", [action]) => Intent::Do(find_action(action)?),
        ("quit", []) => Intent::Do(Action::Quit),
        ("goto", [x, y]) => match (x.parse(), y.parse()) {
            (Ok(x), Ok(y)) => Intent::GoTo(Tile { x, y }),
            _ => return Err(usage(format!("{x:?} and {y:?} are no tile"))),
        },
        ("seek", [units]) => match units.parse() {
            Ok(units) => Intent::Control(Control::Seek(GameTime::from_units(units))),
            Err(_) => return Err(usage(format!("{units:?} is no number of units"))),
        },
        ("record", [span, how @ ..]) if how.len() <= 2 => Intent::Record(take(span, how).map_err(usage)?),
        ("quality", ["swift"]) => Intent::Quality(Some(Quality::Swift)),
        ("quality", ["fine"]) => Intent::Quality(Some(Quality::Fine)),
        ("quality", ["auto"]) => Intent::Quality(None),
        ("gpu", [fault]) => match Fault::named(fault) {
            Some(fault) => Intent::Gpu(fault),
            None => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

/// A number within `range`; `what` says what it is in the error.
fn within<T>(text: &str, range: RangeInclusive<T>, what: &str) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("{what} from {} to {}, not {text:?}", range.start(), range.end()))
}

/// `10`, `10 25`, `10 gif 25`: for how long, and pictures a second.
fn take(span: &str, how: &[&str]) -> Result<Take, String> {
    let rate = match how {
        [] | ["gif"] => None,
        [rate] | ["gif", rate] => Some(film_rate(rate)?),
        [other, ..] => {
            return Err(format!(
                "a recording is a gif, or what can be encoded, not {other:?}"
            ));
        }
    };
    let seconds = within(span, 0.0..=RECORD_SECONDS_MAX, "seconds are a number")?;
    Ok(Take {
        span: RealSpan::from_nanos((seconds * 1e9) as i64),
        per_second: rate.unwrap_or(Take::PER_SECOND),
        is_gif: how.first() == Some(&"gif"),
    })
}

fn find_action(name: &str) -> Result<Action, String> {
    Action::named(name).ok_or_else(|| {
        let known: Vec<String> = Action::ALL.iter().map(|action| action.name()).collect();
        let known = known.iter().map(String::as_str);
        let hint = did_you_mean_or(name, known, "type keys for all of them");
        format!("there is no action {name:?}{hint}")
    })
}
