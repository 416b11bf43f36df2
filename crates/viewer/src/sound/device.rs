//! The machine's sound device, through kira: tones are made once, and played with a place and a pitch.

use std::sync::Arc;
use std::time::Duration;

use kira::backend::Backend;
use kira::backend::cpal::CpalBackend;
use kira::sound::static_sound::{StaticSoundData, StaticSoundHandle, StaticSoundSettings};
use kira::track::{TrackBuilder, TrackHandle};
use kira::{AudioManager, AudioManagerSettings, Decibels, Frame, Tween};

use super::Speaker;
use super::hearing::{Cue, HUMS_MAX, Heard, Hum, VOICES_PER_SECOND_MAX};
use super::tones::{SAMPLES_PER_SECOND, Tone};

/// Tones that may sound at once: those of the three seconds that the longest lasts, and the hums.
const SOUNDS_MAX: usize = 3 * VOICES_PER_SECOND_MAX + HUMS_MAX;
/// How long a change of loudness takes: several frames, so that frames are not heard.
const GLIDE: Tween = Tween {
    duration: Duration::from_millis(60),
    start_time: kira::StartTime::Immediate,
    easing: kira::Easing::Linear,
};

/// A device that tones are played on.
pub(super) struct Device<B: Backend> {
    /// Kept open.
    _manager: AudioManager<B>,
    track: TrackHandle,
    tones: Vec<StaticSoundData>,
    hums: [Option<StaticSoundHandle>; HUMS_MAX],
}

/// Opens the device that the system offers first.
///
/// # Errors
/// If there is none; the text is for the user.
pub(super) fn open() -> Result<Device<CpalBackend>, String> {
    if !may_have_a_device() {
        return Err("this machine has no sound device".to_owned());
    }
    Device::open(AudioManagerSettings::default())
        .map_err(|error| format!("the sound device cannot be used: {error}"))
}

/// ALSA writes a dozen lines of its own where there is nothing to play on, so it is not asked there.
#[cfg(target_os = "linux")]
fn may_have_a_device() -> bool {
    let cards = std::fs::read_dir("/dev/snd").is_ok_and(|mut cards| cards.next().is_some());
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(std::path::PathBuf::from);
    let is_served = runtime.is_some_and(|folder| {
        ["pulse/native", "pipewire-0"]
            .iter()
            .any(|socket| folder.join(socket).exists())
    });
    cards || is_served || std::env::var_os("PULSE_SERVER").is_some()
}

#[cfg(not(target_os = "linux"))]
fn may_have_a_device() -> bool {
    true
}

impl<B: Backend> Device<B>
where
    B::Error: std::fmt::Debug,
{
    fn open(settings: AudioManagerSettings<B>) -> Result<Self, String> {
        let mut manager = AudioManager::new(settings).map_err(|error| format!("{error:?}"))?;
        let track = manager
            .add_sub_track(TrackBuilder::new().sound_capacity(SOUNDS_MAX))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            _manager: manager,
            track,
            tones: Tone::ALL.map(data).into(),
            hums: Default::default(),
        })
    }

    fn begin(&mut self, tone: Tone, place: Heard, pitch: f32) -> Option<StaticSoundHandle> {
        let place_of = Tone::ALL.iter().position(|other| *other == tone)?;
        let data = self.tones[place_of]
            .volume(decibels(place.gain))
            .panning(place.pan)
            .playback_rate(f64::from(pitch));
        let looped = match tone {
            Tone::Hum => data.loop_region(..),
            _ => data,
        };
        // Of too many at once, the last are not heard.
        self.track.play(looped).ok()
    }
}

