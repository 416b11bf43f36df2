"""What a run says while it lasts: a bar on a terminal, a line for each pair of players elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .schedule import Pairing, Standing


def score(pairing: Pairing, standing: Standing) -> str:
    """A pair's result in a line: `alice 8 - 2 bob, settled early`."""
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
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Rich

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        self.bar = Rich(*columns, TextColumn("{task.fields[last]}"), console=Console(stderr=True))
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
