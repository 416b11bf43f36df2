//! Every colour of the picture, in one place.
//!
//! Team colours follow the palette of Okabe and Ito, which people with the common kinds of colour blindness can
//! tell apart; stones differ by shape first. See `docs/decisions/0020-art-direction.md`.

mod teams;

use glam::{Quat, Vec3};
use trantor_model::Resource;

pub use self::teams::TeamColors;

/// A colour as on a screen: red, green, blue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rgb(pub [u8; 3]);

impl Rgb {
    pub const fn hex(rgb: u32) -> Self {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Self([red, green, blue])
    }

    /// With an opacity or other fourth number, `0.0..=1.0`.
    pub fn with(self, fourth: f32) -> [u8; 4] {
        let [red, green, blue] = self.0;
        [red, green, blue, (fourth.clamp(0.0, 1.0) * 255.0).round() as u8]
    }

    /// In linear light, `0.0..=1.0` each.
    pub fn linear(self) -> Vec3 {
        Vec3::from(self.0.map(|channel| {
            let channel = f32::from(channel) / 255.0;
            if channel <= 0.04045 {
                channel / 12.92
            } else {
                ((channel + 0.055) / 1.055).powf(2.4)
            }
        }))
    }

    /// The colour `share` of the way to `other`, mixed as on a screen.
    pub fn mix(self, other: Self, share: f32) -> Self {
        let mut mixed = [0; 3];
        for (mixed, (own, other)) in mixed.iter_mut().zip(self.0.into_iter().zip(other.0)) {
            *mixed = (f32::from(own) + (f32::from(other) - f32::from(own)) * share).round() as u8;
        }
        Self(mixed)
    }
}

/// A resource's colour on the map and in the HUD: duller than any team's, for who plays is to be seen first.
pub fn resource(resource: Resource) -> Rgb {
    match resource {
        Resource::Food => Rgb::hex(0xA8_58_6A),
        Resource::Linemate => Rgb::hex(0xA6_AF_B9),
        Resource::Deraumere => Rgb::hex(0x74_88_B4),
        Resource::Sibur => Rgb::hex(0x98_85_B6),
        Resource::Mendiane => Rgb::hex(0xC6_A5_6A),
        Resource::Phiras => Rgb::hex(0x70_AF_A2),
        Resource::Thystame => Rgb::hex(0xC0_8C_AC),
    }
}

pub const GOLD: Rgb = Rgb::hex(0xFF_D2_6B);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Theme {
    /// An evening.
    #[default]
    Dark,
    /// A clear morning.
    Light,
}

/// The light in which the board is seen. All in linear light unless the name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mood {
    /// The background at the top of the picture.
    pub sky_top: Vec3,
    pub sky_bottom: Vec3,
    /// A soft light in the background behind the board.
    pub sky_glow: Vec3,
    /// Colour and strength of the sun.
    pub sun: Vec3,
    /// Where the sun stands, towards it; length 1.
    pub sun_direction: Vec3,
    pub ambient_above: Vec3,
    /// Light thrown back by the ground.
    pub ambient_below: Vec3,
    pub ground: [Vec3; 2],
    /// What the ground's broad patches tend to.
    pub ground_patch: Vec3,
    pub seam: Vec3,
    /// The line where the map ends and begins again.
    pub rim: Vec3,
    /// How much of each glow is added round bright things.
    pub bloom: f32,
}

/// What the ground of a match tends to instead of the meadow's green, as bright as that: steppe, tundra, heath.
const GROUNDS: [Vec3; 3] = [
    Vec3::new(1.45, 0.93, 0.35),
    Vec3::new(0.90, 1.00, 1.25),
    Vec3::new(1.25, 0.80, 2.20),
];

/// Of a colour in linear light.
fn brightness(color: Vec3) -> f32 {
    color.dot(Vec3::new(0.2126, 0.7152, 0.0722))
}

impl Mood {
    /// The mood on the ground of a match, by how many were shown before it: the first is on the meadow.
    pub fn on_ground_of(self, matches_before: usize) -> Self {
        /// How much of the meadow's green is left.
        const GREEN: f32 = 0.4;
        let Some(place) = (matches_before % (GROUNDS.len() + 1)).checked_sub(1) else {
            return self;
        };
        let tinted = |color: Vec3| (GROUNDS[place] * brightness(color)).lerp(color, GREEN);
        Self {
            ground: self.ground.map(tinted),
            ground_patch: tinted(self.ground_patch),
            seam: tinted(self.seam),
            ..self
        }
    }

