//! `cargo xtask tidy`: what no compiler checks.
//!
//! Dependencies between crates, circles of modules, what each module says of itself, limits and their reasons, links, and
//! promises without a test. Every finding is a line with a place in it, and all are printed at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use crate::process;

/// The map of the crates: a picture of rows, and a table of what each depends on.
const MAP: &str = "docs/architecture.md";

/// Modules that use themselves by way of others, by crate: known, and to be taken apart.
const KNOWN_CIRCLES: &[(&str, &[&str])] = &[
    (
        "game",
        &["agenda", "check", "digest", "game", "lag", "save", "totals"],
    ),
    ("script", &["actor", "script", "state", "vm"]),
    (
        "sim",
        &["actors", "picture", "playback", "server", "simulation", "storage"],
    ),
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
    let page = |path| pages.iter().find(|page| page.path == path);
    let map = page(MAP).with_context(|| format!("{MAP} is missing"))?;
    let promises = page(PROMISES).with_context(|| format!("{PROMISES} is missing"))?;
    let crates = crates()?;
    let mut findings = compare_with_map(&crates, &map.text);
    findings.extend(crates.keys().flat_map(|name| circles(name, &rust, KNOWN_CIRCLES)));
    findings.extend(rust.iter().filter_map(module_head));
    findings.extend(rust.iter().flat_map(undocumented_limits));
    findings.extend(pages.iter().flat_map(broken_links));
    findings.extend(unshown_promises(promises));
    Ok(findings)
}

/// What each crate of ours depends on, of ours, without `trantor-`.
///
/// Only what ships counts: tests may reach further, to set a simple model beside the real thing.
type Crates = BTreeMap<String, BTreeSet<String>>;

/// As cargo reports them.
fn crates() -> Result<Crates> {
    let mut cargo = process::cargo();
    cargo.args("metadata --format-version 1 --no-deps".split(' '));
    let output = cargo.output().context("cannot start cargo")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata failed: {errors}");
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let short = |name: &str| name.strip_prefix("trantor-").unwrap_or(name).to_owned();
    let names: BTreeSet<String> = metadata
        .packages
        .iter()
        .map(|package| short(&package.name))
        .collect();
    let of_package = |package: &Package| {
        let ships = |dependency: &&Dependency| dependency.kind.as_deref() != Some("dev");
        let dependencies = package.dependencies.iter().filter(ships);
        let ours = dependencies.map(|dependency| short(&dependency.name));
        (
            short(&package.name),
            ours.filter(|name| names.contains(name)).collect(),
        )
    };
    Ok(metadata.packages.iter().map(of_package).collect())
}

/// The part of cargo's metadata that is read here.
#[derive(serde::Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(serde::Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(serde::Deserialize)]
struct Dependency {
    name: String,
    /// `None` for what ships, `dev` or `build`.
    kind: Option<String>,
}

/// Where the crates and the map differ: names, dependencies, and dependencies that do not lead to a lower row.
fn compare_with_map(crates: &Crates, map: &str) -> Vec<String> {
    let rows = rows_of_picture(crates, map);
    let mapped = dependencies_of_table(map);
    let mut findings = Vec::new();
    for (name, dependencies) in crates {
        let (Some(row), Some(mapped)) = (rows.get(&**name), mapped.get(&**name)) else {
            findings.push(format!("{MAP}: {name} is missing in the picture or in the table"));
            continue;
        };
        let differing = |these: &BTreeSet<String>, those: &BTreeSet<String>, what: &str| {
            let only = these.difference(those);
            only.map(|to| format!("{MAP}: {name} -> {to}: {what}"))
                .collect::<Vec<_>>()
        };
        findings.extend(differing(
            dependencies,
            mapped,
            "the table does not have this dependency",
        ));
        findings.extend(differing(mapped, dependencies, "there is no such dependency"));
        for to in dependencies {
            if rows.get(&**to).is_some_and(|below| below >= row) {
                findings.push(format!(
                    "{MAP}: {name} -> {to}: it is on no lower row of the picture"
                ));
            }
        }
    }
    let strangers = mapped.keys().filter(|name| !crates.contains_key(**name));
    findings.extend(strangers.map(|name| format!("{MAP}: there is no crate {name}")));
    findings
}

