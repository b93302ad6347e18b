"""Untrusted values: JSON of unknown shape, and texts of unknown length."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast

_NOTICE = re.compile(
    r"\n?\[\.\.\. ([\d,]{1,20}) (?:of [\d,]{1,20} )?characters are left out here"
    r"(; [^\]\n]{1,200})? \.\.\.\]\n?"
)

T = TypeVar("T")


def as_object(value: object) -> dict[str, Any] | None:
    """The value if it is a JSON object, otherwise None."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_array(value: object) -> list[Any] | None:
    """The value if it is a JSON array, otherwise None."""
    if not isinstance(value, list):
        return None
    items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
    return items


def describe(value: object) -> str:
    """The kind of a value, without quoting it: it may be long or secret."""
    if value is None:
        return "null"
    entries = as_object(value)
    if entries is not None:
        keys = ", ".join(sorted(entries)[:8])
        return f"an object with the keys: {keys or 'none'}"
    return f"a {type(value).__name__}"


def take(data: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """The value under `key`, which must have this type; a bool is not a number.

    Raises:
        ValueError: It is missing, or has another type.
    """
    value = data.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{key!r} is {describe(value)}, not a {kind.__name__}")
    return value


def take_optional(data: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    """The value under `key`, which may be missing or null; raises ValueError as `take`."""
    return None if data.get(key) is None else take(data, key, kind)


def take_number(data: Mapping[str, Any], key: str) -> float:
    """The number under `key`; raises ValueError as `take`."""
    return float(take(data, key, float if isinstance(data.get(key), float) else int))


def take_object(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The JSON object under `key`; raises ValueError as `take`."""
    entry = as_object(data.get(key))
    if entry is None:
        raise ValueError(f"{key!r} is {describe(data.get(key))}, not an object")
    return entry


def take_list(data: Mapping[str, Any], key: str) -> list[Any]:
    """The JSON array under `key`; raises ValueError as `take`."""
    items = as_array(data.get(key))
    if items is None:
        raise ValueError(f"{key!r} is {describe(data.get(key))}, not a list")
    return items


def cut_middle(text: str, max_chars: int) -> str:
    """The text in at most `max_chars` characters: its beginning and end, with a notice between.

    The notice (about 50 characters) is always there if something is left out, so a smaller
    `max_chars` gives only the notice. A notice of an earlier cut is counted in, and its hint on how
    to read the rest is kept. A text that would not become shorter is returned unchanged.
    """
    if len(text) <= max_chars:
        return text
    earlier = list(_NOTICE.finditer(text))
    hidden = sum(int(notice[1].replace(",", "")) - len(notice[0]) for notice in earlier)
    hint = next((notice[2] for notice in earlier if notice[2]), "")
    kept = max(max_chars - len(_notice(len(text) + hidden, hint)), 0)
    tail = kept // 2
    head = kept - tail
    notice = _notice(len(text) + hidden - kept, hint)
    cut = text[:head] + notice + text[len(text) - tail :]
    return cut if len(cut) < len(text) else text


def short_repr(value: Any, max_chars: int) -> str:
    """The repr of any value, cut at its end; the type's name if the repr fails."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - an integer of 5,000 digits has no repr
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"
    return text if len(text) <= max_chars else f"{text[:max_chars]}… ({len(text)} characters)"


def one_line(text: str) -> str:
    """The text with all that could move or hide what stands around it as escapes."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _notice(missing: int, hint: str) -> str:
    return f"\n[... {missing:,} characters are left out here{hint} ...]\n"


def without_thoughts(text: str) -> str:
    """The text after the `<think>` block with which some models begin; drafts are not searched."""
    if not text.lstrip().startswith("<think>"):
        return text
    return text.partition("</think>")[2]
