//! Quirks of servers that are not ours and of lossy messages, as a brain meets them.

use trantor_model::{Counts, Resource};

use crate::body::ELEVATION_UNITS;
use crate::meeting::Calling;
use crate::team::{Climb, second_level};

use super::*;

/// A newborn, and what it does first.
fn born() -> (Brain, Vec<Command>) {
    let mut brain = Brain::new(b"red", 1);
    let sent = sent(&mut brain);
    assert_eq!(sent, [Command::Inventory, Command::Look]);
    (brain, sent)
}

fn sent(brain: &mut Brain) -> Vec<Command> {
    std::iter::from_fn(|| brain.next_command()).collect()
}

fn carried() -> Counts {
    let mut carried = Counts::ZERO;
    carried[Resource::Food] = 20;
    carried
}

fn inventory() -> Percept {
    Percept::Inventory {
        inventory: carried(),
        life_units: 0,
    }
}

/// So many tiles with nothing but the looker.
fn sights(tiles: usize) -> Vec<Sight> {
    let mut sights = vec![Sight::default(); tiles];
    sights[0].agents = 1;
    sights
}

fn look(tiles: usize) -> Percept {
    Percept::Look(sights(tiles).into())
}

#[test]
fn an_agent_without_the_end_of_its_elevation_continues_at_the_next_answer() {
    let (mut brain, _) = born();
    brain.meeting = Some(Meeting::Gathered(Gathered::new(7, brain.body.clock, false)));
    brain.perceive(&Percept::ElevationUnderway);
    brain.perceive(&inventory());
    brain.perceive(&look(4));
    assert_eq!(sent(&mut brain), [Command::Look], "it waits for the next one");
    // A server that carries out what others ask meanwhile has not ended the elevation: one stays for that long.
    for _ in 0..ELEVATION_UNITS / 7 {
        brain.body.set_inventory(&carried());
        brain.perceive(&look(4));
        assert_eq!(sent(&mut brain), [Command::Look]);
    }
    assert!(brain.body.clock >= ELEVATION_UNITS && brain.meeting.is_some());
}

#[test]
fn an_agent_waits_for_an_elevation_announced_only_at_its_end() {
    let (mut brain, _) = born();
    brain.perceive(&inventory());
    brain.perceive(&look(4));
    brain.meeting = Some(Meeting::Gathered(Gathered::new(7, brain.body.clock, false)));
    // Stones are put down, of which each takes a while; then it takes its time.
    let end = brain.body.clock + 100 + ELEVATION_UNITS;
    while brain.body.clock < end {
        brain.body.set_inventory(&carried());
        assert_eq!(sent(&mut brain), [Command::Look]);
        brain.perceive(&look(4));
    }
    // But not too long: the leader may be dead.
    for _ in 0..ELEVATION_UNITS {
        brain.body.set_inventory(&carried());
        sent(&mut brain);
        brain.perceive(&look(4));
    }
    assert!(brain.meeting.is_none());
}

#[test]
fn the_asker_stays_held_by_its_elevation() {
    let (mut brain, _) = born();
    brain.flight.forget();
    for command in [Command::Incantation, Command::Inventory] {
        brain.flight.sent(command);
    }
    brain.perceive(&Percept::ElevationUnderway);
    brain.perceive(&inventory());
    assert_eq!(sent(&mut brain), []);
    brain.perceive(&Percept::Level(second_level()));
    assert_ne!(sent(&mut brain), []);
}

#[test]
fn an_elevation_that_ends_with_ok_has_succeeded() {
    let (mut brain, _) = born();
    brain.flight.forget();
    brain.flight.sent(Command::Incantation);
    brain.perceive(&Percept::ElevationUnderway);
    brain.perceive(&Percept::Ok);
    assert_ne!(sent(&mut brain), []);
}

#[test]
fn a_look_tells_the_level_where_it_did_so_before() {
    let (mut brain, _) = born();
    brain.perceive(&look(4));
    for (tiles, level) in [(10, 1), (9, 2), (4, 2), (25, 4)] {
        brain.flight.sent(Command::Look);
        brain.perceive(&look(tiles));
        assert_eq!(brain.level().get(), level, "{tiles} tiles");
        brain.plan.clear();
        brain.flight.forget();
    }
    // The next elevation is not announced either: it is waited for.
    brain.meeting = Some(Meeting::Gathered(Gathered::new(7, brain.body.clock, false)));
    brain.flight.sent(Command::Look);
    brain.perceive(&look(36));
    let end = brain.body.clock + ELEVATION_UNITS;
    while brain.body.clock < end {
        brain.body.set_inventory(&carried());
        assert_eq!(sent(&mut brain), [Command::Look]);
        brain.perceive(&look(36));
    }
    let (mut brain, _) = born();
    brain.perceive(&look(9));
    assert_eq!(
        brain.level(),
        Level::FIRST,
        "some servers show every agent that far"
    );
}

