//! The part of HTTP that a scraper and a browser need: one GET a connection. Bytes in, bytes out.

use std::net::IpAddr;

/// Longest head of a request, in bytes: browsers send about one thousand.
pub(super) const HEAD_BYTES_MAX: usize = 8 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Metrics,
    Health,
}

/// A status line, without the version.
type Status = &'static str;

pub(super) const OK: Status = "200 OK";
const BAD_REQUEST: Status = "400 Bad Request";
const NOT_FOUND: Status = "404 Not Found";
const METHOD_NOT_ALLOWED: Status = "405 Method Not Allowed";
/// The request was for a host of another name.
const MISDIRECTED: Status = "421 Misdirected Request";
const HEAD_TOO_LARGE: Status = "431 Request Header Fields Too Large";
pub(super) const UNAVAILABLE: Status = "503 Service Unavailable";

/// Reads the head of a request to a host that is called by its address, `localhost` or one of `hosts`: the page, or why it is
/// refused; `None` while the head is incomplete.
pub(super) fn parse(head: &[u8], hosts: &[String]) -> Option<Result<Page, Status>> {
    let is_whole = head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n");
    if !is_whole {
        return (head.len() > HEAD_BYTES_MAX).then_some(Err(HEAD_TOO_LARGE));
    }
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let words: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
    let [method, target, version] = words[..] else {
        return Some(Err(BAD_REQUEST));
    };
    let path = target.split('?').next().unwrap_or_default();
    Some(match (method, path) {
        _ if !version.starts_with("HTTP/1.") => Err(BAD_REQUEST),
        _ if !is_for(hosts, lines) => Err(MISDIRECTED),
        ("GET", "/metrics") => Ok(Page::Metrics),
        ("GET", "/health") => Ok(Page::Health),
        ("GET", _) => Err(NOT_FOUND),
        _ => Err(METHOD_NOT_ALLOWED),
    })
}

/// Whether a request is meant for this host. A browser sends the name that a page has asked for: one that its owner
/// points at this machine (DNS rebinding) is neither an address nor known here. Programs without names send none.
fn is_for<'a>(hosts: &[String], headers: impl Iterator<Item = &'a str>) -> bool {
    let headers = headers.filter_map(|line| line.split_once(':'));
    let mut named = headers.filter(|(name, _)| name.trim().eq_ignore_ascii_case("host"));
    named.all(|(_, host)| is_ours(hosts, host.trim()))
}

fn is_ours(hosts: &[String], host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    literal.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(|ours| ours.eq_ignore_ascii_case(name))
}

pub(super) fn metrics(page: &str) -> Vec<u8> {
    whole(OK, "application/openmetrics-text; version=1.0.0", page)
}

pub(super) fn answer(status: Status, body: &str) -> Vec<u8> {
    whole(status, "text/plain", body)
}

fn whole(status: Status, content_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n\
         Content-Type: {content_type}; charset=utf-8\r\n\
         Content-Length: {length}\r\n\
         Cache-Control: no-store\r\n\
         Connection: close\r\n\
         \r\n\
         {body}"
    )
    .into_bytes()
}

/// The answer to a refused request, with a hint for people.
pub(super) fn refusal(status: Status) -> Vec<u8> {
    let hint = match status {
        MISDIRECTED => "Ask for this host by its address, or by a name of --metrics-hosts.",
        _ => "There is GET /metrics and GET /health.",
    };
    answer(status, &format!("{}\n{hint}\n", status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed_and_those_for_other_hosts_refused() {
        const METRICS: Option<Result<Page, Status>> = Some(Ok(Page::Metrics));
        let refused = |status| Some(Err(status));
        let endless = "x".repeat(HEAD_BYTES_MAX + 1);
        let hosts = ["arena.example".to_owned()];
        for (head, expected) in [
            ("", None),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n", None),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n", METRICS),
            ("GET /metrics?name=x HTTP/1.0\n\n", METRICS),
            ("GET /health HTTP/1.1\r\n\r\n", Some(Ok(Page::Health))),
            ("GET / HTTP/1.1\r\n\r\n", refused(NOT_FOUND)),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", refused(NOT_FOUND)),
            ("POST /metrics HTTP/1.1\r\n\r\n", refused(METHOD_NOT_ALLOWED)),
            ("GET /metrics SMTP\r\n\r\n", refused(BAD_REQUEST)),
            ("red\n\n", refused(BAD_REQUEST)),
            (&endless, refused(HEAD_TOO_LARGE)),
        ] {
            assert_eq!(parse(head.as_bytes(), &hosts), expected, "{head:?}");
        }
        for (host, expected) in [
            ("Host: 127.0.0.1:9100", METRICS),
            ("host:[2001:db8::1]:9100", METRICS),
            ("Host: LocalHost:9100", METRICS),
            ("HOST: Arena.Example:9100", METRICS),
            ("Accept-Language: en", METRICS),
            ("Host: attacker.example:9100", refused(MISDIRECTED)),
            ("Host: 127.0.0.1.attacker.example", refused(MISDIRECTED)),
            ("Host: ", refused(MISDIRECTED)),
            ("Host: 127.0.0.1\r\nHost: attacker.example", refused(MISDIRECTED)),
        ] {
            let head = format!("GET /metrics HTTP/1.1\r\nAccept: */*\r\n{host}\r\n\r\n");
            assert_eq!(parse(head.as_bytes(), &hosts), expected, "{host}");
        }
    }
}
