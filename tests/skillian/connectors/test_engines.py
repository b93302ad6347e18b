"""The list of databases, their URLs; temporary folders."""

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from skillian.connectors import ENGINES, UNTRIED, Engine, connect, dialect_of, schemes
from skillian.errors import UnavailableError

ROOT = Path(__file__).parents[3]


def test_each_engine_is_complete() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "databases.md").read_text(encoding="utf-8")
    for engine in ENGINES:
        assert engine.extra in project["optional-dependencies"]
        assert callable(import_module(f"skillian.connectors.{engine.rules}").adapt)
        assert any(f"{scheme}://" in page for scheme in engine.schemes)
        assert dialect_of(engine.schemes[0]) == engine.dialect
        line = next(line for line in page.splitlines() if engine.title in line)
        assert [UNTRIED in text for text in (line, engine.label)] == [not engine.is_tried] * 2


def test_schemes_belong_to_one_engine() -> None:
    assert len(schemes()) == len(set(schemes()))
    assert Engine("X", ("x",), "x", "x:X", "x").label == "X"


# What is said of URLs.
MALFORMED = {
    "its URL is not mysql://": (
        *("mysql://u:secret@host:port/db", "mysql://u:secret@host/db?sslmode=off"),
        *("mysql://u:secret@host", "mariadb://u:secret@host:3306/?ssl_ca=x"),
        "mysql://[::1/db",
    ),
    "its URL is not understood; write": (
        *("postgres://u:secret@host/db?nonsense=1", "postgresql://u:secret@host/db?host=a@b&%zz"),
    ),
    "unknown kind of database": ("postgresql:u:secret@host",),
    "its URL is not sc://host": ("sc://", "sc://host/database", "sc://host:1/;database"),
    "its URL is not clickhouse://user": (
        *("clickhouse://h?timezone=Nowhere/City", "clickhouse://h?zone=UTC"),
        *("clickhouse://h?secure=1", "clickhouse://h:port/db", "clickhouse://h?secure"),
    ),
    **{
        f"its URL is not {kind}://": (
            *(f"{kind}://", f"{kind}://u:secret@h/d?unknown=1", f"{kind}://u:secret@[::1/d"),
        )
        for kind in ("mssql", "oracle", "snowflake", "bigquery", "databricks")
    },
}


@pytest.mark.parametrize("said", MALFORMED)
def test_a_malformed_url_is_refused_without_its_secrets(said: str) -> None:
    for url in MALFORMED[said]:
        with pytest.raises(UnavailableError, match=f"connection 'books': {said}") as refused:
            connect("books", url, Path())
        assert not [each for each in ("secret", "nonsense", "zz") if each in str(refused.value)]


MAKE = "from skillian.connectors.scratch import scratch; print(scratch(), flush=True); "


def test_the_folders_of_dead_processes_are_removed(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    other = tmp_path / "skillian-other"
    other.mkdir()
    command = [sys.executable, "-c", f"{MAKE} input()"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as living:
        assert living.stdout is not None
        folder = Path(living.stdout.readline().strip())
        (folder / "file").touch()
        assert folder.stat().st_mode & 0o077 == 0
        subprocess.run([sys.executable, "-c", MAKE], env=environment, check=True)
        assert {*tmp_path.iterdir()} == {folder, other}
        living.kill()
        living.wait()
    subprocess.run([sys.executable, "-c", MAKE], env=environment, check=True)
    assert [*tmp_path.iterdir()] == [other]
