//! Rules that no transcript of the engine shows: what operators change, order at one instant, and the end of a match.

use trantor_game::{
    AdminAction, Game, GameConfig, GameEvent, GameInput, Handled, LeaveCause, Refusal, Reply,
};
use trantor_model::{AgentId, Command, CommandKind, Counts, Direction, Resource, TeamId, Turn};
use trantor_time::{GameSpan, GameTime};

use crate::arena::{Arena, config, counts, level, tile, units};

const NORTH: Direction = Direction::North;

/// A world where hunger is on and the ground stays bare.
fn hungry() -> Arena {
    let mut arena = Arena::quiet();
    arena.admin(AdminAction::SetHunger { enabled: true });
    arena
}

/// So many agents of one level at (5, 5), with exactly the stones they need.
fn gathered(agents: usize, at_level: u8) -> (Arena, Vec<AgentId>) {
    let mut arena = Arena::quiet();
    let agents = (0..agents)
        .map(|_| arena.agent_of(0, 5, 5, NORTH, at_level))
        .collect();
    let needed = level(at_level).requirement().expect("not the last");
    arena.ground(5, 5, needed.stones.0);
    (arena, agents)
}

#[test]
fn a_refused_line_is_announced_as_refused() {
    let mut arena = Arena::quiet();
    let agent = arena.agent_of(0, 5, 5, NORTH, 1);
    arena.command(agent, Command::Refused(Some(CommandKind::Forward)));
    let running = arena.game.world().agent(agent).unwrap().action().unwrap();
    let started = GameEvent::ActionStarted {
        agent,
        kind: CommandKind::Forward,
        start: units(0),
        end: units(7),
        refused: true,
    };
    assert!(running.refused);
    assert_eq!(
        arena.take().last(),
        Some(&started),
        "so that no viewer draws a step"
    );
}

#[test]
fn a_world_in_which_nothing_can_change_has_no_deadline() {
    let mut arena = Arena::new(config(10, 10));
    assert_eq!(arena.game.next_deadline(), None, "full ground, no agent");
    let agent = arena.join(0);
    assert_eq!(
        arena.game.next_deadline(),
        Some(units(126)),
        "hunger, and nothing else"
    );
    arena.leave(agent);
    assert_eq!(arena.game.next_deadline(), None);
}

#[test]
fn numbers_are_never_given_twice() {
    let mut arena = Arena::quiet();
    let first = arena.join(0);
    arena.leave(first);
    let second = arena.join(1);
    arena.admin(AdminAction::Kill { agent: second });
    let third = arena.join(0);
    assert_eq!([first.0, second.0, third.0], [0, 1, 2]);
}

#[test]
fn an_input_that_does_not_fit_changes_nothing() {
    let mut arena = Arena::quiet();
    let living = arena.join(0);
    arena.take();
    let teleport = |agent, tile| AdminAction::Teleport {
        agent,
        tile,
        facing: None,
    };
    let carry = |agent, count| AdminAction::SetInventory {
        agent,
        resource: Resource::Food,
        count,
    };
    let (nobody, here, outside) = (AgentId(7), tile(1, 1), tile(10, 0));
    let command = Command::Look;
    let cause = LeaveCause::Dismissed;
    for (input, refusal) in [
        (GameInput::Join { team: TeamId(2) }, Refusal::UnknownTeam),
        (
            GameInput::Command {
                agent: nobody,
                command,
            },
            Refusal::UnknownAgent,
        ),
        (GameInput::Leave { agent: nobody, cause }, Refusal::UnknownAgent),
        (
            GameInput::Admin(AdminAction::Kill { agent: nobody }),
            Refusal::UnknownAgent,
        ),
        (GameInput::Admin(teleport(nobody, here)), Refusal::UnknownAgent),
        (GameInput::Admin(teleport(living, outside)), Refusal::OffMap),
        (GameInput::Admin(carry(nobody, 1)), Refusal::UnknownAgent),
        (GameInput::Admin(carry(living, 1_000_001)), Refusal::TooMany),
    ] {
        assert_eq!(arena.input(input), Handled::Refused(refusal));
        assert_eq!(arena.take(), []);
    }
}

