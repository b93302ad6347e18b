"""The type matrix against values of arrays, structs and maps in DuckDB, Parquet and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from tests.support.postgres import Database

from skillian.data.schema.types import parse_type, relation

DUCKDB = (
    *("INTEGER[]", "BIGINT[]", "DECIMAL(10,2)[]", "VARCHAR[]", "INTEGER[][]"),
    *("STRUCT(a INTEGER)", "STRUCT(a BIGINT)", "STRUCT(a VARCHAR)", "STRUCT(a INTEGER, b INTEGER)"),
    *("STRUCT(a INTEGER[])", "STRUCT(a INTEGER)[]", "MAP(VARCHAR, INTEGER)"),
    *("MAP(VARCHAR, BIGINT)", "MAP(INTEGER, VARCHAR)"),
)
TYPES = {
    "duckdb": DUCKDB,
    "files": DUCKDB,
    "postgres": ("integer[]", "bigint[]", "numeric(10,2)[]", "text[]"),
}
# Values of each family, with what tells the types apart.
VALUES: dict[str, tuple[Any, ...]] = {
    "array": (
        *([], [1], [None], [1, None], [2**31 - 1], [2**40], [Decimal("1.25")], [Decimal("0.125")]),
        *(["x"], ["a,b", '"', ""], [{"a": 1}], [{"a": None}]),
        *([[1], [2]], [[2**31 - 1]]),
    ),
    "struct": (
        *({"a": 1}, {"a": None}, {"a": 2**40}, {"a": "x"}, {"a": 1, "b": 2}, {"a": [1, None]}),
    ),
    "map": ({"k": 1}, {"k": None}, {"k": 2**40}, {}, {1: "x"}),
}
Hold = Callable[..., frozenset[str]]


def _is(value: Any, back: Any) -> bool:
    """Whether a value came back as it was; a field that a struct lacks is NULL."""
    if isinstance(value, list) and isinstance(back, list):
        return len(value) == len(back) and all(map(_is, value, back))
    if isinstance(value, dict) and isinstance(back, dict):
        names = {**back, **value}
        return all(_is(value.get(name), back.get(name)) for name in names)
    if isinstance(value, int | Decimal):
        return isinstance(back, int | Decimal) and value == back
    return type(value) is type(back) and value == back


def _in_duckdb(duck: Any, text: str, value: Any, path: Path | None = None) -> Any:
    """Return what a column of this type gives back, also from a Parquet file."""
    is_map = text.startswith("MAP")
    given = [[*value], [*value.values()]] if is_map else [value]
    made = "MAP(?, ?)" if is_map else "?"
    select = f"SELECT CAST({made} AS {text}) AS x"
    try:
        if path is None:
            return duck.execute(select, given).fetchone()[0]
        duck.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)", given)
    except (duckdb.Error, TypeError):
        return ...
    [kind, back] = duck.execute(f"SELECT typeof(x), x FROM read_parquet('{path}')").fetchone()  # noqa: S608 - ours
    assert kind == text, f"Parquet gives {text} back as {kind}"
    return back


def _in_postgres(postgres: Any, text: str, value: Any) -> Any:
    try:
        return postgres.execute(f"SELECT %s::{text}", [value]).fetchone()[0]
    except psycopg.Error:
        return ...


@pytest.fixture
def holds(postgres_database: Database, tmp_path: Path) -> Iterator[Hold]:
    """The values of a family that a type of an engine gives back."""

    @cache
    def held(engine: str, text: str, family: str, *, deep: bool) -> frozenset[str]:
        def back(value: Any) -> Any:
            if engine == "postgres":
                return _in_postgres(postgres, text, value)
            return _in_duckdb(duck, text, value, tmp_path / "x" if engine == "files" else None)

        values = [value for value in VALUES[family] if deep or "[[" not in repr(value)]
        return frozenset(repr(value) for value in values if _is(value, back(value)))

    with (
        duckdb.connect() as duck,
        psycopg.connect(postgres_database.url, autocommit=True) as postgres,
    ):
        yield held


def test_nested_types_are_related_as_their_values_are(holds: Hold) -> None:
    wrong: list[str] = []
    every = [(engine, text) for engine, texts in TYPES.items() for text in texts]
    for (engine_a, one), (engine_b, other) in product(every, every):
        a, b = parse_type(engine_a, one), parse_type(engine_b, other)
        if a.family != b.family:
            assert relation(a, b).kind == "differs"
            continue
        # PostgreSQL states no depth: its arrays are taken for those of the other side's depth.
        deep = "[][]" in one or {engine_a, engine_b}.isdisjoint({"postgres"})
        mine = holds(engine_a, one, a.family, deep=deep)
        theirs = holds(engine_b, other, a.family, deep=deep)
        assert mine, one
        claim = relation(a, b).kind
        if claim not in _allowed(mine, theirs):
            wrong.append(f"{one} to {other}: {claim}; lost {sorted(mine - theirs)[:3]}")
    assert not wrong, "\n".join(wrong)


def _allowed(mine: frozenset[str], theirs: frozenset[str]) -> set[str]:
    if not mine <= theirs:
        return {"loses", "differs"}
    return {"equivalent"} if mine == theirs else {"widens"}
