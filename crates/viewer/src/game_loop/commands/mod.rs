//! What typed commands do: the switches of the loop, of the connection and of the game in one hand.

mod levers;

use trantor_client::ControlRequest;
use trantor_time::GameTime;

use crate::console::{Command, WORDS, Word, usage_of};
use crate::logging;
use crate::stage::Outside;

pub use levers::Levers;

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
        Command::Gpu(forced) => levers.stage.ask_outside(Outside::Gpu(forced)),
        Command::Scale(factor) => {
            levers.stage.hud().scale = factor;
            levers.settings.scale = Some(factor);
            levers.settings.save();
        }
        Command::Quality(quality) => {
            levers.settings.quality = quality;
            levers.settings.save();
            levers.stage.ask_outside(Outside::Quality(quality));
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

fn help_line(word: &Word) -> String {
    format!("{} — {}\n", usage_of(word), word.does)
}

#[cfg(test)]
mod tests;
