"""What an agent observes and may do."""

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from ._core import ACTION_NAMES

if TYPE_CHECKING:
    from ._core import Arrays

SIGHT_TILES = 81
"""Tiles of the cone of sight at level 8: nearest row first, each from left to right. At level n there are (n + 1)²."""
TILE_FIGURES = 9
"""Food, six stones, agents (oneself included), eggs; each at most 255."""
MESSAGES = 12
"""Messages heard since the last decision, the oldest first."""


def observation_space(state_figures: int) -> spaces.Dict:
    """The space of one agent's observations, with its action mask."""
    observation = spaces.Dict(
        {
            "sight": spaces.Box(0, 255, (SIGHT_TILES, TILE_FIGURES), np.uint8),
            "state": spaces.Box(-1, np.iinfo(np.int32).max, (state_figures,), np.int32),
            "messages": spaces.Box(0, 255, (MESSAGES, 2), np.uint8),
        }
    )
    return spaces.Dict({"observation": observation, "action_mask": spaces.MultiBinary(len(ACTION_NAMES))})


def action_space() -> spaces.Discrete[Any]:
    """The space of one agent's actions: the places in `trantor.ACTION_NAMES`."""
    return spaces.Discrete(len(ACTION_NAMES))


def observations(arrays: "Arrays", rows: list[int]) -> list[dict[str, Any]]:
    """Copies of the observations of some rows."""
    sight = arrays["sight"][rows]
    state = arrays["state"][rows]
    messages = arrays["messages"][rows]
    mask = arrays["mask"][rows]
    return [
        {"observation": {"sight": a, "state": b, "messages": c}, "action_mask": d}
        for a, b, c, d in zip(sight, state, messages, mask, strict=True)
    ]
