"""Programs that speak Zappy over TCP, as players of a match.

Starts processes, greets them, passes them the lines of their agents, and judges how they behave. The game and the text are the
native library's.
"""

import os
import selectors
import shlex
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import owners
from ._core import KO, WELCOME
from ._setup import LINE_BYTES_MAX

HOST = "127.0.0.1"
CONNECT_SECONDS = 10.0
"""A process connects within this time: a virtual machine on a busy computer needs seconds."""
READ_BYTES = 64 * 1024
"""Read at once, at most: what the server keeps of one connection."""
COMMANDS_AHEAD_MAX = 1_000
"""Commands sent ahead: a hundred times what the server carries out of them."""
PROCESSES_MAX = 32
"""Processes of a program that grows, one after the other: what a small machine has memory for."""
REFUSED_MAX = 16
"""Refused connections that are kept open, so that their end does not overtake the answer."""
LAST_WORDS_BYTES = 4_096
"""Kept of what a process writes: a screen of lines."""
GRACE_SECONDS = 1.0
"""For processes to end by themselves once their connection has ended; then they are killed."""
POLL_SECONDS = 0.02
"""Between two looks at whether a process that has not connected still runs."""


def printable(text: str) -> str:
    """A text of a program as a terminal or a report may show it: nothing in it controls a terminal or turns the direction of a line."""
    return "".join(letter if letter == "\n" or letter.isprintable() else " " for letter in text)


@dataclass(frozen=True)
class Program:
    """A program that speaks Zappy over TCP, as a player: one process an agent.

    Args:
        team: the name of its team.
        command: how a process is started, without a shell. `{host}`, `{port}`, `{team}` and `{seed}` (of the match) are replaced.
        count: agents at the start, each a process.
        grows: whether a process more is started for each place that is free or that a fork makes, up to 32 in all. Otherwise only
            those of the start play, and further connections are answered `ko`.
        cwd: the folder in which it runs; default: that of this process.
    """

    team: str
    command: str
    count: int = 6
    grows: bool = False
    cwd: str | Path | None = None

    def words(self, port: int, seed: int) -> list[str]:
        """The command for one process."""
        values = {"{host}": HOST, "{port}": str(port), "{team}": self.team, "{seed}": str(seed)}
        words = shlex.split(self.command)
        for name, value in values.items():
            words = [word.replace(name, value) for word in words]
        return words


class Lost(Exception):
    """A player has lost its agents; the text says why."""


