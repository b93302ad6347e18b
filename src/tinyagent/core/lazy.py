"""Public names of a package that are loaded when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` for a package.

    Args:
        package: Its `__name__`.
        places: The names, separated by spaces, that each module of the package provides.
    """
    modules = {name: module for module, names in places.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return load, list_names
