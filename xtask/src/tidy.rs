//! `cargo xtask tidy`: what no compiler checks.
//!
//! Arrows between crates, what each module says of itself, limits and their reasons, links, and promises without a
//! test. Every finding is a line with a place in it, and all are printed at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use crate::process;

/// Which crates of ours a crate may build on (docs/architecture.md draws the same), without `trantor-`.
///
/// Only what ships is held to it: tests may reach further, to set a dull model beside the real thing.
const ARROWS: &[(&str, &str)] = &[
    ("time", ""),
    ("runtime", "time"),
    ("model", "time"),
    ("game", "model time"),
    ("protocol", "model time"),
    ("engine", "game protocol strategy model time"),
    ("script", "engine game strategy model time"),
    ("cli", "model runtime"),
    ("server", "cli script engine game protocol model runtime time"),
    ("client", "protocol model time"),
    ("render", "client model"),
    ("viewer", "cli client render protocol model runtime time"),
    ("strategy", "model"),
    ("bot", "cli strategy protocol model runtime time"),
    ("bench", "bot cli sim server engine game protocol runtime time"),
    ("fuzz", "server script engine game protocol model runtime time"),
    ("sim", "client server engine game model protocol runtime time"),
    ("python", "server engine game protocol runtime model time"),
    ("transcript", ""),
    ("xtask", ""),
];

/// Sources in which no module at the top uses itself by way of others. Tests may.
const WITHOUT_CIRCLES: &[&str] = &[
    "crates/engine/src/",
    "crates/render/src/",
    "crates/server/src/",
    "crates/viewer/src/",
];

/// Words that end the name of a limit. Such a constant says in a doc comment what it protects.
const LIMIT_ENDINGS: &[&str] = &["_MAX", "_LIMIT", "_CAPACITY", "_BUDGET"];

/// A table of what users may rely on; the last cell of each row is the one test or command that shows it.
const PROMISES: &str = "docs/promises.md";

/// Runs every check and fails if any found anything.
pub fn run() -> Result<()> {
    let findings = findings()?;
    for finding in &findings {
        eprintln!("tidy: {finding}");
    }
    if !findings.is_empty() {
        bail!("{} findings", findings.len());
    }
    println!("tidy: nothing to say");
    Ok(())
}

/// Every finding of every check.
fn findings() -> Result<Vec<String>> {
    let rust = files(&["crates/*.rs", "xtask/*.rs"])?;
    let pages = files(&["docs/*.md", "README.md", "CHANGELOG.md"])?;
    let manifests = files(&["crates/*/Cargo.toml", "xtask/Cargo.toml"])?;
    let promises = pages.iter().filter(|page| page.path == PROMISES);
    let circles = WITHOUT_CIRCLES
        .iter()
        .filter_map(|folder| module_circle(folder, &rust));
    let mut findings: Vec<String> = circles.collect();
    findings.extend(manifests.iter().flat_map(arrows));
    findings.extend(rust.iter().filter_map(module_head));
    findings.extend(rust.iter().flat_map(undocumented_limits));
    findings.extend(pages.iter().flat_map(broken_links));
    findings.extend(promises.flat_map(unshown_promises));
    Ok(findings)
}

/// A file: its path from the root, with `/`, and its text.
struct SourceFile {
    path: String,
    text: String,
}

/// Files of the project that `git` knows, or would add, whose paths match these patterns; in order of path.
fn files(patterns: &[&str]) -> Result<Vec<SourceFile>> {
    let mut git = Command::new("git");
    git.current_dir(process::root());
    git.args("ls-files -z --cached --others --exclude-standard --".split(' '));
    let listed = git.args(patterns).output().context("cannot start git")?;
    ensure!(listed.status.success(), "git cannot list the project's files");
    let listed = String::from_utf8(listed.stdout)?;
    let paths: BTreeSet<&str> = listed.split_terminator('\0').collect();
    let read = |path: &str| -> Result<SourceFile> {
        let text = fs::read_to_string(process::root().join(path));
        let text = text.with_context(|| format!("cannot read {path}"))?;
        let path = path.to_owned();
        Ok(SourceFile { path, text })
    };
    let paths = paths
        .into_iter()
        .filter(|path| process::root().join(path).exists());
    paths.map(read).collect()
}

