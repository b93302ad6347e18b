"""Tables of what a provider demands of a request, and the interpreter of such tables.

A row names a path, a demand, and what limits it; columns are two spaces apart. The indented lines
after it are the provider's words for a refusal; a code follows `#`, a parameter `@`, a status `!`:

    tools[*].function.name  like [a-z]+  when named  unless mistral
        Invalid '{at}': string does not match pattern. #invalid_value

- In a path, `[*]` and `*` are each item of a list; they differ in how the provider writes an index.
  `*(type=text)` selects items. `.` is the request. A missing value is null.
- The demands are the keys of `_DEMANDS`, such as `keys`, with those that an object may have, `has`
  and `needs`, with those that it must have, for `needs` with a value; `test`, with a function that
  returns whether the value passes; and `check`, with a function that raises `Refused`.
- `when` names a function of the value, or a path of the request whose value is true, with `!` not.
  `if` and `unless` name a flag of the table.
- `:name` instead of words, or of an argument, refers to the table's own words.

Words may contain `{at}`, the place of the value; `{value}`; `{parent[name]}`, what is next to it;
`{listed}`, the values after the demand; `{size}`, the length of a list; and `{model}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinyagent.testing.strict.session import Json, ProviderExchange, Refused, as_dict, as_list, at

_STEP = re.compile(r"(\[\*\]|\*|\w+)((?:\(\w+=[\w|]+\))*)")
_FILTER = re.compile(r"\b(\w+)=([\w|]+)")


class Node(NamedTuple):
    """A value of a request, with its place as the provider writes it and the object it is in."""

    place: str
    value: Any
    parent: Json
    exchange: ProviderExchange

    def get(self, path: str) -> Any:
        """The value at a path of keys below this one."""
        return at(self.value, path)

    def below(self, path: str) -> list[Node]:
        """The nodes at a path."""
        nodes: list[Node] = [self]
        for step, filters in _STEP.findall(path):
            nodes = [child for node in nodes for child in node.children(step)]
            for key, values in _FILTER.findall(filters):
                nodes = [node for node in nodes if str(node.get(key)) in values.split("|")]
        return nodes

    def children(self, step: str) -> Iterator[Node]:
        """The nodes of one step of a path."""
        if step in ("*", "[*]"):
            form = "{}[{}]" if step == "[*]" else "{}.{}"
            for index, item in enumerate(as_list(self.value)):
                yield self._replace(place=form.format(self.place, index), value=item)
        else:
            own = as_dict(self.value)
            place = f"{self.place}.{step}" if self.place else step
            yield Node(place, own.get(step), own, self.exchange)

    def refused(self, words: str, **more: Any) -> Refused:
        """A refusal in these words."""
        words, _, status = words.partition(" !")
        words, _, param = words.partition(" @")
        words, _, code = words.partition(" #")
        size = len(as_list(self.value))
        fields: Json = {"at": self.place, "value": self.value, "size": size, "parent": self.parent}
        fields |= {"model": self.exchange.model, "dotted": self.place.replace("[", ".[")}
        fields["up"], _, fields["key"] = self.place.rpartition(".")
        fields["snake"] = re.sub("(?<=[a-z])[A-Z]", lambda m: f"_{m[0].lower()}", self.place)
        fields["text"] = "" if self.value is None else self.value
        fields |= {"shown": "null" if self.value is None else self.value, **more}
        param = (param or "{at}").format(**fields)
        return Refused(words.format(**fields), status=int(status or 400), code=code, param=param)


RowFunction = Callable[[Node], Any]
Demand = Callable[[Node, str], list[Node]]


def _value(passes: Callable[[Any, str], bool]) -> Demand:
    """A demand on a value, with the rest of the column as its argument."""
    return lambda node, argument: [] if passes(node.value, argument) else [node]


def _optional(passes: Callable[[Any, str], bool]) -> Demand:
    return _value(lambda value, argument: value is None or passes(value, argument))


def _keys(node: Node, names: str) -> list[Node]:
    unknown = [key for key in as_dict(node.value) if key not in names.split()]
    return [child for key in unknown for child in node.children(key)]


def _has(node: Node, names: str) -> list[Node]:
    children = [child for key in names.split() for child in node.children(key)]
    return [child for child in children if child.place.rpartition(".")[2] not in child.parent]


# Each gives the nodes that fail.
_DEMANDS: Mapping[str, Demand] = {
    "required": _value(lambda value, _: value is not None),
    "empty": _value(lambda value, _: not value),
    "filled": _value(lambda value, _: bool(value)),
    "like": _value(lambda value, form: re.fullmatch(form, str(value or "")) is not None),
    "one-of": _value(lambda value, names: str(value) in names.split()),
    "string": _value(lambda value, _: isinstance(value, str)),
    "integer": _value(lambda value, _: isinstance(value, int)),
    "object": _value(lambda value, _: isinstance(value, dict)),
    "absent": _optional(lambda _value, _argument: False),
    "not-empty": _optional(lambda value, _: bool(value)),
    "default": _optional(lambda value, number: value == int(number)),
    "if-any": _optional(lambda value, names: str(value) in names.split()),
    "prefix": _optional(lambda value, prefix: str(value).startswith(prefix)),
    "number": _optional(lambda value, _: isinstance(value, int | float)),
    "at-most": _optional(lambda value, most: len(value) <= int(most)),
    "at-least": _optional(lambda value, least: value >= int(least)),
    "objects": _optional(
        lambda value, _: (
            isinstance(value, list) and all(isinstance(item, dict) for item in as_list(value))
        )
    ),
    "keys": _keys,
    "has": _has,
    "needs": lambda node, names: [
        child for key in names.split() for child in node.children(key) if child.value is None
    ],
}


_FUNCTIONS = ("check", "test")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, as written."""

    path: str
    demand: str
    argument: str
    words: str
    limit: str


