//! The last commands of each agent with their responses, for the inspector; and how long teams take to decide.
//!
//! Viewers are not sent responses, so they are inferred from events: a refused command is answered `ko`; taking,
//! putting and pushing are answered `ok` exactly when something was taken, put or pushed.

use std::collections::{BTreeMap, VecDeque};

use trantor_client::{FeedEntry, FeedKind, RitualOutcome, Who};
use trantor_model::{AgentId, CommandKind, TeamId};

/// Commands kept for each agent: as many as the inspector shows.
const COMMANDS_MAX: usize = 6;
/// Agents with commands: more than any game has at once.
const AGENTS_MAX: usize = 16_384;
/// For how long an elevation holds its participants at least: it begins while they carry out other commands.
const HELD_UNITS_LEAST: i128 =
    CommandKind::Incantation.duration_units() as i128 - CommandKind::Fork.duration_units() as i128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandRecord {
    /// When it began, in whole units.
    pub units: i128,
    pub kind: CommandKind,
    /// `ok` or `ko`; `None` while it is unknown.
    pub response: Option<&'static str>,
    /// The object or the text.
    pub detail: String,
}

#[derive(Debug, Default)]
pub(super) struct ActivityLog {
    commands: BTreeMap<AgentId, VecDeque<CommandRecord>>,
    /// When an agent was free for its next command, in whole units.
    free_at: BTreeMap<AgentId, i128>,
}

/// What is counted of a team, since this viewer has seen the match.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TeamTally {
    pub deaths: u32,
    /// Units in which its agents carried out commands, and in which they were free and had none.
    busy: i128,
    idle: i128,
}

impl TeamTally {
    /// The part of the time in which its agents were free and had no command; `None` where no commands were seen.
    pub(super) fn idle_share(&self) -> Option<f64> {
        (self.busy > 0).then(|| self.idle as f64 / (self.busy + self.idle) as f64)
    }
}

impl ActivityLog {
    pub(super) fn add(&mut self, entry: &FeedEntry, tallies: &mut BTreeMap<TeamId, TeamTally>) {
        let units = entry.at.whole_units();
        let mut tally =
            |who: &Who, count: &dyn Fn(&mut TeamTally)| count(tallies.entry(who.team).or_default());
        match &entry.kind {
            FeedKind::Started(who, kind) | FeedKind::Refused(who, kind) => {
                let is_refused = matches!(entry.kind, FeedKind::Refused(..));
                self.begin(who.agent, units, *kind, is_refused.then_some("ko"));
                let busy = i128::from(kind.duration_units());
                let free_at = self.free_at.insert(who.agent, units + busy);
                let idle = free_at.map_or(0, |free_at| (units - free_at).max(0));
                tally(who, &|tally| {
                    (tally.busy, tally.idle) = (tally.busy + busy, tally.idle + idle)
                });
            }
            // Some of these were held by it, and could not begin anything.
            FeedKind::RitualEnded(_, _, RitualOutcome::Broke { .. }) => {
                self.free_at
                    .retain(|_, free_at| units - *free_at < HELD_UNITS_LEAST);
            }
            FeedKind::Carried(who, resource, taken) => {
                let kind = if *taken {
                    CommandKind::Take
                } else {
                    CommandKind::Set
                };
                self.succeed(who.agent, kind, resource.name().to_owned());
            }
            FeedKind::Said(who, words) => {
                let text = format!("“{}”", super::words::line(words, super::feed::TEXT_CHARS_MAX));
                self.succeed(who.agent, CommandKind::Broadcast, text);
            }
            FeedKind::Pushed(who) => self.succeed(who.agent, CommandKind::Eject, String::new()),
            FeedKind::Rose(who, level) => {
                self.free_at.insert(who.agent, units);
                let level = format!("level {}", level.get());
                self.succeed(who.agent, CommandKind::Incantation, level);
            }
            FeedKind::Died(who, _) | FeedKind::Left(who, _) => {
                self.commands.remove(&who.agent);
                self.free_at.remove(&who.agent);
                let deaths = u32::from(matches!(entry.kind, FeedKind::Died(..)));
                tally(who, &|tally| tally.deaths += deaths);
            }
            _ => {}
        }
    }

