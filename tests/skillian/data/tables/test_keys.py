"""The key that is proposed for tables without a stated one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.skillian.data.tables.comparing import compare, compared
from tests.skillian.data.tables.conftest import Store

from skillian.connectors.base import StateConnector
from skillian.connectors.duckdb.connector import DuckDBConnector
from skillian.connectors.postgres.connector import PostgresConnector
from skillian.data.results.result import ComparisonResult
from skillian.data.tables import keys
from skillian.errors import InvalidInputError

Keyed = Callable[..., ComparisonResult]


@pytest.fixture
def result_of(store: Store) -> Keyed:
    """Compare two tables, each the result of a SELECT or made by a CREATE TABLE t."""

    def compare(a: str, b: str | None = None) -> ComparisonResult:
        names = [
            store(name, script if "CREATE" in script else f"CREATE TABLE t AS {script}")
            for name, script in (("duckdb", a), ("duckdb other", b or a))
        ]
        return compared(*(f"{name}#t" for name in names))

    return compare


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("i AS amount, i AS order_id FROM range(50)", ("order_id",)),
        ("i % 3 AS company, i // 3 AS period, i * 7 AS amount FROM range(60)", ("amount",)),
        ("i % 3 AS company, i // 3 AS period, 5 AS amount FROM range(60)", ("company", "period")),
        ("i % 2 AS a, i // 2 % 3 AS b, i // 6 AS c, 1.5 AS v FROM range(30)", ("a", "b", "c")),
        ("i + 0.5 AS v, 'name ' || i AS name FROM range(50)", ("name",)),
    ],
)
def test_the_likeliest_unique_columns(
    result_of: Keyed, select: str, columns: tuple[str, ...]
) -> None:
    key = result_of(f"SELECT {select} t (i)").key
    assert (key.columns, key.origin) == (columns, "profile")
    assert "No key was given" in key.reason


def test_the_primary_key_precedes_other_unique_columns(result_of: Keyed) -> None:
    key = result_of(
        "CREATE TABLE t (id INTEGER, code VARCHAR PRIMARY KEY, n INTEGER);"
        " INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 1)"
    ).key
    assert (key.columns, key.origin) == (("code",), "catalogue")


def test_a_key_that_is_repeated_on_one_side_is_used_and_named(result_of: Keyed) -> None:
    rows = "SELECT i AS id, 1 AS v FROM range(20) t (i)"
    key = result_of(rows, f"{rows} UNION ALL SELECT 3, 1").key
    assert key.columns == ("id",)
    assert "no two rows of main#t have the same value" in key.reason


@pytest.mark.parametrize("select", ["1 AS a, 2 AS b", "i % 2 + 0.5 AS v"])
def test_without_unique_columns_it_refuses(result_of: Keyed, select: str) -> None:
    with pytest.raises(InvalidInputError, match=r"no column or combination .*multiset"):
        result_of(f"SELECT {select} FROM range(5) t (i)")  # noqa: S608 - ours


# No column alone is unique: `ref` is in the sampled rows only.
ORDERS = """
CREATE TABLE {name} AS SELECT i % 5 AS company, i / 4 AS order_no, i % 4 AS line_no,
    CASE WHEN i < 6000 THEN i ELSE i / 4 END AS ref, i % 90 AS amount FROM {numbers}
"""
NUMBERS = {
    "duckdb": "(SELECT CAST(i AS INTEGER) AS i FROM range(12000) t (i)) AS n",
    "postgres": "generate_series(0, 11999) AS n (i)",
}


RUNNING: dict[type, str] = {
    DuckDBConnector: "plain_rows",
    PostgresConnector: "stream",
    StateConnector: "stream",
}


@pytest.fixture(params=NUMBERS)
def orders(request: pytest.FixtureRequest, store: Store) -> list[str]:
    """The names of two equal tables of 12,000 orders in one kind of database."""
    kind: str = request.param
    script = ORDERS.replace("/", "//") if kind == "duckdb" else ORDERS
    others = {"a": kind, "b": f"{kind} other" if kind == "duckdb" else kind}
    return [
        f"{store(database, script.format(name=name, numbers=NUMBERS[kind]))}#{name}"
        for name, database in others.items()
    ]


async def compared_with_statements(names: list[str]) -> tuple[ComparisonResult, list[str]]:
    """Return the result, and all statements that the databases of both sides ran."""
    statements: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for kind, method in RUNNING.items():
            patch.setattr(kind, method, _recorded(getattr(kind, method), statements))
        return await compare(*names), statements


def _recorded(method: Callable[..., Any], statements: list[str]) -> Callable[..., Any]:
    def recorded(connector: Any, statement: str, parameters: Mapping[str, object]) -> Any:
        statements.append(statement)
        return method(connector, statement, parameters)

    return recorded


async def test_after_a_sample_one_scan_of_each_side_counts_all_candidates(
    orders: list[str],
) -> None:
    result, statements = await compared_with_statements(orders)
    assert result.key.columns == ("order_no", "line_no")
    assert "no two rows have the same values" in result.key.reason
    assert result.rows.are_equal
    samples, scans = statements[:2], statements[2:4]
    assert all("LIMIT 5000" in statement for statement in samples)
    assert all(statement.count("FROM") == 2 and "keys_4" in statement for statement in scans)
    assert not [each for each in statements[4:] if "LIMIT 5000" in each or "keys_0" in each]


@pytest.mark.parametrize("orders", ["duckdb"], indirect=True)
async def test_the_comparison_is_the_proof_of_a_proposed_key(
    orders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "PART", 2**50)
    result, statements = await compared_with_statements(orders)
    # The scan counts no key, so `ref` is tried, which the comparison shows to be repeated.
    assert result.key.columns == ("order_no", "line_no")
    assert result.rows.are_equal
    assert len([each for each in statements if "keys_0" in each]) == 2


PAYMENTS = """
CREATE TABLE t AS SELECT 'P' || i AS payment_ref, i % 9 AS n,
    DATE '2024-01-01' + CAST(i % 300 + CASE WHEN i < {moved} THEN 400 ELSE 0 END AS INTEGER) AS paid
