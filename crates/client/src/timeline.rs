//! The world that is shown, and the changes that wait for their moment.
//!
//! Changes wait here in the order of game time. Each frame asks for a scene: the display clock says which
//! moment to show, and every change until then is checked and applied to the one world there is. So a server that
//! sends what cannot be is found when it would be seen. The queue is bounded: what does not fit is shown early.
//!
//! A match ends with the change that names the winner: the world stays as it was then and game time stops there. A server goes
//! on to remove the agents, and that is not shown.

use std::collections::VecDeque;
use std::mem::size_of_val;
use std::sync::Arc;

use trantor_model::feed::SAID_BYTES_MAX;
use trantor_model::{Change, Counts, FeedKind, Level, MapSize, TeamId};
use trantor_protocol::limits::{DELIVERIES_MAX, HISTORY_SCORES_MAX};
use trantor_protocol::wire::{FeedEntry, History, ScorePoint, SnapshotPart};
use trantor_time::{Frequency, GameTime};

use crate::clock_sync::ServerTime;
use crate::display::{Display, Moment};
use crate::display_clock::DisplayClock;
use crate::error::ProtocolError;
use crate::interface::ClientStats;
use crate::motion::ShownWorld;
use crate::push_bounded;
use crate::scene::{Scene, SceneGround, SceneTeam};

/// Changes kept until they are shown: about 20 megabytes without [`PENDING_BYTES_MAX`]. At 10,000 agents that all act it is several
/// delays' worth; a server that sends the far future fills it and gains nothing.
pub const PENDING_MAX: usize = 1 << 18;

/// Bytes of texts and lists of participants in them: as many as if all were the longest broadcasts.
pub const PENDING_BYTES_MAX: usize = PENDING_MAX * SAID_BYTES_MAX;

/// Entries kept until they are read, the newest: a few seconds of a busy game. Deeds are kept apart, so that however many commands
/// a frame of a fast match has, no elevation, death or victory gives way to them.
const FEED_MAX: usize = 4_096;

/// Changed tiles listed for one frame, as a part of all tiles; if more changed, all count as changed.
const CHANGED_PART_MAX: usize = 8;

/// Silence after which everything counts as received, although nothing later was: a second of ticks.
const QUIET_NS: i64 = 1_000_000_000;

/// A world as it is loaded, and what came with it.
#[derive(Debug)]
pub struct Snapshot {
    pub world: ShownWorld,
    /// Its ground once more, for the first scene: made piece by piece, since a copy of a million tiles at once would be
    /// seen as a frame that came late. Empty if it was not made.
    pub ground_copy: Vec<Counts>,
    pub at: GameTime,
    /// The names of the teams in the order of their ids.
    pub teams: Vec<Arc<str>>,
    /// What happened before.
    pub history: Option<History>,
}

#[derive(Debug)]
pub struct Timeline {
    display: Display,
    teams: Vec<Arc<str>>,
    pending: VecDeque<(GameTime, Change)>,
    /// Bytes that pending changes hold outside the queue.
    pending_bytes: usize,
    /// The game time of the newest change received, or of the snapshot.
    newest: GameTime,
    /// What was shown and not yet read.
    feed: Feed,
    /// How the score went since that was read.
    race: Race,
    /// The score before this world, until that is read.
    pub(crate) scores: Option<Vec<ScorePoint>>,
    /// Ground of the scene that is being kept up to date.
    ground: GroundVersion,
    /// The ground of the first scene, until that is written.
    ground_copy: Option<Vec<Counts>>,
    /// The moment and the speed of the last frame.
    seen: GameTime,
    frequency: Option<Frequency>,
    /// When a team won. Later changes are discarded.
    won_at: Option<GameTime>,
    /// Changes received after their moment had been shown.
    late: u64,
    /// Changes shown early because too many waited.
    hurried: u64,
}

/// Which scene's ground is up to date, and what it lacks.
#[derive(Debug)]
struct GroundVersion {
    /// Names one loaded world; versions of another never equal ours.
    version: u64,
    /// Whether the next scene must take all tiles.
    all: bool,
    /// Places that changed since the last scene.
    changed: Vec<u32>,
}

impl Snapshot {
    /// Nothing loaded yet of a world of that size with these teams.
    pub fn new(size: MapSize, teams: Vec<Arc<str>>) -> Self {
        Self {
            world: ShownWorld::new(size, teams.len()),
            ground_copy: Vec::new(),
            at: GameTime::ZERO,
            teams,
            history: None,
        }
    }

