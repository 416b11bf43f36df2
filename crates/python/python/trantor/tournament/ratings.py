"""Ratings of players, by the library openskill."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openskill.models import PlackettLuce

PASSES = 16
"""The model weighs late results more, and no match of a league is late: the mean over so many orders, half of them reversed."""
DEVIATIONS_95 = 1.96


@dataclass(frozen=True)
class Rating:
    """Strength of a player and half the width of its 95 % interval. A player without matches has 25 ± 16.3."""

    strength: float
    margin: float


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
