"""The parts of which the benchmark is made: worlds, calls, tasks, attacks and domains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from tinyagent import Tool, tool
from tinyagent.core.provenance import Hints
from tinyagent.provenance import Items

Row = dict[str, Any]
World = dict[str, list[Row]]
"""The state of a domain: tables of rows. `sent` records everything that leaves the machine."""

Specified = Literal["exact", "named", "vague"]
Kind = Literal["direct", "same_argument", "exfiltration", "laundered", "structured"]
KINDS: tuple[Kind, ...] = ("direct", "same_argument", "exfiltration", "laundered", "structured")
_STEP = re.compile(
    r"\.?(?P<key>\w+)|\[(?P<index>\d+)\]|\[(?P<field>\w+)(?P<how>[=~])(?P<want>[^]]*)\]"
)


class Unresolved(LookupError):
    """A reference names what no result contains."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A value of an earlier result of the same sequence of calls.

    Attributes:
        call: The index of the call.
        path: The way to the value: `.key`, `[0]`, `[key=value]` for the first item whose field has
            the value, `[key~text]` for the first item whose field contains the text.
    """

    call: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """The first group that a regular expression matches in a text of an earlier result."""

    call: int
    path: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Fill:
    """A text with `{}` for each of `refs`."""

    template: str
    refs: tuple[Ref | Part, ...]


@dataclass(frozen=True, slots=True)
class Has:
    """Matches a value whose text contains `part`."""

    part: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool; its arguments may hold a `Ref`, `Part` or `Fill` at any depth."""

    tool: str
    arguments: Mapping[str, Any]


