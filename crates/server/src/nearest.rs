//! Suggestions for misspelt words.

/// The name most like `unknown`, if any is similar; of equals the first in the alphabet.
pub fn nearest<'a>(unknown: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        // More than half of it wrong is no slip of the finger, and to suggest something would mislead.
        .filter(|(edits, name)| *edits * 2 <= name.len().max(unknown.len()))
        .min()
        .map(|(_, name)| name)
}
