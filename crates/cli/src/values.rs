//! Readers of values, with one wording for what is accepted.
//!
//! A reader's error is the end of a sentence, `must be a whole number from 1 to 200`. [`super::help`] takes ranges from it.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Reads a whole number in `from..=to`.
pub fn whole<T: TryFrom<u64> + 'static>(
    from: u64,
    to: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    number(from, to, |number| {
        T::try_from(number)
            .ok()
            .expect("the range of the option lies within the field's")
    })
}

/// Reads a whole number in `from..=to`, which `make` converts.
pub fn number<T: 'static>(
    from: u64,
    to: u64,
    make: fn(u64) -> T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |word: &str| {
        // Digits only: a sign, a space or a fraction is a mistake, which is better reported than guessed at.
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.parse().ok().filter(|number| (from..=to).contains(number));
        number
            .filter(|_| is_number)
            .map(make)
            .ok_or_else(|| format!("must be a whole number from {from} to {to}"))
    }
}

/// Reads a number in `from..=to`, with decimals or without.
pub fn decimal(from: f64, to: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |word: &str| {
        let number = word.parse().ok().filter(|number| (from..=to).contains(number));
        number.ok_or_else(|| format!("must be a number from {from} to {to}"))
    }
}

/// Reads one of these words for the value beside it.
pub fn choice<T: Copy + Send + Sync + 'static>(
    words: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words.iter().map(|(word, _)| *word)).map(|chosen| {
        let found = words.iter().find(|(word, _)| *word == chosen);
        found.expect("the parser accepts no other words").1
    })
}

/// As `choice`, with a help text for each word.
pub fn explained_choice<T: Copy + Send + Sync + 'static, const N: usize>(
    words: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = words.map(|(word, help, _)| PossibleValue::new(word).help(help));
    PossibleValuesParser::new(names).map(move |chosen| {
        let found = words.iter().find(|(word, _, _)| *word == chosen);
        found.expect("the parser accepts no other words").2
    })
}

/// `red, blue or green`.
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}
