//! What each sound is: samples, made when the program starts.
//!
//! A tone is a few decaying sines, as of a bell or a bowl. Each begins and ends in silence and swings around zero, so
//! that nothing clicks, and all have the same peak: how loud one is heard is [`super::hearing`]'s to say.

use std::f32::consts::TAU;

/// Samples a second.
pub const SAMPLES_PER_SECOND: u32 = 48_000;

/// The highest sample of any tone. All that may sound at once stays below 1 together; a test of
/// [`super::hearing`] adds it up.
pub const PEAK: f32 = 0.15;

/// Something to be heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// An agent said something.
    Chime,
    /// An agent died.
    Death,
    /// An agent hatched.
    Hatch,
    /// An elevation ended well.
    Risen,
    /// An elevation failed.
    Failed,
    /// A team won.
    Fanfare,
    /// An elevation under way: no end of its own, its end joins its beginning.
    Hum,
}

/// One sine of a tone.
struct Partial {
    /// When it begins, in seconds.
    at: f32,
    /// At the beginning, in hertz.
    hertz: f32,
    /// By what factor its frequency changes in a second.
    glide: f32,
    /// Against the others of the tone.
    loudness: f32,
    /// After how many seconds a third of it is left.
    decay: f32,
}

/// How long a partial takes to be there, in seconds: less is a click.
const ATTACK_SECONDS: f32 = 0.008;
/// How long before its end a tone fades to nothing, in seconds.
const RELEASE_SECONDS: f32 = 0.05;
/// Lowest sine of the hum; the others are multiples, so that a second of it is whole swings of each.
const HUM_HERTZ: f32 = 110.0;

impl Tone {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Chime,
        Self::Death,
        Self::Hatch,
        Self::Risen,
        Self::Failed,
        Self::Fanfare,
        Self::Hum,
    ];

    /// Which of many is let through first where not all can be heard.
    pub const fn weight(self) -> f32 {
        match self {
            Self::Fanfare => 100.0,
            Self::Risen | Self::Failed => 4.0,
            Self::Death => 2.0,
            Self::Chime | Self::Hatch | Self::Hum => 1.0,
        }
    }

    /// Its samples, one channel.
    pub fn samples(self) -> Vec<f32> {
        let mut samples = match self {
            Self::Hum => hum(),
            _ => decaying(self.seconds(), &self.partials()),
        };
        let highest = samples
            .iter()
            .fold(f32::EPSILON, |most, sample| most.max(sample.abs()));
        samples.iter_mut().for_each(|sample| *sample *= PEAK / highest);
        samples
    }

    /// How long it lasts.
    const fn seconds(self) -> f32 {
        match self {
            Self::Chime | Self::Death | Self::Failed => 0.9,
            Self::Hatch => 0.4,
            Self::Risen => 1.6,
            Self::Fanfare => 3.0,
            Self::Hum => 1.0,
        }
    }

    fn partials(self) -> Vec<Partial> {
        let note = |at, hertz, loudness, decay| Partial {
            at,
            hertz,
            glide: 1.0,
            loudness,
            decay,
        };
        // A note as of a small bell: its octave and a tone that is none of its own, both soon gone.
        let bell = |at, hertz: f32, decay: f32| {
            [
                note(at, hertz, 1.0, decay),
                note(at, hertz * 2.0, 0.3, decay * 0.5),
                note(at, hertz * 2.76, 0.12, decay * 0.2),
            ]
        };
        let bells = |notes: &[(f32, f32, f32)]| {
            let notes = notes.iter();
            notes
                .flat_map(|&(at, hertz, decay)| bell(at, hertz, decay))
                .collect()
        };
        match self {
            Self::Chime => bells(&[(0.0, 659.3, 0.2)]),
            Self::Hatch => bells(&[(0.0, 784.0, 0.07), (0.08, 1046.5, 0.08)]),
            Self::Death => vec![
                Partial {
                    glide: 0.4,
                    ..note(0.0, 293.7, 1.0, 0.25)
                },
                Partial {
                    glide: 0.4,
                    ..note(0.0, 440.5, 0.25, 0.15)
                },
            ],
            Self::Risen => bells(&[
                (0.0, 523.3, 0.35),
                (0.09, 659.3, 0.35),
                (0.18, 784.0, 0.35),
                (0.27, 1046.5, 0.3),
            ]),
            Self::Failed => bells(&[(0.0, 311.1, 0.15), (0.12, 293.7, 0.2)]),
            Self::Fanfare => bells(&[
                (0.0, 392.0, 0.25),
                (0.18, 523.3, 0.25),
                (0.36, 659.3, 0.25),
                (0.54, 784.0, 0.6),
                (0.9, 659.3, 0.25),
                (1.08, 784.0, 0.25),
                (1.08, 523.3, 0.6),
                (1.26, 1046.5, 0.6),
            ]),
            Self::Hum => Vec::new(),
        }
    }
}