/// Names the modules of `folder` that use themselves by way of others.
fn module_circle(folder: &str, files: &[SourceFile]) -> Option<String> {
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let Some(place) = file.path.strip_prefix(folder) else {
            continue;
        };
        let module = place.split(['/', '.']).next().unwrap_or_default();
        if matches!(module, "lib" | "main") || place.contains("tests") {
            continue;
        }
        let shipped = file.text.split("#[cfg(test)]\nmod tests {").next();
        let lines = shipped.unwrap_or_default().lines();
        let code = lines.filter(|line| !line.trim_start().starts_with("//"));
        let paths = code.flat_map(|line| line.split("crate::").skip(1));
        let names = paths.filter_map(|path| {
            path.split(|char: char| char != '_' && !char.is_alphanumeric())
                .next()
        });
        let others = names.filter(|used| *used != module);
        uses.entry(module).or_default().extend(others);
    }
    let in_circle = |start: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
        while let Some(used) = next.pop().map(|module| uses.get(module)) {
            let used = used.into_iter().flatten();
            next.extend(used.filter(|used| seen.insert(**used)));
        }
        seen.contains(start)
    };
    let circle: Vec<&str> = uses.keys().copied().filter(|module| in_circle(module)).collect();
    let names = circle.join(", ");
    (!circle.is_empty()).then(|| format!("{folder}: modules use each other in a circle: {names}"))
}

fn arrows(manifest: &SourceFile) -> Vec<String> {
    let name = manifest.path.rsplit('/').nth(1).unwrap_or_default();
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        return vec![format!(
            "{name}: no arrows are drawn for this crate; add it to the table in xtask/src/tidy.rs"
        )];
    };
    let mut ships = false;
    let mut findings = Vec::new();
    for line in manifest.text.lines() {
        if line.starts_with('[') {
            ships = line.contains("dependencies") && !line.contains("dev-dependencies");
        }
        let dependency = line.strip_prefix("trantor-").filter(|_| ships);
        let to = dependency.and_then(|line| line.split(['.', ' ', '=']).next());
        if let Some(to) = to.filter(|to| !allowed.split(' ').any(|allowed| allowed == *to)) {
            findings.push(format!(
                "{name} -> {to}: this arrow is not drawn in docs/architecture.md"
            ));
        }
    }
    findings
}

fn module_head(file: &SourceFile) -> Option<String> {
    let first = file
        .text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
    match first {
        Some(line) if line.starts_with("//! ") => None,
        _ => Some(format!(
            "{}:1: a file opens by saying what it is for (`//! …`)",
            file.path
        )),
    }
}

fn undocumented_limits(file: &SourceFile) -> Vec<String> {
    // What bounds a test is the test's own affair, and tests come last in a file.
    let shipped = file.text.lines().enumerate();
    let shipped = shipped.take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    let mut findings = Vec::new();
    let mut has_reason = false;
    for (index, line) in shipped.map(|(index, line)| (index, line.trim())) {
        let name = line
            .split_once("const ")
            .and_then(|(_, rest)| rest.split_once(':'));
        let name = name.map_or("", |(name, _)| name);
        // A limit that is another one under a trait's name has its reason there.
        let is_limit = LIMIT_ENDINGS.iter().any(|ending| name.ends_with(ending)) && !line.ends_with("_MAX;");
        if is_limit && !line.starts_with("//") && !has_reason {
            let (path, number) = (&file.path, index + 1);
            findings.push(format!(
                "{path}:{number}: the limit {name} does not say what it is for"
            ));
        }
        has_reason = line.starts_with("///") || has_reason && line.starts_with("#[");
    }
    findings
}

/// Links to files of the project must lead somewhere.
fn broken_links(file: &SourceFile) -> Vec<String> {
    let folder = process::root().join(&file.path);
    let folder = folder.parent().expect("a file lies in a folder");
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let links = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        let paths = links.filter_map(|(target, _)| target.split('#').next());
        let is_outside = |path: &str| path.contains("://") || path.starts_with("mailto:");
        let broken = paths.filter(|path| !is_outside(path) && !folder.join(path).exists());
        findings.extend(
            broken.map(|path| format!("{}:{}: the link to {path} leads nowhere", file.path, index + 1)),
        );
    }
    findings
}

