"""The tools that the programs call: in an executor on the host, in plain Python as they are."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

import pandas as pd

_KINDS: dict[str, Any] = {
    "text": "Zürich",
    "number": 42,
    "float": 2.5,
    "nothing": None,
    "yes": True,
    "list": [1, "two", [3.0, None]],
    "dict": {"name": "Ada", "tags": ["a", "b"], "nested": {"x": 1}},
    "numbers as keys": {1: "one", 2: "two"},
    "tuple": (1, (2, 3)),
    "set": {3},
    "decimal": decimal.Decimal("12.340"),
    "datetime": dt.datetime(2026, 11, 21, 7, 30, tzinfo=dt.UTC),
    "date": dt.date(2026, 2, 28),
    "duration": dt.timedelta(hours=1, seconds=5),
    "bytes": bytes(range(5)),
    "large number": 2**200,
    "long text": "ab" * 50_000,
}


class NotCovered(Exception):
    """An exception that only the host knows."""


def add(a: int, b: int = 10, *, scale: int = 1) -> int:
    """Add two numbers."""
    return (a + b) * scale


async def double_later(value: int) -> int:
    """Double a number, when others had their turn."""
    await asyncio.sleep(0)
    return value * 2


def make(kind: str) -> Any:
    """A value of some kind."""
    return _KINDS[kind]


def describe(value: Any) -> str:
    """What the host got: its type and its value."""
    if isinstance(value, pd.DataFrame):
        return f"frame {value.to_dict('list')}"
    return f"{type(value).__name__} {value!r}"


def frame(rows: int) -> pd.DataFrame:
    """A data frame."""
    return pd.DataFrame(
        {
            "city": [f"c{number % 3}" for number in range(rows)],
            "amount": [number * 1.5 for number in range(rows)],
            "count": list(range(rows)),
        }
    )


def fail(how: str) -> None:
    """Fail in a way of the caller's choice."""
    if how == "value":
        raise ValueError("the amount -1 is negative")
    if how == "key":
        raise KeyError("no account 77")
    if how == "own":
        raise NotCovered("that is not covered")
    raise ZeroDivisionError("division by zero")


async def fail_later(message: str) -> None:
    """Fail, when others had their turn."""
    await asyncio.sleep(0)
    raise ValueError(message)


TOOLS: dict[str, Callable[..., Any]] = {
    tool.__name__: tool for tool in (add, double_later, make, describe, frame, fail, fail_later)
}
