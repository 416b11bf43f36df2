"""What a game is played with."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._core import ACTION_NAMES

SEED_MAX = 2**63
"""Seeds of games are drawn below it."""
LINE_BYTES_MAX = 16 * 1024
"""Longest command line, as on the server."""


@dataclass(frozen=True)
class Setup:
    """A map, its teams and who plays them.

    Args:
        agents: agents that the caller decides for, by team.
        opponents: minds of the server, as its option `--mind` takes them: `"blue=duo:6"`,
            `"blue=script:scout.luau:6,every=20"`. From weak to strong: `solo`, `duo`, `quartet`, `sextet`, `team`.
        map: columns and rows, 1 to 1,000 each.
        every: units between two decisions of an agent, 1 or more. Most commands take 7.
        max_cycles: the game is truncated after this many times `every` units.
        most_agents: agents that a team of the caller may have one after the other, those of the start included. More than at
            the start lets a team grow by `fork`. Default: as many as at the start.
        lag: how broadcasts travel, as the server's option `--lag`: `"off"`, `"radio"`, `"noisy"` or settings.
        observations: `"arrays"`, or `"raw"`: agents observe and send lines of the text protocol.
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
    observations: str = "arrays"
    # A victory is worth more than all levels of an agent together.
    rewards: Mapping[str, float] = field(default_factory=lambda: {"win": 10.0, "lose": -1.0, "level": 1.0, "death": -1.0})

    def __post_init__(self) -> None:
        if self.observations not in ("arrays", "raw"):
            raise ValueError(f'observations must be "arrays" or "raw", not {self.observations!r}')

    @property
    def is_raw(self) -> bool:
        """Whether agents observe and send lines."""
        return self.observations == "raw"

    def seats(self) -> list[str]:
        """The names of all agents that may ever live, in the order of the arrays' rows."""
        return [
            f"{team}_{index}"
            for team, count in self.agents.items()
            for index in range(self._seats(count))
        ]

    def _seats(self, count: int) -> int:
        return count if self.most_agents is None else self.most_agents

    def native(self) -> dict[str, Any]:
        """The same for the native library, which checks it."""
        return {
            "map": self.map,
            "teams": [(team, count, self._seats(count), self.is_raw) for team, count in self.agents.items()],
            "order": [],
            "opponents": list(self.opponents),
            "every": self.every,
            "max_units": self.every * self.max_cycles,
            "lag": self.lag,
            "rewards": list(self.rewards.items()),
        }


def action_number(agent: str, action: Any) -> int:
    """An action as a place in `ACTION_NAMES`.

    Raises:
        ValueError, TypeError: it is none.
    """
    # Of NumPy too, which is not imported here: matches do without it.
    is_number = hasattr(action, "__index__") and not isinstance(action, bool)
    if not is_number:
        raise TypeError(f"the action of {agent} must be a whole number, not {action!r}")
    number = operator.index(action)
    if not 0 <= number < len(ACTION_NAMES):
        raise ValueError(f"the action of {agent} must be 0 to {len(ACTION_NAMES) - 1}, not {action}")
    return number


def command_line(agent: str, action: Any) -> bytes:
    """A line of the text protocol without its end, as bytes.

    Raises:
        ValueError, TypeError: it is none.
    """
    if not isinstance(action, str):
        raise TypeError(f"the action of {agent} must be a line such as 'Take food', not {action!r}")
    line = action.encode(errors="surrogateescape").removesuffix(b"\n")
    if b"\n" in line or len(line) > LINE_BYTES_MAX:
        raise ValueError(f"the action of {agent} must be one line of at most {LINE_BYTES_MAX} bytes")
    return line
