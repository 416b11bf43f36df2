//! What a match came to, by team: counted by the game, sent to viewers with the victory, and printed by `sim`.
//!
//! One place counts and one place puts it into words, so that whoever shows a match shows the same.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use trantor_time::{GameSpan, GameTime};

use crate::{AgentId, Level, Resource, TeamId, Tile, Who};

/// Turning points of a match at most: as many as a card has room for.
pub const TURNING_POINTS_MAX: usize = 3;

/// Agents around a turning point at most: more would be a blot.
pub const NEARBY_MAX: usize = 48;

/// Levels from which an elevation leads on.
const LEVELS_BELOW_LAST: usize = Level::LAST.get() as usize - 1;

/// Part of a stay at a level for which something was missing, from which on it is why the team stood there.
const LACK_SHARE_LEAST: f64 = 0.5;

/// Part of its time that a team was idle, from which on it is why the team stood; and where nothing else was missing.
const IDLE_SHARE_FIRST: f64 = 0.5;
const IDLE_SHARE_LEAST: f64 = 0.2;

/// What a team loses to the winner at a level, from which on it is why it did not win: a second of a match at the usual speed.
const LOST_LEAST: GameSpan = GameSpan::from_units(100);

/// The totals of a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchTotals {
    /// Since when this was counted: not since the beginning where an older save was resumed.
    pub since: GameTime,
    /// Until when: the end of the match, if it is over.
    pub until: GameTime,
    /// In the order of the teams' ids.
    pub teams: Vec<TeamTotals>,
    /// The turning points, each of another cause, in order of time; at most [`TURNING_POINTS_MAX`].
    pub turning_points: Vec<TurningPoint>,
}

/// The totals of a team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamTotals {
    /// Agents born.
    pub joined: u32,
    /// Agents that starved or were killed.
    pub died: u32,
    /// [`Level::score`] at the end: what the race shows.
    pub score: u64,
    /// How long its agents lived, together.
    pub lived: GameSpan,
    /// How long of that they were free and had no command.
    pub idle: GameSpan,
    /// When one of its agents first had a level, level 1 first.
    pub first_at: [Option<GameTime>; Level::LAST.get() as usize],
    /// What happened while each level below the last was its best, level 1 first.
    pub stays: [Stay; LEVELS_BELOW_LAST],
}

/// What happened while a level was a team's best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// Elevations from this level that broke.
    pub broken: u32,
    /// What the next elevation lacked longest.
    pub lack: Option<Lack>,
}

/// What an elevation lacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// What was too few.
    pub need: Need,
    /// The most of it that the team had meanwhile, and how much the elevation takes.
    pub most: u32,
    /// See `most`.
    pub of: u32,
    /// For how long.
    pub span: GameSpan,
}

/// What an elevation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Need {
    /// Agents of the level.
    Agents,
    /// A stone.
    Stone(Resource),
}

/// A turning point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurningPoint {
    /// When it happened.
    pub at: GameTime,
    /// Where.
    pub tile: Tile,
    /// What happened.
    pub cause: Cause,
    /// Agents that stood around there, with their teams; at most [`NEARBY_MAX`].
    pub nearby: Vec<(Tile, TeamId)>,
}

/// What turned a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are what their names say")]
pub enum Cause {
    /// A team came to lead the race, which another one had led.
    Lead { team: TeamId, from: Option<TeamId> },
    /// An elevation from this level broke; whose, if a participant lived, and who was pushed away.
    Broke {
        team: Option<TeamId>,
        level: Level,
        pushed_away: Option<AgentId>,
    },
    /// An agent of this level died.
    Died { who: Who, level: Level },
    /// A team reached this level, and lost its time there.
    Stood { team: TeamId, level: Level },
    /// A team reached the last level but one, from which it won.
    LastStep { team: TeamId },
}

/// Why a team did not win, or what held up the winner of a match without others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Why {
    /// Whose.
    pub team: TeamId,
    /// The team that it is compared with, if another one won.
    pub winner: Option<TeamId>,
    /// The level at which it lost most time, and for how long it stood there.
    pub level: Level,
    /// See `level`.
    pub span: GameSpan,
    /// What kept it there.
    pub reason: Reason,
}

/// What kept a team at a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// All its agents died; so many.
    DiedOut(u32),
    /// Its agents were idle for this part of their time.
    Idle(f64),
    /// An elevation lacked something.
    Lack(Lack),
    /// So many of its elevations broke.
    Broken(u32),
    /// None of these: it took that much longer than the winner.
    Slower(GameSpan),
    /// It was hardly slower anywhere.
    Close,
}

impl TeamTotals {
    /// The part of their time in which the team's agents were free and had no command; `None` if none lived.
    pub fn idle_share(&self) -> Option<f64> {
        let lived = self.lived.as_units_f64();
        (lived > 0.0).then(|| self.idle.as_units_f64() / lived)
    }

    /// From when on a level was its best, and for how long, if it was.
    fn stay(&self, level: usize, until: GameTime) -> Option<GameSpan> {
        let from = self.first_at[level]?;
        Some(self.first_at[level + 1].unwrap_or(until) - from)
    }
}

impl MatchTotals {
    /// Whether this was counted from the beginning of the match.
    pub fn is_whole(&self) -> bool {
        self.since == GameTime::ZERO
    }