    pub fn load(&mut self, part: SnapshotPart) -> Result<(), ProtocolError> {
        if let SnapshotPart::Ground { tiles, .. } = &part {
            if self.ground_copy.is_empty() {
                self.ground_copy.reserve_exact(self.world.size().area());
            }
            self.ground_copy.extend_from_slice(tiles);
        }
        Ok(part.load_into(&mut self.world)?)
    }

    /// All pieces are here, of the world as it was at game time `at`.
    pub fn finish(&mut self, at: GameTime) -> Result<(), ProtocolError> {
        self.at = at;
        Ok(self.world.finish()?)
    }
}

impl Timeline {
    /// Shows a world that is complete. `versions_from` is at least the version of any ground that was ever shown; see
    /// [`Self::ground_version`].
    pub fn new(snapshot: Snapshot, versions_from: u64) -> Self {
        let Snapshot {
            world,
            ground_copy,
            at,
            teams,
            history,
        } = snapshot;
        let (scores, events) = history.map(|it| (it.scores, it.events)).unzip();
        let teams_known = teams.len();
        Self {
            teams,
            pending: VecDeque::new(),
            pending_bytes: 0,
            newest: at,
            feed: Feed::of(events.unwrap_or_default()),
            race: Race::of(&world, teams_known),
            scores,
            ground: GroundVersion {
                version: versions_from,
                all: true,
                changed: Vec::new(),
            },
            ground_copy: (ground_copy.len() == world.ground().len()).then_some(ground_copy),
            seen: at,
            frequency: None,
            won_at: world.winner().map(|_| at),
            display: Display::new(world),
            late: 0,
            hurried: 0,
        }
    }

    /// The last version of the ground, for the world that replaces this one.
    pub fn ground_version(&self) -> u64 {
        self.ground.version
    }

    /// Adds the teams that `teams` has beyond those known.
    pub fn set_teams(&mut self, teams: &[Arc<str>]) {
        for name in &teams[self.teams.len()..] {
            self.display.world.add_team();
            self.race.by_level.push([0; 8]);
            self.teams.push(name.clone());
        }
    }

    /// Changes of game time `at` follow, which may not go back.
    pub fn advance(&mut self, at: GameTime) -> Result<(), ProtocolError> {
        let last = self.newest;
        if at < last {
            return Err(ProtocolError::GameTimeBack { at, last });
        }
        self.newest = at;
        Ok(())
    }

    /// Takes a change of game time `at`. What makes room for it is shown early.
    ///
    /// The start of an action may come after later changes, if nothing that it depends on is later. An error may be that of a
    /// change that is shown early.
    pub fn push(&mut self, at: GameTime, change: Change) -> Result<(), ProtocolError> {
        if self.won_at.is_some() {
            return Ok(());
        }
        match &change {
            Change::Won { .. } => self.won_at = Some(at),
            Change::Said { text, .. } if text.len() > SAID_BYTES_MAX => {
                let (what, max) = ("bytes in a broadcast", SAID_BYTES_MAX);
                return Err(ProtocolError::TooMuch { what, max });
            }
            Change::Sent { deliveries, .. } if deliveries.len() > DELIVERIES_MAX => {
                let (what, max) = ("deliveries of a broadcast", DELIVERIES_MAX);
                return Err(ProtocolError::TooMuch { what, max });
            }
            _ => {}
        }
        self.newest = self.newest.max(at);
        self.late = self.late.saturating_add(u64::from(at < self.seen));
        let bytes = held_bytes(&change);
        while self.pending.len() == PENDING_MAX || self.pending_bytes + bytes > PENDING_BYTES_MAX {
            let Some((at, change)) = self.pending.pop_front() else {
                break;
            };
            let moment = self.moment(self.seen);
            self.show(at, change, &moment)?;
            self.hurried = self.hurried.saturating_add(1);
        }
        self.pending_bytes += bytes;
        // Nearly all come in order.
        match self.pending.back() {
            Some((last, _)) if *last > at => {
                let place = self.pending.partition_point(|(other, _)| *other <= at);
                self.pending.insert(place, (at, change));
            }
            _ => self.pending.push_back((at, change)),
        }
        Ok(())
    }

    /// Adds an entry of the moment shown to the feed.
    pub fn note(&mut self, kind: FeedKind) {
        let at = self.until_won(self.seen);
        self.feed.push(FeedEntry { at, kind });
    }

    /// The oldest entry that was shown and not yet read.
    pub fn poll_feed(&mut self) -> Option<FeedEntry> {
        self.feed.poll()
    }

    /// How the score went since the last call: a point for each moment at which it changed.
    pub fn take_steps(&mut self) -> Vec<ScorePoint> {
        std::mem::take(&mut self.race.steps)
    }

