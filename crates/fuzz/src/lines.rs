//! Text lines: cutting a stream, and the parsers of both sides.

use trantor_model::Command;
use trantor_protocol::limits::LINE_BYTES_MAX;
use trantor_protocol::read_greeting;
use trantor_protocol::text::{
    Cut, Dialect, LineCutter, parse_command, parse_gui_event, parse_gui_request, parse_server_line,
    parse_tiles, write_command, write_gui_request,
};

/// A limit that short inputs reach.
const SHORT_LINE_BYTES_MAX: usize = 20;

/// The cutter gives the lines of a simple model, wherever the stream was cut.
pub(crate) fn cut(data: &[u8]) {
    for max in [SHORT_LINE_BYTES_MAX, LINE_BYTES_MAX] {
        let expected = plain_lines(data, max);
        for size in [1, 7, 4_096] {
            let mut cutter = LineCutter::with_max(max);
            let mut lines = Vec::new();
            for mut piece in data.chunks(size) {
                while let Some(cut) = cutter.next(&mut piece) {
                    lines.push(match cut {
                        Cut::Line(line) => Some(line.to_vec()),
                        Cut::TooLong => None,
                    });
                }
                assert!(piece.is_empty(), "all input is consumed");
                assert!(cutter.pending_bytes() <= max + 1, "the buffer is bounded");
            }
            assert_eq!(lines, expected, "in pieces of {size} with lines of {max}");
        }
    }
}

/// The model: `None` is an overlong line, reported before its end.
fn plain_lines(data: &[u8], max: usize) -> Vec<Option<Vec<u8>>> {
    let without_return = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
    let mut rest = data;
    let mut lines = Vec::new();
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let line = without_return(&rest[..end]);
        lines.push((line.len() <= max).then_some(line));
        rest = &rest[end + 1..];
    }
    let may_still_end = rest.len() <= max || (rest.len() == max + 1 && rest.ends_with(b"\r"));
    if !may_still_end {
        lines.push(None);
    }
    lines
}

/// Parsed commands and requests round-trip.
pub(crate) fn parse(data: &[u8]) {
    for line in data.split(|&byte| byte == b'\n') {
        for dialect in Dialect::ALL {
            let command = parse_command(dialect, line);
            if !matches!(command, Command::Refused(_)) {
                let mut written = Vec::new();
                write_command(&mut written, dialect, &command);
                let again = written
                    .strip_suffix(b"\n")
                    .expect("a command is written as a line");
                assert_eq!(parse_command(dialect, again), command, "in {dialect:?}");
            }
        }
        if let Ok(request) = parse_gui_request(line) {
            let mut written = Vec::new();
            write_gui_request(&mut written, request);
            let again = written
                .strip_suffix(b"\n")
                .expect("a request is written as a line");
            assert_eq!(parse_gui_request(again), Ok(request));
        }
        for (is_first, is_team) in [(true, true), (true, false), (false, true), (false, false)] {
            let _greeting = read_greeting(line, is_first, |_| is_team);
        }
    }
}

/// No line of a server makes a client panic.
pub(crate) fn parse_as_client(data: &[u8]) {
    for line in data.split(|&byte| byte == b'\n') {
        for dialect in Dialect::ALL {
            let _parsed = parse_server_line(dialect, line);
        }
        let _parsed = parse_gui_event(line);
        let _tiles = parse_tiles(line).count();
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        "Forward\nRight\nLeft\nLook\nInventory\nBroadcast hello there\nConnect_nbr\nFork\nEject\n",
        "Take food\nSet linemate\nTake thystame\nIncantation\r\n",
        "avance\ndroite\ngauche\nvoir\ninventaire\nprend nourriture\npose linemate\nexpulse\nbroadcast a\nfork\n",
        "msz\nbct 0 0\nmct\ntna\nppo #1\nplv 1\npin #12\nsgt\nsst 100\n",
        "GRAPHIC\n",
        "GRAPHIC token-token-token\n",
        "red\nred team\n\n\r\n \t \n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

pub(crate) fn server_seeds() -> Vec<Vec<u8>> {
    [
        "WELCOME\n3\n10 10\nok\nko\ndead\n[player, food linemate,,]\n[food 9, linemate 0, phiras 1]\n",
        "message 3, hello\neject: 5\nElevation underway\nCurrent level: 2\n7\n",
        "BIENVENUE\n{nourriture 10, linemate 0}\nniveau actuel : 2\nelevation en cours\nmort\n",
        "msz 10 10\nbct 0 0 1 2 3 4 5 6 7\ntna red\npnw #1 2 3 4 5 red\nppo 1 2 3 4\nplv 1 2\npin 1 2 3 1 2 3 4 5 6 7\n",
        "pex 1\npbc 1 hi\npic 1 2 3 4 5 6\npie 1 2 1\npfk 1\npdr 1 2\npgt 1 2\npdi 1\nenw 1 2 3 4\nebo 1\nedi 1\n",
        "sgt 100\nseg red\nsmg hello\nsuc\nsbp\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
