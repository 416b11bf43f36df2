//! Connections: requests and answers in order, the journal before answers, and what browsers send. Input takes effect at the instant
//! at which it came, also where that lies within a pass, after deadlines that the pass has not carried out yet.

use trantor_engine::{CloseReason, ControlAccess, EngineConfig, FiredKind, JournalPressure, limits};
use trantor_game::{DueKind, Replay};
use trantor_model::{AdminAction, AgentId, Counts, Direction, Resource, Tile};
use trantor_time::{GameTime, RealSpan};

use super::{bench, instants, ms, ns, quiet, quiet_with};
use crate::harness::{Bench, game_config};

#[test]
fn replies_leave_in_the_pass_that_made_them() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.send(agent, b"Left\n");
    bench.take_received();
    bench.now += ms(70);
    let conn = bench.peers[agent].conn;
    bench.engine.begin_pass(bench.now);
    assert_eq!(bench.engine.next_dirty(), None);
    let fired = bench.engine.fire_next(bench.now).expect("it is due");
    assert_eq!(
        (fired.kind, fired.lateness_ns),
        (FiredKind::Game(DueKind::Action), 0)
    );
    assert_eq!(bench.engine.next_dirty(), Some(conn));
    assert_eq!(bench.engine.unsent(conn), b"ok\n");
    assert_eq!(bench.engine.next_dirty(), None, "once");
    // A full socket takes a part; the rest stays queued and is offered again with later output.
    bench.engine.sent(conn, 1);
    assert_eq!(bench.engine.unsent(conn), b"k\n");
    bench.send(agent, b"Connect_nbr\n");
    assert_eq!(bench.lines(agent), ["k", "19"]);
}

/// The journal is written for many passes at once while nothing is sent, and never if nothing happens.
#[test]
fn a_journal_waits_until_something_is_sent() {
    let mut bench = Bench::new(EngineConfig::new(game_config(3, 3, 4)));
    let pressure = |bench: &Bench| bench.engine.journal_pressure();
    assert_eq!(pressure(&bench), JournalPressure::None, "nothing is recorded");
    bench.engine.start_recording();
    let take = |bench: &mut Bench| while bench.engine.poll_journal().is_some() {};
    assert_eq!(pressure(&bench), JournalPressure::Waits, "the beginning");
    take(&mut bench);
    let agent = bench.join("A", "a");
    assert_eq!(pressure(&bench), JournalPressure::Waits, "all was sent");
    take(&mut bench);
    bench.hand_in(agent, b"Left\n");
    assert_eq!(pressure(&bench), JournalPressure::Waits);
    bench.hand_in(agent, b"nonsense\n");
    bench.now += ms(70);
    bench.engine.begin_pass(bench.now);
    while bench.engine.fire_next(bench.now).is_some() {}
    assert_eq!(pressure(&bench), JournalPressure::Presses, "it is answered");
    bench.after_pass();
    take(&mut bench);
    // It digests and dies, and nothing is sent.
    bench.peers[agent].hangs_up = false;
    bench.run_for(RealSpan::from_secs(5));
    assert_eq!(pressure(&bench), JournalPressure::None);
    assert!(bench.engine.is_ahead_of_journal());
}

#[test]
fn long_speeches_do_not_wait_to_be_recorded_until_something_is_sent() {
    let mut bench = Bench::new(EngineConfig::new(game_config(3, 3, 4)));
    bench.engine.start_recording();
    let agent = bench.join("A", "a");
    while bench.engine.poll_journal().is_some() {}
    let speech = format!("Broadcast {}\n", "words ".repeat(1_300));
    let mut bytes = 0;
    while bench.engine.journal_pressure() != JournalPressure::Presses {
        assert!(bytes < 2 * limits::JOURNAL_PRESSING_BYTES);
        bytes += speech.len();
        bench.hand_in(agent, speech.as_bytes());
    }
    assert!(bytes > limits::JOURNAL_PRESSING_BYTES / 2);
    while bench.engine.poll_journal().is_some() {}
    assert_eq!(bench.engine.journal_pressure(), JournalPressure::None);
}

