"""docs/security.md: each promise has its tests, and each test that is named is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.tinyagent.execution.attacks.everything import ALL

from tinyagent.execution.trust import NETWORK_PROMISES, describe_guarantees, describe_local

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "tinyagent" / "execution"
ROW = re.compile(r"^\| ([SWN]\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py)(?:::(\w+)|\[([^\]]+)\])`")
LEVELS = {"L", "I", "S"}


class Promise(NamedTuple):
    """A row of the table."""

    number: str
    promise: str
    levels: str
    by: str
    tests: str


PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [Promise(*map(str.strip, row)) for row in ROW.findall(PAGE)]
PROMISES = [row for row in ROWS if row.number.startswith("S")]
"""What executors report; the others are about workspaces and networks."""


@cache
def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_the_rows_are_numbered_in_order_and_each_is_reported_once() -> None:
    assert [row.number for row in PROMISES] == [f"S{n + 1}" for n in range(len(PROMISES))]
    for letter in "WN":
        others = [row.number for row in ROWS if row.number.startswith(letter)]
        assert others == [f"{letter}{n + 1}" for n in range(len(others))]
    assert len(ROWS) == len({row.promise for row in ROWS}) > 0
    assert len(re.findall(r"^\| [SWN]\d", PAGE, re.MULTILINE)) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_each_promise_names_tests_that_are_there(row: Promise) -> None:
    named = NAMED.findall(row.tests)
    assert named
    assert len(named) == row.tests.count("`") / 2
    assert set(row.levels.split()) <= LEVELS
    for file, function, group in named:
        path = TESTS / file
        assert path.is_file(), file
        assert group or function in _functions(path), (file, function)
        assert function or group in {attack.group for attack in ALL}, group


def test_what_executors_promise_is_in_the_table() -> None:
    every_lock = {"namespaces": True, "landlock": 7, "seccomp": True, "preloaded": []}
    processes = {guarantee.promise for guarantee in describe_guarantees("kernel", every_lock, 8)}
    local = {promise.promise for promise in describe_local(8) if promise.enforced}
    documented = {row.promise: set(row.levels.split()) for row in PROMISES}
    assert all(documented.get(name) == {"I", "S"} for name in processes - local)
    assert processes <= set(documented)
    assert {name for name, levels in documented.items() if "L" in levels} >= local


def test_what_a_network_promises_is_in_the_table() -> None:
    documented = {row.number: row.promise for row in ROWS if row.number.startswith("N")}
    assert documented == NETWORK_PROMISES


def test_each_other_test_the_page_names_is_there() -> None:
    for file, function, _group in NAMED.findall(PAGE):
        path = next(
            (root / file for root in (TESTS, ROOT / "tests") if (root / file).is_file()), None
        )
        assert path is not None, file
        assert not function or function in _functions(path), (file, function)
