"""What the shape of the code costs its readers: `make house` prints it.

How many files know an option, how many types stand for one concept, where the code asks which kind
a comparison is (of whole rows, or of measures by group), and how many lines each part has.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src"

ROOMS = {
    "align_on": "skillian/data",
    "thresholds": "skillian/data",
    "multiset": "skillian/data",
    "extra_imports": "tinyagent/execution",
    "checkpoints": "tinyagent/execution",
}
"""The room of each option; its other files had better not name it."""

CONCEPTS = {
    "a question": "SavedComparison ComparisonQuestion TableQuestion CompareRequest WholeQuestion"
    " CompareSourcesInput RowOptions _Chosen",
    "a result": "ComparisonResult TableResult RowsResult",
    "a tool": "Tool SkillTool",
    "a lease": "Leases Lease Beacon",
    "the sandbox's options": "Sandbox CodeOptions ProcessOptions SandboxOptions",
}
"""The classes that stand, or have stood, for one concept."""

PARTS = {
    "sandbox": ("tinyagent/execution",),
    "agents": ("tinyagent",),
    "reconcile": tuple(
        f"skillian/{room}" for room in ("data", "connectors", "reports", "history", "library")
    ),
    "assistant and service": ("skillian",),
}
"""The rooms of each part; a file belongs to the first part that has it."""

PLANNERS = ("skillian/data/engine.py", "skillian/offline/")
"""Where a kind is chosen: by the engine, and from the words of a question."""

_OF_ONE_KIND = re.compile(
    "TableResult|ComparisonResult|KeptRows|CachedComparison|DifferingRows?|DifferingGroups|GroupRow"
    "|Why|Explanation"
)
_ASKS = frozenset({"is_of_rows", "is_of_measures", "has_measures"})
_KINDS = frozenset({"rows", "measures"})
# Measures of sources and of what a question says: no comparison has them.
_OF_OTHERS = re.compile("source|shared|info|each|entry|_?reading|whole|words|a|b")
_OTHERS = "skillian/data/comparison/explain/"  # it asks whether there is anything to explain
_IN_TEMPLATES = re.compile(r"""has_kind\(|\bkind\b[^%}]*==|is_of_rows""")


class Branch(NamedTuple):
    """A place that asks which kind a comparison is."""

    path: str
    line: int
    code: str

    @property
    def is_planned(self) -> bool:
        """Whether it is where kinds are chosen."""
        return self.path.startswith(PLANNERS)


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of each file, by its path below `src`."""
    files = sorted(SOURCE.rglob("*.py"))
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in files
    }


def files_that_name(option: str) -> list[str]:
    """The files outside of its room that have the option as a name, a keyword or a text."""
    return [
        path
        for path, tree in trees().items()
        if not path.startswith(f"{ROOMS[option]}/")
        and any(option in _names(node) for node in ast.walk(tree))
    ]


def _names(node: ast.AST) -> set[object]:
    return {getattr(node, name, None) for name in ("id", "attr", "arg", "value", "name")} - {None}


def types_for(concept: str) -> list[str]:
    """The classes that exist for a concept."""
    wanted = set(CONCEPTS[concept].split())
    return [
        f"{node.name} ({path})"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name in wanted
    ]


def branches() -> list[Branch]:
    """Where the code of skillian asks for the kind of a comparison, its templates included."""
    found = [
        Branch(path, node.lineno, ast.unparse(node))
        for path, tree in trees().items()
        if path.startswith("skillian/") and not path.startswith(_OTHERS)
        for node in _kind_tests(tree)
    ]
    for page in sorted((SOURCE / "skillian").rglob("*.html")):
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            if "{%" in line and _IN_TEMPLATES.search(line):
                found.append(Branch(page.relative_to(SOURCE).as_posix(), number, line.strip()))
    return found


def tables_by_kind() -> list[str]:
    """Where a function is chosen by the kind of a result, from a table with one for each."""
    return [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice).endswith("result.kind")
    ]


def _kind_tests(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield each expression that asks for a kind."""
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test):
                conditions = [test]
            case ast.comprehension(ifs=conditions):
                pass
            case (
                ast.UnaryOp(op=ast.Not(), operand=each)
                | ast.Call(func=ast.Name(id="bool"), args=[each])
            ):
                conditions = [each]
            case _:
                conditions = []
        for each in conditions:
            parts = each.values if isinstance(each, ast.BoolOp) else [each]
            yield from filter(_has_measures, parts)
        if isinstance(node, ast.expr) and _asks(node):
            yield node


def _asks(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name, ctx=ast.Load()):
            return name in _ASKS
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
            return any(_OF_ONE_KIND.fullmatch(getattr(each, "id", "")) for each in ast.walk(kind))
        case ast.Compare(left=left, comparators=[ast.Constant(value=str(kind))]):
            return kind in _KINDS and "kind" in ast.unparse(left)
        case (
            ast.Compare(ops=[ast.Is()], comparators=[ast.Name(id=kind)])
            | ast.IfExp(body=ast.Name(id=kind))
        ):
            return kind in {"ROWS", "MEASURES"}
        case ast.BoolOp(op=ast.Or(), values=[*_, ast.Constant(value=str(words))]):
            return "rows" in words  # the names of the measures, or "whole rows"
        case _:
            return False


def _has_measures(part: ast.expr) -> bool:
    """Whether it is the measures of a question, a result or the arguments of a call."""
    match part:
        case ast.Compare(left=left, comparators=[ast.Constant(value=None)]):
            return _has_measures(left)
        case ast.Attribute(attr="measures", value=of):
            return not _OF_OTHERS.fullmatch(ast.unparse(of).rpartition(".")[2])
        case ast.Attribute(attr="value", value=ast.Attribute(attr="_measures")):
            return True  # a field of the form
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="measures"), *_]):
            return True
        case _:
            return False


def lines_by_part() -> Counter[str]:
    """The lines of each part."""
    lines: Counter[str] = Counter()
    for path in trees():
        part = next((name for name, rooms in PARTS.items() if path.startswith(rooms)), "commands")
        lines[part] += len((SOURCE / path).read_text("utf-8").splitlines())
    return lines


def report() -> Iterator[str]:
    """Yield the lines of the report."""
    yield "Files outside of an option's own room that name it"
    for option, room in ROOMS.items():
        yield f"  {option:22} {len(files_that_name(option)):6}  (room: {room})"
    yield "Types for one concept"
    for concept in CONCEPTS:
        found = types_for(concept)
        yield f"  {concept:22} {len(found):6}  {', '.join(found)}"
    for title, is_planned in (("outside of the planners", False), ("in the planners", True)):
        places = [each for each in branches() if each.is_planned is is_planned]
        yield f"Branches on the kind of a comparison {title}: {len(places)}"
        yield from (f"  {each.path}:{each.line}: {each.code}" for each in places)
    yield f"Tables with an entry for each kind: {len(tables_by_kind())}"
    yield from (f"  {place}" for place in tables_by_kind())
    yield "Lines by part"
    for part, count in sorted(lines_by_part().items()):
        yield f"  {part:22} {count:6}"


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in report()))
