"""The figures of a league, from the outcomes that count."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .league import League
from .ratings import Rating, rate
from .schedule import VOID, Pairing, Standing, rounds, standing
from .unit import Outcome, Unit


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

    @property
    def matches(self) -> list[tuple[Unit, Outcome]]:
        """What counts, in the order of the schedule."""
        return [each for _, standing in self.pairings for each in standing.counted]


def tables(league: League, outcomes: Mapping[str, Outcome]) -> Tables:
    """Counts. Outcomes beyond the end of a pairing, which several processes may have played in vain, change nothing."""
    pairings = [
        (pairing, each) for round, standings in _played(league, outcomes) for pairing, each in zip(round, standings, strict=True)
    ]
    counted = [each for _, standing in pairings for each in standing.counted]
    results = {
        unit.key: (unit.players[0].name, unit.players[1].name, outcome.winner)
        for unit, outcome in counted
        if outcome.how != VOID
    }
    names = [player.name for player in league.players]
    ratings = rate(names, results)
    rows = {name: Row(name, ratings[name]) for name in names}
    for unit, outcome in counted:
        for player in unit.players:
            row = rows[player.name]
            row.matches.append((unit, outcome))
            row.void += outcome.how == VOID
            row.drawn += outcome.how != VOID and outcome.winner is None
            row.won += outcome.winner == player.name
            row.lost += outcome.winner not in (None, player.name)
    return Tables(sorted(rows.values(), key=lambda row: (-row.rating.strength, row.name)), pairings)


def _played(
    league: League, outcomes: Mapping[str, Outcome]
) -> Iterator[tuple[list[Pairing], list[Standing]]]:
    """The rounds up to the first that is not whole."""
    for round in rounds(league, outcomes):
        standings = [standing(pairing, league.stop, outcomes) for pairing in round]
        yield round, standings
        if not all(each.done for each in standings):
            return


def level_curve(row: Row, moments: Sequence[float]) -> list[float]:
    """The highest level of a player's team at some moments, in units, as the mean of its matches. After the end it stays."""
    sums = [0.0] * len(moments)
    played = [(unit, outcome) for unit, outcome in row.matches if outcome.levels]
    for unit, outcome in played:
        place = [player.name for player in unit.players].index(row.name)
        times = [units for units, _ in outcome.levels]
        for number, moment in enumerate(moments):
            reached = bisect_right(times, moment)
            sums[number] += outcome.levels[reached - 1][1][place] if reached else 1
    return [total / len(played) for total in sums] if played else []
