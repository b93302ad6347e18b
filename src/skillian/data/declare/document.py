"""YAML files with line numbers: plain data, the line of each part, and all faults at once.

Every scalar stays the text that was written (null stays None), so `0.10` is never a binary float
and `001` never a number; the models of the file give it types.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from skillian.connectors import scheme
from skillian.data.declare.definitions import keys_at, reason_of
from skillian.errors import ConfigurationError, Fault, nearest

MAX_BYTES = 10 * 1024 * 1024
_MAX_DEPTH = 20
_MAX_VALUES = 100_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C takes a twentieth of the time; PyYAML may be built without it."""
_MERGE = "tag:yaml.org,2002:merge"
_BOOLEAN = "tag:yaml.org,2002:bool"
_NULL = "tag:yaml.org,2002:null"
_READ = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("map", "seq", "str", "null", "bool", "int", "float", "timestamp", "merge", "value")
)
# Keys whose value is a boolean.
_SWITCHES = {
    (name,)
    for name in ("trim", "ignore_case", "nfc", "collapse_whitespace", "empty_is_null", "multiset")
}

KeyPath = tuple[str | int, ...]
Data = Mapping[str, "Data"] | list["Data"] | str | None


@dataclass(slots=True)
class YamlDocument:
    """A file's data, the line on which each path starts (from 1), and its faults."""

    file: str
    data: Data = None
    lines: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    faults: list[Fault] = field(default_factory=list[Fault])

    def fault(self, line: int, message: str, fix: str = "") -> None:
        """Add a fault."""
        self.faults.append(Fault(self.file, line, message, fix))

    def unknown(self, path: KeyPath, name: str, known: Iterable[str]) -> None:
        """Add the fault of a name that nothing has."""
        near = nearest(name, known)
        fix = f"did you mean `{near[0]}`? known: {', '.join(near)}" if near else "declare it"
        self.fault(self.line_of(path), f"there is no `{shown(name)}`", fix)

    def line_of(self, path: KeyPath) -> int:
        """The line of `path`, or of the nearest parent that has one."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


M = TypeVar("M", bound=BaseModel)

_SHOWN = 60


def validated(model: type[M], document: YamlDocument, secret: str | None = None) -> M | None:
    """The document's data as this model; None, with faults in the document, if invalid.

    Values under the key `secret` never appear in a fault.
    """
    if document.data is None and not document.faults:
        document.fault(1, "the file is empty")
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        # On a line with a YAML fault, other faults may only be its consequences.
        known = {fault.line for fault in document.faults}
        for details in error.errors(include_url=False):
            line = document.line_of(details["loc"])
            if details["type"] == "extra_forbidden" and line in known:
                # The fault may be one of its value, which is right for the key that was meant.
                document.faults = [fault for fault in document.faults if fault.line != line]
                known.discard(line)
            if line not in known:
                document.fault(line, *_explained(model, details, secret))
    return None


def shown(text: str) -> str:
    """A text for a message; of a URL only its scheme, since it may contain a password."""
    return f"{scheme(text)}://…" if scheme(text) else text


def _explained(
    model: type[BaseModel], details: ErrorDetails, secret: str | None
) -> tuple[str, str]:
    """The message and the fix for one fault."""
    location = details["loc"]
    key = str(location[-1]) if location else "the file"
    if details["type"] == "extra_forbidden":
        known = nearest(key, keys_at(model, location[:-1]))
        return f"unknown key `{key}`", f"did you mean `{known[0]}`? known: {', '.join(known)}"
    if details["type"] == "missing":
        where = f" in `{_place(location[:-1])}`" if location[:-1] else ""
        return f"`{key}` is missing{where}", f"add `{key}:`"
    message = reason_of(details)
    hidden = secret is not None and location[:1] == (secret,)
    return f"`{_place(location)}`: {message}{'' if hidden else _got(details)}", ""


def _got(details: ErrorDetails) -> str:
    """The invalid value, if it is short."""
    value = details.get("input")
    return f", got '{shown(value)}'" if isinstance(value, str) and len(value) <= _SHOWN else ""


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "the file"


def text_of(path: Path, fix: str = "") -> str:
    """The text of a file of at most `MAX_BYTES`; raises `ConfigurationError` with the fix."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise ConfigurationError([Fault(str(path), 1, f"{error.strerror}", fix)]) from None
    except UnicodeDecodeError:
        raise ConfigurationError([Fault(str(path), 1, "this is not UTF-8 text")]) from None
    if len(content) > MAX_BYTES:
        fault = Fault(str(path), 1, f"the file has more than {MAX_BYTES:,} bytes", "split it")
        raise ConfigurationError([fault])
    return text


