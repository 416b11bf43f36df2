"""Whole matches between minds of the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import _core
from ._setup import Setup


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
    """Over time, in units: the highest level in each team, in the order of `players`."""
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
    players: Sequence[str],
    *,
    seed: int = 1,
    map: tuple[int, int] = (20, 20),
    lag: str = "off",
    max_units: int = 100_000,
    record: bool = False,
) -> Match:
    """Plays a match of minds to its end, without a clock.

    Args:
        players: as the server's option `--mind`: `["red=team:6", "blue=script:scout.luau:6"]`.
        seed: 0 to 2**64 - 1. The same seed and players give the same match.
        map: columns and rows, 1 to 1,000 each.
        lag: how broadcasts travel, as the server's option `--lag`.
        max_units: the match ends without a winner then.
        record: keep a recording.

    Raises:
        ValueError: something is not as described; the message says what is accepted.
    """
    setup = Setup(agents={}, opponents=players, map=map, every=1, max_cycles=max_units, lag=lag)
    return Match(**_core.play(setup.native(), seed, record))
