//! Answers that describe the world piece by piece, and how far each has come.
//!
//! The order is fixed: tiles, teams, agents, eggs, elevations, the winner. A viewer in the middle of it gets updates of the part
//! it has, and of no other: the rest is described as of when it is sent.

use trantor_game::{Game, RitualId};
use trantor_model::{AgentId, EggId, TeamId, Tile};

/// What a line is about, in the order in which the world is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Tile(usize),
    Team(usize),
    Agent(AgentId),
    Egg(EggId),
    /// An elevation under way.
    Ritual(RitualId),
    /// The team that has won.
    Winner,
    /// Nothing: the world was sent.
    End,
}

impl Subject {
    /// What comes first.
    pub(crate) const FIRST: Self = Self::Tile(0);
}

/// Lines, each with what it is about if that is part of the world.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// Each with where it ends.
    subjects: Vec<(Option<Subject>, usize)>,
}

impl Lines {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Those that are about nothing in the world, and about what `is_sent` says.
    pub(crate) fn only(&self, is_sent: impl Fn(Subject) -> bool) -> Vec<u8> {
        let lines = self.iter().filter(|(subject, _)| subject.is_none_or(&is_sent));
        lines.flat_map(|(_, line)| line).copied().collect()
    }

    fn iter(&self) -> impl Iterator<Item = (Option<Subject>, &[u8])> {
        let mut from = 0;
        self.subjects.iter().map(move |&(subject, end)| {
            let line = &self.bytes[from..end];
            from = end;
            (subject, line)
        })
    }

    pub(crate) fn write(&mut self, subject: Option<Subject>, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.subjects.push((subject, self.bytes.len()));
    }

    pub(crate) fn append(&mut self, behind: &mut Self) {
        let before = self.bytes.len();
        self.bytes.append(&mut behind.bytes);
        let subjects = behind.subjects.drain(..);
        self.subjects
            .extend(subjects.map(|(subject, end)| (subject, before + end)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.subjects.clear();
    }
}

/// An answer that goes through the world, piece by piece.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) kind: AnswerKind,
    pub(crate) next: Subject,
    /// What the viewer knows from before.
    pub(crate) known: Known,
}

/// What it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// The word by which a viewer began to watch.
    Greeting,
    /// Nothing: the world is another one, since the recording that is shown was moved.
    Seek,
    /// A question about the map, or nothing: the ground was filled up.
    Map,
}

/// What a viewer knew before a recording was moved, and was not sent since. A new viewer knows nothing.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) teams: usize,
    /// In ascending order.
    agents: Vec<AgentId>,
    /// In ascending order.
    eggs: Vec<EggId>,
    /// In ascending order, with where they are.
    rituals: Vec<(RitualId, Tile)>,
    /// The winner that it was sent.
    pub(crate) winner: Option<TeamId>,
}

impl Answer {
    /// One of which nothing was sent yet.
    pub(crate) fn new(kind: AnswerKind) -> Self {
        Self {
            kind,
            next: Subject::FIRST,
            known: Known::default(),
        }
    }

    pub(crate) fn until(&self) -> Subject {
        match self.kind {
            AnswerKind::Map => Subject::Team(0),
            AnswerKind::Greeting | AnswerKind::Seek => Subject::End,
        }
    }

    /// Whether the viewer does not know the world before the end of this.
    pub(crate) fn is_world(&self) -> bool {
        self.until() == Subject::End
    }

    /// Whether the viewer was sent this, so that it is sent updates about it.
    pub(crate) fn has_sent(&self, subject: Subject) -> bool {
        match subject {
            Subject::Team(team) if team < self.known.teams => true,
            _ => subject < self.next,
        }
    }

    /// The recording was moved away from `before`: everything is sent once more.
    pub(crate) fn restart(&mut self, before: &Game) {
        self.known = Known::by(self, before);
        self.next = Subject::FIRST;
    }
}

impl Known {
    /// All agents and eggs of this game.
    pub(crate) fn all(game: &Game) -> Self {
        Self {
            teams: game.config().teams.len(),
            agents: game.world().agents().map(|agent| agent.id).collect(),
            eggs: game.world().eggs().map(|egg| egg.id).collect(),
            rituals: game
                .world()
                .rituals()
                .map(|ritual| (ritual.id, ritual.tile))
                .collect(),
            winner: game.winner(),
        }
    }

    /// What a viewer knows of this game that was sent so much of it.
    fn by(answer: &Answer, game: &Game) -> Self {
        let mut sent = Self::all(game);
        sent.teams = match answer.next {
            Subject::Tile(_) => 0,
            Subject::Team(team) => team,
            _ => sent.teams,
        }
        .max(answer.known.teams);
        let known = &answer.known;
        keep_sent(&mut sent.agents, &known.agents, |agent| {
            answer.has_sent(Subject::Agent(*agent))
        });
        keep_sent(&mut sent.eggs, &known.eggs, |egg| {
            answer.has_sent(Subject::Egg(*egg))
        });
        keep_sent(&mut sent.rituals, &known.rituals, |(ritual, _)| {
            answer.has_sent(Subject::Ritual(*ritual))
        });
        if !answer.has_sent(Subject::Winner) {
            sent.winner = known.winner;
        }
        sent
    }

    /// The agent with the lowest number from this one on.
    pub(crate) fn agent_from(&self, id: AgentId) -> Option<AgentId> {
        let first = self.agents.partition_point(|agent| *agent < id);
        self.agents.get(first).copied()
    }

    /// The egg with the lowest number from this one on.
    pub(crate) fn egg_from(&self, id: EggId) -> Option<EggId> {
        let first = self.eggs.partition_point(|egg| *egg < id);
        self.eggs.get(first).copied()
    }

    /// The elevation with the lowest number from this one on, and where it is.
    pub(crate) fn ritual_from(&self, id: RitualId) -> Option<(RitualId, Tile)> {
        let first = self.rituals.partition_point(|(ritual, _)| *ritual < id);
        self.rituals.get(first).copied()
    }
}

/// Keeps of `all` what was sent. The others the viewer knows from before that, if at all.
fn keep_sent<T: Copy>(all: &mut Vec<T>, known: &[T], is_sent: impl Fn(&T) -> bool) {
    all.retain(&is_sent);
    all.extend(known.iter().filter(|one| !is_sent(one)));
}