    /// The commands of an agent, newest first, with their responses. `is_busy`: the newest is still being executed.
    pub(super) fn of(
        &self,
        agent: AgentId,
        is_busy: bool,
    ) -> impl Iterator<Item = (&CommandRecord, Option<&'static str>)> {
        let own = self.commands.get(&agent).into_iter().flatten();
        own.enumerate().map(move |(place, command)| {
            let is_over = place > 0 || !is_busy;
            let inferred = is_over.then(|| response_without_event(command.kind));
            (command, command.response.or(inferred))
        })
    }

    fn begin(&mut self, agent: AgentId, units: i128, kind: CommandKind, response: Option<&'static str>) {
        if self.commands.len() == AGENTS_MAX && !self.commands.contains_key(&agent) {
            let first = self.commands.pop_first();
            first.map(|(agent, _)| self.free_at.remove(&agent));
        }
        let own = self.commands.entry(agent).or_default();
        own.truncate(COMMANDS_MAX - 1);
        own.push_front(CommandRecord {
            units,
            kind,
            response,
            detail: String::new(),
        });
    }

    fn succeed(&mut self, agent: AgentId, kind: CommandKind, detail: String) {
        let last = self.commands.get_mut(&agent).and_then(VecDeque::front_mut);
        if let Some(last) = last.filter(|last| last.kind == kind) {
            last.response = Some("ok");
            last.detail = detail;
        }
    }
}

/// The response to a command that ended without an event about it.
fn response_without_event(kind: CommandKind) -> &'static str {
    match kind {
        CommandKind::Take | CommandKind::Set | CommandKind::Eject | CommandKind::Incantation => "ko",
        _ => "ok",
    }
}

#[cfg(test)]
mod tests {
    use trantor_model::{Level, Resource, Tile};
    use trantor_time::GameTime;

    use super::*;

    #[test]
    fn responses_follow_from_events() {
        let (agent, other, team) = (AgentId(7), AgentId(8), TeamId(0));
        let who = Who { agent, team };
        let mut log = ActivityLog::default();
        for kind in [
            FeedKind::Started(who, CommandKind::Take),
            FeedKind::Carried(who, Resource::Food, true),
            FeedKind::Started(who, CommandKind::Take),
            FeedKind::Started(Who { agent: other, team }, CommandKind::Look),
            FeedKind::Started(who, CommandKind::Forward),
            FeedKind::Refused(who, CommandKind::Forward),
            FeedKind::Started(who, CommandKind::Eject),
        ] {
            let at = GameTime::from_units(100);
            log.add(&FeedEntry { at, kind }, &mut BTreeMap::new());
        }
        let responses = |is_busy| {
            let line = |(command, response): (&CommandRecord, Option<&str>)| {
                let response = response.unwrap_or("…");
                format!("{:?} {} {response}", command.kind, command.detail)
            };
            log.of(agent, is_busy).map(line).collect::<Vec<_>>()
        };
        let all = [
            "Eject  …",
            "Forward  ko",
            "Forward  ok",
            "Take  ko",
            "Take food ok",
        ];
        assert_eq!(responses(true), all);
        assert_eq!(responses(false)[0], "Eject  ko", "no agent was pushed");
    }

    #[test]
    fn a_team_is_idle_while_its_agents_are_free_and_have_no_command() {
        let (mut log, mut tallies) = (ActivityLog::default(), BTreeMap::new());
        let (agent, team, tile) = (AgentId(7), TeamId(0), Tile { x: 1, y: 2 });
        let who = Who { agent, team };
        let broke = RitualOutcome::Broke {
            team: None,
            pushed_away: None,
        };
        for (units, kind) in [
            (100, FeedKind::Started(who, CommandKind::Forward)),
            (107, FeedKind::Started(who, CommandKind::Look)),
            // Three units late.
            (117, FeedKind::Started(who, CommandKind::Take)),
            (400, FeedKind::RitualEnded(tile, Level::FIRST, broke)),
            (404, FeedKind::Started(who, CommandKind::Forward)),
            (711, FeedKind::Rose(who, Level::FIRST)),
            (715, FeedKind::Started(who, CommandKind::Forward)),
            (722, FeedKind::Died(who, Level::FIRST)),
        ] {
            let at = GameTime::from_units(units);
            log.add(&FeedEntry { at, kind }, &mut tallies);
        }
        let tally = tallies[&team];
        assert_eq!((tally.deaths, tally.idle_share()), (1, Some(7.0 / 42.0)));
        assert_eq!(TeamTally::default().idle_share(), None);
    }
}