#[test]
fn unanswered_commands_expire_and_are_sent_again() {
    let (mut brain, first) = born();
    brain.perceive(&Percept::ElevationUnderway);
    assert_eq!(sent(&mut brain), []);
    brain.forget();
    assert_eq!(sent(&mut brain), first);
}

#[test]
fn an_agent_that_sees_nothing_feeds_on_what_it_walks_over() {
    let (mut brain, first) = born();
    let food = Command::Take(Resource::Food);
    for looks in 1..3 {
        brain.perceive(&inventory());
        brain.perceive(&Percept::Ko);
        let sent = sent(&mut brain);
        assert!(sent.ends_with(&first), "it looks again: {sent:?}");
        let walks = sent.starts_with(&[Command::Forward, food.clone()]);
        assert_eq!(walks, looks >= 2, "{looks} looks: {sent:?}");
        for _ in 0..sent.len() - first.len() {
            brain.perceive(&Percept::Ok);
        }
    }
}

/// A message of a member, from `direction`.
fn message(brain: &mut Brain, sender: u32, number: u32, verb: Verb, relayed: &[Relayed], direction: u8) {
    let relayed = relayed.to_vec();
    let signal = Signal {
        sender,
        number,
        verb,
        relayed,
    };
    brain.receive(&signal, direction);
}

#[test]
fn a_call_out_of_range_is_followed_to_the_member_that_repeats_it_and_repeated_once() {
    let (mut brain, _) = born();
    brain.body.level = second_level();
    brain.body.clock = CALL_RELAY_UNITS;
    let call = Relayed {
        sender: 3,
        number: 40,
        age: 20,
        verb: Verb::Call {
            level: second_level(),
            eggs: 0,
        },
    };
    let status = Verb::Status(brain.status());
    message(&mut brain, 2, 1, status, &[], 1);
    message(&mut brain, 2, 5, status, &[call], 3);
    brain.perceive(&inventory());
    brain.perceive(&look(9));
    let commands = sent(&mut brain);
    let [Command::Broadcast(text), way @ ..] = &commands[..] else {
        panic!("it repeats the call first: {commands:?}");
    };
    let repeated = brain.codec.read(text).unwrap().relayed;
    let age = call.age + (brain.body.clock - CALL_RELAY_UNITS) as u32;
    assert!(repeated.contains(&Relayed { age, ..call }), "{repeated:?}");
    assert_eq!(way, &towards_sound(3, 3)[..]);
    assert!(!brain.has_call_to_relay(), "once");
    let old = Relayed { age: 1_000, ..call };
    brain.leave_meeting();
    message(&mut brain, 2, 6, status, &[old], 3);
    assert!(brain.meeting.is_none(), "it may be over");
}

#[test]
fn a_member_without_the_message_that_all_are_here_joins_when_the_elevation_begins() {
    let (mut brain, _) = born();
    brain.body.level = second_level();
    let level = second_level();
    let status = Verb::Status(brain.status());
    message(&mut brain, 3, 1, status, &[], 1);
    message(&mut brain, 3, 2, Verb::Call { level, eggs: 0 }, &[], 0);
    brain.perceive(&inventory());
    brain.perceive(&look(9));
    assert!(
        matches!(&sent(&mut brain)[..], [Command::Broadcast(_)]),
        "it says that it is here"
    );
    brain.perceive(&Percept::ElevationUnderway);
    assert!(matches!(&brain.meeting, Some(Meeting::Gathered(gathered)) if gathered.caller == 3));
    // Nor does it wait for an end that it did not receive: members say what they have when a meeting is over.
    message(&mut brain, 3, 9, status, &[], 1);
    assert!(brain.meeting.is_none());
}

#[test]
fn a_supplier_finds_back_to_its_camp_by_counting_its_steps() {
    use trantor_model::Turn::Right;
    let (mut brain, _) = born();
    let (leader, level) = (3, Level::FIRST);
    let ground = Counts::ZERO;
    message(
        &mut brain,
        3,
        1,
        Verb::Camp {
            leader,
            level,
            ground,
        },
        &[],
        0,
    );
    let away = [
        Command::Forward,
        Command::Forward,
        Command::Turn(Right),
        Command::Forward,
    ];
    for command in &away {
        brain.body.carried_out(command, true);
    }
    // From behind, so one tile ahead.
    brain.perceive(&Percept::Pushed { direction: 5 });
    brain.perceive(&inventory());
    brain.perceive(&look(4));
    let back = [
        Command::Turn(Right),
        Command::Forward,
        Command::Forward,
        Command::Turn(Right),
        Command::Forward,
        Command::Forward,
    ];
    let sent = sent(&mut brain);
    assert_eq!(sent[2..8], back, "after its status and a question: {sent:?}");
    for command in &back {
        brain.body.carried_out(command, true);
    }
    brain.flight.forget();
    brain.plan.clear();
    brain.sights = Some(self::sights(4).into());
    let food = Command::Set(Resource::Food);
    assert_eq!(
        self::sent(&mut brain)[..4],
        [food.clone(), food.clone(), food.clone(), food]
    );
}