/// The events of a game of four hungry agents, taken by `take` after every step.
fn events_by(mut take: impl FnMut(&mut Game, &mut Vec<GameEvent>)) -> Vec<GameEvent> {
    let mut game = Game::new(config(5, 5));
    let mut events = Vec::new();
    for team in [0, 1, 0, 1] {
        let _ = game.handle(GameInput::Join { team: TeamId(team) }, GameTime::ZERO);
        take(&mut game, &mut events);
    }
    while let Some(next) = game.next_deadline() {
        game.fire_next(next);
        take(&mut game, &mut events);
    }
    events.extend(std::iter::from_fn(|| game.poll_event()));
    events
}

/// Polled one by one, some left over, or exchanged as a whole: each event comes once and in order.
#[test]
fn no_event_is_lost_however_they_are_taken() {
    let polled = events_by(|game, events| events.extend(std::iter::from_fn(|| game.poll_event())));
    let left_over = events_by(|game, events| events.extend(game.poll_event()));
    let mut turn = 0;
    let exchanged = events_by(|game, events| {
        turn += 1;
        match turn % 3 {
            0 => {}
            1 => events.extend(game.poll_event()),
            _ => {
                let mut buffer = Vec::new();
                game.swap_events(&mut buffer);
                events.append(&mut buffer);
            }
        }
    });
    assert_eq!(polled, left_over);
    assert_eq!(polled, exchanged);
    assert_eq!(polled.len(), 44, "four births, thirty-six meals, four deaths");
}

/// The earlier command wins; in lock-step arrival does not count, and the lower number does.
#[test]
fn of_two_takes_that_end_together_one_wins() {
    for (lock_step, winner) in [(false, 1), (true, 0)] {
        let mut config = config(10, 10);
        config.rules.lock_step = lock_step;
        let mut arena = Arena::bare(config);
        let agents = [0, 0].map(|team| arena.agent_of(team, 2, 3, NORTH, 1));
        arena.ground(2, 3, [0, 1, 0, 0, 0, 0, 0]);
        for agent in [agents[1], agents[0]] {
            arena.command(agent, Command::Take(Resource::Linemate));
        }
        arena.run(7);
        assert_eq!(arena.answers(agents[winner]), [Reply::Ok]);
        assert_eq!(arena.answers(agents[1 - winner]), [Reply::Ko]);
    }
}

#[test]
fn an_inventory_has_the_stock_and_the_life_left() {
    let mut arena = hungry();
    let agent = arena.agent_of(0, 1, 1, NORTH, 1);
    for (moment, stock, life_units) in [(0, 9, 1_259), (125, 9, 1_134), (126, 8, 1_133), (200, 8, 1_059)] {
        arena.run_to(units(moment));
        arena.command(agent, Command::Inventory);
        arena.run(1);
        let inventory = counts([stock, 0, 0, 0, 0, 0, 0]);
        let expected = Reply::Inventory {
            inventory,
            life_units,
        };
        assert_eq!(arena.answers(agent).pop(), Some(expected), "asked at {moment}");
    }
}

#[test]
fn hunger_stopped_and_resumed_loses_no_fraction() {
    let mut arena = hungry();
    let agent = arena.join(0);
    arena.run_to(GameTime::from_nanounits(100_000_000_007));
    arena.admin(AdminAction::SetHunger { enabled: false });
    arena.run_to(units(5_000));
    let food = |arena: &Arena, agent| arena.agent(agent).inventory()[Resource::Food];
    assert_eq!(food(&arena, agent), 9);
    let born_meanwhile = arena.join(1);
    arena.admin(AdminAction::SetHunger { enabled: true });
    let next = units(5_000) + GameSpan::from_nanounits(26_000_000_000 - 7);
    assert_eq!(arena.game.next_deadline(), Some(next));
    arena.run_to(units(5_126));
    assert_eq!([agent, born_meanwhile].map(|agent| food(&arena, agent)), [8, 8]);
}

#[test]
fn surplus_stays_and_what_is_carried_does_not_count() {
    let mut arena = Arena::new(config(10, 10));
    let targets = [50, 30, 15, 10, 10, 8, 5];
    assert_eq!(*arena.game.world().ground_totals(), targets);
    arena.ground(0, 0, [80; 7]);
    let thystame = arena.game.world().ground_totals()[6];
    let agent = arena.agent_of(0, 0, 0, NORTH, 1);
    for _ in 0..10 {
        arena.command(agent, Command::Take(Resource::Thystame));
    }
    arena.run(100);
    let left = arena.game.world().ground_totals()[6];
    assert_eq!(left, thystame - 10, "still more than the target");
    arena.ground(0, 0, [0; 7]);
    arena.run(40);
    assert_eq!(*arena.game.world().ground_totals(), targets);
}

