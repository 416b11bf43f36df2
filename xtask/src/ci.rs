//! `cargo xtask ci`: the list that must be green, cheap checks first.

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::Result;

use crate::{process, python, source, tidy};

/// How `ci` may be cut down while working; CI itself gives no flag.
#[derive(clap::Args)]
pub struct Options {
    /// Only the steps whose name contains this word
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

enum Step {
    /// `cargo` with these words.
    Cargo(&'static str),
    Tidy,
    Tests,
    Interface,
    Python,
}

const STEPS: &[(&str, Step)] = &[
    ("format", Step::Cargo("fmt --all --check")),
    ("tidy", Step::Tidy),
    // Sound is off by default, since it is built with ALSA's headers; the tests are built without it.
    (
        "clippy",
        Step::Cargo("clippy --workspace --features trantor-viewer/sound --all-targets -- --deny warnings"),
    ),
    (
        "clippy of the server without scripts",
        Step::Cargo("clippy --package trantor-server --no-default-features -- --deny warnings"),
    ),
    ("tests", Step::Tests),
    (
        "broken rules are found",
        Step::Cargo("test --workspace --features trantor-sim/faults --test faults --quiet"),
    ),
    (
        "kills leave whole journals and saves",
        Step::Cargo("xtask kills --times 6"),
    ),
    ("interface", Step::Interface),
    ("python", Step::Python),
    ("doc tests", Step::Cargo("test --workspace --doc --quiet")),
    // For people who read the code: with what is private, which module heads may then point to.
    (
        "docs",
        Step::Cargo(
            "doc --workspace --no-deps --document-private-items --quiet \
             --config build.rustdocflags=['--deny=warnings','--allow=rustdoc::private_intra_doc_links']",
        ),
    ),
];

/// Runs every step in order and stops at the first that fails; prints what each took.
pub fn run(options: &Options) -> Result<ExitCode> {
    let mut times = Vec::new();
    for (name, step) in STEPS {
        if options
            .only
            .as_ref()
            .is_some_and(|word| !name.contains(word.as_str()))
        {
            continue;
        }
        println!("── {name}");
        #[expect(
            clippy::disallowed_methods,
            reason = "a task reports how long it took; no loop of ours is involved"
        )]
        let started = Instant::now();
        match step {
            Step::Cargo(words) => process::check(process::cargo().args(words.split(' ')))?,
            Step::Tidy => tidy::run()?,
            Step::Tests => process::check(&mut test_command())?,
            Step::Interface => compare_interface()?,
            Step::Python => python::run(&python::Options {
                profile: "dev".to_owned(),
                no_tests: false,
            })?,
        }
        times.push((name, started.elapsed()));
    }
    println!("── all green");
    for (name, time) in times {
        println!("{:>7.1} s  {name}", time.as_secs_f64());
    }
    Ok(ExitCode::SUCCESS)
}

/// All tests but the doc tests: by nextest where it is installed, otherwise by cargo.
fn test_command() -> Command {
    let mut command = process::cargo();
    if process::is_installed("cargo-nextest") {
        command.args(["nextest", "run", "--workspace", "--no-fail-fast"]);
    } else {
        command.args(["test", "--workspace", "--all-targets", "--quiet"]);
    }
    command
}

/// Fails with the difference where the programs are not as docs/interface.txt has them.
fn compare_interface() -> Result<()> {
    process::check(process::cargo().args(["build", "--workspace", "--bins", "--quiet"]))?;
    let mut compare = Command::new("sh");
    compare.current_dir(source::root());
    compare.args(["-c", "tools/interface.sh | diff -u docs/interface.txt -"]);
    process::check(&mut compare)
}
