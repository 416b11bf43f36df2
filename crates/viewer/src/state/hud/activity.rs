//! The last commands of each agent with their responses, for the inspector.
//!
//! Viewers are not sent responses, so they are inferred from events: a refused command is answered `ko`; taking,
//! putting and pushing are answered `ok` exactly when something was taken, put or pushed.

use std::collections::{BTreeMap, VecDeque};

use trantor_client::{FeedEntry, FeedKind};
use trantor_model::{AgentId, CommandKind};

/// Commands kept for each agent: as many as the inspector shows.
const COMMANDS_MAX: usize = 6;
/// Agents with commands: more than any game has at once.
const AGENTS_MAX: usize = 16_384;
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
}

impl ActivityLog {
    pub(super) fn add(&mut self, entry: &FeedEntry) {
        let units = entry.at.whole_units();
        match &entry.kind {
            FeedKind::Started(who, kind) => self.begin(who.agent, units, *kind, None),
            FeedKind::Refused(who, kind) => self.begin(who.agent, units, *kind, Some("ko")),
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
                let level = format!("level {}", level.get());
                self.succeed(who.agent, CommandKind::Incantation, level);
            }
            FeedKind::Died(who, _) | FeedKind::Left(who, _) => drop(self.commands.remove(&who.agent)),
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
            self.commands.pop_first();
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
    use trantor_client::Who;
    use trantor_model::{Resource, TeamId};
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
            log.add(&FeedEntry { at, kind });
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
}
