"""`gymnasium.make("Trantor-v0")`: registers the environments with Gymnasium.

Gymnasium 1 looks for no entry points of packages, so who imports both has it. Gymnasium takes a third of a second to import and
matches do without it: it is not imported here, but waited for.
"""

import importlib.machinery
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

REGISTRATION = "gymnasium.envs.registration"


def register() -> None:
    """Registers them."""
    # Its types are not whole.
    registration: Any = sys.modules[REGISTRATION]
    if "Trantor-v0" not in registration.registry:
        registration.register(
            "Trantor-v0",
            entry_point="trantor.environments:SingleEnv",
            vector_entry_point="trantor.vector:VectorEnv",
            kwargs={"agents": {"red": 1}},
        )


class _Finder(MetaPathFinder):
    """Registers them once Gymnasium can take them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != REGISTRATION:
            return None
        sys.meta_path.remove(self)
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None or found.loader is None:
            return found
        executes = found.loader.exec_module

        def executes_and_registers(module: ModuleType) -> None:
            executes(module)
            register()

        setattr(found.loader, "exec_module", executes_and_registers)
        return found


def register_when_imported() -> None:
    """Registers them now if Gymnasium is there, and else when it is imported."""
    if REGISTRATION in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _Finder())
