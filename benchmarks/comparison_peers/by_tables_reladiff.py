"""reladiff on whole tables: by the key, with all other columns.

Across databases it refuses dates of DuckDB, so that it compares one column less there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import reladiff

Found = dict[str, Any]
Go = Callable[[], Callable[[], Found]]

REFUSED = {"born"}


def _table(
    name: str, folder: str, url: str | None, without: Collection[str]
) -> reladiff.TableSegment:
    file = str(Path(folder) / "tables.duckdb")
    with duckdb.connect(file, read_only=True) as made:
        names = [row[0] for row in made.execute("DESCRIBE a").fetchall()]
    columns = [name for name in names if name != "id" and name not in without]
    if url is None:
        where = {"driver": "duckdb", "filepath": file}
    else:
        parts = urlsplit(url)
        host = parse_qs(parts.query)["host"][0]
        database = parts.path.removeprefix("/")
        where = {"driver": "postgresql", "host": host, "database": database, "user": "postgres"}
    return reladiff.connect_to_table(where, name, "id", extra_columns=tuple(columns))


def _case(
    algorithm: reladiff.Algorithm, other: str, *, is_across: bool
) -> Callable[[str, str], Go]:
    def prepare(folder: str, url: str) -> Go:
        without = REFUSED if is_across else ()
        a = _table("a", folder, url, without)
        b = _table(other, folder, None if is_across else url, without)

        # Otherwise its sort of what differs stops at the first NULL.
        options = {"skip_sort_results": True} if is_across else {}

        def go() -> Callable[[], Found]:
            rows = list(reladiff.diff_tables(a, b, algorithm=algorithm, **options))
            return lambda: _found(rows)

        return go

    return prepare


def _found(rows: list[tuple[str, tuple[str, ...]]]) -> Found:
    only_a = {row[0] for sign, row in rows if sign == "-"}
    only_b = {row[0] for sign, row in rows if sign == "+"}
    return {
        "differing": len(only_a & only_b),
        "only_in_a": len(only_a - only_b),
        "only_in_b": len(only_b - only_a),
    }


CASES = {
    "postgres": _case(reladiff.Algorithm.JOINDIFF, "b", is_across=False),
    "same": _case(reladiff.Algorithm.HASHDIFF, "a", is_across=True),
    "ranges": _case(reladiff.Algorithm.HASHDIFF, "ranges", is_across=True),
    "across": _case(reladiff.Algorithm.HASHDIFF, "b", is_across=True),
}
