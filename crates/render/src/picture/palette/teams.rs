//! Which team has which colour: the palette's in the order of the teams, except where a team is called by one.

use trantor_client::SceneTeam;
use trantor_model::TeamId;

use super::Rgb;

const TEAMS: [Rgb; 8] = [
    Rgb::hex(0xE6_5A_00), // vermillion
    Rgb::hex(0x1E_7F_D6), // blue
    Rgb::hex(0xF5_D0_3A), // yellow
    Rgb::hex(0xCC_79_A7), // reddish purple
    Rgb::hex(0x00_B0_88), // bluish green
    Rgb::hex(0x8E_D0_F5), // sky blue
    Rgb::hex(0xF4_F1_E8), // white, where the palette has black: agents must stand out from their shadow
    Rgb::hex(0x5B_4B_8A), // indigo
];

/// What teams of these colours are called, in English and in French.
const NAMES: [&[&str]; TEAMS.len()] = [
    &["red", "rouge", "rouges", "orange", "vermilion", "vermillion"],
    &["blue", "bleu", "bleue", "bleus"],
    &["yellow", "jaune", "jaunes"],
    &["pink", "rose", "roses", "magenta"],
    &["green", "vert", "verte", "verts"],
    &["cyan", "sky", "ciel"],
    &["white", "blanc", "blanche", "blancs"],
    &["purple", "violet", "violette", "indigo"],
];

/// The colours of a game's teams.
///
/// A team among the first eight that is called by one of the palette's colours has that one, unless a team before it
/// has; the others share what is left, in order. All eight stay in use, so that teams are as distinct as without names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamColors {
    /// For each of the first teams its place in [`TEAMS`]; each occurs once.
    places: [u8; TEAMS.len()],
}

impl Default for TeamColors {
    fn default() -> Self {
        Self::called([])
    }
}

impl TeamColors {
    /// Of `teams`, in the order of their ids.
    pub fn of(teams: &[SceneTeam]) -> Self {
        Self::called(teams.iter().map(|team| &*team.name))
    }

    fn called<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut wanted = [None; TEAMS.len()];
        for (team, name) in names.into_iter().take(TEAMS.len()).enumerate() {
            wanted[team] = place_called(name).filter(|place| !wanted.contains(&Some(*place)));
        }
        let mut left = (0..TEAMS.len() as u8).filter(|place| !wanted.contains(&Some(*place)));
        // As many are left as teams have none.
        let places = wanted.map(|place| place.or_else(|| left.next()).unwrap_or_default());
        Self { places }
    }

    /// The colour of a team. From the ninth team on the colours return lighter, then darker, and then each with a part
    /// of another one, so that 192 teams differ; the first 24 so much that it is seen.
    pub fn team(&self, team: TeamId) -> Rgb {
        match self.places.get(usize::from(team.0)) {
            Some(place) => TEAMS[usize::from(*place)],
            None => toned(usize::from(team.0)),
        }
    }
}

/// The place of the colour of that name.
fn place_called(name: &str) -> Option<u8> {
    let is_called = |names: &&[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let place = NAMES.iter().position(is_called)?;
    u8::try_from(place).ok()
}

fn toned(place: usize) -> Rgb {
    const WHITE: Rgb = Rgb::hex(0xFF_FF_FF);
    const DARK: Rgb = Rgb::hex(0x10_16_2B);
    let (lap, place) = (place / TEAMS.len(), place % TEAMS.len());
    let other = (place + lap / 3) % TEAMS.len();
    let tone = TEAMS[place].mix(TEAMS[other], 0.4);
    match lap % 3 {
        0 => tone,
        // What is nearly white cannot be lighter.
        1 if tone.linear().min_element() > 0.6 => tone.mix(DARK, 0.3),
        1 => tone.mix(WHITE, 0.4),
        _ => tone.mix(DARK, 0.5),
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    /// How far apart two colours look, roughly: distance in linear light weighted by what the eye sees.
    fn apart(a: Rgb, b: Rgb) -> f32 {
        let difference = (a.linear() - b.linear()).abs();
        difference.dot(Vec3::new(0.3, 0.5, 0.2))
    }

    fn team(id: TeamId) -> Rgb {
        TeamColors::default().team(id)
    }

    #[test]
    fn teams_differ_and_the_first_so_much_that_it_is_seen() {
        for one in 0..192u16 {
            for other in 0..one {
                let (one, other) = (team(TeamId(one)), team(TeamId(other)));
                assert_ne!(one, other);
            }
        }
        for (teams, least) in [(8u16, 0.05), (24, 0.02)] {
            for one in 0..teams {
                for other in 0..one {
                    let apart = apart(team(TeamId(one)), team(TeamId(other)));
                    assert!(apart > least, "{one} and {other}: {apart}");
                }
            }
        }
    }

    #[test]
    fn a_team_that_is_called_by_a_colour_has_it_while_it_is_free() {
        let colors = |names: &[&str]| {
            let colors = TeamColors::called(names.iter().copied());
            let mut sorted = colors.places;
            sorted.sort_unstable();
            assert_eq!(
                sorted,
                TeamColors::default().places,
                "{names:?} share all of them"
            );
            colors.places
        };
        assert_eq!(colors(&["Terminus", "Anacreon"]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(colors(&["red", "green", "blue", "yellow"])[..4], [0, 4, 1, 2]);
        assert_eq!(colors(&["Bleu", "ROUGE", "Verts"])[..3], [1, 0, 4]);
        // The first of two has it, and the others take what is left.
        assert_eq!(colors(&["who", "orange", "red", "white"])[..4], [1, 0, 2, 6]);
        let many = ["a", "b", "c", "d", "e", "f", "g", "red", "red", "blue"];
        assert_eq!(colors(&many), [1, 2, 3, 4, 5, 6, 7, 0]);
        let colors = TeamColors::called(many);
        assert_eq!(
            colors.team(TeamId(8)),
            team(TeamId(8)),
            "the ninth returns lighter"
        );
    }
}
