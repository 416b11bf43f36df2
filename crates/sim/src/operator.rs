//! Draws admin operations and checks their effects: success takes effect at once, refusal changes nothing.

use trantor_engine::{AdminRefusal, AdminRequest, ConnId, Engine, LockStepState, Step};
use trantor_game::{AdminAction, GameConfig};
use trantor_model::{AgentId, Counts, Direction, Level, Resource, TeamId, Tile};
use trantor_time::{Frequency, GameSpan, GameTime, RealTime};

use crate::actors::CheckResult;
use crate::picture::Picture;
use crate::plan;
use crate::rng::Rng;

/// Speed of a sprint, above every speed that operators set.
const SPRINT_HERTZ: u32 = trantor_engine::limits::FREQUENCY_ASKED_MAX;

/// The highest speed an operator sets.
const HERTZ_MAX: u32 = 3_000;

/// The longest sprint; some tenths of a second at sprint speed, so that several fit into a run.
const SPRINT_UNITS_MAX: u32 = 1_500;

#[derive(Clone, Debug)]
pub(crate) enum AdminOp {
    Engine(AdminRequest),
    /// Save now; handled by storage, not by the engine.
    Save,
}

impl AdminOp {
    /// A random operation, maybe an invalid one.
    pub(crate) fn draw(game: &GameConfig, rng: &mut Rng) -> Self {
        let agent = AgentId(rng.below(12));
        let tile = game.size.tile_at(rng.below(game.size.area() as u32) as usize);
        let act = |action| Self::Engine(AdminRequest::Act(action));
        Self::Engine(match rng.below(28) {
            0 => AdminRequest::SetFrequency(rng.between(0, HERTZ_MAX)),
            1 | 2 => AdminRequest::Pause,
            3..=6 => AdminRequest::Resume,
            7 => AdminRequest::Step(*rng.pick(&[Step::Units(1), Step::Event, Step::Action])),
            8 => AdminRequest::Step(Step::Units(rng.between(0, 60))),
            9 | 10 => AdminRequest::Sprint(rng.between(0, SPRINT_UNITS_MAX)),
            11 => AdminRequest::Seek(GameTime::from_units(i64::from(rng.below(100)))),
            12 => AdminRequest::Say(rng.pick(&[&b"hello"[..], b"two\nlines"]).to_vec()),
            13 => AdminRequest::Kick(agent),
            14 => AdminRequest::Disconnect(ConnId {
                slot: rng.below(12),
                generation: rng.below(3),
            }),
            15 | 16 => {
                let facing = rng.one_in(2).then(|| *rng.pick(&Direction::ALL));
                // Sometimes off the map.
                let tile = if rng.one_in(8) {
                    Tile {
                        x: game.size.width(),
                        ..tile
                    }
                } else {
                    tile
                };
                return act(AdminAction::Teleport { agent, tile, facing });
            }
            17 => {
                // Rare, since the last level may end the game.
                let level = if rng.one_in(10) {
                    8
                } else {
                    rng.between(1, 7) as u8
                };
                let level = Level::new(level).expect("a level");
                return act(AdminAction::SetLevel { agent, level });
            }
            18 => {
                let (resource, count) = (*rng.pick(&Resource::ALL), rng.below(20));
                return act(AdminAction::SetInventory {
                    agent,
                    resource,
                    count,
                });
            }
            19 => {
                let ground = Counts([rng.below(9); 7]);
                return act(AdminAction::SetGround { tile, ground });
            }
            20 => {
                let team = TeamId(rng.below(4) as u16);
                return act(AdminAction::LayEgg { team, tile });
            }
            21 => {
                return act(AdminAction::SetRefill {
                    enabled: rng.one_in(2),
                });
            }
            22 => {
                let lag = rng.one_in(2).then(|| plan::draw_lag(rng));
                return act(AdminAction::SetLag { lag });
            }
            23 if rng.one_in(3) => return act(AdminAction::Kill { agent }),
            24 if rng.one_in(10) => return act(AdminAction::EndMatch),
            25 => return Self::Save,
            _ => AdminRequest::Start,
        })
    }
}

/// State of the engine before a request.
struct Before {
    picture: Picture,
    game_now: GameTime,
    frequency: Frequency,
    is_held: bool,
    sprint_until: Option<GameTime>,
    next_deadline: Option<GameTime>,
}

