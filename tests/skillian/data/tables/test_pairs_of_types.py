"""Every pair of DuckDB's types: compared as said here, or refused with the reason."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import duckdb
import pytest
from tests.skillian.data.tables.comparing import compared
from tests.skillian.data.tables.test_empty_columns import CELLS

from skillian.connectors.duckdb.types import column_type
from skillian.data.declare.rules import Rule, Rules
from skillian.data.tables.cells import NotComparableError, family_of
from skillian.data.tables.types import cell_type

PAIRS = {f"v{number}": pair for number, pair in enumerate(combinations_with_replacement(CELLS, 2))}
# The types that are compared with each other; any other only with itself.
WHOLE = {"1::TINYINT", "1::HUGEINT", "1::UHUGEINT", "1::DECIMAL(18, 2)", "1::DECIMAL(38, 30)"}
TEXTS = {"'1'::VARCHAR", "'1'::ENUM ('1', '2')"}
IDENTIFIER = "'6f1dd3ae-0a5b-4d3e-9f3c-0123456789ab'::UUID"
GROUPS = (
    {*WHOLE, "true"},
    {*WHOLE, "1::FLOAT", "1::DOUBLE"},
    {cell for cell in CELLS if "2024-01-31" in cell},
    {*TEXTS, "'1'::JSON"},
    {*TEXTS, IDENTIFIER},
    {"TIME '10:00:00'", "TIME '10:00:00'::TIME_NS"},
)
RULES = {
    "near": Rule.model_validate({"absolute": "0.1", "seconds": "1"}),
    "cut": Rule(precision="hour", zone="Africa/Abidjan", trim=True, ignore_case=True),
}


def is_compared(a: str, b: str) -> bool:
    """Whether two types have a common form."""
    return a == b or any({a, b} <= group for group in GROUPS)


# But the times, of which test_moments.py compares every pair.
COMPARED = {
    name: (a, b)
    for name, (a, b) in PAIRS.items()
    if is_compared(a, b) and (a == b or "2024-01-31" not in a)
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """Both cells of these pairs in two files, and the first file by another name."""
    folder = tmp_path_factory.mktemp("pairs")
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for file in ("one", "two"):
            path = folder / f"{file}.duckdb"
            database.execute(f"ATTACH '{path}' AS {file} (STORAGE_VERSION 'latest')")
            for side, name in enumerate("ab"):
                cells = ", ".join(f"{pair[side]} AS {v}" for v, pair in COMPARED.items())
                database.execute(f"CREATE TABLE {file}.{name} AS SELECT 1 AS k, {cells}")
    (folder / "again.duckdb").symlink_to(folder / "one.duckdb")
    one, two, again = (f"duckdb:///{folder / name}.duckdb" for name in ("one", "two", "again"))
    return f"{one}#a", f"{two}#b", f"{again}#b"


def test_pairs_without_a_common_form_are_refused() -> None:
    with duckdb.connect() as database:
        row: Any = database.execute(f"SELECT {', '.join(f'typeof({c})' for c in CELLS)}").fetchone()
    kinds = {
        cell: cell_type(column_type(kind), "duckdb") for cell, kind in zip(CELLS, row, strict=True)
    }
    for a, b in PAIRS.values():
        for one, other in ((a, b), (b, a)):
            if is_compared(a, b):
                family_of(kinds[one], kinds[other])
            else:
                with pytest.raises(NotComparableError):
                    family_of(kinds[one], kinds[other])


@pytest.mark.parametrize(("rule", "place"), [("near", "workspace"), ("cut", "database")])
def test_pairs_with_a_common_form(tables: tuple[str, str, str], rule: str, place: str) -> None:
    other = tables[1] if place == "database" else tables[2]
    result = compared(tables[0], other, key=("k",), rules=Rules(all=RULES[rule]))
    assert result.proof.place == place
    assert not result.not_compared
    unequal = {COMPARED[column.a] for column in result.columns if column.mismatches}
    assert {frozenset(pair) for pair in unequal} == {frozenset({IDENTIFIER, t}) for t in TEXTS}
