"""Where units are played: processes of this machine, or a Ray cluster. What is played, and what of it counts, is not theirs."""

import importlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from .. import _checks
from .unit import Outcome, Unit, play_unit

JOBS_MAX = 1_024
"""Processes of one machine: more than the largest have processors."""
ATTEMPTS_MAX = 3
"""Times that a unit is started whose process dies. One that kills three processes would kill a fourth."""
READY = "ready"
"""The first message of a process. One that dies before it would die again, whatever it is to play."""
ENDING_S_MAX = 5.0
"""A process that is asked to end, and has its programs to end first, is killed after so long."""
RAY_TASKS_PER_CPU = 2
"""One is played and one waits at its node: the next one begins at once."""
RAY_LOOK_S = 1.0
"""Between two questions to the cluster how large it is, which take as long as a short match."""


class Finished(NamedTuple):
    """A unit that is over."""

    unit: Unit
    outcome: Outcome
    recording: bytes | None


class Runner(Protocol):
    """Plays units, several at a time."""

    def free(self) -> bool:
        """Whether another unit may be started."""
        ...

    def start(self, unit: Unit) -> None:
        """Starts a unit."""
        ...

    def wait(self) -> Finished | None:
        """Waits until a unit is over; None if none is playing."""
        ...

    def close(self) -> None:
        """Ends what is playing."""
        ...


def make_runner(where: str, jobs: int | None = None) -> Runner:
    """Makes a runner.

    Args:
        where: `"local"`; `"ray"`, a cluster of this machine alone; `"ray:ADDRESS"`, one that runs, by the address of its head or
            `auto`; or `"ray://HOST:PORT"`, one to which this machine does not belong.
        jobs: processes of the local runner; as many as there are processors by default.
    """
    _checks.text("runner", where, "local, ray, ray:ADDRESS or ray://HOST:PORT")
    if jobs is not None:
        jobs = _checks.whole("jobs", jobs, 1, JOBS_MAX)
    if where == "local":
        return LocalRunner(jobs or getattr(os, "process_cpu_count", os.cpu_count)() or 1)
    if where == "ray" or where.startswith("ray:"):
        return RayRunner(where if "://" in where else where.removeprefix("ray").removeprefix(":") or None)
    raise ValueError(f"runner: local, ray, ray:ADDRESS or ray://HOST:PORT, not {where}")


def played(units: Iterator[Unit], runner: Runner) -> Iterator[Finished]:
    """Plays units, and yields each as it is over. The next ones are asked for when they can be started, and no earlier."""
    while True:
        while runner.free() and (unit := next(units, None)) is not None:
            runner.start(unit)
        if (finished := runner.wait()) is None:
            return
        yield finished


def sweep(units: Iterable[Unit], runner: Runner | str = "local") -> list[Outcome]:
    """Plays units and answers their outcomes in the same order.

    In a script, call it under `if __name__ == "__main__":`, as everything that starts processes.

    Args:
        runner: what `make_runner` has made, which stays open; or what it takes.
    """
    if isinstance(runner, str):
        with closing(make_runner(runner)) as made:
            return sweep(units, made)
    order = list(units)
    each_once = iter({unit.key: unit for unit in order}.values())
    outcomes = {finished.unit.key: finished.outcome for finished in played(each_once, runner)}
    return [outcomes[unit.key] for unit in order]


def void(unit: Unit, reason: str, attempts: int) -> Finished:
    """The end of a unit that could not be played."""
    return Finished(unit, Outcome(how="void", troubles={"": reason}, attempts=attempts), None)


def late(unit: Unit) -> str:
    """Why a match was ended that stood still."""
    return f"it was not over after {unit.seconds_max:,.0f} seconds"


