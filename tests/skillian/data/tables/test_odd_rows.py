"""Rows that are repeated, inherited, long, of one side or in part unreadable; and the preview."""

from pathlib import Path
from typing import Any

import pytest
from tests.skillian.data.tables.comparing import compare, compared
from tests.skillian.data.tables.conftest import Store
from tests.support.asking import rows_asked

from skillian.data.comparison.page import Page, PageOrders
from skillian.data.query.relation import bare_tables
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices
from skillian.data.sql.values import python_rows
from skillian.data.subjects import ROW_CLASSES
from skillian.data.tables.across import segments
from skillian.data.tables.differing import DifferingCell, DifferingRow, DifferingRows
from skillian.data.tables.engine import TablePreview
from skillian.data.tables.findings import MAX_SHOWN
from skillian.errors import QueryError


def files(folder: Path, a: str, b: str) -> tuple[str, str]:
    (folder / "a.csv").write_text(a)
    (folder / "b.csv").write_text(b)
    return str(folder / "a.csv"), str(folder / "b.csv")


def good(store: Store, columns: str, rows: str) -> str:
    return f"{store('duckdb', f'CREATE TABLE t ({columns})', f'INSERT INTO t VALUES {rows}')}#t"  # noqa: S608


def test_a_text_file_is_compared_with_texts_as_it_is_written(store: Store, tmp_path: Path) -> None:
    columns = "id VARCHAR, d VARCHAR, n VARCHAR, x VARCHAR, m VARCHAR, z VARCHAR, b VARCHAR"
    rows = (
        "('10000000000000000001', '2024-01-31', '5', '1.50', '2024-01-02 03:04',"
        " '2024-01-02T03:04Z', 'true'), ('2', '2024-02-30', '07', '2.0', '2024-01-02T03:04',"
        " '2024-01-02 03:04+00', '1'),"
        " ('03', NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    texts = good(store, columns, rows)
    file = tmp_path / "a.csv"
    file.write_text(
        "id,d,n,x,m,z,b\n"
        "10000000000000000001,2024-01-31,5,1.50,2024-01-02 03:04,2024-01-02T03:04Z,true\n"
        "2,2024-02-28,7,2,2024-01-02 03:04,2024-01-02 03:04Z,True\n"
        "3,,,,,,\n"
    )
    for pair in ((str(file), texts), (texts, str(file))):
        result = compared(*pair, key=("id",))
        assert (result.rows.matched, result.rows.differing) == (1, 1)
        assert (result.rows.only_in_a, result.rows.only_in_b) == (1, 1)
        assert {each.a: each.mismatches for each in result.columns} == dict.fromkeys("dnxmzb", 1)
        assert not result.not_compared
        written = f"id, d, n, x, m, z, b of {file} are compared as text, as they are written."
        assert written in result.notes
    other = tmp_path / "b.csv"
    for none in ("NA", r"\N"):
        other.write_text(f"id,d,n\n1,2024-01-31,{none}\n2,2024-02-28,7\n3,,\n")
        [refused] = compared(str(file), str(other), key=("id",)).not_compared
        assert f"add '?null={none}'" in refused.reason
    other.write_text("id,d,n\n1,31.01.2024,5\n2,28.02.2024,7\n3,,\n")
    [refused] = compared(str(file), str(other), key=("id",)).not_compared
    assert "add '?dates=%d.%m.%Y'" in refused.reason


def test_texts_of_a_file_are_read_in_the_types_of_the_other_side(
    store: Store, tmp_path: Path
) -> None:
    rows = "(1, 1.50, 7, 2.5, '10:00:00', true), (2, 0.05, 8, 1e-3, '10:00:00.5', NULL)"
    columns = "id BIGINT, x DECIMAL(9, 2), code INT, f DOUBLE, t TIME, b BOOLEAN"
    typed, file = good(store, columns, rows), tmp_path / "a.jsonl"
    row = '{"id": "1", "x": "1.5", "code": "007", "f": "2.50", "t": "10:00:00", "b": "t"}'
    other = '{"id": "2", "x": "0.06", "code": "8", "f": "0.001", "t": "10:00:00.500"}'
    file.write_text(f"{row}\n{other}\n")
    for pair in ((str(file), typed), (typed, str(file))):
        result = compared(*pair)
        assert (result.key.columns, result.rows.matched, result.rows.differing) == (("id",), 1, 1)
        counts = {each.a: each.mismatches for each in result.columns}
        assert counts == {"x": 1, "f": 0, "t": 0, "b": 0}
        assert [each.column for each in result.not_compared] == ["code"]
        read = f"id, x, f, t, b of {file} are text, read in the types of the other side."
        assert read in result.notes
        assert [each.column_a for each in result.schema.differences] == ["code"]
    postgres = store("postgres", "CREATE TABLE t (id int PRIMARY KEY, x numeric, t time)")
    assert compared(str(file), f"{postgres}#t", columns=("x", "t")).rows.only_in_a == 2


_LAST = "9999-12-31"
# Days that are in no calendar, what is said of them, and filters that leave them out.
DAYS: tuple[tuple[str, str, str, tuple[dict[str, Any], ...]], ...] = (
    (
        *("mysql", "('0000-00-00')", "0000-00-.* is not a valid date; .*--where"),
        ({"gte": "0001-01-01", "lte": _LAST},),
    ),
    ("mysql", "('2024-00-15')", "2024-00-.* is not a valid date; (?!.*--where)", ()),
    (
        *("postgres", "('infinity'), ('-infinity')", "the years 1 to 9999; .*--where 'day<=9999"),
        ({"between": ["0001-01-01", _LAST]}, {"lte": _LAST, "gt": "0001-01-01"}),
    ),
)


@pytest.mark.parametrize(("database", "days", "said", "filters"), DAYS)
def test_a_day_of_no_calendar_is_refused_in_a_key_and_may_be_left_out(
    store: Store, database: str, days: str, said: str, filters: tuple[dict[str, Any], ...]
) -> None:
    insert = f"INSERT INTO t VALUES {days}, ('2024-01-01')"  # noqa: S608 - ours
    table = f"{store(database, 'CREATE TABLE t (day DATE)', insert)}#t"
    other = table if database == "mysql" else good(store, "day DATE", "('2024-01-01')")
    with pytest.raises(QueryError, match=f"'day' .*{said}"):
        compared(other, table, key=("day",))
    for each in filters:
        assert compared(other, table, key=("day",), filters={"day": each}).rows.matched == 1


def test_only_the_keys_are_read_to_find_those_that_are_repeated(store: Store) -> None:
    made = "SELECT CAST(i AS INT) AS k, 'x' AS t, 5 AS v FROM range(50) r (i)"
    a = store("duckdb", f"CREATE TABLE t AS {made}")
    b = store("duckdb other", f"CREATE TABLE t AS {made} UNION ALL SELECT 7, 'x', 6")
    result = compared(f"{a}#t", f"{b}#t", key=("k", "t"))
    assert (result.rows.matched, result.rows.duplicate_keys_b) == (49, 1)
    repeated = result.proof.sql.partition("repeated_keys")[2].partition("UNION ALL")[0]
    assert "GROUP BY" in repeated
    assert '"v"' not in repeated


LONG = "x" * 5000


@pytest.mark.parametrize("multiset", [False, True])
async def test_long_cells_are_compared_whole_and_shown_cut(
    tmp_path: Path, *, multiset: bool
) -> None:
    pair = files(tmp_path, *(f"id,note\n1,{LONG}{n}\n2,{'y' * MAX_SHOWN}\n" for n in (1, 2)))
    result = await compare(*pair, key=() if multiset else ("id",), multiset=multiset)
    shown = f"{LONG[:MAX_SHOWN]}… (4001 more characters)"
    assert result.rows.matched == 1
    if multiset:
        assert result.samples.only_in_a[0].key["note"] == shown
        return
    assert result.samples.differing[0].cells["note"] == (shown, shown)
    assert (result.columns[0].mismatches, result.columns[0].pairs[0].a) == (1, shown)


async def preview(folder: Path, a: str, b: str) -> TablePreview:
    registry, (one, other) = await bare_tables(files(folder, a, b))
    async with DataServices(registry) as data:
        return await data.engine.tables.preview(rows_asked(one, other))


async def test_a_preview_has_the_key_and_the_columns_of_the_comparison(tmp_path: Path) -> None:
    seen = await preview(tmp_path, "id,v,w\n1,x,1.5\n2,y,2\n", "id,v,w\n1,x,q\n3,y,r\n")
    assert seen.key is not None
    assert (seen.key.columns, seen.key.origin, seen.no_key) == (("id",), "profile", "")
    assert [pair.a for pair in seen.pairs] == ["id", "v"]
    assert [each.column for each in seen.not_compared] == ["w"]
    seen = await preview(tmp_path, "v\nx\nx\n", "v\nx\nx\n")
    assert (seen.key, "identifies a row" in seen.no_key) == (None, True)


Rows = list[dict[str, Any]]
A = (
    """CREATE TABLE a (id INTEGER, note VARCHAR(20), town VARCHAR(20), paid DECIMAL(10, 2),
    ratio DOUBLE PRECISION)""",
    """INSERT INTO a VALUES (1, 'x', 'Ulm', 1.5, 0.1), (2, 'x', 'Bonn', 2, 0.2),
    (3, 'x', 'Kiel', 3.50, 0.3), (5, 'x', NULL, NULL, NULL)""",
)
B = (
    "CREATE TABLE b (id INTEGER, note VARCHAR(20), born DATE)",
    "INSERT INTO b VALUES (1, 'x', '2020-01-01'), (2, 'y', '2020-01-02'), (4, 'x', '2020-01-04')",
)
SAME = "FROM generate_series(100, 3099) AS s(n)"


async def kept(
    a: str, b: str, **question: Any
) -> tuple[ComparisonResult, Rows, list[DifferingRow]]:
    """The result, and all rows that differ, as they are written and as a page has them."""
    rows: Rows = []
    shown: list[DifferingRow] = []

    async def keep(found: DifferingRows) -> None:
        async for batch in found.batches():
            rows.extend(python_rows(batch))
        _, page = await found.page(Page(tuple(ROW_CLASSES)), PageOrders(found.workspace, []))
        shown.extend(page)

    return await compare(a, b, keep=keep, **question), rows, shown


@pytest.mark.parametrize("place", ["duckdb", "postgres", "mysql", "across"])
async def test_rows_of_one_side_have_all_their_columns(
    store: Store, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if place == "across":
        for name, value in {"SMALL": 1000, "FEW_ROWS": 16, "RANGES": 256, "WORTH": 1}.items():
            monkeypatch.setattr(segments, name, value)
        a = store("postgres", *A, f"INSERT INTO a SELECT n, 'x', 'same', 1, 1 {SAME}")
        b = store("duckdb", *B, f"INSERT INTO b SELECT n, 'x', NULL {SAME}")
    else:
        a = b = store(place, *A, *B)
    result, rows, page = await kept(f"{a}#a", f"{b}#b", key=("id",))
    own = {"town", "paid", "ratio"}
    assert [{*row.own} for row in page] == [set(), own, own, {"born"}]
    assert result.rows.matched == (3001 if place == "across" else 1)
    assert any("checksums" in note for note in result.notes) == (place == "across")
    names = ("class", "id", "town a", "paid a", "ratio a", "born b")
    assert [tuple(str(row[name]) for name in names) for row in rows] == [
        ("differs", "2", *["None"] * 4),
        ("only in a", "3", "Kiel", "3.50", "0.3", "None"),
        ("only in a", "5", *["None"] * 4),
        ("only in b", "4", "None", "None", "None", "2020-01-04"),
    ]
    assert result.proof.place == ("database" if place in {"duckdb", "postgres"} else "workspace")


async def test_names_that_are_taken_get_a_number(tmp_path: Path) -> None:
    pair = files(tmp_path, "id,v,v A\n1,x,y\n", "id,v\n2,z\n")
    _, rows, _ = await kept(*pair, key=("id",))
    assert [row["v A a"] for row in rows] == ["y", None]
    pair = files(tmp_path, "id,t,t a,t a a\n1,x,y,z\n", "id,t\n2,z\n")
    _, [row, _], _ = await kept(*pair, key=("id",), map={"t a": "t"}, columns=None)
    assert [row[name] for name in list(row)[5:]] == ["y", None, "x", "z"]
    assert len({name.casefold() for name in row}) == len(row)


async def test_columns_that_are_not_asked_for_and_rows_without_a_key_have_none(
    tmp_path: Path,
) -> None:
    pair = files(tmp_path, "id,v,town,zip\n1,x,Ulm,9\n", "id,v\n2,x\n")
    questions: tuple[tuple[dict[str, Any], set[str]], ...] = (
        ({"key": ("id",), "columns": ("v",)}, set()),
        ({"key": ("id",), "ignore": ("town",)}, {"zip a"}),
        ({"multiset": True}, set()),
    )
    for question, expected in questions:
        _, rows, _ = await kept(*pair, **question)
        assert {"town a", "zip a"} & {*rows[0]} == expected


async def test_a_key_that_is_repeated_has_no_cells(tmp_path: Path) -> None:
    a = "id,v,town\n1,x,Ulm\n1,x,Bonn\n3,,Rome\n,x,Kiel\n"
    _, rows, page = await kept(*files(tmp_path, a, "id,v\n1,x\n2,x\n3,y\n"), key=("id",))
    shown = [(row.status, row.rows_a, row.rows_b, {**row.cells}) for row in page]
    differing = ("differing", 1, 1, {"v": DifferingCell(None, "y", differs=True)})
    assert [shown[0], shown[-1]] == [differing, ("duplicate", 2, 1, {})]
    assert [(row["class"], row["id"], row["town a"]) for row in rows] == [
        ("differs", 3, None),
        ("only in a", None, "Kiel"),
        ("only in b", 2, None),
        ("duplicate key", 1, None),
    ]


async def test_numbers_without_a_limit_are_numbers(store: Store) -> None:
    tables = [f"CREATE TABLE {each} (id numeric, x numeric, y numeric)" for each in "ab"]
    rows = "INSERT INTO a VALUES (9, 9, 'NaN'), (10, 10.25, 1e40), (-1.5, NULL, 0)"
    url = store("postgres", *tables, rows, "INSERT INTO b VALUES (9, 1)")
    _, found, _ = await kept(f"{url}#a", f"{url}#b", key=("id",))
    shown = sorted((row["id"], row["x a"], row["y a"]) for row in found)
    wanted = [("-1.5", None, "0"), ("9.0", "9.00", "NaN"), ("10.0", "10.25", f"{10**40}")]
    assert [tuple(each and str(each) for each in row) for row in shown] == wanted


async def test_a_column_that_cannot_be_read_is_left_out(store: Store, tmp_path: Path) -> None:
    a = store(
        "sqlite",
        "CREATE TABLE t (id INTEGER, v TEXT, bad INTEGER, good INTEGER)",
        "INSERT INTO t VALUES (1, 'x', 'abc', 7)",
    )
    (tmp_path / "b.csv").write_text("id,v\n2,x\n")
    result, rows, _ = await kept(f"{a}#t", str(tmp_path / "b.csv"), key=("id",))
    assert (result.rows.only_in_a, result.rows.only_in_b) == (1, 1)
    assert rows[0]["good a"] == 7
    assert "bad a" not in rows[0]
