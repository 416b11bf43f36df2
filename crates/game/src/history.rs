//! A summary of the past for late viewers: the course of the score, the last events, and when teams first reached a level.
//!
//! The reader of a game's events keeps it beside the game, which does not depend on it. Broken eggs are left out, since
//! their event does not name the team.

use std::collections::{BTreeMap, VecDeque};

use trantor_model::{AgentId, Change, Concerned, FeedKind, Level, TeamId};
use trantor_time::{GameSpan, GameTime};

use crate::game::Game;

/// Events kept: as many as a viewer lists.
pub const EVENTS_MAX: usize = 200;
/// Broadcasts among them: bots send them all the time, which would push out all other events.
const SAID_MAX: usize = 50;
/// Events among them that stay whatever comes after: the first of each team to reach each level. Fourteen teams have so many.
const FIRSTS_MAX: usize = 98;
/// Scores kept, of all moments and teams together: 128 KB.
pub const SCORES_MAX: usize = 16 * 1024;
/// Moments of the score: more than the width of a chart has points for.
const POINTS_MAX: usize = 240;
/// The fewest moments, however many teams there are.
const POINTS_LEAST: usize = 16;
/// Between two moments, once they became too many.
const SCORE_EVERY: GameSpan = GameSpan::from_units(10);

/// See the module.
#[derive(Clone, Debug)]
pub struct History {
    /// Living agents; events of removed ones need their team and level.
    living: BTreeMap<AgentId, (TeamId, Level)>,
    /// Of each team the living agents by level, and the highest level so far.
    by_level: Vec<[u32; 8]>,
    highest: Vec<Level>,
    points: Vec<(GameTime, Vec<u64>)>,
    /// Moments are at least so far apart: nothing at first, and twice as far each time they became too many.
    every: GameSpan,
    events: VecDeque<Past>,
    is_over: bool,
}

#[derive(Clone, Debug)]
struct Past {
    event: (GameTime, FeedKind),
    /// It stays.
    is_first: bool,
}

impl History {
    /// Of a game of which nothing is known but how it is.
    pub fn of(game: &Game) -> Self {
        let mut history = Self {
            living: BTreeMap::new(),
            by_level: vec![[0; 8]; game.world().teams().len()],
            highest: vec![Level::FIRST; game.world().teams().len()],
            points: Vec::new(),
            every: GameSpan::ZERO,
            events: VecDeque::new(),
            is_over: false,
        };
        for agent in game.world().agents() {
            history.insert(agent.id, agent.team, agent.level);
            history.note_level(agent.team, agent.level);
        }
        history.points.push((game.now(), history.scores()));
        history.is_over = game.winner().is_some();
        history
    }

    /// How the score went until `now`, which is not before any event noted.
    pub fn points(&self, now: GameTime) -> impl Iterator<Item = (GameTime, Vec<u64>)> {
        let last = self.points.last().filter(|(at, _)| *at == now || self.is_over);
        let now = last.is_none().then(|| (now, self.scores()));
        self.points.iter().cloned().chain(now)
    }

    fn scores(&self) -> Vec<u64> {
        self.by_level.iter().map(Level::score).collect()
    }

    /// The last events, and before them those that stay; oldest first.
    pub fn events(&self) -> impl Iterator<Item = &(GameTime, FeedKind)> {
        self.events.iter().map(|past| &past.event)
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let scores = self.points.len() * (self.by_level.len() + 5) * 8;
        scores + self.events.len() * 64 + self.living.len() * 16
    }

    /// This begins where `before` ends.
    pub(crate) fn follow(&mut self, before: &Self) {
        let points = self.points.drain(1.min(self.points.len())..);
        let mut joined = before.points.clone();
        joined.extend(points);
        self.points = joined;
        self.every = self.every.max(before.every);
        self.thin();
        self.highest.clone_from(&before.highest);
        let own = std::mem::replace(&mut self.events, before.events.clone());
        for (at, kind) in own.into_iter().map(|past| past.event) {
            self.push(at, kind);
        }
    }

