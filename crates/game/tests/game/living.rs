//! Taking, putting, eating and dying; what lies on the ground; eggs.

use trantor_game::{AdminAction, GameEvent, GroundChange, Handled, LeaveCause, Refusal, Reply};
use trantor_model::{Command, Counts, Direction, Resource};
use trantor_time::{GameSpan, GameTime};

use crate::arena::{Arena, config, counts, tile, units};

/// A world where hunger is on and the ground stays bare.
fn hungry() -> Arena {
    let mut arena = Arena::quiet();
    arena.admin(AdminAction::SetHunger { enabled: true });
    arena.take();
    arena
}

fn food(count: u32) -> Counts {
    counts([count, 0, 0, 0, 0, 0, 0])
}

#[test]
fn take_and_set_move_one_and_tell_both_sides() {
    let mut arena = Arena::quiet();
    let agent = arena.agent_at(2, 3, Direction::North);
    arena.ground(2, 3, [0, 0, 0, 2, 0, 0, 0]);
    arena.take();
    arena.command(agent, Command::Take(Resource::Sibur));
    arena.run(7);
    let GameEvent::Took(took) = arena.take()[1] else {
        panic!("nothing taken")
    };
    assert_eq!(
        (took.resource, took.tile, took.agent),
        (Resource::Sibur, tile(2, 3), agent)
    );
    assert_eq!(took.inventory, counts([9, 0, 0, 1, 0, 0, 0]));
    assert_eq!(took.ground, counts([0, 0, 0, 1, 0, 0, 0]));
    arena.command(agent, Command::Set(Resource::Food));
    arena.run(7);
    let GameEvent::Put(put) = arena.take()[1] else {
        panic!("nothing put")
    };
    assert_eq!(put.inventory, counts([8, 0, 0, 1, 0, 0, 0]));
    assert_eq!(put.ground, counts([1, 0, 0, 1, 0, 0, 0]));
}

#[test]
fn take_and_set_are_judged_when_they_end() {
    let mut arena = Arena::quiet();
    let (first, second) = (
        arena.agent_at(2, 3, Direction::North),
        arena.agent_at(2, 3, Direction::North),
    );
    arena.command(second, Command::Inventory);
    arena.command(second, Command::Take(Resource::Linemate));
    arena.command(first, Command::Take(Resource::Linemate));
    arena.run(6);
    arena.ground(2, 3, [0, 1, 0, 0, 0, 0, 0]);
    arena.run(10);
    assert_eq!(
        arena.answers(first),
        [Reply::Ok],
        "it lay there in time, and the earlier end wins"
    );
    assert_eq!(arena.answers(second)[1..], [Reply::Ko]);
    arena.command(second, Command::Set(Resource::Linemate));
    arena.run(7);
    assert_eq!(arena.answers(second)[2..], [Reply::Ko], "it holds none");
    assert_eq!(arena.lies(2, 3), Counts::ZERO);
}

/// Of two that end at one instant, the one that was set first comes first.
#[test]
fn of_two_takes_that_end_together_the_earlier_command_wins() {
    let mut arena = Arena::quiet();
    let (a, b) = (
        arena.agent_at(2, 3, Direction::North),
        arena.agent_at(2, 3, Direction::North),
    );
    arena.ground(2, 3, [0, 1, 0, 0, 0, 0, 0]);
    arena.command(b, Command::Take(Resource::Linemate));
    arena.command(a, Command::Take(Resource::Linemate));
    arena.run(7);
    assert_eq!(
        (arena.answers(a), arena.answers(b)),
        (vec![Reply::Ko], vec![Reply::Ok])
    );
}

/// In lock-step, arrival does not count: the lower number comes first.
#[test]
fn in_lock_step_ties_go_by_number() {
    for reversed in [false, true] {
        let mut config = config(10, 10);
        config.rules.lock_step = true;
        let mut arena = Arena::bare(config);
        let (a, b) = (
            arena.agent_at(2, 3, Direction::North),
            arena.agent_at(2, 3, Direction::North),
        );
        arena.ground(2, 3, [0, 1, 0, 0, 0, 0, 0]);
        for agent in if reversed { [b, a] } else { [a, b] } {
            arena.command(agent, Command::Take(Resource::Linemate));
        }
        arena.run(7);
        assert_eq!(
            (arena.answers(a), arena.answers(b)),
            (vec![Reply::Ok], vec![Reply::Ko])
        );
    }
}

