//! What happened, in words: one line for each entry of the feed, for screens without panels.

use std::collections::VecDeque;

use trantor_client::speech::{Talk, line};
use trantor_client::{FeedEntry, FeedKind, SceneTeam, Who};
use trantor_model::TeamId;

/// Lines kept: more than any terminal has rows.
const LINES_MAX: usize = 200;
/// Characters of what is said that are shown: what a terminal of usual width has beside the time and the name.
const SAID_MAX: usize = 60;

/// The last lines of what happened.
#[derive(Clone, Debug, Default)]
pub struct FeedLines {
    lines: VecDeque<Line>,
}

/// One of them; what a team says in one go is one line.
#[derive(Clone, Debug)]
struct Line {
    /// When; of a talk, when its last words were said.
    units: i128,
    text: String,
    talk: Option<Talk>,
}

impl FeedLines {
    /// Adds what is worth a line: not every step and every bite.
    pub fn add(&mut self, entry: &FeedEntry, teams: &[SceneTeam]) {
        let units = entry.at.whole_units();
        if let FeedKind::Said(who, said) = &entry.kind {
            self.say(units, *who, said, teams);
        } else if let Some(words) = words(&entry.kind, teams) {
            let text = timed(units, &words);
            self.push(Line {
                units,
                text,
                talk: None,
            });
        }
    }

    fn say(&mut self, units: i128, who: Who, said: &[u8], teams: &[SceneTeam]) {
        let words = |talk: &Talk| timed(talk.placed(), &talk_in_words(talk, &team_name(teams, who.team)));
        let goes_on = |line: &Line| {
            line.talk
                .as_ref()
                .is_some_and(|talk| talk.goes_on(units, who.team))
        };
        let place = self.lines.iter().rposition(goes_on);
        if let Some(place) = place
            && let Some(line) = self.lines.get_mut(place)
            && let Some(talk) = &mut line.talk
        {
            let goes_up = talk.add(units, who, said);
            line.text = words(talk);
            line.units = units;
            if goes_up && let Some(line) = self.lines.remove(place) {
                self.lines.push_back(line);
            }
            return;
        }
        let talk = Talk::new(units, who, said);
        self.push(Line {
            units,
            text: words(&talk),
            talk: Some(talk),
        });
    }

    fn push(&mut self, line: Line) {
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// What is shown was moved back: what happened later has not happened.
    pub fn go_back_to(&mut self, units: i128) {
        self.lines.retain(|line| line.units <= units);
    }

    /// The newest lines first.
    pub fn newest(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().rev().map(|line| line.text.as_str())
    }
}

fn talk_in_words(talk: &Talk, team: &str) -> String {
    let said = talk
        .for_people()
        .map(|(agent, words)| (agent, line(words, SAID_MAX)));
    match (said, talk.count) {
        (Some((agent, words)), 1) => format!("{team} #{}: {words}", agent.0),
        (Some((_, words)), count) => format!("{team} talks ({count}): {words}"),
        (None, count) => format!("{team} talks ({count})"),
    }
}

fn timed(units: i128, words: &str) -> String {
    format!("{units:>7} {words}")
}

fn team_name(teams: &[SceneTeam], team: TeamId) -> String {
    let known = teams.get(usize::from(team.0));
    known.map_or("somebody".to_owned(), |team| team.name.to_string())
}

/// What happened; `None` if it happens all the time, or is what somebody said.
fn words(kind: &FeedKind, teams: &[SceneTeam]) -> Option<String> {
    let team = |team| team_name(teams, team);
    let who = |who: &Who| format!("{} #{}", team(who.team), who.agent.0);
    Some(match kind {
        FeedKind::Joined(agent) => format!("{} is born", who(agent)),
        FeedKind::Died(agent, level) => format!("{} dies at level {}", who(agent), level.get()),
        FeedKind::Left(agent, level) => format!("{} leaves at level {}", who(agent), level.get()),
        FeedKind::Pushed(agent) => format!("{} pushes", who(agent)),
        FeedKind::EggLaid(egg, of, _) => format!("egg #{} for {}", egg.0, team(*of)),
        FeedKind::EggBroken(egg, of, _) => format!("egg #{} of {} breaks", egg.0, team(*of)),
        FeedKind::RitualStarted(tile, level, agents) => format!(
            "{agents} rise from level {} at {},{} …",
            level.get(),
            tile.x,
            tile.y
        ),
        FeedKind::RitualEnded(tile, level, true) => {
            format!("… from level {} at {},{}: they rose", level.get(), tile.x, tile.y)
        }
        FeedKind::RitualEnded(tile, level, false) => {
            format!("… from level {} at {},{}: in vain", level.get(), tile.x, tile.y)
        }
        FeedKind::Won(of) => format!("{} wins", team(*of)),
        FeedKind::Said(..)
        | FeedKind::Rose(..)
        | FeedKind::Started(..)
        | FeedKind::Refused(..)
        | FeedKind::Carried(..) => return None,
    })
}

#[cfg(test)]
mod tests {
    use trantor_model::{AgentId, Level};
    use trantor_time::GameTime;

    use super::*;

    #[test]
    fn lines_are_bounded_and_newest_first() {
        let teams = [SceneTeam {
            name: "red".into(),
            ..SceneTeam::default()
        }];
        let mut lines = FeedLines::default();
        for unit in 0..500 {
            let who = Who {
                agent: AgentId(unit),
                team: TeamId(0),
            };
            let at = GameTime::from_units(i64::from(unit));
            lines.add(
                &FeedEntry {
                    at,
                    kind: FeedKind::Died(who, Level::FIRST),
                },
                &teams,
            );
            lines.add(
                &FeedEntry {
                    at,
                    kind: FeedKind::Rose(who, Level::FIRST),
                },
                &teams,
            );
        }
        assert_eq!(lines.newest().count(), LINES_MAX);
        assert_eq!(lines.newest().next(), Some("    499 red #499 dies at level 1"));
        lines.go_back_to(450);
        assert_eq!(lines.newest().next(), Some("    450 red #450 dies at level 1"));
    }

    #[test]
    fn what_a_team_says_is_a_line_that_counts_and_keeps_its_place_for_a_while() {
        let teams = ["red", "blue"].map(|name| SceneTeam {
            name: name.into(),
            ..SceneTeam::default()
        });
        let mut lines = FeedLines::default();
        let mut say = |units, team, words: &[u8]| {
            let who = Who {
                agent: AgentId(3),
                team: TeamId(team),
            };
            let kind = FeedKind::Said(who, words.into());
            let at = GameTime::from_units(units);
            lines.add(&FeedEntry { at, kind }, &teams);
            lines.newest().map(str::to_owned).collect::<Vec<_>>()
        };
        say(10, 0, b"come here");
        assert_eq!(say(20, 1, b"t1.7.8.g.99")[0], "     20 blue talks (1)");
        let both = ["     20 blue talks (1)", "     10 red talks (2): come here"];
        assert_eq!(say(200, 0, b"t1.7.8.g.99"), both);
        let both = ["    311 red talks (3): come here", "     20 blue talks (1)"];
        assert_eq!(say(311, 0, b"t1.7.8.g.99"), both);
        assert_eq!(say(321, 1, b"hello").len(), 3, "blue was silent for long");
    }
}
