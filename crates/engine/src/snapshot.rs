//! The whole world for a frame viewer, in pieces that each cost it one credit.
//!
//! Who is in the world is noted when the snapshot is begun, and encoded piece by piece as there is credit for it, once for all who
//! began at that moment: ten thousand agents are some milliseconds of encoding, which must not delay others. Eggs, of which there
//! may be a hundred times as many, stay encoded from one snapshot to the next. What lies where is
//! not even noted: a million tiles are some megabytes. Pieces of ground show a later moment than
//! the rest, and what changed since the beginning is sent after them all the same. That does no harm: a change says what
//! lies on a tile after it, not what is different, so that the last word on each tile is the right one.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use trantor_game::{Egg, Elevation, Game, History};
use trantor_model::{AgentState, Change, EggId, EggState, ElevationState};
use trantor_protocol::wire::{SnapshotPart, ToClient, write_frame};
use trantor_time::GameTime;

use crate::limits;

/// A snapshot on its way to a viewer. Ground first, so that everything else stands on it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// Index of the first tile whose piece has not been sent.
    tile: usize,
    /// What comes behind the ground.
    population: Arc<Population>,
    /// How many of its pieces were sent.
    sent: usize,
}

impl Snapshot {
    pub(crate) fn new(population: Arc<Population>) -> Self {
        Self {
            tile: 0,
            population,
            sent: 0,
        }
    }

    /// The next piece, with the ground as it is in `game`; the last one is the snapshot's end.
    pub(crate) fn next(&mut self, game: &Game) -> Option<Arc<[u8]>> {
        let size = game.config().size;
        if self.tile >= size.area() {
            let piece = self.population.piece(self.sent)?;
            self.sent += 1;
            return Some(piece);
        }
        let end = size.area().min(self.tile + limits::GROUND_TILES_PER_PART);
        let tiles = (self.tile..end)
            .map(|index| *game.world().ground(size.tile_at(index)))
            .collect();
        let first = u32::try_from(self.tile).expect("a map has at most a million tiles");
        self.tile = end;
        Some(frame(&ToClient::Snapshot(SnapshotPart::Ground { first, tiles })))
    }

    /// Whether the next piece is the end, which costs no credit: it is no piece.
    pub(crate) fn is_end_next(&self, game: &Game) -> bool {
        self.tile >= game.config().size.area() && self.sent + 1 == self.population.pieces.len()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.sent == self.population.pieces.len()
    }
}

/// Everything in the world but the ground, as it was at one moment. Shared by all viewers whose snapshot began then.
#[derive(Debug)]
pub(crate) struct Population {
    pieces: Vec<Arc<Piece>>,
}

/// What frame viewers that join are sent: the world, and what happened before.
#[derive(Debug)]
pub(crate) struct Snapshots {
    pub(crate) history: History,
    /// The agents and eggs of the world; `None` if no viewer has needed them since they changed.
    population: Option<Arc<Population>>,
    eggs: EggPieces,
    /// Agents and eggs when a team won: all agents are disconnected with it.
    ending: Option<Arc<Population>>,
}

impl Snapshots {
    pub(crate) fn of(game: &Game) -> Self {
        Self {
            history: History::of(game),
            population: None,
            eggs: EggPieces::default(),
            ending: None,
        }
    }

    pub(crate) fn note(&mut self, game: &Game, change: &Change) {
        self.history.note(game, change);
        self.eggs.note(change);
    }

    pub(crate) fn world_changed(&mut self) {
        self.population = None;
    }

    /// A recording goes to another moment, with another past.
    pub(crate) fn jump(&mut self, history: History) {
        (self.population, self.eggs) = (None, EggPieces::default());
        self.history = history;
    }

    /// A team has won, and its agents are still there.
    pub(crate) fn end(&mut self, game: &Game) {
        self.ending = Some(Arc::new(Population::at_rest(game)));
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ending.is_some()
    }

    pub(crate) fn population(&mut self, game: &Game) -> Arc<Population> {
        if let Some(ending) = &self.ending {
            return Arc::clone(ending);
        }
        let now = || Arc::new(Population::of(game, &mut self.eggs));
        Arc::clone(self.population.get_or_insert_with(now))
    }
}

/// A piece of a snapshot, or its end.
#[derive(Debug)]
struct Piece {
    message: ToClient,
    /// Encoded when it is first sent.
    frame: OnceLock<Arc<[u8]>>,
}

impl Population {
    /// The agents and eggs of the world now; `eggs` are pieces kept from earlier snapshots.
    fn of(game: &Game, eggs: &mut EggPieces) -> Self {
        let elevations = game.world().elevations().map(Elevation::state);
        eggs.refresh(game);
        Self::new(agents(game), eggs, elevations.collect(), winner(game), game.now())
    }

