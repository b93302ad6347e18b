"""How large files and functions may grow, and what they may not hold."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
UNFINISHED = re.compile(
    r"\b(TODO|FIXME|XXX|HACK|WIP|TBD|NotImplementedError)\b"
    r"|\b(not yet implemented|coming soon)\b",
    re.IGNORECASE,
)
# Where a failure of any kind becomes something else, and what.
BLIND = {
    "src/tinyagent/provenance/run_guard.py": "a check that fails refuses the call",
    "src/skillian/api/jobs.py": "a job's failure is stored as its error",
    "src/skillian/api/logs.py": "a request's failure is answered as a problem",
    "src/skillian/api/streams.py": "a stream's failure is reported by its last event",
    "src/skillian/chat/durable_turns.py": "a turn's failure ends it, or its session would wait",
    "src/skillian/chat/stateless.py": "a turn's failure is reported by its last event",
    "src/skillian/chat/turns.py": "a turn's failure is stored, and reported by its last event",
    "src/skillian/tasks.py": "a thread's failure is raised where it is awaited",
    "src/skillian/library/frames.py": "a library whose data frame fails has errors of its own",
    "src/skillian/skills/skill.py": "a tool's failure is what the model reads",
    "src/skillian/storage/database.py": "a write's failure is raised where it is awaited",
    "src/tinyagent/core/untrusted.py": "a repr may be the code's own",
    "src/tinyagent/core/threads.py": "a thread's failure is raised where it is awaited",
    "src/tinyagent/execution/sandbox/calls.py": "raised in the code that called the tool",
    "src/tinyagent/execution/sandbox/worker/session/artifacts.py": "a figure may be any code's",
    "src/tinyagent/execution/sandbox/worker/codec/reprs.py": "a repr may be the code's own",
    "src/tinyagent/execution/sandbox/worker/session/snapshot.py": "a definition is any code",
    "src/tinyagent/execution/sandbox/worker/session/step.py": "what the code raises is its result",
    "src/tinyagent/execution/sandbox/worker/session/tracebacks.py": "a message may be the code's",
    "src/tinyagent/execution/sandbox/worker/template.py": "a session's failure is sent to the host",
    "src/tinyagent/tools/tool.py": "a tool's failure is what the model reads",
    "src/tinyagent/tools/checking.py": "a validator's failure is what the model reads",
}


class Function(NamedTuple):
    """A function and its length, from `def` to its last line."""

    lines: int
    name: str
    path: str


def _functions() -> list[Function]:
    return [
        Function((node.end_lineno or 0) - node.lineno + 1, node.name, _short(path))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _length(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_longer_than_400_lines() -> None:
    assert {_short(path): _length(path) for path in FILES + TESTS if _length(path) > 400} == {}


def test_no_folder_has_more_than_15_modules() -> None:
    modules = Counter(_short(path.parent) for path in FILES if path.name != "__init__.py")
    assert {folder: count for folder, count in modules.items() if count > 15} == {}


@pytest.mark.parametrize("name", ["base.py", "react.py"])
def test_the_loop_can_be_read_at_once(name: str) -> None:
    assert _length(ROOT / "src" / "tinyagent" / "agents" / name) < 300


def test_no_function_is_longer_than_60_lines() -> None:
    assert [function for function in _functions() if function.lines > 60] == []


def test_nothing_is_left_unfinished() -> None:
    lines = {
        f"{_short(path)}:{number}": line.strip()
        for path in FILES + TESTS
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if UNFINISHED.search(line)
    }
    assert lines == {}


def _is_blind(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything and does not pass it on."""
    last = handler.body[-1]
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {kind.id if isinstance(kind, ast.Name) else kind for kind in caught}
    passes_on = isinstance(last, ast.Raise) and last.exc is None
    return not passes_on and bool(names & {None, "Exception", "BaseException"})


def test_failures_of_any_kind_are_caught_in_the_named_places_only() -> None:
    blind = Counter(
        _short(path)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and _is_blind(node)
    )
    assert blind == dict.fromkeys(BLIND, 1)


@pytest.mark.parametrize("package", ["tinyagent", "skillian"])
def test_each_class_has_its_own_name(package: str) -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in FILES:
        if path.is_relative_to(ROOT / "src" / package):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(f"{_short(path)}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
