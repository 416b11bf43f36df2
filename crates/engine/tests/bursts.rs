//! What text viewers are told of a large world when they begin to watch: in pieces, while the game goes on.

mod harness;

use std::collections::{BTreeMap, BTreeSet};

use harness::{Bench, game_config};
use trantor_engine::{AdminRequest, EngineConfig, limits};
use trantor_game::{AdminAction, Game};
use trantor_model::{AgentId, Counts, Resource, TeamId, Tile};
use trantor_time::RealSpan;

/// Tiles on a side: some pieces of the map's description.
const SIDE: u16 = 200;

/// A viewer as strict as the strictest that are known: whatever it is told of has to be there already.
#[derive(Default)]
struct StrictViewer {
    tiles: BTreeMap<(u16, u16), Vec<String>>,
    teams: BTreeSet<String>,
    agents: BTreeMap<u32, (u16, u16)>,
    eggs: BTreeSet<u32>,
}

impl StrictViewer {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.trim_start_matches('#').parse::<u32>().expect("a number");
        let place = |index: usize| {
            let [x, y] = [index, index + 1].map(|index| words[index].parse().expect("a coordinate"));
            (x, y)
        };
        match words[0] {
            "msz" => assert!(self.tiles.is_empty(), "the size comes first"),
            "WELCOME" | "sgt" => {}
            "bct" => drop(
                self.tiles
                    .insert(place(1), words[3..].iter().map(ToString::to_string).collect()),
            ),
            "tna" => {
                assert_eq!(self.tiles.len(), usize::from(SIDE).pow(2), "tiles before teams");
                self.teams.insert(words[1].to_owned());
            }
            "pnw" => {
                assert!(self.teams.contains(words[6]), "teams before agents: {line}");
                let before = self.agents.insert(number(words[1]), place(2));
                assert_eq!(before, None, "nobody comes twice: {line}");
            }
            "ppo" => {
                let before = self.agents.insert(number(words[1]), place(2));
                assert!(before.is_some(), "nobody unknown walks: {line}");
            }
            "pin" | "plv" | "pgt" | "pdr" | "pfk" => {
                assert!(self.agents.contains_key(&number(words[1])), "{line}");
            }
            "pdi" => assert!(self.agents.remove(&number(words[1])).is_some(), "{line}"),
            "enw" => assert!(self.eggs.insert(number(words[1])), "{line}"),
            "ebo" => assert!(self.eggs.remove(&number(words[1])), "{line}"),
            other => panic!("{other} is not expected here: {line}"),
        }
    }

    fn assert_knows(&self, game: &Game) {
        let size = game.config().size;
        for tile in (0..size.area()).map(|index| size.tile_at(index)) {
            let ground = game.world().ground(tile);
            let counts = Resource::ALL.map(|resource| ground[resource].to_string());
            assert_eq!(self.tiles[&(tile.x, tile.y)], counts, "{tile:?}");
        }
        let agents = game.world().agents();
        let agents = agents.map(|agent| (agent.id().0, (agent.tile().x, agent.tile().y)));
        assert!(self.agents.iter().map(|(id, at)| (*id, *at)).eq(agents));
        assert!(
            self.eggs
                .iter()
                .copied()
                .eq(game.world().eggs().map(|egg| egg.id.0))
        );
    }
}

fn one(resource: Resource) -> Counts {
    let mut counts = Counts::ZERO;
    counts[resource] = 1;
    counts
}

/// The whole life of a game goes on between the pieces; the viewer is told of no one it does not know, and knows all in
/// the end.
#[test]
fn r_000_48_a_large_world_is_told_piece_by_piece_while_it_changes() {
    let mut bench = Bench::new(EngineConfig::new(game_config(SIDE.into(), SIDE.into(), 9)));
    let walker = bench.join("walker", "a");
    bench.join("victim", "a");
    bench.act(AdminAction::SetRefill { enabled: false });
    let (first, last) = (
        Tile { x: 0, y: 0 },
        Tile {
            x: SIDE - 1,
            y: SIDE - 1,
        },
    );
    bench.put_agent(0, first.x, first.y, trantor_model::Direction::East);
    for tile in [first, last] {
        let ground = one(Resource::Food);
        bench.act(AdminAction::SetGround { tile, ground });
    }
    bench.send(walker, b"Take food\nForward\n");
    bench.run_for(RealSpan::from_millis(70) - RealSpan::from_nanos(1));

    let viewer = bench.join("G", "GRAPHIC");
    bench.send(viewer, b"sgt\n");
    let heard = bench.lines(viewer);
    assert!(heard.len() > 500 && !heard.iter().any(|line| line.starts_with("tna")));
    // All of this is between two pieces: what lies on a tile that was told of is taken, another tile changes,
    // somebody dies, somebody comes, an egg is laid, the speed changes.
    bench.now += RealSpan::from_nanos(1);
    let ground = one(Resource::Thystame);
    bench.act(AdminAction::SetGround { tile: last, ground });
    bench.act(AdminAction::Kill { agent: AgentId(1) });
    bench.join("newcomer", "b");
    let (team, tile) = (TeamId(0), first);
    bench.act(AdminAction::LayEgg { team, tile });
    bench.admin(AdminRequest::SetFrequency(50)).expect("a frequency");
    let mut all = heard;
    all.extend(bench.lines(viewer));
    assert!(
        !all.iter().any(|line| line.starts_with("tna")),
        "all of that happened between the pieces"
    );
    bench.run_for(RealSpan::from_millis(300));
    all.extend(bench.lines(viewer));

    assert!(
        all.iter().any(|line| line == "bct 0 0 0 0 0 0 0 0 0"),
        "it saw the food go"
    );
    assert!(
        all.iter().any(|line| line.starts_with("ppo #0 1 0")),
        "and the walker walk"
    );
    let speeds: Vec<_> = all.iter().filter(|line| line.starts_with("sgt")).collect();
    assert_eq!(
        speeds,
        ["sgt 100", "sgt 50", "sgt 50"],
        "the answer comes after the pieces"
    );
    let mut strict = StrictViewer::default();
    all.iter().for_each(|line| strict.hear(line));
    strict.assert_knows(bench.engine.game());
}

/// What is written for a viewer that does not read is one piece, whatever the size of the map.
#[test]
fn r_002_57_a_viewer_that_does_not_read_is_owed_one_piece_of_the_map() {
    let mut bench = Bench::new(EngineConfig::new(game_config(SIDE.into(), SIDE.into(), 9)));
    let viewer = bench.open("G");
    bench.peers[viewer].is_reading = false;
    bench.send(viewer, b"GRAPHIC\n");
    bench.run_for(RealSpan::from_secs(1));
    let conn = bench.peers[viewer].conn;
    let owed = bench.engine.unsent(conn).len();
    assert!(
        (limits::OUTBOX_PAUSE_BYTES..limits::OUTBOX_PAUSE_BYTES + 1_000).contains(&owed),
        "{owed}"
    );
    bench.peers[viewer].is_reading = true;
    bench.take_writes(viewer);
    bench.run_for(RealSpan::from_secs(1));
    let mut strict = StrictViewer::default();
    bench.lines(viewer).iter().for_each(|line| strict.hear(line));
    strict.assert_knows(bench.engine.game());
}
