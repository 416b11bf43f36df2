//! The plan of a run, drawn from its seed: game, actors, faults of network, machine and disk.
//!
//! Each seed leaves some features out entirely (swarm testing): frequent events mask others, so many lopsided runs find
//! more than many balanced ones.

use std::num::NonZeroU64;

use trantor_engine::limits::{Limits, TEXT_VIEWERS_AT_ONCE_MAX};
use trantor_engine::{ControlAccess, EngineConfig, RefillUpdates, Token};
use trantor_game::{GameConfig, Rules};
use trantor_model::MapSize;
use trantor_protocol::text::{Dialect, GuiIds};
use trantor_time::link::{Bandwidth, Chance, Order};
use trantor_time::{Frequency, GameSpan, LinkSettings, RealSpan};

use crate::fault::FaultInjector;
use crate::rng::Rng;

#[derive(Debug)]
pub(crate) struct Plan {
    /// Of the random numbers of all parts.
    pub(crate) seed: u64,
    pub(crate) injector: FaultInjector,
    pub(crate) config: EngineConfig,
    pub(crate) roles: Vec<Role>,
    pub(crate) network_faults: NetworkFaults,
    pub(crate) storage: Storage,
    /// The time between two readings of the clock within a pass.
    pub(crate) reading: RealSpan,
    /// The machine stalls, or the power fails, in a step with probability `1 / n`; 0 is never.
    pub(crate) stall_one_in: u32,
    pub(crate) crash_one_in: u32,
    /// Length of the phase with faults.
    pub(crate) chaos: RealSpan,
    /// Mean interval between commands at the server's console; 0 for none.
    pub(crate) admin_ms: u32,
    /// Mean interval between reloads of the options; 0 for none.
    pub(crate) reload_ms: u32,
    /// All resources lie on every tile at the start, so that elevations succeed.
    pub(crate) is_rich: bool,
}

/// Behaviour of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An agent with one command outstanding.
    Steady,
    /// An agent that sends random commands, up to ten at a time.
    Random,
    /// An agent that starts elevations.
    Incanter,
    /// An agent that exceeds the limit of outstanding commands.
    Flooder,
    /// A flooder that reads slowly.
    SlowReader,
    /// A peer that violates every protocol.
    Byzantine,
    /// An operator on an `ADMIN` connection.
    Operator,
    /// The real client over the wire protocol.
    Viewer,
    /// The real client over the text protocol.
    TextViewer,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct NetworkFaults {
    pub(crate) latency_ms_max: u32,
    pub(crate) jitter_ms_max: u32,
    pub(crate) bytes_per_second: Option<u32>,
    /// Longest segment.
    pub(crate) piece_bytes_max: u32,
    /// Each step stalls a line, resets a connection or leaves it half open with probability `1 / n`; 0 is never.
    pub(crate) stall_one_in: u32,
    pub(crate) reset_one_in: u32,
    pub(crate) half_open_one_in: u32,
    /// Receive window of peers.
    pub(crate) window_bytes: usize,
}

/// Storage options and faults of the disk. `one_in` fields are probabilities `1 / n`; 0 is never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    /// Autosave interval; zero: no saves.
    pub(crate) save_every: RealSpan,
    /// Longest time between a write and its sync.
    pub(crate) sync_every: RealSpan,
    /// Longest duration of a job.
    pub(crate) job_ms_max: u32,
    /// Size at which the journal starts another piece.
    pub(crate) piece_bytes: usize,
    /// A write fails.
    pub(crate) refuse_one_in: u32,
    /// The disk becomes full and fails writes for a while.
    pub(crate) full_one_in: u32,
    /// A write blocks the server's loop.
    pub(crate) slow_one_in: u32,
    /// A crash flips a bit in a file.
    pub(crate) corrupt_one_in: u32,
    /// A sync fails, and the unsynced data is lost.
    pub(crate) unsynced_one_in: u32,
    /// A pass finds the directory of the current run removed.
    pub(crate) removed_one_in: u32,
    /// A crash loses the newest save, or replaces it with an older one.
    pub(crate) loses_save: bool,
}

