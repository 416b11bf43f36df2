//! `cargo xtask dist`: everything that is installed, in one folder.
//!
//! The programs in the release profile, manual pages, shell completions, units of systemd and the file of options, laid
//! out as under `/usr`. Packages are made from it: cargo-deb names these paths in `crates/server/Cargo.toml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;

/// Where to, and from which build.
#[derive(clap::Args)]
pub struct Options {
    /// The folder to fill
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    into: PathBuf,
    /// The profile to build in
    #[arg(long, value_name = "PROFILE", default_value = "release")]
    profile: String,
}

/// What is installed.
const PROGRAMS: [&str; 3] = ["trantor-server", "trantor-bot", "trantor-load"];

/// Shells, and where each looks for the completions of a program.
const COMPLETIONS: [(&str, &str, &str); 3] = [
    ("bash", "share/bash-completion/completions/", ""),
    ("zsh", "share/zsh/site-functions/_", ""),
    ("fish", "share/fish/vendor_completions.d/", ".fish"),
];

/// Files that are as they are, and where they go.
const FILES: [(&str, &str); 4] = [
    ("assets/config/server.toml", "share/doc/trantor/server.toml"),
    (
        "packaging/systemd/trantor-server.service",
        "lib/systemd/system/trantor-server.service",
    ),
    (
        "packaging/systemd/trantor-server.socket",
        "lib/systemd/system/trantor-server.socket",
    ),
    ("docs/operating.md", "share/doc/trantor/operating.md"),
];

/// Folders whose files are as they are, and where they go.
const FOLDERS: [(&str, &str); 2] = [
    ("assets/minds", "share/trantor/minds"),
    ("assets/scenarios", "share/trantor/scenarios"),
];

/// Builds and gathers everything.
pub fn run(options: &Options) -> Result<()> {
    let into = process::root().join(&options.into);
    // The path of a file of it, whose folder is made.
    let at = |place: &str| -> Result<PathBuf> {
        let path = into.join(place);
        let folder = path.parent().context("a file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        Ok(path)
    };
    for (built, program) in process::build(&options.profile, PROGRAMS)?.iter().zip(PROGRAMS) {
        fs::copy(built, at(&format!("bin/{program}"))?)?;
    }
    for program in PROGRAMS {
        let built = into.join("bin").join(program);
        for (shell, folder, end) in COMPLETIONS {
            fs::write(
                at(&format!("{folder}{program}{end}"))?,
                printed_by(&built, ["completions", shell])?,
            )?;
        }
        process::check(Command::new(&built).arg("man").arg(into.join("share/man/man1")))?;
    }
    let copy = |from: &Path, place: &str| -> Result<()> {
        fs::copy(from, at(place)?).with_context(|| format!("{} cannot be copied", from.display()))?;
        Ok(())
    };
    for (file, place) in FILES {
        copy(&process::root().join(file), place)?;
    }
    for (folder, place) in FOLDERS {
        for file in fs::read_dir(process::root().join(folder))? {
            let file = file?;
            copy(
                &file.path(),
                &format!("{place}/{}", file.file_name().to_string_lossy()),
            )?;
        }
    }
    println!("everything is in {}", into.display());
    Ok(())
}

fn printed_by(program: &Path, arguments: [&str; 2]) -> Result<Vec<u8>> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    let name = program.display();
    ensure!(output.status.success(), "{name} {arguments:?} failed");
    Ok(output.stdout)
}
