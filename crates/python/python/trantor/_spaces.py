"""What an agent observes and may do."""

import string
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ._core import ACTION_NAMES
from ._setup import LINE_BYTES_MAX

LINE_CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " _"
TEXT_CHARACTERS_MAX = 512 * 1024
"""Of the lines that an agent is sent between two decisions; an answer may follow messages of 256 KiB."""


def observation_space(arrays: dict[str, npt.NDArray[Any]], is_raw: bool = False) -> spaces.Space[Any]:
    """The space of one agent's observations: rows of the arrays with its action mask, or lines of text."""
    if is_raw:
        return spaces.Text(TEXT_CHARACTERS_MAX, min_length=0, charset=string.printable)
    lows = {"sight": 0, "state": -1, "messages": 0}
    observation: dict[str, spaces.Space[Any]] = {
        name: spaces.Box(low, np.iinfo(arrays[name].dtype).max, arrays[name].shape[1:], arrays[name].dtype.type)
        for name, low in lows.items()
    }
    both: dict[str, spaces.Space[Any]] = {
        "observation": spaces.Dict(observation),
        "action_mask": spaces.MultiBinary(len(ACTION_NAMES)),
    }
    return spaces.Dict(both)


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
