"""What an agent observes and may do."""

import string
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ._core import ACTION_NAMES, STATE_NAMES
from ._setup import LINE_BYTES_MAX

SIGHT_TILES = 81
"""Tiles of the cone of sight at level 8: nearest row first, each from left to right. At level n there are (n + 1)²."""
TILE_FIGURES = 9
"""Food, six stones, agents (oneself included), eggs; each at most 255."""
MESSAGES = 12
"""Messages heard since the last decision, the oldest first."""
LINE_CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " _"
TEXT_CHARACTERS_MAX = 512 * 1024
"""Of the lines that an agent is sent between two decisions; an answer may follow messages of 256 KiB."""


def observation_space(is_raw: bool = False) -> spaces.Space[Any]:
    """The space of one agent's observations: arrays with its action mask, or lines of text."""
    if is_raw:
        return spaces.Text(TEXT_CHARACTERS_MAX, min_length=0, charset=string.printable)
    observation = spaces.Dict(
        {
            "sight": spaces.Box(0, 255, (SIGHT_TILES, TILE_FIGURES), np.uint8),
            "state": spaces.Box(-1, np.iinfo(np.int32).max, (len(STATE_NAMES),), np.int32),
            "messages": spaces.Box(0, 255, (MESSAGES, 2), np.uint8),
        }
    )
    return spaces.Dict({"observation": observation, "action_mask": spaces.MultiBinary(len(ACTION_NAMES))})


def action_space(is_raw: bool = False) -> spaces.Space[Any]:
    """The space of one agent's actions: the places in `trantor.ACTION_NAMES`, or lines."""
    if is_raw:
        return spaces.Text(LINE_BYTES_MAX, min_length=0, charset=LINE_CHARACTERS)
    return spaces.Discrete(len(ACTION_NAMES))


def observations(arrays: dict[str, npt.NDArray[Any]], rows: list[int]) -> list[dict[str, Any]]:
    """Copies of the observations of some rows."""
    of_rows = (arrays["sight"][rows], arrays["state"][rows], arrays["messages"][rows], arrays["mask"][rows])
    return [
        {"observation": {"sight": sight, "state": state, "messages": messages}, "action_mask": mask}
        for sight, state, messages, mask in zip(*of_rows, strict=True)
    ]
