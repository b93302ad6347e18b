"""What code of trust level LOCAL gets for a module: its harmless names, and nothing behind them."""

from __future__ import annotations

import importlib
import types
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn, Self

from tinyagent.execution.local.names import LEVEL


class Facade:
    """Some names of a module. It has no `__name__`, as `from x import y` would find modules by it.

    Args:
        module: the module's name, for messages.
        values: what it offers.
    """

    __slots__ = ("_module", "_values")

    def __init__(self, module: str, values: Mapping[str, Any]) -> None:
        self._module = module
        self._values = values

    def __getattr__(self, name: str) -> Any:
        with suppress(KeyError):
            return self._values[name]
        raise AttributeError(f"{self._module}.{name} is not there or not available {LEVEL}")

    def __dir__(self) -> list[str]:
        return sorted(self._values)

    def __repr__(self) -> str:
        return f"<module {self._module!r}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError("a module cannot be copied")


class OpenFacade(Facade):
    """A module that the calling program allowed by name: all its public names, and submodules."""

    __slots__ = ("_real",)

    def __init__(self, real: types.ModuleType) -> None:
        super().__init__(real.__name__, {})
        self._real = real

    def __getattr__(self, name: str) -> Any:
        real = self._real
        if name.startswith("_"):
            raise AttributeError(f"{self._module}.{name} is not available {LEVEL}")
        found = getattr(real, name, None)
        if found is None and hasattr(real, "__path__"):
            with suppress(ModuleNotFoundError):
                found = importlib.import_module(f"{real.__name__}.{name}")
        if not isinstance(found, types.ModuleType):
            return getattr(real, name)
        root = real.__name__.partition(".")[0]
        if found.__name__.partition(".")[0] != root:
            raise AttributeError(f"{self._module}.{name} is another module: import it by its name")
        return OpenFacade(found)

    def __dir__(self) -> list[str]:
        return dir(self._real)
