//! What happened, in words: one line for each entry of the feed.

use std::collections::VecDeque;

use crate::feed::{FeedEntry, FeedKind, Who};
use crate::link::readable;
use crate::scene::SceneTeam;

/// Lines kept: more than any terminal has rows.
pub const LINES_MAX: usize = 200;

/// The last lines of what happened.
#[derive(Clone, Debug, Default)]
pub struct FeedLines {
    lines: VecDeque<String>,
}

impl FeedLines {
    /// Adds what is worth a line: not every step and every bite.
    pub fn add(&mut self, entry: &FeedEntry, teams: &[SceneTeam]) {
        let Some(words) = words(&entry.kind, teams) else {
            return;
        };
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.lines
            .push_back(format!("{:>7} {words}", entry.at.whole_units()));
    }

    /// The newest lines first.
    pub fn newest(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().rev().map(String::as_str)
    }
}

/// What happened; `None` if it happens all the time.
fn words(kind: &FeedKind, teams: &[SceneTeam]) -> Option<String> {
    let team = |team: trantor_model::TeamId| {
        teams
            .get(usize::from(team.0))
            .map_or("somebody".to_owned(), |team| team.name.to_string())
    };
    let who = |who: &Who| format!("{} #{}", team(who.team), who.agent.0);
    Some(match kind {
        FeedKind::Joined(agent) => format!("{} is born", who(agent)),
        FeedKind::Died(agent, level) => format!("{} dies at level {}", who(agent), level.get()),
        FeedKind::Left(agent, level) => format!("{} leaves at level {}", who(agent), level.get()),
        FeedKind::Said(agent, text) => {
            format!("{}: {}", who(agent), readable(&String::from_utf8_lossy(text)))
        }
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
        FeedKind::Rose(..) | FeedKind::Started(..) | FeedKind::Refused(..) | FeedKind::Carried(..) => {
            return None;
        }
    })
}

#[cfg(test)]
mod tests {
    use trantor_model::{AgentId, Level, TeamId};
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
    }
}
