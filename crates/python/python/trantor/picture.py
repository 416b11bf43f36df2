"""A clean top view of a game, as an array of pixels."""

import colorsys
import struct
import zlib
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]

WIDTH_MAX = 640
"""Pixels of the longer side: enough for a video, and quick."""
GROUND = np.array([38, 52, 38], np.uint8)
INK = np.array([12, 18, 12], np.uint8)
EGG = np.array([235, 228, 205], np.uint8)
STONES = np.array(
    [[222, 184, 90], [150, 160, 170], [90, 150, 200], [190, 110, 170], [110, 190, 140], [200, 120, 80], [240, 230, 120]],
    np.uint8,
)
"""Colours of food and the six stones."""
GLYPHS = [
    ["111", "101", "101", "101", "111"],
    ["010", "110", "010", "010", "111"],
    ["111", "001", "111", "100", "111"],
    ["111", "001", "111", "001", "111"],
    ["101", "101", "111", "001", "001"],
    ["111", "100", "111", "001", "111"],
    ["111", "100", "111", "101", "111"],
    ["111", "001", "010", "010", "010"],
    ["111", "101", "111", "101", "111"],
    ["111", "101", "111", "001", "111"],
]
"""The digits, three by five dots."""
BRIGHTNESS = np.array([0.3, 0.6, 0.1])
"""Of red, green and blue."""
DIGIT_SIZE_MIN = 9
"""Pixels of an agent in which a digit can be read."""
SLOTS = 4
"""Agents that are drawn on one tile; of more, three and their number."""


def team_colours(teams: int) -> Pixels:
    """As far apart as there are teams; shape (teams, 3)."""
    colours = [colorsys.hsv_to_rgb(team / teams, 0.75, 1.0) for team in range(teams)]
    return (np.array(colours).reshape(teams, 3) * 255).astype(np.uint8)


def css_colours(teams: int) -> list[str]:
    """The same for web pages."""
    return ["#" + bytes(colour).hex() for colour in team_colours(teams)]


def draw(scene: dict[str, Any]) -> Pixels:
    """Draws the state that `Recording.state` and environments have. Agents point to where they face and have their level on them.

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
    # Resources lie in the upper rows of a tile, agents stand below.
    dot = max(side // 8, 1)
    for resource in range(ground.shape[2]):
        ys, xs = np.nonzero(ground[:, :, resource])
        left = xs * side + 1 + (resource * (side - 2)) // 7
        top = ys * side + 1
        for dy, dx in np.ndindex(dot, dot):
            picture[top + dy, left + dx] = STONES[resource]
    for egg in scene["eggs"]:
        x, y = int(egg[2]), int(egg[3])
        picture[(y + 1) * side - 1 - dot : (y + 1) * side - 1, x * side + 1 : x * side + 1 + dot] = EGG
    colours = team_colours(len(scene["teams"]))
    on_tiles: dict[tuple[int, int], list[Any]] = {}
    for agent in scene["agents"]:
        on_tiles.setdefault((int(agent[2]), int(agent[3])), []).append(agent)
    for (x, y), agents in on_tiles.items():
        agents.sort(key=lambda agent: -agent[5])
        inside = picture[y * side + 1 + dot : (y + 1) * side, x * side + 1 : (x + 1) * side]
        if len(agents) == 1:
            _draw_agent(inside, agents[0], colours)
            continue
        half = max(min(inside.shape[:2]) // 2, 1)
        shown = agents if len(agents) <= SLOTS else agents[: SLOTS - 1]
        for slot, agent in enumerate(shown):
            _draw_agent(_slot(inside, slot, half), agent, colours)
        if len(shown) < len(agents):
            _draw_number(_slot(inside, SLOTS - 1, half), len(agents) - len(shown), STONES[6])
    return picture


def png(picture: Pixels) -> bytes:
    """A picture as a file in the format PNG."""
    height, width = picture.shape[:2]
    # Each row begins with its filter: none.
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = picture.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")


def _slot(inside: Pixels, slot: int, half: int) -> Pixels:
    top, left = half * (slot // 2), half * (slot % 2)
    return inside[top : top + half, left : left + half]


def _draw_agent(room: Pixels, agent: Any, colours: Pixels) -> None:
    """Draws an agent into a part of the picture: the larger, the higher its level."""
    team, direction, level = int(agent[1]), int(agent[4]), int(agent[5])
    most = min(room.shape[:2])
    size = max(round(most * (0.76 + 0.03 * level)), min(DIGIT_SIZE_MIN, most), 1)
    top, left = (room.shape[0] - size) // 2, (room.shape[1] - size) // 2
    body = room[top : top + size, left : left + size]
    shape, outline = _shape(size, direction)
    body[shape] = colours[team]
    body[outline] = INK
    if size >= DIGIT_SIZE_MIN:
        _draw_number(body, level, INK if colours[team] @ BRIGHTNESS > 100 else EGG)


def _draw_number(room: Pixels, number: int, colour: Pixels) -> None:
    """Draws a number into the middle of a part of the picture, if there is room."""
    figures = str(number)
    dots = np.concatenate([_glyph(int(figure)) for figure in figures], axis=1)[:, :-1]
    scale = min((room.shape[0] - 2) // dots.shape[0], (room.shape[1] - 2) // dots.shape[1], 2)
    if scale >= 1:
        dots = dots.repeat(scale, axis=0).repeat(scale, axis=1)
        top, left = (room.shape[0] - dots.shape[0] + 1) // 2, (room.shape[1] - dots.shape[1] + 1) // 2
        room[top : top + dots.shape[0], left : left + dots.shape[1]][dots] = colour


@cache
def _glyph(figure: int) -> npt.NDArray[np.bool_]:
    """The dots of a digit, with a column behind it."""
    return np.array([[dot == "1" for dot in f"{row}0"] for row in GLYPHS[figure]])


@cache
def _shape(size: int, direction: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """What an agent covers, a block with a tip to where it faces, and its edge: 1 up, 2 right, 3 down, 4 left."""
    ys, xs = np.indices((size, size))
    across = np.abs(2 * xs + 1 - size)
    # The tip takes the upper third, and the block is narrower than long.
    tip = size / 3
    shape = across <= np.where(ys < tip, (ys + 0.5) / tip, 1.0) * 0.86 * size
    inner = np.pad(shape, 1)
    inner = inner[:-2, 1:-1] & inner[2:, 1:-1] & inner[1:-1, :-2] & inner[1:-1, 2:]
    # A small one has no room for an edge, but for its tip.
    outline = shape & ~inner if size >= DIGIT_SIZE_MIN else shape & (ys < 1)
    return np.rot90(shape, 1 - direction), np.rot90(outline, 1 - direction)
