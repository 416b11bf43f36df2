"""The report of a league: one page that needs nothing but itself and, for its links, the recordings beside it; and its marks.

What it looks like and says is in `report.html`, a template of jinja2; here are the figures that only the report has.
"""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined

from .builds import Build
from .league import League
from .schedule import VOID
from .store import Store, write_whole
from .tables import Row, level_curve, tables
from .unit import CRITERIA, Outcome, Unit, rules

MOMENTS = 80
"""Points of a curve of levels: two pixels each."""
WORDS_CHARACTERS_MAX = 600
REASONS_MAX = 3
"""Of a player, the most frequent."""


class Trouble(NamedTuple):
    """Why and how often a player has lost matches for a reason of its own, and how slow it was."""

    player: str
    lost: int
    played: int
    reasons: list[tuple[str, int]]
    slowest_seconds: float
    last_words: str
    match: Unit
    """The last that it lost so, or the slowest."""


def standings_text(league: League, outcomes: Mapping[str, Outcome]) -> str:
    """The final table as text. Equal results give equal texts."""
    rows: list[tuple[str, ...]] = [("", "player", "rating", "95 %", "played", "won", "drawn", "lost", "void")]
    for place, row in enumerate(tables(league, outcomes).rows, 1):
        rating = f"{row.rating.strength:.2f}", f"± {row.rating.margin:.2f}"
        counts = row.played, row.won, row.drawn, row.lost, row.void
        rows.append((str(place), row.name, *rating, *map(str, counts)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = "><" + ">" * 7
    lines = ([f"{cell:{side}{width}}" for cell, side, width in zip(row, aligned, widths, strict=True)] for row in rows)
    return "\n".join("  ".join(line) for line in lines)


def write_marks(league: League, store: Store) -> Path:
    """Writes `marks.csv`: a row a player, and in how many of its matches it met each criterion. Answers where it is."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["place", "player", "rating", "won", "drawn", "lost", "marked", *CRITERIA, "reason"])
    for place, row in enumerate(tables(league, store.outcomes).rows, 1):
        counts = row.won, row.drawn, row.lost, row.marked
        marks = (row.marks[criterion] for criterion in CRITERIA)
        rows.writerow([place, row.name, f"{row.rating.strength:.2f}", *counts, *marks, row.reason])
    path = store.folder / "marks.csv"
    # With the mark by which spreadsheets know UTF-8.
    write_whole(path, text.getvalue().encode("utf-8-sig"))
    return path


def write_report(league: League, store: Store, builds: Sequence[Build] = ()) -> Path:
    """Writes `report.html` and answers where it is."""
    figures = tables(league, store.outcomes)
    end = max((outcome.units for row in figures.rows for _, outcome in row.matches), default=0.0) or 1.0
    moments = [end * number / (MOMENTS - 1) for number in range(MOMENTS)]

    def recording(unit: Unit) -> str:
        name = store.recording(unit)
        return name if (store.folder / name).exists() else ""

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    page = environment.from_string(files("trantor.tournament").joinpath("report.html").read_text(encoding="utf-8")).render(
        league=league,
        figures=figures,
        duels=_duels(figures.matches),
        curves={row.name: level_curve(row, moments) for row in figures.rows},
        end=end,
        troubles=_troubles(figures.rows),
        recording=recording,
        builds=builds,
        criteria=CRITERIA,
        build=rules(),
    )
    path = store.folder / "report.html"
    write_whole(path, page.encode())
    return path


def _duels(matches: Iterable[tuple[Unit, Outcome]]) -> Mapping[tuple[str, str], Counter[str]]:
    """How often the first of two players has `won`, `drawn` and `lost` against the second."""
    duels: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for unit, outcome in matches:
        if outcome.how != VOID:
            first, second = (player.name for player in unit.players)
            for one, other in ((first, second), (second, first)):
                end = "drawn" if outcome.winner is None else "won" if outcome.winner == one else "lost"
                duels[one, other][end] += 1
    return duels


def _troubles(rows: Iterable[Row]) -> list[Trouble]:
    """Programs, and other players that lost matches for a reason of their own: the most often first, then the slowest."""
    troubles: list[Trouble] = []
    for row in rows:
        lost = [(unit, outcome) for unit, outcome in row.matches if row.name in outcome.troubles]
        slowest = max(row.matches, key=lambda match: match[1].slowest_seconds.get(row.name, 0.0), default=None)
        seconds = slowest[1].slowest_seconds.get(row.name, 0.0) if slowest else 0.0
        if slowest and (lost or seconds):
            unit, outcome = lost[-1] if lost else slowest
            reasons = Counter(outcome.troubles[row.name] for _, outcome in lost).most_common(REASONS_MAX)
            words = outcome.words.get(row.name, "")[-WORDS_CHARACTERS_MAX:] if lost else ""
            troubles.append(Trouble(row.name, len(lost), len(row.matches), reasons, seconds, words, unit))
    return sorted(troubles, key=lambda trouble: (-trouble.lost, -trouble.slowest_seconds))
