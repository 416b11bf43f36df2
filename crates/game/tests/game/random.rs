//! Random games: whatever comes in, the invariants hold (`Game::check` runs after every step), every command
//! is answered once and in order.

use std::collections::{BTreeMap, BTreeSet};

use std::num::NonZeroU64;

use proptest::prelude::*;
use trantor_game::{Game, GameConfig, GameEvent, GameInput, Handled, Lag, Rules};
use trantor_model::{
    AdminAction, AgentId, Change, Command, CommandKind, Counts, Direction, LeaveCause, Level, MapSize,
    Percept, Resource, TeamId, Tile, Turn,
};
use trantor_time::link::{Chance, Order};
use trantor_time::{GameSpan, GameTime};

/// One thing done to a game.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Agents are meant modulo how many there are.
    Input(GameInput),
    /// Nanounits pass.
    Wait(i64),
    /// Deadlines are carried out, however far they are.
    Fire(u8),
}

pub(crate) fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        3 => Just(Command::Forward),
        1 => Just(Command::Turn(Turn::Right)),
        1 => Just(Command::Turn(Turn::Left)),
        1 => Just(Command::Look),
        1 => Just(Command::Inventory),
        1 => Just(Command::Broadcast(b"hello there".as_slice().into())),
        1 => Just(Command::ConnectNbr),
        2 => Just(Command::Fork),
        2 => Just(Command::Eject),
        3 => (0..7usize).prop_map(|index| Command::Take(Resource::ALL[index])),
        2 => (0..7usize).prop_map(|index| Command::Set(Resource::ALL[index])),
        4 => Just(Command::Incantation),
        1 => Just(Command::Refused(None)),
        1 => (0..12usize).prop_map(|index| Command::Refused(Some(CommandKind::ALL[index]))),
    ]
}

/// Few tiles, so that agents meet.
fn admin_action() -> impl Strategy<Value = AdminAction> {
    let agent = || (0..6u32).prop_map(AgentId);
    let team = || (0..3u16).prop_map(TeamId);
    let tile = || (0..3u16, 0..2u16).prop_map(|(x, y)| Tile { x, y });
    let level = (1..=8u8).prop_map(|level| Level::new(level).expect("a level"));
    prop_oneof![
        2 => (agent(), tile(), 0..5usize).prop_map(|(agent, tile, facing)| {
            let facing = Direction::ALL.get(facing).copied();
            AdminAction::Teleport { agent, tile, facing }
        }),
        1 => (agent(), level).prop_map(|(agent, level)| AdminAction::SetLevel { agent, level }),
        1 => (agent(), 0..3u32).prop_map(|(agent, count)| {
            let resource = Resource::Food;
            AdminAction::SetInventory { agent, resource, count }
        }),
        2 => (tile(), 0..4u32).prop_map(|(tile, count)| {
            let ground = Counts([count; 7]);
            AdminAction::SetGround { tile, ground }
        }),
        1 => agent().prop_map(|agent| AdminAction::Kill { agent }),
        1 => (team(), tile()).prop_map(|(team, tile)| AdminAction::LayEgg { team, tile }),
        1 => team().prop_map(|team| AdminAction::OpenTeam { team }),
        1 => team().prop_map(|team| AdminAction::CloseTeam { team }),
        1 => any::<bool>().prop_map(|enabled| AdminAction::SetHunger { enabled }),
        1 => any::<bool>().prop_map(|enabled| AdminAction::SetRefill { enabled }),
        1 => prop::option::of(any_lag()).prop_map(|lag| AdminAction::SetLag { lag }),
        1 => (team(), prop::option::of(prop::option::of(any_lag())))
            .prop_map(|(team, lag)| AdminAction::SetTeamLag { team, lag }),
    ]
}

/// Waits of whole units, so that deadlines fall together, and of fractions.
fn step() -> impl Strategy<Value = Step> {
    let agent = || (0..6u32).prop_map(AgentId);
    let cause = LeaveCause::Disconnected;
    let input = prop_oneof![
        3 => (0..3u16).prop_map(|team| GameInput::Join { team: TeamId(team) }),
        1 => agent().prop_map(move |agent| GameInput::Leave { agent, cause }),
        20 => (agent(), command()).prop_map(|(agent, command)| GameInput::Command { agent, command }),
        11 => admin_action().prop_map(GameInput::Admin),
    ];
    prop_oneof![
        35 => input.prop_map(Step::Input),
        4 => (0..12i64).prop_map(|units| Step::Wait(units * 1_000_000_000)),
        2 => (0..300_000_000_000i64).prop_map(Step::Wait),
        4 => (1..8u8).prop_map(Step::Fire),
    ]
}

prop_compose! {
    fn any_lag()(
        speed in 0..3u64,
        latency in 0..3i64,
        jitter in 0..10i64,
        loss in 0..500_000u32,
        duplication in 0..500_000u32,
        range in prop::option::of(0..3_000u64),
        may_overtake: bool,
    ) -> Lag {
        Lag {
            speed: NonZeroU64::new(speed * 500),
            latency: GameSpan::from_units(latency),
            jitter_max: GameSpan::from_units(jitter),
            loss: Chance::parts_per_million(loss).expect("it is a share"),
            duplication: Chance::parts_per_million(duplication).expect("it is a share"),
            range,
            bandwidth: None,
            order: if may_overtake { Order::MayOvertake } else { Order::Fifo },
        }
    }
}

prop_compose! {
    pub(crate) fn any_rules()(
        eject_eggs: bool,
        egg_hatch_units in prop_oneof![Just(0), Just(5), Just(600)],
        respawn_places: bool,
        eggs_in_sight: bool,
        lock_step: bool,
        lag in prop::option::weighted(0.4, any_lag()),
    ) -> Rules {
        Rules { eject_eggs, egg_hatch_units, respawn_places, eggs_in_sight, lock_step, lag }
    }
}

