"""What may vouch for a value: the words of the user's request, and the results of tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.provenance import USER, Label
from tinyagent.core.results import long_result_handle
from tinyagent.provenance.policy import ALWAYS_TRUSTED, parse_source
from tinyagent.provenance.vouching import (
    Record,
    Scalar,
    as_json,
    echoes_of,
    is_said_in,
    normal,
    times_in,
)

LONG = 5_000


class Evidence:
    """The words of the user and the results of tools of one run.

    Args:
        task: what the run was asked. An agent may be asked by another one, which the user asked.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._words: dict[str, int] = {}  # how often they are in one request, at most
        self._said = Counter[str]()  # how often they are in this one
        self._records: dict[str, Record] = {}
        self._earlier: dict[str, tuple[ToolCall, str]] = {}  # results that no rule has needed yet
        self._long: dict[str, Label] = {}
        self._calls: dict[str, ToolCall] = {}

    def read(self, messages: Sequence[Message], *, goes_on: bool) -> None:
        """Take the words of the user, and results of earlier runs, from a request.

        Args:
            messages: of the request; those that were not in the one before, if it goes on.
            goes_on: whether the request begins with all messages of the one before.
        """
        if not goes_on:
            self._said.clear()
        for message in messages:
            if self._is_users(message):
                self._said[message.text] += 1
                self._words[message.text] = max(
                    self._said[message.text], self._words.get(message.text, 0)
                )
            for made in message.tool_calls:
                self._calls[made.id] = made
            if message.role == "user" or message.is_error:
                continue
            call = self._calls.get(message.tool_call_id or "")
            if call is not None and call.id not in self._records:
                self._earlier.setdefault(call.id, (call, message.text))

    def _is_users(self, message: Message) -> bool:
        """Whether the user wrote it. What code printed has the role of the user, too."""
        if message.role != "user" or message.label is None:
            return False
        sources = message.label.sources
        return sources <= USER.sources or (sources <= ALWAYS_TRUSTED and message.text == self._task)

    def _echoes(self, call: ToolCall) -> frozenset[str]:
        """What an earlier run's call may have put into its result, the user's words apart."""
        return frozenset(
            echo for echo in echoes_of(call.arguments, ()) if not self.vouches("user", echo)
        )

    def _records_of(self, tool: str | None) -> list[Record]:
        """The results of a tool; None is all tools."""
        for key, (call, text) in list(self._earlier.items()):
            if tool in (None, call.name):
                del self._earlier[key]
                self._records[key] = Record(call.name, as_json(None, text), self._echoes(call))
        return [record for record in self._records.values() if tool in (None, record.tool)]

    def add(
        self, call: ToolCall, value: object, text: str, label: Label, echoes: frozenset[str]
    ) -> None:
        """Add a result of this run."""
        is_new = call.id not in self._records and call.id not in self._earlier
        key = call.id if is_new else f"{call.id} {len(self._records) + len(self._earlier)}"
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
        records = self._records_of(tool)
        if inside:
            return isinstance(value, str) and any(each.contains(value, name) for each in records)
        return any(each.holds(value, name) for each in records)

    def times_said(self, value: str) -> int:
        """How often the user's request contains a text."""
        return sum(count * times_in(value, words) for words, count in self._words.items())

    def sources_of(self, value: str) -> tuple[str, ...]:
        """Where a text is found verbatim, for the words of a question or a refusal."""
        found = ["user"] if self.vouches("user", value) else []
        wanted = normal(value)
        for record in self._records_of(None):
            if record.tool not in found and wanted and record.contains(value, None):
                found.append(record.tool)
        return tuple(found)
