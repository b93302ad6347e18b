"""What may vouch for a value: the words of the user's request, and the results of tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType

from tinyagent.core.messages import MATERIAL, Message, ToolCall
from tinyagent.core.provenance import COMMON, USER, Label, Mark
from tinyagent.core.provenance.rules import FORMS, host_of, hosts_in
from tinyagent.core.results import long_result_handle
from tinyagent.core.types import ToolSpec
from tinyagent.provenance.marks import has_sentence_of, marks_of, plain, written_in
from tinyagent.provenance.policies.policy import (
    SOURCE_WORDS,
    Policy,
    address_of,
    item_source,
    parse_source,
)
from tinyagent.provenance.records import (
    Admits,
    Record,
    ResultRow,
    earlier_record,
    everything,
    is_in_texts,
    texts_of,
    words_of,
)
from tinyagent.provenance.vouching import (
    MIN_CHARACTERS,
    Scalar,
    begins_a_word,
    has_words,
    is_said_in,
    leaves_of,
    named,
    times_in,
)

LONG = 5_000
_NO_POLICY = Policy()


class Evidence:
    """The words of the user and the results of tools of one run.

    Args:
        task: What the run was asked. An agent may be asked by another one, which the user asked.
        policy: Says which sources, and writers of items, are trusted.
        tools: Of the run.
    """

    def __init__(
        self,
        task: str,
        policy: Policy = _NO_POLICY,
        tools: Mapping[str, ToolSpec] = MappingProxyType({}),
    ) -> None:
        self._task, self._policy, self._tools = task, policy, tools
        self._writers: dict[tuple[str, str], bool] = {}  # whether items of a tool are trusted
        self.trusted_items: set[str] = set()
        """The sources of items whose writers are trusted."""
        self._searches: dict[int, bool] = {}  # whether the arguments of a record are the user's
        self._request: frozenset[str] | None = None  # the words of the user and of trusted items
        self._words: dict[str, int] = {}  # how often they are in one request, at most
        self._said = Counter[str]()  # how often they are in this one
        self._records: dict[str, Record] = {}
        self._earlier: dict[str, tuple[ToolCall, Message]] = {}  # results that no rule has needed
        self._spoken: dict[tuple[str, str], bool] = {}  # whether the user said a text
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
        said = len(self._words)
        for message in messages:
            for made in message.tool_calls:
                self._calls[made.id] = made
            if message.role == "user":
                self._read_user(message)
                continue
            call = self._calls.get(message.tool_call_id or "")
            if call is not None and call.id not in self._records:
                self._earlier.setdefault(call.id, (call, message))
        if len(self._words) != said:
            self._request = None
            self._spoken.clear()
            self._look_again()

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
        """The results of a tool, of all that is trusted, or of what lists the user's own things."""
        named = self._policy.of_word(tool, self._tools)
        if any(call.name in named for call, _ in self._earlier.values()):
            self._read_earlier()
        return (one for one in self._records.values() if one.vouches and one.tool in named)

    def _read_earlier(self) -> None:
        """Make records of the results of earlier runs; what the user said may be repeated."""
        earlier, self._earlier = self._earlier, {}
        for key, (call, message) in earlier.items():
            by = self._policy.items_by(self._tools.get(call.name))
            record = earlier_record(call, message, by, self._said_in(call.arguments))
            self._records[key] = record
            self._note_writers(record)

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
        self._note_writers(record)
        if len(text) > LONG:
            self._long[long_result_handle(text)] = label

    def long_result(self, call: ToolCall) -> Label:
        """The label of the stored text that a call reads more of; none for any other call."""
        handle = call.arguments.get("handle")
        return self._long.get(handle, Label()) if isinstance(handle, str) else Label()

    def vouches(self, source: str | float, value: object, form: str = "") -> bool:
        """Whether a source of a rule vouches for a value.

        Args:
            source: As in a list of sources.
            value: A value of an argument.
            form: Whose spellings mean the same, if the rule is a `Form`.
        """
        if not isinstance(value, str | int | float) or not isinstance(source, str):
            return isinstance(value, int | float) and value == source
        if source == "user":
            return self._is_said(value, form)
        inside, tool, name = parse_source(source)
        admits: Admits = self._concerns if source in SOURCE_WORDS else self._admits
        admits = everything if source == "seen" else admits
        for each in self._records_of(tool):
            fields = self._policy.own_fields(each.tool) if source == "own" else [name]
            if not inside and any(each.holds(value, at, form, admits) for at in fields):
                return True
            if (inside or source == "trusted") and each.says(value, name, form, admits):
                return True
        return False

    def _is_said(self, value: Scalar, form: str) -> bool:
        """Whether the user's request contains the value."""
        if not isinstance(value, str):
            return is_in_texts(value, self._words, form)
        key = (value, form)
        if key not in self._spoken:
            self._spoken[key] = is_in_texts(value, self._words, form)
        return self._spoken[key]

    def is_asked_openly(self, value: Scalar, form: str) -> bool:
        """Whether a trusted item that the request is about, and anybody may read, has the value."""
        return is_in_texts(value, self._meant(is_open=True), form)

    def names(self, source: str, name: str, value: str) -> bool:
        """Whether the user, or what is trusted, has a short value behind its name: "size M"."""
        said = named(name, value)
        if source == "trusted":
            return any(one.names(said, value, self._concerns) for one in self._records_of(source))
        return source == "user" and any(self._is_said(one, "") for one in said)

    def vouches_for_link(self, sources: Sequence[str], link: str) -> bool:
        """Whether a result contains a link, and one of the sources names its host."""
        if any(self.vouches(source, link, "url") for source in sources):
            return True
        host = host_of(link, "https") or host_of(link, "http")
        is_read = any(record.says(link, None) for record in self.records())
        return is_read and any(self.names_host(source, host) for source in sources)

    def names_host(self, source: str, host: str) -> bool:
        """Whether a source of a rule names a host, by itself or in a URL."""
        if source == "user":
            texts: Iterable[str] = self._words
        else:
            records = self._records_of(parse_source(source)[1])
            texts = (text for each in records for text in each.texts(self._admits))
        return any(host in hosts_in(text) for text in texts)

    def _asked_for(self, arguments: Mapping[str, object]) -> bool:
        """Whether a call has arguments, and all of them are the user's."""
        values = [
            leaf.value
            for leaf in leaves_of(arguments)
            if not leaf.is_key and leaf.value not in (None, "", True, False)
        ]
        return bool(values) and all(
            any(self._is_users(source, value) for source in ("user", "trusted", "own"))
            for value in values
        )

    def _is_users(self, source: str, value: Scalar) -> bool:
        """Whether the user gave a value, or it is of what lists the user's own things."""
        form = "" if isinstance(value, str) else "number"
        if source != "own":
            return self.vouches(source, value, form)
        return any(
            one.holds(value, at, form, self._admits)
            for one in self._records_of(source)
            for at in self._policy.own_fields(one.tool)
        )

    def _said_in(self, arguments: Mapping[str, object]) -> frozenset[str]:
        """The paths of the arguments that the user's request vouches for."""
        return frozenset(
            leaf.path
            for leaf in leaves_of(arguments)
            if isinstance(leaf.value, str) and self.vouches("user", leaf.value)
        )

    def _admits(self, record: Record, row: ResultRow) -> bool:
        """Whether a row may vouch for a rule that names its tool.

        Its writer is trusted, or no attacker can have searched for it, or it concerns the request.
        """
        if record.by:
            return self.trusts_writer(record.tool, row.writer)
        return record.is_planned or not record.arguments or self._concerns(record, row)

    def _concerns(self, record: Record, row: ResultRow) -> bool:
        """Whether a row is what the request is about: the user searched for it, or named it."""
        if record.by:
            return self.trusts_writer(record.tool, row.writer)
        key = id(record)
        if key not in self._searches:
            self._searches[key] = False  # its own rows do not vouch for what it was asked
            self._searches[key] = self._asked_for(record.arguments)
        return self._searches[key] or record.shares(row, self._request_words())

    def _request_words(self) -> frozenset[str]:
        if self._request is None:
            self._request = words_of([*self._words, *self._meant()])
        return self._request

    def trusts_writer(self, tool: str, writer: str) -> bool:
        """Whether the policy trusts the items of a tool that somebody wrote."""
        if (tool, writer) not in self._writers:
            sources = self._policy.writers(tool) if writer else ()
            address = address_of(writer)
            self._writers[tool, writer] = any(self._names(one, address) for one in sources)
            if self._writers[tool, writer]:
                self.trusted_items.add(item_source(self._policy.source(tool), writer))
        return self._writers[tool, writer]

    def _names(self, source: str, writer: str) -> bool:
        """Whether one of those whom `from` lists is the writer of an item."""
        if source == "user":
            return any(is_said_in(writer, words, "email") for words in self._words)
        if "@" in source:
            if not writer.isascii():  # in lower case, it might be
                return False
            name, known = writer.lower(), source.lower()
            if known.startswith("@") and "." in known:
                return FORMS["email"].fullmatch(name) is not None and name.endswith(known)
            return name in {known, known.removeprefix("@")}
        _, tool, at = parse_source(source)
        records, admits = self._records_of(tool), self._is_curated
        return any(each.holds(writer, at, "email", admits) for each in records)

    def _is_curated(self, record: Record, _: ResultRow) -> bool:
        return record.is_clean or self._policy.is_trusted(record.tool, self._tools)

    def _note_writers(self, record: Record) -> None:
        """Note whose items are trusted; a look-up may name writers of items that were read."""
        self._request = None
        if record.tool in self._policy.directories:
            self._look_again()
        if self._policy.writers(record.tool):
            for writer in record.writers():
                self.trusts_writer(record.tool, writer)

    def _look_again(self) -> None:
        """Look again at the writers who are not trusted."""
        for key in [key for key, is_trusted in self._writers.items() if not is_trusted]:
            del self._writers[key]
            self.trusts_writer(*key)

    def asks_for(self, words: Iterable[str]) -> bool:
        """Whether the user's request, or a trusted item, has a word that begins with one."""
        texts = [text.casefold() for text in (*self._words, *self._meant())]
        return any(begins_a_word(word.casefold(), text) for word in words for text in texts)

    def is_copied(self, value: object, host: str) -> bool:
        """Whether a value is one that was read elsewhere than on the pages of a host."""
        text = str(value)
        if isinstance(value, bool) or len(text) < MIN_CHARACTERS:
            return False
        on_page = [
            any(host_of(address, "https") == host for address in one.arguments.values())
            for one in self.records()
            if has_words(text, one.text())
        ]
        return bool(on_page) and not any(on_page)

    def is_only_read(self, text: str) -> bool:
        """Whether a text is a word, or has a short sentence, that only untrusted texts contain."""
        self._read_earlier()
        word = text.strip()
        known = (word, word[:1].lower() + word[1:])  # a text begins with a capital
        if len(word.split()) == 1:
            return any(has_words(word, each) for _, each in self._untrusted_texts()) and not any(
                self.vouches(source, one) for source in ("user", "trusted") for one in known
            )
        trusted = (t for one in self._records_of("trusted") for t in one.texts(self._admits))
        return has_sentence_of(text, self._untrusted_texts(), (*self._words, *trusted))

    def marks(self, text: str, *, is_strict: bool = False) -> tuple[Mark, ...]:
        """The spans that untrusted sources wrote; strictly, also in other characters."""
        by = (
            self._policy.items_by(self._tools.get(call.name)) for call, _ in self._earlier.values()
        )
        if is_strict or any(by):
            self._read_earlier()
        earlier = (
            (call.name, written_in(message.text, texts_of))
            for call, message in self._earlier.values()
            if not self._policy.is_trusted(call.name, self._tools)
        )
        spelled = plain if is_strict else str
        others = self._untrusted_texts(is_strict=is_strict)
        written = ((source, written_in(each, spelled)) for source, each in others)
        return marks_of(spelled(text), chain(earlier, written), partial(self.vouches, "user"))

    def _untrusted_texts(self, *, is_strict: bool = False) -> Iterator[tuple[str, str]]:
        """The texts of untrusted people; strictly, also of items that the request is not about."""
        words = words_of(self._words) if is_strict else frozenset[str]()

        def is_others(record: Record, row: ResultRow) -> bool:
            is_beside = strict and not record.shares(row, words)
            return is_beside or not self.trusts_writer(record.tool, row.writer)

        for record in self._records.values():
            if not self._policy.is_trusted(record.tool, self._tools):
                strict = is_strict and not self._asked_for(record.arguments)
                admits = is_others if record.by else everything
                yield record.tool, "\n".join(record.texts(admits))

    def _meant(self, *, is_open: bool = False) -> list[str]:
        """The texts of trusted items that share a word with the request, which few others have."""
        words, private = words_of(self._words), self._policy.private
        items = [one for one in self._records.values() if one.by]
        if is_open:  # for everybody, and nobody searched for them
            items = [one for one in items if one.is_open() and one.tool not in private]

        def is_meant(record: Record, row: ResultRow) -> bool:
            return self._admits(record, row) and record.shares(row, words)

        return [text for one in items for text in one.texts(is_meant)]

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
