//! Where the project's files are, and how to walk over its Rust sources.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders deeper than this are not the project's: a link that loops must not hang a check.
const DEPTH_MAX: usize = 12;

/// A Rust source file: its path from the root, with `/`, and its text.
pub struct SourceFile {
    /// For messages.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// The folder that holds the workspace's `Cargo.toml`.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in a folder of the workspace")
}

/// All `.rs` files of the workspace's own crates, in order of path.
pub fn rust_files() -> Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&root().join(folder), "rs", DEPTH_MAX, &mut paths)?;
    }
    paths.sort();
    paths.into_iter().map(read).collect()
}

/// The `Cargo.toml` of each crate of the workspace.
pub fn manifests() -> Result<Vec<SourceFile>> {
    let mut paths = vec![root().join("xtask/Cargo.toml")];
    for entry in fs::read_dir(root().join("crates"))? {
        paths.push(entry?.path().join("Cargo.toml"));
    }
    paths.into_iter().map(read).collect()
}

/// All Markdown files of the project, in order of path.
pub fn markdown_files() -> Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    collect(&root().join("docs"), "md", DEPTH_MAX, &mut paths)?;
    for name in ["README.md", "CHANGELOG.md"] {
        paths.push(root().join(name));
    }
    paths.sort();
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Result<SourceFile> {
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let path = path
        .strip_prefix(root())
        .unwrap_or(&path)
        .to_string_lossy()
        .replace('\\', "/");
    Ok(SourceFile { path, text })
}

fn collect(folder: &Path, extension: &str, depth: usize, paths: &mut Vec<PathBuf>) -> Result<()> {
    if depth == 0 {
        return Ok(());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, extension, depth - 1, paths)?;
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    Ok(())
}
