"""Cursor: where one run is in its journal, and whether it still does what it did before."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from tinyagent.core.context import RunControl
from tinyagent.core.errors import ReplayDiverged
from tinyagent.core.messages import ToolCall
from tinyagent.durable.journal import Entry, Journal
from tinyagent.durable.records import Record, value_or_text

T = TypeVar("T")


class Cursor:
    """The place of one run in the journal: the workflow's own, or of an agent as a tool in it.

    Args:
        journal: The journal.
        run: The run.
        prefix: How the places of the run begin.
    """

    def __init__(self, journal: Journal, run: RunControl, prefix: str) -> None:
        self.journal = journal
        self.run = run
        self._prefix = prefix
        self._counts: Counter[str] = Counter()
        self._in_block = False
        self._is_known_block = False

    @property
    def is_outermost(self) -> bool:
        """Whether the run is the workflow's own."""
        return not self._prefix

    @property
    def step(self) -> str:
        """How the places of the current step begin."""
        return f"{self._prefix}{self.run.step}."

    def place(self, kind: str, asked: str = "") -> str:
        """A new place in this step: by its digest and occurrence if it has one, or by number."""
        stem = f"{self.step}{asked}-" if asked else self.step
        self._counts[f"{kind} {stem}"] += 1
        return f"{stem}{self._counts[f'{kind} {stem}']}"

    def take_back(self, kind: str) -> None:
        """Give the last numbered place to the next call of `place`."""
        self._counts[f"{kind} {self.step}"] -= 1

    def next_turn(self) -> int:
        """The index of a tool call within this step, from 1, with recorded calls."""
        self._counts[f"turn {self.step}"] += 1
        return self._counts[f"turn {self.step}"]

    def begun(self, place: str) -> list[Entry]:
        """The records of earlier executions that began the call at this place."""
        begun: list[Entry] = []
        while (entry := self.journal.find("begin", f"{place}#{len(begun) + 1}")) is not None:
            begun.append(entry)
        return begun

    def now(self) -> Record:
        """The run's own time, as part of a record."""
        return {"at": self.run.seconds}

    def go_on_from(self, record: Mapping[str, Any]) -> None:
        """Set the run's clock to the time of the record, if that is later."""
        at = record.get("at", 0.0)
        self.run.started -= max(0.0, float(at) - self.run.seconds)

    @contextmanager
    def in_block(self) -> Generator[None]:
        """Around a block of code; its calls must be those on record."""
        self._in_block = True
        try:
            yield
        finally:
            self._in_block = self._is_known_block = False

    def expect_recorded_calls(self) -> None:
        """From now on in this block, a call without a record is a divergence."""
        self._is_known_block = True

    def expect_new(self, place: str, call: ToolCall, turn: int | None = None) -> None:
        """Check that code makes a call, which is about to be made, only after all recorded calls.

        Args:
            place: Of the call.
            call: The call.
            turn: Recorded calls up to this index must have come before it; by default, up to that
                of the next call.

        Raises:
            ReplayDiverged: An earlier execution did something else.
        """
        turn = self._counts[f"turn {self.step}"] + 1 if turn is None else turn
        recorded = self.journal.unread(("tool", "begin"), self.step)
        missed = [entry for entry in recorded if entry.value.get("turn", turn + 1) <= turn]
        if self._in_block and (self._is_known_block or missed):
            raise ReplayDiverged(_divergence(place, call, missed))

    def expect_begun_calls(self) -> None:
        """Check that the run has come again to each call that it began and may not repeat.

        Raises:
            ReplayDiverged: It has gone past one: its tool may have another name now.
        """
        for entry in self.journal.unread(("begin",), self._prefix, with_agents=True):
            raise ReplayDiverged(
                f"the run does not make the same calls again: it leaves out {entry.name!r}"
                f" (record {entry.number}). Resume it with the tools and rules that it began with"
            )

    def read(self, entry: Entry, reader: Callable[[Mapping[str, Any]], T]) -> T:
        """The value of a record, read strictly.

        Raises:
            ReplayDiverged: It cannot be read.
        """
        try:
            return reader(entry.value)
        except (ValueError, TypeError, AttributeError) as fault:
            raise ReplayDiverged(
                f"record {entry.number} of the run ({entry.name}) cannot be read: {fault}"
            ) from None


def digest(name: str, arguments: Mapping[str, Any] | None = None) -> str:
    """A short name for a call or a block of code: the start of the SHA-256 of its JSON form."""
    record = value_or_text([name, dict(arguments or {})])
    text = json.dumps(record, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _divergence(place: str, call: ToolCall, missed: Iterable[Entry]) -> str:
    first = min(missed, key=lambda entry: entry.number, default=None)
    recorded = "no such call" if first is None else f"a call {first.name!r} (record {first.number})"
    return (
        f"the code does not make the same calls again: at {place} it calls {call.name}"
        f" with {dict(call.arguments)!r:.200}, where {recorded} is recorded. A block of code may"
        " depend on time, chance and the outside world only through tools"
    )
