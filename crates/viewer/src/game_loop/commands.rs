//! What typed commands do (R-001-51): the switches of the loop, of the connection and of the game in one hand.

use std::fmt::Write as _;

use trantor_client::ControlRequest;
use trantor_runtime::frames::FramePacer;
use trantor_runtime::listeners::TimerServer;
use trantor_runtime::publish::Published;
use trantor_runtime::systems::{SystemCall, SystemControl};
use trantor_time::{Due, GameTime, Pace, Rate, RealSpan, RealTime};

use super::figures::timer_name;
use super::{Listener, Viewer};
use crate::console::{Command, RateChange, Vocabulary, WORDS, Word, usage_of};
use crate::input::{Action, Bindings};
use crate::logging;
use crate::settings::Settings;
use crate::sound::Sound;
use crate::stage::{Outside, Stage};

/// What commands move.
#[derive(Debug)]
pub struct Levers<'a> {
    stage: &'a mut Stage,
    control: &'a mut SystemControl,
    pacer: &'a mut FramePacer,
    /// A frequency that no display changes.
    fixed_rate: &'a mut bool,
    timers: &'a TimerServer<Listener>,
    published: &'a Published,
    settings: &'a mut Settings,
    sound: &'a mut Sound,
    now: RealTime,
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

/// Does what `line` asks for, and answers what to say.
///
/// # Errors
/// If it means nothing or cannot be done; the text says what to type instead, where something can be.
pub fn run(line: &str, levers: &mut Levers<'_>) -> Result<String, String> {
    let command = Command::parse(line).map_err(|mistake| mistake.to_string())?;
    let Some(command) = command else {
        return Ok(String::new());
    };
    match command {
        Command::Help(None) => return Ok(WORDS.iter().map(help_line).collect()),
        Command::Help(Some(word)) => return Ok(help_line(word)),
        Command::Speed(frequency) => levers.request(ControlRequest::SetFrequency(frequency))?,
        Command::Pause => levers.request(ControlRequest::Pause)?,
        Command::Resume => levers.request(ControlRequest::Resume)?,
        Command::Step(step) => levers.request(ControlRequest::Step(step))?,
        Command::Rates(system) => return levers.rates(system.as_deref()),
        Command::Rate(system, change) => return levers.change_rate(&system, change),
        Command::Frames(rate) => return Ok(levers.aim_at(rate)),
        Command::Lags => return Ok(levers.lag_words()),
        Command::Lag(lag) => {
            levers.stage.source().set_lag(lag)?;
            return Ok(levers.lag_words());
        }
        Command::Levels => return Ok(logging::levels()),
        Command::Log(level, target) => {
            logging::set_level(target.as_deref(), level);
            return Ok(logging::levels());
        }
        Command::Values(beginning) => return levers.values(&beginning),
        Command::Timers => return Ok(levers.list_timers()),
        Command::Remind(seconds, text) => return levers.remind(seconds, text),
        Command::Cancel(number) => return levers.cancel(number),
        Command::Keys(action) => return Ok(levers.keys(action)),
        Command::Bind(action, keys) => return levers.bind(action, Some(keys)),
        Command::Unbind(action) => return levers.bind(action, None),
        Command::Do(action) => levers.stage.act(action, levers.now),
        Command::Goto(x, y) => levers.stage.go_to(x, y)?,
        Command::Seek(units) => levers.stage.source().seek(GameTime::from_units(units))?,
        Command::Record(take) => levers.stage.ask_outside(Outside::Record(take)),
        Command::LoseDevice => levers.stage.ask_outside(Outside::LoseDevice),
        Command::Scale(factor) => {
            levers.stage.hud().scale = factor;
            levers.settings.scale = Some(factor);
            levers.settings.save();
        }
        Command::Volume(None) => return Ok(levers.sound.words()),
        Command::Volume(Some(change)) => {
            let said = levers.sound.change(change, levers.settings);
            levers.settings.save();
            return Ok(said);
        }
        Command::Reconnect => levers.stage.source().reconnect()?,
        Command::Clear => levers.stage.hud().console.clear(),
        Command::Quit => levers.control.request_shutdown(),
    }
    Ok(String::new())
}

fn span(seconds: f64) -> RealSpan {
    RealSpan::from_nanos((seconds * 1e9) as i64)
}

fn help_line(word: &Word) -> String {
    format!("{} — {}\n", usage_of(word), word.does)
}

