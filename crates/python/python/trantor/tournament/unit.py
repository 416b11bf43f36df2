"""The unit of work: one match, as a pure function of what its key is made of.

Playing one twice is harmless: the outcome is the same, and it is stored once.
"""

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from .. import _checks
from .._core import SEATS_MAX, UNITS_MAX
from ..matches import SECONDS_MAX, Match, TeamResult, play
from ..programs import CONNECT_SECONDS, PROCESSES_MAX
from .players import Player

SPARE_SECONDS = 600.0
"""For the game itself, on a slow machine."""
SURVIVES_UNITS = 1_260
"""An agent that never eats lives for so long."""
CRITERIA = ("joins", "eats", *(f"level {level}" for level in range(2, 9)), f"survives {SURVIVES_UNITS} units")
"""What a player can reach in a match; the columns of `marks.csv`."""


@cache
def rules() -> str:
    """The version of the package and the digest of its native library, in which rules and built-in minds are."""
    library = hashlib.sha256(Path(import_module("trantor._core").__file__ or "").read_bytes()).hexdigest()
    return f"{version('trantor')}+{library[:16]}"


@dataclass(frozen=True)
class Unit:
    """A match to play.

    Args:
        players: in the order of the teams.
        map: columns and rows.
        seed: 0 to 2**64 - 1.
        agents: agents of each team at the start.
        lag: how broadcasts travel, as the server's option `--lag`.
        max_units: the match ends then, and the team with the higher level has won.
        answer_seconds: the longest wait for a command of a program.
        think_seconds: how long a script or a program may take for all its decisions together.
        record: keep a recording. It changes nothing in the outcome, so it is no part of the key.
        rules: the build that plays it; any other refuses it.
    """

    players: tuple[Player, ...]
    map: tuple[int, int] = (20, 20)
    seed: int = 1
    agents: int = 6
    lag: str = "off"
    max_units: int = 20_000
    answer_seconds: float = 5.0
    think_seconds: float = 300.0
    record: bool = field(default=False, compare=False)
    rules: str = field(default_factory=rules)

    def __post_init__(self) -> None:
        players = _checks.sequence("players", self.players, "players of a tournament, such as Player('red', 'team')")
        for player in players:
            if type(player) is not Player:
                raise TypeError(f"players must be players of a tournament, such as Player('red', 'team'), not {player!r}")
        checked = {
            "players": tuple(players),
            "map": _checks.sides("map", self.map),
            "seed": _checks.seed("seed", self.seed),
            "agents": _checks.whole("agents", self.agents, 1, SEATS_MAX),
            "lag": _checks.text("lag", self.lag, 'a text, such as "off" or "radio"'),
            "max_units": _checks.whole("max_units", self.max_units, 1, UNITS_MAX),
            "answer_seconds": _checks.number("answer_seconds", self.answer_seconds, 0.001, SECONDS_MAX),
            "think_seconds": _checks.number("think_seconds", self.think_seconds, 0.001, SECONDS_MAX),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def seconds_max(self) -> float:
        """A match that takes longer than this stands still: each player has thought, and each process has connected."""
        processes = max(self.agents, PROCESSES_MAX)
        return SPARE_SECONDS + len(self.players) * (self.think_seconds + processes * CONNECT_SECONDS)

    @cached_property
    def key(self) -> str:
        """SHA-256 of all that the outcome depends on, in hexadecimal."""
        players = [[player.name, player.digest] for player in self.players]
        rest = [self.map, self.seed, self.agents, self.lag, self.max_units, self.answer_seconds, self.think_seconds]
        return hashlib.sha256(json.dumps([self.rules, players, rest]).encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """How a match ended. Words, seconds and attempts are of this run; the rest is the same whenever it is played."""

    winner: str | None = None
    """The name of a player; None for a draw and for a void match."""
    how: str = "draw"
    """`victory`; `ahead`: at the last unit the winner had the higher level; `forfeit`: the other was lost; `reached`: neither had
    an agent left, and the winner had reached a higher level or lived longer; `draw`; `void`."""
    units: float = 0.0
    digest: str = ""
    levels: list[tuple[float, list[int]]] = field(default_factory=list)
    """The highest level in each team, in the order of the players, from the unit at which it changed."""
    troubles: dict[str, str] = field(default_factory=dict)
    """By player: why it lost its match. Of a void match, by an empty name: why."""
    words: dict[str, str] = field(default_factory=dict)
    """By player: of a program that was lost, the last that it wrote; of a script, the last that it logged."""
    slowest_seconds: dict[str, float] = field(default_factory=dict)
    """By program: the longest time that an answer took."""
    reached: dict[str, list[str]] = field(default_factory=dict)
    """By player: which of `CRITERIA` it has met."""
    attempts: int = 1
    seconds: float = 0.0


def play_unit(unit: Unit, *archives: bytes) -> tuple[Outcome, bytes | None]:
    """Plays a unit; answers its outcome, and the recording if it was asked for.

    Args:
        archives: of each player where its files are not at hand.

    Raises:
        ValueError: the match cannot be played; the message says why.
    """
    if unit.rules != rules():
        raise ValueError(f"the unit is of build {unit.rules}, and this machine has {rules()}: install the same wheel")
    players = unit.players
    if archives:
        players = tuple(player.unpacked(archive) for player, archive in zip(players, archives, strict=True))
    began = time.perf_counter()
    if any(player.fault is not None for player in players):
        return _forfeited(unit, players), None
    match = play(
        [player.entry(unit.agents) for player in players],
        seed=unit.seed,
        map=unit.map,
        lag=unit.lag,
        max_units=unit.max_units,
        answer_seconds=unit.answer_seconds,
        think_seconds=unit.think_seconds,
        record=unit.record,
    )
    return judged(unit, match, time.perf_counter() - began), match.recording


def _forfeited(unit: Unit, players: tuple[Player, ...]) -> Outcome:
    """The outcome of a match in which somebody cannot play: the other one wins if it starts."""
    outcome = Outcome()
    for player in players:
        if player.fault is not None:
            outcome.troubles[player.name] = player.fault
            continue
        match = play([player.entry(unit.agents)], seed=unit.seed, max_units=1, answer_seconds=unit.answer_seconds)
        if (lost := match.teams[player.name].lost) is not None:
            outcome.troubles[player.name] = lost
            outcome.words[player.name] = match.teams[player.name].last_words
    winner = next((player.name for player in players if player.name not in outcome.troubles), None)
    return replace(outcome, winner=winner, how="forfeit" if winner else "draw")


def judged(unit: Unit, match: Match, seconds: float) -> Outcome:
    """The outcome of a match that was played."""
    levels: list[tuple[float, list[int]]] = []
    for units, highest in match.levels:
        if not levels or levels[-1][1] != highest:
            levels.append((units, highest))
    names = [player.name for player in unit.players]
    troubles = {name: lost for name in names if (lost := match.teams[name].lost)}
    winner, how = match.winner, "victory"
    if winner not in names:
        at_end = dict(zip(names, levels[-1][1], strict=True))

        def rank(name: str) -> tuple[bool, int, int, float]:
            """A lost team has no level, so that the other one wins at any; of two that are gone, how far they came counts."""
            team, is_gone = match.teams[name], at_end[name] == 0
            return name not in troubles, at_end[name], is_gone * team.level, is_gone * team.alive_units

        first, second = sorted(names, key=rank, reverse=True)
        winner, how = first, "forfeit" if len(troubles) == 1 else "ahead" if at_end[first] else "reached"
        if rank(first) == rank(second):
            winner, how = None, "draw"
    words = {name: match.teams[name].last_words for name in troubles}
    for player in unit.players:
        if player.script and (said := [text for text in match.reports if player.script.name in text]):
            words[player.name] = said[-1]
    slowest = {player.name: match.teams[player.name].slowest_seconds for player in unit.players if player.command}
    reached = {name: _reached(match.teams[name]) for name in names}
    return Outcome(winner, how, match.units, match.digest, levels, troubles, words, slowest, reached, 1, seconds)


def _reached(team: TeamResult) -> list[str]:
    met = {
        "joins": team.joins > 0,
        "eats": team.food_taken > 0,
        # A victory is one of level 8.
        **{f"level {level}": team.joins > 0 and team.level >= level for level in range(2, 9)},
        f"survives {SURVIVES_UNITS} units": team.joins > 0 and team.longest_life_units > SURVIVES_UNITS,
    }
    return [criterion for criterion in CRITERIA if met[criterion]]


def to_json(unit: Unit, outcome: Outcome) -> str:
    """A row of the results, whole."""
    fields = "map", "seed", "agents", "lag", "max_units", "rules", "answer_seconds", "think_seconds"
    asked = {"key": unit.key, "players": [player.name for player in unit.players]}
    return json.dumps(asked | {name: getattr(unit, name) for name in fields} | asdict(outcome))


def from_json(line: str) -> tuple[str, Outcome]:
    """The key and the outcome of a row."""
    row = json.loads(line)
    # Other builds, whose results count for nothing here, may have had fewer.
    return row["key"], Outcome(**{name: row[name] for name in Outcome.__dataclass_fields__ if name in row})