/// Evidence is `[test](../file.rs)`, `[script](../transcript.txt)`, or a command of ours such as `cargo xtask kills`.
fn unshown_promises(file: &SourceFile) -> Vec<String> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else {
            continue;
        };
        let evidence = row.rsplit(" | ").next().unwrap_or_default();
        if evidence != "Shown by" && !is_shown(evidence) {
            findings.push(format!(
                "{}:{}: no such test or command: {evidence}",
                file.path,
                index + 1
            ));
        }
    }
    findings
}

fn is_shown(evidence: &str) -> bool {
    if let Some(command) = evidence.strip_prefix("`cargo xtask ") {
        let words = command.trim_end_matches('`').split(' ');
        return crate::Task::try_parse_from(["xtask"].into_iter().chain(words)).is_ok();
    }
    let link = evidence.strip_prefix('[').and_then(|link| link.strip_suffix(')'));
    let Some((name, path)) = link.and_then(|link| link.split_once("](../")) else {
        return false;
    };
    let Ok(text) = fs::read_to_string(process::root().join(path)) else {
        return false;
    };
    !path.ends_with(".rs") || is_test(&text, name)
}

/// Whether the file has a function of this name that is a test and is not switched off.
fn is_test(text: &str, name: &str) -> bool {
    let Some((above, _)) = text.split_once(&format!("fn {name}(")) else {
        return false;
    };
    let attributes: Vec<_> = above
        .lines()
        .rev()
        .map(str::trim)
        .skip_while(|line| line.is_empty())
        .take_while(|line| line.starts_with('#'))
        .collect();
    attributes.contains(&"#[test]") && !attributes.iter().any(|line| line.starts_with("#[ignore"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile {
            path: "x.rs".into(),
            text: text.into(),
        }
    }

    #[test]
    fn a_circle_of_modules_is_found() {
        let module = |path: &str, text: &str| SourceFile {
            path: format!("crates/x/src/{path}"),
            text: text.into(),
        };
        let mut files = vec![
            module("a.rs", "use crate::b::B;"),
            module("b/mod.rs", "mod c;\n// crate::a is no use of it"),
        ];
        assert_eq!(module_circle("crates/x/src/", &files), None);
        files.push(module("b/c.rs", "fn d() -> crate::a::A {}"));
        let found = module_circle("crates/x/src/", &files).unwrap();
        assert!(found.ends_with(": a, b"), "{found}");
    }

    #[test]
    fn a_promise_without_a_test_is_found() {
        let shown_by = |evidence: &str| {
            let text = format!("| Promise | Shown by |\n|---|---|\n| It works | {evidence} |\n");
            unshown_promises(&file(&text)).is_empty()
        };
        for (evidence, is_shown) in [
            ("[a_promise_without_a_test_is_found](../xtask/src/tidy.rs)", true),
            ("[is_test](../xtask/src/tidy.rs)", false),
            ("[a_promise_without_a_test](../xtask/src/tidy.rs)", false),
            ("`cargo xtask bench idle`", true),
            ("`cargo xtask bench nothing`", false),
            ("`cargo test`", false),
            ("", false),
        ] {
            assert_eq!(shown_by(evidence), is_shown, "{evidence}");
        }
    }

    #[test]
    fn a_limit_without_a_reason_and_a_file_without_a_purpose_are_found() {
        let limit = "pub const QUEUE_MAX: usize = 4;\n";
        assert_eq!(undocumented_limits(&file(&format!("use x;\n{limit}"))).len(), 1);
        let documented = format!("/// What a peer may queue.\n#[rustfmt::skip]\n{limit}");
        assert!(undocumented_limits(&file(&documented)).is_empty());
        assert!(module_head(&file("use x;\n")).is_some());
        assert!(module_head(&file("#![allow(x)]\n//! What it is for.\n")).is_none());
    }
}
