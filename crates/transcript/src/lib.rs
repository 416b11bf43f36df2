//! Transcripts: files that say what is done and what comes of it, as tests.
//!
//! A player reads a file and answers it as it should have been written; the runner compares the two as a whole, so that a line
//! too few is found like a line that differs. `BLESS=1` writes what the player answered, and the difference is then
//! reviewed like code. `TRANSCRIPT=name` runs the files with that in their names alone. What lines mean is each player's to say.
//!
//! # Panics
//! All functions panic where a transcript is not as its player answers, as a failed test does.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Plays each file of a folder, given relative to the crate: `check_folder(env!("CARGO_MANIFEST_DIR"), "tests/transcripts", play)`.
pub fn check_folder(crate_folder: &str, folder: &str, play: impl Fn(&str) -> String) {
    let folder = Path::new(crate_folder).join(folder);
    let failures: Vec<String> = files(&folder)
        .into_iter()
        .filter_map(|path| {
            let text = read(&path);
            match catch_unwind(AssertUnwindSafe(|| play(&text))) {
                Ok(played) => difference(&path, &text, &played),
                Err(_) => Some(format!("{}: see the panic above", name(&path))),
            }
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Plays one file, given relative to the crate.
pub fn check_file(crate_folder: &str, file: &str, play: impl FnOnce(&str) -> String) {
    let path = Path::new(crate_folder).join(file);
    let text = read(&path);
    let failure = difference(&path, &text, &play(&text));
    assert!(failure.is_none(), "{}", failure.unwrap_or_default());
}

/// The transcripts of a folder, in the order of their names.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder can be read").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no transcripts in {}", folder.display());
    if let Ok(part) = env::var("TRANSCRIPT") {
        files.retain(|file| name(file).contains(&part));
    }
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The first line that differs, with those around it; `None` if none does, or if the file was rewritten.
fn difference(path: &Path, text: &str, played: &str) -> Option<String> {
    if text == played {
        return None;
    }
    if env::var_os("BLESS").is_some() {
        fs::write(path, played).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return None;
    }
    Some(described(&name(path), text, played))
}

/// Lines shown before and from the first that differs.
const LINES_AROUND: usize = 3;

fn described(name: &str, text: &str, played: &str) -> String {
    let (expected, got): (Vec<_>, Vec<_>) = (text.lines().collect(), played.lines().collect());
    let same = expected.iter().zip(&got).take_while(|(one, other)| one == other);
    let first = same.count();
    let mut said = format!("{name}, line {} (BLESS=1 rewrites it):", first + 1);
    if first == expected.len().max(got.len()) {
        said.push_str(" the line feeds differ");
        return said;
    }
    for line in &expected[first.saturating_sub(LINES_AROUND)..first] {
        let _ = write!(said, "\n    {line}");
    }
    for (mark, lines) in [('-', &expected), ('+', &got)] {
        let from = &lines[first..];
        for line in from.iter().take(LINES_AROUND) {
            let _ = write!(said, "\n  {mark} {line}");
        }
        if from.is_empty() {
            let _ = write!(said, "\n  {mark} (the end)");
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown_also_where_a_tail_is_missing() {
        let text = "a\nb\nc\nd\ne\n";
        let shown = |played: &str| described("x.txt", text, played);
        let head = "x.txt, line 5 (BLESS=1 rewrites it):\n    b\n    c\n    d\n";
        assert_eq!(shown("a\nb\nc\nd\n"), format!("{head}  - e\n  + (the end)"));
        assert_eq!(shown("a\nb\nc\nd\nf\n"), format!("{head}  - e\n  + f"));
        let more = "x.txt, line 6 (BLESS=1 rewrites it):\n    c\n    d\n    e\n  - (the end)\n  + f";
        assert_eq!(shown("a\nb\nc\nd\ne\nf\n"), more);
        assert!(shown("a\nb\nc\nd\ne").ends_with("the line feeds differ"));
    }

    #[test]
    fn a_folder_is_played_whole_and_each_failure_is_named() {
        let folder = env::temp_dir().join(format!("trantor-transcript-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [
            ("1.txt", "same\n"),
            ("2.txt", "once\nmore\n"),
            ("3.txt", "stop\n"),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
        let play = |text: &str| {
            assert_ne!(text, "stop\n");
            text.lines().take(1).map(|line| format!("{line}\n")).collect()
        };
        let path = folder.to_str().unwrap();
        let failure = catch_unwind(|| check_folder(path, ".", play)).unwrap_err();
        let failure = failure.downcast_ref::<String>().unwrap();
        let expected = "2.txt, line 2 (BLESS=1 rewrites it):\n    once\n  - more\n  + (the end)\n3.txt: see the panic above";
        assert_eq!(failure, expected);
        fs::remove_dir_all(&folder).unwrap();
    }
}
