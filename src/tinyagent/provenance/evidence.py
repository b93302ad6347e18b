"""What may vouch for a value: the words of the user's request, and the results of tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tinyagent.core.messages import MATERIAL, Message, ToolCall
from tinyagent.core.provenance import COMMON, USER, Label
from tinyagent.core.results import long_result_handle
from tinyagent.provenance.policy import parse_source
from tinyagent.provenance.vouching import (
    Record,
    Scalar,
    as_json,
    has_words,
    is_said_in,
    leaves,
    times_in,
)

LONG = 5_000


class Evidence:
    """The words of the user and the results of tools of one run.

    Args:
        task: What the run was asked. An agent may be asked by another one, which the user asked.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._words: dict[str, int] = {}  # how often they are in one request, at most
        self._said = Counter[str]()  # how often they are in this one
        self._records: dict[str, Record] = {}
        self._earlier: dict[str, tuple[ToolCall, Message]] = {}  # results that no rule has needed
        self._long: dict[str, Label] = {}
        self._calls: dict[str, ToolCall] = {}

    def read(self, messages: Sequence[Message], *, goes_on: bool) -> None:
        """Take the words of the user, and results of earlier runs, from a request.

        Args:
            messages: Of the request; those that were not in the one before, if it goes on.
            goes_on: Whether the request begins with all messages of the one before.
        """
        if not goes_on:
            self._said.clear()
        for message in messages:
            for made in message.tool_calls:
                self._calls[made.id] = made
            if message.role == "user":
                self._read_user(message)
                continue
            call = self._calls.get(message.tool_call_id or "")
            if call is not None and call.id not in self._records:
                self._earlier.setdefault(call.id, (call, message))

    def _read_user(self, message: Message) -> None:
        """Take what the user wrote, or handed over."""
        if message.label is None:
            return
        sources, text = message.label.sources, message.text
        # What code printed has the role of the user, too.
        if sources <= USER.sources or (sources <= COMMON and text == self._task):
            self._said[text] += 1
            self._words[text] = max(self._said[text], self._words.get(text, 0))
        elif len(sources) == 1 and (name := next(iter(sources))).startswith(MATERIAL):
            self._records[f"{name} {hash(text)}"] = Record(
                name, text, vouches=False, own=message.label
            )

    def _records_of(self, tool: str) -> Iterator[Record]:
        """The results of a tool."""
        if any(call.name == tool for call, _ in self._earlier.values()):
            self._read_earlier()
        return (one for one in self._records.values() if one.vouches and one.tool == tool)

    def _read_earlier(self) -> None:
        """Make records of the results of earlier runs; what the user said may be repeated."""
        for key, (call, message) in self._earlier.items():
            text, own = message.text, Label(frozenset({call.name}))
            value, is_result = as_json(None, text), not message.is_error
            said = frozenset(
                leaf.path
                for name, argument in call.arguments.items()
                for leaf in leaves(argument, name)
                if isinstance(leaf.value, str) and self.vouches("user", leaf.value)
            )
            self._records[key] = Record(call.name, value, call.arguments, said, is_result, own)
        self._earlier.clear()

    def add(self, call: ToolCall, record: Record, text: str, label: Label) -> None:
        """Add a result of this run.

        Args:
            call: Its call.
            record: What it may vouch for.
            text: What the model is shown.
            label: What it was made of.
        """
        is_new = call.id not in self._records and call.id not in self._earlier
        key = call.id if is_new else f"{call.id} {len(self._records) + len(self._earlier)}"
        self._records[key] = record
        if len(text) > LONG:
            self._long[long_result_handle(text)] = label

    def long_result(self, call: ToolCall) -> Label:
        """The label of the stored text that a call reads more of; none for any other call."""
        handle = call.arguments.get("handle")
        return self._long.get(handle, Label()) if isinstance(handle, str) else Label()

    def vouches(self, source: str, value: object, form: str = "") -> bool:
        """Whether a source of a rule vouches for a value.

        Args:
            source: As in a list of sources.
            value: A value of an argument.
            form: Whose spellings mean the same, if the rule is a `Form`.
        """
        if source == "user":
            return isinstance(value, str) and any(
                is_said_in(value, words, form) for words in self._words
            )
        inside, tool, name = parse_source(source)
        records = self._records_of(tool)
        if inside:
            return isinstance(value, str) and any(
                each.contains(value, name, form) for each in records
            )
        return isinstance(value, str | int | float) and any(
            each.holds(value, name, form) for each in records
        )

    def times_said(self, value: str) -> int:
        """How often the user's request contains a text."""
        return sum(count * times_in(value, words) for words, count in self._words.items())

    def sources_of(self, value: Scalar) -> tuple[str, ...]:
        """The places of a text, verbatim, for the words of a question or a refusal."""
        if not isinstance(value, str) or not value:
            return ()
        found = ["user"] if self.vouches("user", value) else []
        for record in self.records():
            if record.tool not in found and has_words(value, record.text()):
                found.append(record.tool)
        return tuple(found)

    def records(self) -> Sequence[Record]:
        """All that was read, also in earlier runs of the conversation."""
        self._read_earlier()
        return tuple(self._records.values())
