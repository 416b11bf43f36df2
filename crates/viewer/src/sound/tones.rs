//! The samples of each tone, made when the program starts.
//!
//! A tone is a few decaying sines, as of a bell. Each begins and ends in silence, so that nothing clicks, and all have the
//! same peak: how loud one is heard is decided in [`super::mixer`].

use std::f32::consts::TAU;

pub const SAMPLES_PER_SECOND: u32 = 48_000;
/// The highest sample of any tone. All voices together stay below 1, as a test of [`super::mixer`] shows.
pub const PEAK: f32 = 0.15;
/// How long a sine takes to reach its loudness, and how long a tone fades before its end, in seconds.
const ATTACK_SECONDS: f32 = 0.008;
const RELEASE_SECONDS: f32 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A broadcast.
    Chime,
    Death,
    Hatch,
    /// An elevation succeeded.
    Risen,
    /// An elevation failed.
    Failed,
    /// A team won.
    Fanfare,
    /// An elevation under way: a loop.
    Hum,
}

/// A decaying sine: its begin in seconds, frequency in hertz, loudness, and the seconds after which a third is left.
type Sine = [f32; 4];

impl Tone {
    pub const ALL: [Self; 7] = {
        use Tone::{Chime, Death, Failed, Fanfare, Hatch, Hum, Risen};
        [Chime, Death, Hatch, Risen, Failed, Fanfare, Hum]
    };

    /// How important it is where not all can be heard.
    pub const fn weight(self) -> f32 {
        match self {
            Self::Fanfare => 100.0,
            Self::Risen | Self::Failed => 4.0,
            Self::Death => 2.0,
            Self::Chime | Self::Hatch | Self::Hum => 1.0,
        }
    }

    pub fn samples(self) -> Vec<f32> {
        let mut samples = match self {
            Self::Hum => hum(),
            Self::Chime => bells(0.9, &[[0.0, 659.3, 0.2]]),
            Self::Hatch => bells(0.4, &[[0.0, 784.0, 0.07], [0.08, 1046.5, 0.08]]),
            // It falls to less than half of its pitch in a second.
            Self::Death => decaying(0.9, 0.4, &[[0.0, 293.7, 1.0, 0.25], [0.0, 440.5, 0.25, 0.15]]),
            Self::Failed => bells(0.9, &[[0.0, 311.1, 0.15], [0.12, 293.7, 0.2]]),
            Self::Risen => bells(1.6, &RISEN),
            Self::Fanfare => bells(3.0, &FANFARE),
        };
        let highest = samples
            .iter()
            .fold(f32::EPSILON, |most, sample| most.max(sample.abs()));
        samples.iter_mut().for_each(|sample| *sample *= PEAK / highest);
        samples
    }
}

/// A note of a small bell: its begin in seconds, frequency in hertz, and decay in seconds.
type Note = [f32; 3];

const RISEN: [Note; 4] = [
    [0.0, 523.3, 0.35],
    [0.09, 659.3, 0.35],
    [0.18, 784.0, 0.35],
    [0.27, 1046.5, 0.3],
];
const FANFARE: [Note; 8] = [
    [0.0, 392.0, 0.25],
    [0.18, 523.3, 0.25],
    [0.36, 659.3, 0.25],
    [0.54, 784.0, 0.6],
    [0.9, 659.3, 0.25],
    [1.08, 784.0, 0.25],
    [1.08, 523.3, 0.6],
    [1.26, 1046.5, 0.6],
];

/// Notes of a small bell, each with an octave and an inharmonic sine that soon decays.
fn bells(seconds: f32, notes: &[Note]) -> Vec<f32> {
    let bell = |&[at, hertz, decay]: &Note| {
        [
            [at, hertz, 1.0, decay],
            [at, hertz * 2.0, 0.3, decay * 0.5],
            [at, hertz * 2.76, 0.12, decay * 0.2],
        ]
    };
    decaying(seconds, 1.0, &notes.iter().flat_map(bell).collect::<Vec<_>>())
}

/// `glide` is the factor by which frequencies change in a second.
fn decaying(seconds: f32, glide: f32, sines: &[Sine]) -> Vec<f32> {
    let rate = SAMPLES_PER_SECOND as f32;
    let count = (seconds * rate) as usize;
    let mut samples = vec![0.0; count];
    for &[at, hertz, loudness, decay] in sines {
        let first = (at * rate) as usize;
        let mut phase = 0.0f32;
        for (place, sample) in samples.iter_mut().enumerate().skip(first) {
            let age = (place - first) as f32 / rate;
            *sample += loudness * (age / ATTACK_SECONDS).min(1.0) * (-age / decay).exp() * phase.sin();
            phase = (phase + TAU * hertz * glide.powf(age) / rate) % TAU;
        }
    }
    for (place, sample) in samples.iter_mut().enumerate() {
        let left = (count - 1 - place) as f32 / rate;
        *sample *= (left / RELEASE_SECONDS).min(1.0);
    }
    samples
}

fn hum() -> Vec<f32> {
    // The last one beats against the second, twice a second.
    let sines = [(110.0, 1.0), (220.0, 0.5), (330.0, 0.3), (222.0, 0.4)];
    let sample = |place: u32| {
        let turn = TAU * (place as f32 / SAMPLES_PER_SECOND as f32);
        let sine = |(hertz, loudness): (f32, f32)| loudness * (turn * hertz).sin();
        sines.map(sine).iter().sum()
    };
    (0..SAMPLES_PER_SECOND).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tones_have_one_peak_no_offset_and_no_click() {
        for tone in Tone::ALL {
            let samples = tone.samples();
            let highest = samples.iter().fold(0.0f32, |most, sample| most.max(sample.abs()));
            assert!((highest - PEAK).abs() < 1e-6, "{tone:?} reaches {highest}");
            let middle = samples.iter().sum::<f32>() / samples.len() as f32;
            assert!(middle.abs() < PEAK * 1e-3, "{tone:?} stands at {middle}");
            let steps = samples.windows(2).map(|pair| (pair[1] - pair[0]).abs());
            let steepest = steps.fold(0.0f32, f32::max);
            assert!(steepest < PEAK * 0.25, "{tone:?} jumps by {steepest}");
            let (first, last) = (samples[0], samples[samples.len() - 1]);
            match tone {
                Tone::Hum => assert!((first - last).abs() < steepest * 1.01, "the loop joins itself"),
                _ => assert_eq!((first, last), (0.0, 0.0), "{tone:?}"),
            }
        }
    }
}
