//! Requests of web pages. Who may control the server is in the transcripts.

use trantor_engine::{CloseReason, Control, EngineConfig, limits};

use crate::harness::{Bench, game_config};

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
