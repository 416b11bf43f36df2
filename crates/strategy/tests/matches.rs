//! Teams of brains play whole matches of the real rules, undisturbed and disturbed.
//!
//! What became of each stands in `matches.txt`, to the last deadline: every change of the strategy shows there, and how it
//! plays. `BLESS=1` rewrites the table. Weaker opponents are measured by who beats whom.

use trantor_game::{GameConfig, Rules};
use trantor_model::{AdminAction, Control, MapSize, TeamId, lag};
use trantor_play::leap::{Ended, Leap};
use trantor_play::minds::MindKind;
use trantor_time::GameTime;

/// How a match is set up.
struct Setup {
    size: (u32, u32),
    agents: u32,
    seed: u64,
    /// An agent is struck dead every so many units.
    kill_every_units: Option<i64>,
    /// How messages arrive.
    lag: &'static str,
    /// A third team does anything at random: it pushes, takes and talks.
    has_rogues: bool,
}

const USUAL: Setup = Setup {
    size: (20, 20),
    agents: 6,
    seed: 1,
    kill_every_units: None,
    lag: "off",
    has_rogues: false,
};

fn config(setup: &Setup, teams: Vec<String>) -> GameConfig {
    GameConfig {
        size: MapSize::new(setup.size.0, setup.size.1).expect("a map"),
        teams,
        places_per_team: setup.agents,
        seed: setup.seed,
        rules: Rules {
            lag: lag::read(setup.lag).expect("settings"),
            ..Rules::default()
        },
    }
}

/// Plays a match until a team has won, or for 20,000 units.
fn play(setup: &Setup) -> String {
    let mut teams = vec!["red".to_owned(), "blue".to_owned()];
    let mut kinds = vec![MindKind::Team; 2];
    if setup.has_rogues {
        teams.push("rogues".to_owned());
        kinds.push(MindKind::Random);
    }
    let mut leap = Leap::new(config(setup, teams), &kinds);
    let every = setup.kill_every_units.unwrap_or(20_000);
    for strike in 1..=20_000 / every {
        if let Ended::Won(team) = leap.run(Some(GameTime::from_units(strike * every))) {
            let (game, joins) = (leap.game(), leap.joins());
            let living = game.world().agents().len();
            let name = &game.config().teams[usize::from(team.0)];
            let (units, steps) = (game.now().whole_units(), game.steps());
            return format!("{name} after {units} units: {joins} born, {living} alive, {steps} deadlines\n");
        }
        // One after the other, not at random.
        let agents: Vec<_> = leap.game().world().agents().map(|agent| agent.id).collect();
        let agent = agents[strike as usize * 5 % agents.len()];
        let _ = leap.control(Control::Act(AdminAction::Kill { agent }));
    }
    panic!("no team won in {:?}", leap.game().now());
}

#[test]
fn matches_go_as_they_went() {
    let mut played = String::new();
    let mut section = |title: &str, setups: &mut dyn Iterator<Item = Setup>| {
        played += &format!("# {title}\n");
        setups.for_each(|setup| played += &play(&setup));
    };
    let seeded = |seed| Setup { seed, ..USUAL };
    section("two teams of six, ten times", &mut (1..=10).map(seeded));
    let small = Setup {
        size: (10, 10),
        ..USUAL
    };
    let odd = Setup {
        size: (30, 11),
        agents: 7,
        ..USUAL
    };
    section("a small and an odd map", &mut [small, odd].into_iter());
    let struck = |seed| Setup {
        kill_every_units: Some(1_500),
        ..seeded(seed)
    };
    section("every 1,500 units an agent dies", &mut (1..=5).map(struck));
    let lagging = |lag| Setup { lag, ..USUAL };
    section(
        "messages take ten units",
        &mut [lagging("latency=10")].into_iter(),
    );
    section(
        "one in five messages is lost",
        &mut [lagging("loss=20%")].into_iter(),
    );
    section(
        "messages reach a third of the map",
        &mut [lagging("range=7")].into_iter(),
    );
    section(
        "noise",
        &mut [lagging("noisy"), lagging("noisy range=7 latency=20 loss=20%")].into_iter(),
    );
    let pushed = Setup {
        has_rogues: true,
        ..USUAL
    };
    section("a third team pushes and talks", &mut [pushed].into_iter());
    trantor_transcript::check_file(env!("CARGO_MANIFEST_DIR"), "tests/matches.txt", |_| played);
}

/// Plays two kinds for 5,000 units, or until one has won.
fn duel(kinds: [MindKind; 2], agents: u32, seed: u64) -> (Ended, Leap) {
    let setup = Setup {
        agents,
        seed,
        ..USUAL
    };
    let teams = ["red", "blue"].map(str::to_owned).to_vec();
    let mut leap = Leap::new(config(&setup, teams), &kinds);
    (leap.run(Some(GameTime::from_units(5_000))), leap)
}

/// Of a hundred seeds each wins more than ninety, by the goal or by level: `docs/minds.md`.
#[test]
fn each_opponent_beats_the_one_below_and_only_the_strongest_grows() {
    use MindKind::{Duo, Quartet, Sextet, Solo, Team};
    for kinds in [[Solo, Duo], [Duo, Quartet], [Quartet, Sextet], [Sextet, Team]] {
        let is_won = |seed: &u64| {
            let (ended, leap) = duel(kinds, 6, *seed);
            assert!(kinds[1] == Team || leap.joins() == 12, "{kinds:?} lay eggs");
            let levels = leap.highest_levels();
            match ended {
                Ended::Won(team) => team == TeamId(1),
                _ => levels[1] > levels[0],
            }
        };
        let won = (1..=5).filter(is_won).count();
        assert!(won >= 4, "{kinds:?}: {won} of 5");
    }
}

#[test]
fn opponents_too_few_for_their_party_rise_with_those_that_they_have() {
    for (agents, level) in [(1, 2), (3, 4), (5, 6)] {
        let (_, leap) = duel([MindKind::Solo, MindKind::Sextet], agents, 1);
        assert_eq!(leap.highest_levels()[1], level, "{agents} agents");
    }
}
