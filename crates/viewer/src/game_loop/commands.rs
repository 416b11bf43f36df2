//! What typed commands do.

use std::fmt::Write as _;

use trantor_time::{Pace, Rate, RealSpan, RealTime};

use super::Viewer;
use super::timers::{Purpose, Timer};
use crate::console::{Command, RateChange, Vocabulary, WORDS, Word, usage_of};
use crate::input::{Action, Bindings};
use crate::intent::Intent;
use crate::logging;

impl<S> Viewer<S> {
    /// Does what `line` asks for, and answers what to say.
    ///
    /// # Errors
    /// If it means nothing or cannot be done; the text says what to type instead, where something can be.
    pub(super) fn run_command(&mut self, line: &str, now: RealTime) -> Result<String, String> {
        let command = Command::parse(line).map_err(|mistake| mistake.to_string())?;
        let Some(command) = command else {
            return Ok(String::new());
        };
        match command {
            Command::Help(None) => return Ok(WORDS.iter().map(help_line).collect()),
            Command::Help(Some(word)) => return Ok(help_line(word)),
            Command::Rates(system) => return self.rates(system.as_deref()),
            Command::Rate(system, change) => return self.change_rate(&system, change),
            Command::Frames(rate) => return Ok(self.aim_at(rate)),
            Command::Lags => return Ok(self.lag_words()),
            Command::Lag(lag) => {
                self.stage.source().set_lag(lag)?;
                return Ok(self.lag_words());
            }
            Command::Levels => return Ok(logging::levels()),
            Command::Log(level, target) => {
                logging::set_level(target.as_deref(), level);
                return Ok(logging::levels());
            }
            Command::Values(beginning) => return self.list_values(&beginning),
            Command::Timers => return Ok(self.list_timers(now)),
            Command::Remind(seconds, text) => return self.remind(seconds, text, now),
            Command::Cancel(number) => return self.cancel(number),
            Command::Keys(action) => return Ok(self.keys(action)),
            Command::Bind(action, keys) => return self.bind(action, Some(keys)),
            Command::Unbind(action) => return self.bind(action, None),
            Command::Scale(factor) => {
                self.stage.hud().scale = factor;
                self.settings.scale = Some(factor);
                self.settings.save();
            }
            Command::Intent(Intent::Do(Action::Quit)) => self.quit(),
            Command::Intent(Intent::Quality(quality)) => {
                self.settings.quality = quality;
                self.settings.save();
                self.stage.intend(Intent::Quality(quality), now)?;
            }
            Command::Intent(Intent::Sound(change)) => {
                let said = self.sound.change(change, &mut self.settings);
                self.settings.save();
                return Ok(said);
            }
            Command::Intent(intent) => self.stage.intend(intent, now)?,
            Command::Volume => return Ok(self.sound.words()),
            Command::Reconnect => self.stage.source().reconnect()?,
            Command::Clear => self.stage.hud().console.clear(),
        }
        Ok(String::new())
    }

    /// The names that completion should know now.
    pub(super) fn vocabulary(&self) -> Vocabulary {
        Vocabulary {
            systems: self.schedule.systems().iter().map(|system| system.name).collect(),
            timers: self.timers.running().iter().map(|timer| timer.number).collect(),
            values: self.values.by_name.keys().map(|name| name.to_string()).collect(),
        }
    }

    /// How often systems are called: all, or the one of that name.
    fn rates(&self, only: Option<&str>) -> Result<String, String> {
        let mut lines = String::new();
        let systems = self.schedule.systems().iter();
        for system in systems.filter(|system| only.is_none_or(|only| only == system.name)) {
            let wanted = match system.pace() {
                None => "off".to_owned(),
                Some(Pace::Uncapped) => "uncapped: each frame".to_owned(),
                Some(Pace::At(rate)) => format!("{} a second", rate.as_per_second()),
            };
            let reached = self.values.calls_per_second(system.name);
            let reached = reached.map_or_else(String::new, |rate| format!(", called {rate:.1} a second"));
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{}: {wanted}{reached}", system.name);
        }
        match (lines.is_empty(), only) {
            (true, Some(name)) => Err(self.no_such_system(name)),
            _ => Ok(lines),
        }
    }

