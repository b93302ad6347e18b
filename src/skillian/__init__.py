"""skillian: compares two systems that should agree, and explains the gap.

`skillian.compare(a, b, key="id")` compares two tables in a program or a notebook.
"""

from typing import TYPE_CHECKING

# Each name is loaded when it is first used, so `import skillian` costs almost nothing.
if TYPE_CHECKING:
    from skillian.library.compare import compare, compare_async
    from skillian.library.comparison import Comparison
    from skillian.library.sides import sql

__all__ = ["Comparison", "compare", "compare_async", "sql"]

_MODULES = {
    "Comparison": "comparison",
    "compare": "compare",
    "compare_async": "compare",
    "sql": "sides",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only for who uses a name

    value: object = getattr(import_module(f"{__name__}.library.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
