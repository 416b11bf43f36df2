//! What a person may have meant by a misspelt name: one measure for options, keys, commands, kinds and settings.

/// The name most like `unknown`, if any is similar; of equals the first in the alphabet. Capitals and `_` for `-` make no
/// difference.
pub fn nearest<'a>(unknown: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if unknown.len() > UNKNOWN_BYTES_MAX {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace('_', "-");
    let unknown = plain(unknown);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&unknown, &plain(name)), name))
        // Half of it wrong is no slip of the finger, and to suggest something would mislead.
        .filter(|(edits, name)| *edits * 2 < name.len().max(unknown.len()))
        .min()
        .map(|(_, name)| name)
}

/// Longest word that is compared, in bytes: longer than any name, and the work grows with its length.
const UNKNOWN_BYTES_MAX: usize = 256;

/// The end of a line about an unknown name: `; did you mean radio?`, or nothing if no name is similar.
pub fn did_you_mean<'a>(unknown: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(unknown, names).map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// The end of a line about an unknown name that has more to say: `; did you mean radio? write …`, or `; write …`.
pub fn did_you_mean_or<'a>(unknown: &str, names: impl IntoIterator<Item = &'a str>, more: &str) -> String {
    match did_you_mean(unknown, names) {
        meant if meant.is_empty() => format!("; {more}"),
        meant => format!("{meant} {more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_found_and_another_word_is_not() {
        let names = ["off", "radio", "noisy", "team-size"];
        for (unknown, meant) in [
            ("radoi", Some("radio")),
            ("of", Some("off")),
            ("TEAM_SIZE", Some("team-size")),
            ("nosy", Some("noisy")),
            ("same", None),
            ("", None),
            ("television", None),
        ] {
            assert_eq!(nearest(unknown, names), meant, "{unknown:?}");
        }
        assert_eq!(nearest(&"radio".repeat(100_000), names), None, "in no time");
        assert_eq!(did_you_mean("radoi", names), "; did you mean radio?");
        assert_eq!(did_you_mean("tv", names), "");
        let more = |unknown: &str| did_you_mean_or(unknown, names, "see help");
        assert_eq!(
            [more("of"), more("tv")],
            ["; did you mean off? see help", "; see help"]
        );
    }
}
