//! Spectators who are told of the game later than it happens: all of it, in order, never early, and with a clock that fits.

use trantor_engine::{Control, EngineConfig, Token};
use trantor_game::AdminAction;
use trantor_time::{RealSpan, RealTime};

use crate::harness::{Bench, Heard, game_config};

const DELAY: RealSpan = RealSpan::from_secs(30);
/// What is delayed leaves on a grid.
const GRID: RealSpan = RealSpan::from_millis(50);
const TOKEN: &str = "correct-horse-battery";

fn bench(width: u32, height: u32, places: u32) -> Bench {
    let mut config = EngineConfig::new(game_config(width, height, places));
    config.control = Control::Token;
    config.token = Some(Token::read(TOKEN).unwrap());
    config.spectator_delay = DELAY;
    Bench::new(config)
}

/// From now on nothing happens by itself.
fn still(bench: &mut Bench) {
    bench.act(AdminAction::SetHunger { enabled: false });
    bench.act(AdminAction::SetRefill { enabled: false });
}

/// Agents that do something all the time, for `span`.
fn play(bench: &mut Bench, span: RealSpan) {
    let until = bench.now + span;
    let agents: Vec<usize> = ["a", "b", "a"].map(|team| bench.join("A", team)).to_vec();
    while bench.now < until {
        for &agent in &agents {
            bench.send(agent, b"Forward\nTake food\nRight\nBroadcast hi\n");
        }
        bench.run_for(RealSpan::from_millis(410));
    }
}

fn lines_of(heard: &[Heard], peer: usize) -> Vec<(RealTime, String)> {
    let mine = heard.iter().filter(|heard| heard.peer == peer);
    mine.map(|heard| (heard.real, heard.what.to_string())).collect()
}

#[test]
fn a_text_spectator_hears_all_of_it_later_and_whoever_controls_at_once() {
    let mut bench = bench(5, 5, 6);
    let controls = bench.join("C", &format!("GRAPHIC {TOKEN}"));
    let watches = bench.join("S", "GRAPHIC");
    let joined = bench.now;
    bench.send(watches, b"msz\ntna\n");
    let told: Vec<String> = bench.lines(watches);
    assert_eq!(
        told,
        ["WELCOME", "msz 5 5", "tna a", "tna b"],
        "what is no news is told at once"
    );
    play(&mut bench, RealSpan::from_secs(20));
    bench.send(controls, b"sst 150\n");
    bench.send(watches, b"sst 200\nbct 0 0\nsgt\n");
    play(&mut bench, RealSpan::from_secs(20));
    bench.run_for(DELAY + GRID);

    let heard = bench.take_heard();
    let (at_once, later) = (lines_of(&heard, controls), lines_of(&heard, watches));
    let refusal = "smg this server is controlled only by those who show its token (--token-file)";
    let (refused, later): (Vec<_>, Vec<_>) = later
        .into_iter()
        .partition(|(_, line)| line == "WELCOME" || line == "sbp" || line == refusal);
    assert_eq!(refused.len(), 2, "a refusal is no news of the game: {refused:?}");
    assert!(refused[1].0 < joined + DELAY);

    assert!(at_once.len() > 500, "{} lines", at_once.len());
    let mut news = later.iter();
    let mut answers = 0;
    for (told, line) in at_once.iter().filter(|(_, line)| line != "WELCOME") {
        loop {
            let (at, same) = news.next().expect("what one was told the other is told");
            if same == line {
                let lateness = *at - *told.max(&joined);
                assert!(
                    DELAY <= lateness && lateness <= DELAY + GRID,
                    "{line}: {lateness:?}"
                );
                break;
            }
            // What only the one who asked was told: the answers, and that it sees the past.
            answers += 1;
            let is_answer = [
                "bct 0 0",
                "sgt 150",
                "smg what you see is the game of 30 seconds ago",
            ];
            assert!(is_answer.iter().any(|start| same.starts_with(start)), "{same}");
        }
    }
    assert_eq!(answers + news.count(), 3);
}

/// More happens within the delay than is held for one viewer: a viewer of ours sees no more of it for a while, and then the
/// world as it is by then. Text viewers miss nothing.
#[test]
fn a_spectator_of_ours_is_thinned_before_anybody_is_let_go() {
    let mut bench = bench(5, 5, 500);
    still(&mut bench);
    for number in 0..1_000_usize {
        bench.join("A", ["a", "b"][number % 2]);
    }
    let text = bench.join("S", "GRAPHIC");
    let watches = bench.watch("V");
    let wait = |bench: &mut Bench, span| {
        bench.run_for(span);
        bench.take_heard();
        let viewer = bench.viewer(watches);
        (viewer.snapshots, viewer.changes)
    };
    wait(&mut bench, GRID);
    let thinned = |bench: &mut Bench| {
        let now = bench.now;
        bench.engine.stats(now).counters.viewers_thinned
    };
    // What everybody carries is told each time.
    let toggle = |bench: &mut Bench| {
        for enabled in [true, false] {
            bench.act(AdminAction::SetHunger { enabled });
        }
    };
    while thinned(&mut bench) == 0 {
        (0..10).for_each(|_| toggle(&mut bench));
        wait(&mut bench, GRID);
        assert!(bench.peers[watches].is_open);
    }
    // What was held is told, and then the world as it was when most of that was gone.
    let (snapshots, changes) = wait(&mut bench, DELAY + DELAY + GRID + GRID);
    assert_eq!(snapshots, 2);
    toggle(&mut bench);
    let told = wait(&mut bench, DELAY + GRID + GRID);
    assert_eq!(
        told,
        (2, changes + 2_000),
        "from then on it hears of everything again"
    );
    assert!(bench.peers[watches].is_open && bench.peers[text].is_open);
}
