"""What a game is played with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SEED_MAX = 2**63
"""Seeds of games are drawn below it."""
DEFAULT_REWARDS: Mapping[str, float] = {"win": 10.0, "lose": -1.0, "level": 1.0, "death": -1.0}
"""A victory is worth more than all levels of an agent together."""


@dataclass(frozen=True)
class Setup:
    """A map, its teams and who plays them.

    Args:
        agents: agents that the caller decides for, by team.
        opponents: minds of the server, as its option `--mind` takes them: `"blue=team:6"`,
            `"blue=script:scout.luau:6,every=20"`.
        map: columns and rows, 1 to 1,000 each.
        every: units between two decisions of an agent, 1 or more. Most commands take 7.
        max_cycles: the game is truncated after this many times `every` units.
        most_agents: agents that a team of the caller may have one after the other, those of the start included. More than at
            the start lets a team grow by `fork`. Default: as many as at the start.
        lag: how broadcasts travel, as the server's option `--lag`: `"off"`, `"radio"`, `"noisy"` or settings.
        rewards: what `win`, `lose`, `level`, `death`, `unit`, `food` and `stone` are worth to an agent. What is not named is
            worth nothing.
    """

    agents: Mapping[str, int] = field(default_factory=lambda: {"red": 6, "blue": 6})
    opponents: Sequence[str] = ()
    map: tuple[int, int] = (20, 20)
    every: int = 7
    max_cycles: int = 1_000
    most_agents: int | None = None
    lag: str = "off"
    rewards: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_REWARDS))

    def seats(self) -> list[str]:
        """The names of all agents that may ever live, in the order of the arrays' rows."""
        return [
            f"{team}_{index}"
            for team, count in self.agents.items()
            for index in range(self._seats(count))
        ]

    def _seats(self, count: int) -> int:
        return count if self.most_agents is None else self.most_agents

    def native(self) -> "NativeSetup":
        """The same for the native library, which checks it."""
        return NativeSetup(
            map=self.map,
            teams=[(team, count, self._seats(count)) for team, count in self.agents.items()],
            opponents=list(self.opponents),
            every=self.every,
            max_units=self.every * self.max_cycles,
            lag=self.lag,
            rewards=list(self.rewards.items()),
        )


@dataclass(frozen=True)
class NativeSetup:
    """The fields that the native library reads."""

    map: tuple[int, int]
    teams: list[tuple[str, int, int]]
    opponents: list[str]
    every: int
    max_units: int
    lag: str
    rewards: list[tuple[str, float]]