    /// As `of`, of a match that has just been decided: no agent does anything any more.
    fn at_rest(game: &Game) -> Self {
        let mut agents = agents(game);
        for agent in &mut agents {
            (agent.action, agent.food_ends) = (None, None);
        }
        let mut eggs = EggPieces::default();
        eggs.refresh(game);
        Self::new(agents, &eggs, Vec::new(), winner(game), game.now())
    }

    /// What was found at game time `at`.
    fn new(
        agents: Vec<AgentState>,
        eggs: &EggPieces,
        elevations: Vec<ElevationState>,
        winner: Option<SnapshotPart>,
        at: GameTime,
    ) -> Self {
        let agents = agents.chunks(limits::ENTRIES_PER_PART);
        let agents = agents.map(|agents| SnapshotPart::Agents(agents.to_vec()));
        let elevations = elevation_ranges(&elevations)
            .into_iter()
            .map(|range| SnapshotPart::Elevations(elevations[range].to_vec()));
        let piece = |part| Piece::new(ToClient::Snapshot(part));
        let mut pieces: Vec<Arc<Piece>> = agents.map(piece).collect();
        pieces.extend(eggs.pieces.iter().map(|eggs| Arc::clone(&eggs.piece)));
        pieces.extend(elevations.chain(winner).map(piece));
        pieces.push(Piece::new(ToClient::SnapshotEnd { at }));
        Self { pieces }
    }

    fn piece(&self, nth: usize) -> Option<Arc<[u8]>> {
        self.pieces.get(nth).map(|piece| piece.frame())
    }
}

impl Piece {
    fn new(message: ToClient) -> Arc<Self> {
        Arc::new(Self {
            message,
            frame: OnceLock::new(),
        })
    }

    fn frame(&self) -> Arc<[u8]> {
        Arc::clone(self.frame.get_or_init(|| frame(&self.message)))
    }
}

fn winner(game: &Game) -> Option<SnapshotPart> {
    let totals = || Some(Box::new(game.totals()));
    game.winner().map(|team| SnapshotPart::Winner {
        team,
        totals: totals(),
    })
}

fn agents(game: &Game) -> Vec<AgentState> {
    let agents = game.world().agents().map(|agent| AgentState {
        view: agent.view(),
        action: agent.action(),
        food_ends: agent.food_ends(),
    });
    agents.collect()
}

/// The pieces of a snapshot that hold eggs, kept from one snapshot to the next: there may be a million eggs, and what each is
/// never changes, so that a snapshot shares all pieces in which none was laid or lost since the one before.
#[derive(Debug, Default)]
struct EggPieces {
    /// In ascending order of number; none is empty.
    pieces: Vec<EggPiece>,
    /// Eggs from this number on are in no piece yet.
    end: EggId,
}

#[derive(Clone, Debug)]
struct EggPiece {
    first: EggId,
    /// How many eggs it holds.
    count: usize,
    piece: Arc<Piece>,
    /// An egg of it is gone.
    is_dirty: bool,
}

impl EggPieces {
    /// Notes what has just happened. Eggs that were laid are found by their numbers.
    fn note(&mut self, change: &Change) {
        let (Change::EggDestroyed { egg } | Change::Joined { egg, .. }) = change else {
            return;
        };
        let behind = self.pieces.partition_point(|piece| piece.first <= *egg);
        if let Some(piece) = behind.checked_sub(1).and_then(|nth| self.pieces.get_mut(nth)) {
            piece.is_dirty = true;
        }
    }

    /// Brings the pieces up to date. One that changed is made anew, with its neighbours as long as they fit into one.
    fn refresh(&mut self, game: &Game) {
        let has_new = game.world().eggs_from(self.end).next().is_some();
        if let Some(last) = self.pieces.last_mut() {
            last.is_dirty |= has_new && last.count < limits::ENTRIES_PER_PART;
        }
        if !has_new && !self.pieces.iter().any(|piece| piece.is_dirty) {
            return;
        }
        let before = std::mem::take(&mut self.pieces);
        let mut changed = Vec::new();
        for (nth, piece) in before.iter().enumerate() {
            let fits = |changed: &[EggState]| changed.len() + piece.count <= limits::ENTRIES_PER_PART;
            if piece.is_dirty || (!changed.is_empty() && fits(&changed)) {
                let until = before.get(nth + 1).map_or(self.end, |next| next.first);
                let eggs = game.world().eggs_from(piece.first);
                changed.extend(eggs.take_while(|egg| egg.id < until).map(egg_state));
                self.cut(&mut changed, limits::ENTRIES_PER_PART);
            } else {
                self.cut(&mut changed, 1);
                self.pieces.push(piece.clone());
            }
        }
        changed.extend(game.world().eggs_from(self.end).map(egg_state));
        if let Some(last) = changed.last() {
            self.end = self.end.max(EggId(last.egg.0.saturating_add(1)));
        }
        self.cut(&mut changed, 1);
        debug_assert!(
            game.world().eggs().len() == self.pieces.iter().map(|piece| piece.count).sum::<usize>(),
            "each egg is in a piece"
        );
    }