FROM range(2000) t (i);
INSERT INTO t SELECT payment_ref, n, paid + 900 FROM t LIMIT {again}
"""


def test_a_key_never_contains_columns_that_identify_a_side(result_of: Keyed) -> None:
    a, b = PAYMENTS.format(moved=0, again=0), PAYMENTS.format(moved=1055, again=20)
    result = result_of(a.strip(), b.strip())
    assert result.key.columns == ("payment_ref",)
    rows = result.rows
    assert (rows.differing, rows.only_in_a, rows.only_in_b) == (1035, 0, 0)
    assert rows.duplicate_keys_b == 20


def test_columns_that_are_repeated_in_most_rows_of_the_other_side_are_no_key(
    result_of: Keyed,
) -> None:
    lines = "SELECT i // 4 AS order_no, i % 4 AS line_no, i % 50 AS amount FROM range(400) t (i)"
    result = result_of(lines, f"{lines} WHERE i % 4 = 0")
    assert result.key.columns == ("order_no", "line_no")
    assert (result.rows.matched, result.rows.only_in_a) == (100, 300)


def test_a_key_by_which_most_rows_meet_is_preferred(result_of: Keyed) -> None:
    rows = 300
    row = "SELECT i + {} AS id, 'C' || i AS code, i % 7 AS n FROM range({}) t (i)"
    result = result_of(row.format(0, rows), row.format(1_000_000, rows))
    assert result.key.columns == ("code",)
    assert result.rows.differing == rows


def test_a_renamed_key_is_proposed_instead_of_a_column_that_has_its_name_in_both(
    result_of: Keyed,
) -> None:
    row = "SELECT i AS {}, 'x' || i || '{}' AS email, i % 7 AS n FROM range(200) t (i)"
    advice = r"--map customer_id=cust_id --key customer_id \(100 % of the values"
    with pytest.raises(InvalidInputError, match=advice):
        result_of(row.format("customer_id", ""), row.format("cust_id", "@new"))


def test_a_column_of_another_name_is_left_where_an_id_is_in_both(result_of: Keyed) -> None:
    row = "SELECT i AS id, 'R' || i AS {}, i % 7 AS n FROM range(200) t (i)"
    result = result_of(row.format("ref"), row.format("ref_no"))
    assert result.key.columns == ("id",)
    assert [(each.a, each.b) for each in result.proposals] == [("ref", "ref_no")]


def test_without_a_key_it_says_why_each_near_candidate_is_none(result_of: Keyed) -> None:
    a = "SELECT format('{:04d}', i) AS id, 'P' || i % 100 AS ref, 5 AS n FROM range(120) t (i)"
    b = "SELECT i AS id, 'P' || i % 97 AS ref, 5 AS n FROM range(120) t (i)"
    with pytest.raises(InvalidInputError) as refusal:
        result_of(a, b)
    message = str(refusal.value)
    assert "20 values of ref occur more than once in main#t and 23 in " in message
    assert "id cannot be compared: VARCHAR and BIGINT have no common form" in message
    assert "main#t holds '0000', '0001'" in message


def test_tables_that_share_no_key_are_refused_with_the_pairs_that_may_be_one(
    result_of: Keyed,
) -> None:
    row = "SELECT 'I' || i % 60 AS {}, i % 5 AS {}, 'open' AS status FROM range(200) t (i)"
    with pytest.raises(InvalidInputError) as refusal:
        result_of(row.format("invoice", "region"), row.format("inv", "area"))
    assert "--map invoice=inv" in str(refusal.value)
    assert "--map region=area" in str(refusal.value)
