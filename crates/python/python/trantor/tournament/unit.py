"""The unit of work: one match, as a pure function of what its key is made of.

Playing one twice is harmless: the outcome is the same, and it is stored once.
"""

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path

from .. import _core
from ..matches import Match, play
from .players import Player


@cache
def rules() -> str:
    """The version of the package and the digest of its native library, in which rules and built-in minds are."""
    library = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
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
    record: bool = field(default=False, compare=False)
    rules: str = field(default_factory=rules)

    @cached_property
    def key(self) -> str:
        """SHA-256 of all that the outcome depends on, in hexadecimal."""
        players = [[player.name, player.digest] for player in self.players]
        rest = [self.map, self.seed, self.agents, self.lag, self.max_units, self.answer_seconds]
        return hashlib.sha256(json.dumps([self.rules, players, rest]).encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """How a match ended. Words, seconds and attempts are of this run; the rest is the same whenever it is played."""

    winner: str | None = None
    """The name of a player; None for a draw and for a void match."""
    how: str = "draw"
    """`victory`, `ahead` (at the last unit the winner had the higher level), `forfeit` (the other was lost), `draw`, `void`."""
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
    match = play(
        [player.entry(unit.agents) for player in players],
        seed=unit.seed,
        map=unit.map,
        lag=unit.lag,
        max_units=unit.max_units,
        answer_seconds=unit.answer_seconds,
        record=unit.record,
    )
    return judged(unit, match, time.perf_counter() - began), match.recording


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
        # A lost team has no level, so that the other one wins at any level.
        reached = {name: level for name, level in zip(names, levels[-1][1], strict=True) if name not in troubles}
        best = [name for name, level in reached.items() if level == max(reached.values())]
        winner, how = (best[0], "forfeit" if troubles else "ahead") if len(best) == 1 else (None, "draw")
    words = {name: match.teams[name].last_words for name in troubles}
    for player in unit.players:
        if player.script and (said := [text for text in match.reports if player.script.name in text]):
            words[player.name] = said[-1]
    slowest = {player.name: match.teams[player.name].slowest_seconds for player in unit.players if player.command}
    return Outcome(winner, how, match.units, match.digest, levels, troubles, words, slowest, 1, seconds)


def to_json(unit: Unit, outcome: Outcome) -> str:
    """A row of the results, whole."""
    fields = "map", "seed", "agents", "lag", "max_units", "rules", "answer_seconds"
    asked = {"key": unit.key, "players": [player.name for player in unit.players]}
    return json.dumps(asked | {name: getattr(unit, name) for name in fields} | asdict(outcome))


def from_json(line: str) -> tuple[str, Outcome]:
    """The key and the outcome of a row."""
    row = json.loads(line)
    return row["key"], Outcome(**{name: row[name] for name in Outcome.__dataclass_fields__})