/// The row of each crate in the picture: its lines that begin with a number.
fn rows_of_picture<'a>(crates: &'a Crates, map: &str) -> BTreeMap<&'a str, u32> {
    let mut rows = BTreeMap::new();
    let picture = map.split("```").nth(1).unwrap_or_default();
    for line in picture.lines() {
        let mut words = line
            .split(|char: char| !char.is_alphanumeric())
            .filter(|word| !word.is_empty());
        let Some(row) = words.next().and_then(|word| word.parse().ok()) else {
            continue;
        };
        let named = words.filter_map(|word| crates.get_key_value(word));
        rows.extend(named.map(|(name, _)| (&**name, row)));
    }
    rows
}

/// Names between backticks in the third cell of each line of the table whose first cell is one such name.
fn dependencies_of_table(map: &str) -> BTreeMap<&str, BTreeSet<String>> {
    fn of_line(line: &str) -> Option<(&str, BTreeSet<String>)> {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        let depends_on = cells.nth(1)?.split('`').skip(1).step_by(2);
        Some((name, depends_on.map(str::to_owned).collect()))
    }
    map.lines().filter_map(of_line).collect()
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

/// Modules of a crate that use themselves by way of others and are not known to do so, and known ones that do not.
fn circles(name: &str, files: &[SourceFile], known: &[(&str, &[&str])]) -> Vec<String> {
    let folders = [format!("crates/{name}/src/"), format!("{name}/src/")];
    let uses = folders.iter().map(|folder| uses_of_modules(folder, files));
    let circle = uses.fold(BTreeSet::new(), |circle, uses| {
        &circle | &modules_in_circles(&uses)
    });
    let known = known.iter().find(|(of, _)| *of == name);
    let known = known.map(|(_, modules)| modules.iter().map(|&module| module.to_owned()).collect());
    let known: BTreeSet<String> = known.unwrap_or_default();
    let differing = |these: &BTreeSet<String>, those: &BTreeSet<String>, what: &str| {
        let names: Vec<&str> = these.difference(those).map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("{name}: {what}: {}", names.join(", ")))
    };
    let fresh = differing(&circle, &known, "modules use each other in a circle");
    let gone = differing(
        &known,
        &circle,
        "no longer in a circle; remove them in xtask/src/tidy.rs",
    );
    fresh.into_iter().chain(gone).collect()
}

/// The modules at the top of a source folder, with the modules that each uses; tests do not count.
fn uses_of_modules(folder: &str, files: &[SourceFile]) -> BTreeMap<String, BTreeSet<String>> {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // What the root of the crate gives another name: `pub use game::Game`.
    let mut exported: BTreeMap<String, String> = BTreeMap::new();
    for file in files {
        let Some(place) = file.path.strip_prefix(folder) else {
            continue;
        };
        let module = place.split(['/', '.']).next().unwrap_or_default();
        if place.contains("tests") {
            continue;
        }
        let shipped = file
            .text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let code: Vec<&str> = shipped
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        let code = code.join("\n");
        if matches!(place, "lib.rs" | "main.rs") {
            let exports = code
                .split("pub use ")
                .skip(1)
                .filter_map(|rest| rest.split(';').next());
            for (path, names) in exports.filter_map(|export| export.split_once("::")) {
                exported.extend(words(names).map(|name| (name.to_owned(), path.to_owned())));
            }
            continue;
        }
        // The root, as this file names it: `super` leads there from a module at the top.
        let depth = place.matches('/').count() + usize::from(!place.ends_with("/mod.rs"));
        let roots = ["crate::".to_owned(), "super::".repeat(depth.max(1))];
        let used = uses.entry(module.to_owned()).or_default();
        for root in &roots {
            used.extend(code.split(&**root).skip(1).flat_map(names_at).map(str::to_owned));
        }
    }
    for (module, used) in &mut uses {
        let modules = used.iter().map(|name| exported.get(name).unwrap_or(name).clone());
        *used = modules.filter(|name| name != module).collect();
    }
    uses
}

