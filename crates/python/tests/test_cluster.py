"""Tournaments on a Ray cluster: the table of the local run, whatever happens to a node."""

from contextlib import closing
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster

from trantor.tournament import make_runner
from trantor.tournament.league import read
from trantor.tournament.report import standings_text
from trantor.tournament.run import Shown, play
from trantor.tournament.store import Store

SCRIPT = Path(__file__).parents[3] / "assets" / "minds" / "first.luau"
MATCHES = 200
LEAGUE = f"""
[tournament]
seeds = {MATCHES // 2}
maps = [[8, 8]]
max_units = 600
record = false
stop = false
[[player]]
name = "ada"
mind = "team"
[[player]]
name = "bob"
mind = "script:{SCRIPT}"
"""


@pytest.fixture
def cluster():
    """Two nodes with a processor each."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    made.shutdown()


class LosesANode(Shown):
    """Ends a node when half of the matches are played. Both have two to play at any time."""

    def __init__(self, cluster):
        super().__init__()
        self.cluster, self.node, self.lost_at = cluster, cluster.add_node(num_cpus=1), None

    def advance(self, left):
        if left <= MATCHES // 2 and self.lost_at is None:
            self.cluster.remove_node(self.node, allow_graceful=False)
            self.lost_at = left


def test_a_cluster_that_loses_a_node_ends_in_the_table_of_the_local_run(cluster, tmp_path):
    (tmp_path / "league.toml").write_text(LEAGUE)
    league = read(tmp_path / "league.toml")
    progress = LosesANode(cluster)
    tables, stored = [], []
    for where, shown in ((f"ray:{cluster.address}", progress), ("local", Shown())):
        with closing(Store(tmp_path / where[:3])) as store, closing(make_runner(where)) as runner:
            play(league, store, runner, shown)
            tables.append(standings_text(league, store.outcomes))
        lines = (tmp_path / where[:3] / "results.jsonl").read_text().splitlines()
        assert len(lines) == MATCHES == len(store.outcomes)
        stored.append({key: (each.winner, each.how, each.digest, each.levels) for key, each in store.outcomes.items()})
    assert progress.lost_at == MATCHES // 2
    assert tables[0] == tables[1] and stored[0] == stored[1]
    assert len({digest for _, _, digest, _ in stored[0].values()}) == MATCHES
