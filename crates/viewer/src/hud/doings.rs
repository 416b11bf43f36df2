//! What agents did lately, and what was answered: for the inspector.
//!
//! Answers are not told to viewers; what they were follows from what came of a command. One that is refused is
//! answered `ko`; taking, putting and pushing are answered `ok` exactly when something was taken, put or pushed.

use std::collections::{BTreeMap, VecDeque};

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
    /// The number of the oldest one kept; they are numbered as they come.
    first: u64,
    /// The number of each agent's last one, if that is kept: thousands begin something in a frame, and looking for each
    /// one's last from the end took longer than the frame.
    last_of: BTreeMap<AgentId, u64>,
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
        if self.doings.len() == DOINGS_MAX
            && let Some(oldest) = self.doings.pop_front()
        {
            if self.last_of.get(&oldest.agent) == Some(&self.first) {
                self.last_of.remove(&oldest.agent);
            }
            self.first += 1;
        }
        self.last_of
            .insert(who.agent, self.first + self.doings.len() as u64);
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
        let number = self.last_of.get(&agent)?;
        self.doings.get_mut((number - self.first) as usize)
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

    /// Against a dull model that looks through all that is kept.
    #[test]
    fn the_last_of_each_is_found_as_long_as_it_is_kept() {
        let mut doings = Doings::default();
        for step in 0..3 * DOINGS_MAX {
            // Some are often at it, and most so seldom that their last is forgotten.
            let number = if step % 3 == 0 { step % 7 } else { step };
            let who = Who {
                agent: AgentId(u32::try_from(number).unwrap()),
                ..WHO
            };
            doings.begin(who, 0, CommandKind::Left, Answer::UnderWay);
            for agent in [who.agent, AgentId(3), AgentId(8)] {
                let kept = &doings.doings;
                let found = kept.iter().rposition(|doing| doing.agent == agent);
                let expected = found.map(|place| doings.first + place as u64);
                assert_eq!(
                    doings.last_of.get(&agent).copied(),
                    expected,
                    "{agent:?} at {step}"
                );
                assert_eq!(doings.last(agent).map(|doing| doing.agent), found.map(|_| agent));
            }
        }
        assert!(doings.last_of.len() <= DOINGS_MAX);
        let agents: std::collections::BTreeSet<_> = doings.doings.iter().map(|doing| doing.agent).collect();
        assert_eq!(
            doings.last_of.len(),
            agents.len(),
            "and nobody else is remembered"
        );
    }
}
