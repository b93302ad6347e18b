"""Signals: what a code agent says of its own thinking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class SignalType(StrEnum):
    """What kind of thought it is: a doubt, a look around, a decision."""

    UNCERTAIN = "uncertain"
    EXPLORE = "explore"
    COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal; `step` is the step (from 1) that gave it."""

    type: SignalType
    message: str
    timestamp: datetime
    step: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "type": self.type.value,
            "message": self.message,
            "timestamp": self.timestamp.isoformat(),
            "step": self.step,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Signal:
        """Read the JSON form back; raises KeyError or ValueError for a missing or wrong part."""
        when = datetime.fromisoformat(data["timestamp"])
        return cls(SignalType(data["type"]), data["message"], when, data["step"])
