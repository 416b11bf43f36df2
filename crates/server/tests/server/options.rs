//! The options, as a table of command lines and what each leads to.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use trantor_server::archive::Keep;
use trantor_server::cli::{Invocation, parse};
use trantor_server::headless::simulate;
use trantor_server::options::Options;
use trantor_server::options::settings::{self, Resolved, is_common, names};
use trantor_time::RealSpan;

const SAMPLE: &str = include_str!("../../../../assets/config/server.toml");

/// Runs the parser on `line`, cut at spaces; `''` stands for an empty word.
fn ask_with(line: &str, environment: &[(&str, &str)]) -> Result<Invocation, String> {
    let words = line
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| if word == "''" { "" } else { word });
    let arguments = std::iter::once("trantor-server").chain(words).map(OsString::from);
    let environment = environment
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    parse(arguments, environment).map_err(|error| error.to_string())
}

fn options(line: &str) -> Options {
    match ask_with(line, &[]) {
        Ok(Invocation::Run(resolved)) => resolved.options,
        other => panic!("{line:?} should run, but: {other:?}"),
    }
}

fn printed(line: &str, environment: &[(&str, &str)]) -> String {
    match ask_with(line, environment) {
        Ok(Invocation::Print(text)) => text,
        other => panic!("{line:?} should print, but: {other:?}"),
    }
}

/// Reads a text of the file over `options`; the mistakes, if it is refused.
fn read_file(options: &mut Options, text: &str) -> Result<(), Vec<String>> {
    let mut resolved = Resolved::default();
    resolved.options.clone_from(options);
    let read = settings::apply_text(&mut resolved, "s", text);
    *options = resolved.options;
    read.map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect())
}

fn refusal(line: &str) -> String {
    ask_with(line, &[]).expect_err(line)
}

/// A command line, and the file of options that means the same.
#[test]
fn accepted_lines_set_what_they_say() {
    let table = include_str!("../options/accepted.txt");
    for case in table.lines() {
        let (line, file) = case.split_once(" =>").unwrap();
        let mut expected = Options::default();
        read_file(&mut expected, &file.trim().replace("; ", "\n")).unwrap();
        assert_eq!(options(line), expected, "{line:?}");
    }
}

#[test]
fn values_are_read_in_the_unit_of_their_option() {
    let read = options(
        "--seed 18446744073709551615 --match-duration 10 --save-every 5m --overload-limit 100 --keep-alive 0 --metrics 9100 \
         --metrics-hosts arena.example,arena --idle-limit 90 --agent-output-limit 128 --output-limit 16 --after-win exit \
         --record-keep 10GB,30d",
    );
    let mut expected = Options {
        match_duration: Some(RealSpan::from_secs(10)),
        overload_limit: Some(RealSpan::from_millis(100)),
        keep_alive: None,
        ends_at_win: true,
        record_keep: Keep {
            count: None,
            bytes: Some(10_000_000_000),
            age: Some(Duration::from_secs(30 * 24 * 60 * 60)),
        },
        ..Options::default()
    };
    expected.game.seed = Some(u64::MAX);
    expected.save.every = RealSpan::from_secs(300);
    expected.metrics.address = Some("127.0.0.1:9100".parse().unwrap());
    expected.metrics.hosts = Some(vec!["arena.example".to_owned(), "arena".to_owned()]);
    expected.limits.idle_span = Some(RealSpan::from_secs(90));
    expected.limits.agent_outbox_bytes_max = 128 * 1024;
    expected.limits.output_bytes_max = 16 * 1024 * 1024;
    assert_eq!(read, expected);
}

#[test]
fn refusals_are_one_line_that_says_what_is_accepted() {
    trantor_transcript::check_file(env!("CARGO_MANIFEST_DIR"), "tests/options/refused.txt", refusals);
}

fn refusals(expected: &str) -> String {
    let mut answers = String::new();
    for line in expected.lines() {
        let line_feeds = line.replace("\\n", "\n");
        let refused = if let Some(text) = line_feeds.strip_prefix("file> ") {
            let mut untouched = Options::default();
            let mistakes = read_file(&mut untouched, text);
            assert_eq!(untouched, Options::default(), "{text:?} changed something");
            mistakes.expect_err(text).remove(0)
        } else if let Some(variable) = line.strip_prefix("env> ") {
            ask_with("", &[variable.split_once('=').unwrap()]).expect_err(variable)
        } else if let Some(arguments) = line.strip_prefix("sim> ") {
            let words = std::iter::once("sim")
                .chain(arguments.split(' '))
                .map(OsString::from);
            simulate(words).expect_err(arguments).to_string()
        } else if let Some(arguments) = line_feeds.strip_prefix("> ") {
            refusal(arguments)
        } else {
            if line.starts_with('#') {
                answers += &format!("{line}\n");
            }
            continue;
        };
        assert!(!refused.contains(char::is_control), "{line}: {refused:?}");
        answers += &format!("{line}\n{refused}\n");
    }
    answers
}

#[test]
fn help_is_printed_not_refused() {
    for (line, has_all) in [
        ("help", true),
        ("--help", true),
        ("-p 1 --help", true),
        ("-h", false),
        ("-help", false),
        ("-hlp", false),
        ("-f 0 -h", false),
    ] {
        let text = printed(line, &[]);
        for name in names() {
            let is_shown = text.contains(&format!("--{name} <")) || text.contains(&format!("--{name} [<"));
            assert_eq!(is_shown, has_all || is_common(name), "{line:?}: {name}");
        }
        assert!(has_all || text.lines().count() <= 30, "one screen: {text}");
    }
}

#[test]
fn the_sample_file_names_every_option_and_its_examples_hold() {
    // What is off by default stands in the sample as "# key = value"; bring those to life as well.
    let uncommented: String = SAMPLE
        .lines()
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|rest| rest.contains(" = "))
                .unwrap_or(line)
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let keys: BTreeSet<&str> = uncommented
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(key, _)| key)
        .collect();
    let known: BTreeSet<&str> = names().collect();
    assert_eq!(keys, known);

    let mut all = Options::default();
    read_file(&mut all, &uncommented).unwrap();
    assert_eq!(all.game.seed, Some(1));
    assert_eq!(all.metrics.address, Some("127.0.0.1:9100".parse().unwrap()));
    assert_eq!(all.match_duration, Some(RealSpan::from_secs(1200)));
}

#[test]
fn printed_options_are_a_file_of_the_same_options() {
    let lines = [
        "",
        "-p 1 -f 007 -n a \"b -t 50 -v --resume --save d",
        "--dialect 42 -t 50 --metrics 9100 --auto-start off --display-eggs true --seed 7 --spectator-delay 0",
        "--control token --token-file t.token --log warn,mio=off -vv",
    ];
    for line in lines {
        let mut read_back = Options::default();
        let text = printed(&format!("config print {line}"), &[("TRANTOR_SERVER_WIDTH", "33")]);
        read_file(&mut read_back, &text).unwrap();
        let mut expected = options(line);
        expected.game.width = 33;
        assert_eq!(read_back, expected, "{line:?}");
    }
    assert_eq!(ask_with("config print -f 0", &[]), Err(refusal("-f 0")));
}