prop_compose! {
    pub(crate) fn any_config()(rules in any_rules(), seed: u64, places_per_team in 1..4u32) -> GameConfig {
        GameConfig {
            size: MapSize::new(3, 2).expect("it is a map"),
            teams: vec!["a".to_owned(), "b".to_owned()],
            places_per_team,
            seed,
            rules,
        }
    }
}

pub(crate) fn any_steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..most)
}

/// The input with the agent that is meant in that game; `None` if none lives.
pub(crate) fn with_agent_of(game: &Game, input: &GameInput) -> Option<GameInput> {
    let mut input = input.clone();
    match &mut input {
        GameInput::Leave { agent, .. }
        | GameInput::Command { agent, .. }
        | GameInput::Admin(
            AdminAction::Teleport { agent, .. }
            | AdminAction::SetLevel { agent, .. }
            | AdminAction::SetInventory { agent, .. }
            | AdminAction::Kill { agent },
        ) => {
            let mut living = game.world().agents();
            let place = agent.0 as usize % living.len().max(1);
            *agent = living.nth(place)?.id;
        }
        _ => {}
    }
    Some(input)
}

impl Step {
    /// Does it to a game. `after` is called after each input, with what became of it, and after each deadline.
    pub(crate) fn play(
        &self,
        game: &mut Game,
        mut after: impl FnMut(&mut Game, Option<(&GameInput, Handled)>),
    ) {
        match self {
            Step::Wait(nanounits) => {
                let until = game.now() + GameSpan::from_nanounits(i128::from(*nanounits));
                while game.fire_next(until).is_some() {
                    after(game, None);
                }
                game.advance_to(until);
            }
            Step::Fire(count) => {
                for _ in 0..*count {
                    let Some(next) = game.next_deadline() else { return };
                    assert_eq!(game.fire_next(next).map(|fired| fired.at), Some(next));
                    after(game, None);
                }
            }
            Step::Input(input) => {
                let Some(input) = with_agent_of(game, input) else {
                    return;
                };
                let before = game.digest();
                let handled = game.handle(input.clone(), game.now());
                let is_refused = matches!(handled, Handled::Refused(_));
                assert!(!is_refused || game.digest() == before, "{input:?} was refused");
                after(game, Some((&input, handled)));
            }
        }
    }
}

pub(crate) fn events_of(game: &mut Game) -> Vec<GameEvent> {
    std::iter::from_fn(|| game.poll_event()).collect()
}

/// Counts the answers that are due.
#[derive(Default)]
struct Watcher {
    unanswered: BTreeMap<AgentId, usize>,
    /// Agents held by an elevation that have not had its last line, and until when.
    held: BTreeMap<AgentId, GameTime>,
    /// Those of them that asked for it.
    askers: BTreeSet<AgentId>,
}

impl Watcher {
    fn watch(&mut self, game: &mut Game, input: Option<(&GameInput, Handled)>) {
        if let Some((GameInput::Command { agent, .. }, Handled::Done)) = input {
            *self.unanswered.entry(*agent).or_default() += 1;
        }
        for event in events_of(game) {
            self.count(&event, game.now());
        }
        for agent in game.world().agents().filter(|_| game.winner().is_none()) {
            let unanswered = self.unanswered.get(&agent.id).copied().unwrap_or(0);
            assert_eq!(
                unanswered,
                agent.outstanding(),
                "each command of {:?} is answered",
                agent.id
            );
        }
    }

    /// Every reply settles the oldest open command, but for the lines of an elevation: of those, only the last one
    /// settles anything, and only for the agent that asked for it.
    fn count(&mut self, event: &GameEvent, now: GameTime) {
        match event {
            GameEvent::Seen(Change::ElevationStarted(elevation)) => {
                self.askers.insert(elevation.participants[0]);
                let held = elevation.participants.iter();
                self.held.extend(held.map(|agent| (*agent, elevation.end)));
            }
            GameEvent::To {
                percept: Percept::ElevationUnderway,
                ..
            } => {}
            GameEvent::To { percept, .. } if percept.is_of_others() => {}
            GameEvent::To { agent, .. } => {
                // The first line after the end of an elevation that holds the agent is the elevation's.
                let ended = self.held.remove(agent);
                assert!(ended.is_none_or(|end| end == now));
                if ended.is_none() || self.askers.remove(agent) {
                    *self.unanswered.entry(*agent).or_default() -= 1;
                }
            }
            GameEvent::Seen(Change::Died { agent } | Change::Left { agent, .. }) => {
                self.unanswered.remove(agent);
                self.held.remove(agent);
                self.askers.remove(agent);
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_game_keeps_its_invariants_and_answers_every_command(config in any_config(), steps in any_steps(120)) {
        let mut game = Game::new(config);
        let mut watcher = Watcher::default();
        for step in &steps {
            step.play(&mut game, |game, input| watcher.watch(game, input));
        }
    }

    /// The same inputs at the same moments, and a clone halfway: the same events.
    #[test]
    fn the_same_inputs_give_the_same_events(config in any_config(), steps in any_steps(120)) {
        let run = |mut game: Game, steps: &[Step]| {
            steps.iter().for_each(|step| step.play(&mut game, |_, _| {}));
            (events_of(&mut game), game)
        };
        let (first, last) = steps.split_at(steps.len() / 2);
        let (events, _) = run(Game::new(config.clone()), &steps);
        let (mut events_in_parts, halfway) = run(Game::new(config), first);
        events_in_parts.extend(run(halfway, last).0);
        prop_assert_eq!(events, events_in_parts);
    }
}
