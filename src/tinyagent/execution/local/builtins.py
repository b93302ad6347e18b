"""The built-in names of LOCAL code: the safe ones, guarded ones, and reasons for the rest."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tinyagent.execution.local.guards import Guards
from tinyagent.execution.local.hidden import TYPE
from tinyagent.execution.local.names import HOLD, LEVEL, LOAD, PATTERN, POWER, REPEAT, SHIFT, WRITE

MAX_BITS = 2**22
"""Of one whole number made in one go: what is larger takes seconds that nothing can interrupt."""
MAX_ITEMS = 10**8
"""Of one sequence made by repetition."""

_SAFE = """
    Ellipsis False None NotImplemented True abs ascii bin bool bytearray bytes callable chr
    classmethod complex dict divmod enumerate filter float format frozenset hash hex id int
    isinstance issubclass iter len list map memoryview next object oct ord property range repr
    reversed round set slice staticmethod str super tuple zip __debug__
""".split()  # noqa: SIM905 - a list to read, not a column
_EXCEPTIONS = [
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
]
_REASONS = {
    "open": "files cannot be reached; io.StringIO holds text in memory",
    "input": "there is nobody to ask; take the value from a variable or a tool",
    "eval": "code in a string is not run; for literals use ast.literal_eval",
    "exec": "code in a string is not run; write it as code",
    "compile": "code in a string is not run; write it as code",
    "globals": "use vars(), dir() or plain variables",
    "locals": "use plain variables",
    "breakpoint": "there is no debugger",
    "help": "print(f.__doc__) shows a docstring",
}
_FINITE = frozenset({list, tuple, dict, set, frozenset, str, bytes})


def make_builtins(guards: Guards) -> dict[str, Any]:
    """The built-in names for one session; printing, time and imports are added by it."""
    names: dict[str, Any] = {name: getattr(builtins, name) for name in [*_SAFE, *_EXCEPTIONS]}
    names |= {name: _missing(name, why) for name, why in _REASONS.items()}
    names |= {
        "__build_class__": guards.build_class,
        "type": TYPE,
        "getattr": guards.getattr,
        "setattr": guards.setattr,
        "delattr": guards.delattr,
        "hasattr": guards.hasattr,
        "vars": guards.vars,
        "dir": guards.dir,
        "pow": power,
        "sum": _sum,
        "any": _any,
        "all": _all,
        "min": _min,
        "max": _max,
        "sorted": _sorted,
        "exit": _leave,
        "quit": _leave,
        LOAD: guards.read,
        WRITE: guards.write,
        POWER: power,
        SHIFT: _shift,
        REPEAT: _repeat,
        PATTERN: guards.pattern_class,
        HOLD: Held,
    }
    return names


class Held:
    """A value that a pattern compares with; patterns name values by an attribute."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _missing(name: str, why: str) -> Callable[..., Any]:
    def missing(*_: Any, **__: Any) -> None:
        raise NameError(f"{name} is not available {LEVEL}: {why}")

    missing.__name__ = missing.__qualname__ = name
    return missing


def _leave(code: Any = None) -> None:
    """End the code, which counts as an error."""
    raise SystemExit(code)


def power(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """`base ** exponent`, unless the number would be huge."""
    if modulus is None and isinstance(base, int) and isinstance(exponent, int):
        too_large(int.bit_length(base) * int(exponent), f"a power with the exponent {exponent}")
    return pow(base, exponent, modulus)


def too_large(bits: int, what: str) -> None:
    """Refuse a number that nothing could interrupt the making of.

    Raises:
        OverflowError: it is.
    """
    if bits > MAX_BITS:
        raise OverflowError(f"{what} is too large a number {LEVEL}; work with logarithms or floats")


def _shift(value: Any, count: Any) -> Any:
    if isinstance(value, int) and isinstance(count, int):
        too_large(int.bit_length(value) + int(count) if value else 0, f"a shift by {count}")
    return value << count


def _repeat(left: Any, right: Any) -> Any:
    sequence, count = (left, right) if hasattr(left, "__len__") else (right, left)
    if isinstance(count, int) and hasattr(sequence, "__len__"):
        size = int(count) * len(sequence)
        if size > MAX_ITEMS:
            raise MemoryError(f"a sequence of {size:,} items is too large {LEVEL}")
    return left * right


def interruptible(items: Iterable[Any]) -> Iterable[Any]:
    """The same items by way of Python, where a strike can reach: a loop in C would hold the GIL."""
    if type(items) in _FINITE:
        return items
    return _one_by_one(items)


def _one_by_one(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:  # noqa: UP028 - `yield from` would pass by the place to be struck
        yield item


def _sum(items: Iterable[Any], /, start: Any = 0) -> Any:
    """The sum."""
    return sum(interruptible(items), start)


def _any(items: Iterable[Any], /) -> bool:
    """Whether one is true."""
    return any(interruptible(items))


def _all(items: Iterable[Any], /) -> bool:
    """Whether all are true."""
    return all(interruptible(items))


def _min(*items: Any, **options: Any) -> Any:
    """The least."""
    return min(interruptible(items[0]), **options) if len(items) == 1 else min(*items, **options)


def _max(*items: Any, **options: Any) -> Any:
    """The greatest."""
    return max(interruptible(items[0]), **options) if len(items) == 1 else max(*items, **options)


def _sorted(items: Iterable[Any], /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """The items in order."""
    return sorted(interruptible(items), key=key, reverse=reverse)


for _function in (_sum, _any, _all, _min, _max, _sorted):
    _function.__name__ = _function.__qualname__ = _function.__name__.strip("_")
