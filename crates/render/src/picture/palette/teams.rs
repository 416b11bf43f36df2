//! Which team has which colour: the palette's in the order of the teams, except where a team is named after a colour.

use std::cell::RefCell;

use glam::Vec3;
use trantor_client::SceneTeam;
use trantor_model::TeamId;

use super::Rgb;

/// The first teams' colours: more saturated than any resource, and distinguished by people with the common kinds of colour
/// blindness.
const TEAMS: [Rgb; 8] = [
    Rgb::hex(0xE6_5A_00), // vermillion
    Rgb::hex(0x1E_7F_D6), // blue
    Rgb::hex(0xF5_D0_3A), // yellow
    Rgb::hex(0xD9_4A_9E), // magenta
    Rgb::hex(0x12_B8_6A), // green
    Rgb::hex(0x8E_D0_F5), // sky blue
    Rgb::hex(0xF4_F1_E8), // white
    Rgb::hex(0x5B_3F_A0), // indigo
];

/// More of them, for teams named after a colour that none of those is.
const NAMED: [Rgb; 14] = [
    Rgb::hex(0xD7_26_3D), // red
    Rgb::hex(0xFF_9A_1F), // orange
    Rgb::hex(0xE0_A8_00), // gold
    Rgb::hex(0x22_22_2C), // black
    Rgb::hex(0x8A_56_30), // brown
    Rgb::hex(0x86_8A_92), // grey
    Rgb::hex(0xA4_DE_2E), // lime
    Rgb::hex(0x24_40_8E), // navy
    Rgb::hex(0x00_8C_96), // teal
    Rgb::hex(0xF7_A6_C8), // pink
    Rgb::hex(0x9B_4D_E0), // violet
    Rgb::hex(0xE3_CF_A4), // beige
    Rgb::hex(0x7C_84_20), // olive
    Rgb::hex(0x8C_1F_35), // maroon
];

/// Names for the colours above, where CSS means another shade or has no such word: English and French.
const SHORT_NAMES: [(Rgb, &[&str]); 15] = [
    (NAMED[0], &["red", "rouge", "rouges"]),
    (TEAMS[0], &["vermilion", "vermillion"]),
    (TEAMS[1], &["blue", "bleu", "bleue", "bleus"]),
    (TEAMS[2], &["yellow", "jaune", "jaunes"]),
    (TEAMS[3], &["magenta"]),
    (TEAMS[4], &["green", "vert", "verte", "verts"]),
    (TEAMS[5], &["sky", "ciel"]),
    (TEAMS[6], &["blanc", "blanche", "blancs"]),
    (NAMED[2], &["gold", "or"]),
    (NAMED[3], &["noir", "noire", "noirs"]),
    (NAMED[5], &["grey", "gris", "silver"]),
    (NAMED[9], &["rose", "roses"]),
    (NAMED[10], &["violet", "violette", "purple"]),
    (NAMED[4], &["marron"]),
    (TEAMS[7], &["indigo"]),
];