/// Under all rules about eggs and places.
#[test]
fn released_agents_leave_places_where_they_stood() {
    for (egg_hatch_units, respawn_places) in [(0, false), (600, false), (0, true), (600, true)] {
        let mut config = config(10, 10);
        config.places_per_team = 1;
        config.rules.respawn_places = respawn_places;
        config.rules.egg_hatch_units = egg_hatch_units;
        let mut arena = Arena::bare(config);
        for team in 0..2 {
            let agent = arena.join(team);
            arena.put(agent, 3, 4 + team, NORTH);
        }
        arena.game.release_agents();
        assert_eq!(arena.game.world().agents().count(), 0);
        for team in 0..2 {
            let agent = arena.join(team);
            assert_eq!(arena.agent(agent).tile(), tile(3, 4 + team));
            assert_eq!(arena.try_join(team), Handled::Refused(Refusal::NoPlace));
        }
    }
}

/// Elsewhere they leave eggs, from which agents are born later: once a team has won none is born.
#[test]
fn released_agents_stay_once_a_team_has_won() {
    let mut arena = Arena::quiet();
    arena.agent_of(0, 2, 3, NORTH, 1);
    arena.admin(AdminAction::EndMatch);
    let won = arena.game.digest();
    arena.game.release_agents();
    assert_eq!(arena.game.digest(), won);
}

#[test]
fn an_agent_that_starves_at_an_instant_starts_nothing_at_it() {
    let mut arena = hungry();
    let agent = arena.agent_of(0, 4, 4, NORTH, 1);
    arena.give(agent, Resource::Food, 0);
    arena.run_to(units(119));
    arena.command(agent, Command::Forward);
    arena.command(agent, Command::ConnectNbr);
    arena.run_to(units(126));
    let replies = arena.replies(agent);
    assert_eq!(
        replies,
        [(126, Reply::Ok)],
        "what ends comes before hunger, what starts after"
    );
    assert!(arena.game.world().agent(agent).is_none());
}

#[test]
fn a_refill_sees_what_was_taken_at_its_instant_and_a_start_sees_the_refill() {
    let mut arena = Arena::new(config(1, 1));
    let agent = arena.join(0);
    arena.run_to(units(13));
    arena.command(agent, Command::Take(Resource::Thystame));
    arena.command(agent, Command::Look);
    arena.run_to(units(20));
    assert_eq!(arena.replies(agent), [(20, Reply::Ok)]);
    assert_eq!(*arena.game.world().ground(tile(0, 0)), Counts([1; 7]));
    let events = arena.take();
    let refilled = events.iter().position(|event| *event == GameEvent::Refilled);
    let started = events
        .iter()
        .rposition(|event| matches!(event, GameEvent::ActionStarted { .. }));
    assert!(refilled.is_some() && refilled < started);
}

#[test]
fn withheld_effects_come_in_the_order_they_fell_due() {
    let (mut arena, agents) = gathered(3, 3);
    arena.ground(5, 5, [0, 2, 0, 1, 0, 2, 1]);
    // The later number asks first; both would take the one thystame.
    arena.command(agents[2], Command::Take(Resource::Thystame));
    arena.run(1);
    arena.command(agents[1], Command::Take(Resource::Thystame));
    arena.command(agents[0], Command::Incantation);
    arena.run(300);
    assert_eq!(arena.answers(agents[2])[2..], [Reply::Ok]);
    assert_eq!(arena.answers(agents[1])[2..], [Reply::Ko]);
}

#[test]
fn a_level_changed_by_an_operator_no_longer_counts_for_a_ritual() {
    let (mut arena, agents) = gathered(2, 2);
    arena.command(agents[0], Command::Incantation);
    arena.admin(AdminAction::SetLevel {
        agent: agents[1],
        level: level(4),
    });
    arena.run(300);
    assert_eq!(
        [agents[0], agents[1]].map(|agent| arena.agent(agent).level().get()),
        [2, 4]
    );
    assert_eq!(arena.answers(agents[0])[1..], [Reply::Ko]);
}

