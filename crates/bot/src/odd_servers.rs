//! Servers that differ from ours in what they answer, and when, on a manual clock.
//!
//! What an agent makes of each within a minute stands in `tests/odd_servers.txt`. `BLESS=1` rewrites it.

use std::fmt::Write as _;

use trantor_protocol::text::Dialect;
use trantor_time::{RealSpan, RealTime};

use crate::team::{Overdue, Player, TeamUnits};

/// How long each server is played on.
const MATCH: RealSpan = RealSpan::from_secs(60);

/// How long a request takes, whatever it is.
const REQUEST: RealSpan = RealSpan::from_millis(70);

/// What a server answers to a request, as ours would.
fn usual(request: &str) -> Option<&str> {
    Some(match request {
        "Look" => "[ player food, food, linemate,]",
        "Inventory" => "[ food 9, linemate 0 ]",
        "Connect_nbr" => "0",
        "Incantation" => "ko",
        _ => "ok",
    })
}

/// An oddity: the answer to one request, which is the nth of its write.
type Answer = fn(request: &str, nth: usize) -> Option<&str>;

/// The oddities, with how late an answer comes, and whether those of one write come in reverse.
const ODDITIES: [(&str, Answer, i64, bool); 12] = [
    ("as ours", |request, _| usual(request), 0, false),
    (
        "ko to Look",
        |request, _| {
            if request == "Look" {
                Some("ko")
            } else {
                usual(request)
            }
        },
        0,
        false,
    ),
    (
        "ko to Look, a list to Inventory, ok to all else",
        |request, _| match request {
            "Look" => Some("ko"),
            "Inventory" => usual(request),
            _ => Some("ok"),
        },
        0,
        false,
    ),
    ("ko to anything", |_, _| Some("ko"), 0, false),
    ("ok to anything", |_, _| Some("ok"), 0, false),
    (
        "no answer to Look",
        |request, _| if request == "Look" { None } else { usual(request) },
        0,
        false,
    ),
    (
        "no answer to Inventory and Connect_nbr",
        |request, _| match request {
            "Inventory" | "Connect_nbr" => None,
            _ => usual(request),
        },
        0,
        false,
    ),
    (
        "a look in another form",
        |request, _| match request {
            "Look" => Some("<player food><food><linemate><>"),
            _ => usual(request),
        },
        0,
        false,
    ),
    (
        "one answer for each write",
        |request, nth| if nth == 0 { usual(request) } else { None },
        0,
        false,
    ),
    (
        "answers three seconds late",
        |request, _| usual(request),
        3_000,
        false,
    ),
    (
        "answers of a write in reverse",
        |request, _| usual(request),
        0,
        true,
    ),
    ("no answer at all", |_, _| None, 0, false),
];

/// Plays on such a server; answers what the agent did.
fn play(answer: Answer, late_ms: i64, is_reversed: bool) -> String {
    let (mut now, mut passed) = (RealTime::ZERO, TeamUnits::default());
    let mut player = Player::new(b"red", Dialect::Epitech, 1, 10);
    player.take_in(b"WELCOME\n0\n10 10\n");
    player.dialogue.unsent().drain(.."red\n".len());
    let mut overdue = Overdue::new(passed, now);
    let mut free_at = now;
    let (mut sent_at, mut silence) = (now, RealSpan::ZERO);
    let mut counts = [("Look", 0), ("Forward", 0), ("Take food", 0)];
    let (mut writes, mut again, mut many_until) = (0, 0, None);
    let mut kept = Vec::new();
    while now < RealTime::ZERO.saturating_add(MATCH) {
        let written = String::from_utf8(std::mem::take(player.dialogue.unsent())).expect("requests are text");
        if !written.is_empty() {
            writes += 1;
            silence = silence.max(now.since(sent_at));
            sent_at = now;
        }
        let requests: Vec<&str> = written.lines().collect();
        if requests.len() > 1 {
            many_until = Some(now);
        }
        let mut batch = Vec::new();
        for (nth, request) in requests.into_iter().enumerate() {
            for (word, count) in &mut counts {
                *count += u32::from(request == *word);
            }
            free_at = free_at.max(now) + REQUEST;
            if let Some(line) = answer(request, nth) {
                batch.push((free_at, line.to_owned()));
            }
        }
        if is_reversed {
            let at: Vec<RealTime> = batch.iter().map(|(at, _)| *at).collect();
            batch.reverse();
            batch.iter_mut().zip(at).for_each(|(answer, at)| answer.0 = at);
        }
        kept.extend(batch);
        let awaited = player.dialogue.awaited_units();
        let next = kept
            .first()
            .map(|(at, _): &(RealTime, String)| at.saturating_add(RealSpan::from_millis(late_ms)));
        match next {
            Some(at) if at <= overdue.at(awaited) => {
                now = at;
                let (_, line) = kept.remove(0);
                player.take_in(format!("{line}\n").as_bytes());
                if let Some(units) = player.answered_units.take() {
                    overdue.answered(units, &mut passed, now);
                }
            }
            _ => {
                now = overdue.at(awaited);
                again += 1;
                player.ask_again();
                overdue.asked_again(passed, now);
            }
        }
    }
    let [looks, steps, meals] = counts.map(|(_, count)| count);
    let many = match many_until {
        Some(at) if now.since(at) < RealSpan::from_secs(5) => "several at a time".to_owned(),
        Some(at) => format!(
            "one at a time after {} ms",
            at.since(RealTime::ZERO).as_nanos() / 1_000_000
        ),
        None => "one at a time".to_owned(),
    };
    format!(
        "{writes} writes, silent for {} ms at most, asked again {again} times, {many}; {looks} looks, {steps} steps, {meals} meals",
        silence.as_nanos() / 1_000_000,
    )
}

#[test]
fn agents_go_on_asking_whatever_a_server_answers() {
    let mut played = String::new();
    for (name, answer, late_ms, is_reversed) in ODDITIES {
        writeln!(played, "{name}: {}", play(answer, late_ms, is_reversed)).expect("a string takes all");
    }
    trantor_transcript::check_file(env!("CARGO_MANIFEST_DIR"), "tests/odd_servers.txt", |_| played);
}
