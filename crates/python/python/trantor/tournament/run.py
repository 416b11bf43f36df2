"""A tournament from its file to its report: plays what is missing, keeps each result at once, and stops what is settled.

It says how far it is on the error output: a bar on a terminal, a line for each pair of players elsewhere.
"""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from .league import League, read
from .report import standings_text, write_report
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
        OSError: a file cannot be read or written.
    """
    league = read(path)
    folder = folder or path.with_suffix("")
    status = 0
    with closing(Store(folder)) as store:
        try:
            with closing(make_runner(runner, jobs)) as made, progress() as shown:
                play(league, store, made, shown)
        except KeyboardInterrupt:
            status = 130
        report = write_report(league, store, folder)
        print(standings_text(league, store.outcomes))
        print(f"\n{'Interrupted: the same command goes on from here. ' if status else ''}Report: {report}")
    return status


def play(league: League, store: Store, runner: Runner, progress: "Lines") -> None:
    """Plays all that is missing, and keeps it."""
    for pairings in rounds(league, store.outcomes):
        _play_round(league, pairings, store, runner, progress)


def _play_round(
    league: League, pairings: list[Pairing], store: Store, runner: Runner, progress: "Lines"
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
    progress.begin(pairings[0].round, sum(left))
    for finished in played(wanted(), runner):
        place = of_unit[finished.unit.key]
        store.add(*finished)
        before, standings[place] = standings[place], standing(pairings[place], league.stop, store.outcomes)
        left[place] = left_of(place)
        progress.advance(sum(left))
        if standings[place].done and not before.done:
            progress.settled(pairings[place], standings[place])


def score(pairing: Pairing, standing: Standing) -> str:
    """A pair's result in a line: `alice 8 - 2 bob in 10, settled early`."""
    won = [each.winner for _, each in standing.counted]
    first, second = pairing.first.name, pairing.second.name
    early = ", settled early" if standing.settled else ""
    return f"{first} {won.count(first)} - {won.count(second)} {second} in {len(won)}{early}"


class Lines:
    """A line for each pair."""

    def begin(self, round: int, left: int) -> None:
        """A round begins, with so many matches left to play."""
        print(f"round {round}: {left} matches at most", file=sys.stderr)

    def advance(self, left: int) -> None:
        """A match is over."""

    def settled(self, pairing: Pairing, standing: Standing) -> None:
        """A pair of players is done."""
        print(score(pairing, standing), file=sys.stderr)


class Bar(Lines):
    """A bar that loses what is settled early, with the last result beside it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        self.bar = Progress(*columns, TextColumn("{task.fields[last]}"), console=Console(stderr=True))
        self._task = self.bar.add_task("", total=0, last="")
        self._done = 0

    def begin(self, round: int, left: int) -> None:
        self._done = 0
        self.bar.update(self._task, description=f"round {round}", total=left, completed=0)

    def advance(self, left: int) -> None:
        self._done += 1
        self.bar.update(self._task, completed=self._done, total=self._done + left)

    def settled(self, pairing: Pairing, standing: Standing) -> None:
        self.bar.update(self._task, last=score(pairing, standing))


@contextmanager
def progress() -> Iterator[Lines]:
    """What fits the error output."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    bar = Bar()
    with bar.bar:
        yield bar
