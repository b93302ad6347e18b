"""The vault of one run: the values behind the stand-ins of a sealed code agent, with their labels.

The code of such an agent never holds an untrusted value. It holds stand-ins (`Sealed`), whose
values are put in their place when a tool is called. A stand-in is known by a token of 128 random
bits, so one that is forged or altered opens nothing.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast, get_args, get_origin

from tinyagent.core.messages import Message
from tinyagent.core.parts import Text
from tinyagent.core.provenance import Label, join
from tinyagent.core.provenance.narrow import bits_of, typed
from tinyagent.execution.sandbox.worker.codec.sealed import Sealed, SealedList
from tinyagent.provenance.shapes import fields_of, plain_type

_TOKEN = re.compile(r"sealed_[0-9a-f]{32}")
_MAX_PARTS = 10_000
_MAX_DEPTH = 50
_MAX_OPENED = 32_000_000
"""Characters of the texts of one call whose stand-ins are replaced."""
Show = Callable[[str, Sequence[tuple[int, int]]], str]
"""Makes what a user is shown of a text, some of whose parts are contents of stand-ins."""
MakePart = Callable[[Any, Any, str, str], Any]
"""Makes what stands for a part, from the part, its type, its field and its item's writer."""
_LISTS = (list, tuple, set, frozenset, Collection)


