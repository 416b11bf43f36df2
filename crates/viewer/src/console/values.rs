//! Numbers and names as people type them, within what makes sense.
//!
//! What does not is answered by what would; [`super::command`] adds how the whole line goes.

use log::LevelFilter;
use trantor_time::{Pace, Pacing, Rate, RealSpan};

use super::command::RateChange;
use crate::film::gif::film_rate;
use crate::film::recording::{Format, RECORD_SECONDS_MAX, Take};
use crate::lag::{LAG_MS_MAX, Lag};
use crate::settings::PANEL_SCALE;
use trantor_protocol::limits::TEXT_FREQUENCY_MAX;

/// Longest time that can be waited for, in seconds: a day.
pub(super) const REMIND_SECONDS_MAX: f64 = 86_400.0;

pub(super) fn frequency(text: &str) -> Result<u32, String> {
    let known = text
        .parse()
        .ok()
        .filter(|speed| (1..=TEXT_FREQUENCY_MAX).contains(speed));
    known.ok_or_else(|| format!("a speed is a whole number from 1 to {TEXT_FREQUENCY_MAX}, not {text:?}"))
}

pub(super) fn rate_change(text: &str) -> Result<RateChange, String> {
    Ok(match text {
        "uncapped" => RateChange::Pace(Pace::Uncapped),
        "off" => RateChange::Enabled(false),
        "on" => RateChange::Enabled(true),
        "grid" => RateChange::Pacing(Pacing::Grid),
        "spacing" => RateChange::Pacing(Pacing::Spacing),
        number => {
            let number: f64 = number.parse().map_err(|_| format!("{number:?} is no rate"))?;
            RateChange::Pace(Pace::from_setting(number).map_err(|error| error.to_string())?)
        }
    })
}

/// Frames that can be aimed at: fewer are no motion, more no display shows.
const FRAMES_PER_SECOND: std::ops::RangeInclusive<f64> = 1.0..=1_000.0;

pub(super) fn frame_rate(text: &str) -> Result<Rate, String> {
    let known = text.parse().ok().filter(|rate| FRAMES_PER_SECOND.contains(rate));
    let rate = known.and_then(|rate| Rate::per_second(rate).ok());
    rate.ok_or_else(|| format!("frames a second are a number from 1 to 1000, not {text:?}"))
}

pub(super) fn panel_scale(text: &str) -> Result<f32, String> {
    let known = text.parse().ok().filter(|factor| PANEL_SCALE.contains(factor));
    known.ok_or_else(|| format!("a scale is a number from 0.5 to 3, not {text:?}"))
}

pub(super) fn percent(text: &str) -> Result<u8, String> {
    let known = text
        .trim_end_matches('%')
        .parse()
        .ok()
        .filter(|percent| *percent <= 100);
    known.ok_or_else(|| format!("a volume is a whole number from 0 to 100, not {text:?}"))
}

pub(super) fn lag(latency: &str, jitter: &str) -> Result<Lag, String> {
    let ms = |text: &str| {
        let known = text.parse().ok().filter(|ms| (0..=LAG_MS_MAX).contains(ms));
        known.ok_or_else(|| format!("a lag is a number of milliseconds from 0 to {LAG_MS_MAX}, not {text:?}"))
    };
    Ok(Lag {
        latency_ms: ms(latency)?,
        jitter_ms: ms(jitter)?,
    })
}

/// `10`, `10 png`, `10 gif 25`: for how long, into what, pictures a second.
pub(super) fn take(span: &str, how: &[&str]) -> Result<Take, String> {
    let (format, rate) = match how {
        [] => (Format::Gif, None),
        [rate] if rate.starts_with(|first: char| first.is_ascii_digit()) => (Format::Gif, Some(rate)),
        [format, rate @ ..] => (picture_format(format)?, rate.first()),
    };
    let rate = rate.map(|rate| film_rate(rate)).transpose()?;
    Ok(Take {
        span: RealSpan::from_nanos((seconds(span, RECORD_SECONDS_MAX)? * 1e9) as i64),
        format,
        per_second: rate.unwrap_or(format.usual_rate()),
    })
}

fn picture_format(text: &str) -> Result<Format, String> {
    match text {
        "gif" => Ok(Format::Gif),
        "png" => Ok(Format::Png),
        _ => Err(format!("pictures are gif or png, not {text:?}")),
    }
}

pub(super) fn log_level(text: &str) -> Result<LevelFilter, String> {
    text.parse().map_err(|_| format!("{text:?} is no level"))
}

pub(super) fn seconds(text: &str, most: f64) -> Result<f64, String> {
    let known = text.parse().ok().filter(|seconds| (0.0..=most).contains(seconds));
    known.ok_or_else(|| format!("a number of seconds from 0 to {most} is expected, not {text:?}"))
}
