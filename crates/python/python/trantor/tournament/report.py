"""The report of a league: one page that needs nothing but itself and, for its links, the recordings beside it."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from .league import League
from .schedule import VOID, Pairing, Standing
from .store import Store
from .tables import Row, Tables, level_curve, tables
from .unit import Outcome, Unit, rules

MOMENTS = 80
"""Points of a curve of levels: two pixels each."""
WORDS_CHARACTERS_MAX = 600
REASONS_MAX = 3
"""Of a player, the most frequent."""
LEVELS = 8


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


def write_report(league: League, store: Store) -> Path:
    """Writes `report.html` and answers where it is."""
    figures = tables(league, store.outcomes)
    done = all(each.done for _, each in figures.pairings)
    axis, standings = _standings(figures.rows)
    fields = {
        "name": escape(league.name),
        "summary": escape(_summary(league, figures)),
        "unfinished": "" if done else '<p class="notice">Not all of it is played yet.</p>',
        "axis": axis,
        "standings": standings,
        "matrix": _matrix(figures),
        "levels": _levels(figures.rows),
        "troubles": _troubles(figures.rows, store),
        "matches": "".join(_matches(pairing, standing, store) for pairing, standing in figures.pairings),
        "seeds": f"{_count(league.seeds, 'seed')} on {_count(len(league.maps), 'map')}",
        "most": 2 * league.seeds * len(league.maps),
        "rule": _rule(league, figures),
        "build": escape(rules()),
    }
    template = Template(files(__package__).joinpath("report.html").read_text())
    path = store.folder / "report.html"
    path.with_suffix(".new").write_text(template.substitute(fields))
    os.replace(path.with_suffix(".new"), path)
    return path


def _summary(league: League, figures: Tables) -> str:
    maps = ", ".join(f"{columns}×{rows}" for columns, rows in league.maps)
    void = sum(outcome.how == VOID for _, outcome in figures.matches)
    parts = [
        {"round-robin": "Round robin", "swiss": f"Swiss, {_count(league.rounds, 'round')}"}.get(
            league.kind, f"Gauntlet against {league.champion}"
        ),
        _count(len(league.players), "player"),
        _count(len(figures.matches), "match", "matches") + (f" ({void} void)" if void else ""),
        f"{league.agents} agents a team",
        f"map {maps}",
        f"lag {league.lag}",
        f"at most {league.max_units:,} units",
    ]
    return " · ".join(parts)


def _standings(rows: list[Row]) -> tuple[str, str]:
    """The axis of the ratings, and the rows."""
    low = min(row.rating.strength - row.rating.margin for row in rows)
    high = max(row.rating.strength + row.rating.margin for row in rows)
    width = 320.0

    def x(value: float) -> float:
        return 8 + (width - 16) * (value - low) / (high - low)

    def line(place: int, row: Row) -> str:
        middle, left, right = (x(row.rating.strength + side * row.rating.margin) for side in (0, -1, 1))
        bar = (
            f'<svg class="bar" viewBox="0 0 {width:.0f} 26" role="img" aria-label="95 % interval">'
            f'<line class="middle" x1="{x(25):.1f}" x2="{x(25):.1f}" y1="0" y2="26"/>'
            f'<path class="interval" d="M{left:.1f} 13H{right:.1f}M{left:.1f} 8v10M{right:.1f} 8v10"/>'
            f'<circle class="dot" cx="{middle:.1f}" cy="13" r="5.5"/></svg>'
        )
        total = max(1, row.played)
        shares = "".join(
            f'<i class="{name}" style="width:{100 * count / total:.1f}%"></i>'
            for name, count in (("won", row.won), ("drawn", row.drawn), ("lost", row.lost))
        )
        return (
            f'<tr><td class="number dim">{place}</td><th>{escape(row.name)}</th>'
            f'<td class="number strong">{row.rating.strength:.1f}</td><td class="number dim">± {row.rating.margin:.1f}</td>'
            f'<td>{bar}</td><td class="number">{row.won}</td><td class="number">{row.drawn}</td>'
            f'<td class="number">{row.lost}</td><td><span class="shares">{shares}</span></td></tr>'
        )

    ticks = range(-(-int(low) // 10) * 10, int(high) + 1, 10)
    axis = "".join(f'<text x="{x(tick):.1f}" y="14" text-anchor="middle">{tick}</text>' for tick in ticks)
    return axis, "".join(line(place, row) for place, row in enumerate(rows, 1))


def _matrix(figures: Tables) -> str:
    names = [row.name for row in figures.rows]
    won: Counter[tuple[str, str]] = Counter()
    played: Counter[frozenset[str]] = Counter()
    for unit, outcome in figures.matches:
        couple = frozenset(player.name for player in unit.players)
        played[couple] += outcome.how != VOID
        if outcome.winner is not None:
            won[outcome.winner, next(iter(couple - {outcome.winner}))] += 1

    def cell(row: str, column: str) -> str:
        total = played[frozenset((row, column))]
        if row == column or not total:
            return '<td class="none"></td>'
        mine, theirs = won[row, column], won[column, row]
        drawn = total - mine - theirs
        balance = (mine - theirs) / total
        side = "win" if balance > 0 else "loss"
        title = f"{row} against {column}: {mine} won, {drawn} drawn, {theirs} lost"
        anchor = "--".join(sorted((row, column)))
        return (
            f'<td class="cell {side}" style="--share:{70 * abs(balance):.0f}%" title="{escape(title)}">'
            f'<a href="#{escape(anchor)}">{mine}–{theirs}</a></td>'
        )

    head = "".join(f"<th><span>{escape(name)}</span></th>" for name in names)
    body = "".join(
        f"<tr><th>{escape(row)}</th>{''.join(cell(row, column) for column in names)}</tr>" for row in names
    )
    return f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody>"


def _levels(rows: list[Row]) -> str:
    end = max((outcome.units for row in rows for _, outcome in row.matches), default=0.0) or 1.0
    moments = [end * number / (MOMENTS - 1) for number in range(MOMENTS)]
    width, height, left, top = 260.0, 132.0, 22.0, 8.0

    def y(level: float) -> float:
        return top + (height - top - 20) * (LEVELS - level) / LEVELS

    def path(curve: Iterable[float]) -> str:
        step = (width - left - 8) / (MOMENTS - 1)
        return "M" + "L".join(f"{left + step * number:.1f} {y(level):.1f}" for number, level in enumerate(curve))

    curves = {row.name: level_curve(row, moments) for row in rows}
    grid = "".join(
        f'<line class="grid" x1="{left}" x2="{width - 8}" y1="{y(level):.1f}" y2="{y(level):.1f}"/>'
        f'<text x="{left - 6}" y="{y(level) + 4:.1f}" text-anchor="end">{level}</text>'
        for level in (0, 4, LEVELS)
    )
    others = "".join(f'<path class="other" d="{path(curve)}"/>' for curve in curves.values() if curve)
    pictures = (
        f'<figure><figcaption>{escape(name)} <span class="dim">{f"{curve[-1]:.1f}" if curve else "no match"}</span></figcaption>'
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="levels of {escape(name)} over time">{grid}{others}'
        + (f'<path class="own" d="{path(curve)}"/>' if curve else "")
        + f'<text x="{left}" y="{height - 4}">0</text>'
        f'<text x="{width - 8}" y="{height - 4}" text-anchor="end">{end:,.0f} units</text></svg></figure>'
        for name, curve in curves.items()
    )
    return "".join(pictures)


def _troubles(rows: list[Row], store: Store) -> str:
    """Programs, and other players that lost matches for a reason of their own: the most often first, then the slowest."""
    lines = []
    for row in rows:
        lost = [(unit, each) for unit, each in row.matches if row.name in each.troubles]
        seconds = ((each.slowest_seconds.get(row.name, 0.0), place) for place, (_, each) in enumerate(row.matches))
        slow = max(seconds, default=(0.0, 0))
        if not lost and not slow[0]:
            continue
        reasons = Counter(each.troubles[row.name] for _, each in lost).most_common(REASONS_MAX)
        why = "<br>".join(f'{escape(reason)} <span class="dim">×&nbsp;{count}</span>' for reason, count in reasons)
        words = escape(lost[-1][1].words.get(row.name, "")[-WORDS_CHARACTERS_MAX:]) if lost else ""
        unit = lost[-1][0] if lost else row.matches[slow[1]][0]
        slowest = f"{slow[0]:.3f} s" if slow[0] else ""
        lost_of = f"{len(lost)} of {len(row.matches)}"
        cells = f"<b>{escape(row.name)}</b>", lost_of, why, slowest, words and f"<pre>{words}</pre>", _link(unit, store)
        lines.append((-len(lost), -slow[0], cells))
    if not lines:
        return '<p class="dim">Every player played all its matches to their end.</p>'
    return _table("Player|#Lost|Why|#Slowest answer|Last words|", (cells for *_, cells in sorted(lines)))


def _matches(pairing: Pairing, standing: Standing, store: Store) -> str:
    first, second = pairing.first.name, pairing.second.name
    won = [outcome.winner for _, outcome in standing.counted]
    drawn = sum(outcome.winner is None and outcome.how != VOID for _, outcome in standing.counted)
    note = f" · {drawn} drawn" if drawn else ""
    if standing.settled:
        note += f" · settled after {len(won)} of {2 * len(pairing.units)}"
    elif not standing.done:
        note += " · unfinished"

    def cells(unit: Unit, outcome: Outcome) -> list[str]:
        teams = escape(" – ".join(player.name for player in unit.players))
        asked = [teams, f"{unit.map[0]}×{unit.map[1]}", f"{unit.seed}"]
        figures = [f"{outcome.units:,.0f}", f"{outcome.seconds:.2f}", _link(unit, store)]
        return [*asked, escape(outcome.winner or ""), _how(outcome), *figures]

    columns = "Teams in order|Map|#Seed|Winner|How|#Units|#Seconds|"
    return (
        f'<details id="{escape("--".join(sorted((first, second))))}"><summary><b>{escape(first)}</b> {won.count(first)} – '
        f'{won.count(second)} <b>{escape(second)}</b><span class="dim">{note}</span></summary>'
        f"{_table(columns, (cells(*each) for each in standing.counted))}</details>"
    )


def _table(columns: str, rows: Iterable[Iterable[str]]) -> str:
    """A table of HTML; columns whose names begin with # are numbers."""
    kinds = [' class="number"' if name.startswith("#") else "" for name in columns.split("|")]
    head = "".join(f"<th{kind}>{name.lstrip('#')}</th>" for kind, name in zip(kinds, columns.split("|"), strict=True))
    lines = ("".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table class="list"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _how(outcome: Outcome) -> str:
    troubles = "; ".join(f"{name}: {reason}" if name else reason for name, reason in outcome.troubles.items())
    return escape(f"{outcome.how}: {troubles}" if troubles else outcome.how)


def _link(unit: Unit, store: Store) -> str:
    name = store.recording(unit)
    return f'<a href="{escape(name)}">recording</a>' if (store.folder / name).exists() else ""


def _rule(league: League, figures: Tables) -> str:
    if league.stop is None:
        return ""
    stop, early = league.stop, sum(standing.settled for _, standing in figures.pairings)
    return (
        f" A pair stops early when the question who is better is settled, by the sequential probability ratio test of "
        f"Wald (1945). An observation is a seed on a map: who won more of its two matches; split ones say nothing. The hypotheses are "
        f"that one player wins {stop.share:.0%} of the others, and that the other one does. With a chance of {stop.risk:.0%} for an "
        f"error of either kind (alpha and beta) a lead of {stop.lead} seeds settles it. Of {_count(len(figures.pairings), 'pair')} "
        f"{early} stopped early."
    )


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