/// The colour names of CSS, sorted.
const CSS: &str = "\
aliceblue=F0F8FF antiquewhite=FAEBD7 aqua=00FFFF aquamarine=7FFFD4 azure=F0FFFF beige=F5F5DC bisque=FFE4C4 \
black=000000 blanchedalmond=FFEBCD blue=0000FF blueviolet=8A2BE2 brown=A52A2A burlywood=DEB887 \
cadetblue=5F9EA0 chartreuse=7FFF00 chocolate=D2691E coral=FF7F50 cornflowerblue=6495ED cornsilk=FFF8DC \
crimson=DC143C cyan=00FFFF darkblue=00008B darkcyan=008B8B darkgoldenrod=B8860B darkgray=A9A9A9 \
darkgreen=006400 darkkhaki=BDB76B darkmagenta=8B008B darkolivegreen=556B2F darkorange=FF8C00 darkorchid=9932CC \
darkred=8B0000 darksalmon=E9967A darkseagreen=8FBC8F darkslateblue=483D8B darkslategray=2F4F4F \
darkturquoise=00CED1 darkviolet=9400D3 deeppink=FF1493 deepskyblue=00BFFF dimgray=696969 dodgerblue=1E90FF \
firebrick=B22222 floralwhite=FFFAF0 forestgreen=228B22 fuchsia=FF00FF gainsboro=DCDCDC ghostwhite=F8F8FF \
gold=FFD700 goldenrod=DAA520 gray=808080 green=008000 greenyellow=ADFF2F honeydew=F0FFF0 hotpink=FF69B4 \
indianred=CD5C5C indigo=4B0082 ivory=FFFFF0 khaki=F0E68C lavender=E6E6FA lavenderblush=FFF0F5 lawngreen=7CFC00 \
lemonchiffon=FFFACD lightblue=ADD8E6 lightcoral=F08080 lightcyan=E0FFFF lightgoldenrodyellow=FAFAD2 \
lightgray=D3D3D3 lightgreen=90EE90 lightpink=FFB6C1 lightsalmon=FFA07A lightseagreen=20B2AA \
lightskyblue=87CEFA lightslategray=778899 lightsteelblue=B0C4DE lightyellow=FFFFE0 lime=00FF00 \
limegreen=32CD32 linen=FAF0E6 magenta=FF00FF maroon=800000 mediumaquamarine=66CDAA mediumblue=0000CD \
mediumorchid=BA55D3 mediumpurple=9370DB mediumseagreen=3CB371 mediumslateblue=7B68EE mediumspringgreen=00FA9A \
mediumturquoise=48D1CC mediumvioletred=C71585 midnightblue=191970 mintcream=F5FFFA mistyrose=FFE4E1 \
moccasin=FFE4B5 navajowhite=FFDEAD navy=000080 oldlace=FDF5E6 olive=808000 olivedrab=6B8E23 orange=FFA500 \
orangered=FF4500 orchid=DA70D6 palegoldenrod=EEE8AA palegreen=98FB98 paleturquoise=AFEEEE palevioletred=DB7093 \
papayawhip=FFEFD5 peachpuff=FFDAB9 peru=CD853F pink=FFC0CB plum=DDA0DD powderblue=B0E0E6 purple=800080 \
red=FF0000 rosybrown=BC8F8F royalblue=4169E1 saddlebrown=8B4513 salmon=FA8072 sandybrown=F4A460 \
seagreen=2E8B57 seashell=FFF5EE sienna=A0522D silver=C0C0C0 skyblue=87CEEB slateblue=6A5ACD slategray=708090 \
snow=FFFAFA springgreen=00FF7F steelblue=4682B4 tan=D2B48C teal=008080 thistle=D8BFD8 tomato=FF6347 \
turquoise=40E0D0 violet=EE82EE wheat=F5DEB3 white=FFFFFF whitesmoke=F5F5F5 yellow=FFFF00 yellowgreen=9ACD32";

/// Two colours nearer than this, see [`apart`], are taken for each other: a team keeps away from those before it.
const ALIKE: f32 = 0.09;
/// A colour farther than this from what a name means contradicts the name.
const CONTRADICTS: f32 = 0.15;

/// The colours of a game's teams.
///
/// A team among the first eight that is named after a colour has the palette's nearest free one, or the very colour of
/// the name where all that are left contradict it. The others share what is left of the first eight, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamColors {
    first: [Rgb; TEAMS.len()],
}

impl Default for TeamColors {
    fn default() -> Self {
        Self { first: TEAMS }
    }
}

impl TeamColors {
    /// Of `teams`, in the order of their ids. Every frame asks some times, and names hardly change: the last answer is kept.
    pub fn of(teams: &[SceneTeam]) -> Self {
        thread_local! {
            static LAST: RefCell<(Vec<String>, TeamColors)> = RefCell::default();
        }
        LAST.with_borrow_mut(|(names, colors)| {
            let called = || teams.iter().map(|team| &*team.name);
            if !called().eq(names.iter()) {
                *names = called().map(str::to_owned).collect();
                *colors = Self::called(called());
            }
            *colors
        })
    }

    fn called<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut first = [None; TEAMS.len()];
        for (team, name) in names.into_iter().take(TEAMS.len()).enumerate() {
            first[team] = meant_by(name).map(|meant| nearest_free(meant, &first));
        }
        for team in 0..TEAMS.len() {
            let distance = |color: Rgb| {
                let others = first.iter().flatten();
                others
                    .map(|other| apart(color, *other))
                    .fold(f32::INFINITY, f32::min)
            };
            if first[team].is_none() {
                let mut left = TEAMS.into_iter().filter(|color| distance(*color) > 0.0);
                let unlike = left.clone().find(|color| distance(*color) > ALIKE);
                first[team] = unlike.or_else(|| left.next());
            }
        }
        // Eight teams have eight colours to choose from.
        Self {
            first: first.map(Option::unwrap_or_default),
        }
    }

    /// The colour of a team. From the ninth team on the colours return lighter, then darker, and then each with a part
    /// of another one, so that 192 teams differ; the first 24 so much that it is seen.
    pub fn team(&self, team: TeamId) -> Rgb {
        match self.first.get(usize::from(team.0)) {
            Some(color) => *color,
            None => toned(usize::from(team.0)),
        }
    }
}

