"""Parameters as they are given: each is checked before anything is made of it. An error names it and says what it takes."""

import math
import operator
from collections.abc import Iterable, Mapping, Sequence, Sized
from difflib import get_close_matches
from reprlib import repr as short
from types import UnionType
from typing import Any, SupportsFloat, SupportsIndex

SIDE_MAX = 1_000
SEED_MAX = 2**64 - 1
ENTRIES_MAX = 1 << 20
"""Of a list or a dictionary: more than there are games, agents or teams."""


def whole(name: str, value: object, low: int, high: int) -> int:
    """A whole number, of NumPy too, from `low` to `high`."""
    takes = f"a whole number from {low:,} to {high:,}"
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(f"{name} must be {takes}, not {short(value)}")
    try:
        number = operator.index(value)
    except TypeError:
        # An array of more than one.
        raise TypeError(f"{name} must be {takes}, not {short(value)}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} must be {takes}, not {short(value)}")
    return number


def number(name: str, value: object, low: float, high: float) -> float:
    """A number from `low` to `high`."""
    takes = f"a number from {low:,g} to {high:,g}"
    if isinstance(value, bool | str) or not isinstance(value, SupportsFloat | SupportsIndex):
        raise TypeError(f"{name} must be {takes}, not {short(value)}")
    try:
        real = float(value)
    except OverflowError:
        real = math.inf
    if not low <= real <= high:
        raise ValueError(f"{name} must be {takes}, not {short(value)}")
    return real


def truth(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {short(value)}")
    return value


def text(name: str, value: object, takes: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be {takes}, not {short(value)}")
    return value


def sequence(name: str, value: Any, takes: str) -> Sequence[Any]:
    """A list or a tuple; a text is none."""
    # Arrays of NumPy are none by its own word.
    if _is(value, str | bytes | Mapping) or not hasattr(value, "__len__") or not hasattr(value, "__iter__"):
        raise TypeError(f"{name} must be {takes}, not {short(value)}")
    _bounded(name, value)
    return tuple(value)


def mapping(name: str, value: Any, takes: str) -> Mapping[Any, Any]:
    """A dictionary."""
    if not _is(value, Mapping):
        raise TypeError(f"{name} must be {takes}, not {short(value)}")
    _bounded(name, value)
    checked: Mapping[Any, Any] = value
    return checked


def sides(name: str, value: object) -> tuple[int, int]:
    """Columns and rows of a map."""
    takes = f"columns and rows, 1 to {SIDE_MAX:,} each, such as (20, 20)"
    both = sequence(name, value, takes)
    if len(both) != 2:
        raise ValueError(f"{name} must be {takes}, not {short(value)}")
    columns, rows = both
    return whole(f"{name}: columns", columns, 1, SIDE_MAX), whole(f"{name}: rows", rows, 1, SIDE_MAX)


def seed(name: str, value: object) -> int:
    """The seed of a game."""
    return whole(name, value, 0, SEED_MAX)


def known(given: Iterable[str], names: Iterable[str], what: str = "parameter") -> None:
    """That no name is given which there is not."""
    names = list(names)
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, 1)
            there_are = f"did you mean {near[0]}?" if near else f"there are {', '.join(names) or 'none'}"
            raise TypeError(f"unknown {what} {name!r}: {there_are}")


def _bounded(name: str, value: Sized) -> None:
    try:
        is_small = len(value) <= ENTRIES_MAX
    except OverflowError:
        is_small = False
    if not is_small:
        raise ValueError(f"{name}: at most {ENTRIES_MAX:,} entries")


def _is(value: object, kind: type | UnionType) -> bool:
    # Without a guess at what is in it.
    return isinstance(value, kind)
