"""`cargo xtask bench python`: what the package costs, as the table of docs/benchmarks.md."""

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from timeit import timeit

import numpy as np

import trantor
from trantor.tournament import Player, Runner, Unit, make_runner, sweep

ROUNDS = 9
GAMES = 64
ACTIONS = np.array([1, 1, 1, 2, 3, 4], np.uint8)
"""Walks, turns and eats: what a trivial policy does."""


def best(measure: Callable[[], float]) -> float:
    """The best of some rounds: the others were disturbed."""
    return max(measure() for _ in range(ROUNDS))


def vector(threads: int) -> float:
    """Decisions a second of living agents."""
    env = trantor.make_vec(GAMES, threads, max_cycles=10_000)
    random = np.random.default_rng(1)
    actions = [random.choice(ACTIONS, env.num_envs) for _ in range(16)]
    steps, decisions = 150, 0
    observations, _ = env.reset(seed=1)
    living = observations["observation"]["state"][:, 0]
    for step in range(steps):
        decisions += int(living.sum())
        env.step(actions[step % 16])
    # The same games again, with nothing but what a policy would see.
    env.reset(seed=1)
    began = time.perf_counter()
    for step in range(steps):
        env.step(actions[step % 16])
    took = time.perf_counter() - began
    env.close()
    return decisions / took


def unseen() -> float:
    """Actions a second of minds that act at random and see nothing, on one thread: the game itself."""
    began = time.perf_counter()
    actions = sum(trantor.play(["red=random:6", "blue=random:6"], seed=seed).actions for seed in range(100))
    return actions / (time.perf_counter() - began)


def parallel() -> float:
    """Decisions a second through dictionaries."""
    env = trantor.parallel_env(max_cycles=10_000)
    random = np.random.default_rng(1)
    decisions, games, took = 0, 0, 0.0
    while decisions < 30_000:
        env.reset(seed=games)
        games += 1
        actions = [dict(zip(env.agents, map(int, random.choice(ACTIONS, 12)), strict=True)) for _ in range(16)]
        began = time.perf_counter()
        for step in range(150):
            _, rewards, *_ = env.step(actions[step % 16])
            decisions += len(rewards)
            if not env.agents:
                break
        took += time.perf_counter() - began
    return decisions / took


def memory() -> float:
    """KiB a game of 20 × 20 with 12 agents takes, its arrays included."""
    script = (
        "import resource, sys, numpy, trantor\n"
        "env = trantor.make_vec(int(sys.argv[1]), 1)\n"
        "env.reset(seed=1)\n"
        "for _ in range(50): env.step(numpy.ones(env.num_envs, numpy.uint8))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    few, many = (
        int(subprocess.run([sys.executable, "-c", script, str(games)], capture_output=True, check=True).stdout)
        for games in (100, 1_100)
    )
    return (many - few) / 1_000


def matches(runner: Runner) -> float:
    """Short matches a second."""
    players = Player("red", "team"), Player("blue", "team")
    units = [Unit(players, seed=seed, max_units=1_000) for seed in range(1_000)]
    # Its processes are there before.
    sweep(units[:20], runner)
    began = time.perf_counter()
    sweep(units, runner)
    return len(units) / (time.perf_counter() - began)


def import_time() -> float:
    """Seconds until the package is there."""
    whole, empty = (
        timeit(lambda: subprocess.run([sys.executable, "-c", script], check=True), number=1)
        for script in ("import trantor", "pass")
    )
    return whole - empty


def main() -> None:
    wheel = Path(sys.argv[1])
    one, two = best(lambda: vector(1)), best(lambda: vector(2))
    with closing(make_runner("local", jobs=2)) as runner:
        short = best(lambda: matches(runner))
    rows = [
        (f"agent decisions a second, vector of {GAMES} games, two threads", f"{two / 1e6:.2f} million", "≥ 5 million"),
        ("the same on one thread", f"{one / 1e6:.2f} million", ""),
        ("the same from a Parallel environment", f"{best(parallel):,.0f}", "≥ 150,000"),
        ("a decision with its arrays, by an action of the game alone", f"{best(unseen) / one:.2f}", "≤ 2"),
        ("memory of a game, KiB", f"{memory():.0f}", "≤ 100"),
        ("matches of 1,000 units a second, local runner, two processes", f"{short:,.0f}", "≥ 20"),
        ("import, s", f"{-best(lambda: -import_time()):.2f}", "≤ 0.3"),
        ("wheel, MB", f"{wheel.stat().st_size / 1e6:.1f}", "≤ 10"),
    ]
    print("| What | Figure | Goal |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
