//! Who may control the server, also while it runs, and operators: their lines, sprints, and who is connected. What agents get for
//! the words of others is in the transcripts.

use trantor_engine::{
    AdminRefusal, AdminRequest, ClientKind, CloseReason, ConnId, Control, EngineConfig, Step, Token, limits,
};
use trantor_model::AgentId;
use trantor_time::RealSpan;

use crate::harness::{Bench, game_config};

const TOKEN: &str = "correct-horse-battery";

fn bench(control: Control) -> Bench {
    let mut config = EngineConfig::new(game_config(5, 5, 3));
    config.control = control;
    config.token = Some(Token::read(TOKEN).unwrap());
    Bench::new(config)
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
            config.control = Control::Everyone;
            config.auto_start = is_started;
            let mut bench = Bench::new(config);
            let page = bench.open("P");
            for piece in request.as_bytes().chunks(piece_bytes) {
                bench.send(page, piece);
            }
            assert_eq!(bench.engine.poll_operator_line(), None, "{request}");
            // Behind the greeting, where there was one.
            let heard = bench.lines(page);
            let answer = &heard[usize::from(is_started)];
            assert!(answer.starts_with("HTTP/1.1 400 Bad Request"), "{heard:?}");
            bench.run_for(limits::LINGER_SPAN * 2);
            let now = bench.now;
            let stats = bench.engine.stats(now);
            assert_eq!((stats.connections, stats.agents), (0, 0), "{request}");
            assert_eq!(bench.engine.game_clock().frequency().get(), 100);
            assert_eq!(stats.counters.closed[CloseReason::HttpRequest.index()], 1);
        }
    }
}

#[test]
fn control_can_be_given_and_taken_while_the_server_runs() {
    let mut bench = bench(Control::Token);
    let viewer = bench.join("G", &format!("GRAPHIC {TOKEN}"));
    let operator = bench.join("O", &format!("ADMIN {TOKEN}"));
    bench.lines(viewer);
    assert_eq!(bench.lines(operator), ["WELCOME", "ok"]);

    bench.send(operator, b"tick query\nhelp\n");
    let line = bench.engine.poll_operator_line().unwrap();
    assert_eq!(line.line, "tick query");
    bench.engine.answer_operator(line.conn, "100 units/s\nok\n");
    assert_eq!(bench.engine.poll_operator_line().unwrap().line, "help");
    assert_eq!(bench.engine.poll_operator_line(), None);
    bench.pass(|_, _| {});
    assert_eq!(bench.lines(operator), ["100 units/s", "ok"]);

    // The same token again takes nothing from anybody.
    bench
        .engine
        .set_control(Control::Token, Some(Token::read(TOKEN).unwrap()));
    bench.send(viewer, b"sst 200\n");
    assert_eq!(bench.lines(viewer), ["sgt 200"]);

    let another = Token::read("another-token-of-late").unwrap();
    bench.engine.set_control(Control::Token, Some(another));
    bench.send(viewer, b"sst 300\n");
    bench.send(operator, b"tick rate 300\n");
    let refusal = "this server is controlled only by those who show its token (--token-file)";
    assert_eq!(bench.lines(viewer), ["sbp".to_owned(), format!("smg {refusal}")]);
    assert_eq!(
        bench.lines(operator),
        [format!("ko {refusal}"), "[end]".to_owned()]
    );
    assert_eq!(bench.engine.poll_operator_line(), None);

    bench.engine.set_control(Control::Everyone, None);
    bench.send(viewer, b"sst 400\n");
    assert_eq!(bench.lines(viewer), ["sgt 400"]);
}

/// Thousands of lines may wait while the first of them are carried out.
#[test]
fn what_an_operator_said_is_not_carried_out_once_it_may_not_control() {
    let mut bench = bench(Control::Token);
    let [first, second] = ["O", "P"].map(|name| bench.join(name, &format!("ADMIN {TOKEN}")));
    for peer in [first, second] {
        bench.lines(peer);
        bench.send(peer, b"tick freeze\nquit\n");
    }
    assert_eq!(bench.engine.poll_operator_line().unwrap().line, "tick freeze");
    let kicked = bench.peers[first].conn;
    bench.admin(AdminRequest::Disconnect(kicked)).unwrap();
    let left = bench.engine.poll_operator_line().unwrap();
    assert_eq!(
        (left.conn, left.line.as_str()),
        (bench.peers[second].conn, "tick freeze")
    );

    let another = Token::read("another-token-of-late").unwrap();
    bench.engine.set_control(Control::Token, Some(another));
    assert_eq!(bench.engine.poll_operator_line(), None);
    bench.pass(|_, _| {});
    let refusal = "ko this server is controlled only by those who show its token (--token-file)";
    assert_eq!(bench.lines(second), [refusal]);
}

/// Six steps that are asked for in one breath are six steps.
#[test]
fn a_line_after_a_step_waits_until_the_step_is_done() {
    let mut bench = bench(Control::Everyone);
    let agent = bench.join("A", "a");
    let operator = bench.join("O", "ADMIN");
    bench.admin(AdminRequest::Pause).unwrap();
    bench.send(agent, b"Right\nLeft\n");
    bench.send(operator, b"tick step action\ntick step action\n");
    let mut reached = Vec::new();
    let now = bench.now;
    for _ in 0..2 {
        assert_eq!(
            bench.engine.poll_operator_line().unwrap().line,
            "tick step action"
        );
        bench.engine.admin(AdminRequest::Step(Step::Action), now).unwrap();
        assert_eq!(bench.engine.poll_operator_line(), None, "what is due comes first");
        bench.pass(|_, _| {});
        reached.push(bench.engine.game_now().whole_units());
    }
    assert_eq!(reached, [7, 14]);
}

