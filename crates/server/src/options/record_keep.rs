//! The value of `--record-keep`: how much of the recordings is kept.

use std::time::Duration;

/// The least bytes that can be asked for: what `--resume` needs since the last save, and more.
const BYTES_MIN: u64 = 64 * 1_000_000;

/// The least age: saves are at most a day apart, and `--resume` needs the journal since the last one.
const AGE_MIN: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// How much of the recordings is kept; neither: all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordKeep {
    pub bytes: Option<u64>,
    pub age: Option<Duration>,
}

impl RecordKeep {
    /// Reads `10GB`, `30d`, or both with a comma between them; `all` is neither.
    pub fn read(text: &str) -> Option<Self> {
        let mut keep = Self::default();
        if text == "all" {
            return Some(keep);
        }
        for part in text.split(',') {
            let digits = part.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            let number: u64 = digits.parse().ok()?;
            let bytes = |unit: u64| number.checked_mul(unit).filter(|bytes| *bytes >= BYTES_MIN);
            match &part[digits.len()..] {
                "MB" if keep.bytes.is_none() => keep.bytes = Some(bytes(1_000_000)?),
                "GB" if keep.bytes.is_none() => keep.bytes = Some(bytes(1_000_000_000)?),
                "TB" if keep.bytes.is_none() => keep.bytes = Some(bytes(1_000_000_000_000)?),
                "d" if keep.age.is_none() => {
                    let age = Duration::from_secs(number.checked_mul(24 * 60 * 60)?);
                    keep.age = Some(age).filter(|age| *age >= AGE_MIN);
                    keep.age?;
                }
                _ => return None,
            }
        }
        Some(keep)
    }

    /// Whether anything is ever removed.
    pub(crate) fn is_bounded(self) -> bool {
        self.bytes.is_some() || self.age.is_some()
    }
}
