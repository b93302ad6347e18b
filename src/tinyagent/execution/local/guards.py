"""The guards that compiled LOCAL code calls: attributes read and written, classes made."""

from __future__ import annotations

import abc
import builtins
import enum
import inspect
import types
from collections.abc import Callable
from typing import Any

from tinyagent.execution.local.facade import Facade
from tinyagent.execution.local.format import guarded_format
from tinyagent.execution.local.hidden import TYPE, HiddenKind, class_of, kind_of
from tinyagent.execution.local.names import (
    CAREFUL,
    DEFINABLE,
    INSPECTION,
    LEVEL,
    TUPLE_NAMES,
    is_dunder,
    unmatched,
)

_MISSING, _ABSENT = object(), object()
_TOO_WIDE = frozenset({object, property})
_WRITABLE: tuple[type, ...] = (types.SimpleNamespace, BaseException)
_GROUP: type = BaseExceptionGroup


class Guards:
    """The guards of one session, which know the classes and functions that its code made.

    Args:
        variables: the namespace that the code runs in.
    """

    def __init__(self, variables: dict[str, Any]) -> None:
        self._variables = variables
        self._own: set[type] = set()
        self.read = self._make_read()
        self.write = self._make_write()

    def adopt(self, made: type) -> None:
        """Count a class as the code's own: its instances and itself may be changed.

        Raises:
            TypeError: a class pattern would read with it what the guard does not let through.
        """
        matched = getattr(made, "__match_args__", ())
        wrong = unmatched(matched if isinstance(matched, tuple) else [matched])  # pyright: ignore[reportUnknownArgumentType]
        if wrong:
            raise TypeError(f"a class cannot have fields of these names here: {', '.join(wrong)}")
        self._own.add(made)

    def is_own_class(self, value: Any) -> bool:
        """Whether the code made this class."""
        return issubclass(type(value), type) and value in self._own

    def is_own_function(self, value: Any) -> bool:
        """Whether the code made this function."""
        return type(value) is types.FunctionType and value.__globals__ is self._variables

    def _is_own(self, value: Any) -> bool:
        return type(value) in self._own or self.is_own_class(value)

    def _make_read(self) -> Callable[[Any, str], Any]:
        read_careful, careful, module = self._read_careful, CAREFUL, types.ModuleType
        function, screen = types.FunctionType, self._screen

        def read(value: Any, name: str) -> Any:
            """`value.name`; a closure, as every attribute that the code reads comes by."""
            if name in careful or name[:1] == "_":
                return read_careful(value, name)
            found = getattr(value, name)
            if type(found) is function:
                return screen(value, name, found)
            if type(found) is module:
                raise _refused(value, name)
            return found

        return read

    def _screen(self, value: Any, name: str, found: types.FunctionType) -> Callable[..., Any]:
        """A method that was read from its class: one of the library's works on instances only.

        Called on a class, `UserList.copy` would give `type`, and `JSONEncoder.__init__` would
        change the class for everyone.
        """
        owner = found.__qualname__.rpartition(".")[0]
        own = found.__globals__ is self._variables
        if own or not owner or owner.endswith("<locals>") or isinstance(value, Facade):
            return found
        if issubclass(type(value), type):
            static = inspect.getattr_static(value, name)
            return found if isinstance(static, staticmethod) else _for_instances(value, found)
        if name == "__new__":
            return found
        raise _refused(value, name)

    def _make_write(self) -> Callable[[Any, str], Any]:
        own, writable = self._own, self.writable

        def write(value: Any, name: str) -> Any:
            """`value`, to have an attribute set whose name the compiler has looked at."""
            return value if type(value) in own else writable(value, name)

        return write

    def _read_careful(self, value: Any, name: str) -> Any:
        if name in INSPECTION:
            raise _refused(value, name)
        if is_dunder(name):
            return self._read_special(value, name)
        if name[:1] == "_":
            named = name in TUPLE_NAMES and _is_tuple(value)
            if not (named or self._is_own(value)):
                raise _refused(value, name)
        found = getattr(value, name)
        if name in {"format", "format_map"}:
            return guarded_format(found, self.read)
        if type(found) is types.ModuleType or _is_way_out(value, name, found):
            raise _refused(value, name)
        return self._screen(value, name, found) if type(found) is types.FunctionType else found

    def _read_special(self, value: Any, name: str) -> Any:
        if name == "__class__":
            return class_of(value)
        if name in {"__name__", "__qualname__", "__doc__"}:
            found = getattr(value, name)
            if found is None or type(found) is str:
                return found
        elif name in {"__dict__", "__annotations__"} and self._is_own(value):
            return _public(getattr(value, name))
        elif name == "__members__" and isinstance(value, enum.EnumMeta):
            return dict(value.__members__)
        elif name in DEFINABLE and (self._is_own(value) or _is_base(value)):
            if name in {"__setattr__", "__delattr__"}:
                return self._make_writer(value, name)
            found = getattr(value, name)
            return self._screen(value, name, found) if type(found) is types.FunctionType else found
        raise _refused(value, name)

    def _make_writer(self, value: Any, name: str) -> Callable[..., None]:
        """`object.__setattr__`, `super().__setattr__` and the like, with the guard before them."""
        real = getattr(value, name)
        bound: Any = getattr(value, "__self__") if type(value) is super else value  # noqa: B009 - no stub knows it

        def write(*args: Any) -> None:
            target, field = args[:2] if isinstance(value, type) else (bound, args[0])
            self.writable(target, field)
            real(*args)

        return write

    def writable(self, value: Any, name: Any) -> Any:
        """`value` itself, if its attribute may be set or deleted.

        Raises:
            AttributeError: it may not.
        """
        if type(name) is not str or is_dunder(name) or name in INSPECTION:
            raise AttributeError(f"the attribute {name} cannot be set")
        kind = kind_of(value)
        if kind in self._own or self.is_own_class(value) or self.is_own_function(value):
            return value
        plain = issubclass(kind, _WRITABLE) and not issubclass(kind, _GROUP)
        if not name.startswith("_") and (plain or _is_decimal_context(kind)):
            return value
        raise AttributeError(
            f"{_named(value)}.{name} cannot be set {LEVEL}: only what the code itself defined "
            "can be changed; define a subclass or keep the value in a variable"
        )

    def build_class(self, body: Any, name: str, *bases: Any, **keywords: Any) -> Any:
        """Make a class, without a metaclass of the code's, and count it as its own.

        Raises:
            TypeError: such a base or keyword is not possible here.
        """
        if "metaclass" in keywords:
            raise TypeError("no metaclass can be given")
        if any(isinstance(base, HiddenKind) for base in bases):
            raise TypeError(f"a class cannot inherit from type or from functions {LEVEL}")
        made: Any = builtins.__build_class__(body, name, *bases, **keywords)
        if class_of(made) is not TYPE or issubclass(made, (type, _GROUP)):
            raise TypeError(f"a class cannot inherit from such a base {LEVEL}")
        self.adopt(made)
        return made

    def pattern_class(self, kind: Any) -> Any:
        """`kind`, if a class pattern may read attributes of its instances.

        A match reads them without the guard: from an instance that is harmless, from a class it is
        not, and classes are instances of `object`, of `Hashable` and the like.

        Raises:
            TypeError: it may not.
        """
        own = self.is_own_class(kind) and not getattr(kind, "_is_protocol", False)
        if own or (type(kind) is type and kind not in _TOO_WIDE):
            return kind
        raise TypeError(
            f"a pattern cannot read attributes by {_named(kind)}: name a class of its own"
        )

    # the built-in functions of the same names

    def getattr(self, value: Any, name: Any, default: Any = _MISSING, /) -> Any:
        """Get an attribute."""
        try:
            return self.read(value, _checked(name))
        except AttributeError:
            if default is _MISSING:
                raise
            return default

    def hasattr(self, value: Any, name: Any, /) -> bool:
        """Whether the value has the attribute."""
        return self.getattr(value, name, _ABSENT) is not _ABSENT

    def setattr(self, value: Any, name: Any, new: Any, /) -> None:
        """Set an attribute."""
        setattr(self.writable(value, name), name, new)

    def delattr(self, value: Any, name: Any, /) -> None:
        """Delete an attribute."""
        delattr(self.writable(value, name), name)

    def vars(self, *args: Any) -> dict[str, Any]:
        """The attributes of an instance of the code's own classes, copied; or the variables."""
        return self.read(args[0], "__dict__") if args else _public(self._variables)

    def dir(self, *args: Any) -> list[str]:
        """The public names."""
        if not args:
            return sorted(_public(self._variables))
        return [name for name in dir(args[0]) if not name.startswith("_")]


