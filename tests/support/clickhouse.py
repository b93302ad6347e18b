"""Data folders of ClickHouse, written one after the other by a process of their own."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

needs_clickhouse = pytest.mark.skipif(
    find_spec("chdb") is None, reason="there is no ClickHouse; get it with: pip install chdb-core"
)

_WRITER = """
import json, sys
import chdb
for line in sys.stdin:
    folder, statements = json.loads(line)
    connection = chdb.connect(folder)
    try:
        for statement in statements:
            connection.query(statement)
    except Exception as error:
        print(json.dumps(str(error)), flush=True)
    else:
        print("null", flush=True)
    finally:
        connection.close()
"""
_writer: list[subprocess.Popen[str]] = []


def write_clickhouse(folder: Path, statements: Sequence[str]) -> None:
    """Run statements in a new data folder."""
    if not _writer:
        arguments = [sys.executable, "-c", _WRITER]
        pipe = subprocess.PIPE
        _writer.append(subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True))
    [process] = _writer
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([str(folder), list(statements)]) + "\n")
    process.stdin.flush()
    error = json.loads(process.stdout.readline())
    assert error is None, error
