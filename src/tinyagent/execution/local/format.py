"""`str.format` whose fields read attributes through the guard."""

from __future__ import annotations

import functools
import string
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Attribute = Callable[[Any, str], Any]
_PARTS: Any = getattr(string, "_string")  # noqa: B009 - private to string.Formatter, which needs it too


class _Formatter(string.Formatter):
    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute

    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        first, rest = _PARTS.formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            if is_attribute and name.startswith("_"):
                raise AttributeError(f"no field of a format can read the attribute {name}")
            value = self._attribute(value, name) if is_attribute else value[name]
        return value, first


def guarded_format(value: Any, attribute: Attribute) -> Any:
    """The same method with guarded fields, if `value` is one of str's; else `value`.

    Args:
        value: what was found under the name `format` or `format_map`.
        attribute: the guard.
    """
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, str):
        return _bound(value.__name__, value.__self__, attribute)
    if isinstance(value, types.MethodDescriptorType) and value.__objclass__ is str:
        return functools.partial(_unbound, value.__name__, attribute)
    return value


def _unbound(name: str, attribute: Attribute, text: str, /, *args: Any, **kwargs: Any) -> str:
    return _bound(name, text, attribute)(*args, **kwargs)


def _bound(name: str, text: str, attribute: Attribute) -> Callable[..., str]:
    formatter = _Formatter(attribute)
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - the code's own argument
        raise TypeError(f"{name} needs a str")

    def safe_format(*args: Any, **kwargs: Any) -> str:
        """Format the text; fields reach no special names."""
        return formatter.vformat(text, args, kwargs)

    def safe_format_map(mapping: Any) -> str:
        """Format the text with the mapping's values."""
        return formatter.vformat(text, (), mapping)

    return safe_format if name == "format" else safe_format_map