impl Before {
    fn of(engine: &Engine) -> Self {
        Self {
            picture: Picture::of_world(engine.game().world()),
            game_now: engine.game_now(),
            frequency: engine.game_clock().frequency(),
            is_held: is_held(engine),
            sprint_until: engine.sprint_until(),
            next_deadline: engine.game().next_deadline(),
        }
    }
}

/// Executes a request and checks its effect; returns the engine's answer.
pub(crate) fn ask(
    engine: &mut Engine,
    request: AdminRequest,
    now: RealTime,
) -> Result<Result<(), AdminRefusal>, String> {
    let before = Before::of(engine);
    let result = engine.admin(request.clone(), now);
    let checked = match &result {
        Ok(()) => check_done_op(engine, &request, &before),
        Err(_) => check_refused_op(engine, &before),
    };
    checked.map_err(|reason| format!("admin request {request:?}: {reason}"))?;
    Ok(result)
}

fn check_refused_op(engine: &Engine, before: &Before) -> CheckResult {
    let after = Before::of(engine);
    let is_same = after.game_now == before.game_now
        && after.frequency == before.frequency
        && after.is_held == before.is_held
        && after.sprint_until == before.sprint_until
        && after.picture == before.picture;
    match is_same {
        true => Ok(()),
        false => Err("it was refused and changed the engine".to_owned()),
    }
}

fn check_done_op(engine: &Engine, request: &AdminRequest, before: &Before) -> CheckResult {
    let (game, clock) = (engine.game(), engine.game_clock());
    let world = game.world();
    let hertz = clock.frequency().get();
    let next_unit = before.game_now.whole_units() + 1;
    let units = |units: i128| GameTime::from_units(i64::try_from(units).expect("a short game"));
    // A recording may end first.
    let ends_before =
        |to: GameTime| engine.is_playback() && (before.game_now..=to).contains(&engine.game_now());
    let moved_to = |to: GameTime| is_held(engine) && (engine.game_now() == to || ends_before(to));
    let stayed = engine.game_now() == before.game_now;
    let is_so = match request {
        AdminRequest::Start => engine.is_started() && stayed,
        AdminRequest::SetFrequency(asked) => hertz == *asked && engine.sprint_until().is_none() && stayed,
        AdminRequest::Pause => is_held(engine) && !before.is_held && stayed,
        AdminRequest::Resume => !is_held(engine) && before.is_held && stayed,
        AdminRequest::Step(Step::Units(count)) => {
            moved_to(units(next_unit - 1 + i128::from((*count).max(1))))
        }
        // In a playback the next event may be a record.
        AdminRequest::Step(Step::Event) if engine.is_playback() => is_held(engine),
        AdminRequest::Step(Step::Event) => before
            .next_deadline
            .is_some_and(|at| moved_to(at.max(before.game_now))),
        AdminRequest::Step(Step::Action) => engine.game_now() >= before.game_now && is_held(engine),
        AdminRequest::Sprint(count) => {
            let from = before.sprint_until.unwrap_or(before.game_now);
            let until = from + GameSpan::from_units(i64::from(*count));
            engine.sprint_until() == Some(until) && hertz == SPRINT_HERTZ && stayed
        }
        AdminRequest::Seek(_) => engine.is_playback(),
        AdminRequest::Say(text) => !text.contains(&b'\n'),
        AdminRequest::Kick(agent) => world.agent(*agent).is_none(),
        AdminRequest::Disconnect(conn) => engine
            .clients()
            .find(|client| client.conn == *conn)
            .is_none_or(|client| client.kind == trantor_engine::ClientKind::Leaving),
        AdminRequest::Act(action) => stayed && is_done(engine, action, before),
    };
    match is_so {
        true => Ok(()),
        false => Err(format!(
            "it was accepted without its effect; the game is at {:?}",
            engine.game_now()
        )),
    }
}

