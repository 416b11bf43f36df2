//! Scripts made of random statements: nothing that they do breaks a limit, and they do the same in every VM.

use trantor_model::{Counts, Level, MapSize, Sight};
use trantor_play::minds::{Act, Mind, MindFactory, Newborn, Percept};
use trantor_script::limits::{GROWTH_BYTES_MAX, MEMORY_BYTES_MAX, SHOWS_MAX};
use trantor_script::{Script, ScriptEvent};
use trantor_time::GameTime;

/// Statements and, after an empty line, expressions, [`KINDS`] of each: `$s` is a statement, `$e` an expression, `$n` a number.
const GRAMMAR: &str = include_str!("scripts.txt");

const KINDS: usize = 48;

const NUMBERS: [&str; 8] = ["1", "0", "-1", "7.5", "64", "1e5", "1e9", "0/0"];

/// How deep statements nest; those beyond are plain.
const DEPTH_MAX: usize = 6;

/// Bytes of a generated source: a few bytes may ask for a great deal.
const SOURCE_BYTES_MAX: usize = 8_192;

/// Choices, read off the input; zeros at its end.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn next(&mut self) -> usize {
        self.0.next().copied().unwrap_or(0).into()
    }

    fn write(&mut self, template: &str, depth: usize, into: &mut String) {
        let mut parts = template.split('$');
        into.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let is_plain = depth >= DEPTH_MAX || into.len() > SOURCE_BYTES_MAX;
            let number = if is_plain { 0 } else { self.next() };
            match part.as_bytes()[0] {
                b's' => self.write(line(number % KINDS), depth + 1, into),
                b'e' if is_plain => into.push('x'),
                b'e' => self.write(line(KINDS + 1 + number % KINDS), depth + 1, into),
                _ => into.push_str(NUMBERS[number % 8]),
            }
            into.push_str(&part[1..]);
        }
    }
}

fn line(number: usize) -> &'static str {
    GRAMMAR.lines().nth(number).expect("lines of both kinds")
}

/// What happened in one game of a script.
type Played = (Vec<Act>, Vec<ScriptEvent>);

/// Plays a generated script twice, in VMs at other addresses with other allocations between theirs.
pub(crate) fn play(data: &[u8]) {
    let mut choices = Choices(data.iter());
    let mut body = String::new();
    choices.write(
        "local t, x = {}, 1 $s $s $s while true do $s me:forward() end",
        0,
        &mut body,
    );
    let source =
        format!("local trantor = require(\"@trantor\") return trantor.agent(function(me) {body} end)");
    let percepts: Vec<u8> = choices.0.as_slice().iter().copied().take(40).collect();
    let first = play_once(&source, &percepts);
    let sizes = data
        .iter()
        .cycle()
        .take(512)
        .map(|byte| usize::from(*byte) * 5 + 1);
    let mut ballast: Vec<Option<Box<[u8]>>> = sizes.map(|size| Some(vec![0; size].into())).collect();
    ballast.iter_mut().step_by(3).for_each(|piece| drop(piece.take()));
    assert_eq!(first, play_once(&source, &percepts), "{source}");
}

fn play_once(source: &str, percepts: &[u8]) -> Played {
    let mut played = Played::default();
    let Ok(mut script) = Script::load("fuzz.luau", source.as_bytes()) else {
        return played;
    };
    let mut mind = script.awaken(&Newborn::first("red", MapSize::new(10, 10).expect("a size")));
    for (step, choice) in (0..).zip([0; 4].iter().chain(percepts)) {
        perceive(&mut *mind, *choice);
        let mut acts = Vec::new();
        mind.decide(GameTime::from_units(step * 7), &mut acts);
        assert!(acts.len() <= SHOWS_MAX + 10, "{} acts at once", acts.len());
        let used = script.counts().memory_bytes;
        assert!(used <= MEMORY_BYTES_MAX + GROWTH_BYTES_MAX, "{used} bytes");
        if script.is_suspended() && choice % 16 == 15 {
            script.resume();
        }
        played.0.append(&mut acts);
    }
    played.1 = std::iter::from_fn(|| script.next_event()).collect();
    played
}

fn perceive(mind: &mut dyn Mind, choice: u8) {
    let sights = [Sight {
        agents: 1,
        ..Sight::default()
    }; 4];
    let direction = choice / 8 % 9;
    mind.perceive(&match choice % 8 {
        0 | 1 => Percept::Ok,
        2 => Percept::Ko,
        3 => Percept::Look(sights.into()),
        4 => Percept::Inventory {
            inventory: Counts::ZERO,
            life_units: 0,
        },
        5 => Percept::Message {
            direction,
            text: (*b"food").into(),
        },
        6 if choice > 127 => Percept::ElevationUnderway,
        6 => Percept::Pushed { direction },
        _ => Percept::Level(Level::FIRST),
    });
}

/// Choices that reach each statement and each expression.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let seed =
        |first: u8| (0..48).map(move |place: u8| first.wrapping_mul(7).wrapping_add(place.wrapping_mul(5)));
    (0..KINDS as u8)
        .map(|first| std::iter::once(first).chain(seed(first)).collect())
        .collect()
}