fn decaying(seconds: f32, partials: &[Partial]) -> Vec<f32> {
    let rate = SAMPLES_PER_SECOND as f32;
    let count = (seconds * rate) as usize;
    let mut samples = vec![0.0; count];
    for partial in partials {
        let first = (partial.at * rate) as usize;
        let mut phase = 0.0f32;
        for (place, sample) in samples.iter_mut().enumerate().skip(first) {
            let age = (place - first) as f32 / rate;
            let loudness = partial.loudness * (age / ATTACK_SECONDS).min(1.0) * (-age / partial.decay).exp();
            *sample += loudness * phase.sin();
            phase = (phase + TAU * partial.hertz * partial.glide.powf(age) / rate) % TAU;
        }
    }
    for (place, sample) in samples.iter_mut().enumerate() {
        let left = (count - 1 - place) as f32 / rate;
        *sample *= (left / RELEASE_SECONDS).min(1.0);
    }
    samples
}

fn hum() -> Vec<f32> {
    let sample = |place: u32| {
        let turn = TAU * (place as f32 / SAMPLES_PER_SECOND as f32);
        // The last one beats against the second, twice a second: it breathes.
        [(1.0, 1.0), (2.0, 0.5), (3.0, 0.3), (2.0 + 2.0 / HUM_HERTZ, 0.4)]
            .iter()
            .map(|(multiple, loudness)| loudness * (turn * (HUM_HERTZ * multiple).round()).sin())
            .sum()
    };
    (0..SAMPLES_PER_SECOND).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tones_are_even_begin_and_end_in_silence_and_swing_around_zero() {
        for tone in Tone::ALL {
            let samples = tone.samples();
            assert!(samples.iter().all(|sample| sample.is_finite()), "{tone:?}");
            let highest = samples.iter().fold(0.0f32, |most, sample| most.max(sample.abs()));
            assert!((highest - PEAK).abs() < 1e-6, "{tone:?} reaches {highest}");
            let middle = samples.iter().sum::<f32>() / samples.len() as f32;
            assert!(middle.abs() < PEAK * 1e-3, "{tone:?} stands at {middle}");
            // No sample is far from the one before, the first after the last of the hum included: a click is.
            let steps = samples.windows(2).map(|pair| (pair[1] - pair[0]).abs());
            let steepest = steps.fold(0.0f32, f32::max);
            assert!(steepest < PEAK * 0.25, "{tone:?} jumps by {steepest}");
            let (first, last) = (samples[0], samples[samples.len() - 1]);
            match tone {
                Tone::Hum => assert!((first - last).abs() < steepest * 1.01, "the hum joins itself"),
                _ => assert_eq!((first, last), (0.0, 0.0), "{tone:?}"),
            }
        }
    }

    /// How much of `hertz` is in the samples (Goertzel), against all there is.
    fn share_of(samples: &[f32], hertz: f32) -> f32 {
        let turn = TAU * hertz / SAMPLES_PER_SECOND as f32;
        let (mut sin, mut cos, mut all) = (0.0f64, 0.0f64, 0.0f64);
        for (place, sample) in samples.iter().enumerate() {
            let angle = f64::from(turn) * place as f64;
            sin += f64::from(*sample) * angle.sin();
            cos += f64::from(*sample) * angle.cos();
            all += f64::from(sample * sample);
        }
        ((sin * sin + cos * cos) * 2.0 / (all * samples.len() as f64)) as f32
    }

    #[test]
    fn tones_have_the_notes_they_are_made_of() {
        let chime = Tone::Chime.samples();
        assert!(share_of(&chime, 659.3) > 0.3 && share_of(&chime, 500.0) < 0.01);
        let hum = Tone::Hum.samples();
        assert!(share_of(&hum, HUM_HERTZ) > 0.5 && share_of(&hum, HUM_HERTZ * 1.5) < 0.001);
        let death = Tone::Death.samples();
        assert!(
            share_of(&death[..4_800], 290.0) > share_of(&death[..4_800], 180.0),
            "it falls"
        );
        assert!(share_of(&death[24_000..28_800], 170.0) > share_of(&death[24_000..28_800], 290.0));
    }
}
