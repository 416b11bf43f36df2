//! The little of HTTP that a scraper and a person with a browser need: one GET a connection.
//!
//! Bytes in, bytes out; sockets are [`super`]'s.

use std::net::IpAddr;

/// Longest head of a request, in bytes: browsers send about one thousand.
pub(super) const HEAD_BYTES_MAX: usize = 8 * 1024;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// `GET /metrics`.
    Metrics,
    /// `GET /health`.
    Health,
    /// Something that is answered with this status at once.
    Refused(Status),
}

/// The statuses that are used.
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

/// Reads the head of a request to a host that is called by its address, `localhost`, or one of `hosts`; `None` while
/// more of it must come.
pub(super) fn parse(head: &[u8], hosts: &[String]) -> Option<Request> {
    let is_whole = head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n");
    if !is_whole {
        return (head.len() > HEAD_BYTES_MAX).then_some(Request::Refused(Status::HeadTooLarge));
    }
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
        return Some(Request::Refused(Status::BadRequest));
    };
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    Some(match (method, path) {
        _ if !version.starts_with(b"HTTP/1.") => Request::Refused(Status::BadRequest),
        _ if !is_for(hosts, head) => Request::Refused(Status::Misdirected),
        (b"GET", b"/metrics") => Request::Metrics,
        (b"GET", b"/health") => Request::Health,
        (b"GET", _) => Request::Refused(Status::NotFound),
        _ => Request::Refused(Status::MethodNotAllowed),
    })
}

/// Whether a request is meant for this host. A browser sends the name that a page has asked for: one that its owner
/// points at this machine (DNS rebinding) is neither an address nor known here. Programs without names send none.
fn is_for(hosts: &[String], head: &[u8]) -> bool {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    let headers = lines.filter_map(|line| std::str::from_utf8(line).ok()?.split_once(':'));
    headers
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("host"))
        .all(|(_, host)| is_ours(hosts, host.trim()))
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

/// A whole answer, after which the connection ends.
pub(super) fn answer(status: Status, body: &str) -> Vec<u8> {
    let line = status.line();
    let length = body.len();
    format!(
        "HTTP/1.1 {line}\r\n\
         Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {length}\r\n\
         Cache-Control: no-store\r\n\
         Connection: close\r\n\
         \r\n\
         {body}"
    )
    .into_bytes()
}

/// The answer to what cannot be had, with a hint for people.
pub(super) fn refusal(status: Status) -> Vec<u8> {
    let hint = match status {
        Status::Misdirected => "This host is asked for by its address, or by a name of --metrics-hosts.",
        _ => "There is GET /metrics and GET /health.",
    };
    answer(status, &format!("{}\n{hint}\n", status.line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let table: &[(&str, Option<Request>)] = &[
            ("", None),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n", None),
            (
                "GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n",
                Some(Request::Metrics),
            ),
            ("GET /metrics?name=x HTTP/1.0\n\n", Some(Request::Metrics)),
            ("GET /health HTTP/1.1\r\n\r\n", Some(Request::Health)),
            ("GET / HTTP/1.1\r\n\r\n", Some(Request::Refused(Status::NotFound))),
            (
                "GET /metrics/ HTTP/1.1\r\n\r\n",
                Some(Request::Refused(Status::NotFound)),
            ),
            (
                "POST /metrics HTTP/1.1\r\n\r\n",
                Some(Request::Refused(Status::MethodNotAllowed)),
            ),
            (
                "GET /metrics SMTP\r\n\r\n",
                Some(Request::Refused(Status::BadRequest)),
            ),
            ("red\n\n", Some(Request::Refused(Status::BadRequest))),
        ];
        for (head, expected) in table {
            assert_eq!(parse(head.as_bytes(), &[]), *expected, "{head:?}");
        }
        let endless = vec![b'x'; HEAD_BYTES_MAX + 1];
        assert_eq!(parse(&endless, &[]), Some(Request::Refused(Status::HeadTooLarge)));
    }

    #[test]
    fn a_request_for_a_host_of_another_name_is_refused() {
        let hosts = ["arena.example".to_owned()];
        let hosts_of = |host: &str| {
            let head = format!("GET /metrics HTTP/1.1\r\nAccept: */*\r\n{host}\r\n\r\n");
            parse(head.as_bytes(), &hosts) == Some(Request::Metrics)
        };
        for ours in [
            "Host: 127.0.0.1:9100",
            "Host: 192.168.1.7",
            "host:[::1]:9100",
            "Host: [2001:db8::1]",
            "Host: LocalHost:9100",
            "HOST: Arena.Example:9100",
            "Accept-Language: en",
        ] {
            assert!(hosts_of(ours), "{ours}");
        }
        for other in [
            "Host: attacker.example:9100",
            "Host: attacker.example",
            "Host: 127.0.0.1.attacker.example",
            "Host: ",
            "Host: 127.0.0.1\r\nHost: attacker.example",
        ] {
            assert!(!hosts_of(other), "{other}");
        }
    }

    #[test]
    fn an_answer_tells_its_length() {
        let answer = String::from_utf8(answer(Status::Ok, "one\n")).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(answer.contains("\r\nContent-Length: 4\r\n"));
        assert!(answer.ends_with("\r\n\r\none\n"));
    }
}