/// Both are free at one instant and both want to begin. The first draws the other in, whose own request then
/// waits, and is judged when the elevation is over.
#[test]
fn a_request_overtaken_by_anothers_ritual_waits_for_its_end() {
    let (mut arena, agents) = gathered(2, 2);
    for &agent in &agents {
        arena.command(agent, Command::Turn(Turn::Left));
        arena.command(agent, Command::Incantation);
    }
    arena.run(7);
    assert_eq!(arena.game.world().rituals().count(), 1);
    arena.run(300);
    let risen = Reply::CurrentLevel(level(3));
    let expected = [
        (7, Reply::Ok),
        (7, Reply::ElevationUnderway),
        (307, risen),
        (307, Reply::Ko),
    ];
    assert_eq!(arena.replies(agents[1]), expected);
}

/// A team with as many eggs as it may have lays no more until one hatches.
#[test]
fn a_team_full_of_eggs_lays_no_more() {
    let mut config = config(3, 3);
    config.places_per_team = GameConfig::EGGS_PER_TEAM_MAX;
    let mut arena = Arena::bare(config);
    let agent = arena.agent_of(0, 1, 1, NORTH, 1);
    let fork = |arena: &mut Arena| {
        arena.command(agent, Command::Fork);
        arena.run(42);
        arena.answers(agent).pop()
    };
    assert_eq!(fork(&mut arena), Some(Reply::Ok), "one hatched");
    assert_eq!(fork(&mut arena), Some(Reply::Ko));
    let laid = [0, 1].map(|team| {
        let (team, tile) = (TeamId(team), tile(0, 0));
        arena.input(GameInput::Admin(AdminAction::LayEgg { team, tile }))
    });
    let refused = [Handled::Refused(Refusal::FullOfEggs); 2];
    assert_eq!(laid, refused, "and the other team has all it began with");
    assert_eq!(arena.game.world().eggs_refused(), 3);
    arena.agent_of(0, 0, 0, NORTH, 1);
    assert_eq!(fork(&mut arena), Some(Reply::Ok), "another one hatched");
}

#[test]
fn five_at_the_last_level_are_not_enough_and_the_dead_do_not_count() {
    let mut arena = Arena::quiet();
    let agents: Vec<AgentId> = (0..5).map(|_| arena.agent_of(0, 0, 0, NORTH, 8)).collect();
    arena.agent_of(1, 0, 0, NORTH, 8);
    arena.admin(AdminAction::Kill { agent: agents[0] });
    arena.agent_of(0, 0, 0, NORTH, 8);
    assert_eq!(arena.game.winner(), None);
    arena.agent_of(0, 0, 0, NORTH, 8);
    assert_eq!(arena.game.winner(), Some(TeamId(0)));
    assert_eq!(arena.game.next_deadline(), None, "nothing more happens by itself");
}

#[test]
fn when_time_is_over_the_leading_team_wins() {
    let cases: [(&[(u16, u8)], u16); 5] = [
        (&[], 0),
        (&[(0, 3), (1, 4)], 1),
        (&[(0, 4), (1, 4), (1, 1)], 1),
        (&[(0, 3), (0, 3), (0, 3), (1, 5)], 1),
        (&[(1, 2), (0, 2)], 0),
    ];
    for (agents, winner) in cases {
        let mut arena = Arena::quiet();
        for &(team, at_level) in agents {
            arena.agent_of(team, 0, 0, NORTH, at_level);
        }
        arena.admin(AdminAction::EndMatch);
        assert_eq!(arena.game.winner(), Some(TeamId(winner)), "{agents:?}");
    }
}

#[test]
fn of_two_teams_lifted_at_once_the_one_that_leads_wins() {
    let mut config = config(10, 10);
    config.teams = vec!["a".into(), "b".into(), "c".into()];
    let mut arena = Arena::bare(config);
    for team in [1, 2] {
        for _ in 0..6 {
            arena.agent_of(team, 5, 5, NORTH, 7);
        }
    }
    arena.ground(5, 5, [0, 2, 2, 2, 2, 2, 1]);
    arena.agent_of(2, 0, 0, NORTH, 5);
    arena.command(AgentId(0), Command::Incantation);
    arena.run(300);
    let winner = arena.game.winner();
    assert_eq!(winner, Some(TeamId(2)), "it has one more of a lower level");
}