    /// The team that was first to have a level, and when; of several at one instant the one with the lowest id.
    pub fn first_to(&self, level: Level) -> Option<(TeamId, GameTime)> {
        let place = usize::from(level.get()) - 1;
        let teams = (0..).zip(&self.teams);
        let reached = teams.filter_map(|(id, team)| Some((TeamId(id), team.first_at[place]?)));
        reached.min_by_key(|(team, at)| (*at, *team))
    }

    /// Why the best of the others did not win, or, without others, what held up the winner: where it lost most time to the winner.
    /// `None` if nobody played, or if only part of the match was counted.
    pub fn why(&self, winner: Option<TeamId>) -> Option<Why> {
        if !self.is_whole() {
            return None;
        }
        let played = || {
            (0..)
                .map(TeamId)
                .zip(&self.teams)
                .filter(|(_, team)| team.joined > 0)
        };
        let others = played().filter(|(id, _)| Some(*id) != winner);
        // Of equals the one named first.
        let by_score = |(_, team): &(TeamId, &TeamTotals)| Reverse(team.score);
        let (id, team) = others
            .min_by_key(by_score)
            .or_else(|| played().min_by_key(by_score))?;
        let winner = winner.filter(|winner| *winner != id);
        let rival = winner.and_then(|winner| self.teams.get(usize::from(winner.0)));
        let lost = |level: usize, span: GameSpan| match rival.and_then(|rival| rival.stay(level, self.until))
        {
            Some(rivals) => span - rivals,
            None => span,
        };
        let stays = (0..LEVELS_BELOW_LAST).filter_map(|level| Some((level, team.stay(level, self.until)?)));
        let is_lack = |(level, span): &(usize, GameSpan)| {
            lost(*level, *span) > GameSpan::ZERO
                && team.stays[*level]
                    .lack
                    .is_some_and(|lack| lack.span.as_units_f64() >= LACK_SHARE_LEAST * span.as_units_f64())
        };
        let worst = stays.clone().max_by_key(|(level, span)| lost(*level, *span))?;
        let lacking = stays
            .filter(is_lack)
            .max_by_key(|(level, span)| lost(*level, *span));
        let idle = team.idle_share().unwrap_or(0.0);
        let ((level, span), reason) = if team.died == team.joined {
            (worst, Reason::DiedOut(team.died))
        } else if idle >= IDLE_SHARE_FIRST {
            (worst, Reason::Idle(idle))
        } else if let Some((stay, lack)) = lacking.and_then(|stay| Some((stay, team.stays[stay.0].lack?))) {
            (stay, Reason::Lack(lack))
        } else if team.stays[worst.0].broken > 0 {
            (worst, Reason::Broken(team.stays[worst.0].broken))
        } else if idle >= IDLE_SHARE_LEAST {
            (worst, Reason::Idle(idle))
        } else if lost(worst.0, worst.1) >= LOST_LEAST {
            (worst, Reason::Slower(lost(worst.0, worst.1)))
        } else {
            // It kept up, and was a little later.
            let best = team.first_at.iter().rposition(Option::is_some)?;
            ((best.min(LEVELS_BELOW_LAST - 1), worst.1), Reason::Close)
        };
        Some(Why {
            team: id,
            winner,
            level: Level::new(level as u8 + 1).ok()?,
            span,
            reason,
        })
    }

    /// [`Self::why`] as a sentence without its full stop.
    pub fn why_text(&self, winner: Option<TeamId>, name: impl Fn(TeamId) -> String) -> Option<String> {
        let why = self.why(winner)?;
        let level = why.level.get();
        let stood = format!(
            "{} stood at level {level} for {}",
            name(why.team),
            seconds(why.span)
        );
        let than = why
            .winner
            .map(|winner| format!(" than {}", name(winner)))
            .unwrap_or_default();
        Some(match why.reason {
            Reason::DiedOut(1) => format!("{stood}: its agent died"),
            Reason::DiedOut(count) => format!("{stood}: all {count} of its agents died"),
            Reason::Idle(share) => {
                format!("{stood}: its agents were idle {:.0} % of the time", share * 100.0)
            }
            Reason::Lack(lack) => format!("{stood}: {}", lack.text(why.level)),
            Reason::Broken(1) => format!("{stood}: an elevation broke"),
            Reason::Broken(count) => format!("{stood}: {count} elevations broke"),
            Reason::Slower(_) if why.winner.is_none() => stood,
            Reason::Slower(by) => format!("{stood}, {} longer{than}", seconds(by)),
            Reason::Close => {
                let won = why.winner.map(|winner| format!("when {} won", name(winner)));
                let when = won.unwrap_or_else(|| "at the end".to_owned());
                format!("{} was at level {level} {when}", name(why.team))
            }
        })
    }
}

impl Lack {
    fn text(&self, level: Level) -> String {
        let Self { need, most, of, .. } = *self;
        match (need, most) {
            (Need::Stone(stone), 0) => format!("no {}", stone.name()),
            (Need::Stone(stone), _) => format!("{most} of {of} {}", stone.name()),
            (Need::Agents, 0) => format!("no agent of level {}", level.get()),
            (Need::Agents, _) => format!("{most} of the {of} agents that it takes"),
        }
    }
}

/// A span of a match at the usual speed, as match time is shown: a hundred units are a second.
fn seconds(span: GameSpan) -> String {
    let seconds = (span.as_units_f64() / 100.0).round() as i64;
    match seconds {
        0..60 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
