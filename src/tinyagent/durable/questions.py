"""Questions: what a suspended run waits for, an approval or a decision on a call in doubt.

A suspended run has no execution and holds nothing. The answer is written to the run, which is then
enqueued; the next execution goes through its journal to the same call and finds the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

from tinyagent.core.messages import ToolCall
from tinyagent.core.untrusted import take, take_object, take_optional
from tinyagent.durable.records import Record, value_from_dict, value_or_text

Choice = Literal["retry", "skip", "abort"]
"""What to do about a call in doubt: make it again, continue without it, end the run."""
QuestionKind = Literal["approval", "in_doubt"]


class Suspended(BaseException):
    """The run is suspended until its questions are answered; only the execution catches this."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a run waits for.

    `place` names the call within the run. `kind` is `"approval"`, or `"in_doubt"` for a call that
    was started and whose result is not known. `doubt` says why a `Provenance` asks.
    """

    place: str
    kind: QuestionKind
    tool: str
    arguments: Mapping[str, Any]
    asked: datetime
    doubt: str = ""

    def to_dict(self) -> Record:
        """The JSON form."""
        return {
            "place": self.place,
            "kind": self.kind,
            "tool": self.tool,
            "arguments": value_or_text(dict(self.arguments)),
            "asked": self.asked.isoformat(),
            **({"doubt": self.doubt} if self.doubt else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Question:
        """Read the JSON form; raises ValueError."""
        arguments = value_from_dict(take_object(data, "arguments"))
        return cls(
            take(data, "place", str),
            "approval" if take(data, "kind", str) == "approval" else "in_doubt",
            take(data, "tool", str),
            cast("Record", arguments) if isinstance(arguments, dict) else {},
            datetime.fromisoformat(take(data, "asked", str)),
            take_optional(data, "doubt", str) or "",
        )


def question(kind: QuestionKind, place: str, call: ToolCall) -> Question:
    """A question about a call, asked now."""
    return Question(place, kind, call.name, dict(call.arguments), datetime.now(UTC), call.doubt)
