"""Many games at once: Gymnasium's vector interface, with arrays that are filled in place."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv as GymnasiumVectorEnv
from gymnasium.vector.utils import batch_space

from . import _core, _spaces
from ._setup import SEED_MAX, Setup


class VectorEnv(GymnasiumVectorEnv[dict[str, Any], npt.NDArray[np.uint8], npt.NDArray[Any]]):
    """`num_games` games at once. Row `game * seats + seat` of each array is one agent; `num_envs` counts rows.

    All agents decide together, every `every` units. A row whose agent is dead stays `terminated` until its game is over. The
    step after the end of a game begins its next one instead (`AutoresetMode.NEXT_STEP`), from a seed that follows from the
    first.

    The arrays that `reset` and `step` return are the same each time and are filled in place: copy what you keep.

    Args:
        num_games: games, 1 to 65,536.
        threads: threads that play them, 1 to 256.
        options: those of `Setup`.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(self, num_games: int, threads: int = 1, **options: Any) -> None:
        self.setup = Setup(**options)
        if self.setup.is_raw:
            raise ValueError('observations="raw" is for parallel_env and aec_env: text is in no array')
        self.agents = self.setup.seats()
        self.num_games = num_games
        self.num_envs = num_games * len(self.agents)
        self._batch = _core.Batch(self.setup.native(), num_games, threads, False)
        self._arrays = self._batch.arrays()
        self.single_observation_space = _spaces.observation_space(self._arrays)
        self.single_action_space = _spaces.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = spaces.MultiDiscrete([len(_core.ACTION_NAMES)] * self.num_envs)
        arrays = self._arrays
        observation = {"sight": arrays["sight"], "state": arrays["state"], "messages": arrays["messages"]}
        self._observations = {"observation": observation, "action_mask": arrays["mask"]}
        self._seeds = np.random.default_rng()

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begins every game. A list has a seed for each game; a number seeds them all."""
        if isinstance(seed, list):
            seeds = [int(self._seeds.integers(SEED_MAX)) if each is None else each for each in seed]
        else:
            if seed is not None:
                self._seeds = np.random.default_rng(seed)
            seeds = self._seeds.integers(SEED_MAX, size=self.num_games).tolist()
        self._batch.reset(seeds)
        return self._observations, {}

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[dict[str, Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Plays `every` units of each game.

        Args:
            actions: shape (num_envs,), whole numbers: the places in `trantor.ACTION_NAMES`. uint8 is not copied.

        Raises:
            ValueError, TypeError: they are not; nothing was played.
        """
        actions = np.asarray(actions)
        if actions.dtype != np.uint8:
            if not np.issubdtype(actions.dtype, np.integer):
                raise TypeError(f"actions must be whole numbers, not {actions.dtype}")
            if actions.size and (actions.min() < 0 or actions.max() > np.iinfo(np.uint8).max):
                raise ValueError(f"actions must be 0 to {len(_core.ACTION_NAMES) - 1}")
            actions = actions.astype(np.uint8)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"actions must have the shape ({self.num_envs},), not {actions.shape}")
        self._batch.step(np.ascontiguousarray(actions))
        arrays = self._arrays
        return self._observations, arrays["rewards"], arrays["terminations"], arrays["truncations"], {}

    def digest(self, game: int) -> str:
        """One number for the whole state of a game, as `trantor-server` has it."""
        return self._batch.digest(game)

    def close_extras(self, **kwargs: Any) -> None:
        """Ends all games and their threads."""
        self._batch.close()