    /// A copy of the world with all changes applied that wait, so ahead of what is shown.
    pub fn newest_world(&self) -> Result<ShownWorld, ProtocolError> {
        let mut world = self.display.world.clone();
        for (at, change) in &self.pending {
            world.apply(*at, change)?;
        }
        Ok(world)
    }

    pub fn count(&self, stats: &mut ClientStats) {
        (stats.pending, stats.late, stats.hurried) = (self.pending.len(), self.late, self.hurried);
    }

    /// Writes the scene of the instant at which the server's clock shows `server_now`, except for link and controls. If a
    /// change that is due cannot be, the scene shows the world before it, and nothing waits any more.
    pub fn scene(
        &mut self,
        clock: &mut DisplayClock,
        server_now: ServerTime,
        scene: &mut Scene,
    ) -> Result<(), ProtocolError> {
        let known = scene.teams.iter().map(|team| &team.name);
        if !known.eq(&self.teams) {
            scene.teams.clear();
            scene.teams.extend(self.teams.iter().map(|name| SceneTeam {
                name: name.clone(),
                ..SceneTeam::default()
            }));
        }
        let next = clock.advance(server_now);
        self.frequency = clock.frequency();
        if next < self.seen {
            // It was too far ahead of the game. Blends were to end there, soon at the speed of then.
            self.seen = next;
            self.display.end_blends();
        }
        let moment = self.moment(next);
        let shown = self.show_until(next, &moment);
        // Everything before this moment was received: later changes were, or a second has been silent.
        let quiet = clock.game_at(server_now.saturating_add_ns(-QUIET_NS));
        let complete = self.newest.max(quiet.unwrap_or(self.newest));
        self.display.settle(complete, &moment);
        let (before, now) = (self.until_won(self.seen), self.until_won(next));
        self.display.fill(now, next, scene);
        self.fill_ground(scene);
        scene.clock.elapsed_units = (now - before).as_units_f64().max(0.0) as f32;
        scene.clock.game = now;
        self.seen = next;
        shown
    }

    fn until_won(&self, at: GameTime) -> GameTime {
        self.won_at.map_or(at, |won_at| at.min(won_at))
    }

    fn moment(&self, next: GameTime) -> Moment {
        Moment {
            seen: self.seen,
            next,
            frequency: self.frequency,
        }
    }

    fn show_until(&mut self, until: GameTime, moment: &Moment) -> Result<(), ProtocolError> {
        while self.pending.front().is_some_and(|(at, _)| *at <= until)
            && let Some((at, change)) = self.pending.pop_front()
        {
            self.show(at, change, moment)?;
        }
        Ok(())
    }

    /// Applies a change that waited.
    fn show(&mut self, at: GameTime, change: Change, moment: &Moment) -> Result<(), ProtocolError> {
        self.pending_bytes -= held_bytes(&change);
        let counted = match &change {
            Change::Joined { agent, .. } => Some(agent.id),
            Change::Died { agent } | Change::Left { agent, .. } | Change::LevelChanged { agent, .. } => {
                Some(*agent)
            }
            _ => None,
        };
        let place_of = |world: &ShownWorld| world.agent(counted?).map(|it| (it.view.team, it.view.level));
        let before = place_of(&self.display.world);
        let (kind, place) = self.display.apply(at, &change, moment).inspect_err(|_| {
            self.pending.clear();
            self.pending_bytes = 0;
        })?;
        if counted.is_some() {
            self.race.note(at, before, place_of(&self.display.world));
        }
        if let Some(kind) = kind {
            self.feed.push(FeedEntry { at, kind });
        }
        if let Some(place) = place {
            let ground = self.display.world.ground();
            if let Some(copy) = &mut self.ground_copy {
                copy[place] = ground[place];
            }
            self.ground.note(place, ground.len());
        }
        Ok(())
    }

    fn fill_ground(&mut self, scene: &mut Scene) {
        let world = &self.display.world;
        let up_to_date = scene
            .ground
            .as_mut()
            .filter(|ground| !self.ground.all && ground.version == self.ground.version);
        if let Some(ground) = up_to_date {
            ground.changed_since = ground.version;
            ground.changed.clone_from(&self.ground.changed);
            for &place in &ground.changed {
                ground.tiles[place as usize] = world.ground()[place as usize];
            }
            ground.version += u64::from(!ground.changed.is_empty());
            self.ground.version = ground.version;
        } else {
            // The scene may have shown another world, with versions of its own, and the renderer knows those.
            let shown = scene.ground.as_ref().map_or(0, |ground| ground.version);
            self.ground.version = self.ground.version.max(shown) + 1;
            let ground = scene.ground.get_or_insert_with(|| SceneGround {
                size: world.size(),
                tiles: Vec::new(),
                version: 0,
                changed_since: 0,
                changed: Vec::new(),
            });
            ground.size = world.size();
            match self.ground_copy.take() {
                Some(tiles) => ground.tiles = tiles,
                None => world.ground().clone_into(&mut ground.tiles),
            }
            ground.changed.clear();
            ground.changed_since = self.ground.version;
            ground.version = self.ground.version;
        }
        self.ground.all = false;
        self.ground.changed.clear();
    }
}