/// The names that a path goes on with: one, or those of a group in braces.
fn names_at(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else {
        return words(path)
            .take(1)
            .filter(|name| path.starts_with(name))
            .collect();
    };
    let mut depth = 0;
    let end = group.find(|char| {
        depth += i32::from(char == '{') - i32::from(char == '}');
        depth < 0
    });
    let mut depth = 0;
    let outer = |char: char| {
        depth += i32::from(char == '{') - i32::from(char == '}');
        depth == 0 && char == ','
    };
    let parts = group[..end.unwrap_or(group.len())].split(outer);
    parts.filter_map(|part| words(part).next()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|char: char| char != '_' && !char.is_alphanumeric());
    words.filter(|word| !word.is_empty())
}

fn modules_in_circles(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let in_circle = |start: &&String| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![*start]);
        while let Some(used) = next.pop().map(|module| uses.get(module)) {
            let used = used.into_iter().flatten();
            next.extend(used.filter(|used| seen.insert(*used)));
        }
        seen.contains(start)
    };
    uses.keys().filter(in_circle).cloned().collect()
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
        let found = |files: &[SourceFile]| circles("x", files, &[("x", &["known"])]);
        let mut files = vec![
            module("lib.rs", "mod a;\nmod b;\npub use a::{A, E as F};"),
            module("a.rs", "use crate::b::B;"),
            module("b/mod.rs", "mod c;\n// crate::a is no use of it"),
            module("known.rs", "use super::b::{B, c};\nuse crate::known::Known;"),
        ];
        assert_eq!(
            found(&files),
            ["x: no longer in a circle; remove them in xtask/src/tidy.rs: known"]
        );
        for text in [
            "fn d() -> crate::a::A {}",
            "use crate::A;",
            "use crate::{F, b::{C, D}};",
            "use crate::{e::{G, H}, F};",
            "use super::super::a;",
        ] {
            files.push(module("b/c.rs", text));
            assert_eq!(
                found(&files)[0],
                "x: modules use each other in a circle: a, b",
                "{text}"
            );
            files.pop();
        }
        files.push(module("b/c.rs", "use super::a;\nuse crate::known::A;"));
        assert_eq!(found(&files), ["x: modules use each other in a circle: b"]);
    }

    #[test]
    fn what_the_map_says_otherwise_than_cargo_is_found() {
        let names = |names: &str| words(names).map(str::to_owned).collect();
        let crates = Crates::from([
            ("time".to_owned(), names("")),
            ("game".to_owned(), names("time")),
            ("engine".to_owned(), names("game time")),
        ]);
        let map = "```text\n 2  halves  engine ── other\n 1 game\n 0  time\n```\n| Crate | Purpose | Depends on |\n\
            | `time` | Time. | – |\n| `game` | `Rules`. | `time` | x |\n| `engine` | All. | `game` (its rules), `time` |\n";
        let found = |from: &str, to: &str| compare_with_map(&crates, &map.replace(from, to));
        assert_eq!(found("", ""), [""; 0]);
        for (from, to, finding) in [
            (
                "(its rules), `time`",
                "",
                "engine -> time: the table does not have this dependency",
            ),
            (
                "Time. | –",
                "Time. | `game`",
                "time -> game: there is no such dependency",
            ),
            (
                " 1 game",
                " 2 game",
                "engine -> game: it is on no lower row of the picture",
            ),
            (" 1 game", "", "game is missing in the picture or in the table"),
            (
                "| `game` | `Rules`",
                "| `play` | `Rules`",
                "game is missing in the picture or in the table",
            ),
            (
                "| `time` | Time",
                "| `model` | Nouns. | – |\n| `time` | Time",
                "there is no crate model",
            ),
        ] {
            assert_eq!(found(from, to)[0], format!("{MAP}: {finding}"));
        }
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
            ("`cargo xtask bench minds`", true),
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
