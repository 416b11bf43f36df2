"""A tournament from its file to its report: plays what is missing, keeps each result at once, and stops what is settled.

It says how far it is on the error output: a bar on a terminal, a line for each pair of players elsewhere.
"""

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .builds import Build, build
from .league import League, read
from .players import Player
from .report import standings_text, write_marks, write_report
from .runners import Runner, make_runner, played
from .schedule import Pairing, Standing, rounds, standing
from .store import Store
from .unit import Unit


def run(path: Path, folder: Path | None = None, runner: str = "local", jobs: int | None = None) -> int:
    """Plays the league of a file, or what of it is still to be played.

    Args:
        folder: where results are kept; beside the file and named as it by default.

    Returns:
        The exit status: 0, or 130 after Ctrl-C. What was played until then is kept.

    Raises:
        ValueError: the league's file or the runner is not as described; the message says what is accepted.
        OSError, StoreError: a file cannot be read or written.
    """
    league = read(path)
    folder = folder or path.with_suffix("")
    status = 0
    builds: list[Build] = []
    with closing(Store(folder)) as store:
        try:
            shown = Shown()
            league = built(league, store.folder / "builds", builds, shown)
            with closing(make_runner(runner, jobs)) as made, shown.bar:
                play(league, store, made, shown)
        except KeyboardInterrupt:
            status = 130
        report = write_report(league, store, builds)
        marks = write_marks(league, store)
        print(standings_text(league, store.outcomes))
        print(f"\n{'Interrupted: the same command goes on from here. ' if status else ''}Report: {report}\nMarks: {marks}")
    return status


def built(league: League, folder: Path, builds: list[Build], shown: "Shown") -> League:
    """The league with the players that have a build command built."""
    players: list[Player] = []
    for player in league.players:
        made, how = build(player, folder)
        players.append(made)
        if how is not None:
            builds.append(how)
            shown.built(how)
    return replace(league, players=tuple(players))


def play(league: League, store: Store, runner: Runner, shown: "Shown") -> None:
    """Plays all that is missing, and keeps it."""
    for pairings in rounds(league, store.outcomes):
        _play_round(league, pairings, store, runner, shown)


def _play_round(
    league: League, pairings: list[Pairing], store: Store, runner: Runner, shown: "Shown"
) -> None:
    standings = [standing(each, league.stop, store.outcomes) for each in pairings]
    of_unit = {unit.key: place for place, each in enumerate(pairings) for pair in each.units for unit in pair}

    def wanted() -> Iterator[Unit]:
        """What is still to be played: the first seed of all pairings, then the next, so that little is played in vain."""
        for pairs in zip(*(each.units for each in pairings), strict=True):
            for place, pair in enumerate(pairs):
                yield from (unit for unit in pair if unit.key not in store.outcomes and not standings[place].done)

    def left_of(place: int) -> int:
        """Units of a pairing that are left to play, unless it is settled early."""
        units = (unit for pair in pairings[place].units for unit in pair)
        return 0 if standings[place].done else sum(unit.key not in store.outcomes for unit in units)

    left = [left_of(place) for place in range(len(pairings))]
    shown.begin(pairings[0].round, sum(left))
    for finished in played(wanted(), runner):
        place = of_unit[finished.unit.key]
        store.add(*finished)
        before, standings[place] = standings[place], standing(pairings[place], league.stop, store.outcomes)
        left[place] = left_of(place)
        shown.advance(sum(left))
        if standings[place].done and not before.done:
            shown.settled(pairings[place], standings[place])


class Shown:
    """A bar on a terminal, which loses what is settled early and has the last result beside it; elsewhere lines."""

    def __init__(self) -> None:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        last = TextColumn("{task.fields[last]}")
        self.bar = Progress(*columns, last, console=Console(stderr=True), disable=not sys.stderr.isatty())
        self._task = self.bar.add_task("", total=0, last="")
        self._done = 0

    def built(self, build: Build) -> None:
        """A player was built, or could not be."""
        if not build.is_old:
            self._print(f"build {build.player}: {build.fault or f'done in {build.seconds:.1f} s'}")

    def begin(self, round: int, left: int) -> None:
        """A round begins, with so many matches left to play."""
        self._done = 0
        self.bar.update(self._task, description=f"round {round}", total=left, completed=0)
        self._print(f"round {round}: {left} matches at most")

    def advance(self, left: int) -> None:
        """A match is over."""
        self._done += 1
        self.bar.update(self._task, completed=self._done, total=self._done + left)

    def settled(self, pairing: Pairing, standing: Standing) -> None:
        """A pair of players is done."""
        won = [each.winner for _, each in standing.counted]
        first, second = pairing.first.name, pairing.second.name
        early = ", settled early" if standing.settled else ""
        score = f"{first} {won.count(first)} - {won.count(second)} {second} in {len(won)}{early}"
        self.bar.update(self._task, last=score)
        self._print(score)

    def _print(self, line: str) -> None:
        if self.bar.disable:
            print(line, file=sys.stderr)
