"""The render mode `human`: viewers see the game while it is played, and their speed and pause are the game's."""

import gc
import os
import signal
import socket
import subprocess
import time
import weakref

import pytest

import trantor

OPTIONS = {"map": (8, 8), "agents": {"red": 3, "blue": 3}, "max_cycles": 2_000, "render_mode": "human"}
FORWARD = trantor.ACTION_NAMES.index("forward")


def seconds_of(env, steps):
    """How long so many steps take in which all walk."""
    began = time.monotonic()
    for _ in range(steps):
        env.step(dict.fromkeys(env.agents, FORWARD))
    return time.monotonic() - began


class TextViewer:
    """A viewer that speaks text."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.lines = self.socket.makefile("rb")
        self.ask("GRAPHIC")

    def ask(self, line):
        self.socket.sendall(line.encode() + b"\n")

    def until(self, begin):
        """The lines up to the first that begins so."""
        lines = []
        while not lines or not lines[-1].startswith(begin):
            lines.append(self.lines.readline().decode())
            assert lines[-1], f"the server has closed the connection after {lines[-3:]}"
        return lines


def test_a_viewer_sees_the_game_and_its_speed_and_pause_are_the_games():
    env = trantor.parallel_env(**OPTIONS)
    env.reset(seed=1)
    # Without a viewer it takes milliseconds, not the eight seconds of 800 units.
    assert seconds_of(env, 10) < 5
    viewer = TextViewer(env.port)
    assert viewer.until("msz")[-1] == "msz 8 8\n"
    # 140 units at 100 a second, less what the game may be ahead.
    at_100 = seconds_of(env, 20)
    assert at_100 > 1.0
    viewer.until("ppo")
    viewer.ask("sst 2000")
    viewer.until("sgt 2000")
    assert seconds_of(env, 20) < at_100 / 2
    console = [os.environ["TRANTOR_SERVER"], "console", "-p", str(env.port)]
    subprocess.run([*console, "/pause"], check=True, timeout=60)
    interrupted = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(KeyboardInterrupt):
        seconds_of(env, 1_000)
    signal.signal(signal.SIGALRM, interrupted)
    subprocess.run([*console, "/resume"], check=True, timeout=60)
    seconds_of(env, 10)
    digest = env.digest()
    # The next game is shown on the same connection: the clock begins anew, and nothing of it is another game.
    env.reset(seed=1)
    viewer.until("sgt")
    seconds_of(env, 20)
    viewer.until("ppo")
    assert env.digest() != digest
    env.close()
    with pytest.raises(AssertionError, match="closed"):
        viewer.until("never")


def test_a_recording_of_a_watched_game_verifies(tmp_path):
    env = trantor.aec_env(**OPTIONS)
    env.reset(seed=1)
    viewer = TextViewer(env.port)
    viewer.ask("sst 10000")
    viewer.until("sgt 10000")
    for agent in env.agent_iter(600):
        _, _, termination, truncation, _ = env.last()
        env.step(None if termination or truncation else FORWARD)
    viewer.until("ppo")
    env.save_recording(tmp_path / "game.trj")
    assert trantor.Recording(tmp_path / "game.trj").verify() == env.digest()


def test_the_port_is_free_when_the_environment_is_gone():
    env = trantor.parallel_env(**OPTIONS)
    port = env.port
    with pytest.raises(OSError, match="choose another with port="):
        trantor.parallel_env(**OPTIONS, port=port)
    gone = weakref.ref(env)
    del env
    gc.collect()
    assert gone() is None
    again = trantor.parallel_env(**OPTIONS, port=port)
    again.reset(seed=1)
    again.close()
    assert again.port is None
    trantor.parallel_env(**OPTIONS, port=port).close()