/// Nothing bounds what a player says but the rate of requests, and what is dropped plays no part in the game.
#[test]
fn a_command_that_is_dropped_is_not_recorded() {
    let mut bench = Bench::new(EngineConfig::new(game_config(3, 3, 4)));
    bench.engine.start_recording();
    let agent = bench.join("A", "a");
    bench.send(agent, "Forward\n".repeat(500).as_bytes());
    bench.run_for(ms(35));
    bench.send(agent, "Broadcast again\n".repeat(100).as_bytes());
    bench.run_for(ms(500));
    let journal = std::iter::from_fn(|| bench.engine.poll_journal()).flat_map(|taken| taken.bytes);
    let verified = Replay::open(journal.collect::<Vec<u8>>())
        .unwrap()
        .verify()
        .unwrap();
    let now = bench.now;
    let counters = bench.engine.stats(now).counters;
    assert_eq!(
        counters.commands_dropped,
        600 - 10,
        "ten are open, and none is done before 70 ms"
    );
    // The speed, the birth, and ten commands.
    assert_eq!(verified.played.inputs, 12);
    let mut game = verified.game;
    game.advance_to(bench.engine.game().now());
    assert_eq!(game.digest(), bench.engine.game().digest());
}

/// A shell that does not take the journal loses it, not the server its memory.
#[test]
fn a_journal_that_is_not_taken_ends_at_its_bound() {
    let mut config = EngineConfig::new(game_config(2, 2, 3));
    config.limits.requests_per_second = 1_000_000;
    let mut bench = Bench::new(config);
    let agent = bench.join("A", "a");
    bench.engine.start_recording();
    bench.run_for(ms(100));
    assert!(bench.engine.poll_journal().is_some());
    let speech = format!("Broadcast {}\n", "x".repeat(16_000));
    let mut sent = 0;
    bench.act(AdminAction::SetHunger { enabled: false });
    while bench.engine.is_recording() {
        bench.send(agent, speech.as_bytes());
        // What is dropped is not recorded.
        bench.run_for(ms(70));
        sent += speech.len();
        assert!(sent <= 2 * limits::JOURNAL_WAITING_BYTES_MAX);
    }
    assert!(sent > limits::JOURNAL_WAITING_BYTES_MAX / 2);
    assert_eq!(bench.engine.poll_journal(), None);
    assert_eq!(bench.engine.stop_recording(), None);
}

/// The same number is the same agent, in whichever order the connections come about, and although some go again.
#[test]
fn places_in_lock_step_are_taken_by_number() {
    let births = |order: &[&str]| {
        let mut bench = Bench::new(EngineConfig {
            lock_step: Some(RealSpan::from_secs(5)),
            ..EngineConfig::new(game_config(8, 8, 2))
        });
        for team in order {
            let peer = bench.join(team, team.trim_start_matches('-'));
            if team.starts_with('-') {
                bench.close(peer);
            }
        }
        assert_eq!(bench.engine.game().world().agents().len(), 4);
        bench.engine.game().digest()
    };
    let in_turn = births(&["a", "b", "a", "b"]);
    assert_eq!(births(&["b", "b", "a", "a"]), in_turn);
    assert_eq!(births(&["b", "-a", "-b", "a", "b", "a"]), in_turn);
}

/// A pass begins 60 ms from now. After 75 ms from now, peer after peer with a microsecond between sends a line; then the pass
/// carries out what is due.
fn read_late(bench: &mut Bench, peers: &[usize], line: &[u8]) {
    let began = bench.now;
    bench.engine.begin_pass(began + ms(60));
    for (nth, &peer) in (0..).zip(peers) {
        bench.now = began + ms(75) + ns(nth * 1_000);
        bench.hand_in(peer, line);
    }
    bench.pass(|_, _| {});
}

/// The agent ids of the living.
fn living(bench: &Bench) -> Vec<AgentId> {
    bench
        .engine
        .game()
        .world()
        .agents()
        .map(|agent| agent.id)
        .collect()
}

