//! `cargo xtask requirements`: which tests show which requirement.
//!
//! docs/requirements.md holds a table row for every requirement: its number, our words, and what shows it. The
//! first two are written by hand. The third is filled in here from the names of tests, which carry the number
//! (`r_000_33_…` shows R-000-33), and is left alone where it says by hand `Shown by …` or `Later: …`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

use crate::source::{self, SourceFile};

const DOCUMENT: &str = "docs/requirements.md";

/// Flags of this chore.
#[derive(clap::Args)]
pub struct Options {
    /// Change nothing; fail if the document is not up to date
    #[arg(long)]
    check: bool,
}

/// Fills in the document, or with `--check` only says whether it is filled in.
pub fn run(options: &Options) -> Result<()> {
    let files = source::rust_files()?;
    if !options.check {
        let filled = filled_in(&document()?, &tests_by_requirement(&files));
        fs::write(source::root().join(DOCUMENT), filled)
            .with_context(|| format!("cannot write {DOCUMENT}"))?;
    }
    let findings = findings(&files)?;
    for finding in &findings {
        eprintln!("requirements: {finding}");
    }
    anyhow::ensure!(findings.is_empty(), "{} findings", findings.len());
    println!("requirements: each one is shown by something");
    Ok(())
}

/// Requirements that nothing shows, tests that name an unknown one, and a document out of date.
pub fn findings(files: &[SourceFile]) -> Result<Vec<String>> {
    let tests = tests_by_requirement(files);
    let text = document()?;
    let mut findings = Vec::new();
    let mut known = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(row) = Row::parse(line) else { continue };
        known.push(row.number.to_string());
        if !tests.contains_key(row.number) && !row.is_shown_by_hand() {
            findings.push(format!("{DOCUMENT}:{}: no test shows {}", index + 1, row.number));
        }
    }
    for (number, names) in &tests {
        if !known.contains(number) {
            findings.push(format!(
                "{DOCUMENT}: {number} is not listed, but {} claims to show it",
                names[0]
            ));
        }
    }
    if findings.is_empty() && filled_in(&text, &tests) != text {
        findings.push(format!(
            "{DOCUMENT}: not up to date; run `cargo xtask requirements`"
        ));
    }
    Ok(findings)
}

fn document() -> Result<String> {
    fs::read_to_string(source::root().join(DOCUMENT)).with_context(|| format!("cannot read {DOCUMENT}"))
}

fn filled_in(text: &str, tests: &BTreeMap<String, Vec<String>>) -> String {
    let mut filled = String::with_capacity(text.len());
    for line in text.lines() {
        match Row::parse(line) {
            Some(row) if !row.is_shown_by_hand() => {
                let names = tests
                    .get(row.number)
                    .map(|names| names.join(", "))
                    .unwrap_or_default();
                filled.push_str(&format!("| {} | {} | {names} |", row.number, row.words));
            }
            _ => filled.push_str(line),
        }
        filled.push('\n');
    }
    filled
}

/// Numbers such as `R-000-33` with the tests whose names carry them, as `` `crate`: `test` ``.
fn tests_by_requirement(files: &[SourceFile]) -> BTreeMap<String, Vec<String>> {
    let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let place = file.path.split('/').nth(1).unwrap_or_default();
        for line in file.text.lines() {
            let Some(name) = function_name(line) else { continue };
            for number in requirement_numbers(name) {
                tests
                    .entry(number)
                    .or_default()
                    .push(format!("{place}: `{name}`"));
            }
        }
    }
    tests
}

fn function_name(line: &str) -> Option<&str> {
    let line = line.trim_start().strip_prefix("fn ")?;
    line.split(['(', '<']).next()
}

/// Every `r_FAMILY_NUMBER` in a name; several may stand in one, as in `r_000_5_and_r_000_6_…`.
fn requirement_numbers(name: &str) -> Vec<String> {
    let words: Vec<&str> = name.split('_').collect();
    let numbers = words.windows(3).filter_map(|window| {
        let family = match window[1] {
            family @ ("000" | "001" | "002" | "003") => family,
            "x" => "X",
            _ => return None,
        };
        let number: u32 = window[2].parse().ok()?;
        (window[0] == "r").then(|| format!("R-{family}-{number}"))
    });
    numbers.collect()
}

/// A row of the table: `| R-000-33 | words | what shows it |`.
struct Row<'a> {
    number: &'a str,
    words: &'a str,
    shown: &'a str,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut cells = line.strip_prefix("| R-")?.split(" |");
        let number = cells.next()?;
        let words = cells.next()?.trim();
        let shown = cells.next()?.trim();
        // The prefix that was stripped belongs to the number.
        let number = &line[2..4 + number.len()];
        Some(Self { number, words, shown })
    }

    fn is_shown_by_hand(&self) -> bool {
        self.shown.starts_with("Shown by ") || self.shown.starts_with("Later: ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_names() {
        assert_eq!(requirement_numbers("r_000_33_changes_lose_nothing"), ["R-000-33"]);
        assert_eq!(
            requirement_numbers("r_x_6_and_r_003_19_at_once"),
            ["R-X-6", "R-003-19"]
        );
        assert!(requirement_numbers("rows_are_read").is_empty());
    }

    #[test]
    fn a_row_is_filled_in_unless_written_by_hand() {
        let tests = BTreeMap::from([("R-000-1".to_string(), vec!["time: `r_000_1_x`".to_string()])]);
        let text = "# T\n| R-000-1 | words |  |\n| R-000-2 | more | Shown by eye |\n";
        let filled = "# T\n| R-000-1 | words | time: `r_000_1_x` |\n| R-000-2 | more | Shown by eye |\n";
        assert_eq!(filled_in(text, &tests), filled);
    }
}