    /// Makes pieces of `eggs`, the last one only if it has so many.
    fn cut(&mut self, eggs: &mut Vec<EggState>, count_min: usize) {
        let mut taken = 0;
        for part in eggs.chunks(limits::ENTRIES_PER_PART) {
            if part.len() < count_min {
                break;
            }
            taken += part.len();
            self.pieces.push(EggPiece {
                first: part[0].egg,
                count: part.len(),
                piece: Piece::new(ToClient::Snapshot(SnapshotPart::Eggs(part.to_vec()))),
                is_dirty: false,
            });
        }
        eggs.drain(..taken);
    }
}

fn egg_state(egg: &Egg) -> EggState {
    EggState {
        egg: egg.id,
        team: egg.team,
        tile: egg.tile,
    }
}

/// Runs of elevations that make a piece each: they are as long as their participants are many.
fn elevation_ranges(elevations: &[ElevationState]) -> Vec<Range<usize>> {
    let (mut ranges, mut begin, mut participants) = (Vec::new(), 0, 0);
    for (end, elevation) in (1..).zip(elevations) {
        participants += elevation.participants.len();
        let is_full =
            end - begin == limits::ENTRIES_PER_PART || participants >= limits::ELEVATION_AGENTS_PER_PART;
        if is_full || end == elevations.len() {
            ranges.push(begin..end);
            (begin, participants) = (end, 0);
        }
    }
    ranges
}

fn frame(message: &ToClient) -> Arc<[u8]> {
    let mut frame = Vec::new();
    write_frame(&mut frame, message).expect("pieces are cut to fit a frame");
    frame.into()
}

#[cfg(test)]
mod tests {
    use trantor_game::{GameConfig, GameEvent, GameInput, Handled, Rules};
    use trantor_model::{AdminAction, MapSize, TeamId, Tile};

    use super::*;

    fn game(eggs: u32) -> Game {
        Game::new(GameConfig {
            size: MapSize::new(1, 1).unwrap(),
            teams: vec!["a".to_owned()],
            places_per_team: eggs,
            seed: 0,
            rules: Rules::default(),
        })
    }

    fn act(game: &mut Game, eggs: &mut EggPieces, input: GameInput) {
        let handled = game.handle(input, game.now());
        assert!(!matches!(handled, Handled::Refused(_)), "{handled:?}");
        while let Some(event) = game.poll_event() {
            if let GameEvent::Seen(change) = event {
                eggs.note(&change);
            }
        }
    }

    fn ids(eggs: &EggPieces) -> Vec<EggId> {
        let eggs = eggs.pieces.iter().flat_map(|piece| match &piece.piece.message {
            ToClient::Snapshot(SnapshotPart::Eggs(eggs)) => eggs.as_slice(),
            other => panic!("{other:?}"),
        });
        eggs.map(|egg| egg.egg).collect()
    }

    /// How many of the pieces are those of before, of how many.
    fn shared(before: &Population, after: &Population) -> (usize, usize) {
        let is_shared = |piece: &&Arc<Piece>| before.pieces.iter().any(|old| Arc::ptr_eq(old, piece));
        (after.pieces.iter().filter(is_shared).count(), after.pieces.len())
    }

    #[test]
    fn a_snapshot_shares_the_pieces_in_which_no_egg_has_changed() {
        const PER_PART: u32 = limits::ENTRIES_PER_PART as u32;
        let (mut game, mut eggs) = (game(4 * PER_PART), EggPieces::default());
        let first = Population::of(&game, &mut eggs);
        assert_eq!(first.pieces.len(), 4 + 1);
        let (team, tile) = (TeamId(0), Tile { x: 0, y: 0 });
        act(
            &mut game,
            &mut eggs,
            GameInput::Admin(AdminAction::LayEgg { team, tile }),
        );
        let second = Population::of(&game, &mut eggs);
        assert_eq!(
            shared(&first, &second),
            (4, 5 + 1),
            "but for the new egg and the end"
        );
        act(&mut game, &mut eggs, GameInput::Join { team });
        let third = Population::of(&game, &mut eggs);
        assert_eq!(
            shared(&second, &third),
            (4, 1 + 5 + 1),
            "but for the agent, the piece of its egg, and the end"
        );
        // Most are gone: few pieces are left.
        for _ in 0..3 * PER_PART {
            act(&mut game, &mut eggs, GameInput::Join { team });
            if game.world().eggs().len() % 100 == 0 {
                Population::of(&game, &mut eggs);
            }
        }
        Population::of(&game, &mut eggs);
        assert!(ids(&eggs).into_iter().eq(game.world().eggs().map(|egg| egg.id)));
        assert!(
            eggs.pieces.len() <= 3,
            "{} for {} eggs",
            eggs.pieces.len(),
            ids(&eggs).len()
        );
    }
}
