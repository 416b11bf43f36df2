//! A busy world without a server: all agents walk east for ever, and each step takes or leaves something.

use trantor_client::Scene;
use trantor_client::clock_sync::ServerTime;
use trantor_client::display_clock::{Anchor, DisplayClock};
use trantor_client::timeline::{Snapshot, Timeline};
use trantor_model::{
    ActionState, AgentId, AgentState, AgentView, Change, CommandKind, Counts, Direction, GroundChange, Level,
    MapSize, MoveKind, TeamId, Tile,
};
use trantor_protocol::wire::SnapshotPart;
use trantor_time::{Frequency, GameSpan, GameTime};

const FRAME_NS: i64 = 1_000_000_000 / 60;
const STEP_UNITS: i64 = 7;
/// Agents set out at as many different moments.
const PHASES: u32 = 64;

/// A world in which all agents walk east for ever.
pub struct Walkers {
    size: MapSize,
    clock: DisplayClock,
    timeline: Timeline,
    agents: u32,
    now_ns: i64,
    /// Arrivals sent so far, in phases: phase `n` arrives at `7 + 7 n / 64` units.
    phases_sent: i64,
    /// The scene of the last frame.
    pub scene: Scene,
}

fn tile_of(size: MapSize, agent: u32, steps: i64) -> Tile {
    let area = size.area() as u64;
    let home = size.tile_at((u64::from(agent) * 7_919 % area) as usize);
    size.offset(home, (steps % i64::from(size.width())) as i32, 0)
}

fn units_of_phase(phase: i64) -> GameTime {
    GameTime::from_nanounits(i128::from(phase) * i128::from(STEP_UNITS) * 1_000_000_000 / i128::from(PHASES))
}

fn start_of(agent: u32, steps: i64) -> GameTime {
    units_of_phase(i64::from(agent % PHASES) + steps * i64::from(PHASES))
}

fn walk(agent: u32, steps: i64) -> ActionState {
    let start = start_of(agent, steps);
    ActionState {
        kind: CommandKind::Forward,
        start,
        end: start + GameSpan::from_units(STEP_UNITS),
        refused: false,
    }
}

impl Walkers {
    /// A square map with so many agents, and a resource on every tile.
    pub fn new(side: u32, agents: u32) -> Self {
        let size = MapSize::new(side, side).expect("the sides are sides of a map");
        let teams = (0..4).map(|team| format!("team {team}").into()).collect();
        let mut snapshot = Snapshot::new(size, teams);
        let ground = |place: usize| {
            Counts(std::array::from_fn(|kind| {
                u32::from((place * 13 + kind * 5).is_multiple_of(7))
            }))
        };
        let tiles = (0..size.area()).map(ground).collect();
        let state = |agent: u32| AgentState {
            view: AgentView {
                id: AgentId(agent),
                team: TeamId((agent % 4) as u16),
                tile: tile_of(size, agent, 0),
                facing: Direction::East,
                level: Level::new(1 + (agent % 8) as u8).expect("1 to 8"),
                inventory: Counts([5, 1, 0, 2, 0, 0, 0]),
            },
            action: Some(walk(agent, 0)),
            food_ends: Some(GameTime::from_units(1_000_000)),
        };
        for part in [
            SnapshotPart::Ground { first: 0, tiles },
            SnapshotPart::Agents((0..agents).map(state).collect()),
        ] {
            snapshot.load(part).expect("a valid world");
        }
        snapshot.finish(GameTime::ZERO).expect("a whole world");
        let mut clock = DisplayClock::new(60_000_000);
        clock.anchor(Anchor {
            at: ServerTime::default(),
            game: GameTime::ZERO,
            frequency: Frequency::new(100).expect("100 is a frequency"),
            paused: false,
        });
        Self {
            size,
            clock,
            timeline: Timeline::new(snapshot, 0),
            agents,
            now_ns: 0,
            phases_sent: i64::from(PHASES),
            scene: Scene::default(),
        }
    }

    /// Goes on to the next frame, with arrivals, new steps and resources that are picked up, and writes its scene.
    pub fn advance(&mut self) {
        self.now_ns += FRAME_NS;
        let until = GameTime::from_nanounits(i128::from(self.now_ns) * 100);
        while units_of_phase(self.phases_sent) <= until {
            let at = units_of_phase(self.phases_sent);
            let steps = self.phases_sent / i64::from(PHASES);
            let phase = (self.phases_sent % i64::from(PHASES)) as u32;
            self.timeline.advance(at).expect("game time goes on");
            for agent in (phase..self.agents).step_by(PHASES as usize) {
                let tile = tile_of(self.size, agent, steps);
                let action = walk(agent, steps);
                let agent = AgentId(agent);
                for change in [
                    Change::Moved {
                        agent,
                        tile,
                        facing: Direction::East,
                        how: MoveKind::Walked,
                    },
                    Change::ActionStarted { agent, action },
                    Change::Ground {
                        tile,
                        ground: Counts([(steps % 3) as u32, 0, 1, 0, 0, 0, 0]),
                        why: GroundChange::Refill,
                    },
                ] {
                    self.timeline.push(at, change).expect("there is room");
                }
            }
            self.phases_sent += 1;
        }
        self.timeline
            .scene(
                &mut self.clock,
                ServerTime::from_nanos(self.now_ns),
                &mut self.scene,
            )
            .expect("the changes are valid");
    }
}
