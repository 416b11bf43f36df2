//! Decimal numbers, strictly: no sign, no space, no overflow. Written without going through `fmt`.

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
