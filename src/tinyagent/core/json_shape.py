"""What shape a piece of untrusted JSON has."""

from __future__ import annotations

from typing import Any, cast


def as_object(value: object) -> dict[str, Any] | None:
    """The value if it is a JSON object, else None."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_array(value: object) -> list[Any] | None:
    """The value if it is a JSON array, else None."""
    if not isinstance(value, list):
        return None
    items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
    return items


def describe(value: object) -> str:
    """What a value is, without quoting it: it may be long, and it is not ours."""
    if value is None:
        return "null"
    entries = as_object(value)
    if entries is not None:
        keys = ", ".join(sorted(entries)[:8])
        return f"an object with the keys: {keys or 'none'}"
    return f"a {type(value).__name__}"
