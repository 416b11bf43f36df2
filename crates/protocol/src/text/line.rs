//! Cutting lines out of a stream of bytes, words out of a line, and decimal numbers both ways.
//!
//! A line ends with a line feed; one carriage return before it is dropped, since Windows and telnet send one
//! and no word of the protocol contains one. Everything else, NUL and invalid UTF-8 included, stays in its
//! line. Where the pieces were cut makes no difference to what comes out. Numbers are read strictly: no sign, no space,
//! no overflow.

use trantor_model::show::is_shown;
use trantor_model::{AgentId, Tile};

use crate::limits::{LINE_BYTES_MAX, LINE_ROOM_KEPT_BYTES};

/// Collects pieces into lines, in bounded memory.
#[derive(Debug)]
pub struct LineCutter {
    line_bytes_max: usize,
    /// The beginning of a line whose end has not come; after a cut, the line that was given out.
    pending: Vec<u8>,
    /// Whether `pending` was given out and goes with the next call.
    spent: bool,
    /// Whether the line under way was already reported as too long; its bytes are dropped up to its end.
    discarding: bool,
    /// Bytes of that line dropped so far.
    discarded_bytes: usize,
}

/// What was cut from the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut<'a> {
    /// A line, without its end.
    Line(&'a [u8]),
    /// A line passed the cutter's limit. Said once, as soon as it is known; the rest of that line is dropped.
    TooLong,
}

impl LineCutter {
    /// Nothing collected yet; lines of up to [`LINE_BYTES_MAX`] are taken.
    pub fn new() -> Self {
        Self::with_max(LINE_BYTES_MAX)
    }

    /// As `new`, with a limit of its own, in bytes without the line's end.
    pub fn with_max(line_bytes_max: usize) -> Self {
        Self {
            line_bytes_max,
            pending: Vec::new(),
            spent: false,
            discarding: false,
            discarded_bytes: 0,
        }
    }

    /// Takes the next line off the front of `piece`, or all of `piece` if no line ends in it.
    ///
    /// Call it until it answers `None`; `piece` is then empty. What was not taken when a line came is left in
    /// `piece`, so that the bytes after a first line that asks for frames can go elsewhere. A line that lies
    /// whole in the piece is not copied.
    pub fn next<'s, 'p: 's>(&'s mut self, piece: &mut &'p [u8]) -> Option<Cut<'s>> {
        if self.spent {
            self.forget();
        }
        while !piece.is_empty() {
            let (taken, is_complete) = take_up_to_line_feed(piece);
            let was_reported = self.discarding;
            let is_too_long = was_reported || self.is_too_long_with(taken);
            if is_too_long {
                self.forget();
                self.discarding = !is_complete;
                self.discarded_bytes = match self.discarding {
                    true => self.discarded_bytes.saturating_add(taken.len()),
                    false => 0,
                };
                if was_reported {
                    continue;
                }
                return Some(Cut::TooLong);
            }
            if is_complete && self.pending.is_empty() {
                return Some(Cut::Line(without_carriage_return(taken)));
            }
            self.pending.extend_from_slice(taken);
            if is_complete {
                self.spent = true;
                return Some(Cut::Line(without_carriage_return(&self.pending)));
            }
        }
        None
    }

    /// Whether the line under way, continued by `piece`, begins with `start`.
    pub fn begins_with(&self, piece: &[u8], start: &[u8]) -> bool {
        let pending = if self.spent { &[][..] } else { &self.pending };
        pending.iter().chain(piece).take(start.len()).eq(start)
    }

    /// Bytes held of a line whose end has not come.
    pub fn pending_bytes(&self) -> usize {
        if self.spent { 0 } else { self.pending.len() }
    }

    /// Bytes dropped so far of a line that is too long and whose end has not come.
    pub fn discarded_bytes(&self) -> usize {
        self.discarded_bytes
    }

