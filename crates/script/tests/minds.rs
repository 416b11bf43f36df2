//! The minds that are delivered and the examples of the manual play, and the champion wins.

use std::path::PathBuf;

use trantor_game::{GameConfig, Rules};
use trantor_model::{MapSize, TeamId};
use trantor_play::leap::{Ended, Leap};
use trantor_play::minds::{MindGroup, MindKind, MindRate, MindSource, Scenario as _};
use trantor_script::{Scenario, Script, ScriptNews};
use trantor_time::GameTime;

const RED: TeamId = TeamId(0);

fn read(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn made(script: &Script) -> MindSource {
    MindSource::Made {
        name: script.file().to_owned(),
        factory: Box::new(script.clone()),
    }
}

/// Six agents of a script against six of the built-in team.
fn match_of(script: &Script, seed: u64) -> Leap {
    match_between(vec![made(script), MindSource::BuiltIn(MindKind::Team)], seed)
}

/// Six agents of each.
fn match_between(sources: Vec<MindSource>, seed: u64) -> Leap {
    let config = GameConfig {
        size: MapSize::new(20, 20).expect("a side is in range"),
        teams: (0..sources.len()).map(|team| format!("team-{team}")).collect(),
        places_per_team: 6,
        seed,
        rules: Rules::default(),
    };
    let group = |(team, source)| MindGroup {
        team: TeamId(team),
        source,
        count: 6,
        rate: MindRate::default(),
    };
    Leap::with_groups(config, (0..).zip(sources).map(group).collect())
}

/// Plays a while; no routine may fail.
fn plays(name: &str, source: &str) {
    let script = Script::load(name, source.as_bytes()).expect("a script loads");
    let mut played = match_of(&script, 1);
    played.run(Some(GameTime::from_units(2_000)));
    assert_eq!(script.counts().errors, 0, "{:?}", script.next_event());
    assert!(played.actions() > 200, "{name} does nothing");
}

#[test]
fn the_delivered_minds_play_without_an_error() {
    for name in ["first", "forager", "gathering", "champion", "caravan", "horde"] {
        plays(name, &read(&format!("assets/minds/{name}.luau")));
    }
}

#[test]
fn every_example_of_the_manual_runs() {
    let manual = read("docs/scripting.md");
    let examples = manual.split("```lua\n").skip(1);
    let examples: Vec<&str> = examples.filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 4);
    for (number, source) in examples.into_iter().enumerate() {
        let name = format!("example {}", number + 1);
        if source.contains("trantor.scenario") {
            let mut scenario = Scenario::load(&name, source.as_bytes(), 1).unwrap();
            let mut acts = Vec::new();
            while let Some(at) = scenario.wake_at().filter(|at| *at <= GameTime::from_units(1_000)) {
                scenario.resume_due(at, &mut acts);
            }
            let errors = scenario.script().counts().errors;
            assert!(errors == 0 && acts.len() > 1, "{name}: {acts:?}");
        } else {
            plays(&name, source);
        }
    }
}

/// Of a hundred seeds it wins more than ninety.
#[test]
fn the_champion_beats_the_built_in_team_that_does_not_grow() {
    let script = Script::load("champion", read("assets/minds/champion.luau").as_bytes()).unwrap();
    let wins = (1..=10).filter(|&seed| {
        let mut played = match_of(&script, seed);
        played.limit_agents(6);
        played.run(None) == Ended::Won(RED)
    });
    assert!(wins.count() >= 6);
}

#[test]
fn a_horde_pushes_a_caravan_and_a_team_wins_all_the_same() {
    let load = |name, source: String| Script::load(name, source.as_bytes()).unwrap();
    let handler = "me:on(\"ejected\", function()";
    let source = read("assets/minds/caravan.luau").replace(handler, &format!("{handler} print('pushed')"));
    let caravan = load("caravan", source);
    let horde = load("horde", read("assets/minds/horde.luau"));
    for seed in 1..=8 {
        let sources = vec![
            MindSource::BuiltIn(MindKind::Sextet),
            made(&caravan),
            made(&horde),
        ];
        let ended = match_between(sources, seed).run(Some(GameTime::from_units(15_000)));
        assert!(matches!(ended, Ended::Won(_)), "{ended:?}");
    }
    let pushed = std::iter::from_fn(|| caravan.next_event())
        .filter(|event| event.news == ScriptNews::Log("pushed".into()));
    assert!(pushed.count() > 2);
    assert_eq!((caravan.counts().errors, horde.counts().errors), (0, 0));
}

/// Addresses differ from process to process, and so would what depends on them.
#[test]
fn a_match_of_scripts_has_one_outcome_in_separate_processes() {
    const CHILD: &str = "TRANTOR_TEST_CHILD";
    let script = Script::load("busy", include_bytes!("busy.luau")).unwrap();
    let mut played = match_of(&script, 3);
    played.run(Some(GameTime::from_units(3_000)));
    let counts = script.counts();
    assert!(
        counts.errors == 0 && played.actions() > 1_000,
        "{:?}",
        script.next_event()
    );
    let outcome = format!("outcome {:x} {}", played.game().digest(), counts.resumptions);
    if std::env::var_os(CHILD).is_some() {
        return println!("{outcome}");
    }
    for _ in 0..2 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "a_match_of_scripts_has_one_outcome_in_separate_processes",
            "--nocapture",
        ]);
        let said = child.env(CHILD, "1").output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout);
        assert!(said.contains(&outcome), "{outcome} here, and there {said}");
    }
}

#[test]
fn the_death_of_an_agent_reaches_its_script() {
    let source =
        "return require('@trantor').agent(function(me) me:on('death', function() print('starved') end) end)";
    let script = Script::load("mortal", source.as_bytes()).unwrap();
    match_of(&script, 1).run(Some(GameTime::from_units(1_500)));
    let starved = std::iter::from_fn(|| script.next_event())
        .filter(|event| event.news == ScriptNews::Log("starved".into()));
    assert_eq!((starved.count(), script.counts().agents), (6, 0));
}
