"""Results on disk: SQLite, a row a unit, and the same as JSON lines beside it.

What was added is there after a kill at any instant, and the files are whole after a power failure.
"""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .unit import Outcome, Unit, from_json, to_json

TABLE = "results.sqlite"

SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY, first TEXT, second TEXT, columns INTEGER, rows INTEGER, seed INTEGER,
    winner TEXT, how TEXT, units REAL, digest TEXT, recording TEXT, json TEXT
)
"""
INSERT = "INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file that is there whole or as it was, whenever the process ends."""
    new = path.with_suffix(".new")
    new.write_bytes(data)
    os.replace(new, path)


class StoreError(Exception):
    """The results cannot be read or kept; in one line, with what to do."""


class Store:
    """The folder of a league: `results.sqlite`, `results.jsonl` and `recordings/`.

    Raises:
        StoreError: the table is none, or somebody else holds it.
        OSError: a file cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        (folder / "recordings").mkdir(parents=True, exist_ok=True)
        self.folder = folder
        with self._told():
            self._table = sqlite3.connect(folder / TABLE)
            self._table.execute("PRAGMA journal_mode = WAL")
            # A kill loses nothing either way. After a power failure the last matches may be played again, for which
            # nothing waits for the disk.
            self._table.execute("PRAGMA synchronous = NORMAL")
            self._table.execute(SCHEMA)
            self._table.commit()
            rows = [row for (row,) in self._table.execute("SELECT json FROM results ORDER BY rowid")]
            self.outcomes: dict[str, Outcome] = dict(map(from_json, rows))
        # A kill between the table and the lines leaves these one short, or the last one torn.
        lines = folder / "results.jsonl"
        write_whole(lines, "".join(f"{row}\n" for row in rows).encode())
        self._lines = lines.open("a", encoding="utf-8")

    def add(self, unit: Unit, outcome: Outcome, recording: bytes | None) -> None:
        """Keeps an outcome. One that is there already stays as it is."""
        if unit.key in self.outcomes:
            return
        name = self.recording(unit)
        if recording is not None:
            write_whole(self.folder / name, recording)
        first, second = (player.name for player in unit.players)
        row = to_json(unit, outcome)
        values = (unit.key, first, second, *unit.map, str(unit.seed), outcome.winner, outcome.how, outcome.units)
        with self._told(), self._table:
            self._table.execute(INSERT, (*values, outcome.digest, name if recording is not None else None, row))
        self._lines.write(f"{row}\n")
        self._lines.flush()
        self.outcomes[unit.key] = outcome

    @contextmanager
    def _told(self) -> Generator[None]:
        """Says what is wrong with the table."""
        path = self.folder / TABLE
        try:
            yield
        except sqlite3.Error as error:
            advice = f"move {path} away, or choose another folder with --out"
            if "locked" in str(error):
                advice = "another program holds it: wait until it has ended, or choose another folder with --out"
            raise StoreError(f"{path}: {error}; {advice}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{path}: a row is no result ({error!r}); move it away, or choose another folder with --out") from None

    def recording(self, unit: Unit) -> str:
        """Where the recording of a unit is, or would be, within the folder."""
        names = "-vs-".join(player.name for player in unit.players)
        return f"recordings/{names}-{unit.map[0]}x{unit.map[1]}-seed{unit.seed}-{unit.key[:8]}.trj"

    def close(self) -> None:
        """Closes the files."""
        self._lines.close()
        self._table.close()
