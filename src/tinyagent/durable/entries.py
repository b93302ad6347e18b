"""What a journal is made of: records at places."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

INSIDE: ContextVar[str] = ContextVar("INSIDE", default="")
"""The place of the call of an agent as a tool, in which a run lies that begins now."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record. `name` is the step's name: place, kind and, of a call, the tool."""

    number: int
    name: str
    value: Any

    @property
    def place(self) -> str:
        """Where in the run it stands."""
        return self.name.split(" ", 2)[0]

    @property
    def kind(self) -> str:
        """`model`, `begin`, `tool`, `ask`, `code` or `end`."""
        return [*self.name.split(" ", 2), ""][1]