    fn change_rate(&mut self, name: &str, change: RateChange) -> Result<String, String> {
        let Some(system) = self.schedule.system_mut(name) else {
            return Err(self.no_such_system(name));
        };
        match change {
            RateChange::Pace(pace) => system.set_pace(pace),
            RateChange::Pacing(pacing) => system.set_pacing(pacing),
            // Without these two nobody could type `on` again.
            RateChange::Enabled(false) if matches!(name, "input" | "hud") => {
                return Err(format!(
                    "without {name} nothing could be typed any more; type rate {name} 5 for a slow one"
                ));
            }
            RateChange::Enabled(is_enabled) => system.set_enabled(is_enabled),
        }
        self.rates(Some(name))
    }

    fn no_such_system(&self, name: &str) -> String {
        let names: Vec<_> = self.schedule.systems().iter().map(|system| system.name).collect();
        format!("there is no system {name:?}; there are {}", names.join(", "))
    }

    fn aim_at(&mut self, rate: Option<Rate>) -> String {
        self.fixed_rate = rate.is_some();
        let Some(rate) = rate else {
            return "as the display says, from its next frame on".to_owned();
        };
        self.pacer.set_target(rate);
        format!("{} frames a second", rate.as_per_second())
    }

    fn lag_words(&mut self) -> String {
        let lag = self.stage.source().lag();
        lag.map_or_else(|| "no lag on purpose".to_owned(), |lag| lag.words())
    }

    fn list_values(&self, beginning: &str) -> Result<String, String> {
        let mut lines = String::new();
        let values = self.values.by_name.iter();
        for (name, value) in values.filter(|(name, _)| name.starts_with(beginning)) {
            let _ = writeln!(lines, "{name} {value:.3}");
        }
        match lines.is_empty() {
            true => Err(format!(
                "no value begins with {beginning:?}; type values for all of them"
            )),
            false => Ok(lines),
        }
    }

    fn list_timers(&self, now: RealTime) -> String {
        let running = self.timers.running();
        if running.is_empty() {
            return "nothing is waited for".to_owned();
        }
        let line = |timer: &Timer| {
            let seconds = (timer.at - now).max(RealSpan::ZERO).as_secs_f64();
            format!("{} in {seconds:.1} s\n", timer.title())
        };
        running.iter().map(line).collect()
    }

    fn remind(&mut self, seconds: f64, text: String, now: RealTime) -> Result<String, String> {
        let after = RealSpan::from_nanos((seconds * 1e9) as i64);
        let number = self.timers.start(Purpose::Reminder(text), after, now);
        let number = number.ok_or("too many timers are requested")?;
        Ok(format!("timer #{number}"))
    }

    fn cancel(&mut self, number: u64) -> Result<String, String> {
        let timer = self.timers.cancel(number);
        let timer =
            timer.ok_or_else(|| format!("there is no timer #{number}; type timers for all of them"))?;
        Ok(format!("{} is cancelled", timer.title()))
    }

    fn keys(&self, only: Option<Action>) -> String {
        let line = |&action: &Action| {
            let keys: Vec<&str> = self.stage.bindings().keys_of(action).collect();
            format!("{}: {} — {}\n", action.name(), keys.join(" "), action.meaning())
        };
        let actions = Action::ALL
            .iter()
            .filter(|action| only.is_none_or(|only| only == **action));
        actions.map(line).collect()
    }

    /// Gives an action other keys, or its usual ones, and remembers it.
    fn bind(&mut self, action: Action, keys: Option<Vec<String>>) -> Result<String, String> {
        let mut changed = self.settings.keys.clone();
        match keys {
            Some(keys) => changed.insert(action, keys),
            None => changed.remove(&action),
        };
        let bindings = Bindings::with(&changed);
        // A viewer that cannot be told anything any more would have to be mended with an editor.
        if let Some(lost) = [Action::Help, Action::Debug]
            .into_iter()
            .find(|&kept| bindings.keys_of(kept).next().is_none())
        {
            return Err(format!(
                "then {} would have no key; bind it to another first",
                lost.name()
            ));
        }
        self.settings.keys = changed;
        self.settings.save();
        self.stage.set_bindings(bindings);
        Ok(self.keys(Some(action)))
    }
}

fn help_line(word: &Word) -> String {
    format!("{} — {}\n", usage_of(word), word.does)
}

#[cfg(test)]
mod tests;
