"""The file of a league: players, maps, limits, and the rule that stops a pair.

Reads and checks it. Every error names the key and what it accepts.
"""

import difflib
import math
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..matches import play
from .players import Player, examined, is_within, name_of

KINDS = ("round-robin", "swiss", "gauntlet")
PLAYERS_MAX = 256
"""A round robin of so many has 32,640 pairings: weeks of matches."""
SEEDS_MAX = 10_000


@dataclass(frozen=True)
class Stop:
    """When a pair has played enough: a sequential probability ratio test, which docs/python.md describes.

    A. Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16 (1945). The logarithm of the
    likelihood ratio is (w - l) ln(share / (1 - share)) with w and l seeds won by the one and by the other, and the test ends
    when it reaches ln((1 - risk) / risk) on either side.
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
        """Whether the question is settled once a player is so many seeds ahead, or behind."""
        return abs(ahead) >= self.lead


@dataclass(frozen=True)
class League:
    """A league, as its file has it.

    `seeds` are played by each pair of players on each map, and each of them twice, with the order of the teams swapped.
    `rounds` are those of a Swiss tournament, and `champion` is whom all others meet in a gauntlet.
    """

    name: str
    kind: str
    players: tuple[Player, ...]
    maps: tuple[tuple[int, int], ...]
    seeds: int
    agents: int
    max_units: int
    answer_seconds: float
    think_seconds: float
    lag: str
    record: bool
    rounds: int
    champion: str | None
    stop: Stop | None


def read(path: Path) -> League:
    """Reads the file of a league. Files of players are relative to it.

    Raises:
        ValueError: something is not as described in docs/python.md; the message says what is accepted.
        OSError: it cannot be read.
    """
    try:
        # Editors of Windows write a byte order mark.
        whole = _Table(tomllib.loads(path.read_text(encoding="utf-8-sig")), "")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text in UTF-8: {error}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
    table = _Table(whole.get("tournament", dict, "a table [tournament]"), "tournament.")
    entries = whole.get("player", list, "tables [[player]]", [])
    whole.end()
    folder = path.parent.resolve()
    players: list[Player] = []
    for entry in entries:
        players += _players(_Table(entry, "player."), folder, [player.name for player in players])
    names = [player.name for player in players]
    if not 2 <= len(players) <= PLAYERS_MAX:
        raise ValueError(f"player: 2 to {PLAYERS_MAX} tables [[player]], not {len(players)}")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"player.name: each once, and {twice} is there twice")
    kind = table.get("kind", str, " or ".join(f'"{kind}"' for kind in KINDS), KINDS[0], KINDS.__contains__)
    champion = None
    if kind == "gauntlet":
        champion = table.get("champion", str, "the name of a player", accepts=names.__contains__)
    # Every player finds one whom it has not met as long as no more rounds were played than half of them.
    usual, most = (len(players) - 1).bit_length(), max(1, len(players) // 2)
    rounds = 1
    if kind == "swiss":
        rounds = table.get("rounds", int, f"1 to {most}, half the players", min(usual, most), lambda n: 1 <= n <= most)
    maps = table.get("maps", list, "a list of columns and rows, as [[20, 20], [10, 10]]", [[20, 20]], _are_maps)
    league = League(
        name=table.get("name", str, "a text", path.stem),
        kind=kind,
        players=tuple(players),
        maps=tuple((columns, rows) for columns, rows in maps),
        seeds=table.get("seeds", int, f"1 to {SEEDS_MAX}", 10, lambda n: 1 <= n <= SEEDS_MAX),
        agents=table.get("agents", int, "1 to 1,000 agents of each team", 6, lambda n: 1 <= n <= 1_000),
        max_units=table.get("max_units", int, "1 to 10,000,000 units", 20_000, lambda n: 1 <= n <= 10_000_000),
        answer_seconds=table.get("answer_seconds", float, "0.01 to 600 seconds", 5.0, lambda seconds: 0.01 <= seconds <= 600),
        think_seconds=table.get("think_seconds", float, "1 to 86,400 seconds", 300.0, lambda seconds: 1 <= seconds <= 86_400),
        lag=table.get("lag", str, 'a text, as "off" or "radio"', "off"),
        record=table.get("record", bool, "true or false", True),
        rounds=rounds,
        champion=champion,
        stop=_stop(table),
    )
    table.end()
    _try(league)
    return league


def _players(table: "_Table", folder: Path, taken: list[str]) -> list[Player]:
    mind = table.get("mind", str, '"team", "duo" or another kind, or "script:FILE"', None)
    command = table.get("command", str, "a text", None)
    build = table.get("build", str, 'a command, as "make"', None)
    directory = table.get("directory", str, "a path", None)
    each = table.get("each_directory_of", str, "a path", None)
    grows = table.get("grows", bool, "true or false", False)
    files = table.get("files", list, 'patterns, as ["*.py"]', None)
    name = None if each else table.get("name", str, "a text")
    table.end()
    if each is not None:
        if not (folder / each).is_dir():
            raise ValueError(f"player.each_directory_of: there is no directory {folder / each}")
        players: list[Player] = []
        for path in sorted(folder.joinpath(each).iterdir()):
            if path.is_dir() and not path.name.startswith("."):
                own = name_of(path.name, [*taken, *(player.name for player in players)])
                player = Player(own, _mind(mind, path), command, path, grows, tuple(files) if files else None, build)
                # One that is not as it should be is no reason that the others do not play.
                players.append(examined(player))
        return players
    if command is not None and directory is None and files is None:
        # Its own files are those of the league's folder that it names.
        files = [word for word in shlex.split(command) if is_within(word) and (folder / word).is_file()]
    where = None if command is None else folder / (directory or "")
    return [Player(str(name), _mind(mind, folder), command, where, grows, None if files is None else tuple(files), build)]


def _mind(mind: str | None, folder: Path) -> str | None:
    """A mind whose script is found from here."""
    if mind is None or not mind.startswith("script:"):
        return mind
    file, *settings = mind.removeprefix("script:").split(",")
    return ",".join([f"script:{folder / file}", *settings])


def _stop(table: "_Table") -> Stop | None:
    given = table.get("stop", dict, "a table with share and risk, or false", {}, among=(dict, bool))
    if given is False:
        return None
    stop = _Table(given, "tournament.stop.")
    share = stop.get("share", float, "a number over 0.5 and under 1", Stop.share, lambda share: 0.5 < share < 1)
    risk = stop.get("risk", float, "a number over 0 and under 0.5", Stop.risk, lambda risk: 0 < risk < 0.5)
    stop.end()
    return Stop(share, risk)


def _are_maps(maps: list[Any]) -> bool:
    pairs = all(type(each) is list and len(each) == 2 and all(type(side) is int for side in each) for each in maps)
    return pairs and bool(maps) and len({tuple(each) for each in maps}) == len(maps)


def _try(league: League) -> None:
    """Has the game itself check what is its own: maps, lag, minds and scripts, in matches of one unit."""
    minds = [player.entry(league.agents) for player in league.players if player.command is None and player.fault is None]
    for map in league.maps:
        for mind in minds or ["nameless=random:1"]:
            try:
                play([mind], map=map, lag=league.lag, max_units=1)
            except ValueError as error:
                raise ValueError(f"{mind} on {map[0]}x{map[1]}: {error}") from None
    for player in league.players:
        player.contents()


_REQUIRED: Any = object()


class _Table:
    """A table of the file, of which every key is read once and no other may be there."""

    def __init__(self, values: Any, prefix: str) -> None:
        if type(values) is not dict:
            raise ValueError(f"{prefix.rstrip('.')}: a table, not {values!r}")
        self._values: dict[str, Any] = values
        self._prefix, self._known = prefix, [""]

    def get(
        self,
        key: str,
        kind: type,
        accepted: str,
        default: Any = _REQUIRED,
        accepts: Callable[[Any], bool] = lambda value: True,
        among: tuple[type, ...] = (),
    ) -> Any:
        self._known.append(key)
        if key not in self._values and default is not _REQUIRED:
            return default
        value = self._values.get(key)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) not in (among or (kind,)) or not accepts(value):
            given = "it is missing" if value is None else f"not {value!r}"
            raise ValueError(f"{self._prefix}{key}: {accepted}; {given}")
        return value

    def end(self) -> None:
        for key in self._values:
            if key not in self._known:
                near = difflib.get_close_matches(key, self._known, 1)
                known = f"did you mean {near[0]}?" if near else f"known are {', '.join(self._known[1:])}"
                raise ValueError(f"{self._prefix}{key}: unknown key; {known}")