    /// Whether what is pending with `taken` behind it can no longer be a line of accepted length.
    ///
    /// One byte above the limit may still turn out to be the carriage return of the line's end.
    fn is_too_long_with(&self, taken: &[u8]) -> bool {
        let len = self.pending.len() + taken.len();
        let last = taken.last().or(self.pending.last());
        let may_drop_one = last == Some(&b'\r') && len == self.line_bytes_max + 1;
        len > self.line_bytes_max && !may_drop_one
    }

    /// Drops what is pending, and the memory of an unusually long line with it.
    fn forget(&mut self) {
        self.spent = false;
        self.pending.clear();
        self.pending.shrink_to(LINE_ROOM_KEPT_BYTES);
    }
}

impl Default for LineCutter {
    fn default() -> Self {
        Self::new()
    }
}

/// The words of a line: what stands between runs of spaces and tabs.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| is_separator(byte))
        .filter(|word| !word.is_empty())
}

/// The characters of a text that may be printed: see [`is_shown`].
pub fn printable(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|char| is_shown(*char))
}

/// A line without the NULs before it.
///
/// A server written in C easily sends the one that ends its string, which then stands behind the line feed: before
/// the next line.
pub fn without_nuls_before(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|&byte| byte != 0);
    &line[start.unwrap_or(line.len())..]
}

/// What is left of a line.
pub(super) struct Line<'a>(pub(super) &'a [u8]);

impl<'a> Line<'a> {
    /// The next word, and the separators before it.
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|&byte| !is_separator(byte))?;
        let rest = &self.0[start..];
        let end = rest
            .iter()
            .position(|&byte| is_separator(byte))
            .unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.0 = rest;
        Some(word)
    }

    /// All that follows the one separator after the last word; `None` if nothing does.
    pub(super) fn rest(&mut self) -> Option<&'a [u8]> {
        let (_, rest) = self.0.split_first()?;
        self.0 = &[];
        (!rest.is_empty()).then_some(rest)
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        self.word().and_then(parse_number)
    }

    pub(super) fn agent(&mut self) -> Option<AgentId> {
        self.word().and_then(parse_id).map(AgentId)
    }

    pub(super) fn tile(&mut self) -> Option<Tile> {
        let x = self.word().and_then(parse_coordinate)?;
        let y = self.word().and_then(parse_coordinate)?;
        Some(Tile { x, y })
    }
}

/// Whether words end at this byte.
pub(super) fn is_separator(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Takes bytes off the front of `piece` up to and with the first line feed, or all of them; answers them
/// without the line feed, and whether there was one.
fn take_up_to_line_feed<'p>(piece: &mut &'p [u8]) -> (&'p [u8], bool) {
    match piece.iter().position(|&byte| byte == b'\n') {
        Some(end) => {
            let taken = &piece[..end];
            *piece = &piece[end + 1..];
            (taken, true)
        }
        None => (std::mem::take(piece), false),
    }
}

/// Drops one carriage return from a line's end.
fn without_carriage_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Appends `value` in decimal.
pub(super) fn push_number(out: &mut Vec<u8>, value: u32) {
    let mut digits = [0u8; 10];
    let mut first = digits.len();
    let mut rest = value;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

/// Appends a space, then `value` in decimal: the next number of a line.
pub(super) fn push_spaced(out: &mut Vec<u8>, value: u32) {
    out.push(b' ');
    push_number(out, value);
}

/// Reads a word of one or more ASCII digits; `None` for anything else and for what a `u32` cannot hold.
pub(super) fn parse_number(word: &[u8]) -> Option<u32> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u32, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then_some(())?;
        value.checked_mul(10)?.checked_add(u32::from(digit))
    })
}

/// Reads the number of an agent or an egg, with or without its `#`.
pub(super) fn parse_id(word: &[u8]) -> Option<u32> {
    parse_number(word.strip_prefix(b"#").unwrap_or(word))
}