    /// The light of a theme at an hour, 0 to 1: an evening that becomes a moonlit night, or a morning that becomes a
    /// golden afternoon, and back; the sun goes round a little.
    pub fn at(theme: Theme, hour: f32) -> Self {
        /// How far the sun goes to either side, in radians.
        const SWING: f32 = 0.5;
        let (base, later) = match theme {
            Theme::Dark => (Self::dusk(), Self::night()),
            Theme::Light => (Self::day(), Self::afternoon()),
        };
        let (sin, cos) = (hour * std::f32::consts::TAU).sin_cos();
        let share = (1.0 - cos) / 2.0;
        let mixed = |one: Vec3, other: Vec3| one.lerp(other, share);
        Self {
            sky_top: mixed(base.sky_top, later.sky_top),
            sky_bottom: mixed(base.sky_bottom, later.sky_bottom),
            sky_glow: mixed(base.sky_glow, later.sky_glow),
            sun: mixed(base.sun, later.sun),
            sun_direction: Quat::from_rotation_y(SWING * sin) * base.sun_direction,
            ambient_above: mixed(base.ambient_above, later.ambient_above),
            ambient_below: mixed(base.ambient_below, later.ambient_below),
            ..base
        }
    }

    fn night() -> Self {
        Self {
            sky_top: Rgb::hex(0x0A_0F_22).linear(),
            sky_bottom: Rgb::hex(0x1A_2A_4E).linear(),
            sun: Rgb::hex(0xC4_D6_FF).linear() * 1.6,
            ambient_above: Rgb::hex(0x7C_98_DC).linear() * 0.8,
            ambient_below: Rgb::hex(0x2E_38_50).linear() * 0.6,
            ..Self::dusk()
        }
    }

    fn afternoon() -> Self {
        Self {
            sky_top: Rgb::hex(0x9A_B4_DA).linear(),
            sky_bottom: Rgb::hex(0xF2_E2_CC).linear(),
            sun: Rgb::hex(0xFF_D2_98).linear() * 1.45,
            ambient_above: Rgb::hex(0xC4_CC_EC).linear() * 0.58,
            ..Self::day()
        }
    }

    /// An evening: a dark background, warm low sun, cool shadows. Light shows best here.
    pub fn dusk() -> Self {
        Self {
            sky_top: Rgb::hex(0x10_16_2B).linear(),
            sky_bottom: Rgb::hex(0x26_33_55).linear(),
            sky_glow: Rgb::hex(0x4A_5E_92).linear(),
            sun: Rgb::hex(0xFF_DC_A8).linear() * 2.0,
            sun_direction: Vec3::new(-0.55, 0.78, 0.42).normalize(),
            ambient_above: Rgb::hex(0x8F_A8_DC).linear() * 0.85,
            ambient_below: Rgb::hex(0x3A_3F_4E).linear() * 0.6,
            ground: [Rgb::hex(0x54_8C_74).linear(), Rgb::hex(0x48_7D_6C).linear()],
            ground_patch: Rgb::hex(0x82_97_5A).linear(),
            seam: Rgb::hex(0x31_55_58).linear(),
            rim: Rgb::hex(0xBF_E4_F5).linear(),
            bloom: 0.9,
        }
    }

    /// A clear morning: a light background and green ground.
    pub fn day() -> Self {
        Self {
            sky_top: Rgb::hex(0x8F_BC_E2).linear(),
            sky_bottom: Rgb::hex(0xDF_EA_F1).linear(),
            sky_glow: Rgb::hex(0xFF_FB_EE).linear() * 0.12,
            sun: Rgb::hex(0xFF_EE_CF).linear() * 1.25,
            sun_direction: Vec3::new(-0.5, 0.85, 0.4).normalize(),
            ambient_above: Rgb::hex(0xB9_D3_F2).linear() * 0.62,
            ambient_below: Rgb::hex(0x8E_94_78).linear() * 0.5,
            ground: [Rgb::hex(0x84_B5_6A).linear(), Rgb::hex(0x76_A8_62).linear()],
            ground_patch: Rgb::hex(0xAC_BA_66).linear(),
            seam: Rgb::hex(0x55_82_4C).linear(),
            rim: Rgb::hex(0xFF_FF_FF).linear(),
            bloom: 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_take_turns_on_grounds_as_bright_as_the_meadow() {
        let meadow = Mood::dusk().ground[0];
        let grounds = [0, 1, 2, 3].map(|before| Mood::dusk().on_ground_of(before).ground[0]);
        for (place, ground) in grounds.into_iter().enumerate() {
            assert!(grounds[..place].iter().all(|other| other.distance(ground) > 0.03));
            assert!((brightness(ground) / brightness(meadow) - 1.0).abs() < 0.02);
        }
        assert_eq!((grounds[0], Mood::dusk().on_ground_of(4)), (meadow, Mood::dusk()));
    }

    #[test]
    fn a_day_ends_as_it_began_and_never_leaps() {
        for theme in [Theme::Dark, Theme::Light] {
            let at = |hour: u16| Mood::at(theme, f32::from(hour) / 480.0);
            assert!(at(0).sun_direction.distance(at(480).sun_direction) < 1e-5);
            assert!(
                at(0).sun.distance(at(240).sun) > 0.2,
                "half a day later the light is another"
            );
            for hour in 0..480 {
                let (now, then) = (at(hour), at(hour + 1));
                assert!(now.sun.distance(then.sun) < 0.02);
                assert!(now.sun_direction.distance(then.sun_direction) < 0.01);
            }
        }
    }
}