class RuleTable:
    """The demands of one provider, in the order in which it makes them.

    Args:
        text: The rows.
        flags: What `if` and `unless` refer to.
        words: What `:name` refers to.
        functions: What `check`, `test` and `when` refer to.

    Raises:
        ValueError: There is no such demand, or no such function.
    """

    def __init__(
        self,
        text: str,
        words: Mapping[str, str] | None = None,
        flags: Collection[str] = (),
        functions: Mapping[str, RowFunction] | None = None,
    ) -> None:
        self._functions: dict[str, RowFunction] = dict(functions or {})
        self._rows = list(_rows(text, words or {}, flags))
        for row in self._rows:
            known = self._functions if row.demand in _FUNCTIONS else {row.argument}
            if row.argument not in known or row.demand not in {*_DEMANDS, *_FUNCTIONS}:
                raise ValueError(f"{row.path}: there is no demand {row.demand} {row.argument}")

    def check(self, exchange: ProviderExchange, body: Json | None = None) -> None:
        """Check a request, or another object in its place, row by row.

        Raises:
            Refused: It is not as the provider demands.
        """
        body = exchange.body if body is None else body
        root = Node("", body, body, exchange)
        for row in self._rows:
            for node in root.below(row.path):
                if self._applies(row.limit, node):
                    self._check(node, row)

    def _applies(self, limit: str, node: Node) -> bool:
        if not limit or limit in self._functions:
            return not limit or bool(self._functions[limit](node))
        return bool(at(node.exchange.body, limit.removeprefix("!"))) != limit.startswith("!")

    def _check(self, node: Node, row: Row) -> None:
        failing: list[Node] = []
        if row.demand == "check":
            self._functions[row.argument](node)
        elif row.demand == "test":
            failing = [] if self._functions[row.argument](node) else [node]
        else:
            failing = _DEMANDS[row.demand](node, row.argument)
        for each in failing:
            listed = ", ".join(f"'{name}'" for name in row.argument.split())
            raise each.refused(row.words, listed=listed, argument=row.argument)


def _rows(text: str, words: Mapping[str, str], flags: Collection[str]) -> Iterator[Row]:
    """The rows that apply with these flags."""
    for block in re.split(r"\n(?=\S)", text.strip()):
        head, *lines = block.splitlines()
        path, demand, *limits = re.split(r"\s{2,}", head.strip())
        own = " ".join(line.strip() for line in lines).replace("\\n", "\n")
        limit, applies = "", True
        for each in limits:
            kind, _, name = each.partition(" ")
            if each.startswith(":"):
                own = words[each[1:]]
            elif kind == "when":
                limit = name
            else:
                applies &= (name in flags) == (kind == "if")
        if applies:
            name, _, argument = demand.partition(" ")
            argument = words[argument[1:]] if argument.startswith(":") else argument
            yield Row(path, name, argument, own, limit)
