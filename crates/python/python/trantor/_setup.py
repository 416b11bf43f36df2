"""What a game is played with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from . import _checks
from ._core import ACTION_NAMES, SEATS_MAX, UNITS_MAX

DRAWN_SEED_MAX = 2**63
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
        # Before a list is made of any of it.
        agents = _checks.mapping("agents", self.agents, "agents by team, such as {'red': 6}")
        counts = {
            _checks.text("agents", team, "agents by the name of a team"): _checks.whole(
                f"agents of {team}", count, 1, SEATS_MAX
            )
            for team, count in agents.items()
        }
        most = self.most_agents
        if most is not None:
            most = _checks.whole("most_agents", most, max(counts.values(), default=1), SEATS_MAX)
        seats = sum(counts.values()) if most is None else most * len(counts)
        if seats > SEATS_MAX:
            raise ValueError(f"agents: all teams together have at most {SEATS_MAX:,} over time, not {seats:,}")
        opponents = [
            _checks.text("opponents", mind, "minds such as 'blue=team:6'")
            for mind in _checks.sequence("opponents", self.opponents, "a list of minds, such as ['blue=team:6']")
        ]
        every = _checks.whole("every", self.every, 1, UNITS_MAX)
        if self.observations not in ("arrays", "raw"):
            raise ValueError(f'observations must be "arrays" or "raw", not {self.observations!r}')
        rewards = {
            _checks.text("rewards", what, "numbers by name"): _checks.number(f"rewards: {what}", worth, -1e30, 1e30)
            for what, worth in _checks.mapping("rewards", self.rewards, "numbers by name, such as {'win': 10.0}").items()
        }
        checked = {
            "agents": counts,
            "opponents": opponents,
            "map": _checks.sides("map", self.map),
            "every": every,
            "max_cycles": _checks.whole(f"max_cycles of {every} units", self.max_cycles, 1, UNITS_MAX // every),
            "most_agents": most,
            "lag": _checks.text("lag", self.lag, 'a text, such as "off" or "radio"'),
            "rewards": rewards,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, options: Mapping[str, Any], others: Sequence[str] = ()) -> "Setup":
        """Makes one of keyword arguments.

        Args:
            others: what the caller takes itself, for the message about a name that is none.
        """
        _checks.known(options, [*(each.name for each in fields(cls)), *others])
        return cls(**options)

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
            "ends_together": False,
            "think_seconds": None,
        }


def action_number(agent: str, action: Any) -> int:
    """An action as a place in `ACTION_NAMES`.

    Raises:
        ValueError, TypeError: it is none.
    """
    return _checks.whole(f"the action of {agent}", action, 0, len(ACTION_NAMES) - 1)


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
