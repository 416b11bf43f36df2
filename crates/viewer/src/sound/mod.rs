//! Sounds of the game: broadcasts with their direction, rituals that swell, deaths, births, and the win.
//!
//! ```text
//! scene, camera ─> hearing ─> cues, hums ─> a speaker ─> the device
//! ```
//!
//! [`hearing`] decides what sounds when and is the same on a manual clock; [`tones`] makes the samples; `device` is a thin
//! shell around kira, built with the feature `sound` alone. Without it, or without a device, all this is silent
//! and costs nothing: nothing listens.

#[cfg(feature = "sound")]
mod device;
pub mod hearing;
pub mod tones;

use trantor_client::Scene;
use trantor_time::RealTime;

use self::hearing::{Cue, Ear, HUMS_MAX, Hearing, Hum};
use crate::settings::Settings;

/// How loud, unless somebody said otherwise, in percent.
const VOLUME_PERCENT: u8 = 60;
/// By how much a key changes that.
const VOLUME_STEP_PERCENT: u8 = 10;

/// What plays tones.
pub trait Speaker: std::fmt::Debug {
    /// Begins a tone.
    fn play(&mut self, cue: &Cue);
    /// How the rituals sound from now on; told in each frame.
    fn hum(&mut self, hums: &[Hum; HUMS_MAX]);
    /// Holds everything that sounds, or lets it go on.
    fn set_paused(&mut self, is_paused: bool);
    /// How loud all of it is, `0.0..=1.0`.
    fn set_volume(&mut self, volume: f32);
}

/// What a person asks of the sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoundChange {
    /// As loud as this, in percent, and to be heard.
    Volume(u8),
    /// A step louder.
    Louder,
    /// A step softer.
    Softer,
    /// Silent, or to be heard again.
    Mute(bool),
    /// The other one of these.
    ToggleMute,
}

/// How loud it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// In percent, also while it is off.
    pub percent: u8,
    /// Whether it is off.
    pub is_muted: bool,
}

/// The sounds of one viewer.
#[derive(Debug)]
pub struct Sound {
    /// Or why there is none.
    speaker: Result<Box<dyn Speaker>, String>,
    hearing: Hearing,
    cues: Vec<Cue>,
    hums: [Hum; HUMS_MAX],
    volume_percent: u8,
    is_muted: bool,
    is_paused: bool,
}

impl Sound {
    /// As it was left, and silent until there is a speaker.
    pub fn new(settings: &Settings) -> Self {
        Self {
            speaker: Err("nothing plays it here".to_owned()),
            hearing: Hearing::default(),
            cues: Vec::with_capacity(hearing::VOICES_PER_SECOND_MAX),
            hums: Default::default(),
            volume_percent: settings.volume_percent.unwrap_or(VOLUME_PERCENT).min(100),
            is_muted: settings.is_muted,
            is_paused: false,
        }
    }

    /// Opens the machine's sound device; without one, the reason is logged and told to whoever asks.
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

    /// Nothing to open: the program was built without sound.
    #[cfg(not(feature = "sound"))]
    pub fn open_device(&mut self) {
        self.speaker = Err("this viewer was built without it (cargo build --features sound)".to_owned());
    }

    /// Plays through this from now on.
    pub fn open(&mut self, speaker: Box<dyn Speaker>) {
        self.speaker = Ok(speaker);
        self.tell_volume();
    }

    /// Plays what began with `scene`, as heard by `ear`.
    pub fn play(&mut self, scene: &Scene, ear: &Ear, now: RealTime) {
        let Ok(speaker) = &mut self.speaker else { return };
        self.hearing
            .listen(scene, ear, now, &mut self.cues, &mut self.hums);
        if self.is_paused != scene.clock.paused {
            self.is_paused = scene.clock.paused;
            speaker.set_paused(self.is_paused);
        }
        if self.is_muted {
            return;
        }
        self.cues.iter().for_each(|cue| speaker.play(cue));
        speaker.hum(&self.hums);
    }

    /// Does as asked, notes it, and answers what the user should read.
    pub fn change(&mut self, change: SoundChange, settings: &mut Settings) -> String {
        let volume = self.volume_percent;
        match change {
            SoundChange::Volume(percent) => self.set(percent),
            SoundChange::Louder => self.set(volume + VOLUME_STEP_PERCENT),
            SoundChange::Softer => self.set(volume.saturating_sub(VOLUME_STEP_PERCENT)),
            SoundChange::Mute(is_muted) => self.is_muted = is_muted,
            SoundChange::ToggleMute => self.is_muted = !self.is_muted,
        }
        self.tell_volume();
        settings.volume_percent = Some(self.volume_percent);
        settings.is_muted = self.is_muted;
        self.words()
    }

    /// How loud it is; `None` where nothing plays it.
    pub fn volume(&self) -> Option<Volume> {
        self.speaker.is_ok().then_some(Volume {
            percent: self.volume_percent,
            is_muted: self.is_muted,
        })
    }

    /// How it stands, in words.
    pub fn words(&self) -> String {
        match (&self.speaker, self.is_muted) {
            (Err(reason), _) => format!("no sound: {reason}"),
            (Ok(_), true) => format!("sound off, {} % when it is on", self.volume_percent),
            (Ok(_), false) => format!("sound at {} %", self.volume_percent),
        }
    }

    fn set(&mut self, percent: u8) {
        self.volume_percent = percent.min(100);
        self.is_muted = false;
    }

    fn tell_volume(&mut self) {
        let percent = if self.is_muted { 0 } else { self.volume_percent };
        if let Ok(speaker) = &mut self.speaker {
            speaker.set_volume(f32::from(percent) / 100.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_and_silence_are_remembered_and_told() {
        let mut settings = Settings::default();
        let mut sound = Sound::new(&settings);
        assert!(
            sound
                .change(SoundChange::Louder, &mut settings)
                .starts_with("no sound: ")
        );
        assert_eq!((settings.volume_percent, settings.is_muted), (Some(70), false));
        sound.change(SoundChange::ToggleMute, &mut settings);
        assert!(Sound::new(&settings).is_muted);
        sound.change(SoundChange::Volume(250), &mut settings);
        assert_eq!((settings.volume_percent, settings.is_muted), (Some(100), false));
        for _ in 0..20 {
            sound.change(SoundChange::Softer, &mut settings);
        }
        assert_eq!(settings.volume_percent, Some(0));
    }
}
