//! The sound device, through kira.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kira::sound::static_sound::{StaticSoundData, StaticSoundHandle, StaticSoundSettings};
use kira::track::{TrackBuilder, TrackHandle};
use kira::{AudioManager, AudioManagerSettings, Decibels, Frame, Tween};
use trantor_model::Tile;

use super::mixer::{LOOPS_MAX, Mix, VOICES_PER_SECOND_MAX, Voice};
use super::tones::{SAMPLES_PER_SECOND, Tone};

/// Voices at once: those of the three seconds that the longest tone lasts, and the loops.
const VOICES_MAX: usize = 3 * VOICES_PER_SECOND_MAX + LOOPS_MAX;
/// How long a change of loudness takes: several frames, so that frames are not heard.
const GLIDE: Tween = Tween {
    duration: Duration::from_millis(60),
    start_time: kira::StartTime::Immediate,
    easing: kira::Easing::Linear,
};

pub(super) struct Device {
    /// Kept open.
    _manager: AudioManager,
    track: TrackHandle,
    tones: [StaticSoundData; Tone::ALL.len()],
    /// By the tile of their ritual.
    loops: BTreeMap<Tile, StaticSoundHandle>,
    is_paused: bool,
    volume: f32,
}

impl Device {
    /// Opens the default device of the system.
    ///
    /// # Errors
    /// If there is none; the text is for the user.
    pub(super) fn open() -> Result<Self, String> {
        if !may_have_a_device() {
            return Err("this machine has no sound device".to_owned());
        }
        let failed = |error: String| format!("the sound device cannot be used: {error}");
        let manager = AudioManager::new(AudioManagerSettings::default());
        let mut manager = manager.map_err(|error| failed(format!("{error:?}")))?;
        let track = manager.add_sub_track(TrackBuilder::new().sound_capacity(VOICES_MAX));
        Ok(Self {
            track: track.map_err(|error| failed(error.to_string()))?,
            _manager: manager,
            tones: Tone::ALL.map(data),
            loops: BTreeMap::new(),
            is_paused: false,
            volume: 1.0,
        })
    }

    pub(super) fn play(&mut self, mix: &Mix) {
        if std::mem::replace(&mut self.volume, mix.volume) != mix.volume {
            self.track.set_volume(decibels(mix.volume), GLIDE);
        }
        match (
            std::mem::replace(&mut self.is_paused, mix.is_paused),
            mix.is_paused,
        ) {
            (false, true) => self.track.pause(GLIDE),
            (true, false) => self.track.resume(GLIDE),
            _ => {}
        }
        for voice in &mix.voices {
            self.begin(voice);
        }
        let mut before = std::mem::take(&mut self.loops);
        for (tile, voice) in &mix.loops {
            let Some(mut sound) = before.remove(tile).or_else(|| self.begin(voice)) else {
                continue;
            };
            sound.set_volume(decibels(voice.gain), GLIDE);
            sound.set_panning(voice.pan, GLIDE);
            sound.set_playback_rate(f64::from(voice.pitch), GLIDE);
            self.loops.insert(*tile, sound);
        }
        before.values_mut().for_each(|sound| sound.stop(GLIDE));
    }

    /// Begins a tone; beyond the capacity, none.
    fn begin(&mut self, voice: &Voice) -> Option<StaticSoundHandle> {
        let data = self.tones[voice.tone as usize]
            .volume(decibels(voice.gain))
            .panning(voice.pan)
            .playback_rate(f64::from(voice.pitch));
        let played = match voice.tone {
            Tone::Hum => self.track.play(data.loop_region(..)),
            _ => self.track.play(data),
        };
        played.ok()
    }
}

/// ALSA prints a dozen lines of its own where there is no device, so it is not opened there.
fn may_have_a_device() -> bool {
    let cards = std::fs::read_dir("/dev/snd").is_ok_and(|mut cards| cards.next().is_some());
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(std::path::PathBuf::from);
    let is_served = runtime.is_some_and(|folder| {
        let sockets = ["pulse/native", "pipewire-0"];
        sockets.iter().any(|socket| folder.join(socket).exists())
    });
    !cfg!(target_os = "linux") || cards || is_served || std::env::var_os("PULSE_SERVER").is_some()
}

fn data(tone: Tone) -> StaticSoundData {
    let frames: Arc<[Frame]> = tone.samples().into_iter().map(Frame::from_mono).collect();
    StaticSoundData {
        sample_rate: SAMPLES_PER_SECOND,
        frames,
        settings: StaticSoundSettings::default(),
        slice: None,
    }
}

fn decibels(amplitude: f32) -> Decibels {
    Decibels((20.0 * amplitude.max(0.0).log10()).max(Decibels::SILENCE.0))
}
