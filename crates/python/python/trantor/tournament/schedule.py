"""Who meets whom, in which order, and what of it counts.

Everything here is a function of the league and of outcomes by key, never of the order in which outcomes came. That is why a
run on one process, on many, on a cluster, or in two halves ends in the same table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from .league import League, Stop
from .players import Player
from .unit import Outcome, Unit

VOID = "void"


@dataclass(frozen=True)
class Pairing:
    """Two players who meet. A seed on a map is two units, with the teams swapped: no place is an advantage."""

    round: int
    first: Player
    second: Player
    units: tuple[tuple[Unit, Unit], ...]


@dataclass(frozen=True)
class Standing:
    """How far a pairing is: the outcomes that count, and whether there is nothing more to play."""

    counted: list[tuple[Unit, Outcome]]
    settled: bool
    """The rule ended it before its last seed."""
    done: bool


def pairing(league: League, round: int, first: Player, second: Player) -> Pairing:
    """The matches of two players: seeds in order, each on every map."""
    rest = league.agents, league.lag, league.max_units, league.answer_seconds, league.think_seconds, league.record
    pairs = (
        (Unit((first, second), map, seed, *rest), Unit((second, first), map, seed, *rest))
        for seed in range(1, league.seeds + 1)
        for map in league.maps
    )
    return Pairing(round, first, second, tuple(pairs))


def standing(pairing: Pairing, stop: Stop | None, outcomes: Mapping[str, Outcome]) -> Standing:
    """What counts of a pairing: its seeds in order, up to the first that is not played or up to where the rule ends it."""
    seeds_ahead = 0
    counted: list[tuple[Unit, Outcome]] = []
    for place, pair in enumerate(pairing.units, 1):
        both = [(unit, outcomes[unit.key]) for unit in pair if unit.key in outcomes]
        if len(both) < len(pair):
            return Standing(counted, False, False)
        counted += both
        seeds_ahead += ahead(pairing, both)
        if stop is not None and stop.settles(seeds_ahead):
            return Standing(counted, place < len(pairing.units), True)
    return Standing(counted, False, True)


def ahead(pairing: Pairing, counted: Sequence[tuple[Unit, Outcome]]) -> int:
    """Who won more of some matches: 1, the first player; -1, the second; 0, neither."""
    winners = [each.winner for _, each in counted]
    first, second = winners.count(pairing.first.name), winners.count(pairing.second.name)
    return (first > second) - (first < second)


def rounds(league: League, outcomes: Mapping[str, Outcome]) -> Iterator[list[Pairing]]:
    """The rounds in order. Each but the first looks at the outcomes of those before, which must be there by then."""
    if league.kind == "gauntlet":
        champion = next(player for player in league.players if player.name == league.champion)
        yield [pairing(league, 1, champion, other) for other in league.players if other != champion]
    elif league.kind == "round-robin":
        yield [pairing(league, 1, first, second) for first, second in combinations(league.players, 2)]
    else:
        yield from _swiss(league, outcomes)


def _swiss(league: League, outcomes: Mapping[str, Outcome]) -> Iterator[list[Pairing]]:
    points = dict.fromkeys(league.players, 0.0)
    met: set[frozenset[Player]] = set()
    free: set[Player] = set()
    for number in range(1, league.rounds + 1):
        # By points; equals as they are in the file.
        order = sorted(league.players, key=lambda player: -points[player])
        if len(order) % 2:
            alone = next(player for player in reversed(order) if player not in free)
            order.remove(alone)
            free.add(alone)
            points[alone] += 1
        couples = _couples(order, met)
        assert couples is not None, "the league has at most half as many rounds as players"
        round = [pairing(league, number, first, second) for first, second in couples]
        yield round
        for each in round:
            met.add(frozenset((each.first, each.second)))
            won = ahead(each, standing(each, league.stop, outcomes).counted)
            points[each.first] += (1 + won) / 2
            points[each.second] += (1 - won) / 2


def _couples(order: list[Player], met: set[frozenset[Player]]) -> list[tuple[Player, Player]] | None:
    """Pairs neighbours who have not met; None if it cannot be done."""
    if not order:
        return []
    first, *others = order
    for second in others:
        if frozenset((first, second)) not in met:
            rest = _couples([other for other in others if other != second], met)
            if rest is not None:
                return [(first, second), *rest]
    return None
