"""Which names and attributes code of trust level LOCAL may write, by name alone."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from typing import Any

LEVEL = "at trust level 'local'"

# What the compiler puts in, and what RestrictedPython's own rewriting could.
CHECK, LOAD, WRITE, LAST = "_check_", "_getattr_", "_write_", "_last_"
POWER, SHIFT, REPEAT = "_pow_", "_lshift_", "_repeat_"
PATTERN, HOLD = "_pattern_", "_hold_"
TEMPORARY = "_match_"
RESERVED = frozenset(
    """_check_ _hold_ _pattern_ _getattr_ _write_ _last_ _pow_ _lshift_ _repeat_ _getitem_ _getiter_
    _apply_ _inplacevar_ _unpack_sequence_ _iter_unpack_sequence_ _print_
    """.split()  # noqa: SIM905 - to read
)

DEFINABLE = frozenset(
    f"__{name}__"
    for name in """
    abs add and bool bytes call ceil class_getitem complex contains copy deepcopy delattr delete
    delitem divmod doc enter eq exit float floor floordiv format ge get getattr getitem gt hash iadd
    iand ifloordiv ilshift imatmul imod imul index init init_subclass int invert ior ipow irshift
    isub iter itruediv ixor le len length_hint lshift lt match_args matmul missing mod mul ne neg
    new next or pos post_init pow radd rand rdivmod repr reversed rfloordiv rlshift rmatmul rmod
    rmul ror round rpow rrshift rshift rsub rtruediv rxor set set_name setattr setitem slots str
    sub truediv trunc xor
    """.split()  # noqa: SIM905 - to read
)
"""Methods with special names that a class may define; so not `__reduce__`, `__getattribute__`,
`__class__`, `__del__`, `__subclasshook__`: Python's own library trusts what they give."""

READABLE = frozenset(
    """__annotations__ __class__ __dict__ __doc__ __members__ __name__
    __qualname__""".split()  # noqa: SIM905 - to read
)
"""Other attributes with special names that have a harmless answer."""

TUPLE_NAMES = frozenset(["_asdict", "_replace", "_fields", "_make", "_field_defaults"])
"""What a named tuple offers."""

_INSPECTED = (
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
)
INSPECTION = frozenset(
    name
    for kind in _INSPECTED
    for name in dir(kind)
    if re.match(r"(tb|f|co|gi|cr|ag)_", name) and name not in {"tb_lineno", "f_lineno"}
)
"""Ways from a running object to its frame, and so to everything."""

CAREFUL = INSPECTION | {"format", "format_map", "mro", "obj", "register"}
"""Attributes that the guard looks at twice."""


def is_dunder(name: str) -> bool:
    """Whether it is one of Python's own special names."""
    return len(name) > len("____") and name.startswith("__") and name.endswith("__")


def mangled(name: str, class_name: str) -> str:
    """The name that Python gives a private attribute (`__x`) inside a class."""
    owner = class_name.lstrip("_")
    private = name.startswith("__") and not name.endswith("__")
    return f"_{owner}{name}" if private and owner else name


def unmatched(names: Iterable[Any]) -> list[str]:
    """Those that no class pattern may read, as a match reads attributes without the guard."""
    return [str(name) for name in names if name in CAREFUL or str(name).startswith("__")]
