//! What was told, kept until its moment is shown.
//!
//! Changes wait here in the order of game time. Each frame asks for a scene: the display clock says which
//! moment to show, everything until then goes to the display, and the display and the ground are written into the
//! scene. The queue is bounded: what does not fit is shown early.
//!
//! A match ends with the change that tells who won: the world stays as it was then and game time stops there. A server goes
//! on to remove the agents, and that is not shown.

use std::collections::VecDeque;

use trantor_model::Counts;
use trantor_protocol::wire::Change;
use trantor_time::GameTime;

use crate::clock_sync::ServerTime;
use crate::display::{Display, Moment};
use crate::display_clock::DisplayClock;
use crate::feed::{Feed, FeedEntry};
use crate::mirror::Mirror;
use crate::scene::{Scene, SceneGround};

/// Changes kept until they are shown: about 20 megabytes, 100 if all are broadcasts. At 10,000 agents that all act it is several delays'
/// worth; a server that tells the far future fills it and gains nothing.
pub const PENDING_MAX: usize = 1 << 18;

/// Changed tiles listed for one frame, as a part of all tiles; if more changed, all count as changed.
const CHANGED_PART_MAX: usize = 8;

/// Quiet after which everything is held to be told, although nothing later was heard: a second of ticks.
const QUIET_NS: i64 = 1_000_000_000;

/// What is shown, and what waits to be.
#[derive(Debug)]
pub struct Timeline {
    /// Which moment is shown.
    pub clock: DisplayClock,
    display: Display,
    pending: VecDeque<(GameTime, Change)>,
    feed: Feed,
    /// Ground of the scene that is being kept up to date.
    ground: GroundVersion,
    /// The ground of the first scene, until that is written.
    fresh: Option<Vec<Counts>>,
    /// The moment of the last frame.
    seen: GameTime,
    /// When a team won. Later changes are discarded.
    won_at: Option<GameTime>,
    /// Changes told after their moment had been shown.
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
    /// Changes since the last scene.
    changed: Vec<(u32, Counts)>,
}

impl Timeline {
    /// Shows the world of `mirror`, which is complete. `versions_from` is above the version of any ground
    /// that was ever shown; see [`Self::ground_version`].
    pub fn new(mirror: &mut Mirror, mut clock: DisplayClock, versions_from: u64) -> Self {
        clock.restart(mirror.at());
        Self {
            clock,
            display: Display::new(mirror.world()),
            pending: VecDeque::new(),
            feed: Feed::default(),
            ground: GroundVersion {
                version: versions_from,
                all: true,
                changed: Vec::new(),
            },
            fresh: mirror.take_to_show(),
            seen: mirror.at(),
            won_at: mirror.world().winner().map(|_| mirror.at()),
            late: 0,
            hurried: 0,
        }
    }

    /// Gives the clock back, to be used for the next world.
    pub fn into_clock(self) -> DisplayClock {
        self.clock
    }

    /// The version of the ground in the last scene.
    pub fn ground_version(&self) -> u64 {
        self.ground.version
    }

    /// There is one more team.
    pub fn add_team(&mut self) {
        self.display.add_team();
    }

    /// Takes a change of game time `at` that the mirror accepted.
    ///
    /// The start of an action may be told after later changes, if nothing that it depends on is later.
    pub fn push(&mut self, at: GameTime, change: Change) {
        if self.won_at.is_some() {
            return;
        }
        if let Change::Won { .. } = change {
            self.won_at = Some(at);
        }
        self.late = self.late.saturating_add(u64::from(at < self.seen));
        if self.pending.len() == PENDING_MAX {
            self.hurried = self.hurried.saturating_add(1);
            let moment = self.moment(self.seen);
            if let Some((at, change)) = self.pending.pop_front() {
                self.show(at, change, &moment);
            }
        }
        // Nearly all come in order.
        match self.pending.back() {
            Some((last, _)) if *last > at => {
                let place = self.pending.partition_point(|(other, _)| *other <= at);
                self.pending.insert(place, (at, change));
            }
            _ => self.pending.push_back((at, change)),
        }
    }

