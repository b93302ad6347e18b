"""What may vouch for a value: the words of the user's request, and the results of tools."""

from __future__ import annotations

from collections.abc import Sequence

from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.provenance import Label
from tinyagent.core.results import long_result_handle
from tinyagent.provenance.policy import ALWAYS_TRUSTED, parse_source
from tinyagent.provenance.vouching import (
    Record,
    Scalar,
    as_json,
    is_said_in,
    normal,
    times_in,
)

LONG = 5_000


class Evidence:
    """The words of the user and the results of tools of one run."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._records: dict[str, Record] = {}
        self._long: dict[str, Label] = {}
        self._read: dict[int, Message] = {}  # by identity: most of a request was in the one before
        self._names: dict[str, str] = {}

    def read(self, messages: Sequence[Message]) -> None:
        """Take the words of the user, and results of earlier runs, from a request."""
        for message in messages:
            if id(message) in self._read:
                continue
            self._read[id(message)] = message
            self._names |= {call.id: call.name for call in message.tool_calls}
            if message.role == "user":
                if message.label is not None and message.label.sources <= ALWAYS_TRUSTED:
                    self._words.append(message.text)
                continue
            key = message.tool_call_id
            if key in self._names and key not in self._records and not message.is_error:
                self._records[key] = Record(self._names[key], as_json(None, message.text))

    def add(
        self, call: ToolCall, value: object, text: str, label: Label, echoes: frozenset[str]
    ) -> None:
        """Add a result of this run."""
        key = call.id if call.id not in self._records else f"{call.id} {len(self._records)}"
        self._records[key] = Record(call.name, value, echoes)
        if len(text) > LONG:
            self._long[long_result_handle(text)] = label

    def long_result(self, call: ToolCall) -> Label:
        """The label of the stored text that a call reads more of; none for any other call."""
        handle = call.arguments.get("handle")
        return self._long.get(handle, Label()) if isinstance(handle, str) else Label()

    def vouches(self, source: str, value: Scalar) -> bool:
        """Whether a source of a rule vouches for a value."""
        if source == "user":
            return isinstance(value, str) and any(is_said_in(value, words) for words in self._words)
        inside, tool, name = parse_source(source)
        records = [record for record in self._records.values() if record.tool == tool]
        if inside:
            return isinstance(value, str) and any(each.contains(value, name) for each in records)
        return any(each.holds(value, name) for each in records)

    def times_said(self, value: str) -> int:
        """How often the user's request contains a text."""
        return sum(times_in(value, words) for words in self._words)

    def sources_of(self, value: str) -> tuple[str, ...]:
        """Where a text is found verbatim, for the words of a question or a refusal."""
        found = ["user"] if self.vouches("user", value) else []
        wanted = normal(value)
        for record in self._records.values():
            if record.tool not in found and wanted and record.contains(value, None):
                found.append(record.tool)
        return tuple(found)