fn is_done(engine: &Engine, action: &AdminAction, before: &Before) -> bool {
    let world = engine.game().world();
    match action {
        AdminAction::Teleport { agent, tile, facing } => world.agent(*agent).is_some_and(|agent| {
            agent.tile() == *tile && facing.is_none_or(|facing| agent.facing() == facing)
        }),
        // The last level may end the game, which removes all agents.
        AdminAction::SetLevel { agent, level } => match world.agent(*agent) {
            Some(agent) => agent.level() == *level,
            None => world.winner().is_some(),
        },
        AdminAction::SetInventory {
            agent,
            resource,
            count,
        } => world
            .agent(*agent)
            .is_some_and(|agent| agent.inventory()[*resource] == *count),
        AdminAction::SetGround { tile, ground } => world.ground(*tile) == ground,
        AdminAction::Kill { agent } => world.agent(*agent).is_none(),
        AdminAction::LayEgg { tile, .. } => {
            let eggs_before = before.picture.eggs().filter(|(_, at)| at == tile).count();
            world.eggs_on(*tile).len() == eggs_before + 1
        }
        AdminAction::SetLag { lag } => world.lag() == lag.as_ref(),
        AdminAction::EndMatch => world.winner().is_some(),
        AdminAction::SetHunger { .. } | AdminAction::SetRefill { .. } => true,
    }
}

pub(crate) fn is_held(engine: &Engine) -> bool {
    match engine.lock_step_state() {
        Some(state) => state == LockStepState::Frozen,
        None => engine.game_clock().is_paused(),
    }
}

/// Checks sprints: each ends exactly at the requested unit and restores the previous speed.
#[derive(Debug, Default)]
pub(crate) struct Sprints {
    /// End of the current sprint, and the speed to restore.
    current: Option<(GameTime, Frequency)>,
    /// Sprints that ended as requested.
    pub(crate) ended: u64,
}

impl Sprints {
    /// Call after each admin request, with the speed `before` it.
    pub(crate) fn note(&mut self, engine: &Engine, before: Frequency) {
        if let Some(until) = engine.sprint_until() {
            let back_to = self.current.map_or(before, |(_, back_to)| back_to);
            self.current = Some((until, back_to));
        } else {
            self.current = None;
        }
    }

    /// The server restarts.
    pub(crate) fn forget(&mut self) {
        self.current = None;
    }

    /// Begins a pass of the engine and checks whether it ends a sprint correctly.
    pub(crate) fn begin_pass(&mut self, engine: &mut Engine, now: RealTime) -> CheckResult {
        if engine.is_playback() {
            // A playback follows the sprints of its recording.
            engine.begin_pass(now);
            return Ok(());
        }
        self.check(engine)?;
        let Some((until, back_to)) = self.current else {
            engine.begin_pass(now);
            return Ok(());
        };
        let mut clock = *engine.game_clock();
        let (ends_at, slips) = (clock.real_at(until), engine.stats(now).slips);
        engine.begin_pass(now);
        let reached = engine.game_now();
        if engine.sprint_until().is_some() {
            return match reached < until {
                true => Ok(()),
                false => Err(format!("a sprint to {until:?} still runs at {reached:?}")),
            };
        }
        self.current = None;
        self.ended += 1;
        let Some(ends_at) = ends_at.filter(|at| *at <= now) else {
            return Err(format!("a sprint to {until:?} ended at {reached:?}"));
        };
        clock.set_frequency(ends_at, back_to);
        let slipped = engine.stats(now).slips > slips;
        if reached < until || reached > clock.now(now) || (!slipped && reached != clock.now(now)) {
            return Err(format!(
                "after a sprint to {until:?} the game is at {reached:?}, not {:?}",
                clock.now(now)
            ));
        }
        self.check(engine)?;
        match engine.game_clock().frequency() == back_to {
            true => Ok(()),
            false => Err(format!("after a sprint the speed is not {back_to:?}")),
        }
    }

    /// The game runs at sprint speed exactly while it sprints.
    fn check(&mut self, engine: &Engine) -> CheckResult {
        let is_fast = engine.game_clock().frequency().get() == SPRINT_HERTZ;
        let sprints_to = engine.sprint_until();
        if sprints_to.is_none() {
            // An operator set another speed.
            self.current = None;
        }
        match is_fast == sprints_to.is_some() && self.current.map(|(until, _)| until) == sprints_to {
            true => Ok(()),
            false => Err(format!(
                "a sprint to {sprints_to:?}, requested as {:?}, at {:?}",
                self.current,
                engine.game_clock().frequency()
            )),
        }
    }
}
