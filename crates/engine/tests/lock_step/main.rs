//! Lock-step: the same agents play the same game, however slow they are and however their bytes are cut, and
//! it is the game of a leap. And what becomes of agents that do not keep up.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

mod table;

use std::collections::BTreeMap;

use proptest::prelude::*;
use trantor_engine::leap::{Leap, Voice};
use trantor_engine::minds::MindKind;
use trantor_engine::{AdminRequest, CloseCause, Input, LockStepState, PaceRefusal};
use trantor_game::{AdminAction, Game, GameConfig, Rules};
use trantor_model::MapSize;
use trantor_time::{GameTime, RealSpan, RealTime};

use table::Table;

const CAP: RealSpan = RealSpan::from_secs(5);

fn game_config(places: u32, seed: u64) -> GameConfig {
    GameConfig {
        size: MapSize::new(8, 8).unwrap(),
        teams: vec!["red".to_owned(), "blue".to_owned()],
        places_per_team: places,
        seed,
        rules: Rules {
            lock_step: true,
            ..Rules::default()
        },
    }
}

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn slow_agents_play_the_game_of_a_leap(seed in 0..1_000u64, dice: [u64; 2]) {
        const UNTIL: i64 = 260;
        let kinds = [MindKind::Team, MindKind::Random];
        let mut leap = Leap::new(game_config(3, seed), &kinds, Voice::Values);
        leap.run(Some(GameTime::from_units(UNTIL)));
        prop_assert!(leap.actions() > 20, "somebody does something");
        for (dice, frequency) in dice.into_iter().zip([1, 10_000]) {
            let mut table = Table::new(game_config(3, seed), frequency, dice);
            table.seat(&kinds);
            prop_assert_eq!(table.play(UNTIL), leap.game().digest());
            prop_assert_eq!(table.replayed(), 0);
        }
    }
}

/// Two agents of one team each, without minds: the test speaks for them.
fn two() -> (Table, usize, usize) {
    let mut table = Table::new(game_config(1, 1), 100, 1);
    let red = table.join("red", None);
    let blue = table.join("blue", None);
    (table, red, blue)
}

/// Who was promised a place is an agent, whatever it says, and one that is let go before the start leaves it to others.
#[test]
fn a_place_is_kept_for_an_agent_that_waits_for_it() {
    let mut table = Table::new(game_config(1, 1), 100, 1);
    let red = table.join("red", None);
    table.send(red, "ADMIN\n");
    assert_eq!(table.peers[red].lines.len(), 3, "it is answered once it is born");
    let conn = table.peers[red].conn;
    table
        .engine
        .admin(AdminRequest::Disconnect(conn), table.now)
        .unwrap();
    let blue = table.join("blue", None);
    assert_eq!(table.living(), 0, "red's place is free again");
    let red = table.join("red", None);
    assert_eq!(table.living(), 2);
    table.send(red, "ADMIN\n");
    table.send(blue, "Forward\n");
    table.rest();
    assert_eq!(
        table.peers[red].lines.last().unwrap(),
        "ko",
        "and no word of it is an operator's"
    );
}

#[test]
fn time_waits_for_all_places_and_all_commands() {
    let mut table = Table::new(game_config(1, 1), 100, 1);
    let red = table.join("red", None);
    assert_eq!(
        table.peers[red].lines,
        ["WELCOME", "0", "8 8"],
        "it is told at once"
    );
    table.send(red, "Forward\n");
    table.now += ms(4_000);
    table.rest();
    assert_eq!(table.living(), 0, "and born when everybody is there");
    let blue = table.join("blue", None);
    assert_eq!(table.living(), 2);
    table.now += ms(4_000);
    table.rest();
    assert_eq!(table.units(), 0, "blue owes a command");
    table.send(blue, "Look\n");
    table.rest();
    assert_eq!(table.units(), 7, "both are done, and owe the next");
    assert_eq!(table.peers[red].lines.last().unwrap(), "ok");
    assert!(table.peers[blue].lines.last().unwrap().starts_with('['));
    assert_eq!(table.replayed(), 0);
}