#[test]
fn only_the_stones_that_are_needed_lie_there_once_a_server_has_refused_more() {
    let (level, cohort) = (second_level(), vec![1, 2]);
    let climb = Climb {
        from: level,
        to: level.next().unwrap(),
        cohort,
    };
    let mut body = Body::newborn();
    body.level = level;
    let mut calling = Calling::new(climb, 1, 0);
    calling.arrived(2, 9);
    let Step::Begin(mut leading) = calling.next(&body, 0, false) else {
        panic!("all are here");
    };
    let here = |linemates: u32| Sight {
        agents: 2,
        ground: Counts([5, linemates, 1, 1, 0, 0, 0]),
        ..Sight::default()
    };
    let next = |leading: &mut crate::meeting::Leading, body: &Body, linemates: u32| {
        leading.next(1, body, Some([here(linemates)].into()), false)
    };
    let linemate = Resource::Linemate;
    let less = vec![Command::Take(linemate), Command::Look];
    let rise = Step::Do(vec![Command::Incantation]);
    assert_eq!(next(&mut leading, &body, 3), rise, "most servers take more");
    leading.refused(0);
    let go = leading.go();
    assert_eq!(next(&mut leading, &body, 3), Step::SayAndDo(go, less.clone()));
    assert_eq!(next(&mut leading, &body, 2), Step::Do(less.clone()));
    assert_eq!(next(&mut leading, &body, 1), rise);
    body.clock = 300;
    leading.elevation_ended(true, 300);
    assert_eq!(next(&mut leading, &body, 2), Step::Do(less));
    body.carried_out(&Command::Take(linemate), true);
    let more = vec![Command::Set(linemate), Command::Look];
    assert_eq!(next(&mut leading, &body, 0), Step::Do(more));

    // The others stay as they are until the leader says again that all are here; then each does its share.
    let (mut brain, _) = born();
    brain.body = body;
    brain.gather(7, false);
    let go = Signal {
        sender: 7,
        number: 1,
        verb: go,
        relayed: Vec::new(),
    };
    for (linemates, is_again, expected) in [
        (5, false, vec![Command::Look]),
        (5, true, vec![Command::Take(linemate), Command::Take(linemate)]),
        (2, true, vec![Command::Look]),
        (0, true, vec![Command::Look]),
    ] {
        if is_again {
            brain.received(&go, 0);
        }
        let Some(Meeting::Gathered(gathered)) = &mut brain.meeting else {
            panic!("it stays");
        };
        let step = gathered.next(&brain.body, Some([here(linemates)].into()));
        assert_eq!(step, Step::Do(expected), "{linemates} linemates");
    }
    brain.body.clock += 100;
    let Some(Meeting::Gathered(gathered)) = &mut brain.meeting else {
        panic!("it stays");
    };
    let step = gathered.next(&brain.body, Some([here(0)].into()));
    assert_eq!(
        step,
        Step::Do(vec![Command::Set(linemate)]),
        "the leader has none"
    );
    // From the elevation on it keeps its stones until one is lacking.
    brain.elevation_ended(true);
    brain.gather(7, false);
    assert!(brain.plan.is_empty());
}

#[test]
fn an_agent_alone_rises_among_exact_stones_once_it_was_refused() {
    let (mut brain, _) = born();
    brain.body.set_inventory(&carried());
    brain.body.clock = 1;
    let mut sights = sights(4);
    sights[0].ground = Counts([0, 2, 1, 0, 0, 0, 0]);
    let takes = [Resource::Linemate, Resource::Deraumere].map(Command::Take);
    for removed in [&[][..], &takes] {
        brain.plan.clear();
        brain.flight.forget();
        assert!(brain.rise_alone(&sights));
        let expected: Vec<_> = removed.iter().cloned().chain([Command::Incantation]).collect();
        assert_eq!(sent(&mut brain), expected);
        for _ in removed {
            brain.perceive(&Percept::Ok);
        }
        brain.perceive(&Percept::Ko);
    }
    sights[0].ground[Resource::Sibur] = 20;
    assert!(!brain.rise_alone(&sights), "it goes elsewhere");
}
