"""A clean top view of a game, as an array of pixels."""

import colorsys
from typing import Any

import numpy as np
import numpy.typing as npt

WIDTH_MAX = 640
"""Pixels of the longer side: enough for a video, and quick."""
GROUND = np.array([38, 52, 38], np.uint8)
STONES = np.array(
    [[222, 184, 90], [150, 160, 170], [90, 150, 200], [190, 110, 170], [110, 190, 140], [200, 120, 80], [240, 230, 120]],
    np.uint8,
)
"""Colours of food and the six stones."""


def draw(scene: dict[str, Any]) -> npt.NDArray[np.uint8]:
    """Draws the state that `Recording.state` and environments have.

    Returns:
        Shape (height, width, 3), uint8: tiles of 4 to 32 pixels a side.
    """
    ground = scene["ground"]
    rows, columns = ground.shape[:2]
    side = int(np.clip(WIDTH_MAX // max(rows, columns), 4, 32))
    picture = np.empty((rows * side, columns * side, 3), np.uint8)
    picture[:] = GROUND
    if side >= 8:
        picture[::side] = picture[:, ::side] = GROUND // 2
    # Resources lie in the upper rows of a tile, agents stand in the middle.
    dot = max(side // 8, 1)
    for resource in range(ground.shape[2]):
        ys, xs = np.nonzero(ground[:, :, resource])
        left = xs * side + 1 + (resource * (side - 2)) // 7
        top = ys * side + 1
        for dy, dx in np.ndindex(dot, dot):
            picture[top + dy, left + dx] = STONES[resource]
    # As far apart as there are teams.
    teams = len(scene["teams"])
    colours = [np.multiply(colorsys.hsv_to_rgb(team / teams, 0.75, 1.0), 255) for team in range(teams)]
    for agent in scene["agents"]:
        team, x, y, level = agent[1], agent[2], agent[3], agent[5]
        size = max(int(side * (0.3 + 0.06 * level)), 2)
        top = y * side + (side - size) // 2 + dot
        left = x * side + (side - size) // 2
        picture[top : top + size, left : left + size] = colours[team]
    return picture
