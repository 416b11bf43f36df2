//! Sounds of the game: broadcasts with their direction, rituals that swell, deaths, births, and the win.
//!
//! ```text
//! scene, camera ─> mixer ─> Mix ─> speaker ─> the device
//! ```
//!
//! [`mixer`] chooses the tones and is pure; [`tones`] makes the samples; `device` plays them through kira, built
//! with the feature `sound` alone. Without it, or without a device, nothing is mixed.

#[cfg(feature = "sound")]
mod device;
pub mod mixer;
pub mod tones;

use trantor_client::Scene;
use trantor_time::RealTime;

use self::mixer::{Listener, Mix, Mixer};
use crate::settings::Settings;

/// The volume at a first start, and the step of a key, in percent.
const VOLUME_PERCENT: u8 = 60;
const VOLUME_STEP_PERCENT: u8 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoundChange {
    /// In percent; unmutes.
    Volume(u8),
    Louder,
    Softer,
    Mute(bool),
    ToggleMute,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// In percent, also while it is off.
    pub percent: u8,
    pub is_muted: bool,
}

pub type Speaker = Box<dyn FnMut(&Mix)>;

pub struct Sound {
    /// Or why there is none.
    speaker: Result<Speaker, String>,
    mixer: Mixer,
    volume: Volume,
}

impl Sound {
    /// With the volume of `settings`, and silent until there is a speaker.
    pub fn new(settings: &Settings) -> Self {
        Self {
            speaker: Err("nothing plays it here".to_owned()),
            mixer: Mixer::default(),
            volume: Volume {
                percent: settings.volume_percent.unwrap_or(VOLUME_PERCENT).min(100),
                is_muted: settings.is_muted,
            },
        }
    }

    /// Opens the sound device; a failure is logged and shown to users who ask for sound.
    #[cfg(feature = "sound")]
    pub fn open_device(&mut self) {
        self.speaker =
            device::Device::open().map(|mut device| -> Speaker { Box::new(move |mix| device.play(mix)) });
        if let Err(reason) = &self.speaker {
            log::info!("there is no sound: {reason}");
        }
    }

    /// Does nothing: the program was built without sound.
    #[cfg(not(feature = "sound"))]
    pub fn open_device(&mut self) {
        self.speaker = Err("this viewer was built without it (cargo build --features sound)".to_owned());
    }

    /// Plays through `speaker` from now on.
    pub fn open(&mut self, speaker: Speaker) {
        self.speaker = Ok(speaker);
    }

    pub fn play(&mut self, scene: &Scene, listener: &Listener, now: RealTime) {
        let Ok(speaker) = &mut self.speaker else { return };
        let mut mix = self.mixer.mix(scene, listener, now);
        mix.volume = f32::from(self.volume.percent) / 100.0;
        if self.volume.is_muted {
            mix = Mix {
                is_paused: mix.is_paused,
                ..Mix::default()
            };
        }
        speaker(&mix);
    }

    /// Changes the volume, remembers it, and returns a message for the user.
    pub fn change(&mut self, change: SoundChange, settings: &mut Settings) -> String {
        let Volume { percent, is_muted } = self.volume;
        let (percent, is_muted) = match change {
            SoundChange::Volume(percent) => (percent, false),
            SoundChange::Louder => (percent + VOLUME_STEP_PERCENT, false),
            SoundChange::Softer => (percent.saturating_sub(VOLUME_STEP_PERCENT), false),
            SoundChange::Mute(is_muted) => (percent, is_muted),
            SoundChange::ToggleMute => (percent, !is_muted),
        };
        let percent = percent.min(100);
        self.volume = Volume { percent, is_muted };
        settings.volume_percent = Some(percent);
        settings.is_muted = is_muted;
        self.description()
    }

    /// The volume; `None` where there is no sound.
    pub fn volume(&self) -> Option<Volume> {
        self.speaker.is_ok().then_some(self.volume)
    }

    /// The volume as a message for the user.
    pub fn description(&self) -> String {
        let percent = self.volume.percent;
        match &self.speaker {
            Err(reason) => format!("no sound: {reason}"),
            Ok(_) if self.volume.is_muted => format!("sound off, {percent} % when it is on"),
            Ok(_) => format!("sound at {percent} %"),
        }
    }
}

impl std::fmt::Debug for Sound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sound").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_volume_is_bounded_and_remembered() {
        let mut settings = Settings::default();
        let mut sound = Sound::new(&settings);
        for (change, expected) in [
            (SoundChange::Louder, (70, false)),
            (SoundChange::ToggleMute, (70, true)),
            (SoundChange::Volume(250), (100, false)),
            (SoundChange::Louder, (100, false)),
        ] {
            let message = sound.change(change, &mut settings);
            assert!(message.starts_with("no sound: "), "{message}");
            assert_eq!((settings.volume_percent.unwrap(), settings.is_muted), expected);
        }
    }
}