class Process:
    """One process and its connection."""

    def __init__(self, program: Program, listener: socket.socket, seed: int, seconds: float) -> None:
        """Starts it.

        Raises:
            Lost: it cannot be started.
        """
        # Else sets of Python have another order in each process.
        environment = {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", **os.environ}
        try:
            self._child = subprocess.Popen(
                program.words(listener.getsockname()[1], seed),
                cwd=program.cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            raise Lost(f"cannot be started: {error}") from None
        self._team = program.team.encode()
        self._listener = listener
        self._seconds = seconds
        # Connected to nothing until it connects.
        self._socket = socket.socket()
        self._selector = selectors.DefaultSelector()
        self._refused: deque[socket.socket] = deque(maxlen=REFUSED_MAX)
        self._received = bytearray()
        self._written = b""
        self._has_place = False
        self._reader = threading.Thread(target=self._keep_words, daemon=True)
        self._reader.start()

    @property
    def number(self) -> int:
        """The number of the process."""
        return self._child.pid

    def connect(self, family: Collection[int] = ()) -> None:
        """Waits until it has asked for a place.

        Args:
            family: processes of its team, which may connect for it.

        Raises:
            Lost: it has not.
        """
        self._socket.close()
        self._socket = self._accept([self.number, *family])
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._send(WELCOME)
        name = self._line()
        if name.strip() != self._team:
            self._send(KO)
            raise Lost(f"asked for {name[:80]!r} and not for its team, {self._team.decode()!r}")

    def command(self, text: bytes) -> bytes:
        """Sends the lines of its agent, and waits for one command.

        Raises:
            Lost: there is none.
        """
        # Its two first lines leave in one write, all others in writes of their own, as on the server.
        for line in text.splitlines(keepends=True) if self._has_place else [text]:
            self._send(line)
        self._has_place = True
        return self._line()

    def finish(self, text: bytes) -> None:
        """Its agent is gone: sends the last lines, and ends the connection."""
        with suppress(OSError):
            self._socket.setblocking(False)
            self._socket.send(text)
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Closes the connections."""
        self._selector.close()
        for connection in [self._socket, *self._refused]:
            connection.close()

    def wait_until(self, deadline: float) -> None:
        """Waits for its end."""
        with suppress(subprocess.TimeoutExpired):
            self._wait(max(deadline - time.monotonic(), 0.0))

    def kill(self) -> None:
        """Ends it, if it has not ended."""
        if self._child.returncode is None:
            self._kill()
            self._child.wait()
        # A descendant that has left the group may keep the pipe open.
        self._reader.join(GRACE_SECONDS)

    def last_words(self) -> str:
        """The last lines that it wrote to its output and error, as they may be printed."""
        return printable(self._written.decode(errors="replace")).strip()

    def _keep_words(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as pipe:
            while piece := os.read(pipe.fileno(), LAST_WORDS_BYTES):
                self._written = (self._written + piece)[-LAST_WORDS_BYTES:]

    def _accept(self, family: Collection[int]) -> socket.socket:
        deadline = time.monotonic() + CONNECT_SECONDS
        while time.monotonic() < deadline:
            self._listener.settimeout(POLL_SECONDS)
            with suppress(TimeoutError):
                connection = self._listener.accept()[0]
                if owners.may_be_of(connection, family):
                    return connection
                # Else whoever finds the port and says the name has the place of another player.
                self._turn_away(connection)
            with suppress(subprocess.TimeoutExpired):
                raise Lost(f"did not connect, {self._wait(0.0)}")
        raise Lost(f"did not connect within {CONNECT_SECONDS:g} seconds")

    def _wait(self, seconds: float) -> str:
        """How it has ended. What it has started ends with it."""
        if self._child.returncode is None:
            self._child.wait(seconds)
            # Its number is not given to another at once, so the group is still its own.
            self._kill()
        status = self._child.wait()
        return f"exit status {status}" if status >= 0 else f"killed by signal {-status}"

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._child.pid, signal.SIGKILL)
            else:
                self._child.kill()

    def _closed(self) -> Lost:
        try:
            return Lost(f"closed its connection, {self._wait(GRACE_SECONDS)}")
        except subprocess.TimeoutExpired:
            return Lost("closed its connection")

    def _send(self, data: bytes) -> None:
        try:
            self._socket.settimeout(self._seconds)
            self._socket.sendall(data)
        except TimeoutError:
            raise Lost(f"did not read for {self._seconds:g} seconds") from None
        except OSError:
            raise self._closed() from None

    def _line(self) -> bytes:
        deadline = time.monotonic() + self._seconds
        while (end := self._received.find(b"\n")) < 0:
            if len(self._received) > LINE_BYTES_MAX:
                raise Lost(f"sent a line of more than {LINE_BYTES_MAX} bytes")
            self._await_bytes(deadline)
            try:
                received = self._socket.recv(READ_BYTES)
            except OSError:
                received = b""
            if not received:
                raise self._closed()
            self._received += received
            if self._received.count(b"\n") > COMMANDS_AHEAD_MAX:
                raise Lost(f"sent more than {COMMANDS_AHEAD_MAX} commands ahead")
        line = bytes(self._received[:end]).removesuffix(b"\r")
        del self._received[: end + 1]
        return line

    def _await_bytes(self, deadline: float) -> None:
        while ready := self._selector.select(max(deadline - time.monotonic(), 0.0)):
            for key, _ in ready:
                if key.fileobj is self._socket:
                    return
                self._refuse()
        raise Lost(f"sent no command within {self._seconds:g} seconds")

    def _refuse(self) -> None:
        """Answers a connection for which there is no place."""
        with suppress(OSError):
            self._listener.settimeout(0.0)
            self._turn_away(self._listener.accept()[0])

    def _turn_away(self, connection: socket.socket) -> None:
        with suppress(OSError):
            self._refused.append(connection)
            connection.sendall(WELCOME + KO)
            connection.shutdown(socket.SHUT_WR)


def end(processes: Collection[Process]) -> None:
    """Ends processes, and all that they have started."""
    for process in processes:
        process.close()
    deadline = time.monotonic() + GRACE_SECONDS
    try:
        for process in processes:
            process.wait_until(deadline)
    finally:
        for process in processes:
            process.kill()
