"""Whole matches: between minds of the server, functions of the caller, and programs that speak Zappy."""

import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from . import _core
from ._setup import Setup, action_number, command_line
from .programs import HOST, PROCESSES_MAX, Lost, Process, Program, end

EVERY_UNITS = 7
"""A policy that waits is asked again after this: what most commands take."""
UNKNOWN_COMMANDS_MAX = 20
"""Lines in a row that are no commands: a program that has lost its place, or speaks another language."""
INSTANT_COMMANDS_MAX = 1_000
"""Commands of an agent at one moment: only those that take no time, and a game in lock-step would wait for ever."""


@dataclass(frozen=True)
class Policy:
    """A function as a player.

    Args:
        team: the name of its team.
        function: called whenever an agent of the team can act, with what the agent observes, as in the environments
            (`observation` and `action_mask`), and the agent's name, such as `red_0`; answers a place in
            `trantor.ACTION_NAMES`.
        count: agents.
        raw: the function is given the lines that a server would have sent since the last call, as text, and answers a line, or
            nothing to wait for 7 units.
    """

    team: str
    function: Callable[[Any, str], Any]
    count: int = 6
    raw: bool = False


@dataclass(frozen=True)
class TeamResult:
    """What became of a team. Seconds are 0 for minds of the server."""

    deaths: int
    """Agents that have starved."""
    lost: str | None = None
    """Why the player has lost its agents, if it has: it could not be started, crashed, was silent, flooded or sent nonsense."""
    slowest_seconds: float = 0.0
    """The longest time that an answer took."""
    thinking_seconds: float = 0.0
    """The time that all answers took."""
    last_words: str = ""
    """Of a program: the last lines that the process at fault wrote, or the first that wrote something."""


@dataclass(frozen=True)
class Match:
    """The result of a match."""

    winner: str | None
    """The team that has won, `"draw"`, or None if nobody had by the last unit."""
    units: float
    """Game time at its end."""
    deadlines: int
    """Deadlines that the game carried out."""
    actions: int
    """Commands of all agents."""
    joins: int
    """Agents born."""
    levels: list[tuple[float, list[int]]]
    """Over time, in units: the highest level in each team, in the order of `teams`."""
    teams: dict[str, TeamResult]
    """By team, in the order of `players`."""
    digest: str
    """One number for the state at the end: that of `trantor-server sim` with the same players and seed."""
    recording: bytes | None
    """The recording, if it was asked for."""
    reports: list[str]
    """What scripts logged, and their errors."""

    def save_recording(self, path: str | Path) -> None:
        """Writes the recording to a file, for `trantor-server replay` and `trantor.Recording`."""
        if self.recording is None:
            raise ValueError("nothing was recorded: play with record=True")
        Path(path).write_bytes(self.recording)


def play(
    players: Sequence[str | Policy | Program],
    *,
    seed: int = 1,
    map: tuple[int, int] = (20, 20),
    lag: str = "off",
    max_units: int = 100_000,
    record: bool = False,
    answer_seconds: float = 5.0,
) -> Match:
    """Plays a match to its end, without a clock: game time waits for every player.

    A player that crashes, is silent, floods or sends nonsense loses its agents; the others play on. An exception of a policy ends
    the match.

    Args:
        players: minds as the server's option `--mind` (`"red=team:6"`, `"blue=script:scout.luau:6"`), policies and programs.
        seed: 0 to 2**64 - 1. The same seed and players give the same match.
        map: columns and rows, 1 to 1,000 each.
        lag: how broadcasts travel, as the server's option `--lag`.
        max_units: the match ends without a winner then.
        record: keep a recording.
        answer_seconds: the longest wait for a command of a program.

    Raises:
        ValueError: something is not as described; the message says what is accepted.
    """
    outside = [player for player in players if not isinstance(player, str)]
    order = [player.split("=")[0] if isinstance(player, str) else player.team for player in players]
    for player in outside:
        if order.count(player.team) > 1:
            raise ValueError(f"team {player.team!r} has more than one player")
    with ExitStack() as stack:
        teams = [_Team(player, seed, answer_seconds, stack) for player in outside]
        minds = [player for player in players if isinstance(player, str)]
        setup = Setup(opponents=minds, map=map, every=EVERY_UNITS, lag=lag, rewards={}).native()
        setup |= {"teams": [team.native() for team in teams], "order": list(dict.fromkeys(order)), "max_units": max_units}
        match = _core.Match(setup, seed, record)
        of_seat = [team for team in teams for _ in range(team.seats)]
        for team in teams:
            team.match, team.first_seat = match, of_seat.index(team)
        while (turn := match.advance()) is not None:
            seat, is_living = turn
            of_seat[seat].turn(seat, is_living)
        for seat, team in enumerate(of_seat):
            team.turn(seat, False)
    result = match.result()
    results = {name: TeamResult(deaths) for name, deaths in result.pop("deaths").items()}
    for team in teams:
        name = team.player.team
        results[name] = team.result(results[name].deaths)
    return Match(teams=results, **result)


