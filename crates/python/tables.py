"""`cargo xtask python --tables`: plays what docs/cluster.md, docs/lag.md and docs/learning.md quote, and writes it there.

All of it follows from seeds: the same build writes the same figures, on any machine.
"""

import sys
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).parent / "examples"))

import learn
import numpy as np

from trantor.tournament import Player, Unit, sweep

DOCS = Path(__file__).parents[2] / "docs"
SIDES, AGENTS = (10, 14, 20, 30, 42), (6, 8, 12)
SEEDS = range(20)
LAGS = (
    *("off", "radio", "noisy"),
    *(f"range={tiles}" for tiles in (5, 7, 9, 10, 12)),
    *("latency=5", "latency=20", "latency=50", "loss=5%", "loss=20%"),
    "range=7 loss=20% latency=20",
)
LEARNED_SEEDS = (1, 2, 3)


def sweep_row(side: int) -> str:
    """A row of the sweep: minimum, median and maximum of the units to victory on a map, by the size of the teams."""
    players = Player("red", "team"), Player("blue", "team")
    cells: list[str] = []
    for agents in AGENTS:
        outcomes = sweep(Unit(players, (side, side), seed, agents) for seed in SEEDS)
        units = [outcome.units for outcome in outcomes if outcome.how == "victory"]
        figures = " · ".join(f"{round(figure):,}" for figure in (min(units), median(units), max(units)))
        cells.append(figures if len(units) == len(SEEDS) else f"{figures}; {len(units)} of {len(SEEDS)} won")
    return "| " + " | ".join([f"{side}×{side}", *cells]) + " |"


def sweep_table() -> str:
    """Units until a victory, by the size of the map and of the teams."""
    head = "| Map | " + " | ".join(f"Teams of {agents}" for agents in AGENTS) + " |\n" + "|---" * (len(AGENTS) + 1) + "|\n"
    return head + "\n".join(map(sweep_row, SIDES))


def lag_row(lag: str) -> str:
    """Units to the victory of one of two teams under a setting of `--lag`."""
    players = Player("red", "team"), Player("blue", "team")
    outcomes = sweep(Unit(players, seed=seed, lag=lag) for seed in SEEDS)
    units = [outcome.units for outcome in outcomes if outcome.how == "victory"]
    figures = min(units), median(units), quantiles(units, n=10)[-1], max(units)
    return f"| `{lag}` | {len(units)} of {len(SEEDS)} | " + " | ".join(f"{round(figure):,}" for figure in figures) + " |"


def lag_table() -> str:
    """What lag costs a team."""
    head = "| `--lag` | Won | Minimum | Median | 90th percentile | Maximum |\n|---|---|---:|---:|---:|---:|\n"
    return head + "\n".join(map(lag_row, LAGS))


def learned_table() -> str:
    """How long the agents of the example live, by its seed."""
    rows = ["| Seed | At random | Mean of the first generation | Of the last | The policy, in new games |", "|---|---|---|---|---|"]
    for seed in LEARNED_SEEDS:
        generations = list(learn.learn(seed))
        first, last = (float(generations[place][0].mean()) for place in (0, -1))
        policy = learn.lifetimes(generations[-1][1][None], learn.NEW_GAMES)[0]
        if seed == LEARNED_SEEDS[0]:
            curve = np.array([lived for lived, _ in generations])
            (DOCS / "images" / "learning-curve.svg").write_text(learn.plot(curve, learn.at_random(seed)), encoding="utf-8")
        rows.append("| " + " | ".join([str(seed), *(f"{units:,.0f}" for units in (learn.at_random(seed), first, last, policy))]) + " |")
    return "\n".join(rows)


def written(page: str, name: str, table: str) -> str:
    """The text of a page with a table between its marks."""
    begin, end = f"<!-- {name}: cargo xtask python --tables -->\n", f"<!-- end of {name} -->"
    before, _, rest = page.partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        raise SystemExit(f"no place for the table {name}")
    return f"{before}{begin}{table}\n{end}{after}"


def main() -> None:
    tables = ("cluster.md", "sweep", sweep_table), ("lag.md", "lag", lag_table), ("learning.md", "learned", learned_table)
    for file, name, make in tables:
        path, table = DOCS / file, make()
        path.write_text(written(path.read_text(encoding="utf-8"), name, table), encoding="utf-8")
        print(f"{path} is written")


if __name__ == "__main__":
    main()