/// Who is told which number has the same agent, in whichever order the connections come about, and although some
/// go again.
#[test]
fn places_are_told_and_taken_by_number() {
    let births = |order: &[&str]| {
        let mut table = Table::new(game_config(2, 1), 100, 1);
        for team in order {
            let number = table.join(team.trim_start_matches('-'), None);
            if team.starts_with('-') {
                let conn = table.peers[number].conn;
                let cause = CloseCause::EndOfStream;
                table.engine.handle(Input::Closed { conn, cause }, table.now);
            }
        }
        table.rest();
        let told: BTreeMap<_, _> = table
            .engine
            .game()
            .world()
            .agents()
            .map(|agent| (agent.id(), agent.team()))
            .collect();
        (told, table.engine.game().digest())
    };
    let in_turn = births(&["red", "blue", "red", "blue"]);
    assert_eq!(in_turn.0.len(), 4);
    assert_eq!(births(&["blue", "blue", "red", "red"]), in_turn);
    assert_eq!(births(&["blue", "-red", "-blue", "red", "blue", "red"]), in_turn);

    let mut table = Table::new(game_config(2, 1), 100, 1);
    let first = table.join("red", None);
    let second = table.join("red", None);
    let third = table.join("red", None);
    assert_eq!(table.peers[first].lines[1], "1");
    assert_eq!(table.peers[second].lines[1], "0");
    assert_eq!(table.peers[third].lines[1..], ["ko"], "there is no third place");
    let conn = table.peers[first].conn;
    let cause = CloseCause::EndOfStream;
    table.engine.handle(Input::Closed { conn, cause }, table.now);
    let again = table.join("red", None);
    assert_eq!(table.peers[again].lines[1], "1", "the place that became free");
}

#[test]
fn an_operator_begins_without_those_who_are_missing() {
    let mut table = Table::new(game_config(2, 1), 100, 1);
    let red = table.join("red", None);
    table.send(red, "Forward\n");
    table.rest();
    assert_eq!(table.living(), 0);
    table.engine.admin(AdminRequest::Start, table.now).unwrap();
    table.rest();
    assert_eq!((table.living(), table.units()), (1, 7));
    assert_eq!(
        table.engine.admin(AdminRequest::Start, table.now),
        Err(PaceRefusal::AlreadyStarted.into())
    );
}

#[test]
fn a_match_that_ends_before_it_begins_lets_everybody_go() {
    let mut table = Table::new(game_config(2, 1), 100, 1);
    let red = table.join("red", None);
    table
        .engine
        .admin(AdminRequest::Act(AdminAction::EndMatch), table.now)
        .unwrap();
    table.rest();
    assert!(!table.peers[red].is_open, "who waits for it is not kept waiting");
    let blue = table.join("blue", None);
    table.rest();
    assert_eq!(table.peers[blue].lines, ["WELCOME", "ko"]);
    assert_eq!(table.living(), 0);
}

#[test]
fn who_sends_ahead_owes_nothing() {
    let (mut table, red, blue) = two();
    table.send(red, "Forward\nForward\nForward\n");
    table.send(blue, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 7, "blue owes, red does not");
    table.send(blue, "Forward\nForward\nForward\n");
    table.rest();
    assert_eq!(table.units(), 21, "now red owes");
}

#[test]
fn who_never_speaks_is_waited_for_once() {
    let (mut table, red, blue) = two();
    table.send(red, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 0);
    assert_eq!(table.engine.poll_timeout(), Some(RealTime::ZERO + CAP));
    table.now += CAP;
    table.rest();
    assert_eq!(table.units(), 7, "time went on without blue");
    for _ in 0..5 {
        table.send(red, "Forward\n");
        table.rest();
    }
    assert_eq!(table.units(), 42, "and does not wait for it again");
    table.send(blue, "Forward\n");
    table.send(red, "Forward\nForward\n");
    table.rest();
    assert_eq!(table.units(), 49, "until it begins something: then it counts");
    assert_eq!(table.replayed(), 1);
}

#[test]
fn where_all_are_silent_time_does_not_rush() {
    let (mut table, red, _) = two();
    table.rest();
    for moment in 1..=3 {
        let both = Some(LockStepState::Playing { awaited: 2 });
        assert_eq!(table.engine.lock_step_state(), both);
        table.now += CAP;
        table.rest();
        assert_eq!(table.units(), 126 * moment, "one moment for each wait");
    }
    table.send(red, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 385, "who speaks is not held up by who does not");
}

#[test]
fn who_says_nothing_for_too_long_is_let_go() {
    let mut table = Table::new(game_config(2, 1), 100, 1);
    let mut limits = table.engine.config().limits.clone();
    limits.idle_span = Some(ms(300));
    table.engine.set_limits(&limits);
    let [red, blue] = ["red", "blue"].map(|team| table.join(team, None));
    table.engine.admin(AdminRequest::Start, table.now).unwrap();
    table.rest();
    table.now += ms(200);
    table.send(blue, "Forward\n");
    table.rest();
    table.now += ms(150);
    table.rest();
    assert_eq!(
        (table.peers[red].is_open, table.peers[blue].is_open),
        (false, true)
    );
    assert_eq!(table.units(), 7, "and nobody waits for it");
}

