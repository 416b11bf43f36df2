//! The part of HTTP that a scraper and a browser need: one GET a connection. Bytes in, bytes out.

use std::net::IpAddr;

/// Longest head of a request, in bytes: browsers send about one thousand.
pub(super) const HEAD_BYTES_MAX: usize = 8 * 1024;

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Metrics,
    Health,
}

/// What a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Page(Page),
    Refused(Status),
}

/// The statuses in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    /// It was meant for a host of another name.
    Misdirected,
    HeadTooLarge,
    Unavailable,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::Misdirected => "421 Misdirected Request",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::Unavailable => "503 Service Unavailable",
        }
    }
}

/// Reads the head of a request to a host that is called by its address, `localhost` or one of `hosts`; `None` while
/// more of it must come.
pub(super) fn parse(head: &[u8], hosts: &[String]) -> Option<Request> {
    let is_whole = head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n");
    if !is_whole {
        return (head.len() > HEAD_BYTES_MAX).then_some(Request::Refused(Status::HeadTooLarge));
    }
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let words: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
    let [method, target, version] = words[..] else {
        return Some(Request::Refused(Status::BadRequest));
    };
    let path = target.split('?').next().unwrap_or_default();
    Some(match (method, path) {
        _ if !version.starts_with("HTTP/1.") => Request::Refused(Status::BadRequest),
        _ if !is_for(hosts, lines) => Request::Refused(Status::Misdirected),
        ("GET", "/metrics") => Request::Page(Page::Metrics),
        ("GET", "/health") => Request::Page(Page::Health),
        ("GET", _) => Request::Refused(Status::NotFound),
        _ => Request::Refused(Status::MethodNotAllowed),
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

/// The answer with the metrics, in OpenMetrics text.
pub(super) fn metrics(page: &str) -> Vec<u8> {
    whole(Status::Ok, "application/openmetrics-text; version=1.0.0", page)
}

/// An answer in plain text.
pub(super) fn answer(status: Status, body: &str) -> Vec<u8> {
    whole(status, "text/plain", body)
}

/// A whole answer, after which the connection ends.
fn whole(status: Status, content_type: &str, body: &str) -> Vec<u8> {
    let line = status.line();
    let length = body.len();
    format!(
        "HTTP/1.1 {line}\r\n\
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
        Status::Misdirected => "Ask for this host by its address, or by a name of --metrics-hosts.",
        _ => "There is GET /metrics and GET /health.",
    };
    answer(status, &format!("{}\n{hint}\n", status.line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed_and_those_for_other_hosts_refused() {
        const METRICS: Option<Request> = Some(Request::Page(Page::Metrics));
        let refused = |status| Some(Request::Refused(status));
        let endless = "x".repeat(HEAD_BYTES_MAX + 1);
        let hosts = ["arena.example".to_owned()];
        for (head, expected) in [
            ("", None),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n", None),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n", METRICS),
            ("GET /metrics?name=x HTTP/1.0\n\n", METRICS),
            ("GET /health HTTP/1.1\r\n\r\n", Some(Request::Page(Page::Health))),
            ("GET / HTTP/1.1\r\n\r\n", refused(Status::NotFound)),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", refused(Status::NotFound)),
            (
                "POST /metrics HTTP/1.1\r\n\r\n",
                refused(Status::MethodNotAllowed),
            ),
            ("GET /metrics SMTP\r\n\r\n", refused(Status::BadRequest)),
            ("red\n\n", refused(Status::BadRequest)),
            (&endless, refused(Status::HeadTooLarge)),
        ] {
            assert_eq!(parse(head.as_bytes(), &hosts), expected, "{head:?}");
        }
        for (host, expected) in [
            ("Host: 127.0.0.1:9100", METRICS),
            ("host:[2001:db8::1]:9100", METRICS),
            ("Host: LocalHost:9100", METRICS),
            ("HOST: Arena.Example:9100", METRICS),
            ("Accept-Language: en", METRICS),
            ("Host: attacker.example:9100", refused(Status::Misdirected)),
            ("Host: 127.0.0.1.attacker.example", refused(Status::Misdirected)),
            ("Host: ", refused(Status::Misdirected)),
            (
                "Host: 127.0.0.1\r\nHost: attacker.example",
                refused(Status::Misdirected),
            ),
        ] {
            let head = format!("GET /metrics HTTP/1.1\r\nAccept: */*\r\n{host}\r\n\r\n");
            assert_eq!(parse(head.as_bytes(), &hosts), expected, "{host}");
        }
    }
}
