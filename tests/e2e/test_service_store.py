"""A session store that fails under a running server: reported at once, no silent loss."""

from __future__ import annotations

import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import requests
from tests.support.serving import Serving, serving

from skillian.demo.ledger import write_demo

pytestmark = pytest.mark.timeout(180)

ASKED: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("GET", "/ready", None),
    ("POST", "/sessions", {}),
    ("POST", "/chat", {"message": "Which sources are there?"}),
)
COMPARED = {
    "source_a": "fi_reporting",
    "source_b": "bpc_reporting",
    "measures": ["amount"],
}
OPEN = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM skillian_sessions").fetchone()
"""
HISTORY = """
import os, sys
from skillian.cli import app
os.environ["DATABASE_URL"] = f"sqlite:///{sys.argv[1]}"
sys.argv[1:] = ["history"]
app()
"""
# What other programs do with the file: read, write, check, back it up, copy it, read the history.
OTHERS = (
    OPEN,
    f"{OPEN}connection.execute('CREATE TABLE IF NOT EXISTS theirs (x)')\nconnection.close()",
    f"{OPEN}connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')\nconnection.close()",
    f"{OPEN}connection.backup(sqlite3.connect(sys.argv[2]))\nconnection.close()",
    "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])",
    HISTORY,
)
SECONDS = 60
# Half a minute was waited for a lock; four seconds are.
SOON = 20


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store" / "s.db"


@pytest.fixture
def server(tmp_path: Path, store: Path) -> Generator[Serving]:
    store.parent.mkdir()
    # Without room for a file, Python would leave compiled modules half written.
    settings = {"DATABASE_URL": f"sqlite:///{store}", "PYTHONDONTWRITEBYTECODE": "1"}
    with serving(write_demo(tmp_path / "demo"), **settings) as running:
        assert statuses(running) == [200, 201, 200]
        yield running
        assert "Traceback" not in running.log


def statuses(server: Serving) -> list[int]:
    numbers: list[int] = []
    for method, path, body in ASKED:
        start = monotonic()
        answer = requests.request(method, f"{server.url}{path}", json=body, timeout=SECONDS)
        assert monotonic() - start < SOON
        if path == "/ready":
            is_ready = answer.status_code == 200
            assert answer.json()["checks"]["store"] == ("ok" if is_ready else "failed")
        numbers.append(answer.status_code)
    assert requests.get(f"{server.url}/health", timeout=SECONDS).status_code == 200
    return numbers


def stored(store: Path) -> int:
    with sqlite3.connect(store) as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM skillian_sessions")
    return int(count)


def test_other_programs_at_its_file_lose_nothing(
    server: Serving, store: Path, tmp_path: Path
) -> None:
    body = {"name": "Ledgers", "comparison": COMPARED}
    [saved] = posted(server, "/saved", body)
    copy = tmp_path / "copy.db"
    acknowledged = stored(store)
    for number, program in enumerate(OTHERS):
        if not number % 2:
            posted(server, f"/saved/{saved}/runs")
        assert requests.get(f"{server.url}/saved/{saved}", timeout=SECONDS).status_code == 200
        other = [sys.executable, "-c", program, str(store), str(copy)]
        subprocess.run(other, check=True, timeout=SECONDS, cwd=store.parent)
        acknowledged += len(posted(server, "/sessions", {}, times=10))
    server.stop(signal.SIGKILL)
    assert stored(store) == acknowledged


def posted(server: Serving, path: str, body: Any = None, times: int = 1) -> list[str]:
    """What was created, each by its id; a request that is not accepted fails."""
    answers = [
        requests.post(f"{server.url}{path}", json=body, timeout=SECONDS) for _ in range(times)
    ]
    assert {answer.status_code for answer in answers} <= {201, 202}
    return [answer.json()["id"] for answer in answers]


def test_a_locked_file_is_reported_within_seconds(server: Serving, store: Path) -> None:
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert statuses(server) == [503, 503, 503]
    other.execute("ROLLBACK")
    other.close()
    assert statuses(server) == [200, 201, 200]


def test_a_full_disk_is_not_ready(server: Serving, store: Path) -> None:
    before = stored(store)
    # No file of the process may grow: to SQLite that is a disk without room.
    pid = server.process.pid
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
    assert statuses(server) == [503, 503, 503]
    assert stored(store) == before
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
    assert statuses(server) == [200, 201, 200]
    assert stored(store) == before + 2


def test_a_deleted_file_is_not_ready(server: Serving, store: Path) -> None:
    kept = store.parent.parent / "kept"
    shutil.move(store.parent, kept)
    store.parent.mkdir()
    assert statuses(server) == [503, 503, 503]
    assert not store.exists()
    assert "its file was deleted or replaced: restart skillian" in server.log
    assert stored(kept / "s.db") == 2  # what was answered with success is there