    /// Notes a change; `game` is as it is right after it. What comes after a victory is the removal of the agents.
    pub fn note(&mut self, game: &Game, change: &Change) {
        // Commands and what they carry are left out: they happen all the time.
        let is_routine = matches!(change, Change::ActionStarted { .. } | Change::Carried { .. });
        if self.is_over || is_routine {
            return;
        }
        let at = game.now();
        let agent = |id: AgentId| {
            let (team, level) = *self.living.get(&id)?;
            let tile = game.world().agent(id).map(|agent| agent.tile);
            Some(Concerned { team, level, tile })
        };
        let Some(kind) = FeedKind::of(change, agent, |_| None) else {
            return;
        };
        match kind {
            FeedKind::Joined(who) => {
                self.insert(who.agent, who.team, Level::FIRST);
                self.score(at);
            }
            FeedKind::Died(who, _) | FeedKind::Left(who, _) => {
                self.remove(who.agent);
                self.score(at);
            }
            FeedKind::Rose(who, level) => {
                self.remove(who.agent);
                self.insert(who.agent, who.team, level);
                self.score(at);
            }
            FeedKind::Won(_) => {
                self.points.push((at, self.scores()));
                self.is_over = true;
            }
            _ => {}
        }
        self.push(at, kind);
    }

    fn push(&mut self, at: GameTime, kind: FeedKind) {
        let is_first = match kind {
            FeedKind::Rose(who, level) => {
                let firsts = self.events.iter().filter(|past| past.is_first).count();
                self.note_level(who.team, level) && firsts < FIRSTS_MAX
            }
            _ => false,
        };
        let is_said = |kind: &FeedKind| matches!(kind, FeedKind::Said(..));
        let said = self.events().filter(|(_, kind)| is_said(kind)).count();
        let mut oldest = None;
        if is_said(&kind) && said == SAID_MAX {
            oldest = self.events().position(|(_, kind)| is_said(kind));
        } else if self.events.len() == EVENTS_MAX {
            oldest = self.events.iter().position(|past| !past.is_first);
        }
        oldest.map(|place| self.events.remove(place));
        let event = (at, kind);
        self.events.push_back(Past { event, is_first });
    }

    /// A team has reached a level: answers whether for the first time.
    fn note_level(&mut self, team: TeamId, level: Level) -> bool {
        let highest = &mut self.highest[usize::from(team.0)];
        let before = std::mem::replace(highest, level.max(*highest));
        level > before
    }

    /// The team of a living agent.
    pub(crate) fn team_of(&self, agent: AgentId) -> Option<TeamId> {
        self.living.get(&agent).map(|(team, _)| *team)
    }

    fn insert(&mut self, agent: AgentId, team: TeamId, level: Level) {
        self.living.insert(agent, (team, level));
        *self.agents(team, level) += 1;
    }

    fn remove(&mut self, agent: AgentId) {
        if let Some((team, level)) = self.living.remove(&agent) {
            *self.agents(team, level) -= 1;
        }
    }

    fn agents(&mut self, team: TeamId, level: Level) -> &mut u32 {
        &mut self.by_level[usize::from(team.0)][usize::from(level.get()) - 1]
    }

    /// The score may have changed. It is the same from one moment to the next: each moment begins a step.
    fn score(&mut self, at: GameTime) {
        let (every, now) = (self.every, self.scores());
        match self.points.last_mut() {
            Some((_, scores)) if *scores == now => return,
            Some((last, scores)) if *last == at || at - *last < every => *scores = now,
            _ => self.points.push((at, now)),
        }
        // Several changes of one instant may come to none.
        if let [.., (_, before), (_, after)] = &self.points[..]
            && before == after
        {
            self.points.pop();
        }
        self.thin();
    }

    /// Every second moment goes where they are too many.
    fn thin(&mut self) {
        let most = (SCORES_MAX / self.by_level.len().max(1)).clamp(POINTS_LEAST, POINTS_MAX) - 3;
        while self.points.len() > most {
            let last = self.points.len() - 1;
            let mut place = 0;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 1 || place == last + 1
            });
            self.every = (self.every + self.every).max(SCORE_EVERY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GameConfig, Rules};
    use trantor_model::{AgentView, Counts, Direction, EggId, LeaveCause, MapSize, Tile};

    fn game(teams: usize) -> Game {
        Game::new(GameConfig {
            size: MapSize::new(1, 1).unwrap(),
            teams: (0..teams).map(|team| format!("t{team}")).collect(),
            places_per_team: 1,
            seed: 0,
            rules: Rules::default(),
        })
    }

    fn joined(id: u32, team: u16) -> Change {
        Change::Joined {
            agent: AgentView {
                id: AgentId(id),
                team: TeamId(team),
                tile: Tile { x: 0, y: 0 },
                facing: Direction::North,
                level: Level::FIRST,
                inventory: Counts::ZERO,
            },
            egg: EggId(id),
            food_ends: None,
        }
    }