#[test]
fn hunger_is_exact_to_the_unit() {
    let mut arena = hungry();
    let birth = GameTime::from_nanounits(5_123_456_789);
    arena.run_to(birth);
    let agent = arena.join(0);
    assert_eq!(arena.carried(agent), food(9));
    for eaten in 1..=9 {
        arena.run_to(birth + GameSpan::from_units(126 * eaten) + GameSpan::from_nanounits(-1));
        assert_eq!(arena.carried(agent), food(10 - eaten as u32));
        arena.run_to(birth + GameSpan::from_units(126 * eaten));
        assert_eq!(arena.carried(agent), food(9 - eaten as u32));
        let ate = GameEvent::Ate {
            agent,
            tile: arena.place(agent),
            inventory: food(9 - eaten as u32),
        };
        assert_eq!(arena.take().last(), Some(&ate));
    }
    arena.run_to(birth + GameSpan::from_units(1_260) + GameSpan::from_nanounits(-1));
    assert!(arena.is_alive(agent));
    arena.run_to(birth + GameSpan::from_units(1_260));
    assert!(!arena.is_alive(agent));
    assert_eq!(arena.take(), [GameEvent::Died { agent }]);
    assert_eq!(arena.game.next_deadline(), None);
}

#[test]
fn an_inventory_tells_stock_and_life() {
    let mut arena = hungry();
    let agent = arena.agent_at(1, 1, Direction::North);
    arena.give(agent, Resource::Phiras, 3);
    for (moment, stock, life) in [(0, 9, 1_259), (125, 9, 1_134), (126, 8, 1_133), (200, 8, 1_059)] {
        arena.run_to(units(moment));
        arena.command(agent, Command::Inventory);
        arena.run(1);
        let mut inventory = food(stock);
        inventory[Resource::Phiras] = 3;
        let expected = Reply::Inventory {
            inventory,
            life_units: life,
        };
        assert_eq!(arena.answers(agent).pop(), Some(expected), "asked at {moment}");
    }
}

#[test]
fn food_taken_as_it_would_starve_saves_it() {
    let mut arena = hungry();
    let agent = arena.agent_at(4, 4, Direction::North);
    arena.give(agent, Resource::Food, 0);
    arena.ground(4, 4, [1, 0, 0, 0, 0, 0, 0]);
    arena.run_to(units(119));
    arena.command(agent, Command::Take(Resource::Food));
    arena.run_to(units(126));
    assert!(
        arena.is_alive(agent),
        "what ends at an instant comes before the hunger of that instant"
    );
    assert_eq!(arena.carried(agent), food(0));
    arena.run_to(units(251));
    assert!(arena.is_alive(agent));
    arena.run_to(units(252));
    assert!(!arena.is_alive(agent));
}

#[test]
fn food_put_down_is_missing_later() {
    let mut arena = hungry();
    let agent = arena.agent_at(4, 4, Direction::North);
    for _ in 0..9 {
        arena.command(agent, Command::Set(Resource::Food));
    }
    arena.run_to(units(125));
    assert!(arena.is_alive(agent), "the one being digested stays");
    assert_eq!(arena.answers(agent), vec![Reply::Ok; 9]);
    assert_eq!(arena.lies(4, 4), food(9));
    arena.run_to(units(126));
    assert!(!arena.is_alive(agent));
    assert_eq!(arena.lies(4, 4), food(9), "the dead leave nothing");
}

#[test]
fn hunger_stopped_and_resumed_loses_no_fraction() {
    let mut arena = hungry();
    let agent = arena.join(0);
    arena.run_to(GameTime::from_nanounits(100_000_000_007));
    arena.admin(AdminAction::SetHunger { enabled: false });
    arena.run_to(units(5_000));
    assert_eq!(arena.carried(agent), food(9));
    let born_meanwhile = arena.join(1);
    arena.admin(AdminAction::SetHunger { enabled: true });
    let next = units(5_000) + GameSpan::from_nanounits(26_000_000_000 - 7);
    assert_eq!(arena.game.next_deadline(), Some(next));
    arena.run_to(units(5_126));
    assert_eq!(
        (arena.carried(agent), arena.carried(born_meanwhile)),
        (food(8), food(8))
    );
}

