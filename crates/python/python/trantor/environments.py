"""PettingZoo environments, in which each agent has a name, and Gymnasium's with one agent: one game each."""

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv, ParallelEnv as PettingZooParallelEnv  # pyright: ignore[reportMissingTypeStubs]

from . import _checks, _spaces, picture
from ._core import Batch
from ._setup import DRAWN_SEED_MAX, Setup, action_number, command_line

RENDER_MODES = ["human", "rgb_array"]
PORT_MAX = 65_535


class ResetNeeded(gymnasium.error.ResetNeeded, AssertionError):
    """Something was asked of a game that has not begun, or is over. Gymnasium raises the first of these, PettingZoo the second."""


def seed_generator(seed: object) -> np.random.Generator:
    """The generator of the seeds of games, from the seed of `reset`."""
    return np.random.default_rng(_checks.seed("seed", seed))


class _Game(EzPickle):
    """What these environments have in common: one game and its seats."""

    agents: list[str]
    """Those that live; there before the first `reset` as little as in PettingZoo's own."""

    def __init__(
        self, render_mode: str | None = None, record: bool = False, port: int | None = None, **options: Any
    ) -> None:
        EzPickle.__init__(self, render_mode=render_mode, record=record, port=port, **options)
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be one of {RENDER_MODES} or None, not {render_mode!r}")
        if port is not None and render_mode != "human":
            raise ValueError("port is where viewers connect: it goes with render_mode='human'")
        if render_mode == "human":
            port = _checks.whole("port", port or 0, 0, PORT_MAX)
        record = _checks.truth("record", record)
        self.setup = Setup.of(options, ("render_mode", "record", "port"))
        self.render_mode = render_mode
        self.possible_agents = self.setup.seats()
        self._has_begun = False
        self._rows = {name: row for row, name in enumerate(self.possible_agents)}
        self._batch = Batch(self.setup.native(), 1, 1, record, port)
        if port is not None:
            print(f"trantor: watch this game with trantor-viewer -p {self.port}", file=sys.stderr)
        self._arrays = self._batch.arrays()
        self._observation_space = _spaces.observation_space(self._arrays, self.setup.is_raw)
        self._action_spaces = {name: _spaces.action_space(self.setup.is_raw) for name in self.possible_agents}
        self._seeds = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations: `sight`, `state`, `messages`, and `action_mask`; or text."""
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's actions: the places in `trantor.ACTION_NAMES`; or lines."""
        return self._action_spaces[agent]

    def digest(self) -> str:
        """One number for the whole state, as `trantor-server` has it."""
        return self._batch.digest(0)

    @property
    def units(self) -> float:
        """Game time."""
        return self._batch.units(0)

    @property
    def port(self) -> int | None:
        """Where viewers connect, on this machine; None but for the render mode `"human"`."""
        return self._batch.port()

    def save_recording(self, path: str | Path) -> None:
        """Writes what has happened in this game to a file, for `trantor-server replay` and `trantor.Recording`."""
        Path(path).write_bytes(self._batch.recording(0))

    def render(self) -> npt.NDArray[np.uint8] | None:
        """A top view, shape (height, width, 3), uint8; None without a render mode, and where viewers show the game."""
        self._must_have_begun("render")
        return picture.draw(self._batch.scene(0)) if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Ends the game and its threads, and closes the port."""
        self._batch.close()

    def __getattr__(self, name: str) -> Any:
        # Only for what is not there.
        if name in _AFTER_RESET:
            raise AttributeError(f"{name} cannot be accessed before reset")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _begin(self, seed: int | None) -> None:
        if seed is not None:
            self._seeds = seed_generator(seed)
        self._batch.reset([int(self._seeds.integers(DRAWN_SEED_MAX))])
        self._has_begun = True

    def _must_have_begun(self, what: str) -> None:
        if not self._has_begun:
            raise ResetNeeded(f"reset() needs to be called before {what}.")

    def _must_go_on(self) -> None:
        self._must_have_begun("step")
        if not self.agents:
            raise ResetNeeded("step() called after all agents are terminated or truncated. Should reset() first.")

    def _row(self, agent: str) -> int:
        row = self._rows.get(agent)
        if row is None:
            raise ValueError(f"{agent!r} is none of possible_agents")
        return row

    def _observe(self, names: list[str]) -> dict[str, Any]:
        rows = [self._rows[name] for name in names]
        if self.setup.is_raw:
            seen: list[Any] = [self._batch.text(row).decode(errors="surrogateescape") for row in rows]
        else:
            seen = _spaces.observations(self._arrays, rows)
        return dict(zip(names, seen, strict=True))

    def _results(self, names: list[str]) -> list[dict[str, Any]]:
        """Rewards, terminations and truncations."""
        rows = [self._rows[name] for name in names]
        arrays = self._arrays["rewards"], self._arrays["terminations"], self._arrays["truncations"]
        return [dict(zip(names, array[rows].tolist(), strict=True)) for array in arrays]

    def _living(self) -> list[str]:
        living = self._arrays["state"][:, 0]
        return [name for name, row in self._rows.items() if living[row]]


_AFTER_RESET = frozenset(
    ["agents", "num_agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "_cumulative_rewards"]
)
"""What PettingZoo's environments do not have before."""