    /// Something that happened before the world was told, for the feed.
    pub fn push_past(&mut self, entry: FeedEntry) {
        self.feed.push(entry);
    }

    /// What was shown and not yet read, oldest first.
    pub fn poll_feed(&mut self) -> Option<FeedEntry> {
        self.feed.poll()
    }

    /// Changes that wait for their moment.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Changes told after their moment had been shown, so far.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Changes shown early because too many waited, so far.
    pub fn hurried(&self) -> u64 {
        self.hurried
    }

    /// Writes the scene of the instant at which the server's clock shows `server_now`, except for the link.
    pub fn scene(&mut self, server_now: ServerTime, mirror: &Mirror, scene: &mut Scene) {
        let next = self.clock.advance(server_now);
        if next < self.seen {
            // It was too far ahead of the game. Blends were to end there, soon at the speed of then.
            self.seen = next;
            self.display.end_blends();
        }
        let moment = self.moment(next);
        while self.pending.front().is_some_and(|(at, _)| *at <= next) {
            let Some((at, change)) = self.pending.pop_front() else {
                break;
            };
            self.show(at, change, &moment);
        }
        let complete = self.complete_until(server_now, mirror);
        self.display.settle(complete, &moment);
        let (before, shown) = (self.until_won(self.seen), self.until_won(next));
        self.display.fill(shown, next, scene);
        self.fill_ground(mirror, scene);
        scene.clock.elapsed_units = (shown - before).as_units_f64().max(0.0) as f32;
        scene.clock.game = shown;
        self.seen = next;
    }

    fn until_won(&self, at: GameTime) -> GameTime {
        self.won_at.map_or(at, |won_at| at.min(won_at))
    }

    fn moment(&self, next: GameTime) -> Moment {
        Moment {
            seen: self.seen,
            next,
            frequency: self.clock.frequency(),
        }
    }

    fn show(&mut self, at: GameTime, change: Change, moment: &Moment) {
        self.feed.note(at, &change, self.display.world());
        if let Some((place, counts)) = self.display.apply(at, change, moment) {
            if let Some(tile) = self.fresh.as_mut().and_then(|tiles| tiles.get_mut(place)) {
                *tile = counts;
            }
            self.ground
                .note(place, counts, self.display.world().size().area());
        }
    }

    /// All that happened before this moment has been told: later changes were, or a second has been quiet.
    fn complete_until(&self, server_now: ServerTime, mirror: &Mirror) -> GameTime {
        let quiet = self.clock.game_at(server_now.saturating_add_ns(-QUIET_NS));
        mirror.at().max(quiet.unwrap_or(mirror.at()))
    }

    fn fill_ground(&mut self, mirror: &Mirror, scene: &mut Scene) {
        let size = mirror.world().size();
        let up_to_date = scene
            .ground
            .as_mut()
            .filter(|ground| !self.ground.all && ground.version == self.ground.version);
        if let Some(ground) = up_to_date {
            ground.changed_since = ground.version;
            ground.changed.clear();
            for &(place, counts) in &self.ground.changed {
                ground.tiles[place as usize] = counts;
                ground.changed.push(place);
            }
            ground.version += u64::from(!self.ground.changed.is_empty());
            self.ground.version = ground.version;
        } else {
            // The scene may have shown another world, with versions of its own, and whoever draws it knows those.
            // The mirror is a little ahead; what differs is told again, with the same values, when it is due.
            let shown = scene.ground.as_ref().map_or(0, |ground| ground.version);
            self.ground.version = self.ground.version.max(shown) + 1;
            let ground = scene.ground.get_or_insert_with(|| SceneGround {
                size,
                tiles: Vec::new(),
                version: 0,
                changed_since: 0,
                changed: Vec::new(),
            });
            ground.size = size;
            match self.fresh.take() {
                Some(tiles) => ground.tiles = tiles,
                None => {
                    ground.tiles.clear();
                    ground.tiles.extend_from_slice(mirror.ground());
                }
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
    fn note(&mut self, place: usize, counts: Counts, area: usize) {
        if self.changed.len() * CHANGED_PART_MAX > area.max(1_024) {
            self.all = true;
        }
        if !self.all {
            self.changed.push((place as u32, counts));
        }
    }
}
