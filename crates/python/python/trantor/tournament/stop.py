"""When a pair of players has played enough: a sequential probability ratio test.

A. Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16 (1945).
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Stop:
    """The rule.

    An observation is a seed on a map, played twice with the teams swapped: who won more of the two. Seeds that were split say
    nothing and are left out. The hypotheses are that one player wins `share` of the others, and that the other one does;
    `risk` is the chance of either error (Wald's alpha and beta). With w and l seeds won by the one and by the other, the
    logarithm of the likelihood ratio is (w - l) ln(share / (1 - share)), and the test ends when it reaches
    ln((1 - risk) / risk) on either side: with a lead of `lead` seeds.
    """

    share: float = 0.7
    risk: float = 0.05

    @property
    def lead(self) -> int:
        """Seeds that one player must be ahead."""
        evidence = math.log((1 - self.risk) / self.risk) / math.log(self.share / (1 - self.share))
        # A quotient that is whole but for rounding is that whole number.
        return max(1, math.ceil(evidence - 1e-9))

    def settles(self, ahead: int) -> bool:
        """Whether the question is settled, in the order of the schedule, once a player is so many seeds ahead or behind."""
        return abs(ahead) >= self.lead