#[test]
fn a_command_starts_when_it_came_and_not_when_the_pass_began() {
    for busy in [false, true] {
        let mut bench = quiet(100);
        let first = bench.join("A", "a");
        let others: Vec<usize> = (0..5).map(|_| bench.join("B", "b")).collect();
        bench.take_received();
        let began = bench.now;
        if busy {
            // What ends between the beginning of the pass and the read.
            bench.send(first, b"Left\n");
        }
        read_late(&mut bench, &others, b"Left\n");
        bench.run_for(ms(300));
        let received = bench.take_received();
        for (nth, peer) in (0..).zip(others) {
            let mine = received.iter().filter(|received| received.peer == peer);
            let at: Vec<i64> = mine.map(|received| (received.real - began).as_nanos()).collect();
            assert_eq!(at, [145_000_000 + nth * 1_000], "{busy}");
        }
    }
}

#[test]
fn the_queue_of_ten_is_that_of_the_instant_at_which_a_command_came() {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.take_received();
    let began = bench.now;
    bench.send(agent, &b"Left\n".repeat(10));
    // The first of them was answered before.
    read_late(&mut bench, &[agent], b"Right\n");
    bench.run_for(ms(1_000));
    assert_eq!(instants(&mut bench, agent, began).len(), 11);
}

#[test]
fn an_agent_that_leaves_after_its_fork_leaves_an_egg_and_the_next_player_gets_the_place() {
    let mut bench = quiet_with(EngineConfig::new(game_config(10, 10, 1)));
    let agent = bench.join("A", "a");
    let newcomer = bench.open("N");
    bench.take_received();
    let began = bench.now;
    bench.send(agent, b"Fork\n");
    bench.engine.begin_pass(began + ms(415));
    bench.now = began + ms(425);
    bench.hang_up(agent);
    bench.hand_in(newcomer, b"a\n");
    assert_eq!(living(&bench), [AgentId(0)], "it is there until its Fork is over");
    bench.pass(|_, _| {});
    assert_eq!(bench.lines(newcomer), ["0\\n10 10"]);
    assert_eq!(living(&bench), [AgentId(1)]);
}

/// It died of an older deadline: nothing is left to leave.
#[test]
fn an_agent_that_leaves_after_its_death_was_due_is_dead() {
    let mut bench = bench(10, 10, 1);
    bench.act(AdminAction::SetRefill { enabled: false });
    let agent = bench.join("A", "a");
    let death = bench.engine.game_clock().real_at(GameTime::from_units(1_260));
    let death = death.expect("the clock runs");
    bench.run_until(death - ms(5));
    bench.now = death + ms(5);
    bench.hang_up(agent);
    bench.pass(|_, _| {});
    assert_eq!(living(&bench), []);
    assert_eq!(bench.engine.poll_timeout(), None);
}

/// Heads of what a page's `fetch("http://127.0.0.1:4242", {method: "POST", mode: "no-cors", body})` has Firefox and
/// Chromium send.
const HEADS: [&str; 2] = [
    "POST / HTTP/1.1\r\nHost: 127.0.0.1:4242\r\n\
     User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n\
     Accept: */*\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\
     Content-Type: text/plain;charset=UTF-8\r\nContent-Length: 11\r\nOrigin: http://127.0.0.1:8000\r\n\
     Connection: keep-alive\r\nReferer: http://127.0.0.1:8000/\r\nSec-Fetch-Dest: empty\r\n\
     Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Site: same-site\r\nPriority: u=4\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: 127.0.0.1:4242\r\nConnection: keep-alive\r\nContent-Length: 11\r\n\
     sec-ch-ua-platform: \"Linux\"\r\n\
     User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n\
     sec-ch-ua: \"Chromium\";v=\"140\", \"Not=A?Brand\";v=\"24\"\r\nContent-Type: text/plain;charset=UTF-8\r\n\
     sec-ch-ua-mobile: ?0\r\nAccept: */*\r\nOrigin: http://127.0.0.1:8000\r\nSec-Fetch-Site: same-site\r\n\
     Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: empty\r\nReferer: http://127.0.0.1:8000/\r\n\
     Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n\r\n",
];

