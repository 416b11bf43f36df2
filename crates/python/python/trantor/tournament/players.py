"""Players of a league: minds of the server, scripts and programs, with their files.

A player's digest changes with any of its files; its files travel as one archive where they are not at hand.
"""

import hashlib
import io
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from .._core import check_team
from ..matches import play
from ..programs import Program

NAME = re.compile(r"[A-Za-z0-9_.-]{1,32}")
"""A team can have it, and so can a file."""
NAME_CHARACTERS_MAX = 32
EXECUTABLE = 0o100
"""The bit of a file's mode that lets its owner run it."""
FILES_MAX = 10_000
FILES_BYTES_MAX = 256 << 20
"""Read at the start of every league: a second's work. What a program plays with is far less."""


@dataclass(frozen=True)
class Player:
    """A player.

    Args:
        name: the name of its team: 1 to 32 letters, digits, `_`, `.` and `-`.
        mind: a built-in kind such as `"duo"` or `"team"`, or `"script:FILE"`, with settings as in `"team,every=9.5"`; or
        command: how to start a process of a program that speaks Zappy, as `trantor.Program` takes it.
        directory: where the command starts.
        grows: whether a program gets more processes than at the start, as `trantor.Program` says.
        files: patterns of the files that a program is made of, within its directory. By default all of them without hidden
            ones and `__pycache__`; with no directory of its own, those that the command names.
        build: a command that makes the program of its files, run once before its matches.
        fault: why it cannot play: it loses its matches for this.
        source: the digest of what it was built from.

    Raises:
        ValueError: something is not as described, or the files are missing or too large.
    """

    name: str
    mind: str | None = None
    command: str | None = None
    directory: Path | None = None
    grows: bool = False
    files: tuple[str, ...] | None = field(default=None, compare=False)
    build: str | None = None
    fault: str | None = None
    source: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"name: 1 to {NAME_CHARACTERS_MAX} letters, digits, '_', '.' and '-', not {self.name!r}")
        try:
            check_team(self.name)
        except ValueError as error:
            raise ValueError(f"name: {error}") from None
        if (self.mind is None) == (self.command is None):
            raise ValueError(f'player {self.name}: either mind = "team" or command = "python3 bot.py -p {{port}} -n {{team}}"')
        if self.command is not None and "{port}" not in self.command:
            raise ValueError(f"player {self.name}: command must have {{port}}, as in python3 bot.py -p {{port}} -n {{team}}")
        if self.build is not None and (self.command is None or not self.build.strip()):
            raise ValueError(f'player {self.name}: build is a command for a program, as in build = "make"')
        if not all(map(is_within, self.files or ())):
            raise ValueError(f'player {self.name}: files must be patterns within its directory, as ["*.py"]')

    @property
    def script(self) -> Path | None:
        """The file of a mind that is a script."""
        kind = (self.mind or "").split(",")[0]
        return Path(kind.removeprefix("script:")) if kind.startswith("script:") else None

    def entry(self, agents: int) -> str | Program:
        """The player as `trantor.play` takes it."""
        if self.command is not None:
            return Program(self.name, self.command, agents, self.grows, self.directory)
        kind, comma, settings = (self.mind or "").partition(",")
        return f"{self.name}={kind}:{agents}{comma}{settings}"

    @cached_property
    def digest(self) -> str:
        """What it is, apart from its name and from where it lies: SHA-256 of its command or mind and of its files.

        What is built counts by what it is built from: few compilers write the same bytes twice.
        """
        if self.fault is not None:
            return hashlib.sha256(f"cannot play: {self.fault}".encode()).hexdigest()
        if self.source is not None:
            return self.source
        script = self.script
        what = f"{self.command} {self.grows} {self.build}" if self.command else (self.mind or "").replace(str(script), "")
        lines = [
            f"{name} {path.stat().st_mode & EXECUTABLE} {hashlib.sha256(path.read_bytes()).hexdigest()}"
            for name, path in self.contents().items()
        ]
        return hashlib.sha256("\n".join([what, *lines]).encode()).hexdigest()

    def contents(self) -> dict[str, Path]:
        """Its files, by their names in its archive."""
        if self.fault is not None:
            return {}
        if (script := self.script) is not None:
            if not script.is_file():
                raise ValueError(f"player {self.name}: there is no script {script}")
            return {"script.luau": script}
        if self.command is None:
            return {}
        folder = self.directory or Path()
        if not folder.is_dir():
            raise ValueError(f"player {self.name}: there is no directory {folder}")
        patterns = ("**/*",) if self.files is None else self.files
        found = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
        if self.files is None:
            found = [path for path in found if not any(map(_is_by_product, path.relative_to(folder).parts))]
        if patterns and not found:
            what = f"no files {', '.join(patterns)}" if self.files else "no files"
            raise ValueError(f"player {self.name}: {folder} has {what}")
        if len(found) > FILES_MAX or sum(path.stat().st_size for path in found) > FILES_BYTES_MAX:
            most = f"{FILES_MAX} files and {FILES_BYTES_MAX >> 20} MiB"
            raise ValueError(f'player {self.name}: more than {most} in {folder}; name what counts: files = ["*.py"]')
        return {str(path.relative_to(folder)): path for path in found}

    def archive(self) -> bytes:
        """Its files as a ZIP archive."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in self.contents().items():
                # Without its time: the same files make the same archive.
                entry = zipfile.ZipInfo(name)
                entry.external_attr = path.stat().st_mode << 16
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
        return buffer.getvalue()

    def unpacked(self, archive: bytes) -> "Player":
        """The same player with its files in a directory of this machine, which is made once for each archive."""
        folder = Path(tempfile.gettempdir(), f"trantor-player-{hashlib.sha256(archive).hexdigest()}")
        if not folder.exists():
            # A task beside this one may unpack the same: the first to finish leaves it, whole.
            made = Path(tempfile.mkdtemp(dir=folder.parent))
            with zipfile.ZipFile(io.BytesIO(archive)) as packed:
                for entry in packed.infolist():
                    Path(packed.extract(entry, made)).chmod(0o700 if entry.external_attr >> 16 & EXECUTABLE else 0o600)
            try:
                made.rename(folder)
            except OSError:
                shutil.rmtree(made)
        if folder.stat().st_uid != getattr(os, "getuid", int)():
            raise ValueError(f"{folder} belongs to another user, and its files may be others")
        if self.script is not None:
            mind = (self.mind or "").replace(str(self.script), str(folder / "script.luau"))
            return replace(self, mind=mind)
        return replace(self, directory=folder)


def examined(player: Player) -> Player:
    """A player whose files can be read, or one that loses its matches because they cannot."""
    try:
        # Reads them all.
        assert player.digest
        if player.script is not None:
            play([player.entry(1)], max_units=1)
    except (ValueError, OSError) as error:
        # The same wherever the folder lies.
        home = str(player.directory or (player.script or Path()).parent)
        return replace(player, fault=str(error).removeprefix(f"player {player.name}: ").replace(home, "its folder"))
    return player


def name_of(folder: str, taken: Collection[str]) -> str:
    """The name of a player from that of its folder, which may be none that a team can have."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", folder)[:NAME_CHARACTERS_MAX] or "_"
    try:
        check_team(name)
    except ValueError:
        name = f"_{name}"
    number = 2
    usual = name
    while name in taken:
        name = f"{usual[: NAME_CHARACTERS_MAX - 4]}-{number}"
        number += 1
    return name


def is_within(pattern: str) -> bool:
    """Whether a path or a pattern stays in the directory to which it is relative."""
    return bool(pattern) and not Path(pattern).is_absolute() and ".." not in Path(pattern).parts


def _is_by_product(part: str) -> bool:
    return part.startswith(".") or part == "__pycache__"
