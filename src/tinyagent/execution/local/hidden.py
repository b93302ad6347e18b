"""Stand-ins for the classes that code must not call: `type` itself, functions, code, frames."""

from __future__ import annotations

import functools
import types
from typing import Any, ClassVar

from tinyagent.execution.local.names import LEVEL

_KINDS = frozenset(
    {
        types.AsyncGeneratorType,
        types.BuiltinFunctionType,
        types.CellType,
        types.CodeType,
        types.CoroutineType,
        types.FrameType,
        types.FunctionType,
        types.GeneratorType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        types.MethodDescriptorType,
        types.MethodType,
        types.MethodWrapperType,
        types.ModuleType,
        types.TracebackType,
        types.WrapperDescriptorType,
    }
)


class HiddenKind(type):
    """The class of the stand-ins: good for names and `isinstance`, not for making anything."""

    _kind: ClassVar[type] = object

    def __call__(cls, *_: Any, **__: Any) -> Any:
        """Refuse: nothing of this kind is made by code."""
        raise TypeError(f"{cls.__name__} objects cannot be made {LEVEL}")

    def __instancecheck__(cls, instance: Any) -> bool:
        return issubclass(type(instance), cls._kind)

    def __repr__(cls) -> str:
        return f"<class {cls.__name__!r}>"


class _KindOfType(HiddenKind):
    """The stand-in for `type`: called with one argument only."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            raise TypeError("type() takes one argument here; write a class statement for a class")
        return class_of(args[0])

    def __getitem__(cls, item: Any) -> types.GenericAlias:
        return types.GenericAlias(cls, item)


def kind_of(value: object) -> type[Any]:
    """The real class."""
    return type(value)


TYPE: Any = _KindOfType("type", (), {"_kind": type, "__module__": "builtins"})
"""What the code knows as `type`."""


def class_of(value: object) -> Any:
    """What `type(value)` gives: the class, or its stand-in."""
    kind: Any = kind_of(value)
    if issubclass(kind, type):
        return TYPE
    if kind in _KINDS or kind.__module__.startswith("tinyagent.execution."):
        return _stand_in(kind)
    return kind


@functools.cache
def _stand_in(kind: Any) -> HiddenKind:
    return HiddenKind(kind.__name__, (), {"_kind": kind, "__module__": "builtins"})