/// Found by the simulation: an answer was put behind the last word of the connection.
#[test]
fn an_operator_that_lets_itself_go_hears_no_more() {
    let mut bench = bench(Control::Everyone);
    let operator = bench.join("O", "ADMIN");
    bench.lines(operator);
    let conn = bench.peers[operator].conn;
    bench.send(operator, b"kick 0.0\nhelp\n");
    assert_eq!(bench.engine.poll_operator_line().unwrap().line, "kick 0.0");
    let now = bench.now;
    bench.engine.admin(AdminRequest::Disconnect(conn), now).unwrap();
    bench.engine.answer_operator(conn, "ok\n");
    assert_eq!(bench.engine.poll_operator_line(), None, "it operates no more");
    bench.pass(|_, _| {});
    assert_eq!(bench.lines(operator), ["[end]"]);
}

#[test]
fn operators_are_bounded_as_everybody_is() {
    let mut bench = bench(Control::Everyone);
    let operator = bench.join("O", "ADMIN");
    bench.lines(operator);
    bench.send(operator, &b"help\n".repeat(2_000));
    let taken = std::iter::from_fn(|| bench.engine.poll_operator_line()).count();
    let refused = bench.lines(operator);
    assert_eq!(taken + refused.len(), 2_000);
    assert!(refused.iter().all(|line| line == "ko too many lines at once"));
    bench.send(operator, &[&[b'x'; 20_000][..], b"\nhelp\n"].concat());
    assert_eq!(bench.lines(operator), ["ko this line is too long"]);
    assert_eq!(bench.engine.poll_operator_line().unwrap().line, "help");
}

/// The clock is back at its speed from the very unit on, and whatever was due meanwhile was on time.
#[test]
fn a_sprint_ends_at_its_unit_and_leaves_the_speed_as_it_was() {
    let mut bench = bench(Control::Everyone);
    let viewer = bench.watch("V");
    bench.run_for(RealSpan::from_millis(1_000));
    bench.admin(AdminRequest::Sprint(5_000)).unwrap();
    assert_eq!(bench.engine.game_clock().frequency().get(), 10_000);
    // The pass that ends it comes late.
    bench.now += RealSpan::from_millis(700);
    bench.pass(|_, _| {});
    let clock = bench.engine.game_clock();
    assert_eq!(clock.frequency().get(), 100);
    assert_eq!(clock.now(bench.now).whole_units(), 100 + 5_000 + 20);
    assert_eq!(bench.viewer(viewer).clock.unwrap().frequency.get(), 100);

    // Paused, it waits; another speed ends it.
    bench.admin(AdminRequest::Sprint(5_000)).unwrap();
    bench.admin(AdminRequest::Pause).unwrap();
    bench.run_for(RealSpan::from_secs(10));
    assert_eq!(bench.engine.game_clock().frequency().get(), 10_000);
    assert!(bench.admin(AdminRequest::Sprint(1)).is_err());
    bench.admin(AdminRequest::Resume).unwrap();
    bench.admin(AdminRequest::SetFrequency(300)).unwrap();
    bench.run_for(RealSpan::from_secs(10));
    assert_eq!(bench.engine.game_clock().frequency().get(), 300);
    assert!(bench.admin(AdminRequest::Sprint(0)).is_err());
}

/// A machine that stands still for a while in a sprint does not carry out all of it at once: agents could not answer.
#[test]
fn a_stall_in_a_sprint_slips() {
    let mut bench = bench(Control::Everyone);
    let agent = bench.join("A", "a");
    bench.send(agent, &b"Forward\n".repeat(10));
    bench.run_for(RealSpan::from_millis(1));
    let from = bench.engine.game_now().whole_units();
    bench.admin(AdminRequest::Sprint(60_000)).unwrap();
    bench.now += RealSpan::from_secs(8);
    bench.pass(|_, _| {});
    // 250 milliseconds at 10,000 units a second, after the first action's end.
    let reached = bench.engine.game_now().whole_units();
    assert_eq!(reached, 7 + 2_500);
    assert!(bench.engine.sprint_until().is_some());
    bench.run_for(RealSpan::from_secs(6));
    assert!(bench.engine.sprint_until().is_none());
    assert_eq!(bench.engine.game_clock().frequency().get(), 100);
    let passed = bench.engine.game_now().whole_units() - from;
    assert!((60_000..60_100).contains(&passed), "{passed}");
}

#[test]
fn operators_see_who_is_there_and_let_go_whom_they_like() {
    let mut bench = bench(Control::Everyone);
    let agent = bench.join("A", "a");
    let viewer = bench.join("G", "GRAPHIC");
    bench.join("O", "ADMIN");
    bench.open("N");
    let kinds: Vec<ClientKind> = bench.engine.clients().map(|client| client.kind).collect();
    assert_eq!(
        kinds,
        [
            ClientKind::Agent(AgentId(0)),
            ClientKind::TextViewer,
            ClientKind::Operator,
            ClientKind::Greeted,
        ]
    );
    let conns: Vec<ConnId> = bench.engine.clients().map(|client| client.conn).collect();
    for conn in [conns[0], conns[1]] {
        bench.admin(AdminRequest::Disconnect(conn)).unwrap();
        assert_eq!(
            bench.admin(AdminRequest::Disconnect(conn)),
            Err(AdminRefusal::NoConnection(conn))
        );
    }
    assert_eq!(bench.lines(agent).last().unwrap(), "[end]");
    assert_eq!(bench.lines(viewer).last().unwrap(), "[end]");
    assert_eq!(bench.engine.clients().count(), 2);
}