#[test]
fn the_ground_is_topped_up_every_twenty_units_and_only_then() {
    let mut arena = Arena::new(config(10, 10));
    let targets = [50, 30, 15, 10, 10, 8, 5];
    assert_eq!(*arena.game.world().ground_totals(), targets);
    arena.run_to(units(27));
    let full = (0..100).map(|index| tile(index % 10, index / 10));
    let at = full
        .into_iter()
        .find(|&tile| arena.game.world().ground(tile)[Resource::Food] > 0)
        .unwrap();
    arena.take();
    arena.admin(AdminAction::SetGround {
        tile: at,
        ground: Counts::ZERO,
    });
    assert_eq!(arena.game.next_deadline(), Some(units(40)));
    arena.run_to(units(40));
    assert_eq!(*arena.game.world().ground_totals(), targets);
    assert_eq!(arena.game.next_deadline(), None, "nothing is short any more");
    let told = arena.take();
    assert_eq!(told.last(), Some(&GameEvent::Refilled));
    let refilled = told.iter().filter(|event| {
        matches!(
            event,
            GameEvent::GroundChanged {
                why: GroundChange::Refill,
                ..
            }
        )
    });
    assert!(refilled.count() >= 1);
}

#[test]
fn surplus_stays_and_what_is_carried_does_not_count() {
    let mut arena = Arena::new(config(10, 10));
    arena.ground(0, 0, [80, 80, 80, 80, 80, 80, 80]);
    let totals = *arena.game.world().ground_totals();
    let agent = arena.agent_at(0, 0, Direction::North);
    for _ in 0..10 {
        arena.command(agent, Command::Take(Resource::Thystame));
    }
    arena.run(100);
    assert_eq!(
        arena.game.world().ground_totals()[6],
        totals[6] - 10,
        "still more than the target"
    );
    arena.ground(0, 0, [0; 7]);
    arena.run(40);
    assert_eq!(*arena.game.world().ground_totals(), [50, 30, 15, 10, 10, 8, 5]);
}

#[test]
fn the_first_ground_is_even() {
    let mut config = config(20, 20);
    for seed in 0..20 {
        config.seed = seed;
        let arena = Arena::new(config.clone());
        for index in 0..400 {
            let ground = arena.game.world().ground(config.size.tile_at(index));
            assert!(
                ground.0.iter().all(|&count| count <= 2),
                "seed {seed}: {ground:?}"
            );
            assert!(
                (1..=2).contains(&ground.total()),
                "509 things on 400 tiles: one or two on each"
            );
        }
    }
}

#[test]
fn a_fork_lays_an_egg_where_it_ends_and_adds_a_place() {
    let mut arena = Arena::quiet();
    let layer = arena.agent_at(5, 5, Direction::East);
    arena.take();
    arena.command(layer, Command::Fork);
    assert_eq!(arena.take()[0], GameEvent::ForkStarted { agent: layer });
    arena.run(41);
    arena.put(layer, 7, 7, Direction::East);
    arena.take();
    arena.run(1);
    let egg = *arena.eggs().last().unwrap();
    let laid = GameEvent::EggLaid {
        egg,
        layer: Some(layer),
        team: trantor_model::TeamId(0),
        tile: tile(7, 7),
    };
    assert_eq!(
        arena.take(),
        [
            laid,
            GameEvent::Reply {
                agent: layer,
                reply: Reply::Ok
            }
        ]
    );
    arena.command(layer, Command::ConnectNbr);
    assert_eq!(arena.answers(layer), [Reply::ConnectNbr(20)], "19 were left");
}

#[test]
fn an_agent_hatches_from_an_egg_of_its_team_and_the_last_place_goes_once() {
    let mut config = config(10, 10);
    config.places_per_team = 2;
    let mut arena = Arena::bare(config);
    let eggs: Vec<_> = arena.game.world().eggs().copied().collect();
    let first = arena.join(0);
    let GameEvent::Joined { agent: born, egg } = arena.take()[0] else {
        panic!("nobody born")
    };
    let egg = eggs.iter().find(|other| other.id == egg).unwrap();
    assert_eq!((born.team, born.tile, born.level.get()), (egg.team, egg.tile, 1));
    assert_eq!((born.id, born.inventory), (first, food(9)));
    let second = arena.try_join(0);
    assert!(matches!(second, Handled::Joined(_)));
    assert_eq!(arena.try_join(0), Handled::Refused(Refusal::NoPlace));
    arena.leave(first);
    assert_eq!(
        arena.try_join(0),
        Handled::Refused(Refusal::NoPlace),
        "a place is not given back"
    );
    assert!(matches!(arena.try_join(1), Handled::Joined(_)));
}

#[test]
fn births_are_spread_over_eggs_and_directions() {
    let mut facings = [0; 5];
    let mut first_egg = 0;
    for seed in 0..200 {
        let mut config = config(2, 2);
        config.places_per_team = 4;
        config.seed = seed;
        let mut arena = Arena::bare(config);
        arena.join(0);
        let GameEvent::Joined { agent, egg } = arena.take()[0] else {
            panic!("nobody born")
        };
        facings[usize::from(agent.facing.number())] += 1;
        first_egg += i32::from(egg.0 == 0);
    }
    assert!(
        facings[1..].iter().all(|count| (25..=75).contains(count)),
        "{facings:?}"
    );
    assert!((25..=75).contains(&first_egg), "{first_egg}");
}