/// Reads a number that fits a tile's coordinate.
pub(super) fn parse_coordinate(word: &[u8]) -> Option<u16> {
    parse_number(word).and_then(|value| u16::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a cut says, owned.
    #[derive(Debug, PartialEq, Eq)]
    enum Seen {
        Line(Vec<u8>),
        TooLong,
    }

    fn cut_all<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
        let mut cutter = LineCutter::new();
        let mut seen = Vec::new();
        for mut piece in pieces {
            while let Some(cut) = cutter.next(&mut piece) {
                seen.push(match cut {
                    Cut::Line(line) => Seen::Line(line.to_vec()),
                    Cut::TooLong => Seen::TooLong,
                });
            }
            assert!(piece.is_empty(), "all of a piece is taken");
            assert!(cutter.pending_bytes() <= LINE_BYTES_MAX + 1);
        }
        seen
    }

    fn lines(expected: &[&[u8]]) -> Vec<Seen> {
        expected.iter().map(|line| Seen::Line(line.to_vec())).collect()
    }

    #[test]
    fn one_carriage_return_is_dropped_and_all_else_stays() {
        let pieces = [&b"Forward\r"[..], b"\nLook\r\r\n\r\na\rb\n\x01\xff\0\n"];
        let expected = lines(&[b"Forward", b"Look\r", b"", b"a\rb", b"\x01\xff\0"]);
        assert_eq!(cut_all(pieces), expected);
    }

    #[test]
    fn a_line_without_end_is_reported_once_and_the_next_one_is_read() {
        let flood = vec![b'a'; 10 * LINE_BYTES_MAX];
        let mut expected = vec![Seen::TooLong];
        expected.extend(lines(&[b"Look"]));
        assert_eq!(cut_all([&flood[..], &flood, b"tail\nLook\n"]), expected);

        let mut cutter = LineCutter::new();
        let mut piece = &flood[..];
        assert_eq!(
            cutter.next(&mut piece),
            Some(Cut::TooLong),
            "said without waiting for an end that may never come"
        );
    }

    #[test]
    fn the_longest_line_passes_and_one_byte_more_does_not() {
        for ending in [&b"\n"[..], b"\r\n"] {
            let mut line = vec![b'a'; LINE_BYTES_MAX];
            let mut input = [&line[..], ending].concat();
            assert_eq!(cut_all([&input[..]]), lines(&[&line]));
            assert_eq!(cut_all(input.chunks(1000)), lines(&[&line]));
            line.push(b'a');
            input = [&line[..], ending].concat();
            assert_eq!(cut_all([&input[..]]), [Seen::TooLong]);
            assert_eq!(cut_all(input.chunks(1)), [Seen::TooLong]);
        }
    }

    #[test]
    fn memory_of_a_long_line_is_given_back() {
        let mut cutter = LineCutter::new();
        let mut piece = &vec![b'a'; LINE_BYTES_MAX][..];
        assert_eq!(cutter.next(&mut piece), None);
        piece = b"\nLook";
        assert!(matches!(cutter.next(&mut piece), Some(Cut::Line(_))));
        assert_eq!(cutter.next(&mut piece), None);
        assert_eq!(cutter.pending_bytes(), 4);
        assert!(cutter.pending.capacity() <= LINE_ROOM_KEPT_BYTES.max(4));
    }

    proptest! {
        /// However a stream is cut, the same lines come out as from splitting it whole.
        #[test]
        fn pieces_make_no_difference(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), any::<u8>()], 0..400),
            cuts in prop::collection::vec(1usize..40, 1..40),
        ) {
            let model: Vec<Seen> = {
                let mut parts: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
                parts.pop();
                parts.into_iter().map(|part| Seen::Line(without_carriage_return(part).to_vec())).collect()
            };
            prop_assert_eq!(&cut_all([&bytes[..]]), &model);

            let mut pieces = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(&cut_all(pieces), &model);
        }
    }
}