def read_yaml(text: str, file: str) -> YamlDocument:
    """Read one YAML document; faults are collected, and name `file`."""
    document = YamlDocument(file)
    try:
        if not _check_size(document, text):
            return document
        node = yaml.compose(text, _LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        document.fault(mark.line + 1 if mark else 1, f"this is not YAML: {error.problem}")
    except yaml.YAMLError as error:
        document.fault(1, f"this is not YAML: {error}")
    else:
        if node is not None:
            document.data = _NodeReader(document).plain(node, ())
    return document


@dataclass(slots=True)
class _Open:
    """A collection that is being read: how many values it has, and how deeply they are nested."""

    anchor: str | None
    size: int = 1
    depth: int = 1


def _check_size(document: YamlDocument, text: str) -> bool:
    """Check that a file is not too deep, and that its aliases do not make it too large.

    A few lines of aliases of aliases stand for billions of values.
    """
    known: dict[str, _Open] = {}
    stack: list[_Open] = [_Open(None)]
    events: Iterator[yaml.Event] = yaml.parse(text, _LOADER)
    for event in events:
        line = (event.start_mark.line if event.start_mark else 0) + 1
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append(_Open(event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            _close(stack, stack.pop(), known)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in known:
                is_open = any(each.anchor == event.anchor for each in stack)
                fault = "stands for itself" if is_open else "is not defined above this line"
                document.fault(line, f"the alias `{event.anchor}` {fault}")
                return False
            _close(stack, known[event.anchor], known)
        elif isinstance(event, yaml.ScalarEvent):
            _close(stack, _Open(event.anchor, depth=0), known)
        if len(stack) + stack[-1].depth - 2 > _MAX_DEPTH:
            document.fault(line, f"it is nested more than {_MAX_DEPTH} levels deep")
            return False
        if stack[-1].size > _MAX_VALUES:
            document.fault(line, f"the file has more than {_MAX_VALUES} values")
            return False
    return True


def _close(stack: list[_Open], inner: _Open, known: dict[str, _Open]) -> None:
    if inner.anchor is not None:
        known[inner.anchor] = inner
    stack[-1].size += inner.size
    stack[-1].depth = max(stack[-1].depth, inner.depth + 1)


class _NodeReader:
    """Turns nodes into plain data, and adds lines and faults to the document."""

    def __init__(self, document: YamlDocument) -> None:
        self._document = document

    def plain(self, node: Node, path: KeyPath) -> Data:
        line = node.start_mark.line + 1
        self._document.lines.setdefault(path, line)
        if node.tag not in _READ:
            self._document.fault(
                line, f"the tag `{node.tag}` is not supported", "write a plain value"
            )
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.plain(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: MappingNode, path: KeyPath) -> Data:
        result: dict[str, Data] = {}
        merged: dict[str, Data] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _MERGE:
                merged |= self._merged(value_node, path, line)
                continue
            key = self._scalar(key_node, ()) if isinstance(key_node, ScalarNode) else None
            if key is None:
                self._document.fault(line, "a key must be a name", "write `name: value`")
            elif key in result:
                first = self._document.lines[*path, key]
                message = f"the key `{key}` is repeated from line {first}"
                self._document.fault(line, message, "keep one of them")
            else:
                self._document.lines[*path, key] = line
                result[key] = self.plain(value_node, (*path, key))
        return merged | result

    def _merged(self, node: Node, path: KeyPath, line: int) -> dict[str, Data]:
        """What `<<: *other` adds to a mapping, whose own keys count first."""
        others = node.value if isinstance(node, SequenceNode) else [node]
        values = [self.plain(other, path) for other in others]
        if not all(isinstance(value, dict) for value in values):
            self._document.fault(line, "`<<` takes an alias of a mapping", "write `<<: *name`")
            return {}
        added: dict[str, Data] = {}
        for value in reversed(values):
            added |= cast("dict[str, Data]", value)
        return added

    def _scalar(self, node: Node, path: KeyPath) -> str | None:
        if node.tag == _NULL:
            return None
        value = str(node.value)
        if node.tag == _BOOLEAN and path[-1:] not in _SWITCHES:
            self._document.fault(
                node.start_mark.line + 1,
                f"`{value}` without quotes is a boolean in YAML 1.1, not a name",
                f'write "{value}" in quotes',
            )
        return value