#[test]
fn what_takes_no_time_does_not_hold_the_game_for_ever() {
    let (mut table, red, blue) = two();
    table.send(red, "Forward\n");
    for _ in 0..60 {
        table.send(blue, "Connect_nbr\n");
        table.now += ms(100);
        table.rest();
    }
    assert_eq!(table.units(), 7);
}

#[test]
fn who_comes_late_owes_from_then_on() {
    let mut table = Table::new(game_config(2, 1), 100, 1);
    let first = table.join("red", None);
    table.send(first, "Forward\n");
    table.rest();
    assert_eq!(table.living(), 0);
    table.now += CAP;
    table.rest();
    assert_eq!(table.units(), 7, "nobody else came, and the game began");
    let late = table.join("blue", None);
    table.send(first, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 7);
    table.send(late, "Forward\n");
    table.rest();
    assert_eq!(table.units(), 14);
}

#[test]
fn a_peer_that_takes_a_place_and_leaves_it_does_not_put_off_the_start() {
    let mut table = Table::new(game_config(2, 1), 100, 1);
    table.join("red", None);
    let leave = |table: &mut Table, peer: usize| {
        let (conn, cause) = (table.peers[peer].conn, CloseCause::EndOfStream);
        table.engine.handle(Input::Closed { conn, cause }, table.now);
    };
    for second in 0..5 {
        assert_eq!(table.living(), 0, "after {second} s");
        let nuisance = table.join("blue", None);
        table.now += ms(1_000);
        table.rest();
        leave(&mut table, nuisance);
    }
    assert_eq!(
        table.living(),
        1,
        "it began {CAP:?} after the first two were there"
    );
}

#[test]
fn nobody_waits_for_the_dead_and_the_departed() {
    let (mut table, red, blue) = two();
    table.send(red, "Forward\n");
    let conn = table.peers[blue].conn;
    let cause = CloseCause::EndOfStream;
    table.engine.handle(Input::Closed { conn, cause }, table.now);
    table.rest();
    assert_eq!(table.units(), 7, "blue has left");
    // Red walks until it starves, and then nothing is left to happen.
    for _ in 0..200 {
        if table.peers[red].is_open {
            table.send(red, "Forward\n");
        }
        table.rest();
    }
    assert_eq!(table.peers[red].lines.last().unwrap(), "dead");
    assert_eq!(table.units(), 1_260);
}

#[test]
fn an_operator_holds_the_game() {
    let (mut table, red, blue) = two();
    table.engine.admin(AdminRequest::Pause, table.now).unwrap();
    assert!(table.engine.admin(AdminRequest::Pause, table.now).is_err());
    table.send(red, "Forward\n");
    table.send(blue, "Forward\n");
    table.now += CAP;
    table.now += CAP;
    table.rest();
    assert_eq!(table.units(), 0);
    table.engine.admin(AdminRequest::Resume, table.now).unwrap();
    table.rest();
    assert_eq!(table.units(), 7);
    assert_eq!(table.replayed(), 0, "what is held is not given up");
}

#[test]
fn a_saved_game_gathers_its_players_again() {
    let (mut table, red, blue) = two();
    for _ in 0..3 {
        table.send(red, "Forward\n");
        table.send(blue, "Forward\n");
        table.rest();
    }
    let mut again = Table::resumed(table.engine.game().clone());
    assert_eq!((again.living(), again.units()), (0, 21));
    let blue = again.join("blue", None);
    again.send(blue, "Forward\n");
    again.rest();
    assert_eq!(again.living(), 0);
    let red = again.join("red", None);
    assert_eq!(again.living(), 2);
    again.send(red, "Forward\n");
    again.rest();
    assert_eq!(again.units(), 28);
    assert_eq!(again.replayed(), 0);
}

#[test]
fn a_saved_game_that_was_won_gathers_nobody() {
    let (mut table, _red, _blue) = two();
    table.engine.expect_saves();
    let admin = AdminRequest::Act(AdminAction::EndMatch);
    table.engine.admin(admin, table.now).unwrap();
    table.rest();
    assert_eq!(table.living(), 0);
    let victory = table.engine.state_to_save();
    let mut again = Table::resumed(Game::restore((*victory).clone()).unwrap());
    assert_eq!(again.living(), 2, "they stand where they stood");
    let late = again.join("red", None);
    again.rest();
    assert_eq!(again.living(), 2);
    assert!(!again.peers[late].is_open || again.peers[late].lines == ["WELCOME", "ko"]);
}
