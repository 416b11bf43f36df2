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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_written_with_their_units() {
        let keep = |bytes: Option<u64>, days: Option<u64>| {
            let age = days.map(|days| Duration::from_secs(days * 86_400));
            Some(RecordKeep { bytes, age })
        };
        for (text, expected) in [
            ("10GB,30d", keep(Some(10_000_000_000), Some(30))),
            ("2d", keep(None, Some(2))),
            ("64MB", keep(Some(64_000_000), None)),
            ("1TB", keep(Some(1_000_000_000_000), None)),
            ("all", keep(None, None)),
        ] {
            assert_eq!(RecordKeep::read(text), expected, "{text}");
        }
        for text in [
            "",
            "10",
            "GB",
            "1d",
            "63MB",
            "10GB,",
            "10GB,20GB",
            "-1d",
            "99999999999999TB",
            "10gb",
        ] {
            assert_eq!(RecordKeep::read(text), None, "{text}");
        }
    }
}
