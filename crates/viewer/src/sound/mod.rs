//! Sounds of the game: broadcasts with their direction, rituals that swell, deaths, births, and the win.
//!
//! ```text
//! scene, camera ─> mixer ─> voices ─> speaker ─> the device
//! ```
//!
//! [`mixer`] decides what sounds when and is pure; [`tones`] makes the samples; `device` is a thin shell around kira, built
//! with the feature `sound` alone. Without it, or without a device, nothing is mixed.

#[cfg(feature = "sound")]
mod device;
pub mod mixer;
pub mod tones;

use trantor_client::Scene;
use trantor_time::RealTime;

use self::mixer::{LOOPS_MAX, Listener, Mixer, Voice};
use crate::settings::Settings;

/// The volume at a first start, and the step of a key, in percent.
const VOLUME_PERCENT: u8 = 60;
const VOLUME_STEP_PERCENT: u8 = 10;

/// What plays tones.
pub trait Speaker: std::fmt::Debug {
    /// Begins a tone.
    fn play(&mut self, voice: &Voice);
    /// Sets how each ritual sounds from now on.
    fn set_loops(&mut self, loops: &[Option<Voice>; LOOPS_MAX]);
    /// Pauses or resumes all voices.
    fn set_paused(&mut self, is_paused: bool);
    /// Sets the volume, 0 to 1.
    fn set_volume(&mut self, volume: f32);
}

/// A change of the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoundChange {
    /// To so many percent, and on.
    Volume(u8),
    /// A step louder.
    Louder,
    /// A step softer.
    Softer,
    /// Off or on.
    Mute(bool),
    /// From off to on, or back.
    ToggleMute,
}

/// The volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// In percent, also while it is off.
    pub percent: u8,
    /// Whether it is off.
    pub is_muted: bool,
}

/// The sound of a viewer.
#[derive(Debug)]
pub struct Sound {
    /// Or why there is none.
    speaker: Result<Box<dyn Speaker>, String>,
    mixer: Mixer,
    volume: Volume,
    is_paused: bool,
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
            is_paused: false,
        }
    }

    /// Opens the sound device; a failure is logged and shown to users who ask for sound.
    #[cfg(feature = "sound")]
    pub fn open_device(&mut self) {
        match device::open() {
            Ok(speaker) => self.open(Box::new(speaker)),
            Err(reason) => {
                log::info!("there is no sound: {reason}");
                self.speaker = Err(reason);
            }
        }
    }

    /// Does nothing: the program was built without sound.
    #[cfg(not(feature = "sound"))]
    pub fn open_device(&mut self) {
        self.speaker = Err("this viewer was built without it (cargo build --features sound)".to_owned());
    }

    /// Plays through `speaker` from now on.
    pub fn open(&mut self, speaker: Box<dyn Speaker>) {
        self.speaker = Ok(speaker);
        self.apply_volume();
    }

    /// Plays what began with `scene`.
    pub fn play(&mut self, scene: &Scene, listener: &Listener, now: RealTime) {
        let Ok(speaker) = &mut self.speaker else { return };
        let (voices, loops) = self.mixer.mix(scene, listener, now);
        if self.is_paused != scene.clock.paused {
            self.is_paused = scene.clock.paused;
            speaker.set_paused(self.is_paused);
        }
        if !self.volume.is_muted {
            voices.iter().for_each(|voice| speaker.play(voice));
            speaker.set_loops(&loops);
        }
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
        self.apply_volume();
        settings.volume_percent = Some(percent);
        settings.is_muted = is_muted;
        self.words()
    }

    /// The volume; `None` where there is no sound.
    pub fn volume(&self) -> Option<Volume> {
        self.speaker.is_ok().then_some(self.volume)
    }

    /// The volume in words.
    pub fn words(&self) -> String {
        let percent = self.volume.percent;
        match &self.speaker {
            Err(reason) => format!("no sound: {reason}"),
            Ok(_) if self.volume.is_muted => format!("sound off, {percent} % when it is on"),
            Ok(_) => format!("sound at {percent} %"),
        }
    }

    fn apply_volume(&mut self) {
        let Volume { percent, is_muted } = self.volume;
        if let Ok(speaker) = &mut self.speaker {
            speaker.set_volume(if is_muted { 0.0 } else { f32::from(percent) / 100.0 });
        }
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
            let words = sound.change(change, &mut settings);
            assert!(words.starts_with("no sound: "), "{words}");
            assert_eq!((settings.volume_percent.unwrap(), settings.is_muted), expected);
        }
    }
}
