//! The little of HTTP that a scraper and a person with a browser need: one GET a connection.
//!
//! Bytes in, bytes out; sockets are [`super`]'s.

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
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::Unavailable => "503 Service Unavailable",
        }
    }
}

/// Reads the head of a request; `None` while more of it must come.
pub(super) fn parse(head: &[u8]) -> Option<Request> {
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
        (b"GET", b"/metrics") => Request::Metrics,
        (b"GET", b"/health") => Request::Health,
        (b"GET", _) => Request::Refused(Status::NotFound),
        _ => Request::Refused(Status::MethodNotAllowed),
    })
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
    answer(
        status,
        &format!("{}\nThere is GET /metrics and GET /health.\n", status.line()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let table: &[(&str, Option<Request>)] = &[
            ("", None),
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n", None),
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Some(Request::Metrics)),
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
            assert_eq!(parse(head.as_bytes()), *expected, "{head:?}");
        }
        let endless = vec![b'x'; HEAD_BYTES_MAX + 1];
        assert_eq!(parse(&endless), Some(Request::Refused(Status::HeadTooLarge)));
    }

    #[test]
    fn an_answer_tells_its_length() {
        let answer = String::from_utf8(answer(Status::Ok, "one\n")).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(answer.contains("\r\nContent-Length: 4\r\n"));
        assert!(answer.ends_with("\r\n\r\none\n"));
    }
}
