"""ResumedRecord: the parts of a resumed turn that are not stored yet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillian.chat.agent import ApprovalGiven, ApprovalWanted
from skillian.chat.turn_events import AgentEvent, TurnRecord
from skillian.storage import Draft, TurnEvent
from tinyagent import TextDelta, ToolCall, ToolFinished, ToolStarted
from tinyagent.core import ModelResponded


@dataclass
class ResumedRecord(TurnRecord):
    """Reads the events of a turn from its beginning, and returns those that are not stored.

    Everything that is stored was in the journal before, so it is repeated. The exception is the
    deltas of an unfinished answer: they are void, and `restarts` marks that.

    Attributes:
        stored: The events of the turn that are stored.
        messages_stored: How many messages of it are stored, without its question.
    """

    stored: Sequence[TurnEvent] = ()
    messages_stored: int = 0
    _known: Counter[Any] = field(default_factory=Counter[Any])
    _printed: Counter[int] = field(default_factory=Counter[int])
    _void: dict[int, str] = field(default_factory=dict[int, str])
    _calls: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list[str]))
    _renamed: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Count the stored events by kind."""
        for event in self.stored:
            step = event.data.get("step", 0)
            if event.type == "delta":
                self._void[step] = event.data["kind"]
            elif event.type == "code_output":
                self._printed[step] += len(event.data["text"])
            else:
                self._known[_key(event.type, event.data)] += 1
            if event.type == "model_finished":
                self._void.pop(step, None)
            elif event.type == "tool_started":
                self._calls[step].append(event.data["id"])

    def restarts(self) -> list[Draft]:
        """The events that make unfinished answers void, unless they are stored already."""
        return [
            Draft("delta", {"step": step, "kind": "restart", "text": ""})
            for step, kind in self._void.items()
            if kind != "restart"
        ]

    def read(self, events: Iterable[AgentEvent]) -> None:
        """Read events; an answer from the journal becomes one delta."""
        for event in events:
            if isinstance(event, TextDelta):
                self._void.pop(event.step, None)
            elif isinstance(event, ModelResponded) and event.step in self._void:
                del self._void[event.step]
                if event.response.content:
                    super().read([TextDelta(event.step, event.response.content)])
            super().read([self._with_stored_id(event)])

    def taken(self) -> tuple[Sequence[dict[str, Any]], Sequence[Draft]]:
        """The messages and events since the last call that are not stored."""
        messages, drafts = super().taken()
        known = min(self.messages_stored, len(messages))
        self.messages_stored -= known
        new = [self._rest(draft) for draft in drafts]
        return messages[known:], [draft for draft in new if draft is not None]

    def _with_stored_id(self, event: AgentEvent) -> AgentEvent:
        """The event with the stored id of its call: some models give none, and it is random."""
        match event:
            case ToolStarted(step=step, call=call):
                known = self._calls[step]
                self._renamed[call.id] = known.pop(0) if known else call.id
                return replace(event, call=self._named(call))
            case ToolFinished(result=result):
                return replace(event, result=replace(result, call=self._named(result.call)))
            case ApprovalWanted(call=call) | ApprovalGiven(call=call):
                return replace(event, call=self._named(call))
            case _:
                return event

    def _named(self, call: ToolCall) -> ToolCall:
        return replace(call, id=self._renamed.get(call.id, call.id))

    def _rest(self, draft: Draft) -> Draft | None:
        """The part of an event that is not stored; None if all of it is."""
        if draft.type == "delta":
            return draft
        if draft.type == "code_output":
            step, text = draft.data["step"], draft.data["text"]
            known = min(self._printed[step], len(text))
            self._printed[step] -= known
            left = text[known:]
            return Draft(draft.type, {**draft.data, "text": left}) if left else None
        key = _key(draft.type, draft.data)
        if self._known[key]:
            self._known[key] -= 1
            return None
        return draft


def _key(kind: str, data: Mapping[str, Any]) -> tuple[Any, ...]:
    """What identifies a repeated event; its times differ."""
    return kind, data.get("step"), data.get("id"), data.get("message")