impl Levers<'_> {
    fn request(&mut self, request: ControlRequest) -> Result<(), String> {
        self.stage.source().request(request, self.now)
    }

    fn rates(&self, only: Option<&str>) -> Result<String, String> {
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

    fn change_rate(&mut self, system: &str, change: RateChange) -> Result<String, String> {
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

    fn no_such_system(&self, name: &str) -> String {
        let names: Vec<_> = self.control.names().collect();
        format!("there is no system {name:?}; there are {}", names.join(", "))
    }

    fn aim_at(&mut self, rate: Option<Rate>) -> String {
        *self.fixed_rate = rate.is_some();
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

    fn values(&self, beginning: &str) -> Result<String, String> {
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

    fn list_timers(&self) -> String {
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

    fn remind(&mut self, seconds: f64, text: String) -> Result<String, String> {
        let asked = self
            .timers
            .request(Listener::Reminder(text), span(seconds), self.now);
        let number = asked.map_err(|refused| refused.to_string())?;
        Ok(format!("timer #{}", number.get()))
    }

    fn cancel(&mut self, number: u64) -> Result<String, String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Demo, DemoScene};
    use crate::source::Source;
    use crate::stage::StageOptions;
    use trantor_runtime::frames::target_rate;
    use trantor_runtime::systems::SystemSpec;
    use trantor_runtime::systems::Systems;
    use winit::keyboard::Key;

    /// All that a command may move, with nothing around it.
    struct Bench {
        stage: Stage,
        systems: Systems<()>,
        pacer: FramePacer,
        fixed_rate: bool,
        timers: TimerServer<Listener>,
        published: Published,
        settings: Settings,
        sound: Sound,
        now: RealTime,
    }

    impl Bench {
        fn new() -> Self {
            let now = RealTime::ZERO;
            let mut stage = Stage::new(
                Source::demo(Demo::new(DemoScene::Overview)),
                StageOptions::default(),
            );
            stage.update(None, now);
            Self {
                stage,
                systems: ["input", "hud", "statistics"]
                    .into_iter()
                    .fold(Systems::new(now), |systems, name| {
                        systems.add(SystemSpec::new(name, Pace::Uncapped), |(), _| Ok(()))
                    }),
                pacer: FramePacer::new(target_rate([]), now),
                fixed_rate: false,
                timers: TimerServer::new(4),
                published: Published::new(),
                settings: Settings::default(),
                sound: Sound::new(&Settings::default()),
                now,
            }
        }

        fn run(&mut self, line: &str) -> Result<String, String> {
            let mut levers = Levers {
                stage: &mut self.stage,
                control: self.systems.control(),
                pacer: &mut self.pacer,
                fixed_rate: &mut self.fixed_rate,
                timers: &self.timers,
                published: &self.published,
                settings: &mut self.settings,
                sound: &mut self.sound,
                now: self.now,
            };
            run(line, &mut levers)
        }

        fn said(&mut self, line: &str) -> String {
            self.run(line)
                .unwrap_or_else(|mistake| panic!("{line}: {mistake}"))
        }

        fn clock(&mut self) -> trantor_client::SceneClock {
            self.stage.update(Some(RealSpan::ZERO), self.now);
            self.stage.scene().clock
        }
    }

    #[test]
    fn r_001_51_speed_pause_and_step_reach_the_game() {
        let mut bench = Bench::new();
        bench.said("speed 250");
        bench.said("pause");
        assert_eq!((bench.clock().frequency, bench.clock().paused), (250, true));
        let before = bench.clock().game.whole_units();
        bench.said("step unit");
        assert_eq!(bench.clock().game.whole_units(), before + 1);
        bench.said("resume");
        assert!(!bench.clock().paused);
    }

    #[test]
    fn r_001_51_rates_of_systems_and_frames_are_changed() {
        let mut bench = Bench::new();
        assert_eq!(bench.said("rate hud 10"), "hud: 10 a second\n");
        assert_eq!(
            bench.systems.control().pace_of("hud"),
            Some(Pace::from_setting(10.0).unwrap())
        );
        assert_eq!(bench.said("rate statistics off"), "statistics: off\n");
        assert_eq!(bench.said("rate").lines().count(), 3);
        assert!(bench.run("rate hud off").unwrap_err().contains("type rate hud 5"));
        assert!(
            bench
                .run("rate noise 5")
                .unwrap_err()
                .contains("there are input, hud, statistics")
        );
        bench.said("frames 30");
        assert_eq!(
            (bench.pacer.target().as_per_second(), bench.fixed_rate),
            (30.0, true)
        );
        bench.said("frames auto");
        assert!(!bench.fixed_rate);
    }

    #[test]
    fn r_001_51_timers_are_listed_and_cancelled() {
        let mut bench = Bench::new();
        assert_eq!(bench.said("timers"), "nothing is waited for");
        assert_eq!(bench.said("remind 90 look north"), "timer #0");
        assert_eq!(bench.said("timers"), "#0 “look north” in 90.0 s\n");
        assert!(bench.run("cancel 7").unwrap_err().contains("type timers"));
        assert!(bench.said("cancel #0").contains("is cancelled"));
        assert!(bench.timers.is_empty());
        for _ in 0..4 {
            bench.said("remind 1 x");
        }
        assert_eq!(
            bench.run("remind 1 x").unwrap_err(),
            "too many timers are requested"
        );
    }

    #[test]
    fn r_001_51_a_lag_needs_a_connection() {
        let mut bench = Bench::new();
        assert_eq!(bench.said("lag"), "no lag on purpose");
        assert!(bench.run("lag 100 20").unwrap_err().contains("connection"));
    }

    #[test]
    fn r_001_55_keys_are_changed_remembered_and_never_all_lost() {
        let mut bench = Bench::new();
        let pressed = |bench: &Bench, key: &str| bench.stage.bindings().action(&Key::Character(key.into()));
        bench.said("bind pause p");
        assert_eq!(pressed(&bench, "p"), Some(Action::Pause));
        assert_eq!(bench.settings.keys[&Action::Pause], ["p"]);
        assert_eq!(bench.said("keys pause"), "pause: p — pause, go on\n");
        bench.said("unbind pause");
        assert_eq!(pressed(&bench, "p"), None);
        assert!(bench.settings.keys.is_empty());
        let refused = bench.run("bind overview f3").unwrap_err();
        assert!(refused.contains("debug would have no key"), "{refused}");
    }

    #[test]
    fn help_names_every_command_and_values_are_listed_by_their_beginning() {
        let mut bench = Bench::new();
        assert_eq!(bench.said("help").lines().count(), WORDS.len());
        assert_eq!(
            bench.said("help step"),
            "step [unit | event | action] — while paused: one unit on, to the next event, or to the end of an action\n"
        );
        bench.published.set("loop.passes_count", 3.0);
        bench.published.set("frame.took_p50_ms", 1.25);
        assert_eq!(bench.said("values loop"), "loop.passes_count 3.000\n");
        assert!(bench.run("values x").is_err());
        bench.said("quit");
        assert!(bench.systems.control().is_shutdown_requested());
    }
}
