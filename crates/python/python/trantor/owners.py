"""Whose a connection of this machine is: so that no player takes the place of another.

Linux says it in `/proc` to the user who owns the processes. Elsewhere, and of processes of other users and of containers, it is
not known, and nobody is turned away.
"""

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

PROC = Path("/proc")
LOOKS_MAX = 3
"""At a table that changes while it is read."""
ANCESTORS_MAX = 64
"""Parents that are asked for: a start script of a start script has few."""


def may_be_of(connection: socket.socket, family: Collection[int]) -> bool:
    """Whether a connection was made by one of these processes or by what they have started, as far as it can be known.

    Args:
        family: processes that began a session each, or have not ended.
    """
    try:
        ends = f"{connection.getpeername()[1]:04X}", f"{connection.getsockname()[1]:04X}"
    except OSError:
        return False
    for _ in range(LOOKS_MAX):
        inode = _inode(*ends)
        if inode is None:
            return True
        is_known = False
        for owner in _owners(inode, family):
            if _descends(owner, family):
                return True
            is_known = True
        if is_known:
            return False
        # Of another user, if it is still there. Who has gone has left nothing but words, which may not be its own to say.
        if inode and inode == _inode(*ends):
            return True
    return False


def _inode(local: str, remote: str) -> str | None:
    """The number of the socket with these ports, in hexadecimal; empty if there is none, or nobody holds it any more.

    None: the system does not say.
    """
    found = None
    for table in ("net/tcp", "net/tcp6"):
        with suppress(OSError):
            for line in (PROC / table).read_text(encoding="ascii").splitlines()[1:]:
                columns = line.split()
                if columns[1].endswith(f":{local}") and columns[2].endswith(f":{remote}") and columns[9] != "0":
                    return columns[9]
            found = ""
    return found


def _owners(inode: str, first: Collection[int]) -> Iterator[int]:
    """The processes that hold a socket; some are looked at first, which is most often enough."""
    held = f"socket:[{inode}]"
    for process in chain((PROC / str(number) for number in first), PROC.iterdir()):
        # A process may end meanwhile, and those of others are closed to us.
        with suppress(OSError):
            if process.name.isdigit() and any(_is(each, held) for each in (process / "fd").iterdir()):
                yield int(process.name)


def _is(descriptor: Path, held: str) -> bool:
    # One that has just been closed says nothing about those that come after it.
    with suppress(OSError):
        return os.readlink(descriptor) == held
    return False


def _descends(process: int, family: Collection[int]) -> bool:
    for _ in range(ANCESTORS_MAX):
        if process in family:
            return True
        try:
            # After the name in brackets, which may have blanks: state, parent, group, session.
            status = (PROC / str(process) / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        _, parent, _, session, *_ = status.rpartition(")")[2].split()
        if int(session) in family:
            return True
        process = int(parent)
        if process <= 1:
            return False
    return False