class LocalRunner:
    """Processes of this machine, each with one unit at a time, so that a process that dies names its unit."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._idle: list[_Process] = []
        self._busy: dict[_Process, tuple[Unit, int, float]] = {}

    def free(self) -> bool:
        return len(self._busy) < self._jobs

    def start(self, unit: Unit, attempt: int = 1) -> None:
        process = self._idle.pop() if self._idle else _Process()
        process.send(unit)
        self._busy[process] = (unit, attempt, time.monotonic() + unit.seconds_max)

    def wait(self) -> Finished | None:
        while self._busy:
            until = min(deadline for _, _, deadline in self._busy.values())
            ready = multiprocessing.connection.wait([process.pipe for process in self._busy], max(until - time.monotonic(), 0.0))
            process = next((process for process in self._busy if process.pipe in ready), None)
            if process is None:
                if (late := self._late()) is not None:
                    return late
                continue
            try:
                message = process.pipe.recv()
                if message == READY:
                    process.is_ready = True
                    continue
            except (EOFError, OSError):
                message = None
            unit, attempt, _ = self._busy.pop(process)
            if message is None:
                reason = process.ended()
                if not process.is_ready:
                    hint = 'a script that plays needs if __name__ == "__main__": and a file'
                    raise RuntimeError(f"processes do not start, {reason}: {hint}")
                if attempt == ATTEMPTS_MAX:
                    return void(unit, f"its process died {ATTEMPTS_MAX} times, {reason}", attempt)
                self.start(unit, attempt + 1)
                continue
            self._idle.append(process)
            return Finished(unit, replace(message.outcome, attempts=attempt), message.recording)
        return None

    def _late(self) -> Finished | None:
        """The end of a match that stands still."""
        for process, (unit, attempt, deadline) in self._busy.items():
            if time.monotonic() >= deadline:
                del self._busy[process]
                process.process.kill()
                process.ended()
                return void(unit, late(unit), attempt)
        return None

    def close(self) -> None:
        everyone = [*self._idle, *self._busy]
        for process in everyone:
            process.process.terminate()
        for process in everyone:
            process.ended()
        self._idle, self._busy = [], {}


class _Process:
    """A process that plays units."""

    def __init__(self) -> None:
        self.is_ready = False
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def send(self, unit: Unit) -> None:
        # If it has died, that is seen when its answer is waited for.
        with suppress(OSError):
            self.pipe.send(unit)

    def ended(self) -> str:
        """Waits for its end, and answers how it was."""
        self.process.join(ENDING_S_MAX)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.pipe.close()
        code = self.process.exitcode or 0
        return f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"


def _serve(pipe: Any) -> None:
    """The life of a process: plays what comes, until the pipe is closed."""
    # Ctrl-C reaches all processes of a terminal. Only the first decides, and then asks the others to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _ends)
    pipe.send(READY)
    # The pipe is closed when all is played, or while this plays.
    with suppress(EOFError, OSError):
        while True:
            unit = pipe.recv()
            try:
                finished = Finished(unit, *play_unit(unit))
            except Exception as error:
                finished = void(unit, f"{type(error).__name__}: {error}", 1)
            pipe.send(finished)


def _ends(_number: int, _frame: object) -> None:
    exit(0)


class RayRunner:
    """Tasks of a Ray cluster, which places them, and starts those again whose process or node is gone."""

    def __init__(self, address: str | None) -> None:
        # Its types are there only with it.
        self._ray: Any = importlib.import_module("ray")
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._ray.init(address=address, log_to_driver=False, logging_level="error")
        self._task = self._ray.remote(num_cpus=1, max_retries=ATTEMPTS_MAX - 1)(play_unit)
        self._units: dict[Any, tuple[Unit, float]] = {}
        self._archives: dict[str, Any] = {}
        self._tasks, self._next_look_s = 0, 0.0

    def free(self) -> bool:
        if time.monotonic() >= self._next_look_s:
            self._tasks = RAY_TASKS_PER_CPU * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._next_look_s = time.monotonic() + RAY_LOOK_S
        return len(self._units) < self._tasks

    def start(self, unit: Unit) -> None:
        # A node has other files, or none: those of each player are put into the cluster once.
        players = unit.players if any(player.contents() for player in unit.players) else ()
        for player in players:
            if player.digest not in self._archives:
                self._archives[player.digest] = self._ray.put(player.archive())
        # A unit keeps its key once it is made.
        assert unit.key
        task = self._task.remote(unit, *(self._archives[player.digest] for player in players))
        # It may wait for a processor until the one before it is over, and is played again where a node is lost.
        self._units[task] = unit, time.monotonic() + RAY_TASKS_PER_CPU * ATTEMPTS_MAX * unit.seconds_max

    def wait(self) -> Finished | None:
        if not self._units:
            return None
        until = min(deadline for _, deadline in self._units.values())
        done, _ = self._ray.wait(list(self._units), num_returns=1, timeout=max(until - time.monotonic(), 0.0))
        ready = done[0] if done else min(self._units, key=lambda task: self._units[task][1])
        unit, _ = self._units.pop(ready)
        if not done:
            self._ray.cancel(ready, force=True)
            return void(unit, late(unit), 1)
        try:
            outcome, recording = self._ray.get(ready)
        except self._ray.exceptions.RayTaskError as error:
            return void(unit, f"{type(error.cause).__name__}: {error.cause}", 1)
        except self._ray.exceptions.RayError as error:
            return void(unit, f"{type(error).__name__} after {ATTEMPTS_MAX} attempts", ATTEMPTS_MAX)
        return Finished(unit, outcome, recording)

    def close(self) -> None:
        for task in self._units:
            self._ray.cancel(task, force=True)
        self._units = {}
        if self._ours:
            self._ray.shutdown()
