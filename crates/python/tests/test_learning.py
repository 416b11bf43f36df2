"""The example that learns, and the policy that comes of it on a server."""

import os
import subprocess
import sys
from xml.etree import ElementTree

import learn
import numpy as np
import pytest


@pytest.fixture(scope="module")
def policy():
    *_, (_, policy) = learn.learn(seed=1)
    return policy


def test_a_learned_policy_lives_three_times_as_long_as_chance(policy):
    assert learn.lifetimes(policy[None], seed=learn.NEW_GAMES)[0] >= 3 * learn.at_random(seed=1)


def test_the_example_needs_nothing_but_what_the_package_needs(tmp_path, monkeypatch):
    """As the page has its command: learns, draws the curve, writes the policy."""
    # Whatever is installed here.
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(learn, "GENERATIONS", 2)
    monkeypatch.setattr(learn, "CYCLES", 50)
    monkeypatch.setattr(sys, "argv", ["learn.py", "--plot", str(tmp_path / "curve.svg"), "--policy", str(tmp_path / "policy.npy")])
    learn.main()
    assert np.load(tmp_path / "policy.npy").shape == (learn.FEATURES, 37)
    curve = ElementTree.parse(tmp_path / "curve.svg").getroot()
    assert len(curve.findall("{*}polyline")) == 3


def test_a_learned_policy_lives_on_a_server(policy):
    words = ["-p", "0", "--seed", "1", "--lock-step", "--log", "error", "--console", "until-end"]
    server = subprocess.Popen(
        [os.environ["TRANTOR_SERVER"], *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with server:
        address = server.stdout.readline().split()[3]
        # Each takes 15 units: 6,000 in all, and an agent that never eats lives for 1,260.
        taken = learn.play(policy, int(address.rpartition(":")[2]), "red", "127.0.0.1", decisions=400)
        server.stdin.close()
    assert taken == 400
