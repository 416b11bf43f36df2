"""Recordings, read back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import _core


class Recording:
    """A recording of a server, of `trantor-server sim`, or of an environment: a file, or a directory of pieces.

    Raises:
        OSError: it cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self._native = _core.Recording(path)

    def events(self) -> Iterator[dict[str, Any]]:
        """All that happened, in order: the events and fields of `trantor-server replay export --json`."""
        return map(json.loads, self._native.events().splitlines())

    def state(self, units: int) -> dict[str, Any]:
        """The state at a moment; the beginning or the end if it lies outside.

        Returns:
            `units`, `digest`, `winner`, `teams`; `ground`, shape (rows, columns, 7), uint16: food and the six stones;
            `agents`, shape (agents, 13), int32, with the columns `agent_columns`; `eggs`, shape (eggs, 4), int32: number,
            team, x, y.
        """
        return self._native.state(units)

    @property
    def span(self) -> tuple[float, float]:
        """Its first and last moment, in units."""
        return self._native.span()

    def verify(self) -> str:
        """Plays it again and compares every digest.

        Returns:
            The digest of the state at its end.

        Raises:
            ValueError: it cannot be played, or where it is different.
        """
        return self._native.verify()

    def to_pandas(self) -> Any:
        """The events as a `pandas.DataFrame`, a row an event. Needs pandas."""
        import pandas

        return pandas.DataFrame.from_records(list(self.events()))

    def to_arrow(self) -> Any:
        """The same as a `pyarrow.Table`. Needs pyarrow."""
        from pyarrow import BufferReader, json as arrow_json

        return arrow_json.read_json(BufferReader(self._native.events()))