#[test]
fn nothing_that_a_web_page_has_a_browser_send_is_obeyed() {
    let bodies = ["ADMIN\nquit\n", "GRAPHIC\nsst 5\n", "a\nForward\n", "TRANTOR\n"];
    let cases = HEADS
        .iter()
        .flat_map(|head| bodies.map(|body| format!("{head}{body}")));
    for (request, is_started) in cases.flat_map(|request| [(request.clone(), true), (request, false)]) {
        for piece_bytes in [1, 100, request.len()] {
            let mut config = EngineConfig::new(game_config(5, 5, 3));
            config.control = ControlAccess::Everyone;
            config.auto_start = is_started;
            let mut bench = Bench::new(config);
            let page = bench.open("P");
            for piece in request.as_bytes().chunks(piece_bytes) {
                bench.send(page, piece);
            }
            assert_eq!(bench.engine.poll_operator_line(), None, "{request}");
            // Behind the greeting, where there was one.
            let received = bench.lines(page);
            let answer = &received[usize::from(is_started)];
            assert!(answer.starts_with("HTTP/1.1 400 Bad Request"), "{received:?}");
            bench.run_for(limits::LINGER_SPAN * 2);
            let now = bench.now;
            let stats = bench.engine.stats(now);
            assert_eq!((stats.connections, stats.agents), (0, 0), "{request}");
            assert_eq!(bench.engine.game_clock().frequency().get(), 100);
            assert_eq!(stats.counters.closed[CloseReason::HttpRequest.index()], 1);
        }
    }
}

/// However many operators send however much, their lines together have a rate, each has a few of them waiting, and one that
/// sends a single line waits for a few of each of the others.
#[test]
fn lines_of_operators_have_a_rate_together_and_take_turns() {
    const OPERATORS: usize = 80;
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.control = ControlAccess::Everyone;
    let mut bench = Bench::new(config);
    let floods: Vec<usize> = (0..OPERATORS)
        .map(|number| bench.join(&format!("O{number}"), "ADMIN"))
        .collect();
    let lines = "x".repeat(100) + "\n";
    for &operator in &floods {
        bench.send(operator, lines.repeat(600).as_bytes());
    }
    let mut done = vec![0_u32; OPERATORS];
    let mut serve = |bench: &mut Bench, span: RealSpan| {
        let until = bench.now + span;
        let mut others = 0;
        while bench.now < until {
            while bench.engine.operator_line_at(bench.now) == Some(bench.now) {
                let said = bench.engine.poll_operator_line().unwrap();
                let from = bench
                    .peers
                    .iter()
                    .position(|peer| peer.conn == said.conn)
                    .unwrap();
                match done.get_mut(from) {
                    Some(done) => *done += 1,
                    None => others += 1,
                }
                bench.pass(|engine, _| engine.answer_operator(said.conn, "ok\n"));
            }
            bench.run_for(ms(1));
        }
        (done.iter().sum::<u32>(), others)
    };
    let rate = limits::OPERATOR_LINE_RATE.per_second;
    let (at_once, _) = serve(&mut bench, ms(1));
    assert!((rate..=2 * rate + 2).contains(&at_once), "{at_once}");
    let honest = bench.join("honest", "ADMIN");
    bench.send(honest, b"tick query\n");
    let ahead = OPERATORS as u32 * limits::OPERATOR_LINES_AHEAD_MAX;
    let (all, others) = serve(&mut bench, ms(1_000 * i64::from(ahead) / i64::from(rate) + 10));
    assert_eq!(others, 1, "a line waits for those that were waiting");
    assert!(all <= at_once + ahead + rate / 50, "{all}");
    let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
    assert!(
        most - least <= 2 * limits::OPERATOR_LINES_AHEAD_MAX,
        "{least} to {most}"
    );
}

