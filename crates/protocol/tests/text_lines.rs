//! Both sides of the text protocol, by tables of lines: what each line means and how it is written.
//!
//! A row of `lines/*.txt` is a line, `=>` and its meaning as a line of one form; `<=>` where the line is also what we
//! write. In a row, `\s` is a space at an end.

use std::sync::Arc;

use proptest::prelude::*;
use trantor_model::{MapSize, Percept};
use trantor_protocol::text::{
    AiLine, Dialect, GuiIds, GuiRefusal, Layout, parse_command, parse_gui_event, parse_gui_request,
    parse_server_line, write_ai_line, write_command, write_gui_event, write_gui_request,
};

/// One row of a table.
struct Row {
    text: &'static str,
    dialect: Dialect,
    line: Vec<u8>,
    meaning: Vec<u8>,
    /// Whether we write this line.
    is_written: bool,
}

impl Row {
    #[track_caller]
    fn assert_eq(&self, bytes: &[u8], expected: &[u8]) {
        let (bytes, expected) = (bytes.escape_ascii(), expected.escape_ascii());
        assert_eq!(bytes.to_string(), expected.to_string(), "{}", self.text);
    }
}

fn rows(table: &'static str) -> impl Iterator<Item = Row> {
    let is_row = |text: &&str| !text.is_empty() && !text.starts_with('#');
    table.lines().filter(is_row).map(|text| {
        let (line, meaning) = text.split_once("=>").expect("a row has an arrow");
        let (line, is_written) = match line.strip_suffix('<') {
            Some(line) => (line, true),
            None => (line, false),
        };
        let names = ["epitech: ", "epitech2016: ", "french: ", "english: "];
        let found = Dialect::ALL.into_iter().zip(names).find_map(|(dialect, name)| {
            let line = line.strip_prefix(name)?;
            Some((dialect, line))
        });
        let (dialect, line) = found.unwrap_or((Dialect::Epitech, line));
        Row {
            text,
            dialect,
            line: unescaped(line.strip_suffix(' ').unwrap_or(line)),
            meaning: unescaped(meaning.strip_prefix(' ').unwrap_or(meaning)),
            is_written,
        }
    })
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (byte, rest) = match part.as_bytes() {
            [b'x', ..] => (
                u8::from_str_radix(&part[1..3], 16).expect("two digits follow \\x"),
                &part[3..],
            ),
            [escape, ..] => {
                let at = b"st0r"
                    .iter()
                    .position(|known| known == escape)
                    .expect("an escape is one of st0r");
                (b" \t\0\r"[at], &part[1..])
            }
            [] => panic!("nothing follows a backslash in {text}"),
        };
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    bytes
}

/// What `write` appends, without its line feed.
fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    assert_eq!(out.pop(), Some(b'\n'), "a line ends");
    out
}

#[test]
fn commands_of_agents() {
    for row in rows(include_str!("lines/commands.txt")) {
        let command = parse_command(row.dialect, &row.line);
        row.assert_eq(
            &written(|out| write_command(out, Dialect::Epitech, &command)),
            &row.meaning,
        );
        let line = written(|out| write_command(out, row.dialect, &command));
        assert_eq!(parse_command(row.dialect, &line), command, "{}", row.text);
        if row.is_written {
            row.assert_eq(&line, &row.line);
        }
    }
    let said = trantor_model::Command::Broadcast(b"two\nlines".to_vec().into());
    let line = written(|out| write_command(out, Dialect::Epitech, &said));
    assert_eq!(line, b"Broadcast two lines");
}

#[test]
fn requests_of_text_viewers() {
    for row in rows(include_str!("lines/requests.txt")) {
        let meaning = match parse_gui_request(&row.line) {
            Ok(request) => written(|out| write_gui_request(out, request)),
            Err(GuiRefusal::Unknown) => b"suc".to_vec(),
            Err(GuiRefusal::BadParameter) => b"sbp".to_vec(),
        };
        row.assert_eq(&meaning, &row.meaning);
    }
}

#[test]
fn lines_to_text_viewers_in_all_forms_of_numbers() {
    for row in rows(include_str!("lines/to_viewers.txt")) {
        let Some(event) = parse_gui_event(&row.line) else {
            row.assert_eq(b"?", &row.meaning);
            continue;
        };
        row.assert_eq(
            &written(|out| write_gui_event(out, GuiIds::Hash, &event)),
            &row.meaning,
        );
        if !row.is_written {
            continue;
        }
        row.assert_eq(&row.line, &row.meaning);
        let unmarked: Vec<u8> = row.line.iter().copied().filter(|&byte| byte != b'#').collect();
        // The sheet of 2023 has the mark in one line only.
        let of_2023 = if row.line.starts_with(b"pnw") {
            &row.line
        } else {
            &unmarked
        };
        for (ids, line) in [(GuiIds::Plain, &unmarked), (GuiIds::Pnw, of_2023)] {
            row.assert_eq(&written(|out| write_gui_event(out, ids, &event)), line);
            assert_eq!(parse_gui_event(line), Some(event.clone()), "{}", row.text);
        }
    }
}

#[test]
fn lines_to_agents_in_all_dialects() {
    for row in rows(include_str!("lines/to_agents.txt")) {
        let mut read = parse_server_line(row.dialect, &row.line);
        if let AiLine::Unknown(line) = read {
            assert_eq!(line, row.line, "it comes back as it is");
            row.assert_eq(b"?", &row.meaning);
            continue;
        }
        row.assert_eq(
            &written(|out| write_ai_line(out, Dialect::Epitech, &read)),
            &row.meaning,
        );
        if let AiLine::Percept(Percept::Look(sights)) = &mut read
            && row.dialect.words().layout == Layout::Braces
        {
            Arc::make_mut(sights)[0].agents += 1;
        }
        if row.is_written {
            row.assert_eq(&written(|out| write_ai_line(out, row.dialect, &read)), &row.line);
        }
    }
    let size = MapSize::new(10, 12).unwrap();
    let accepted = AiLine::Accepted { places: 2, size };
    let lines = written(|out| write_ai_line(out, Dialect::Epitech, &accepted));
    assert_eq!(lines, b"2\n10 12");
}

proptest! {
    #[test]
    fn no_bytes_make_a_parser_panic(
        head in prop::sample::select(vec![
            "", "[", "{", "message ", "eject: ", "Current level: ", "pnw ", "pic 1 1 ", "enw ", "Take ", "sst ", "bct ",
        ]),
        tail in prop::collection::vec(
            prop_oneof![Just(b' '), Just(b','), Just(b'#'), Just(b'-'), b'0'..=b'9', any::<u8>()], 0..40),
    ) {
        let line = [head.as_bytes(), &tail].concat();
        for dialect in Dialect::ALL {
            let _ = parse_server_line(dialect, &line);
            let _ = parse_command(dialect, &line);
        }
        let _ = parse_gui_event(&line);
        let _ = parse_gui_request(&line);
    }
}
