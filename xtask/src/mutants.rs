//! `cargo xtask mutants`: a test that cannot fail proves nothing.
//!
//! Each crate may hold a `mutants.toml`: a list of faults, each a piece of text to be replaced in one file. The
//! crate is copied aside once, every fault is put into the copy in turn, and the tests named with it must fail.

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};

use crate::{process, source};

/// Flags of this chore.
#[derive(clap::Args)]
pub struct Options {
    /// Only the faults whose name contains this word
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

/// One fault, as written in `mutants.toml`.
struct Mutant {
    name: String,
    file: String,
    find: String,
    replace: String,
    tests: Vec<String>,
}

/// Tries every fault and fails if any of them goes unnoticed.
pub fn run(options: &Options) -> Result<()> {
    let mut unnoticed = Vec::new();
    let mut tried = 0;
    for package in ["time"] {
        let copy = Copy::of(package)?;
        for mutant in mutants(package)? {
            if options
                .only
                .as_ref()
                .is_some_and(|word| !mutant.name.contains(word.as_str()))
            {
                continue;
            }
            tried += 1;
            let noticed = copy.is_noticed(&mutant)?;
            println!(
                "{:>9}  {package}: {}",
                if noticed { "caught" } else { "NOT caught" },
                mutant.name
            );
            if !noticed {
                unnoticed.push(mutant.name);
            }
        }
    }
    ensure!(tried > 0, "no fault has such a name");
    if !unnoticed.is_empty() {
        bail!(
            "{} of {tried} faults went unnoticed: {}",
            unnoticed.len(),
            unnoticed.join(", ")
        );
    }
    println!("{tried} faults, all caught");
    Ok(())
}

fn mutants(package: &str) -> Result<Vec<Mutant>> {
    let path = source::root().join("crates").join(package).join("mutants.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text
        .parse()
        .with_context(|| format!("{} is not toml", path.display()))?;
    let list = table
        .get("mutant")
        .and_then(|list| list.as_array())
        .context("no [[mutant]] in the file")?;
    let field = |entry: &toml::Value, name: &str| -> Result<String> {
        let value = entry.get(name).and_then(|value| value.as_str());
        Ok(value
            .with_context(|| format!("a [[mutant]] lacks `{name}`"))?
            .to_string())
    };
    let tests = |entry: &toml::Value| -> Result<Vec<String>> {
        let list = entry
            .get("tests")
            .cloned()
            .context("a [[mutant]] lacks `tests`")?;
        list.try_into().context("`tests` is a list of names")
    };
    list.iter()
        .map(|entry| {
            Ok(Mutant {
                name: field(entry, "name")?,
                file: field(entry, "file")?,
                find: field(entry, "find")?,
                replace: field(entry, "replace")?,
                tests: tests(entry)?,
            })
        })
        .collect()
}

/// A copy of the workspace's manifest and one crate, in the target directory, where faults may be planted.
struct Copy {
    folder: PathBuf,
    package: String,
}

impl Copy {
    fn of(package: &str) -> Result<Self> {
        let folder = source::root().join("target").join("mutants");
        if folder.exists() {
            fs::remove_dir_all(&folder).context("cannot remove the last copy")?;
        }
        let crate_folder = folder.join("crates").join(package);
        copy_folder(&source::root().join("crates").join(package), &crate_folder)?;
        let manifest = fs::read_to_string(source::root().join("Cargo.toml"))?;
        let alone = manifest.replace(
            "members = [\"crates/*\", \"xtask\"]\ndefault-members = [\"crates/*\", \"xtask\"]",
            "members = [\"crates/*\"]",
        );
        ensure!(
            alone != manifest,
            "the workspace's manifest names its members in another way than expected"
        );
        fs::write(folder.join("Cargo.toml"), alone)?;
        fs::copy(source::root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
        Ok(Self {
            folder,
            package: package.to_string(),
        })
    }

    /// Plants the fault, runs its tests, takes the fault out again, and answers whether a test failed.
    fn is_noticed(&self, mutant: &Mutant) -> Result<bool> {
        let path = self.folder.join("crates").join(&self.package).join(&mutant.file);
        let sound = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let places = sound.matches(&mutant.find).count();
        ensure!(
            places == 1,
            "{}: `{}` stands {places} times in {}",
            mutant.name,
            mutant.find,
            mutant.file
        );
        fs::write(&path, sound.replace(&mutant.find, &mutant.replace))?;
        let package = format!("trantor-{}", self.package);
        let test = |arguments: &[&str]| -> Result<bool> {
            let mut command = process::cargo();
            // Nobody looks at these programs with a debugger, and without what one needs they are built in half the time.
            command.env("CARGO_PROFILE_DEV_DEBUG", "0");
            command
                .current_dir(&self.folder)
                .args(["test", "--package", &package, "--tests", "--quiet"])
                .args(arguments);
            Ok(command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?
                .success())
        };
        let built = test(&["--no-run"])?;
        let names = mutant.tests.iter().map(String::as_str);
        let passed = built && test(&iter::once("--").chain(names).collect::<Vec<_>>())?;
        fs::write(&path, sound)?;
        ensure!(
            built,
            "{}: with the fault in, {package} does not compile",
            mutant.name
        );
        Ok(!passed)
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?
        } else {
            fs::copy(entry.path(), target).map(drop)?
        }
    }
    Ok(())
}