impl<B: Backend> Speaker for Device<B>
where
    B::Error: std::fmt::Debug,
{
    fn play(&mut self, cue: &Cue) {
        self.begin(cue.tone, cue.place, cue.pitch);
    }

    fn hum(&mut self, hums: &[Hum; HUMS_MAX]) {
        for (slot, hum) in hums.iter().enumerate() {
            match &mut self.hums[slot] {
                Some(sound) if hum.place.gain > 0.0 => {
                    sound.set_volume(decibels(hum.place.gain), GLIDE);
                    sound.set_panning(hum.place.pan, GLIDE);
                    sound.set_playback_rate(f64::from(hum.pitch), GLIDE);
                }
                Some(sound) => {
                    sound.stop(GLIDE);
                    self.hums[slot] = None;
                }
                None if hum.place.gain > 0.0 => {
                    self.hums[slot] = self.begin(Tone::Hum, hum.place, hum.pitch);
                }
                None => {}
            }
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

impl<B: Backend> std::fmt::Debug for Device<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Demo, DemoScene};
    use crate::settings::Settings;
    use crate::sound::hearing::Ear;
    use crate::sound::{Sound, SoundChange};
    use kira::backend::Renderer;
    use std::sync::Mutex;
    use trantor_client::Scene;
    use trantor_render::picture::CameraPose;
    use trantor_render::picture::torus::TorusWindow;
    use trantor_time::{RealSpan, RealTime};

    /// A device that is a place in memory: what it is given is read by whoever has the other end.
    struct Tape(Arc<Mutex<Option<Renderer>>>);

    impl Backend for Tape {
        type Settings = Option<Arc<Mutex<Option<Renderer>>>>;
        type Error = &'static str;

        fn setup(settings: Self::Settings, _: usize) -> Result<(Self, u32), Self::Error> {
            Ok((Self(settings.ok_or("no tape")?), SAMPLES_PER_SECOND))
        }

        fn start(&mut self, renderer: Renderer) -> Result<(), Self::Error> {
            *self.0.lock().map_err(|_| "torn")? = Some(renderer);
            Ok(())
        }
    }

    /// Samples of both channels of a sixtieth of a second.
    const FRAME: usize = SAMPLES_PER_SECOND as usize / 60 * 2;

    fn loudest(samples: &[f32]) -> f32 {
        samples.iter().fold(0.0, |most, sample| most.max(sample.abs()))
    }

    #[test]
    fn a_demo_is_heard_without_clipping_and_a_pause_is_silent() {
        let tape = Arc::new(Mutex::new(None));
        let device: Device<Tape> = Device::open(AudioManagerSettings {
            capacities: Default::default(),
            main_track_builder: Default::default(),
            internal_buffer_size: 128,
            backend_settings: Some(Arc::clone(&tape)),
        })
        .unwrap();
        let mut sound = Sound::new(&Settings::default());
        sound.open(Box::new(device));
        sound.change(SoundChange::Volume(100), &mut Settings::default());
        let demo = Demo::new(DemoScene::Overview);
        let mut scene = Scene::default();
        demo.scene(0.0, &mut scene);
        let pose = CameraPose {
            target: glam::Vec2::new(8.0, 8.0),
            distance: 10.0,
            yaw: 0.0,
            pitch: 0.9,
        };
        let size = scene.ground.as_ref().unwrap().size;
        let ear = Ear::of(&pose, TorusWindow::whole(size));
        let mut heard = Vec::new();
        let mut second = |scene: &mut Scene, second: u32, is_paused: bool| {
            let from = heard.len();
            for frame in 0..60u32 {
                if !is_paused {
                    demo.scene(f64::from(second * 60 + frame) * 100.0 / 60.0, scene);
                }
                scene.clock.paused = is_paused;
                let now = RealTime::ZERO + RealSpan::from_millis(i64::from(second * 60 + frame) * 1_000 / 60);
                sound.play(scene, &ear, now);
                let mut piece = [0.0; FRAME];
                let mut tape = tape.lock().unwrap();
                let renderer = tape.as_mut().unwrap();
                renderer.on_start_processing();
                renderer.process(&mut piece, 2);
                heard.extend(piece);
            }
            heard[from..].to_vec()
        };
        let playing: Vec<f32> = (0..8)
            .flat_map(|number| second(&mut scene, number, false))
            .collect();
        assert!(playing.iter().all(|sample| sample.is_finite()));
        let most = loudest(&playing);
        assert!((0.05..1.0).contains(&most), "loudest sample {most}");
        let middle = playing.iter().sum::<f32>() / playing.len() as f32;
        assert!(middle.abs() < 1e-3, "stands at {middle}");
        let paused = second(&mut scene, 8, true);
        assert_eq!(
            loudest(&paused[paused.len() / 2..]),
            0.0,
            "a pause ends in silence"
        );
    }
}
