//! What happened, as a line of the list: what it says, and what of it belongs together.

use egui::Color32;
use trantor_client::feed::FeedKind;
use trantor_client::speech::{self, Talk};
use trantor_client::{FeedEntry, Scene, Who};
use trantor_model::{AgentId, Level, TeamId, Tile};

use super::super::icons::Event;
use super::super::theme::color;
use trantor_render::picture::palette::{self, TeamColors};

/// Characters of a broadcast in a line.
const WORDS_SHOWN: usize = 42;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Life,
    Ritual,
    Words,
}

impl Subject {
    pub(super) const ALL: [(Self, &'static str); 3] = [
        (Self::Life, "life"),
        (Self::Ritual, "rituals"),
        (Self::Words, "words"),
    ];
}

/// What of several makes one line: those of a team who hatch or rise together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Joined(TeamId),
    Rose(TeamId, Level),
}

impl Group {
    /// Units after the last of it in which one more still belongs to it.
    pub(super) fn lasts_units(self) -> i128 {
        match self {
            Self::Joined(_) => 50,
            Self::Rose(..) => 10,
        }
    }
}

/// What happened, in words and signs.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) units: i128,
    pub(super) text: String,
    pub(super) tint: Color32,
    pub(super) event: Event,
    pub(super) agent: Option<AgentId>,
    pub(super) tile: Option<Tile>,
    pub(super) group: Option<Group>,
    /// How many of the group this line stands for.
    pub(super) count: u32,
    /// What is said, if it is that.
    pub(super) talk: Option<Talk>,
}

impl Line {
    /// When it took its place: talk goes on below what came after its beginning.
    pub(super) fn placed_units(&self) -> i128 {
        self.talk.as_ref().map_or(self.units, Talk::placed)
    }

    pub(super) fn subject(&self) -> Subject {
        match self.event {
            Event::Words => Subject::Words,
            Event::Ritual | Event::Rose | Event::Won => Subject::Ritual,
            Event::Born | Event::Died | Event::Left | Event::Pushed | Event::Egg => Subject::Life,
        }
    }
}

/// An entry in words, if it is one for the list.
pub(super) fn line_of(entry: &FeedEntry, scene: &Scene) -> Option<Line> {
    let by = |who: &Who, event, text: String, group| {
        let text = format!("#{} {text}", who.agent.0);
        (event, text, Some(who.team), Some(who.agent), None, group)
    };
    let mut talk = None;
    let (event, text, team, agent, tile, group) = match &entry.kind {
        FeedKind::Joined(who) => {
            let group = Some(Group::Joined(who.team));
            by(who, Event::Born, "hatched".to_owned(), group)
        }
        FeedKind::Died(who, level) => by(who, Event::Died, format!("died at level {}", level.get()), None),
        FeedKind::Left(who, _) => by(who, Event::Left, "left".to_owned(), None),
        FeedKind::Said(who, words) => {
            let begun = Talk::new(entry.at.whole_units(), *who, words);
            let text = talk_in_words(&begun, scene);
            talk = Some(begun);
            (Event::Words, text, Some(who.team), Some(who.agent), None, None)
        }
        FeedKind::Pushed(who) => by(who, Event::Pushed, "pushed".to_owned(), None),
        FeedKind::Rose(who, level) => {
            let text = format!("reached level {}", level.get());
            by(who, Event::Rose, text, Some(Group::Rose(who.team, *level)))
        }
        FeedKind::EggLaid(_, team, tile) => {
            let text = format!("{} laid an egg", team_name(scene, *team));
            (Event::Egg, text, Some(*team), None, Some(*tile), None)
        }
        FeedKind::EggBroken(_, team, tile) => {
            let text = format!("an egg of {} broke", team_name(scene, *team));
            (Event::Egg, text, Some(*team), None, Some(*tile), None)
        }
        FeedKind::RitualStarted(tile, level, held) => {
            let text = format!("{held} raise level {} to {}", level.get(), level.get() + 1);
            (Event::Ritual, text, None, None, Some(*tile), None)
        }
        FeedKind::RitualEnded(tile, level, success) => {
            let how = if *success { "succeeded" } else { "failed" };
            let text = format!("ritual of level {} {how}", level.get());
            (Event::Ritual, text, None, None, Some(*tile), None)
        }
        FeedKind::Won(team) => {
            let text = format!("{} wins the game", team_name(scene, *team));
            (Event::Won, text, Some(*team), None, None, None)
        }
        FeedKind::Started(..) | FeedKind::Refused(..) | FeedKind::Carried(..) => return None,
    };
    Some(Line {
        units: entry.at.whole_units(),
        text,
        tint: color(team.map_or(palette::GOLD, |team| TeamColors::of(&scene.teams).team(team))),
        event,
        agent,
        tile,
        group,
        count: 1,
        talk,
    })
}

/// How often a team spoke, and the newest words that are for people.
pub(super) fn talk_in_words(talk: &Talk, scene: &Scene) -> String {
    let said = talk
        .for_people()
        .map(|(agent, words)| (agent, speech::line(words, WORDS_SHOWN)));
    let team = team_name(scene, talk.team);
    match (said, talk.count) {
        (Some((agent, words)), 1) => format!("#{} “{words}”", agent.0),
        (Some((_, words)), count) => format!("{team} talks · {count} “{words}”"),
        (None, count) => format!("{team} talks · {count}"),
    }
}

pub(super) fn team_name(scene: &Scene, team: TeamId) -> String {
    let team_of = scene.teams.get(usize::from(team.0));
    team_of.map_or_else(|| format!("team {}", team.0), |team| team.name.to_string())
}
