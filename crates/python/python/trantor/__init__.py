"""Trantor in the process: environments, matches and recordings of the game that the server runs.

>>> import trantor
>>> env = trantor.parallel_env(agents={"red": 6}, opponents=["blue=team:6"])
>>> observations, infos = env.reset(seed=1)
"""

from typing import TYPE_CHECKING, Any

from ._core import ACTION_NAMES, STATE_NAMES, VERSION as __version__
from ._gymnasium import register_when_imported
from ._setup import Setup
from .matches import Match, Policy, TeamResult, play
from .programs import Program
from .recordings import Recording

if TYPE_CHECKING:
    from .environments import AgentEnv, ParallelEnv
    from .vector import VectorEnv

__all__ = [
    "ACTION_NAMES",
    "STATE_NAMES",
    "Match",
    "Policy",
    "Program",
    "Recording",
    "Setup",
    "TeamResult",
    "__version__",
    "aec_env",
    "make_vec",
    "parallel_env",
    "play",
]


register_when_imported()


def __dir__() -> list[str]:
    return __all__


# PettingZoo and Gymnasium take half a second to import, and matches need neither.
def parallel_env(**options: Any) -> "ParallelEnv":
    """Makes a PettingZoo environment in which all agents decide together. See `ParallelEnv`."""
    from .environments import ParallelEnv

    return ParallelEnv(**options)


def aec_env(**options: Any) -> "AgentEnv":
    """Makes a PettingZoo environment in which each agent decides when its own command has ended. See `AgentEnv`."""
    from .environments import AgentEnv

    return AgentEnv(**options)


def make_vec(num_games: int | None = None, threads: int = 1, *, num_envs: int | None = None, **options: Any) -> "VectorEnv":
    """Makes many games at once behind Gymnasium's vector interface. See `VectorEnv`."""
    from .vector import VectorEnv

    return VectorEnv(num_games, threads, num_envs=num_envs, **options)
