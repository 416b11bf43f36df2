"""The figures of a league, from the outcomes that count. Ratings are by the library openskill."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from openskill.models import PlackettLuce

from .league import League
from .schedule import VOID, Pairing, Standing, rounds, standing
from .unit import CRITERIA, Outcome, Unit

PASSES = 16
"""The model weighs late results more, and no match of a league is late: the mean over so many orders, half of them reversed."""
DEVIATIONS_95 = 1.96


@dataclass(frozen=True)
class Rating:
    """Strength of a player and half the width of its 95 % interval. A player without matches has 25 ± 16.3."""

    strength: float
    margin: float

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.strength - self.margin

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.strength + self.margin


@dataclass
class Row:
    """What a player did."""

    name: str
    rating: Rating
    won: int = 0
    drawn: int = 0
    lost: int = 0
    void: int = 0
    matches: list[tuple[Unit, Outcome]] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CRITERIA, 0))
    """In how many of its matches it has met each of `CRITERIA`."""
    marked: int = 0
    """Of how many: not of those that it won because the other one could not play at all."""

    @property
    def reason(self) -> str:
        """Why it has lost matches, most often; empty if it has lost none so."""
        reasons = Counter(outcome.troubles[self.name] for _, outcome in self.matches if self.name in outcome.troubles)
        return reasons.most_common(1)[0][0] if reasons else ""

    @property
    def played(self) -> int:
        """Matches with a result."""
        return self.won + self.drawn + self.lost


@dataclass(frozen=True)
class Tables:
    """All that a report shows."""

    rows: list[Row]
    """The best first."""
    pairings: list[tuple[Pairing, Standing]]
    matches: list[tuple[Unit, Outcome]]
    """What counts, in the order of the schedule."""


def tables(league: League, outcomes: Mapping[str, Outcome]) -> Tables:
    """Counts. Outcomes beyond the end of a pairing, which several processes may have played in vain, change nothing."""
    pairings: list[tuple[Pairing, Standing]] = []
    for round in rounds(league, outcomes):
        pairings += [(pairing, standing(pairing, league.stop, outcomes)) for pairing in round]
        # The next round follows from a whole one.
        if not all(each.done for _, each in pairings):
            break
    matches = [each for _, standing in pairings for each in standing.counted]
    results = {
        unit.key: (unit.players[0].name, unit.players[1].name, outcome.winner)
        for unit, outcome in matches
        if outcome.how != VOID
    }
    ratings = rate([player.name for player in league.players], results)
    rows = {name: Row(name, rating) for name, rating in ratings.items()}
    for unit, outcome in matches:
        for player in unit.players:
            row = rows[player.name]
            row.matches.append((unit, outcome))
            row.void += outcome.how == VOID
            row.drawn += outcome.how != VOID and outcome.winner is None
            row.won += outcome.winner == player.name
            row.lost += outcome.winner not in (None, player.name)
            row.marked += player.name in outcome.reached or player.name in outcome.troubles
            for criterion in outcome.reached.get(player.name, []):
                row.marks[criterion] += 1
    return Tables(sorted(rows.values(), key=lambda row: (-row.rating.strength, row.name)), pairings, matches)


def rate(names: Sequence[str], results: Mapping[str, tuple[str, str, str | None]]) -> dict[str, Rating]:
    """Rates players.

    Args:
        results: by the key of the unit: two players and the winner, None for a draw. Their order changes nothing: they are
            taken by key, and shuffled in the same way each time.
    """
    # Players do not change between matches, so that nothing is added to the uncertainty.
    model = PlackettLuce(tau=0)
    sums = dict.fromkeys(names, (0.0, 0.0))
    order = [results[key] for key in sorted(results)]
    for number in range(PASSES):
        if number % 2:
            order.reverse()
        else:
            random.Random(number).shuffle(order)
        ratings = {name: model.rating() for name in names}
        for first, second, winner in order:
            ranks = [float(winner == second), float(winner == first)]
            rated = model.rate([[ratings[first]], [ratings[second]]], ranks=ranks)
            ratings[first], ratings[second] = rated[0][0], rated[1][0]
        for name in names:
            strength, deviation = sums[name]
            sums[name] = strength + ratings[name].mu, deviation + ratings[name].sigma
    return {
        name: Rating(strength / PASSES, DEVIATIONS_95 * deviation / PASSES)
        for name, (strength, deviation) in sums.items()
    }


def level_curve(row: Row, moments: Sequence[float]) -> list[float]:
    """The highest level of a player's team at some moments, in units, as the mean of its matches. After the end it stays."""
    curves: list[npt.NDArray[np.int64]] = []
    for unit, outcome in row.matches:
        if outcome.levels:
            place = [player.name for player in unit.players].index(row.name)
            reached = np.searchsorted([units for units, _ in outcome.levels], moments, side="right")
            curves.append(np.array([1, *(levels[place] for _, levels in outcome.levels)])[reached])
    return np.mean(curves, axis=0).tolist() if curves else []