/// The colour that a team's name means, if it is one.
fn meant_by(name: &str) -> Option<Rgb> {
    let is_called = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if let Some((color, _)) = SHORT_NAMES.iter().find(|(_, names)| is_called(names)) {
        return Some(*color);
    }
    let mut css = CSS.split_whitespace().filter_map(|entry| entry.split_once('='));
    let (_, hex) = css.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    u32::from_str_radix(hex, 16).ok().map(Rgb::hex)
}

fn nearest_free(meant: Rgb, taken: &[Option<Rgb>]) -> Rgb {
    let is_free = |color: &Rgb| !taken.contains(&Some(*color)) && apart(meant, *color) < CONTRADICTS;
    let free = TEAMS.into_iter().chain(NAMED).filter(is_free);
    let nearest = free.min_by(|one, other| apart(meant, *one).total_cmp(&apart(meant, *other)));
    nearest.unwrap_or(meant)
}

/// How different two colours look: distance in Oklab, where lightness counts half, since the light on the board changes it.
fn apart(one: Rgb, other: Rgb) -> f32 {
    let between = oklab(one) - oklab(other);
    (between * Vec3::new(0.5, 1.0, 1.0)).length()
}

/// Lightness, green to red, blue to yellow.
fn oklab(color: Rgb) -> Vec3 {
    let light = color.linear();
    let cones = Vec3::new(
        light.dot(Vec3::new(0.412_221_5, 0.536_332_5, 0.051_446)),
        light.dot(Vec3::new(0.211_903_5, 0.680_699_5, 0.107_397)),
        light.dot(Vec3::new(0.088_302_5, 0.281_718_8, 0.629_978_7)),
    )
    .map(f32::cbrt);
    Vec3::new(
        cones.dot(Vec3::new(0.210_454_3, 0.793_617_8, -0.004_072)),
        cones.dot(Vec3::new(1.977_998_5, -2.428_592_2, 0.450_593_7)),
        cones.dot(Vec3::new(0.025_904, 0.782_771_8, -0.808_675_8)),
    )
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
    use trantor_model::Resource;

    use super::super::resource;
    use super::*;

    fn colors(names: &[&str]) -> [Rgb; TEAMS.len()] {
        TeamColors::called(names.iter().copied()).first
    }

    #[test]
    fn teams_differ_from_each_other_and_from_resources() {
        let team = |id: u16| TeamColors::default().team(TeamId(id));
        for one in 0..192u16 {
            for other in 0..one {
                let least = if one < 8 {
                    0.09
                } else if one < 24 {
                    0.02
                } else {
                    0.0
                };
                let apart = apart(team(one), team(other));
                assert!(apart > least, "{one} and {other}: {apart}");
            }
        }
        for color in TEAMS.into_iter().chain(NAMED) {
            for kind in Resource::ALL {
                let apart = oklab(color).distance(oklab(resource(kind)));
                let least = if TEAMS.contains(&color) { 0.095 } else { 0.055 };
                assert!(apart > least, "{color:?} and {kind:?}: {apart}");
            }
        }
    }

    #[test]
    fn no_team_has_a_colour_that_contradicts_its_name() {
        let names: Vec<&str> = CSS
            .split_whitespace()
            .map(|entry| entry.split('=').next().unwrap())
            .collect();
        assert_eq!(names.len(), 140);
        for eight in names.chunks(8).chain(names.iter().map(std::slice::from_ref)) {
            let colors = colors(eight);
            for (place, (name, color)) in eight.iter().zip(colors).enumerate() {
                let apart = apart(color, meant_by(name).unwrap());
                assert!(apart < CONTRADICTS, "{name}: {color:?}");
                assert!(!colors[..place].contains(&color), "{name}: {color:?} is taken");
            }
        }
        let all = [
            "black", "gold", "orange", "red", "ROUGE", "white", "green", "verts",
        ];
        let colors = colors(&all);
        assert_eq!(colors[..4], [NAMED[3], NAMED[2], NAMED[1], NAMED[0]]);
        assert_ne!(colors[4], colors[3], "the first of two has it");
    }

    #[test]
    fn teams_without_such_a_name_share_what_is_left() {
        assert_eq!(colors(&["Terminus", "Anacreon"]), TEAMS);
        assert_eq!(colors(&["who", "Bleu"])[..3], [TEAMS[0], TEAMS[1], TEAMS[2]]);
        assert_eq!(
            colors(&["red", "who"])[1],
            TEAMS[1],
            "vermillion is too much like red"
        );
    }
}