impl Plan {
    pub(crate) fn draw(seed: u64, injector: FaultInjector) -> Self {
        let rng = &mut Rng::new(seed, 1);
        let is_rich = rng.one_in(2);
        let mut config = draw_config(rng, seed);
        let mut roles = draw_roles(rng);
        // Rare features have their own stream, so that they do not change the other runs.
        let rare = &mut Rng::new(seed, 8);
        let is_large = rare.one_in(24);
        if is_large {
            let side = |rng: &mut Rng| rng.between(33, 40);
            config.game.size = MapSize::new(side(rare), side(rare)).expect("a valid size");
            config.spectator_delay = RealSpan::ZERO;
        }
        if rare.one_in(8) {
            let count = TEXT_VIEWERS_AT_ONCE_MAX + rare.between(1, 4) as usize;
            roles.extend(std::iter::repeat_n(Role::TextViewer, count));
        }
        if rare.one_in(3) {
            config.limits = draw_limits(rare);
        }
        if rare.one_in(4) {
            config.control = *rare.pick(&[ControlAccess::Token, ControlAccess::User]);
        }
        let reload_ms = if rare.one_in(4) { rare.between(20, 300) } else { 0 };
        if needs_token(config.control) {
            config.token = Token::read(&token(0)).ok();
        }
        Self {
            seed,
            injector,
            config,
            roles,
            network_faults: draw_network_faults(rng),
            reading: RealSpan::from_micros(*rng.pick(&[0, 0, 5, 50, 1_000])),
            stall_one_in: if rng.one_in(4) { 100 } else { 0 },
            crash_one_in: if rng.one_in(3) { 300 } else { 0 },
            storage: draw_storage(rng),
            chaos: rng.millis(600, 1_800),
            admin_ms: if rng.one_in(2) { rng.between(20, 300) } else { 0 },
            reload_ms,
            is_rich: is_rich && !is_large,
        }
    }

    /// Viewers and an operator of a playback.
    pub(crate) fn of_playback(config: EngineConfig, rng: &mut Rng) -> Self {
        Self {
            seed: u64::from(rng.below(u32::MAX)),
            injector: FaultInjector::new(None),
            config,
            roles: vec![Role::Viewer, Role::TextViewer, Role::Operator],
            network_faults: draw_network_faults(rng),
            reading: RealSpan::ZERO,
            stall_one_in: 0,
            crash_one_in: 0,
            storage: draw_storage(rng),
            chaos: rng.millis(100, 600),
            admin_ms: 100,
            reload_ms: 0,
            is_rich: false,
        }
    }
}

impl NetworkFaults {
    /// Settings of one direction of a new connection.
    pub(crate) fn draw_line(&self, rng: &mut Rng) -> LinkSettings {
        // The link counts nanounits, which stand for nanoseconds.
        let millis = |millis: u32| GameSpan::from_nanounits(i128::from(millis) * 1_000_000);
        LinkSettings {
            speed: None,
            latency: millis(rng.between(0, self.latency_ms_max)),
            jitter_max: millis(rng.between(0, self.jitter_ms_max)),
            loss: Chance::NEVER,
            duplication: Chance::NEVER,
            range: None,
            bandwidth: self.bytes_per_second.map(|bytes| Bandwidth {
                bytes_per: u64::from(bytes).try_into().expect("some bytes a second"),
                wait_max: GameSpan::from_nanounits(i64::MAX.into()),
            }),
            order: Order::Fifo,
        }
    }
}

fn draw_config(rng: &mut Rng, seed: u64) -> EngineConfig {
    let size = MapSize::new(rng.between(1, 9), rng.between(1, 9)).expect("a valid size");
    let teams = ["red", "blue", "green"][..rng.between(1, 3) as usize].to_vec();
    let mut config = EngineConfig::new(GameConfig {
        size,
        teams: teams.into_iter().map(str::to_owned).collect(),
        places_per_team: rng.between(1, 8),
        seed,
        rules: Rules {
            eject_eggs: !rng.one_in(4),
            egg_hatch_units: if rng.one_in(3) { rng.between(1, 600) } else { 0 },
            respawn_places: rng.one_in(4),
            eggs_in_sight: rng.one_in(4),
            lock_step: rng.one_in(3),
            lag: rng.one_in(3).then(|| draw_lag(rng)),
        },
    });
    let hertz = *rng.pick(&[7, 50, 100, 100, 333, 1_000, 3_000]);
    config.frequency = Frequency::new(hertz).expect("a valid frequency");
    config.dialect = *rng.pick(&Dialect::ALL);
    config.gui_ids = *rng.pick(&[GuiIds::Hash, GuiIds::Plain, GuiIds::Pnw]);
    config.refill_updates = *rng.pick(&[RefillUpdates::Changed, RefillUpdates::All]);
    config.control = *rng.pick(&[
        ControlAccess::Everyone,
        ControlAccess::Loopback,
        ControlAccess::Off,
    ]);
    config.auto_start = !rng.one_in(6);
    if config.game.rules.lock_step && rng.one_in(2) {
        config.lock_step = Some(RealSpan::from_millis(*rng.pick(&[5, 40, 300])));
    }
    let delays_ms = [0, 0, 0, 0, 30, 120, 400, 900];
    config.spectator_delay = RealSpan::from_millis(*rng.pick(&delays_ms));
    config
}

/// Whether peers must present a token.
pub(crate) fn needs_token(control: ControlAccess) -> bool {
    matches!(control, ControlAccess::Token | ControlAccess::User)
}

