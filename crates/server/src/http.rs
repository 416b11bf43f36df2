//! HTTP as far as the server speaks it, as values: the head of a request read from bytes, and the bytes of an answer.
//!
//! It knows no socket and no page. [`crate::export`] has both; the port for players refuses HTTP (decision 132).

use std::net::IpAddr;

/// Longest head of a request, in bytes: browsers send about one thousand.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// A status line, without the version.
pub(crate) type Status = &'static str;

pub(crate) const OK: Status = "200 OK";
pub(crate) const BAD_REQUEST: Status = "400 Bad Request";
pub(crate) const NOT_FOUND: Status = "404 Not Found";
pub(crate) const METHOD_NOT_ALLOWED: Status = "405 Method Not Allowed";
/// The request was for a host of another name.
pub(crate) const MISDIRECTED: Status = "421 Misdirected Request";
pub(crate) const HEAD_TOO_LARGE: Status = "431 Request Header Fields Too Large";
pub(crate) const UNAVAILABLE: Status = "503 Service Unavailable";

/// Reads the head of a GET request to a host that is called by its address, `localhost` or one of `hosts`: the path, without
/// a query, or why it is refused; `None` while the head is incomplete.
pub(crate) fn read_get(head: &[u8], hosts: &[String]) -> Option<Result<String, Status>> {
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
    Some(match method {
        _ if !version.starts_with("HTTP/1.") => Err(BAD_REQUEST),
        _ if !is_for(hosts, lines) => Err(MISDIRECTED),
        "GET" => Ok(target.split('?').next().unwrap_or_default().to_owned()),
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

/// What is answered to a request; the connection closes behind it.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: Status,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Page {
    pub(crate) fn plain(status: Status, body: impl Into<String>) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.into(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Self {
            status,
            content_type,
            body,
        } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\n\
             Content-Type: {content_type}\r\n\
             Content-Length: {length}\r\n\
             Cache-Control: no-store\r\n\
             Connection: close\r\n\
             \r\n\
             {body}"
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_those_for_other_hosts_refused() {
        let path = |path: &str| Some(Ok(path.to_owned()));
        let refused = |status| Some(Err(status));
        let endless = "x".repeat(HEAD_BYTES_MAX + 1);
        let hosts = ["arena.example".to_owned()];
        for (head, expected) in [
            ("", None),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n", None),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n", path("/metrics")),
            ("GET /metrics?name=x HTTP/1.0\n\n", path("/metrics")),
            ("GET /health HTTP/1.1\r\n\r\n", path("/health")),
            ("GET / HTTP/1.1\r\n\r\n", path("/")),
            ("POST /metrics HTTP/1.1\r\n\r\n", refused(METHOD_NOT_ALLOWED)),
            ("GET /metrics SMTP\r\n\r\n", refused(BAD_REQUEST)),
            ("red\n\n", refused(BAD_REQUEST)),
            (&endless, refused(HEAD_TOO_LARGE)),
        ] {
            assert_eq!(read_get(head.as_bytes(), &hosts), expected, "{head:?}");
        }
        for (host, expected) in [
            ("Host: 127.0.0.1:9100", path("/metrics")),
            ("host:[2001:db8::1]:9100", path("/metrics")),
            ("Host: LocalHost:9100", path("/metrics")),
            ("HOST: Arena.Example:9100", path("/metrics")),
            ("Accept-Language: en", path("/metrics")),
            ("Host: attacker.example:9100", refused(MISDIRECTED)),
            ("Host: 127.0.0.1.attacker.example", refused(MISDIRECTED)),
            ("Host: ", refused(MISDIRECTED)),
            ("Host: 127.0.0.1\r\nHost: attacker.example", refused(MISDIRECTED)),
        ] {
            let head = format!("GET /metrics HTTP/1.1\r\nAccept: */*\r\n{host}\r\n\r\n");
            assert_eq!(read_get(head.as_bytes(), &hosts), expected, "{host}");
        }
    }
}
