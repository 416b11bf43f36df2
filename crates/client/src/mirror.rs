//! The server's world as told: first in pieces, then kept up to date, complete between end marks.
//!
//! This is the newest state known, ahead of what is on the screen; [`crate::timeline`] shows it a little later
//! and smoothly. Here a change is checked, applied and forgotten.

use trantor_model::{Counts, MapSize};
use trantor_protocol::wire::{Change, SnapshotPart};
use trantor_time::GameTime;

use crate::error::{StreamError, WorldError};
use crate::world::World;

/// The newest world known.
#[derive(Clone, Debug)]
pub struct Mirror {
    world: World<()>,
    /// By place in the row-by-row list of tiles; grows while the world is being received.
    ground: Vec<Counts>,
    /// The same again for whoever shows it, who needs a copy of its own: made piece by piece, since a copy of a million
    /// tiles at once would be seen as a frame that came late.
    to_show: Vec<Counts>,
    /// The game time of the last change, or of the snapshot.
    at: GameTime,
}

impl Mirror {
    /// Nothing received yet of a world of that size with so many teams.
    pub fn new(size: MapSize, teams: usize) -> Self {
        Self {
            world: World::new(size, teams),
            ground: Vec::new(),
            to_show: Vec::new(),
            at: GameTime::ZERO,
        }
    }

    /// A world of which a server of another kind tells, with bare ground: see [`World::lenient`].
    pub fn lenient(size: MapSize, at: GameTime) -> Self {
        Self {
            world: World::lenient(size),
            ground: vec![Counts::ZERO; size.area()],
            to_show: Vec::new(),
            at,
        }
    }

    /// There is one more team.
    pub fn add_team(&mut self) {
        self.world.add_team();
    }

    /// Agents, eggs and elevations.
    pub fn world(&self) -> &World<()> {
        &self.world
    }

    /// What lies on the tiles that were told so far, by place in the row-by-row list; see [`MapSize::index_of`].
    pub fn ground(&self) -> &[Counts] {
        &self.ground
    }

    /// The game time of the last change, or of the snapshot.
    pub fn at(&self) -> GameTime {
        self.at
    }

    /// Takes a piece of a snapshot. Runs of tiles come in their order, without gaps.
    ///
    /// # Errors
    /// If anything in it cannot be.
    pub fn load(&mut self, part: SnapshotPart) -> Result<(), WorldError> {
        let SnapshotPart::Ground { first, tiles } = part else {
            return self.world.load(part);
        };
        let expected = self.ground.len();
        let room = self.world.size().area() - expected;
        if usize::try_from(first) != Ok(expected) || tiles.len() > room {
            let expected = expected as u32;
            return Err(WorldError::GroundRun { first, expected });
        }
        for copy in [&mut self.ground, &mut self.to_show] {
            if copy.is_empty() {
                copy.reserve_exact(self.world.size().area());
            }
            copy.extend_from_slice(&tiles);
        }
        Ok(())
    }

    /// What lay on the tiles when the world was told, for whoever shows it; only once, and only where it was told in
    /// pieces.
    pub(crate) fn take_to_show(&mut self) -> Option<Vec<Counts>> {
        let tiles = std::mem::take(&mut self.to_show);
        (tiles.len() == self.world.size().area()).then_some(tiles)
    }

    /// All pieces are here, of the world as it was at game time `at`.
    ///
    /// # Errors
    /// If tiles are missing.
    pub fn finish(&mut self, at: GameTime) -> Result<(), WorldError> {
        let (told, area) = (self.ground.len(), self.world.size().area());
        if told < area {
            return Err(WorldError::GroundMissing {
                told: told as u32,
                area: area as u32,
            });
        }
        self.at = at;
        Ok(())
    }

    /// Changes of game time `at` follow.
    ///
    /// # Errors
    /// If game time went back.
    pub fn advance(&mut self, at: GameTime) -> Result<(), StreamError> {
        if at < self.at {
            return Err(StreamError::GameTimeBack { at, last: self.at });
        }
        self.at = at;
        Ok(())
    }

    /// Applies one change of the moment that was told last. Only for a world that is complete.
    ///
    /// # Errors
    /// If anything in it cannot be. Nothing has changed then.
    pub fn apply(&mut self, change: &Change) -> Result<(), WorldError> {
        if let Some((place, counts)) = self.world.apply(self.at, change)? {
            self.ground[place] = counts;
        }
        Ok(())
    }
}