/// A token by its number, which is never reused.
pub(crate) fn token(number: u32) -> String {
    format!("token-of-the-server-{number}")
}

/// Lag of broadcasts: latency, loss, duplication, range.
fn draw_lag(rng: &mut Rng) -> LinkSettings {
    let units = |units: u32| GameSpan::from_units(i64::from(units));
    let chance = |rng: &mut Rng| {
        let parts = if rng.one_in(2) { rng.between(0, 500_000) } else { 0 };
        Chance::parts_per_million(parts).expect("at most a half")
    };
    LinkSettings {
        speed: NonZeroU64::new(u64::from(rng.between(0, 3_000))),
        latency: units(rng.between(0, 50)),
        jitter_max: units(rng.between(0, 50)),
        loss: chance(rng),
        duplication: chance(rng),
        range: rng.one_in(2).then(|| u64::from(rng.between(0, 8_000))),
        bandwidth: None,
        order: *rng.pick(&[Order::Fifo, Order::MayOvertake]),
    }
}

fn draw_roles(rng: &mut Rng) -> Vec<Role> {
    let kinds = [
        (Role::Steady, 3),
        (Role::Random, 3),
        (Role::Incanter, 3),
        (Role::Flooder, 1),
        (Role::SlowReader, 1),
        (Role::Byzantine, 2),
        (Role::Operator, 1),
        (Role::Viewer, 2),
        (Role::TextViewer, 2),
    ];
    let mut roles = Vec::new();
    for (role, most) in kinds {
        roles.extend(std::iter::repeat_n(role, rng.below(most + 1) as usize));
    }
    if roles.is_empty() {
        roles.push(Role::Steady);
    }
    roles
}

/// Some limits small, the others at their defaults.
pub(crate) fn draw_limits(rng: &mut Rng) -> Limits {
    let mut limits = Limits::default();
    if rng.one_in(2) {
        limits.connections_max = rng.between(3, 20);
    }
    if rng.one_in(2) {
        limits.connections_per_address_max = Some(rng.between(1, 3));
    }
    if rng.one_in(3) {
        limits.greeting_span = rng.millis(100, 600);
    }
    if rng.one_in(3) {
        limits.message_bytes_max = rng.between(200, 2_000) as usize;
        limits.violations_max = rng.between(0, 3);
    }
    if rng.one_in(3) {
        limits.requests_per_second = rng.between(10, 200);
    }
    if rng.one_in(3) {
        limits.output_bytes_max = rng.between(20_000, 200_000) as usize;
    }
    if rng.one_in(3) {
        limits.agent_outbox_bytes_max = rng.between(66_000, 100_000) as usize;
    }
    if rng.one_in(3) {
        limits.stall_span = rng.millis(100, 600);
    }
    if rng.one_in(4) {
        limits.idle_span = Some(rng.millis(200, 800));
    }
    if rng.one_in(3) {
        limits.viewer_outbox_bytes_max = rng.between(4_000, 60_000) as usize;
    }
    if rng.one_in(3) {
        limits.fan_out_per_second = rng.between(20, 500);
    }
    limits
}

fn draw_storage(rng: &mut Rng) -> Storage {
    Storage {
        save_every: RealSpan::from_millis(*rng.pick(&[0, 50, 200, 500])),
        sync_every: rng.millis(1, 300),
        job_ms_max: *rng.pick(&[0, 5, 100]),
        piece_bytes: *rng.pick(&[500, 500, 2_000, 20_000, 1_000_000]),
        refuse_one_in: *rng.pick(&[0, 0, 0, 150]),
        full_one_in: *rng.pick(&[0, 0, 0, 300]),
        slow_one_in: *rng.pick(&[0, 0, 0, 40]),
        corrupt_one_in: *rng.pick(&[0, 0, 4]),
        unsynced_one_in: *rng.pick(&[0, 0, 0, 20]),
        removed_one_in: *rng.pick(&[0, 0, 0, 0, 800]),
        loses_save: rng.one_in(4),
    }
}

fn draw_network_faults(rng: &mut Rng) -> NetworkFaults {
    NetworkFaults {
        latency_ms_max: *rng.pick(&[0, 2, 20, 150]),
        jitter_ms_max: *rng.pick(&[0, 1, 10, 100]),
        bytes_per_second: rng.one_in(4).then(|| rng.between(20_000, 1_000_000)),
        piece_bytes_max: *rng.pick(&[1, 7, 100, 1_500, 65_536]),
        stall_one_in: *rng.pick(&[0, 0, 30, 200]),
        reset_one_in: *rng.pick(&[0, 0, 100, 400]),
        half_open_one_in: *rng.pick(&[0, 0, 0, 300]),
        window_bytes: *rng.pick(&[500, 4_096, 65_536]),
    }
}
