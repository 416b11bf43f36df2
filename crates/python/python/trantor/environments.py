"""PettingZoo environments: one game, one name an agent."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv
from pettingzoo import ParallelEnv as PettingZooParallelEnv

from . import _core, _spaces, picture
from ._setup import SEED_MAX, Setup

RENDER_MODES = ["rgb_array"]


class _Game(EzPickle):
    """What both kinds of environment have in common: one game and its seats."""

    def __init__(self, render_mode: str | None = None, record: bool = False, **options: Any) -> None:
        EzPickle.__init__(self, render_mode=render_mode, record=record, **options)
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be one of {RENDER_MODES} or None, not {render_mode!r}")
        self.setup = Setup(**options)
        self.render_mode = render_mode
        self.possible_agents = self.setup.seats()
        self._rows = {name: row for row, name in enumerate(self.possible_agents)}
        self._batch = _core.Batch(self.setup.native(), 1, 1, record)
        self._arrays = self._batch.arrays()
        self._observation_space = _spaces.observation_space(len(_core.STATE_NAMES))
        self._action_spaces = {name: _spaces.action_space() for name in self.possible_agents}
        self._seeds = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Dict:
        """The space of an agent's observations: `sight`, `state`, `messages`, and `action_mask`."""
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Discrete[Any]:
        """The space of an agent's actions: the places in `trantor.ACTION_NAMES`."""
        return self._action_spaces[agent]

    def digest(self) -> str:
        """One number for the whole state, as `trantor-server` has it."""
        return self._batch.digest(0)

    @property
    def units(self) -> float:
        """Game time."""
        return self._batch.units(0)

    def save_recording(self, path: str | Path) -> None:
        """Writes what has happened in this game to a file, for `trantor-server replay` and `trantor.Recording`."""
        Path(path).write_bytes(bytes(self._batch.recording(0)))

    def render(self) -> npt.NDArray[np.uint8] | None:
        """A top view, shape (height, width, 3), uint8; None without a render mode."""
        return None if self.render_mode is None else picture.draw(self._batch.scene(0))

    def close(self) -> None:
        """Ends the game and its threads."""
        self._batch.close()

    def _begin(self, seed: int | None) -> None:
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        self._batch.reset([int(self._seeds.integers(SEED_MAX))])

    def _row(self, agent: str, action: Any) -> tuple[int, int]:
        row = self._rows.get(agent)
        if row is None:
            raise ValueError(f"{agent!r} is none of possible_agents")
        if isinstance(action, bool) or not isinstance(action, int | np.integer):
            raise TypeError(f"the action of {agent} must be a whole number, not {action!r}")
        if not 0 <= action < len(_core.ACTION_NAMES):
            raise ValueError(f"the action of {agent} must be 0 to {len(_core.ACTION_NAMES) - 1}, not {action}")
        return row, int(action)

    def _living(self) -> list[str]:
        living = self._arrays["state"][:, 0]
        return [name for name, row in self._rows.items() if living[row]]


class ParallelEnv(_Game, PettingZooParallelEnv):  # type: ignore[misc]
    """All agents decide together, every `every` units. An agent that is still busy only waits.

    The options are those of `Setup`, `render_mode` (None or `"rgb_array"`) and `record` (keep a recording).
    """

    metadata = {"render_modes": RENDER_MODES, "name": "trantor_v0", "is_parallelizable": True, "render_fps": 10}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.agents: list[str] = []
        self._actions = np.zeros(len(self.possible_agents), np.uint8)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        """Begins a game. With a seed, this game and those after it are the same each time."""
        self._begin(seed)
        self.agents = self._living()
        return self._observe(self.agents), {name: {} for name in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[
        dict[str, dict[str, Any]], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Plays `every` units. Agents without an action wait.

        Raises:
            ValueError, TypeError: an agent or an action that is none; nothing was played.
        """
        self._actions.fill(0)
        for agent, action in actions.items():
            row, action = self._row(agent, action)
            self._actions[row] = action
        self._batch.step(self._actions)
        born = [name for name in self._living() if name not in self.agents]
        names = self.agents + born
        rows = [self._rows[name] for name in names]
        rewards = self._arrays["rewards"][rows].tolist()
        terminations = self._arrays["terminations"][rows].tolist()
        truncations = self._arrays["truncations"][rows].tolist()
        observations = self._observe(names)
        ended = zip(names, terminations, truncations, strict=True)
        self.agents = [name for name, terminated, truncated in ended if not (terminated or truncated)]
        return (
            observations,
            dict(zip(names, rewards, strict=True)),
            dict(zip(names, terminations, strict=True)),
            dict(zip(names, truncations, strict=True)),
            {name: {} for name in names},
        )

    def _observe(self, names: list[str]) -> dict[str, dict[str, Any]]:
        rows = [self._rows[name] for name in names]
        return dict(zip(names, _spaces.observations(self._arrays, rows), strict=True))


class AgentEnv(_Game, AECEnv):  # type: ignore[misc]
    """Each agent decides when its own command has ended: at once after 7 units, after 42 for a fork, and so on.

    The options are those of `ParallelEnv`; `every` is the least time between two decisions of an agent.
    """

    metadata = {"render_modes": RENDER_MODES, "name": "trantor_v0", "is_parallelizable": False, "render_fps": 10}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.agents: list[str] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a game. With a seed, this game and those after it are the same each time."""
        self._begin(seed)
        self.agents = self._living()
        self.rewards: dict[str, float] = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards: dict[str, float] = dict.fromkeys(self.agents, 0.0)
        self.terminations: dict[str, bool] = dict.fromkeys(self.agents, False)
        self.truncations: dict[str, bool] = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {name: {} for name in self.agents}
        self._skip_agent_selection = None
        row = self._batch.act()
        self.agent_selection = self.possible_agents[0 if row is None else row]

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent sees now. Messages are those heard since anybody last decided."""
        return _spaces.observations(self._arrays, [self._rows[agent]])[0]

    def step(self, action: int | None) -> None:
        """Hands in the action of `agent_selection`, and plays until the next agent can act.

        Raises:
            ValueError, TypeError: the action is none; nothing was played.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        row, number = self._row(agent, action)
        self._cumulative_rewards[agent] = 0.0
        next_row = self._batch.act(row, number)
        for name in self._living():
            if name not in self.agents:
                self.agents.append(name)
                self.rewards[name] = self._cumulative_rewards[name] = 0.0
                self.terminations[name] = self.truncations[name] = False
                self.infos[name] = {}
        for name in self.agents:
            place = self._rows[name]
            self.rewards[name] = float(self._arrays["rewards"][place])
            self.terminations[name] = bool(self._arrays["terminations"][place])
            self.truncations[name] = bool(self._arrays["truncations"][place])
        self._accumulate_rewards()
        if next_row is not None:
            self.agent_selection = self.possible_agents[next_row]
        self._deads_step_first()