    #[test]
    fn the_score_is_that_of_the_victory_and_later_leaves_are_no_events() {
        let game = game(2);
        let mut history = History::of(&game);
        for id in 0..6 {
            history.note(&game, &joined(id, 1));
            let (agent, level) = (AgentId(id), Level::LAST);
            history.note(&game, &Change::LevelChanged { agent, level });
        }
        history.note(
            &game,
            &Change::Won {
                team: TeamId(1),
                totals: None,
            },
        );
        let cause = LeaveCause::Dismissed;
        for agent in (0..6).map(AgentId) {
            history.note(&game, &Change::Left { agent, cause });
        }
        let (_, scores) = history.points(GameTime::from_units(999)).last().unwrap();
        assert_eq!(scores, [0, 6 * 8]);
        let (_, last) = history.events().last().unwrap();
        assert_eq!(*last, FeedKind::Won(TeamId(1)));
    }

    /// As long as they are few, whatever else happens in between.
    #[test]
    fn each_change_of_the_score_is_a_moment_of_its_own() {
        let mut game = game(2);
        let mut history = History::of(&game);
        history.note(&game, &joined(0, 0));
        for unit in 1..=800_i64 {
            game.advance_to(GameTime::from_units(unit));
            let agent = AgentId(unit as u32);
            history.note(&game, &joined(agent.0, 1));
            let cause = LeaveCause::Disconnected;
            history.note(&game, &Change::Left { agent, cause });
            if unit % 100 == 0 {
                let level = Level::new((unit / 100) as u8).unwrap();
                let agent = AgentId(0);
                history.note(&game, &Change::LevelChanged { agent, level });
            }
        }
        let points = history.points(game.now());
        let points = points.map(|(at, scores)| (at.whole_units(), scores[0]));
        let points: Vec<_> = points.collect();
        assert!(points.ends_with(&[(700, 7), (800, 8)]), "{points:?}");
    }

    /// However much comes after it, and not because it happens again.
    #[test]
    fn the_first_of_a_team_to_reach_a_level_stays() {
        let mut game = game(2);
        let mut history = History::of(&game);
        let level = Level::new(2).unwrap();
        for id in 0..300 {
            game.advance_to(GameTime::from_units(i64::from(id)));
            history.note(&game, &joined(id, (id % 2) as u16));
            let agent = AgentId(id);
            history.note(&game, &Change::LevelChanged { agent, level });
        }
        let rises = history
            .events()
            .filter(|(_, kind)| matches!(kind, FeedKind::Rose(..)));
        let at: Vec<_> = rises.map(|(at, _)| at.whole_units()).collect();
        assert_eq!(at[..3], [0, 1, 201]);
        assert_eq!(history.events().count(), EVENTS_MAX);
    }

    #[test]
    fn a_history_is_bounded_and_speech_leaves_room_for_deeds() {
        for teams in [1, 2, 1_000] {
            let mut game = game(teams);
            let mut history = History::of(&game);
            for id in 0..3_000_u32 {
                game.advance_to(GameTime::from_units(20 * i64::from(id)));
                history.note(&game, &joined(id, (id as usize % teams) as u16));
                let (agent, text) = (AgentId(id), b"x".repeat(4_000).into());
                history.note(&game, &Change::Said { agent, text });
                let (agent, level) = (AgentId(0), if id % 2 == 0 { Level::LAST } else { Level::FIRST });
                history.note(&game, &Change::LevelChanged { agent, level });
            }
            assert_eq!(history.events().count(), EVENTS_MAX);
            let said = |(_, kind): &&(GameTime, FeedKind)| matches!(kind, FeedKind::Said(_, text) if text.len() == 256);
            assert_eq!(history.events().filter(said).count(), SAID_MAX);
            let points: Vec<_> = history.points(game.now()).collect();
            assert!(
                points.len() * teams <= SCORES_MAX && points.len() >= POINTS_LEAST / 2,
                "{}",
                points.len()
            );
            assert!(points.is_sorted_by_key(|(at, _)| *at));
            assert_eq!(
                (points[0].0, points[points.len() - 1].0),
                (GameTime::ZERO, game.now())
            );
            let best = teams * (3_000 / teams).min(6);
            assert_eq!(points[points.len() - 1].1.iter().sum::<u64>(), best as u64);
        }
    }
}
