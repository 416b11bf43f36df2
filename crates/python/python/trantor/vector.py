"""Many games at once: Gymnasium's vector interface, with arrays that are filled in place."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv as GymnasiumVectorEnv
from gymnasium.vector.utils import batch_space

from . import _checks, _spaces
from ._core import ACTION_NAMES, Batch
from ._setup import DRAWN_SEED_MAX, Setup
from .environments import ResetNeeded, seed_generator

GAMES_MAX = 65_536
THREADS_MAX = 256
"""Both as the native library, which counts the agents of all games too."""


class VectorEnv(GymnasiumVectorEnv[dict[str, Any], npt.NDArray[np.uint8], npt.NDArray[Any]]):
    """Many games at once. Row `game * seats + seat` of each array is one agent, and `num_envs` counts rows.

    All agents decide together, every `every` units. The rows of a game begin and end together: an agent that has died is
    `terminated` once its game is over, and until then its row is all zero, is rewarded nothing and is not `living` in `infos`,
    a mask of the rows whose agents live. The step after the end of a game begins its next one instead of playing
    (`AutoresetMode.NEXT_STEP`), from a seed that follows from the first.

    The arrays that `reset` and `step` return are the same each time and are filled in place: copy what you keep. Those in
    `infos` are new.

    Args:
        num_games: games, 1 to 65,536; or
        num_envs: rows, as Gymnasium counts: a multiple of the agents that a game may have over time.
        threads: threads that play them, 1 to 256.
        options: those of `Setup`.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(
        self, num_games: int | None = None, threads: int = 1, *, num_envs: int | None = None, **options: Any
    ) -> None:
        # Until there is something to close.
        self.closed = True
        self.setup = Setup.of(options, ("num_games", "threads", "num_envs"))
        if self.setup.is_raw:
            raise ValueError('observations="raw" is for parallel_env and aec_env: text is in no array')
        self.agents = self.setup.seats()
        self.num_games = self._games(num_games, num_envs)
        self.num_envs = self.num_games * len(self.agents)
        threads = _checks.whole("threads", threads, 1, THREADS_MAX)
        native = self.setup.native() | {"ends_together": True}
        self._batch = Batch(native, self.num_games, threads, False)
        self._arrays = self._batch.arrays()
        self.single_observation_space: spaces.Space[Any] = _spaces.observation_space(self._arrays)
        self.single_action_space = _spaces.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = spaces.MultiDiscrete([len(ACTION_NAMES)] * self.num_envs)
        arrays = self._arrays
        observation = {"sight": arrays["sight"], "state": arrays["state"], "messages": arrays["messages"]}
        self._observations = {"observation": observation, "action_mask": arrays["mask"]}
        self._seeds = np.random.default_rng()
        self._has_begun = False
        self.closed = False

    def _games(self, num_games: int | None, num_envs: int | None) -> int:
        if num_envs is None:
            return _checks.whole("num_games", num_games, 1, GAMES_MAX)
        if num_games is not None:
            raise TypeError("num_games counts games and num_envs rows, a row an agent: give one of them")
        seats = max(len(self.agents), 1)
        rows = _checks.whole("num_envs", num_envs, 1, GAMES_MAX * seats)
        if rows % seats:
            raise ValueError(f"num_envs must be a multiple of {seats}, the agents of a game, not {rows}")
        return _checks.whole("num_envs, by the agents of a game,", rows // seats, 1, GAMES_MAX)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begins games.

        Args:
            seed: a number, from which the seeds of all games are drawn; or a list, a tuple or an array with a seed for each game,
                None for one that is drawn.
            options: `"reset_mask"`, an array of bool with a value for each row, begins only the games whose rows are True. The
                rows of a game go together.

        Raises:
            ValueError, TypeError: they are not as described; nothing has begun.
        """
        wanted = self._wanted(options)
        # Arrays have the method too.
        is_one = hasattr(seed, "__index__") and np.ndim(seed) == 0
        if seed is not None and not is_one:
            given = self._seeds_of(seed)
        else:
            if seed is not None:
                self._seeds = seed_generator(seed)
            given = self._drawn(self.num_games)
        if not (self._has_begun or wanted.all()):
            raise ResetNeeded("reset() needs to be called without reset_mask before it is called with one.")
        self._batch.reset([each if begins else None for each, begins in zip(given, wanted, strict=True)])
        self._has_begun = True
        return self._observations, self._infos()

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[dict[str, Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Plays `every` units of each game.

        Args:
            actions: shape (num_envs,), whole numbers: the places in `trantor.ACTION_NAMES`. uint8 is not copied.

        Raises:
            ValueError, TypeError: they are not; nothing was played.
            ResetNeeded: no game has begun.
        """
        if not self._has_begun:
            raise ResetNeeded("reset() needs to be called before step.")
        actions = np.asarray(actions)
        if actions.dtype != np.uint8:
            if not np.issubdtype(actions.dtype, np.integer):
                raise TypeError(f"actions must be whole numbers, not {actions.dtype}")
            if actions.size and (actions.min() < 0 or actions.max() > np.iinfo(np.uint8).max):
                raise ValueError(f"actions must be 0 to {len(ACTION_NAMES) - 1}")
            actions = actions.astype(np.uint8)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"actions must have the shape ({self.num_envs},), not {actions.shape}")
        self._batch.step(np.ascontiguousarray(actions))
        arrays = self._arrays
        return self._observations, arrays["rewards"], arrays["terminations"], arrays["truncations"], self._infos()

    def digest(self, game: int) -> str:
        """One number for the whole state of a game, as `trantor-server` has it."""
        return self._batch.digest(_checks.whole("game", game, 0, self.num_games - 1))

    def close_extras(self, **kwargs: Any) -> None:
        """Ends all games and their threads."""
        self._batch.close()

    def _infos(self) -> dict[str, Any]:
        """With a mask of the rows that have each entry, as Gymnasium's wrappers expect."""
        living = self._arrays["state"][:, 0] == 1
        return {"living": living, "_living": np.ones(self.num_envs, np.bool_)}

    def _drawn(self, count: int) -> list[int]:
        drawn: list[int] = self._seeds.integers(DRAWN_SEED_MAX, size=count).tolist()
        return drawn

    def _seeds_of(self, seed: Any) -> list[int]:
        """A seed for each game, as they were given."""
        takes = f"a number, or {self.num_games} seeds, one for each game"
        given = _checks.sequence("seed", seed, takes)
        if len(given) != self.num_games:
            raise ValueError(f"seed must be {takes}, not {len(given)} seeds")
        seeds = [None if each is None else _checks.seed("seed", each) for each in given]
        return [self._drawn(1)[0] if each is None else each for each in seeds]

    def _wanted(self, options: dict[str, Any] | None) -> npt.NDArray[np.bool_]:
        """Which games are to begin."""
        options = {} if options is None else options
        _checks.known(options, ["reset_mask"], "option")
        if "reset_mask" not in options:
            return np.ones(self.num_games, np.bool_)
        mask = np.asarray(options["reset_mask"])
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"reset_mask must be an array of bool of the shape ({self.num_envs},)")
        rows_wanted = mask.reshape(self.num_games, -1).sum(axis=1)
        wanted: npt.NDArray[np.bool_] = rows_wanted == len(self.agents)
        if not wanted.any() or (rows_wanted[~wanted] > 0).any():
            raise ValueError("reset_mask must be True for a game at least, and the same for all rows of a game")
        return wanted
