//! The sound device, through kira.

use std::sync::Arc;
use std::time::Duration;

use kira::sound::static_sound::{StaticSoundData, StaticSoundHandle, StaticSoundSettings};
use kira::track::{TrackBuilder, TrackHandle};
use kira::{AudioManager, AudioManagerSettings, Decibels, Frame, Tween};

use super::Speaker;
use super::mixer::{LOOPS_MAX, VOICES_PER_SECOND_MAX, Voice};
use super::tones::{SAMPLES_PER_SECOND, Tone};

/// Voices at once: those of the three seconds that the longest tone lasts, and the loops.
const VOICES_MAX: usize = 3 * VOICES_PER_SECOND_MAX + LOOPS_MAX;
/// How long a change of loudness takes: several frames, so that frames are not heard.
const GLIDE: Tween = Tween {
    duration: Duration::from_millis(60),
    start_time: kira::StartTime::Immediate,
    easing: kira::Easing::Linear,
};

/// An open device.
pub(super) struct Device {
    /// Kept open.
    _manager: AudioManager,
    track: TrackHandle,
    tones: Vec<StaticSoundData>,
    loops: [Option<StaticSoundHandle>; LOOPS_MAX],
}

/// Opens the default device of the system.
///
/// # Errors
/// If there is none; the text is for the user.
pub(super) fn open() -> Result<Device, String> {
    if !may_have_a_device() {
        return Err("this machine has no sound device".to_owned());
    }
    let failed = |error: String| format!("the sound device cannot be used: {error}");
    let mut manager =
        AudioManager::new(AudioManagerSettings::default()).map_err(|error| failed(format!("{error:?}")))?;
    let track = manager
        .add_sub_track(TrackBuilder::new().sound_capacity(VOICES_MAX))
        .map_err(|error| failed(error.to_string()))?;
    Ok(Device {
        _manager: manager,
        track,
        tones: Tone::ALL.map(data).into(),
        loops: Default::default(),
    })
}

/// ALSA prints a dozen lines of its own where there is no device, so it is not asked there.
fn may_have_a_device() -> bool {
    let cards = std::fs::read_dir("/dev/snd").is_ok_and(|mut cards| cards.next().is_some());
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(std::path::PathBuf::from);
    let is_served = runtime.is_some_and(|folder| {
        let sockets = ["pulse/native", "pipewire-0"];
        sockets.iter().any(|socket| folder.join(socket).exists())
    });
    !cfg!(target_os = "linux") || cards || is_served || std::env::var_os("PULSE_SERVER").is_some()
}

impl Device {
    fn begin(&mut self, voice: &Voice) -> Option<StaticSoundHandle> {
        let place = Tone::ALL.iter().position(|tone| *tone == voice.tone)?;
        let data = self.tones[place]
            .volume(decibels(voice.gain))
            .panning(voice.pan)
            .playback_rate(f64::from(voice.pitch));
        // Beyond the capacity, the last voices are not heard.
        let played = match voice.tone {
            Tone::Hum => self.track.play(data.loop_region(..)),
            _ => self.track.play(data),
        };
        played.ok()
    }
}

impl Speaker for Device {
    fn play(&mut self, voice: &Voice) {
        self.begin(voice);
    }

    fn set_loops(&mut self, loops: &[Option<Voice>; LOOPS_MAX]) {
        for (slot, voice) in loops.iter().enumerate() {
            self.loops[slot] = match (self.loops[slot].take(), voice) {
                (Some(mut sound), Some(voice)) => {
                    sound.set_volume(decibels(voice.gain), GLIDE);
                    sound.set_panning(voice.pan, GLIDE);
                    sound.set_playback_rate(f64::from(voice.pitch), GLIDE);
                    Some(sound)
                }
                (Some(mut sound), None) => {
                    sound.stop(GLIDE);
                    None
                }
                (None, voice) => voice.as_ref().and_then(|voice| self.begin(voice)),
            };
        }
    }

    fn set_paused(&mut self, is_paused: bool) {
        match is_paused {
            true => self.track.pause(GLIDE),
            false => self.track.resume(GLIDE),
        }
    }

    fn set_volume(&mut self, volume: f32) {
        self.track.set_volume(decibels(volume), GLIDE);
    }
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

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Device")
    }
}
