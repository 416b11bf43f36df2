"""Builds the programs of a league before their matches: each in a copy of its files, so that nobody's folder is changed.

What was built from the same files with the same command is not built again.
"""

import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from .players import Player
from .store import write_whole

BUILD_SECONDS_MAX = 600.0
"""A program of a course compiles within minutes, on a busy machine too."""
LOG_BYTES_MAX = 64 * 1024
"""Kept of what a build writes: the end, where errors are counted."""
LOG_FILE_BYTES_MAX = 64 * 1024 * 1024
"""A build that writes more has lost its way."""
POLL_SECONDS = 0.05
"""Between two looks at whether a build has ended."""
BUILT = "built"
"""The mark of a folder in which the build has succeeded."""


@dataclass(frozen=True)
class Build:
    """How the build of a player went."""

    player: str
    command: str
    fault: str | None
    seconds: float
    log: str
    is_old: bool
    """It was built by an earlier run."""


def build(player: Player, folder: Path) -> tuple[Player, Build | None]:
    """Builds a player that has a build command; answers it as it is to play.

    Args:
        folder: for the copies, each named after the player and the digest of its files.
    """
    if player.build is None or player.fault is not None:
        return player, None
    digest = player.digest
    home = folder / f"{player.name}-{digest[:16]}"
    files, log, mark = home / "files", home / "log", home / BUILT
    built = replace(player, directory=files, files=None, source=digest)
    if mark.exists():
        return built, Build(player.name, player.build, None, 0.0, _end_of(log), True)
    with suppress(FileNotFoundError):
        shutil.rmtree(home)
    for name, path in player.contents().items():
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, files / name)
    began = time.monotonic()
    fault = _run(player.build, files, log)
    done = Build(player.name, player.build, fault, time.monotonic() - began, _end_of(log), False)
    if fault is not None:
        return replace(player, fault=f"its build {fault}"), done
    write_whole(mark, b"")
    return built, done


def _run(command: str, folder: Path, log: Path) -> str | None:
    """Runs a build command without a shell; answers why it has failed, if it has."""
    with log.open("wb") as output:
        try:
            child = subprocess.Popen(
                shlex.split(command), cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        except (OSError, ValueError, IndexError) as error:
            return f"cannot be started: {error}"
        deadline = time.monotonic() + BUILD_SECONDS_MAX
        try:
            while child.poll() is None:
                if time.monotonic() >= deadline:
                    return f"took longer than {BUILD_SECONDS_MAX:g} seconds"
                if log.stat().st_size > LOG_FILE_BYTES_MAX:
                    return f"wrote more than {LOG_FILE_BYTES_MAX >> 20} MiB"
                time.sleep(POLL_SECONDS)
        finally:
            # With all that it has started.
            with suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(child.pid, signal.SIGKILL)
                else:
                    child.kill()
            child.wait()
    status = child.returncode
    return None if status == 0 else f"failed, exit status {status}" if status > 0 else f"was killed by signal {-status}"


def _end_of(log: Path) -> str:
    with suppress(OSError), log.open("rb") as written:
        written.seek(max(log.stat().st_size - LOG_BYTES_MAX, 0))
        return written.read().decode(errors="replace").strip()
    return ""
