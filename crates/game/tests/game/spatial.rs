//! Moving, looking, hearing and pushing on the torus.

use trantor_game::{AdminAction, GameConfig, GameEvent, GameInput, Handled, MoveKind, Refusal, Reply};
use trantor_model::{Command, CommandKind, Direction, TeamId, Turn};

use crate::arena::{Arena, config, counts, tile, units};

#[test]
fn forward_wraps_around_in_every_direction() {
    for (facing, x, y, to) in [
        (Direction::North, 4, 0, tile(4, 9)),
        (Direction::East, 9, 4, tile(0, 4)),
        (Direction::South, 4, 9, tile(4, 0)),
        (Direction::West, 0, 4, tile(9, 4)),
        (Direction::North, 4, 5, tile(4, 4)),
    ] {
        let mut arena = Arena::quiet();
        let agent = arena.agent_at(x, y, facing);
        arena.take();
        arena.command(agent, Command::Forward);
        arena.run(7);
        let told = arena.take();
        let moved = GameEvent::Moved {
            agent,
            tile: to,
            facing,
            how: MoveKind::Walked,
        };
        assert_eq!(
            told[1..],
            [
                moved,
                GameEvent::Reply {
                    agent,
                    reply: Reply::Ok
                }
            ]
        );
        assert_eq!(arena.place(agent), to);
    }
}

#[test]
fn turning_goes_round() {
    let mut arena = Arena::quiet();
    let agent = arena.agent_at(5, 5, Direction::North);
    arena.take();
    for turn in [Turn::Right, Turn::Right, Turn::Right, Turn::Right, Turn::Left] {
        arena.command(agent, Command::Turn(turn));
    }
    arena.run(35);
    let facings: Vec<Direction> = arena
        .take()
        .into_iter()
        .filter_map(|event| match event {
            GameEvent::Moved {
                facing,
                how: MoveKind::Turned,
                ..
            } => Some(facing),
            _ => None,
        })
        .collect();
    use Direction::{East, North, South, West};
    assert_eq!(facings, [East, South, West, North, West]);
}

#[test]
fn a_look_tells_what_is_there_when_it_ends() {
    let mut arena = Arena::quiet();
    let looker = arena.agent_at(5, 5, Direction::East);
    let walker = arena.agent_at(6, 5, Direction::South);
    arena.ground(5, 5, [0, 0, 1, 0, 0, 0, 0]);
    arena.ground(6, 4, [2, 0, 0, 0, 0, 0, 3]);
    arena.command(walker, Command::Forward);
    arena.command(looker, Command::Look);
    arena.run(7);
    let Some(Reply::Look(sights)) = arena.answers(looker).pop() else {
        panic!("no look")
    };
    assert_eq!(sights.len(), 4);
    assert_eq!(
        (sights[0].agents, sights[0].ground),
        (1, counts([0, 0, 1, 0, 0, 0, 0]))
    );
    assert_eq!(
        (sights[1].agents, sights[1].ground),
        (0, counts([2, 0, 0, 0, 0, 0, 3])),
        "ahead, left"
    );
    assert_eq!(sights[2].agents, 0, "the walker has left the tile ahead");
    assert_eq!(sights[3].agents, 1, "and stands ahead, right");
}

#[test]
fn a_look_wider_than_the_map_lists_tiles_again() {
    let mut arena = Arena::bare(config(3, 2));
    let agent = arena.agent_of(0, 0, 0, Direction::North, 8);
    arena.command(agent, Command::Look);
    arena.run(7);
    let Some(Reply::Look(sights)) = arena.answers(agent).pop() else {
        panic!("no look")
    };
    assert_eq!(sights.len(), 81);
    // Rows 0, 2, 4, 6 and 8 lie on the agent's own row, where every third column is its tile.
    let seen: u32 = sights.iter().map(|sight| sight.agents).sum();
    assert_eq!(seen, 1 + 1 + 3 + 5 + 5);
}

#[test]
fn eggs_are_seen_only_where_they_are_in_sight() {
    for in_sight in [false, true] {
        let mut config = config(10, 10);
        config.places_per_team = 1;
        config.rules.eggs_in_sight = in_sight;
        let mut arena = Arena::bare(config);
        let agent = arena.agent_at(3, 3, Direction::North);
        arena.command(agent, Command::Fork);
        arena.command(agent, Command::Look);
        arena.run(49);
        let Some(Reply::Look(sights)) = arena.answers(agent).pop() else {
            panic!("no look")
        };
        assert_eq!(sights[0].eggs, u32::from(in_sight));
    }
}

#[test]
fn everybody_else_hears_in_or_out_of_the_team() {
    let mut arena = Arena::quiet();
    let speaker = arena.agent_of(0, 5, 5, Direction::North, 1);
    let mate = arena.agent_of(0, 5, 8, Direction::North, 1);
    let foe = arena.agent_of(1, 5, 5, Direction::West, 1);
    arena.take();
    let text = b"two  words \xff\x00".as_slice();
    arena.command(speaker, Command::Broadcast(text.into()));
    arena.run(7);
    assert_eq!(arena.heard(mate), [(1, text.to_vec())]);
    assert_eq!(arena.heard(foe), [(0, text.to_vec())]);
    assert_eq!(arena.heard(speaker), []);
    assert_eq!(arena.answers(speaker), [Reply::Ok]);
    assert!(arena.take().contains(&GameEvent::Said {
        agent: speaker,
        text: text.into()
    }));
}

