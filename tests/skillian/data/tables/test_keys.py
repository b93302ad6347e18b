"""The key that is proposed for tables without a stated one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp
from tests.skillian.data.tables.comparing import compare, compared
from tests.skillian.data.tables.conftest import Store

from skillian.data.declare.rules import Rule, Rules
from skillian.data.results.result import ComparisonResult
from skillian.data.tables.place import SideRows
from skillian.errors import InvalidInputError

Keyed = Callable[..., ComparisonResult]


@pytest.fixture
def result_of(store: Store) -> Keyed:
    """Compare two tables, each the result of a SELECT or made by a CREATE TABLE t."""

    def compare(a: str, b: str | None = None, **question: Any) -> ComparisonResult:
        names = [
            store(name, script.strip() if "CREATE" in script else f"CREATE TABLE t AS {script}")
            for name, script in (("duckdb", a), ("duckdb other", b or a))
        ]
        return compared(*(f"{name}#t" for name in names), **question)

    return compare


# No column alone is unique: `ref` is in the sampled rows only.
ORDERS = """
CREATE TABLE {name} AS SELECT i % 5 AS company, i / 4 AS order_no, i % 4 AS line_no,
    CASE WHEN i < 6000 THEN i ELSE i / 4 END AS ref, i % 90 AS amount FROM {numbers}
"""
NUMBERS = {
    "duckdb": "(SELECT CAST(i AS INTEGER) AS i FROM range(12000) t (i)) AS n",
    "postgres": "generate_series(0, 11999) AS n (i)",
    "mysql": "(SELECT seq AS i FROM seq_0_to_11999) AS n",
}


@pytest.fixture(params=NUMBERS)
def orders(request: pytest.FixtureRequest, store: Store) -> list[str]:
    """The names of two equal tables of 12,000 orders in one kind of database."""
    kind: str = request.param
    script = ORDERS.replace("/", {"duckdb": "//", "mysql": "DIV"}.get(kind, "/"))
    others = {"a": kind, "b": f"{kind} other" if kind == "duckdb" else kind}
    return [
        f"{store(database, script.format(name=name, numbers=NUMBERS[kind]))}#{name}"
        for name, database in others.items()
    ]


async def compared_with_statements(names: list[str]) -> tuple[ComparisonResult, list[str]]:
    """Return the result, and the statements about keys that the databases ran."""
    statements: list[str] = []
    fetch = SideRows.fetch

    async def noted(side: SideRows, tree: exp.Expr) -> list[dict[str, Any]]:
        statements.append(tree.sql())
        return await fetch(side, tree)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SideRows, "fetch", noted)
        return await compare(*names), statements


async def test_after_a_sample_all_rows_show_which_candidate_is_a_key(orders: list[str]) -> None:
    result, statements = await compared_with_statements(orders)
    assert result.key.columns == ("order_no", "line_no")
    assert "no two rows have the same values" in result.key.reason
    assert result.rows.are_equal
    assert all("LIMIT 5000" in statement for statement in statements[:2])
    looks = [each for each in statements if 'AS "keys"' in each]
    assert looks == statements[2 : 2 + len(looks)]
    read = [[name for name in ("ref", "order_no", "line_no") if name in each] for each in looks]
    assert read == [["ref"]] * 2 + [["order_no", "line_no"]] * 2


def test_the_comparison_is_the_proof_of_a_proposed_key(result_of: Keyed) -> None:
    # By the rule, two values of the first candidate are equal.
    spaced = "SELECT 'x' || (i // 2) || repeat(' ', i % 2) AS code, i AS n FROM range(50) t (i)"
    assert result_of(spaced, rules=Rules(all=Rule(trim=True))).key.columns == ("n",)


PAYMENTS = """
CREATE TABLE t AS SELECT 'P' || i AS payment_ref, i % 9 AS n,
    DATE '2024-01-01' + CAST(i % 300 + CASE WHEN i < {moved} THEN 400 ELSE 0 END AS INTEGER) AS paid