#[test]
fn under_older_rules_a_laid_egg_matures_first() {
    let mut config = config(10, 10);
    config.places_per_team = 1;
    config.rules.egg_hatch_units = 600;
    let mut arena = Arena::bare(config);
    let layer = arena.agent_at(5, 5, Direction::East);
    arena.command(layer, Command::Fork);
    arena.run_to(units(42 + 599));
    assert_eq!(arena.try_join(0), Handled::Refused(Refusal::NoPlace));
    arena.take();
    arena.run_to(units(42 + 600));
    let egg = arena.eggs()[1];
    assert_eq!(arena.take(), [GameEvent::EggMatured { egg }]);
    assert!(matches!(arena.try_join(0), Handled::Joined(_)));
}

#[test]
fn an_unripe_egg_can_be_broken_and_never_matures() {
    let mut config = config(10, 10);
    config.rules.egg_hatch_units = 600;
    let mut arena = Arena::bare(config);
    let layer = arena.agent_at(5, 5, Direction::East);
    arena.command(layer, Command::Fork);
    arena.command(layer, Command::Eject);
    arena.run_to(units(49));
    assert_eq!(arena.answers(layer), [Reply::Ok, Reply::Ok]);
    assert_eq!(arena.game.next_deadline(), None);
}

#[test]
fn with_places_given_back_a_team_never_runs_out() {
    let mut config = config(10, 10);
    config.places_per_team = 1;
    config.rules.respawn_places = true;
    config.rules.egg_hatch_units = 600;
    let mut arena = Arena::bare(config);
    for round in 0..5 {
        let agent = arena.join(0);
        assert_eq!(arena.try_join(0), Handled::Refused(Refusal::NoPlace));
        arena.take();
        match round % 2 {
            0 => arena.leave(agent),
            _ => arena.admin(AdminAction::Kill { agent }),
        }
        let told = arena.take();
        let egg = *arena.eggs().last().unwrap();
        let gone = match round % 2 {
            0 => GameEvent::Left {
                agent,
                cause: LeaveCause::Disconnected,
            },
            _ => GameEvent::Died { agent },
        };
        assert_eq!(told[0], gone);
        assert!(matches!(told[1], GameEvent::EggLaid { egg: laid, layer: None, .. } if laid == egg));
        assert_eq!(
            told[2],
            GameEvent::EggMatured { egg },
            "it can be hatched at once"
        );
    }
}

/// Under all rules about eggs and places.
#[test]
fn agents_that_nobody_plays_any_more_leave_places_where_they_stood() {
    for (egg_hatch_units, respawn_places) in [(0, false), (600, false), (0, true), (600, true)] {
        let mut config = config(10, 10);
        config.places_per_team = 1;
        config.rules.respawn_places = respawn_places;
        config.rules.egg_hatch_units = egg_hatch_units;
        let mut arena = Arena::bare(config);
        for team in 0..2 {
            let agent = arena.join(team);
            arena.put(agent, 3, 4 + team, Direction::North);
        }
        arena.game.release_agents();
        assert_eq!(arena.game.world().agents().count(), 0);
        for team in 0..2 {
            let agent = arena.join(team);
            assert_eq!(arena.place(agent), tile(3, 4 + team));
            assert_eq!(arena.try_join(team), Handled::Refused(Refusal::NoPlace));
        }
    }
}

#[test]
fn who_starves_at_an_instant_starts_nothing_at_it() {
    let mut arena = hungry();
    let agent = arena.agent_at(4, 4, Direction::North);
    arena.give(agent, Resource::Food, 0);
    arena.run_to(units(119));
    arena.command(agent, Command::Forward);
    arena.command(agent, Command::ConnectNbr);
    arena.run_to(units(126));
    assert_eq!(
        arena.replies(agent),
        [(126, Reply::Ok)],
        "what ends comes before hunger, what starts after"
    );
    assert!(!arena.is_alive(agent));
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
    assert_eq!(arena.lies(0, 0), counts([1; 7]));
    let told = arena.take();
    let refilled = told.iter().position(|event| *event == GameEvent::Refilled);
    let started = told
        .iter()
        .rposition(|event| matches!(event, GameEvent::ActionStarted { .. }));
    assert!(refilled.is_some() && refilled < started);
}