#[test]
fn a_broadcast_that_nobody_hears_and_one_without_text() {
    let mut arena = Arena::quiet();
    let speaker = arena.agent_at(5, 5, Direction::North);
    arena.command(speaker, Command::Broadcast(b"hello".as_slice().into()));
    arena.command(speaker, Command::Refused(Some(CommandKind::Broadcast)));
    arena.run(14);
    assert_eq!(arena.replies(speaker), [(7, Reply::Ok), (14, Reply::Ko)]);
}

#[test]
fn an_eject_moves_everybody_else_and_keeps_their_facing_and_their_action() {
    let mut arena = Arena::quiet();
    let pusher = arena.agent_of(0, 9, 4, Direction::East, 1);
    let mate = arena.agent_of(0, 9, 4, Direction::East, 3);
    let foe = arena.agent_of(1, 9, 4, Direction::South, 1);
    let elsewhere = arena.agent_of(1, 8, 4, Direction::South, 1);
    arena.run_to(units(3));
    arena.take();
    arena.command(pusher, Command::Eject);
    arena.run(1);
    arena.command(foe, Command::Forward);
    arena.run(6);
    let told = arena.take();
    let pushed = |agent, facing| GameEvent::Moved {
        agent,
        tile: tile(0, 4),
        facing,
        how: MoveKind::Pushed,
    };
    assert_eq!(
        told[2..],
        [
            pushed(mate, Direction::East),
            GameEvent::PushedFrom {
                agent: mate,
                direction: 5
            },
            pushed(foe, Direction::South),
            GameEvent::PushedFrom {
                agent: foe,
                direction: 7
            },
            GameEvent::Ejected { agent: pusher },
            GameEvent::Reply {
                agent: pusher,
                reply: Reply::Ok
            },
        ]
    );
    arena.run(1);
    assert_eq!(arena.place(foe), tile(0, 5), "the walk went on from the new tile");
    assert_eq!(arena.place(pusher), tile(9, 4));
    assert_eq!(arena.place(elsewhere), tile(8, 4));
}

#[test]
fn an_eject_with_nobody_there_fails_and_tells_nobody() {
    let mut arena = Arena::quiet();
    let pusher = arena.agent_at(5, 5, Direction::East);
    assert_eq!(
        arena.game.world().eggs_on(tile(5, 5)),
        [],
        "with this seed none lies there"
    );
    arena.take();
    arena.command(pusher, Command::Eject);
    arena.run(7);
    assert_eq!(
        arena.take()[1..],
        [GameEvent::Reply {
            agent: pusher,
            reply: Reply::Ko
        }]
    );
}

#[test]
fn an_eject_breaks_the_eggs_on_the_tile_of_any_team() {
    let mut arena = Arena::quiet();
    let (mine, theirs) = (
        arena.agent_of(0, 5, 5, Direction::East, 1),
        arena.agent_of(1, 5, 5, Direction::East, 1),
    );
    arena.command(mine, Command::Fork);
    arena.command(theirs, Command::Fork);
    arena.run(42);
    arena.put(theirs, 0, 0, Direction::East);
    let eggs = arena.game.world().eggs_on(tile(5, 5)).to_vec();
    assert_eq!(eggs.len(), 2);
    arena.take();
    arena.command(mine, Command::Eject);
    arena.command(mine, Command::ConnectNbr);
    arena.run(7);
    let told = arena.take();
    let broken = |egg| GameEvent::EggDestroyed { egg };
    assert_eq!(
        told[1..4],
        [
            broken(eggs[0]),
            broken(eggs[1]),
            GameEvent::Ejected { agent: mine }
        ]
    );
    assert_eq!(
        told[5],
        GameEvent::Reply {
            agent: mine,
            reply: Reply::ConnectNbr(19)
        }
    );
}

#[test]
fn where_eggs_are_left_alone_an_eject_always_succeeds() {
    let mut config = config(10, 10);
    config.rules.eject_eggs = false;
    let mut arena = Arena::bare(config);
    let pusher = arena.agent_at(5, 5, Direction::East);
    arena.command(pusher, Command::Fork);
    arena.command(pusher, Command::Eject);
    arena.run(49);
    assert_eq!(arena.answers(pusher), [Reply::Ok, Reply::Ok]);
    assert_eq!(arena.game.world().eggs_on(tile(5, 5)).len(), 1);
    assert!(arena.take().contains(&GameEvent::Ejected { agent: pusher }));
}

/// A team with as many eggs as it may have lays no more until one hatches.
#[test]
fn a_team_full_of_eggs_lays_no_more() {
    let mut config = config(20, 20);
    config.places_per_team = GameConfig::EGGS_PER_TEAM_MAX;
    let mut arena = Arena::bare(config);
    let agent = arena.agent_of(0, 5, 5, Direction::East, 1);
    let fork = |arena: &mut Arena| {
        arena.command(agent, Command::Fork);
        arena.run(42);
        arena.answers(agent).pop()
    };
    assert_eq!(fork(&mut arena), Some(Reply::Ok), "one hatched");
    assert_eq!(fork(&mut arena), Some(Reply::Ko));
    let lay = |team| {
        let (team, tile) = (TeamId(team), tile(0, 0));
        GameInput::Admin(AdminAction::LayEgg { team, tile })
    };
    let now = arena.game.now();
    let laid = [0, 1].map(|team| arena.game.handle(lay(team), now));
    assert_eq!(
        laid,
        [Handled::Refused(Refusal::FullOfEggs); 2],
        "and the other team has all it began with"
    );
    assert_eq!(arena.game.world().eggs_refused(), 3);
    arena.agent_of(0, 0, 0, Direction::East, 1);
    assert_eq!(fork(&mut arena), Some(Reply::Ok), "another one hatched");
}
