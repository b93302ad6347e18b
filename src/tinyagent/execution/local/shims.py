"""Guarded stand-ins for functions of the standard library that would get around the guards."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tinyagent.execution.local.builtins import interruptible, power, too_large
from tinyagent.execution.local.guards import Guards
from tinyagent.execution.local.names import DEFINABLE, LEVEL, is_dunder, unmatched

Shims = dict[str, Any]
_CLASS_NAMES = frozenset(
    """__annotate__ __annotate_func__ __annotations__ __classcell__ __conditional_annotations__
    __firstlineno__ __module__ __qualname__ __static_attributes__""".split()  # noqa: SIM905 - to read
)


def make_shims(module: str, guards: Guards) -> Shims:
    """The guarded names of a module, besides the plain ones."""
    maker = _MAKERS.get(module)
    return maker(guards) if maker else {}


def _abc(guards: Guards) -> Shims:
    def abstractmethod(function: Any) -> Any:
        """Mark a method that subclasses must define."""
        if guards.is_own_function(function):
            function.__isabstractmethod__ = True
        return function

    return {"abstractmethod": abstractmethod}


def _collections(_: Guards) -> Shims:
    def namedtuple(
        typename: str, field_names: Any, *, rename: bool = False, defaults: Any = None
    ) -> Any:
        """A tuple with named fields."""
        make: Any = collections.namedtuple  # noqa: PYI024 - the code asked for it
        made = make(typename, field_names, rename=rename, defaults=defaults, module="__main__")
        _refuse_names(unmatched(made._fields))
        return made

    return {"namedtuple": namedtuple}


def _refuse_names(names: list[str]) -> None:
    if names:
        raise TypeError(f"these names are not available {LEVEL}: {', '.join(names)}")


def _dataclasses(guards: Guards) -> Shims:
    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        """Make a class of the code's own a data class."""
        if cls is None:
            return functools.partial(dataclass, **options)
        if not guards.is_own_class(cls):
            raise TypeError("@dataclass needs a class that the code defines")
        made = dataclasses.dataclass(**options)(cls)
        guards.adopt(made)
        return made

    return {"dataclass": dataclass}


class _GuardedEnumType(enum.EnumMeta):
    """Enumerations without special names that a class statement could not have."""

    def __new__(metacls, cls: str, bases: Any, classdict: Any, **options: Any) -> _GuardedEnumType:
        names = [str(name) for name in classdict]
        allowed = DEFINABLE | _CLASS_NAMES
        _refuse_names([name for name in names if is_dunder(name) and name not in allowed])
        return super().__new__(metacls, cls, bases, classdict, **options)


class _Enum(enum.Enum, metaclass=_GuardedEnumType):
    pass


class _IntEnum(enum.IntEnum, metaclass=_GuardedEnumType):
    pass


class _StrEnum(enum.StrEnum, metaclass=_GuardedEnumType):
    pass


class _Flag(enum.Flag, metaclass=_GuardedEnumType):
    pass


class _IntFlag(enum.IntFlag, metaclass=_GuardedEnumType):
    pass


def _enum(_: Guards) -> Shims:
    kinds = (_Enum, _IntEnum, _StrEnum, _Flag, _IntFlag)
    for kind in kinds:
        kind.__name__ = kind.__qualname__ = kind.__name__.strip("_")
    return {kind.__name__: kind for kind in kinds}


def _functools(guards: Guards) -> Shims:
    def wraps(wrapped: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
        """Give a function the name and docstring of the one that it wraps."""

        def name_it(wrapper: Any) -> Any:
            if not guards.is_own_function(wrapper):
                raise TypeError("functools.wraps needs a function that the code defines")
            for name in ("__name__", "__qualname__", "__doc__"):
                value = guards.getattr(wrapped, name, None)
                if value is not None:
                    setattr(wrapper, name, value)
            return wrapper

        return name_it

    def total_ordering(cls: Any) -> Any:
        """Fill in the comparisons that are missing."""
        if not guards.is_own_class(cls):
            raise TypeError("functools.total_ordering needs a class that the code defines")
        return functools.total_ordering(cls)

    def update_wrapper(wrapper: Any, wrapped: Any) -> Any:
        """As `wraps`."""
        return wraps(wrapped)(wrapper)

    return {"wraps": wraps, "total_ordering": total_ordering, "update_wrapper": update_wrapper}


def _itertools(_: Guards) -> Shims:
    def count(start: Any = 0, step: Any = 1) -> Iterator[Any]:
        """Numbers without end."""
        while True:
            yield start
            start += step

    def cycle(items: Iterable[Any]) -> Iterator[Any]:
        """The items again and again."""
        kept = list(items)
        while kept:
            yield from kept

    def repeat(value: Any, *times: int) -> Iterable[Any]:
        """The value again and again."""
        return itertools.repeat(value, *times) if times else cycle([value])

    return {"count": count, "cycle": cycle, "repeat": repeat}


def _math(_: Guards) -> Shims:
    def factorial(number: Any, /) -> int:
        """The factorial."""
        if isinstance(number, int) and number > 1:
            too_large(int(number) * int.bit_length(number), f"the factorial of {number}")
        return math.factorial(number)

    def prod(items: Iterable[Any], /, *, start: Any = 1) -> Any:
        """The product."""
        return math.prod(interruptible(items), start=start)

    return {"factorial": factorial, "prod": prod}


def _operator(guards: Guards) -> Shims:
    def attrgetter(*names: str) -> Callable[[Any], Any]:
        """A function that reads attributes, dotted ones too."""

        def one(value: Any, dotted: str) -> Any:
            for name in dotted.split("."):
                value = guards.getattr(value, name)
            return value

        if len(names) == 1:
            return lambda value: one(value, names[0])
        return lambda value: tuple(one(value, name) for name in names)

    def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        """A function that calls a method."""
        return lambda value: guards.getattr(value, name)(*args, **kwargs)

    return {
        "attrgetter": attrgetter,
        "methodcaller": methodcaller,
        "pow": functools.partial(power, modulus=None),
        "ipow": functools.partial(power, modulus=None),
    }


def _random(_: Guards) -> Shims:
    """A generator of the session's own, so that a seed does not reach the host's."""
    source = random.Random()  # noqa: S311 - the module that the code asked for
    names = [name for name in random.__all__ if not name[0].isupper() and hasattr(source, name)]
    return {name: getattr(source, name) for name in names}


_MAKERS: dict[str, Callable[[Guards], Shims]] = {
    "abc": _abc,
    "collections": _collections,
    "dataclasses": _dataclasses,
    "enum": _enum,
    "functools": _functools,
    "itertools": _itertools,
    "math": _math,
    "operator": _operator,
    "random": _random,
}
