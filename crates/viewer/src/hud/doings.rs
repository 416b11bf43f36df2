//! What agents did lately, and what was answered: for the inspector.
//!
//! Answers are not told to viewers; what they were follows from what came of a command. One that is refused is
//! answered `ko`; taking, putting and pushing are answered `ok` exactly when something was taken, put or pushed.

use std::collections::VecDeque;

use trantor_client::feed::FeedKind;
use trantor_client::speech;
use trantor_client::{FeedEntry, Who};
use trantor_model::{AgentId, CommandKind};

/// Doings of all agents kept, so that one who is selected has a past: a few seconds of a busy game.
const DOINGS_MAX: usize = 4_096;
/// Doings of one agent shown.
pub(super) const SHOWN_MAX: usize = 6;

/// One command of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Doing {
    pub(super) agent: AgentId,
    /// When it began, in whole units.
    pub(super) units: i128,
    pub(super) kind: CommandKind,
    pub(super) answer: Answer,
    /// With what, or what was said, as it came.
    pub(super) detail: String,
}

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing yet.
    UnderWay,
    Ok,
    Ko,
}

/// Doings of all agents, oldest first.
#[derive(Debug, Default)]
pub(super) struct Doings {
    doings: VecDeque<Doing>,
}

impl Doings {
    /// Takes over what an entry says.
    pub(super) fn tell(&mut self, entry: &FeedEntry) {
        let units = entry.at.whole_units();
        match &entry.kind {
            FeedKind::Started(who, kind) => {
                self.end_last(who.agent);
                self.begin(*who, units, *kind, Answer::UnderWay);
            }
            FeedKind::Refused(who, kind) => {
                self.end_last(who.agent);
                self.begin(*who, units, *kind, Answer::Ko);
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
                let said = format!("“{}”", speech::line(words, super::feed::WORDS_FULL));
                self.succeed(who.agent, CommandKind::Broadcast, said);
            }
            FeedKind::Pushed(who) => self.succeed(who.agent, CommandKind::Eject, String::new()),
            FeedKind::Rose(who, level) => {
                self.succeed(
                    who.agent,
                    CommandKind::Incantation,
                    format!("level {}", level.get()),
                );
            }
            _ => {}
        }
    }

    /// What an agent did, newest first. `is_busy` tells whether it is still at the newest.
    pub(super) fn of(&self, agent: AgentId, is_busy: bool) -> impl Iterator<Item = (&Doing, Answer)> {
        let own = self.doings.iter().rev().filter(move |doing| doing.agent == agent);
        own.take(SHOWN_MAX).enumerate().map(move |(place, doing)| {
            let is_over = place > 0 || !is_busy;
            let answer = match doing.answer {
                Answer::UnderWay if is_over => unless_told(doing.kind),
                answer => answer,
            };
            (doing, answer)
        })
    }

    fn begin(&mut self, who: Who, units: i128, kind: CommandKind, answer: Answer) {
        if self.doings.len() == DOINGS_MAX {
            self.doings.pop_front();
        }
        self.doings.push_back(Doing {
            agent: who.agent,
            units,
            kind,
            answer,
            detail: String::new(),
        });
    }

    /// The last one of an agent is over, since it begins another.
    fn end_last(&mut self, agent: AgentId) {
        if let Some(last) = self.last(agent)
            && last.answer == Answer::UnderWay
        {
            last.answer = unless_told(last.kind);
        }
    }

    fn succeed(&mut self, agent: AgentId, kind: CommandKind, detail: String) {
        if let Some(last) = self.last(agent)
            && last.kind == kind
        {
            last.answer = Answer::Ok;
            last.detail = detail;
        }
    }

    fn last(&mut self, agent: AgentId) -> Option<&mut Doing> {
        self.doings.iter_mut().rev().find(|doing| doing.agent == agent)
    }
}

/// What a command was answered of which nothing more was told.
fn unless_told(kind: CommandKind) -> Answer {
    match kind {
        CommandKind::Take | CommandKind::Set | CommandKind::Eject | CommandKind::Incantation => Answer::Ko,
        _ => Answer::Ok,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trantor_model::{Resource, TeamId};
    use trantor_time::GameTime;

    const WHO: Who = Who {
        agent: AgentId(7),
        team: TeamId(0),
    };

    fn told(kinds: &[FeedKind]) -> Doings {
        let mut doings = Doings::default();
        for (units, kind) in (100..).zip(kinds) {
            doings.tell(&FeedEntry {
                at: GameTime::from_units(units),
                kind: kind.clone(),
            });
        }
        doings
    }

    fn answers(doings: &Doings, is_busy: bool) -> Vec<(CommandKind, Answer)> {
        doings
            .of(WHO.agent, is_busy)
            .map(|(doing, answer)| (doing.kind, answer))
            .collect()
    }

    #[test]
    fn answers_follow_from_what_came_of_commands() {
        let other = Who {
            agent: AgentId(8),
            team: TeamId(1),
        };
        let doings = told(&[
            FeedKind::Started(WHO, CommandKind::Take),
            FeedKind::Carried(WHO, Resource::Food, true),
            FeedKind::Started(WHO, CommandKind::Take),
            FeedKind::Started(other, CommandKind::Look),
            FeedKind::Started(WHO, CommandKind::Forward),
            FeedKind::Refused(WHO, CommandKind::Forward),
            FeedKind::Started(WHO, CommandKind::Eject),
        ]);
        let before = [
            (CommandKind::Forward, Answer::Ko),
            (CommandKind::Forward, Answer::Ok),
            (CommandKind::Take, Answer::Ko),
            (CommandKind::Take, Answer::Ok),
        ];
        let with = |last| {
            let mut all = vec![(CommandKind::Eject, last)];
            all.extend(before);
            all
        };
        assert_eq!(answers(&doings, true), with(Answer::UnderWay));
        assert_eq!(answers(&doings, false), with(Answer::Ko), "nobody was pushed");
        assert_eq!(doings.of(WHO.agent, true).last().unwrap().0.detail, "food");
        assert_eq!(doings.of(AgentId(8), true).count(), 1);
    }

    #[test]
    fn few_are_kept() {
        let many: Vec<FeedKind> = (0..DOINGS_MAX + 10)
            .map(|_| FeedKind::Started(WHO, CommandKind::Left))
            .collect();
        let doings = told(&many);
        assert_eq!(doings.doings.len(), DOINGS_MAX);
        assert_eq!(doings.of(WHO.agent, false).count(), SHOWN_MAX);
    }
}
