"""Tournaments and sweeps: many matches, each played once, on the processors of one machine or on a Ray cluster.

A match is a `Unit`: all that its outcome depends on. `sweep` plays units; `python -m trantor tournament league.toml` plays
those of a league and writes its report.
"""

from .players import Player
from .runners import Runner, make_runner, sweep
from .unit import Outcome, Unit

__all__ = ["Outcome", "Player", "Runner", "Unit", "make_runner", "sweep"]
