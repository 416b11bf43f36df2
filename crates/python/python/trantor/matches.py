"""Whole matches: between minds of the server, functions of the caller, and programs that speak Zappy."""

import base64
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from html import escape
from math import inf
from pathlib import Path
from reprlib import repr as short
from time import perf_counter
from typing import Any

from . import _checks
from ._core import SEATS_MAX, UNITS_MAX, Match as NativeMatch
from ._setup import Setup, action_number, command_line
from .programs import HOST, PROCESSES_MAX, Lost, Process, Program, end

EVERY_UNITS = 7
"""A policy that waits is asked again after this: what most commands take."""
UNKNOWN_COMMANDS_MAX = 20
"""Lines in a row that are no commands: a program that has lost its place, or speaks another language."""
SECONDS_MAX = 86_400.0
"""Longest time that may be asked for: a day."""
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
    """What became of a team. Seconds are 0 for built-in minds."""

    deaths: int
    """Agents that have starved."""
    joins: int = 0
    """Agents that it had; of a program, processes that got a place."""
    level: int = 0
    """The highest level that one of its agents reached."""
    food_taken: int = 0
    """Food that its agents picked up."""
    longest_life_units: float = 0.0
    """How long the oldest of its agents lived. One that never eats lives for 1,260 units."""
    alive_units: float = 0.0
    """When the last of its agents was gone, or the match over."""
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
    levels: list[tuple[float, list[int]]] = field(repr=False)
    """Over time, in units: the highest level in each team, in the order of `teams`."""
    teams: dict[str, TeamResult]
    """By team, in the order of `players`."""
    digest: str
    """One number for the state at the end: that of `trantor-server sim` with the same players and seed."""
    recording: bytes | None = field(repr=False)
    """The recording, if it was asked for."""
    reports: list[str] = field(repr=False)
    """What scripts logged, and their errors."""
    scene: dict[str, Any] = field(repr=False, compare=False)
    """The state at its end, as `Recording.state` has it."""

    def save_recording(self, path: str | Path) -> None:
        """Writes the recording to a file, for `trantor-server replay` and `trantor.Recording`."""
        if self.recording is None:
            raise ValueError("nothing was recorded: play with record=True")
        Path(path).write_bytes(self.recording)

    def _repr_html_(self) -> str:
        """For notebooks: the state at the end as a picture, and a table of the teams."""
        from .picture import css_colours, draw, png

        image = base64.b64encode(png(draw(self.scene))).decode()
        won = {None: "no winner", "draw": "a draw"}.get(self.winner, f"{self.winner} won")
        colours = dict(zip(self.scene["teams"], css_colours(len(self.scene["teams"])), strict=True))
        head = "".join(f"<th>{name}</th>" for name in ("team", "level", "agents born", "starved", "gone at", "lost"))
        rows = "".join(
            f'<tr><td><span style="color:{colours[name]}">&#9632;</span> {escape(name)}</td><td>{team.level}</td>'
            f"<td>{team.joins}</td><td>{team.deaths}</td>"
            f"<td>{f'{team.alive_units:,.0f}' if team.alive_units < self.units else ''}</td>"
            f"<td>{escape(team.lost or '')}</td></tr>"
            for name, team in self.teams.items()
        )
        return (
            f'<div style="display:flex;gap:1em;align-items:flex-start;flex-wrap:wrap">'
            f'<img alt="the end of the match" width="480" src="data:image/png;base64,{image}">'
            f"<div><b>{escape(won)}</b> after {self.units:,.0f} units, digest <code>{self.digest}</code>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></div>"
        )


