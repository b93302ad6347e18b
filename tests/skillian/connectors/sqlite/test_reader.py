import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from skillian.connectors.base import ColumnType, Table
from skillian.connectors.sqlite.reader import SQLiteFile, used_columns


@pytest.mark.parametrize("missing", [1, 4095, 4096])
def test_a_file_whose_end_is_missing_is_refused(tmp_path: Path, missing: int) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x')")
    whole = path.read_bytes()
    path.write_bytes(whole[:-missing])
    with (
        closing(SQLiteFile(path)) as torn,
        pytest.raises(sqlite3.DatabaseError, match=r"end is missing|malformed"),
        torn.snapshot(),
    ):
        pass
    path.write_bytes(whole + b"more")
    with closing(SQLiteFile(path)) as file, file.snapshot():
        assert [*file.rows("t", ["a"])] == [[("x",)]]


def test_a_file_with_pages_in_a_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (a TEXT)")
        writer.execute("PRAGMA wal_checkpoint")
        writer.executescript("INSERT INTO t SELECT HEX(ZEROBLOB(50000))")
        with closing(SQLiteFile(path)) as file, file.snapshot():
            assert len([*file.rows("t", ["a"])]) == 1


TEXT = ColumnType("text", "VARCHAR")
TABLES = (
    Table("main", "t", {"a": TEXT, "b": TEXT, "C": TEXT}),
    Table("main", "other", {"a": TEXT, "x y": TEXT}),
    Table("main", "own", {"a": TEXT, "own": TEXT, "main": TEXT, "source": TEXT}),
)


@pytest.mark.parametrize(
    ("statement", "used"),
    [
        ("SELECT a FROM t", {"t": ("a",)}),
        ('SELECT "T"."c", SUM(B) FROM "main"."T" GROUP BY 1', {"t": ("b", "C")}),
        ("SELECT COUNT(*) FROM t", {"t": ("a",)}),
        ("SELECT * FROM t", {"t": ("a", "b", "C")}),
        ("SELECT u.* FROM t AS u", {"t": ("a", "b", "C")}),
        ("SELECT u FROM t AS u", {"t": ("a", "b", "C")}),
        ("WITH q AS (SELECT b FROM t) SELECT * FROM q", {"t": ("b",)}),
        ("SELECT b FROM t JOIN other USING (a)", {"t": ("a", "b"), "other": ("a",)}),
        ("SELECT b FROM t NATURAL JOIN other", {"t": ("a", "b", "C"), "other": ("a", "x y")}),
        ('SELECT b FROM t WHERE EXISTS (SELECT 1 FROM other WHERE "x y" = t.a)',
         {"t": ("a", "b"), "other": ("a", "x y")}),
        ("SELECT source.a FROM main.own AS source", {"own": ("a",)}),
        ("SELECT source.source FROM own AS source", {"own": ("source",)}),
        ("SELECT own FROM own", {"own": ("own",)}),
        ("SELECT 1", {}),
        ("SELECT (", {}),
    ],
)  # fmt: skip
def test_used_columns(statement: str, used: dict[str, tuple[str, ...]]) -> None:
    assert used_columns(statement, TABLES) == used