class ParallelEnv(_Game, PettingZooParallelEnv[str, Any, Any]):  # type: ignore[misc]
    """All agents decide together, every `every` units. An agent that is still busy only waits.

    The options are those of `Setup` and:

    Args:
        render_mode: `"rgb_array"` for `render()`; `"human"` for viewers: `trantor-viewer -p PORT` shows the game while it is
            played, and its pause and speed are the game's. Without a viewer it is as fast as ever.
        record: keep a recording; `"human"` always does.
        port: where viewers connect, 0 to 65535; 0, the default, is any that is free. `env.port` has it.

    Raises:
        OSError: the port is taken.
    """

    metadata = {"render_modes": RENDER_MODES, "name": "trantor_v0", "is_parallelizable": True, "render_fps": 10}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        """Begins a game. With a seed, this game and those after it are the same each time."""
        self._begin(seed)
        self.agents = self._living()
        return self._observe(self.agents), {name: {} for name in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, dict[str, Any]], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Plays `every` units. Agents without an action wait.

        Raises:
            ValueError, TypeError: an agent or an action that is none; nothing was played.
            ResetNeeded: no game has begun, or it is over.
        """
        self._must_go_on()
        _checks.mapping("actions", actions, "actions by agent, such as {'red_0': 1}")
        numbers = np.zeros(len(self.possible_agents), np.uint8)
        if self.setup.is_raw:
            lines = [(self._row(agent), command_line(agent, line)) for agent, line in actions.items()]
            for row, line in lines:
                if line:
                    self._batch.say(row, line)
        else:
            for agent, action in actions.items():
                numbers[self._row(agent)] = action_number(agent, action)
        self._batch.step(numbers)
        names = self.agents + [name for name in self._living() if name not in self.agents]
        rewards, terminations, truncations = self._results(names)
        self.agents = [name for name in names if not (terminations[name] or truncations[name])]
        return self._observe(names), rewards, terminations, truncations, {name: {} for name in names}


class AgentEnv(_Game, AECEnv[str, Any, Any]):  # type: ignore[misc]
    """Each agent decides when its own command has ended: at once after 7 units, after 42 for a fork, and so on.

    The options are those of `ParallelEnv`; `every` is the least time between two decisions of an agent.
    """

    metadata = {"render_modes": RENDER_MODES, "name": "trantor_v0", "is_parallelizable": False, "render_fps": 10}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a game. With a seed, this game and those after it are the same each time."""
        self._begin(seed)
        self.agents = self._living()
        self.rewards, self.terminations, self.truncations = self._results(self.agents)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.infos: dict[str, dict[str, Any]] = {name: {} for name in self.agents}
        self._skip_agent_selection = None
        row = self._batch.act()
        self.agent_selection = self.possible_agents[0 if row is None else row]

    def observe(self, agent: str) -> Any:
        """What an agent sees now. Messages are those heard since anybody last decided."""
        self._must_have_begun("observe")
        self._row(agent)
        return self._observe([agent])[agent]

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        """The agents in turn, until all are done."""
        self._must_have_begun("agent_iter()")
        agents: Any = super().agent_iter(max_iter)
        return agents

    def step(self, action: Any) -> None:
        """Hands in the action of `agent_selection`, and plays until the next agent can act.

        Raises:
            ValueError, TypeError: the action is none; nothing was played.
            ResetNeeded: no game has begun, or it is over.
        """
        self._must_go_on()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        row, number = self._rows[agent], 0
        if self.setup.is_raw:
            if line := command_line(agent, action):
                self._batch.say(row, line)
        else:
            number = action_number(agent, action)
        self._cumulative_rewards[agent] = 0.0
        next_row = self._batch.act(row, number)
        for name in self._living():
            if name not in self.agents:
                self.agents.append(name)
                self._cumulative_rewards[name] = 0.0
                self.infos[name] = {}
        self.rewards, self.terminations, self.truncations = self._results(self.agents)
        self._accumulate_rewards()
        if next_row is not None:
            self.agent_selection = self.possible_agents[next_row]
        self._deads_step_first()


class SingleEnv(_Game, gymnasium.Env[Any, Any]):
    """One agent that decides every `every` units; all others are minds of the server. `gymnasium.make("Trantor-v0")` is it.

    The options are those of `ParallelEnv`, with one agent: `agents={"red": 1}`, as it is by default.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 10}

    def __init__(
        self,
        render_mode: str | None = None,
        record: bool = False,
        port: int | None = None,
        agents: Any = None,
        **options: Any,
    ) -> None:
        agents = {"red": 1} if agents is None else agents
        super().__init__(render_mode, record, port, agents=agents, **options)
        if len(self.possible_agents) != 1:
            raise ValueError(
                f"agents: one, as in {{'red': 1}}, not {len(self.possible_agents)}; "
                "gymnasium.make_vec and trantor.parallel_env have more"
            )
        [self._name] = self.possible_agents
        # Attributes in Gymnasium, methods in PettingZoo.
        self.observation_space: spaces.Space[Any] = self._observation_space  # type: ignore[assignment]
        self.action_space: spaces.Space[Any] = self._action_spaces[self._name]  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins a game. With a seed, this game and those after it are the same each time."""
        gymnasium.Env.reset(self, seed=seed)
        self._begin(seed)
        self.agents = self._living()
        return self._observe([self._name])[self._name], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays `every` units.

        Raises:
            ValueError, TypeError: the action is none; nothing was played.
            ResetNeeded: no game has begun, or it is over.
        """
        self._must_go_on()
        numbers = np.zeros(1, np.uint8)
        if not self.setup.is_raw:
            numbers[0] = action_number(self._name, action)
        elif line := command_line(self._name, action):
            self._batch.say(0, line)
        self._batch.step(numbers)
        rewards, terminations, truncations = (each[self._name] for each in self._results([self._name]))
        if terminations or truncations:
            self.agents = []
        return self._observe([self._name])[self._name], rewards, terminations, truncations, {}