impl GroundVersion {
    fn note(&mut self, place: usize, area: usize) {
        if self.changed.len() * CHANGED_PART_MAX > area.max(1_024) {
            self.all = true;
        }
        if !self.all {
            self.changed.push(place as u32);
        }
    }
}

/// Entries of the feed, in two queues that are read as one.
#[derive(Debug, Default)]
struct Feed {
    /// What agents do all the time: commands, things carried, broadcasts, eggs.
    routine: VecDeque<(u64, FeedEntry)>,
    /// Births, deaths, elevations, announcements and the victory.
    rare: VecDeque<(u64, FeedEntry)>,
    /// The number of the next entry: they are read in the order in which they came.
    next: u64,
}

impl Feed {
    fn of(entries: Vec<FeedEntry>) -> Self {
        let mut feed = Self::default();
        entries.into_iter().for_each(|entry| feed.push(entry));
        feed
    }

    fn push(&mut self, entry: FeedEntry) {
        let queue = match entry.kind {
            FeedKind::Started(..)
            | FeedKind::Refused(..)
            | FeedKind::Carried(..)
            | FeedKind::Said(..)
            | FeedKind::Pushed(_)
            | FeedKind::EggLaid(..)
            | FeedKind::EggBroken(..) => &mut self.routine,
            FeedKind::Joined(_)
            | FeedKind::Died(..)
            | FeedKind::Left(..)
            | FeedKind::ElevationStarted(..)
            | FeedKind::ElevationEnded(..)
            | FeedKind::Rose(..)
            | FeedKind::Won(_)
            | FeedKind::Announced(_) => &mut self.rare,
        };
        push_bounded(queue, (self.next, entry), FEED_MAX);
        self.next += 1;
    }

    fn poll(&mut self) -> Option<FeedEntry> {
        let is_routine_next = match (self.routine.front(), self.rare.front()) {
            (Some((routine, _)), Some((rare, _))) => routine < rare,
            (routine, _) => routine.is_some(),
        };
        let queue = match is_routine_next {
            true => &mut self.routine,
            false => &mut self.rare,
        };
        queue.pop_front().map(|(_, entry)| entry)
    }
}

/// Points kept until they are read: more than a plot is wide. Beyond that every second goes.
const STEPS_MAX: usize = 240;

/// The fewest points, however many teams there are.
const STEPS_LEAST: usize = 16;

/// The score as it changes, event by event, however many of them a frame shows.
#[derive(Debug)]
struct Race {
    /// Living agents of each team by level.
    by_level: Vec<[u32; 8]>,
    steps: Vec<ScorePoint>,
}

impl Race {
    fn of(world: &ShownWorld, teams: usize) -> Self {
        let mut race = Self {
            by_level: vec![[0; 8]; teams],
            steps: Vec::new(),
        };
        for agent in world.agents() {
            race.count(agent.view.team, agent.view.level, 1);
        }
        race
    }

    fn count(&mut self, team: TeamId, level: Level, change: i32) {
        // Agents of text servers may be of a team that is not known.
        if let Some(levels) = self.by_level.get_mut(usize::from(team.0)) {
            let agents = &mut levels[usize::from(level.get()) - 1];
            *agents = agents.saturating_add_signed(change);
        }
    }

    /// An agent was in one place and is in another.
    fn note(&mut self, at: GameTime, before: Option<(TeamId, Level)>, after: Option<(TeamId, Level)>) {
        if before == after {
            return;
        }
        before
            .into_iter()
            .for_each(|(team, level)| self.count(team, level, -1));
        after
            .into_iter()
            .for_each(|(team, level)| self.count(team, level, 1));
        let scores = self.by_level.iter().map(Level::score).collect();
        match self.steps.last_mut() {
            Some(last) if last.scores == scores => return,
            Some(last) if last.at >= at => last.scores = scores,
            _ => self.steps.push(ScorePoint { at, scores }),
        }
        // Several changes of one instant may come to none.
        if let [.., before, after] = &self.steps[..]
            && before.scores == after.scores
        {
            self.steps.pop();
        }
        let most = (HISTORY_SCORES_MAX / self.by_level.len().max(1)).clamp(STEPS_LEAST, STEPS_MAX);
        if self.steps.len() > most {
            let last = self.steps.len() - 1;
            let mut place = 0;
            self.steps.retain(|_| {
                place += 1;
                place % 2 == 1 || place == last + 1
            });
        }
    }
}

