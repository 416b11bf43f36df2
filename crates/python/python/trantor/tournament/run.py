"""A tournament from its file to its report: plays what is missing, keeps each result at once, and stops what is settled."""

from collections.abc import Iterator
from pathlib import Path

from .league import League, read
from .progress import Progress, progress
from .report import standings_text, write_report
from .runners import Runner, make_runner
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
    store = Store(folder)
    status = 0
    try:
        played = make_runner(runner, jobs)
        try:
            with progress() as shown:
                play(league, store, played, shown)
        except KeyboardInterrupt:
            status = 130
        finally:
            played.close()
        report = write_report(league, store, folder)
        print(standings_text(league, store.outcomes))
        print(f"\n{'Interrupted: the same command goes on from here. ' if status else ''}Report: {report}")
    finally:
        store.close()
    return status


def play(league: League, store: Store, runner: Runner, progress: Progress) -> None:
    """Plays all that is missing, and keeps it."""
    for pairings in rounds(league, store.outcomes):
        _Round(league, pairings, store).play(runner, progress)


class _Round:
    """The pairings of a round, and how far each is."""

    def __init__(self, league: League, pairings: list[Pairing], store: Store) -> None:
        self._stop, self._pairings, self._store = league.stop, pairings, store
        self._standings = [standing(each, league.stop, store.outcomes) for each in pairings]
        self._of_unit = {
            unit.key: place for place, each in enumerate(pairings) for pair in each.units for unit in pair
        }
        self._left = [self._left_of(place) for place in range(len(pairings))]

    def play(self, runner: Runner, progress: Progress) -> None:
        wanted = self._wanted()
        progress.begin(self._pairings[0].round, sum(self._left))
        while True:
            while runner.free() and (unit := next(wanted, None)) is not None:
                runner.start(unit)
            finished = runner.wait()
            if finished is None:
                return
            self._store.add(*finished)
            place = self._of_unit[finished.unit.key]
            before = self._standings[place]
            pairing = self._pairings[place]
            after = self._standings[place] = standing(pairing, self._stop, self._store.outcomes)
            self._left[place] = self._left_of(place)
            progress.advance(sum(self._left))
            if after.done and not before.done:
                progress.settled(pairing, after)

    def _wanted(self) -> Iterator[Unit]:
        """What is still to be played: the first seed of all pairings, then the next, so that little is played in vain."""
        longest = max(len(pairing.units) for pairing in self._pairings)
        for seed in range(longest):
            for place, pairing in enumerate(self._pairings):
                for unit in pairing.units[seed]:
                    if unit.key not in self._store.outcomes and not self._standings[place].done:
                        yield unit

    def _left_of(self, place: int) -> int:
        """Units of a pairing that are left to play, unless it is settled early."""
        if self._standings[place].done:
            return 0
        return sum(unit.key not in self._store.outcomes for pair in self._pairings[place].units for unit in pair)
