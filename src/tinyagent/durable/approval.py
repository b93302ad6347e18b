"""What a durable run waits for: a yes to a call, or what to do about a call in doubt.

A run that waits is put away: its execution ends and holds nothing. The answer is written to the
run, which is then enqueued; it goes through its journal to the same call and finds the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from tinyagent.core.context import Ask
from tinyagent.core.errors import RunAborted
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolResult
from tinyagent.durable.records import Record, take, take_object, value_from_dict, value_or_text
from tinyagent.middleware.approval import Decision, nobody

if TYPE_CHECKING:
    from tinyagent.durable.bound import BoundJournal

Choice = Literal["retry", "skip", "abort"]
"""What to do about a call in doubt: make it again, go on without it, end the run."""


class Suspended(BaseException):
    """The run is put away until its questions are answered; nothing on the way may catch this."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a run waits for.

    `place` names the call within the run. `kind` is `"approval"`, or `"in_doubt"` for a call that
    was begun and whose result is not known.
    """

    place: str
    kind: Literal["approval", "in_doubt"]
    tool: str
    arguments: Mapping[str, Any]
    asked: datetime

    def to_dict(self) -> Record:
        """The JSON form."""
        return {
            "place": self.place,
            "kind": self.kind,
            "tool": self.tool,
            "arguments": value_or_text(dict(self.arguments)),
            "asked": self.asked.isoformat(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Question:
        """Read it back; raises ValueError."""
        arguments = value_from_dict(take_object(data, "arguments"))
        return cls(
            take(data, "place", str),
            "approval" if take(data, "kind", str) == "approval" else "in_doubt",
            take(data, "tool", str),
            cast("Record", arguments) if isinstance(arguments, dict) else {},
            datetime.fromisoformat(take(data, "asked", str)),
        )


def asking(bound: BoundJournal, ask: Ask) -> Ask:
    """`ask`, each of whose answers is asked for once in the life of the run.

    Where the agent names nobody to ask, the run waits for `DurableRuns.approve`.
    """

    async def once(call: ToolCall) -> Decision:
        place = bound.place("ask", bound.digest_of(call))
        entry = bound.journal.find("ask", place)
        if entry is not None:
            return bound.read(entry, _decision)
        bound.expect_new(place, call)
        if ask is nobody:
            question = _question("approval", f"{place}?", call)
            decision = _decision(await bound.journal.answer(question))
        else:
            async with bound.journal.unfinished():  # who is asked is asked once
                given = await ask(call)
            decision = given if isinstance(given, Decision) else Decision(given is True)
        record = {"approved": decision.approved, "reason": decision.reason}
        await bound.journal.record("ask", place, call.name, record)
        return decision

    return once


async def doubt(bound: BoundJournal, place: str, tries: int, call: ToolCall) -> ToolResult | None:
    """What to take for the result of a call that was begun; None: it is to be made again.

    Raises:
        Suspended: nobody has decided yet.
        RunAborted: somebody decided so.
    """
    answer = await bound.journal.answer(_question("in_doubt", f"{place}#{tries}", call))
    choice = answer.get("choice")
    if choice == "retry":
        return None
    if choice == "abort":
        raise RunAborted(f"a call of {call.name} was begun, and what came of it is not known")
    text = f"{call.name} was begun, and what came of it is not known; it was not called again"
    return ToolResult(call, f"Error: {text}", is_error=True, error=RuntimeError(text))


def _question(kind: Literal["approval", "in_doubt"], place: str, call: ToolCall) -> Question:
    return Question(place, kind, call.name, dict(call.arguments), datetime.now(UTC))


def _decision(data: Mapping[str, Any]) -> Decision:
    return Decision(take(data, "approved", bool), take(data, "reason", str))