FROM range(2000) t (i);
INSERT INTO t SELECT payment_ref, n, paid + 900 FROM t LIMIT {again}
"""
IDS = "SELECT {} AS id, 1 AS v FROM range(20) t (i)"
LINES = "SELECT i // 4 AS order_no, i % 4 AS line_no, i % 50 AS amount FROM range(400) t (i)"
MOVED = "SELECT i + {} AS id, 'C' || i AS code, i % 7 AS n FROM range(300) t (i)"
NAMED = "SELECT i AS {}, '{}' || i AS {}, i % 7 AS n FROM range(200) t (i)"
# Two tables, the key that is proposed, and what is counted by it.
KEYED: dict[str, tuple[str, str, tuple[str, ...], dict[str, int]]] = {
    **{
        f"the likeliest of {select}": (*(f"SELECT {select} t (i)",) * 2, key, {})
        for select, key in (
            ("i AS amount, i AS order_id FROM range(50)", ("order_id",)),
            ("i % 3 AS company, i // 3 AS period, i * 7 AS amount FROM range(60)", ("amount",)),
            ("i % 3 AS company, i // 3 AS period, 5 AS v FROM range(60)", ("company", "period")),
            ("i % 2 AS a, i // 2 % 3 AS b, i // 6 AS c, 1.5 AS v FROM range(30)", tuple("abc")),
            ("i + 0.5 AS v, 'name ' || i AS name FROM range(50)", ("name",)),
        )
    },
    "a key that is repeated on one side": (
        *(IDS.format("i"), IDS.format("i % 19")),
        *(("id",), {"duplicate_keys_b": 1}),
    ),
    "no column that identifies a side": (
        *(PAYMENTS.format(moved=0, again=0), PAYMENTS.format(moved=1055, again=20)),
        *(("payment_ref",), {"differing": 1035, "only_in_a": 0, "duplicate_keys_b": 20}),
    ),
    "no column that most rows of b repeat": (
        *(LINES, f"{LINES} WHERE i % 4 = 0"),
        *(("order_no", "line_no"), {"matched": 100, "only_in_a": 300}),
    ),
    "a key by which most rows meet": (
        *(MOVED.format(0), MOVED.format(1_000_000), ("code",), {"differing": 300}),
    ),
    "an id in both before a column of another name": (
        *(NAMED.format("id", "R", "ref"), NAMED.format("id", "R", "ref_no")),
        *(("id",), {"matched": 200}),
    ),
    "the primary key": (
        *("CREATE TABLE t (id INT, code TEXT PRIMARY KEY); INSERT INTO t VALUES (1, 'x')",) * 2,
        *(("code",), {"matched": 1}),
    ),
}


@pytest.mark.parametrize("name", KEYED)
def test_the_key_that_is_proposed(result_of: Keyed, name: str) -> None:
    a, b, key, counts = KEYED[name]
    result = result_of(a, b)
    assert result.key.columns == key
    assert (result.key.origin == "profile") == (name != "the primary key")
    assert "No key was given" in result.key.reason
    assert result.rows.to_dict() == result.rows.to_dict() | counts
    one_side = "no two rows of main#t have the same value" in result.key.reason
    assert one_side == ("duplicate_keys_b" in counts)
    renamed = [("ref", "ref_no")] if "another name" in name else []
    assert [(each.a, each.b) for each in result.proposals] == renamed


INVOICES = "SELECT 'I' || i % 60 AS {}, i % 5 AS {}, 'open' AS status FROM range(200) t (i)"
# Two tables without a key, and what is said of them.
UNKEYED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "no unique columns": (
        *("SELECT 1 AS a, 2 AS b FROM range(5) t (i)",) * 2,
        ("no column or combination", "multiset"),
    ),
    "a float": (*("SELECT i % 2 + 0.5 AS v FROM range(5) t (i)",) * 2, ("multiset",)),
    "a renamed key": (
        *(NAMED.format("customer_id", "x", "email"), NAMED.format("cust_id", "new", "email")),
        ("--map customer_id=cust_id --key customer_id (100 % of the values",),
    ),
    "near candidates": (
        "SELECT format('{:04d}', i) AS id, 'P' || i % 100 AS ref, 5 AS n FROM range(120) t (i)",
        "SELECT i AS id, 'P' || i % 97 AS ref, 5 AS n FROM range(120) t (i)",
        (
            "20 values of ref occur more than once in main#t and 23 in ",
            "id cannot be compared: VARCHAR and BIGINT have no common form",
            "main#t holds '0000', '0001'",
        ),
    ),
    "pairs that may be one": (
        *(INVOICES.format("invoice", "region"), INVOICES.format("inv", "area")),
        ("--map invoice=inv", "--map region=area"),
    ),
}


@pytest.mark.parametrize("name", UNKEYED)
def test_tables_without_a_key_are_refused_with_what_may_be_one(result_of: Keyed, name: str) -> None:
    a, b, said = UNKEYED[name]
    with pytest.raises(InvalidInputError) as refusal:
        result_of(a, b)
    assert [words for words in said if words not in str(refusal.value)] == []


def test_a_name_is_that_of_a_although_a_column_of_b_has_it_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,v,s\n1,2,x\n2,1,y\n")
    path = str(tmp_path / "a.csv")
    questions: tuple[dict[str, Any], ...] = (
        {"key": ("id",)},
        {"key": ("s",), "columns": ("id",)},
        {"key": ("s",), "filters": {"id": 1}},
    )
    for question in questions:
        with pytest.raises(InvalidInputError, match="'id'"):
            compared(path, path, map={"v": "id"}, **question)
    assert compared(path, path, map={"v": "id"}, key=("v",)).rows.met == 2
    exchanged = {"map": {"v": "id", "id": "v"}, "key": ("v",)}
    assert compared(path, path, **exchanged, filters={"v": 1}).rows.rows_b == 1
    assert compared(path, path, **exchanged, filters={"v": 1}).rows.only_in_b == 0
