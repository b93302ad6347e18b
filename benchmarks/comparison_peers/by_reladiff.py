"""reladiff, with the document as the key and the rest as what is compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import reladiff

Found = dict[str, object]
Go = Callable[[], Callable[[], Found]]

COLUMNS = ("company", "period", "account", "amount")


def _table(name: str, folder: str, url: str | None) -> reladiff.TableSegment:
    if url is None:
        where = {"driver": "duckdb", "filepath": str(Path(folder) / "ledgers.duckdb")}
    else:
        parts = urlsplit(url)
        host = parse_qs(parts.query)["host"][0]
        database = parts.path.removeprefix("/")
        where = {"driver": "postgresql", "host": host, "database": database, "user": "postgres"}
    return reladiff.connect_to_table(where, name, "doc", extra_columns=COLUMNS)


def _case(algorithm: reladiff.Algorithm, *, is_across: bool) -> Callable[[str, str], Go]:
    # It refuses keys that occur twice unless an option turns the check off.
    options = {"validate_unique_key": False} if algorithm is reladiff.Algorithm.JOINDIFF else {}

    def prepare(folder: str, url: str) -> Go:
        a, b = _table("a", folder, url), _table("b", folder, None if is_across else url)

        def go() -> Callable[[], Found]:
            found = list(reladiff.diff_tables(a, b, algorithm=algorithm, **options))
            return lambda: _differences(found)

        return go

    return prepare


def _differences(found: list[tuple[str, tuple[str, ...]]]) -> Found:
    only_a = [row[0] for sign, row in found if sign == "-"]
    only_b = [row[0] for sign, row in found if sign == "+"]
    both = set(only_a) & set(only_b)
    return {
        "different": len(both),
        "missing_in_a": len(only_b) - len(both),
        "missing_in_b": len(only_a) - len(both),
    }


CASES = {
    "joindiff": _case(reladiff.Algorithm.JOINDIFF, is_across=False),
    "hashdiff": _case(reladiff.Algorithm.HASHDIFF, is_across=False),
    "hashdiff across": _case(reladiff.Algorithm.HASHDIFF, is_across=True),
}
