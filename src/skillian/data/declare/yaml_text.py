"""YAML files with line numbers: plain data, the line of each part, and all faults at once.

Every scalar stays the text that was written (null stays None), so `0.10` is never a binary float
and `001` never a number; the models of the file give it types.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import cast

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from skillian.data.declare.document import Data, Path, YamlDocument
from skillian.errors import ConfigurationError, Fault

MAX_BYTES = 10 * 1024 * 1024
_MAX_DEPTH = 20
_MAX_VALUES = 100_000
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


def read_yaml_file(path: FilePath) -> YamlDocument:
    """Read a file of at most `MAX_BYTES`; raises `ConfigurationError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise ConfigurationError([Fault(str(path), 1, f"{error.strerror}")]) from None
    except UnicodeDecodeError:
        raise ConfigurationError([Fault(str(path), 1, "this is not UTF-8 text")]) from None
    if len(content) > MAX_BYTES:
        fault = Fault(str(path), 1, f"the file has more than {MAX_BYTES:,} bytes", "split it")
        raise ConfigurationError([fault])
    return read_yaml(text, str(path))


def read_yaml(text: str, file: str) -> YamlDocument:
    """Read one YAML document; faults are collected, and name `file`."""
    document = YamlDocument(file)
    try:
        if not _check_size(document, text):
            return document
        node = yaml.compose(text, yaml.SafeLoader)
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
    events: Iterator[yaml.Event] = yaml.parse(text, yaml.SafeLoader)
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

    def plain(self, node: Node, path: Path) -> Data:
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

    def _mapping(self, node: MappingNode, path: Path) -> Data:
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

    def _merged(self, node: Node, path: Path, line: int) -> dict[str, Data]:
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

    def _scalar(self, node: Node, path: Path) -> str | None:
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