def _for_instances(owner: type[Any], function: types.FunctionType) -> Callable[..., Any]:
    def method(instance: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not issubclass(type(instance), owner):
            raise TypeError(f"{function.__qualname__} needs an instance of {owner.__name__}")
        return function(instance, *args, **kwargs)

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


def _checked(name: Any) -> str:
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    return name


def _refused(value: Any, name: str) -> AttributeError:
    return AttributeError(f"{_named(value)}.{name} is not available {LEVEL}")


def _named(value: Any) -> str:
    kind = kind_of(value)
    if isinstance(value, Facade):
        return repr(value)
    return str(value.__name__) if issubclass(kind, type) else kind.__name__


def _is_tuple(value: Any) -> bool:
    return isinstance(value, tuple) or (isinstance(value, type) and issubclass(value, tuple))


def _is_base(value: Any) -> bool:
    """Whether special methods may be read from it: a class to inherit from, or `super()`."""
    return type(value) is super or (
        issubclass(type(value), type) and not issubclass(type(value), HiddenKind)
    )


def _is_way_out(value: Any, name: str, found: Any) -> bool:
    """Whether one of the names that are looked at twice is here what makes it dangerous."""
    if name == "mro":
        return isinstance(getattr(found, "__self__", None), type)
    if name == "register":
        return getattr(found, "__func__", None) is abc.ABCMeta.register
    return name == "obj" and isinstance(value, AttributeError)


def _is_decimal_context(kind: type) -> bool:
    return kind.__name__ == "Context" and kind.__module__ == "decimal"


def _public(names: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in names.items()
        if not is_dunder(str(name)) and type(value) is not types.ModuleType
    }
