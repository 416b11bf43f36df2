//! What a command can move, and the larger movements.

use std::fmt::Write as _;

use trantor_client::ControlRequest;
use trantor_runtime::frames::FramePacer;
use trantor_runtime::listeners::TimerServer;
use trantor_runtime::publish::Published;
use trantor_runtime::systems::{SystemCall, SystemControl};
use trantor_time::{Due, Pace, Rate, RealSpan, RealTime};

use crate::console::{RateChange, Vocabulary};
use crate::game_loop::figures::timer_name;
use crate::game_loop::{Listener, Viewer};
use crate::input::{Action, Bindings};
use crate::settings::Settings;
use crate::sound::Sound;
use crate::stage::Stage;

/// What commands move.
#[derive(Debug)]
pub struct Levers<'a> {
    pub(super) stage: &'a mut Stage,
    pub(super) control: &'a mut SystemControl,
    pub(super) pacer: &'a mut FramePacer,
    /// A frequency that no display changes.
    pub(super) fixed_rate: &'a mut bool,
    pub(super) timers: &'a TimerServer<Listener>,
    pub(super) published: &'a Published,
    pub(super) settings: &'a mut Settings,
    pub(super) sound: &'a mut Sound,
    pub(super) now: RealTime,
}

impl<'a> Levers<'a> {
    /// Those of a viewer, while one of its systems is called.
    pub fn of<S>(viewer: &'a mut Viewer<S>, call: &'a mut SystemCall<'_>) -> Self {
        Self {
            stage: &mut viewer.stage,
            control: call.control,
            pacer: &mut viewer.pacer,
            fixed_rate: &mut viewer.fixed_rate,
            timers: &viewer.timers,
            published: &viewer.published,
            settings: &mut viewer.settings,
            sound: &mut viewer.sound,
            now: call.now,
        }
    }

    /// The names that completion should know now.
    pub fn vocabulary(&self) -> Vocabulary {
        Vocabulary {
            systems: self.control.names().collect(),
            timers: self
                .timers
                .pending()
                .iter()
                .map(|(number, ..)| number.get())
                .collect(),
            values: self.published.iter().map(|(name, _)| name.to_owned()).collect(),
        }
    }
}

impl Levers<'_> {
    pub(super) fn request(&mut self, request: ControlRequest) -> Result<(), String> {
        self.stage.source().request(request, self.now)
    }

    pub(super) fn rates(&self, only: Option<&str>) -> Result<String, String> {
        let mut lines = String::new();
        for name in self
            .control
            .names()
            .filter(|name| only.is_none_or(|only| only == *name))
        {
            let wanted = match (self.control.due_of(name), self.control.pace_of(name)) {
                (Some(Due::Never), _) | (_, None) => "off".to_owned(),
                (_, Some(Pace::Uncapped)) => "uncapped: each frame".to_owned(),
                (_, Some(Pace::At(rate))) => format!("{} a second", rate.as_per_second()),
            };
            let reached = self.published.get(&format!("system.{name}.calls_per_second"));
            let reached = reached.map_or_else(String::new, |rate| format!(", called {rate:.1} a second"));
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{name}: {wanted}{reached}");
        }
        match (lines.is_empty(), only) {
            (true, Some(name)) => Err(self.no_such_system(name)),
            _ => Ok(lines),
        }
    }

    pub(super) fn change_rate(&mut self, system: &str, change: RateChange) -> Result<String, String> {
        let is_known = match change {
            RateChange::Pace(pace) => self.control.set_pace(system, pace),
            RateChange::Pacing(pacing) => self.control.set_pacing(system, pacing),
            RateChange::Enabled(is_enabled) => {
                // Without these two nobody could type `on` again.
                if !is_enabled && matches!(system, "input" | "hud") {
                    return Err(format!(
                        "without {system} nothing could be typed any more; type rate {system} 5 for a slow one"
                    ));
                }
                self.control.set_enabled(system, is_enabled)
            }
        };
        if !is_known {
            return Err(self.no_such_system(system));
        }
        self.rates(Some(system))
    }

    pub(super) fn no_such_system(&self, name: &str) -> String {
        let names: Vec<_> = self.control.names().collect();
        format!("there is no system {name:?}; there are {}", names.join(", "))
    }

    pub(super) fn aim_at(&mut self, rate: Option<Rate>) -> String {
        *self.fixed_rate = rate.is_some();
        let Some(rate) = rate else {
            return "as the display says, from its next frame on".to_owned();
        };
        self.pacer.set_target(rate);
        format!("{} frames a second", rate.as_per_second())
    }

    pub(super) fn lag_words(&mut self) -> String {
        let lag = self.stage.source().lag();
        lag.map_or_else(|| "no lag on purpose".to_owned(), |lag| lag.words())
    }

    pub(super) fn values(&self, beginning: &str) -> Result<String, String> {
        let mut lines = String::new();
        for (name, value) in self
            .published
            .iter()
            .filter(|(name, _)| name.starts_with(beginning))
        {
            let _ = writeln!(lines, "{name} {value:.3}");
        }
        match lines.is_empty() {
            true => Err(format!(
                "no value begins with {beginning:?}; type values for all of them"
            )),
            false => Ok(lines),
        }
    }

    pub(super) fn list_timers(&self) -> String {
        let pending = self.timers.pending();
        if pending.is_empty() {
            return "nothing is waited for".to_owned();
        }
        let line =
            |(number, at, listener): &(trantor_runtime::listeners::TimerNumber, RealTime, Listener)| {
                let seconds = (*at - self.now).max(RealSpan::ZERO).as_secs_f64();
                format!("{} in {seconds:.1} s\n", timer_name(number.get(), listener))
            };
        pending.iter().map(line).collect()
    }

    pub(super) fn remind(&mut self, seconds: f64, text: String) -> Result<String, String> {
        let asked = self
            .timers
            .request(Listener::Reminder(text), span(seconds), self.now);
        let number = asked.map_err(|refused| refused.to_string())?;
        Ok(format!("timer #{}", number.get()))
    }

    pub(super) fn cancel(&mut self, number: u64) -> Result<String, String> {
        let pending = self.timers.pending();
        let found = pending.iter().find(|(known, ..)| known.get() == number);
        let Some((number, _, listener)) = found else {
            return Err(format!(
                "there is no timer #{number}; type timers for all of them"
            ));
        };
        self.timers.cancel(*number);
        Ok(format!("{} is cancelled", timer_name(number.get(), listener)))
    }

    pub(super) fn keys(&self, only: Option<Action>) -> String {
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
    pub(super) fn bind(&mut self, action: Action, keys: Option<Vec<String>>) -> Result<String, String> {
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

fn span(seconds: f64) -> RealSpan {
    RealSpan::from_nanos((seconds * 1e9) as i64)
}
