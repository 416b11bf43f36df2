"""Recordings, read back."""

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ._core import Recording as NativeRecording


class Recording(NativeRecording):
    """A recording of a server, of `trantor-server sim`, or of an environment: a file, or a directory of pieces.

    Raises:
        OSError: it cannot be read.
    """

    def events(self) -> Iterator[dict[str, Any]]:
        """All that happened, in order: the events and fields of `trantor-server replay export --json`."""
        return map(json.loads, self._lines().splitlines())

    def to_pandas(self) -> Any:
        """The events as a `pandas.DataFrame`, a row an event. Needs pandas."""
        # Its types are a package of their own.
        pandas: Any = import_module("pandas")
        return pandas.DataFrame.from_records(list(self.events()))

    def to_arrow(self) -> Any:
        """The same as a `pyarrow.Table`. Needs pyarrow."""
        # It has no types.
        import_module("pyarrow.json")
        arrow: Any = import_module("pyarrow")
        return arrow.json.read_json(arrow.BufferReader(self._lines()))
