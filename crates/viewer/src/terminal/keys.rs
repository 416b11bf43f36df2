//! What a terminal sends when a key is pressed, as the names that bindings use.

/// Cuts what a terminal sends into keys. A sequence may come in pieces.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    /// An escape sequence that is not whole yet.
    begun: Vec<u8>,
    /// Bytes of a letter that is not whole yet.
    letter: Vec<u8>,
}

/// Longest escape sequence that is a key; anything longer is noise.
const SEQUENCE_BYTES_MAX: usize = 8;
const ESCAPE: u8 = 0x1b;

impl KeyReader {
    /// The keys that `bytes` complete. None at all tell that a lone escape was the key itself.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut keys = Vec::new();
        if bytes.is_empty() && !self.begun.is_empty() {
            self.begun.clear();
            keys.push("escape".to_owned());
        }
        for &byte in bytes {
            if self.begun.is_empty() {
                self.begin(byte, &mut keys);
            } else {
                self.go_on(byte, &mut keys);
            }
        }
        keys
    }

    fn begin(&mut self, byte: u8, keys: &mut Vec<String>) {
        let name = match byte {
            ESCAPE => return self.begun.push(byte),
            b' ' => "space",
            b'\t' => "tab",
            b'\r' | b'\n' => "enter",
            0x7f | 0x08 => "backspace",
            0x01..=0x1a => {
                keys.push(format!("ctrl-{}", char::from(byte - 1 + b'a')));
                return;
            }
            0..=0x1f => return,
            _ => return self.letter(byte, keys),
        };
        keys.push(name.to_owned());
    }

    fn letter(&mut self, byte: u8, keys: &mut Vec<String>) {
        self.letter.push(byte);
        match std::str::from_utf8(&self.letter) {
            Ok(letter) => keys.push(letter.to_owned()),
            // Not whole yet, as far as can be told.
            Err(error) if error.error_len().is_none() => return,
            Err(_) => {}
        }
        self.letter.clear();
    }

    fn go_on(&mut self, byte: u8, keys: &mut Vec<String>) {
        if byte == ESCAPE {
            // The one before was the key; a new sequence begins.
            keys.push("escape".to_owned());
            return;
        }
        self.begun.push(byte);
        let is_whole = match self.begun[1] {
            b'[' | b'O' => self.begun.len() > 2 && (b'@'..=b'~').contains(&byte),
            // A letter with the other key held down.
            _ => true,
        };
        if is_whole {
            keys.extend(sequence_name(&self.begun[1..]).map(str::to_owned));
        }
        if is_whole || self.begun.len() > SEQUENCE_BYTES_MAX {
            self.begun.clear();
        }
    }
}

/// The key that sends this after an escape; `None` for keys that have no name here.
fn sequence_name(sequence: &[u8]) -> Option<&'static str> {
    Some(match sequence {
        b"[A" | b"OA" => "arrowup",
        b"[B" | b"OB" => "arrowdown",
        b"[C" | b"OC" => "arrowright",
        b"[D" | b"OD" => "arrowleft",
        b"[H" | b"OH" | b"[1~" | b"[7~" => "home",
        b"[F" | b"OF" | b"[4~" | b"[8~" => "end",
        b"[2~" => "insert",
        b"[3~" => "delete",
        b"[5~" => "pageup",
        b"[6~" => "pagedown",
        b"OP" | b"[11~" => "f1",
        b"OQ" | b"[12~" => "f2",
        b"OR" | b"[13~" => "f3",
        b"OS" | b"[14~" => "f4",
        b"[15~" => "f5",
        b"[17~" => "f6",
        b"[18~" => "f7",
        b"[19~" => "f8",
        b"[20~" => "f9",
        b"[21~" => "f10",
        b"[23~" => "f11",
        b"[24~" => "f12",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_whatever_pieces_they_come_in() {
        let sent = "a \u{1b}[A\u{1b}OR\u{1b}[24~ö\r\t\u{7f}\u{3}+".as_bytes();
        let expected = [
            "a",
            "space",
            "arrowup",
            "f3",
            "f12",
            "ö",
            "enter",
            "tab",
            "backspace",
            "ctrl-c",
            "+",
        ];
        for piece in 1..=sent.len() {
            let mut reader = KeyReader::default();
            let keys: Vec<String> = sent.chunks(piece).flat_map(|bytes| reader.read(bytes)).collect();
            assert_eq!(keys, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_lone_escape_is_a_key_once_nothing_follows() {
        let mut reader = KeyReader::default();
        assert!(reader.read(b"\x1b").is_empty());
        assert_eq!(reader.read(b""), ["escape"]);
        assert!(reader.read(b"").is_empty());
        assert_eq!(reader.read(b"\x1b\x1b[B"), ["escape", "arrowdown"]);
    }

    #[test]
    fn noise_is_no_key_and_does_not_grow() {
        let mut reader = KeyReader::default();
        assert!(
            reader.read(b"\x1b[99;99;99;99;99;99;99").is_empty() || reader.begun.len() <= SEQUENCE_BYTES_MAX
        );
        reader.begun.clear();
        assert!(reader.read(b"\xff\xfe\x00").is_empty());
        assert_eq!(reader.read(b"x"), ["x"]);
    }
}