def play(
    players: Sequence[str | Policy | Program],
    *,
    seed: int = 1,
    map: tuple[int, int] = (20, 20),
    lag: str = "off",
    max_units: int = 100_000,
    record: bool = False,
    answer_seconds: float = 5.0,
    think_seconds: float | None = None,
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
        think_seconds: how long a script, a policy or a program may take for all its decisions together; one that takes longer
            loses its agents. None: as long as it likes.

    Raises:
        ValueError: something is not as described; the message says what is accepted.
    """
    takes = "a list of minds such as 'red=team:6', of policies and of programs"
    each: Sequence[str | Policy | Program] = _checks.sequence("players", players, takes)
    outside: list[Policy | Program] = []
    order: list[str] = []
    for player in each:
        if isinstance(player, str):
            order.append(player.split("=")[0])
            continue
        if type(player) not in (Policy, Program):
            raise TypeError(f"players must be {takes}, not {short(player)}")
        order.append(player.team)
        outside.append(player)
    for player in outside:
        _checks.text("team", player.team, "the name of a team")
        if isinstance(player, Program):
            _checks.text(f"command of {player.team}", player.command, "a text, such as 'python3 bot.py {port} {team}'")
        elif not callable(player.function):
            raise TypeError(f"function of {player.team} must be one, not {short(player.function)}")
        _checks.whole(f"agents of {player.team}", player.count, 1, SEATS_MAX)
        if order.count(player.team) > 1:
            raise ValueError(f"team {player.team!r} has more than one player")
    seed = _checks.seed("seed", seed)
    max_units = _checks.whole("max_units", max_units, 1, UNITS_MAX)
    record = _checks.truth("record", record)
    answer_seconds = _checks.number("answer_seconds", answer_seconds, 0.001, SECONDS_MAX)
    if think_seconds is not None:
        think_seconds = _checks.number("think_seconds", think_seconds, 0.001, SECONDS_MAX)
    with ExitStack() as stack:
        teams = [_Team(player, seed, answer_seconds, think_seconds, stack) for player in outside]
        minds = [player for player in each if isinstance(player, str)]
        setup = Setup(opponents=minds, map=map, every=EVERY_UNITS, lag=lag, rewards={}).native()
        setup |= {"teams": [team.native() for team in teams], "order": list(dict.fromkeys(order)), "max_units": max_units}
        setup |= {"think_seconds": think_seconds}
        match = NativeMatch(setup, seed, record)
        of_seat = [team for team in teams for _ in range(team.seats)]
        for team in teams:
            team.match, team.first_seat = match, of_seat.index(team)
        while (turn := match.advance()) is not None:
            seat, is_living = turn
            of_seat[seat].turn(seat, is_living)
        for seat, team in enumerate(of_seat):
            team.turn(seat, False)
    result = match.result()
    too_slow = f"thought for more than {think_seconds:g} seconds in all" if think_seconds else None
    results: dict[str, TeamResult] = {}
    for name, counts in result.pop("teams").items():
        results[name] = TeamResult(lost=too_slow if counts.pop("is_slow") else None, **counts)
    for team in teams:
        results[team.player.team] = team.result(results[team.player.team])
    return Match(teams=results, **result)


class _Team:
    """A player of a match that is not a mind of the server."""

    match: NativeMatch
    first_seat: int

    def __init__(
        self, player: Policy | Program, seed: int, seconds: float, think_seconds: float | None, stack: ExitStack
    ) -> None:
        self.player = player
        self.seats = player.count
        self._seed, self._seconds = seed, seconds
        self._think_seconds = inf if think_seconds is None else think_seconds
        self._lost: str | None = None
        self._seat_at_fault: int | None = None
        self._slowest_seconds = self._thinking_seconds = 0.0
        # By seat: unknown commands in a row; the last moment of a command, and commands at it; processes of a program.
        self._unknown: dict[int, int] = {}
        self._at_moment: dict[int, tuple[float, int]] = {}
        self._processes: dict[int, Process] = {}
        self._places = 0
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

    def result(self, counted: TeamResult) -> TeamResult:
        """What became of it, with what the game has counted."""
        processes = self._processes
        blamed = [processes[self._seat_at_fault]] if self._seat_at_fault in processes else processes.values()
        return replace(
            counted,
            joins=self._places if isinstance(self.player, Program) else counted.joins,
            lost=self._lost,
            slowest_seconds=self._slowest_seconds,
            thinking_seconds=self._thinking_seconds,
            last_words=next(filter(None, (process.last_words() for process in blamed)), ""),
        )

    def _act(self, seat: int) -> None:
        player, match = self.player, self.match
        if isinstance(player, Program):
            if seat not in self._processes:
                family = [process.number for process in self._processes.values()]
                self._processes[seat] = Process(player, self._listener, self._seed, self._seconds)
                self._processes[seat].connect(family)
                self._places += 1
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
        if self._thinking_seconds > self._think_seconds:
            raise Lost(f"thought for more than {self._think_seconds:g} seconds in all")
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