/// What takes long counts as much as it is: long lines, and long answers.
#[test]
fn long_lines_and_answers_of_operators_count_as_several() {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.control = ControlAccess::Everyone;
    let mut bench = Bench::new(config);
    let operator = bench.join("O", "ADMIN");
    let conn = bench.peers[operator].conn;
    bench.send(
        operator,
        format!("{}\n", "x".repeat(limits::OPERATOR_LINE_BYTES_MAX)).as_bytes(),
    );
    bench.send(
        operator,
        format!("{}\n", "x".repeat(limits::OPERATOR_LINE_BYTES_MAX + 1)).as_bytes(),
    );
    bench.send(operator, b"next\n");
    assert_eq!(bench.lines(operator).last().unwrap(), "ko this line is too long");
    assert!(bench.engine.poll_operator_line().is_some());
    // An answer as large as all that may be answered in three seconds.
    let bytes = 3 * limits::OPERATOR_LINE_RATE.per_second as usize * limits::ANSWER_BYTES_PER_REQUEST;
    bench.pass(|engine, _| engine.answer_operator(conn, &"x".repeat(bytes)));
    let next = bench.engine.operator_line_at(bench.now).unwrap();
    assert!(next > bench.now + ms(990), "{next:?} at {:?}", bench.now);
    bench.run_until(next);
    assert_eq!(bench.engine.operator_line_at(next), Some(next));
    // One that sends nothing but lines that are too long is gone soon.
    let flood = format!("{}\n", "x".repeat(limits::OPERATOR_LINE_BYTES_MAX + 1));
    for _ in 0..bench.engine.config().limits.violations_max {
        bench.send(operator, flood.as_bytes());
        bench.run_for(ms(100));
    }
    assert_eq!(bench.engine.clients().count(), 0);
}

/// Looks at a heap are charged to the team of those who look: they wait, and nobody else does, of their own team or another.
#[test]
fn looks_at_a_heap_are_charged_to_those_who_look() {
    const LOOKERS: u32 = 10;
    let mut config = EngineConfig::new(game_config(20, 20, LOOKERS + 2));
    let teams = config.game.teams.len();
    config.limits.fan_out_per_second = 1_000;
    let per_second = config.limits.fan_out_rate_of_team(teams).per_second;
    let mut bench = Bench::new(config);
    bench.make_bare();
    bench.act(AdminAction::SetHunger { enabled: false });
    let stones = 1_900;
    let mut ground = Counts::ZERO;
    ground[Resource::Linemate] = stones;
    bench.act(AdminAction::SetGround {
        tile: Tile { x: 5, y: 5 },
        ground,
    });
    let mut lookers = Vec::new();
    for number in 0..LOOKERS {
        lookers.push(bench.join("A", "a"));
        bench.put_agent(number, 5, 5, Direction::North);
    }
    let honest = [("M", "a"), ("B", "b")].map(|(name, team)| bench.join(name, team));
    for number in 0..2 {
        bench.put_agent(LOOKERS + number, 15, 15, Direction::North);
    }
    // One look after the other, for twenty seconds.
    for turn in 0..285 {
        for &looker in &lookers {
            bench.send(looker, b"Look\n");
        }
        if turn % 50 == 0 {
            for peer in honest {
                bench.lines(peer);
                bench.send(peer, b"Look\n".repeat(10).as_slice());
            }
        }
        bench.run_for(ms(70));
        if turn % 50 == 9 {
            for peer in honest {
                assert_eq!(bench.lines(peer).len(), 10, "an answer each seven units");
            }
        }
    }
    let looks = |lines: Vec<String>| lines.iter().filter(|line| line.starts_with("[ player")).count();
    let answered: usize = lookers.iter().map(|looker| looks(bench.lines(*looker))).sum();
    let bytes = stones as usize * " linemate".len() - limits::LOOK_BYTES_FREE;
    let cost = bytes / limits::FAN_OUT_BYTES_PER_TOKEN + 1;
    let paid = per_second as usize * (20 + limits::REQUESTS_SAVED_SECONDS as usize) / cost;
    // Each of them may have one that is accepted and not yet charged.
    let range = paid - 2 * LOOKERS as usize..paid + 2 * LOOKERS as usize;
    assert!(range.contains(&answered), "{answered} of {range:?}");
}
