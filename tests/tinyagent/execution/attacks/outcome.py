"""The outcome of an attack, and what must hold for every outcome."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.support.execution import SPARE_SECONDS

from tinyagent.execution.protocol import ExecutionResult

WON = "ESCAPED:"
MAX_ERROR_CHARACTERS = 64_000
MAX_PIECES_CHARACTERS = 1_000_000
ROOM_FOR_REMARKS = 3_000
_SCALARS = (type(None), bool, int, float, str, bytes, Decimal, dt.datetime, dt.date)
_MORE_SCALARS = (dt.time, dt.timedelta)


@dataclass(slots=True)
class Outcome:
    """The outcome of the steps of one attack.

    Args:
        results: one a step.
        seconds: how long each took, seen from the host.
        heard: what the tool `echo` was given.
        pieces: what `on_output` was given.
    """

    results: list[ExecutionResult] = field(default_factory=list[ExecutionResult])
    seconds: list[float] = field(default_factory=list[float])
    heard: list[Any] = field(default_factory=list[Any])
    pieces: list[str] = field(default_factory=list[str])


def gave_nothing_away(outcome: Outcome, secret: str) -> None:
    """Neither the secret nor the mark of success is in anything that came back."""
    shown = [*outcome.pieces, *map(_shown, outcome.heard)]
    for result in outcome.results:
        shown += [result.output, result.error or "", result.value_text]
        shown += [_shown(result.value), _shown(result.final_value)]
        shown += [_shown(result.final_metadata), *map(_shown, result.artifacts)]
    for text in shown:
        assert WON not in text, text[:2000]
        assert secret not in text, text[:2000]


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # an int of more digits than Python shows
        return ""


def was_in_time(outcome: Outcome, timeout: float) -> None:
    """Each step came back in time."""
    late = [seconds for seconds in outcome.seconds if seconds > timeout + SPARE_SECONDS]
    assert late == [], f"limit {timeout} s, took {outcome.seconds}"


def kept_to_size(outcome: Outcome, max_output_bytes: int) -> None:
    """What came back is bounded."""
    assert sum(map(len, outcome.pieces)) <= MAX_PIECES_CHARACTERS
    for result in outcome.results:
        assert len(result.output.encode()) <= max_output_bytes + ROOM_FOR_REMARKS
        assert len(result.error or "") <= MAX_ERROR_CHARACTERS
        assert len(result.value_text) <= MAX_ERROR_CHARACTERS


def is_data(outcome: Outcome) -> None:
    """What the code handed over is data of exact built-in types, without its own code."""
    values: list[Any] = [*outcome.heard]
    for result in outcome.results:
        values += [result.value, result.final_value, dict(result.final_metadata)]
    assert [value for value in values if not is_plain(value)] == []


def is_plain(value: Any) -> bool:
    """Whether it is data of exact built-in types all through, or a data frame."""
    kind = type(value)
    if kind in _SCALARS or kind in _MORE_SCALARS:
        return True
    if kind is dict:
        return all(is_plain(item) for pair in value.items() for item in pair)
    if kind in {list, tuple, set, frozenset}:
        return all(is_plain(item) for item in value)
    return kind.__module__.startswith(("pandas", "pyarrow"))