/// Bytes that a change holds beside its own size.
fn held_bytes(change: &Change) -> usize {
    match change {
        Change::Said { text, .. } => text.len(),
        Change::Sent { deliveries, .. } => size_of_val(&deliveries[..]),
        Change::ElevationStarted(elevation) => size_of_val(&elevation.participants[..]),
        Change::ElevationEnded { participants, .. } => size_of_val(&participants[..]),
        Change::Won {
            totals: Some(totals), ..
        } => size_of_val(&totals.teams[..]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use trantor_model::{
        ActionState, AgentId, AgentState, AgentView, CommandKind, Direction, ElevationId, ElevationState,
        Tile, WorldError,
    };

    use super::*;

    /// One frame of a fast match shows more commands than are kept; what decides the match is not among those that go.
    #[test]
    fn deeds_and_steps_of_the_race_do_not_depend_on_how_much_one_frame_shows() {
        let size = MapSize::new(1, 1).unwrap();
        let mut snapshot = Snapshot::new(size, vec!["red".into()]);
        let id = AgentId(0);
        let view = AgentView {
            id,
            team: TeamId(0),
            tile: Tile { x: 0, y: 0 },
            facing: Direction::North,
            level: Level::FIRST,
            inventory: Counts::ZERO,
        };
        let state = AgentState {
            view,
            action: None,
            food_ends: None,
        };
        snapshot.load(SnapshotPart::Agents(vec![state])).unwrap();
        let mut timeline = Timeline::new(snapshot, 0);
        let last = 3 * FEED_MAX as i64;
        for unit in 0..=last {
            let at = GameTime::from_units(unit);
            let moment = timeline.moment(at);
            let start = ActionState {
                kind: CommandKind::Forward,
                start: at,
                end: at,
                refused: false,
            };
            let mut changes = vec![Change::ActionStarted {
                agent: id,
                action: start,
            }];
            if let Ok(level) = u8::try_from(unit)
                .map_err(drop)
                .and_then(|unit| Level::new(unit).map_err(drop))
            {
                changes.push(Change::LevelChanged { agent: id, level });
            }
            if unit == last {
                changes.push(Change::Died { agent: id });
            }
            for change in changes {
                timeline.show(at, change, &moment).unwrap();
            }
        }
        let entries: Vec<FeedEntry> = std::iter::from_fn(|| timeline.poll_feed()).collect();
        assert!(entries.is_sorted_by_key(|entry| entry.at));
        let rises = entries
            .iter()
            .filter(|entry| matches!(entry.kind, FeedKind::Rose(..)));
        assert_eq!(rises.count(), 8);
        assert_eq!(entries.len(), FEED_MAX + 9);
        let steps = timeline.take_steps();
        let steps: Vec<_> = steps
            .iter()
            .map(|step| (step.at.whole_units(), step.scores[0]))
            .collect();
        assert_eq!(steps[..3], [(2, 2), (3, 3), (4, 4)]);
        assert_eq!(steps[6..], [(8, 8), (last.into(), 0)]);
        assert!(timeline.take_steps().is_empty());
    }

    #[test]
    fn lists_that_wait_are_bounded_in_bytes() {
        let size = MapSize::new(1, 1).unwrap();
        let mut timeline = Timeline::new(Snapshot::new(size, Vec::new()), 0);
        let participants = vec![AgentId(7); PENDING_BYTES_MAX / 16].into();
        let elevation = ElevationState {
            elevation: ElevationId(0),
            tile: Tile { x: 0, y: 0 },
            level: Level::FIRST,
            participants,
            start: GameTime::ZERO,
            end: GameTime::ZERO,
        };
        let mut push = || {
            timeline.push(
                GameTime::from_units(9),
                Change::ElevationStarted(elevation.clone()),
            )
        };
        for _ in 0..4 {
            push().unwrap();
        }
        assert_eq!(
            push(),
            Err(WorldError::UnknownAgent(AgentId(7)).into()),
            "shown early"
        );
        assert_eq!((timeline.pending.len(), timeline.pending_bytes), (0, 0));
    }
}
