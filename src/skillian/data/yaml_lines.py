"""YAML with line numbers: plain data, the line of every part of it, and all its faults.

Every scalar stays the text that was written (null stays None), so `0.10` is never a binary float
and `001` never a number; whoever reads the data gives it types.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from skillian.errors import Fault

Path = tuple[str | int, ...]
Data = Mapping[str, "Data"] | list["Data"] | str | None

_MAX_DEPTH = 20
_BOOLEAN = "tag:yaml.org,2002:bool"
_NULL = "tag:yaml.org,2002:null"
_READ = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("map", "seq", "str", "null", "bool", "int", "float", "timestamp", "merge", "value")
)


@dataclass(slots=True)
class Document:
    """A file's data, the line each path of it starts on (from 1), and the faults found."""

    file: str
    data: Data = None
    lines: dict[Path, int] = field(default_factory=dict[Path, int])
    faults: list[Fault] = field(default_factory=list[Fault])

    def fault(self, line: int, message: str, mend: str = "") -> None:
        """Note one fault."""
        self.faults.append(Fault(self.file, line, message, mend))

    def line_of(self, path: Path) -> int:
        """Return the line of the nearest part of the file that holds `path`."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(text: str, file: str) -> Document:
    """Read one YAML document; `file` only names it in faults, which never raise."""
    document = Document(file)
    try:
        _refuse_aliases(text, document)
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        document.fault(mark.line + 1 if mark else 1, f"this is not YAML: {error.problem}")
    except yaml.YAMLError as error:
        document.fault(1, f"this is not YAML: {error}")
    else:
        if node is not None:
            document.data = _Reader(document).plain(node, ())
    return document


def _refuse_aliases(text: str, document: Document) -> None:
    """Note every alias and anchor: through them a small file can be endless."""
    depth = 0
    events: Iterator[yaml.Event] = yaml.parse(text, yaml.SafeLoader)
    for event in events:
        line = (event.start_mark.line if event.start_mark else 0) + 1
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise yaml.YAMLError(f"line {line} is nested deeper than {_MAX_DEPTH} levels")
        name = event.anchor if isinstance(event, yaml.NodeEvent) else None
        if name is not None:
            kind = "alias" if isinstance(event, yaml.AliasEvent) else "anchor"
            document.fault(line, f"`{name}` is a YAML {kind}", "write the value out in each place")


class _Reader:
    """Turns nodes into plain data and notes lines and faults in the document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._seen: set[int] = set()

    def plain(self, node: Node, path: Path) -> Data:
        line = node.start_mark.line + 1
        self._document.lines.setdefault(path, line)
        if id(node) in self._seen:
            return None  # an alias, noted before
        self._seen.add(id(node))
        if node.tag not in _READ:
            self._document.fault(line, f"the tag `{node.tag}` is not read", "write a plain value")
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.plain(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: MappingNode, path: Path) -> Data:
        result: dict[str, Data] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self._scalar(key_node) if isinstance(key_node, ScalarNode) else None
            if key is None:
                self._document.fault(line, "a key must be a name", "write `name: value`")
            elif key in result:
                first = self._document.lines[*path, key]
                message = f"the key `{key}` was given before, on line {first}"
                self._document.fault(line, message, "keep one of them")
            else:
                self._document.lines[*path, key] = line
                result[key] = self.plain(value_node, (*path, key))
        return result

    def _scalar(self, node: Node) -> str | None:
        if node.tag == _NULL:
            return None
        value = str(node.value)
        if node.tag == _BOOLEAN:
            self._document.fault(
                node.start_mark.line + 1,
                f"`{value}` without quotes is a boolean in YAML 1.1, not a name",
                f'write "{value}" in quotes',
            )
        return value
