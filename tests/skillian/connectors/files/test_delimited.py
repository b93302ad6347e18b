"""The types of CSV columns against Python's own reading of the same texts."""

import csv
import re
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillian.connectors.files import lines
from skillian.connectors.files.delimited import csv_select, csv_types
from skillian.connectors.files.lines import CsvFormat, find_fault, line_of, read_format
from skillian.connectors.files.options import FileOptions
from skillian.connectors.files.prepared import prepared
from skillian.errors import QueryError

whole = st.integers(-(10**20), 10**20)
decimals = st.decimals(-(10**18), 10**18, places=2) | st.decimals(-100, 100, places=5)
dates = st.dates()
moments = st.datetimes()
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
any_text = (
    whole.map(str)
    | decimals.map("{:f}".format)
    | dates.map(str)
    | moments.map(str)
    | st.sampled_from(["001", "+1", "-0", "1.", "1e5", " 1", "true", "False", "24:00", "1_0", "٣"])
    | st.sampled_from(["1e-05", "-1.25E+3", "1.0E10", "9.5e-7", " 2.5", "-0.5 ", "1e+400", "7-"])
    | texts
)


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all examples: opening it takes longer than anything else here."""
    connection = duckdb.connect()
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def read(columns: dict[str, list[str]]) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """Write the texts, all of them quoted, to a CSV file; return its types and its values."""
    cursor = database()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        form = read_format(path)
        types = csv_types(cursor, path, form)
        rows: Any = cursor.sql(csv_select(path, form, types).sql("duckdb"))
        values: dict[str, list[Any]] = rows.to_arrow_table().to_pydict()
        return {name: kind.sql for name, kind in types.items()}, values


@given(st.lists(any_text, min_size=1, max_size=4))
def test_a_column_is_never_read_as_what_it_does_not_say(written: list[str]) -> None:
    types, values = read({"a": written, "b": ["x"] * len(written)})
    kind = types["a"].partition("(")[0]
    readers: dict[str, Callable[[str], object]] = {
        "BIGINT": int,
        "DECIMAL": Decimal,
        "NUMERIC": lambda text: Decimal(re.sub("^ *(.*)- *$", r"-\1", text)),
        "DOUBLE": float,
        "BOOLEAN": lambda text: {"true": True, "false": False}[text.lower()],
        "DATE": date.fromisoformat,
        "TIMESTAMP": datetime.fromisoformat,
        "TIMESTAMP WITH TIME ZONE": lambda text: datetime.fromisoformat(text).astimezone(UTC),
        "VARCHAR": str,
    }
    assert values["a"] == [readers[kind](text) for text in written]
    if kind in {"BIGINT", "DATE"}:
        assert [*map(str, values["a"])] == written
    if kind == "DOUBLE":
        assert [Decimal(repr(value)) for value in values["a"]] == [*map(Decimal, written)]


# The texts of columns, with bars between them, by the type they are read as.
TYPES = {
    "BIGINT": ("1|22",),
    "DECIMAL(38,0)": ("9223372036854775808", "1.5E10|-3e+02", "1012|1e3|-1e5|7"),
    "DECIMAL(38,2)": (" 1|2.50 ",),
    "NUMERIC(38,2)": ("1.50-| 2- |-3",),
    "DECIMAL(38,3)": ("1|2.50|.125|-.5",),
    "DECIMAL(38,5)": ("1e-05|2.5",),
    "DOUBLE": ("1e-300", "1.2345678901234566E-25|0.050|-2.5 ", "1.5e+308|5e-324|0.0"),
    "BOOLEAN": ("TRUE|false",),
    "DATE": ("2024-02-29",),
    "TIMESTAMP": ("2024-02-29 10:00:00.123456", "2024-02-29 10:00:00.1234560"),
    "TIMESTAMP WITH TIME ZONE": ("2024-02-29T10:00Z|2024-02-29T10:00+05:30",),
    "VARCHAR": (
        *("1" * 39, "1" * 30 + "|0." + "1" * 9, "1" + "0" * 38, "001", "+1", "01.5", "1,5"),
        *("1e5", "1e5|2e3|7", "1|12E4", "1|1E5", "12.5e-3", "1.23456789012345678e-25|0.5"),
        *("1e-400|0.5", "1.5e+309|0.5", "-5-|5--|-", " 1|2", "true|1", "2023-02-29", "0000-01-01"),
        *("2024-02-29|2024-02-29 10:00", "", "2024-02-29 10:00:00.1234567", "2024-02-29 24:00"),
        *("2024-02-29T10:00Z|2024-02-29T10:00", "\t1.5"),
    ),
}


def test_offsets_are_read_as_programs_write_them() -> None:
    # pyarrow, polars, BigQuery, SQL Server, Snowflake, PostgreSQL
    written = [
        *("2024-02-29 10:00:00.500+0530", "2024-02-29T04:30:00.5Z", "2024-02-29 04:30:00.50 UTC"),
        *("2024-02-29 10:00:00.5000000 +05:30", "2024-02-28 22:30:00.5 -0600"),
        "2024-02-29 04:30:00.5+00",
    ]
    instant = datetime(2024, 2, 29, 4, 30, 0, 500_000, UTC)
    assert read({"a": written})[1]["a"] == [instant] * len(written)


def test_types() -> None:
    for kind, columns in TYPES.items():
        for written in columns:
            assert read({"a": written.split("|")})[0] == {"a": kind}, written


def file_of(folder: Path, content: bytes | str) -> Path:
    path = folder / "a.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "delimiter", "names"),
    [
        ("id,amount\n1,2\n", ",", ["id", "amount"]),
        ("id;amount, in EUR\r\n1;2,5\r\n", ";", ["id", "amount, in EUR"]),
        ("id\tamount\n", "\t", ["id", "amount"]),
        ("id|amount\r1|2\r", "|", ["id", "amount"]),
        ('"a;b","c\nd"\n1,2\n', ",", ["a;b", "c d"]),
        ('\ufeff"a", b ,A,\n', ",", ["a_2", "b", "A_1", "column_4"]),
        ("company,2023,2024\n", ",", ["company", "2023", "2024"]),
        ('$p0,"a;b"', ",", ["$p0", "a;b"]),
        ("lonely", ",", ["lonely"]),
    ],
)
def test_the_first_line_has_delimiter_and_names(
    tmp_path: Path, content: str, delimiter: str, names: list[str]
) -> None:
    form = read_format(file_of(tmp_path, content))
    assert list(form.names) == names
    assert form.delimiter == delimiter


def test_a_column_without_a_name_and_a_value_is_none(tmp_path: Path) -> None:
    path = file_of(tmp_path, "id,,v,,\n1,,2,3,\n")
    assert [*csv_types(duckdb.connect(), path, read_format(path))] == ["id", "v", "column_4"]


def test_a_first_line_of_values_is_refused(tmp_path: Path) -> None:
    for content in ("", "\n", "1001,5.5\n", "2024-01-31;-7,5;\n"):
        with pytest.raises(QueryError, match=r"a\.csv, line 1: it has no column names"):
            read_format(file_of(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "names", "line"),
    [
        ("\n \r\nid,v\n1,n/a\n", ("id", "v"), 4),
        ("sep=;\nid, x;v\n1;n/a\n", ("id, x", "v"), 3),
        ('\ufeff"sep=,"\r\n\r\nid,v;w\r\n1,n/a\r\n', ("id", "v;w"), 4),
        ("sep=|\nid\n\n1\n", ("id",), None),
        ("sep,id\n1,n/a\n", ("sep", "id"), 2),
    ],
)
def test_empty_lines_and_what_is_written_for_excel_are_above_the_names(
    tmp_path: Path, content: str, names: tuple[str, ...], line: int | None
) -> None:
    path = file_of(tmp_path, content)
    copies = tmp_path / "copies"
    copies.mkdir()
    file = prepared(path, FileOptions(), copies)
    form = read_format(path, file)
    assert form.names == names
    assert line_of(path, names[-1], "n/a", file) == line
    assert csv_types(database(), file.path, form)[names[0]].kind in {"integer", "text"}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("a,b\n1,2\n3\n", "a.csv, line 3: it has 1 value, but the first line names 2 columns"),
        ('a,b\n"x\ny",2\n\n1,2,3\n', "a.csv, line 5: it has 3 values"),
        ('a,b\n1,"open\n', "a.csv, line 2: a quote is opened and not closed"),
        (b"a,b\n1,2\n3,\xff\n", "a.csv, line 3: it is not UTF-8 text; save it as UTF-8"),
        ('a,b\r\n1,"2\n"\r\n3,4\n', "a.csv, line 4: it ends with LF, and the lines above"),
    ],
)
def test_a_fault_is_found_with_its_line(tmp_path: Path, content: bytes | str, fault: str) -> None:
    found = find_fault(file_of(tmp_path, content), CsvFormat(",", ("a", "b")))
    assert found.startswith(fault)


def test_a_value_is_found_by_the_line_where_its_record_begins(tmp_path: Path) -> None:
    path = file_of(tmp_path, 'a,b\n"x\ny",1\n\n2,"n/a"\n3,n/a\n')
    assert line_of(path, "b", "n/a") == 5
    assert line_of(path, "a", "b") is None


def test_the_search_for_a_line_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MAX_RECORDS", 3)
    path = file_of(tmp_path, "a\n1\n2\n3\n")
    assert [line_of(path, "a", value) for value in "123"] == [2, 3, None]


@pytest.mark.parametrize("columns", [8, 800])
def test_the_tests_of_types_are_planned_once_for_all_columns(tmp_path: Path, columns: int) -> None:
    values = {"BIGINT": "1", "DECIMAL(38,1)": "1.5", "VARCHAR": "x", "DATE": "2026-01-31"}
    kinds = [[*values][number % 4] for number in range(columns)]
    header = ",".join(f"c{number}" for number in range(columns))
    path = file_of(tmp_path, f"{header}\n{','.join(values[kind] for kind in kinds)}\n")
    noted = Mock(wraps=database())
    types = csv_types(noted, path, read_format(path))
    assert [kind.sql for kind in types.values()] == kinds
    assert noted.execute.call_count == 2
    assert all(call.args[0].count("COUNT_IF") <= 6 for call in noted.execute.call_args_list)