class _Team:
    """A player of a match that is not a mind of the server."""

    match: _core.Match
    first_seat: int

    def __init__(self, player: Policy | Program, seed: int, seconds: float, stack: ExitStack) -> None:
        self.player = player
        self.seats = player.count
        self._seed, self._seconds = seed, seconds
        self._lost: str | None = None
        self._seat_at_fault: int | None = None
        self._slowest_seconds = self._thinking_seconds = 0.0
        # By seat: unknown commands in a row; the last moment of a command, and commands at it; processes of a program.
        self._unknown: dict[int, int] = {}
        self._at_moment: dict[int, tuple[float, int]] = {}
        self._processes: dict[int, Process] = {}
        self._until_end = stack.enter_context(ExitStack())
        if isinstance(player, Program):
            self._until_end.callback(end, self._processes.values())
            self._listener = self._until_end.enter_context(socket.create_server((HOST, 0), backlog=PROCESSES_MAX))
            if player.grows:
                self.seats = max(player.count, PROCESSES_MAX)

    def native(self) -> tuple[str, int, int, bool]:
        """The team for the native library."""
        player = self.player
        return player.team, player.count, self.seats, isinstance(player, Program) or player.raw

    def turn(self, seat: int, is_living: bool) -> None:
        """The agent of a seat can act; or it is gone, or the match is over."""
        if is_living:
            try:
                self._act(seat)
            except Lost as reason:
                self._lose(seat, str(reason))
        elif process := self._processes.get(seat):
            process.finish(self.match.hear(seat))

    def result(self, deaths: int) -> TeamResult:
        """What became of it."""
        processes = self._processes
        blamed = [processes[self._seat_at_fault]] if self._seat_at_fault in processes else processes.values()
        words = next(filter(None, (process.last_words() for process in blamed)), "")
        return TeamResult(deaths, self._lost, self._slowest_seconds, self._thinking_seconds, words)

    def _act(self, seat: int) -> None:
        player, match = self.player, self.match
        if isinstance(player, Program):
            if seat not in self._processes:
                self._processes[seat] = Process(player, self._listener, self._seed, self._seconds)
                self._processes[seat].connect()
            text = match.hear(seat)
            return self._say(seat, self._timed(self._processes[seat].command, text))
        name = f"{player.team}_{seat - self.first_seat}"
        seen = match.hear(seat).decode(errors="surrogateescape") if player.raw else match.observe(seat)
        answer = self._timed(player.function, seen, name)
        if not player.raw:
            match.act(seat, action_number(name, answer))
        elif line := command_line(name, answer or ""):
            self._say(seat, line)
        else:
            match.act(seat, 0)

    def _timed(self, ask: Callable[..., Any], *seen: Any) -> Any:
        before = perf_counter()
        answer = ask(*seen)
        seconds = perf_counter() - before
        self._thinking_seconds += seconds
        self._slowest_seconds = max(self._slowest_seconds, seconds)
        return answer

    def _say(self, seat: int, line: bytes) -> None:
        units = self.match.units
        moment, count = self._at_moment.get(seat, (units, 0))
        count = count + 1 if moment == units else 1
        self._at_moment[seat] = units, count
        if count > INSTANT_COMMANDS_MAX:
            raise Lost(f"sent more than {INSTANT_COMMANDS_MAX} commands that take no time")
        is_known = self.match.say(seat, line)
        self._unknown[seat] = 0 if is_known else self._unknown.get(seat, 0) + 1
        if self._unknown[seat] >= UNKNOWN_COMMANDS_MAX:
            raise Lost(f"sent {UNKNOWN_COMMANDS_MAX} unknown commands in a row, the last {line[:80]!r}")

    def _lose(self, seat: int, reason: str) -> None:
        self._lost, self._seat_at_fault = reason, seat
        for each in range(self.first_seat, self.first_seat + self.seats):
            self.match.leave(each)
        self._until_end.close()
