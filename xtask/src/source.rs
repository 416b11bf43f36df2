//! Where the project's files are.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A file: its path from the root, with `/`, and its text.
pub struct SourceFile {
    pub path: String,
    pub text: String,
}

/// The folder that holds the workspace's `Cargo.toml`.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in a folder of the workspace")
}

/// Files of the project that `git` knows, or would add, whose paths match these patterns; in order of path.
pub fn files(patterns: &[&str]) -> Result<Vec<SourceFile>> {
    let mut git = Command::new("git");
    git.current_dir(root()).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
    ]);
    let listed = git.args(patterns).output().context("cannot start git")?;
    ensure!(listed.status.success(), "git cannot list the project's files");
    let listed = String::from_utf8(listed.stdout)?;
    let paths: BTreeSet<&str> = listed.split_terminator('\0').collect();
    let files = paths.into_iter().filter(|path| root().join(path).exists());
    files
        .map(|path| {
            let text = fs::read_to_string(root().join(path));
            let text = text.with_context(|| format!("cannot read {path}"))?;
            let path = path.to_owned();
            Ok(SourceFile { path, text })
        })
        .collect()
}