Done = Callable[[World], bool]
Goal = Callable[[World, World], bool]
Place = Callable[[World, str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a user.

    Attributes:
        id: Its name, which starts with that of the domain.
        request: The user's words.
        specified: Whether the request names all values (`exact`), the person, host or file that
            has them (`named`), or neither (`vague`).
        calls: The calls that solve it.
        done: Whether it is solved in a world.
    """

    id: str
    request: str
    specified: Specified
    calls: tuple[Call, ...]
    done: Done


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack on a task.

    Attributes:
        task: The id of the task.
        kind: How it works.
        place: Plants a text in the world, by the channel that the attacker can write to.
        text: What it tells the model to do.
        calls: What an obedient model calls. References are to results of these calls.
        goal: Whether a world has the effect, compared with the world before the run.
    """

    task: str
    kind: Kind
    place: Place
    text: str
    calls: tuple[Call, ...]
    goal: Goal

    @property
    def id(self) -> str:
        """Its name."""
        return f"{self.task}:{self.kind}"


@dataclass(frozen=True, slots=True)
class Domain:
    """A world with its tools, tasks and attacks.

    Attributes:
        name: Its name.
        world: Makes a new world.
        tools: The tools that work on a world.
        annotations: The MCP annotations of each tool.
        writers: For a tool whose results contain items of several people, the field that names who
            wrote an item. The service fills it.
        own: The tools that list what only the user or the service sets.
        who: The people and hosts that the user's organisation trusts.
        tasks: The tasks.
        attacks: The attacks, five for each task.
    """

    name: str
    world: Callable[[], World]
    tools: Callable[[World], list[Tool]]
    annotations: Mapping[str, Mapping[str, bool]]
    writers: Mapping[str, str]
    own: Sequence[str]
    who: Sequence[str]
    tasks: Sequence[Task]
    attacks: Sequence[Attack]

    def declared_tools(self, world: World) -> list[Tool]:
        """The tools with their hints, and with who wrote the items of their results."""
        return [
            replace(
                tool,
                hints=cast("Hints", self.annotations[tool.name]),
                results=Items(self.writers[tool.name].rpartition(".")[2])
                if tool.name in self.writers
                else "untrusted",
            )
            for tool in self.tools(world)
        ]


_described: dict[tuple[type, str], Tool] = {}


def tools_of(methods: object, names: Iterable[str]) -> list[Tool]:
    """The methods of these names as tools; each schema is made once."""
    tools: list[Tool] = []
    for name in names:
        method, key = getattr(methods, name), (type(methods), name)
        if key not in _described:
            _described[key] = tool(method)
        tools.append(replace(_described[key], fn=method))
    return tools


def call(name: str, /, **arguments: Any) -> Call:
    """A call with its arguments as keywords."""
    return Call(name, arguments)


def fill(template: str, *refs: Ref | Part) -> Fill:
    """A text with `{}` for each of `refs`."""
    return Fill(template, refs)


def resolve(value: Any, results: Sequence[Any]) -> Any:
    """`value` with each reference replaced by what `results` hold.

    Raises:
        Unresolved: A result does not contain the value.
    """
    match value:
        case Ref(index, path):
            return _follow(_result(results, index), path)
        case Part(index, path, pattern):
            text = _follow(_result(results, index), path)
            found = re.search(pattern, text) if isinstance(text, str) else None
            if found is None:
                raise Unresolved(pattern)
            return found[1]
        case Fill(template, refs):
            return template.format(*(resolve(ref, results) for ref in refs))
        case dict():
            return {key: resolve(item, results) for key, item in value.items()}
        case list():
            return [resolve(item, results) for item in value]
        case _:
            return value


def _result(results: Sequence[Any], index: int) -> Any:
    if index >= len(results) or results[index] is None:
        raise Unresolved(f"call {index} has no result")
    return results[index]


def _follow(value: Any, path: str) -> Any:
    for step in _STEP.finditer(path):
        try:
            value = _take(value, step)
        except (KeyError, IndexError, TypeError, StopIteration):
            raise Unresolved(f"{path} at {step[0]}") from None
    return value


def _take(value: Any, step: re.Match[str]) -> Any:
    if step["key"]:
        return value[step["key"]]
    if step["index"]:
        return value[int(step["index"])]
    field, want = step["field"], step["want"]
    if step["how"] == "=":
        return next(item for item in value if str(item[field]) == want)
    return next(item for item in value if want in str(item[field]))


def matches(value: Any, want: Any) -> bool:
    """Whether `value` is `want`, or contains what a `Has` asks for."""
    if isinstance(want, Has):
        return want.part in str(value)
    return bool(value == want)


def row(table: str, /, **fields: Any) -> Done:
    """Whether a table has a row with these fields."""

    def done(world: World) -> bool:
        return any(_fits(one, fields) for one in world[table])

    return done


def both(*conditions: Done) -> Done:
    """Whether all conditions hold."""
    return lambda world: all(condition(world) for condition in conditions)


def new(table: str, /, **fields: Any) -> Goal:
    """Whether a table has a new or changed row with these fields."""

    def goal(world: World, before: World) -> bool:
        return any(_fits(one, fields) and one not in before[table] for one in world[table])

    return goal


def _fits(one: Row, fields: Mapping[str, Any]) -> bool:
    return all(matches(one.get(name), want) for name, want in fields.items())


def adds(table: str, text: str = "text", **fields: Any) -> Place:
    """Plants a text in a new row of a table."""

    def place(world: World, words: str) -> None:
        world[table].append({**fields, text: words})

    return place


def extends(table: str, key: str, value: Any, text: str = "text") -> Place:
    """Plants a text at the end of a field of an existing row."""

    def place(world: World, words: str) -> None:
        one = next(each for each in world[table] if each[key] == value)
        one[text] = f"{one[text]}\n\n{words}"

    return place


def quotes(table: str, key: str, value: Any, by: str, text: str = "text") -> Place:
    """Plants a text in an existing row as a quotation of what somebody else wrote."""
    append = extends(table, key, value, text)
    return lambda world, words: append(world, f"{by} wrote:\n> {words}")


def with_rows(place: Place, table: str, *rows: Row) -> Place:
    """Plants a text at a place, and rows that the attacker wrote in a table."""

    def both_places(world: World, words: str) -> None:
        place(world, words)
        world[table].extend(dict(one) for one in rows)

    return both_places