class SealedValue(NamedTuple):
    """A sealed value, its type as far as it is declared, its label and how it is shown."""

    value: Any
    kind: Any
    label: Label
    shown: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A value without stand-ins; for each place that had one, the label, and what it was."""

    value: Any
    labels: Mapping[str, Label] = field(default_factory=dict[str, Label])

    @property
    def label(self) -> Label:
        """The join of all that was opened."""
        return join(self.labels.values())

    def label_at(self, path: str) -> Label:
        """The label of the value at a path, or around it."""
        return join(
            label
            for place, label in self.labels.items()
            if path == place or path.startswith((f"{place}.", f"{place}[", f"{place}:"))
        )


class Vault:
    """The sealed values of one run.

    Args:
        bits: How many bits of narrow values may be revealed without tainting the run.
        taint: Called with the label of anything else that is revealed.
        show: Makes the texts of an answer from those that are opened.
    """

    def __init__(
        self, bits: int, taint: Callable[[Label], None], show: Show = lambda text, _: text
    ) -> None:
        self._entries: dict[str, SealedValue] = {}
        self._bits = bits
        self._taint = taint
        self._show = show

    def seal(self, value: Any, kind: Any, label: Label, what: str) -> Sealed:
        """A stand-in for a value.

        Args:
            value: What it stands for.
            kind: Its declared type; None if none is.
            label: What it was made of.
            what: Where it comes from, for the model.
        """
        is_named = kind is str or (isinstance(kind, type) and bits_of(kind) is not None)
        name = kind.__name__ if is_named else "value"
        entry = SealedValue(value, kind, label, f"<sealed {name} from {what[:200]}>")
        token = f"sealed_{secrets.token_hex(16)}"
        self._entries[token] = entry
        return Sealed(token, entry.shown)

    def seal_parts(self, value: Any, kind: Any, what: str, part: MakePart, by: str = "") -> Any:
        """The value with each of its parts replaced, as far as its type declares its shape.

        The items of a list and the declared fields of an object are parts; everything else is one.
        None stays None.

        Args:
            value: Any value.
            kind: Its declared type.
            what: Where it comes from, for the model.
            part: Called with a part, its type, its field and who wrote its item.
            by: The field that says who wrote an item; empty if nothing does.
        """
        if _count(value) > _MAX_PARTS:
            return part(_as_data(value), None, "", "")
        return _Shaped(what, part, by).value(value, kind)

    def open(self, value: Any, path: str = "") -> Opened:
        """The value with all stand-ins replaced, also inside lists, objects and texts.

        Args:
            value: Plain data with stand-ins.
            path: The way to it, for the paths of the labels.

        Raises:
            ValueError: A stand-in is unknown, the value is nested too deeply, or the texts become
                too long.
        """
        opening = _Opening(self._entries)
        return Opened(opening.value(value, path, 0), opening.labels)

    def answer(self, value: Any) -> Opened:
        """The value as the user is shown it, with all stand-ins replaced.

        Raises:
            ValueError: As `open`.
        """
        opening = _Opening(self._entries, self._show)
        return Opened(opening.value(value, "", 0), opening.labels)

    def reveal(self, value: Any) -> tuple[Any, int | None]:
        """The value, to be shown to the model, and how many bits that has used up.

        A narrow value is revealed without tainting the run as long as there are bits for it.
        Anything else taints the run; its number of bits is None.

        Raises:
            ValueError: As `open`.
        """
        entry = self._entries.get(value.token) if isinstance(value, Sealed) else None
        bits = None if entry is None else bits_of(entry.kind)
        if entry is not None and bits is not None and bits <= self._bits:
            with suppress(TypeError):  # of a tool that returned something else than it declares
                shown = typed(entry.value, entry.kind)
                self._bits -= bits
                return shown, bits
        opened = self.open(value)
        self._taint(opened.label)
        return opened.value, None

    def scrub(self, message: Message) -> Message:
        """The message with what stand-ins look like in place of their tokens."""
        content = message.content
        if isinstance(content, str):
            return (
                message
                if "sealed_" not in content
                else replace(message, content=self.shown(content))
            )
        parts = tuple(
            replace(part, text=self.shown(part.text)) if isinstance(part, Text) else part
            for part in content
        )
        return message if parts == tuple(content) else replace(message, content=parts)

    def shown(self, text: str) -> str:
        """The text with what stand-ins look like in place of their tokens."""
        return _TOKEN.sub(self._shown, text)

    def _shown(self, match: re.Match[str]) -> str:
        entry = self._entries.get(match[0])
        return "<sealed value>" if entry is None else entry.shown


class _Opening:
    """Replaces stand-ins, and notes the labels of what it puts in their place."""

    def __init__(self, entries: Mapping[str, SealedValue], show: Show | None = None) -> None:
        self._entries = entries
        self._show = show
        self._room = _MAX_OPENED
        self._is_content = False  # of a stand-in, as a whole
        self.labels: dict[str, Label] = {}

    def value(self, value: Any, path: str, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"a value is nested more than {_MAX_DEPTH} levels deep")
        if isinstance(value, Sealed):
            return self._content(self._entry(value.token, path).value, path)
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, Mapping):
            entries = cast("Mapping[object, object]", value)
            opened: dict[Any, Any] = {}
            for key, item in entries.items():
                name = self.value(key, f"{path}: key", depth + 1)
                opened[name] = self.value(item, f"{path}.{name}", depth + 1)
            return opened
        if isinstance(value, list | tuple | set | frozenset):
            items = cast("Collection[Any]", value)
            return [self.value(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(items)]
        return value

    def _content(self, content: Any, path: str) -> Any:
        """What a stand-in stands for; for an answer, with its texts as they are shown."""
        if self._show is None:
            return content
        self._is_content = True
        shown = self.value(content, path, 0)
        self._is_content = False
        return shown

    def _text(self, text: str, path: str) -> str:
        if self._is_content:
            return self._shown(text, [(0, len(text))])
        pieces: list[str] = []
        spans: list[tuple[int, int]] = []
        at = length = 0
        for found in _TOKEN.finditer(text):
            content = str(self._entry(found[0], path).value)
            self._room -= len(content)
            if self._room < 0:
                raise ValueError(f"the texts have more than {_MAX_OPENED:,} characters")
            pieces += (text[at : found.start()], content)
            length += found.start() - at + len(content)
            spans.append((length - len(content), length))
            at = found.end()
        return self._shown("".join((*pieces, text[at:])), spans)

    def _shown(self, text: str, spans: Sequence[tuple[int, int]]) -> str:
        return text if self._show is None else self._show(text, spans)

    def _entry(self, token: str, path: str) -> SealedValue:
        entry = self._entries.get(token)
        if entry is None:
            raise ValueError("a sealed value is not known: it was altered, or is of another run")
        self.labels[path] = self.labels.get(path, Label()) | entry.label
        return entry


class _Shaped(NamedTuple):
    """Takes a value apart by its declared shape."""

    what: str
    part: MakePart
    by: str

    def value(self, value: Any, kind: Any, name: str = "", writer: str = "") -> Any:
        kind = plain_type(kind)
        if value is None:
            return None
        fields, data = fields_of(kind), _as_data(value)
        if fields and isinstance(data, dict) and data.keys() <= fields.keys():
            entries = cast("dict[str, Any]", data)
            if self.by and self.by in entries:
                named = entries[self.by]
                writer = named if isinstance(named, str) else ""
            return {
                key: self.value(item, fields[key], key, writer) for key, item in entries.items()
            }
        if get_origin(kind) in _LISTS and isinstance(value, list | tuple | set | frozenset):
            item_kind = (get_args(kind) or (None,))[0]
            items = cast("Collection[Any]", value)
            where = f"{self.what}.{name}" if name else self.what
            shown = f"<list from {where} of {_items_shown(plain_type(item_kind))}>"
            parts = (self.value(each, item_kind, name, writer) for each in items)
            return SealedList(parts, shown)
        return self.part(data, kind, name, writer)


def _items_shown(kind: Any) -> str:
    fields = fields_of(kind)
    return f"objects with {', '.join(fields)}" if fields else "sealed values"


def _as_data(value: Any) -> Any:
    """Objects of Pydantic and dataclasses as dicts, anything else as it is."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value


def _count(value: Any, depth: int = 0) -> int:
    """About how many parts a value has; too many if it is nested too deeply."""
    if depth > _MAX_DEPTH:
        return _MAX_PARTS + 1
    data = _as_data(value)
    items: Collection[Any] = ()
    if isinstance(data, dict):
        items = cast("dict[str, Any]", data).values()
    elif isinstance(data, list | tuple | set | frozenset):
        items = cast("Collection[Any]", data)
    total = 1
    for item in items:
        total += _count(item, depth + 1)
        if total > _MAX_PARTS:
            break
    return total
