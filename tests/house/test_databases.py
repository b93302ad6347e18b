"""A database in a file is opened by SQLite alone.

Whoever closes a descriptor of the file gives up the locks of the whole process on it, and with them
writes that were acknowledged (`skillian/private_files.py`).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
# Where the paths of databases are known.
KNOWN = ("skillian/history", "skillian/storage", "tinyagent/durable")
FILES = sorted(
    [
        *(path for room in KNOWN for path in (SRC / room).rglob("*.py")),
        SRC / "skillian/chat/durable_turns.py",
        SRC / "skillian/private_files.py",
        SRC / "skillian/connectors/sqlite/reader.py",
        SRC / "skillian/connectors/sqlite/connector.py",
    ]
)
OPENED = {
    "skillian/private_files.py": "creates a file, and opens none that exists",
    "tinyagent/durable/beacon.py": "locks files of its own, next to the database",
}
_OPENING = {"read_bytes", "read_text", "write_bytes", "write_text", "touch"}
_COPYING = {"shutil"}


def opened_by(source: str) -> Iterator[str]:
    """The calls that open a file otherwise than by SQLite."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="open")):
                yield "open"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os" | "io"), attr="open")):
                yield "os.open"
            case ast.Call(func=ast.Attribute(attr="open"), args=[_, *_]):
                yield "Path.open"
            case ast.Attribute(attr=name) if name in _OPENING:
                yield name
            case ast.Import(names=names) if _COPYING & {each.name for each in names}:
                yield "shutil"
            case ast.ImportFrom(module="shutil"):
                yield "shutil"
            case _:
                pass


def test_no_code_at_a_database_opens_files() -> None:
    counts = Counter(
        path.relative_to(SRC).as_posix()
        for path in FILES
        for _ in opened_by(path.read_text(encoding="utf-8"))
    )
    assert counts.keys() == OPENED.keys()
    assert counts["skillian/private_files.py"] == 1


@pytest.mark.parametrize(
    ("line", "opens"),
    [
        ("os.close(os.open(path, os.O_RDWR))", True),
        ("open(path)", True),
        ("path.open('rb')", True),
        ("path.read_bytes()", True),
        ("from shutil import copy", True),
        ("database.open()", False),
        ("sqlite3.connect(path)", False),
        ("path.stat()", False),
    ],
)
def test_what_opens_a_file_is_recognized(line: str, *, opens: bool) -> None:
    assert any(opened_by(line)) == opens
