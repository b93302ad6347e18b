"""Files whose form has to be stated, packed files, JSON, hostile files: exact, or messages."""

import gzip
import json
import tracemalloc
from collections.abc import Mapping
from contextlib import aclosing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from tests.support.workbooks import write_workbook

from skillian.connectors import connect
from skillian.errors import QueryError, UnavailableError


async def rows_of(folder: Path, name: str, query: str = "") -> list[dict[str, Any]]:
    options = f"?{quote(query, safe='=&,;')}" if query else ""
    connector: Any = connect("c", f"files:///{folder / name}{options}", folder)
    async with aclosing(connector):
        first, *_ = await connector.catalog()
        assert first.name == name
        assert list(first.columns)
        table = await connector.run(f'SELECT * FROM "{name}"', {})  # noqa: S608 - our own name
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


async def refusal(folder: Path, name: str, query: str = "") -> str:
    with pytest.raises(QueryError) as refused:
        await rows_of(folder, name, query)
    return str(refused.value).removeprefix("connection 'c': ")


def money(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


def days(*texts: str) -> list[date]:
    return [date.fromisoformat(text) for text in texts]


@pytest.mark.parametrize(
    ("content", "query", "expected"),
    [
        ("a;b\n1;1,5\n2;-0,25\n", "decimal=,", {"a": [1, 2], "b": money("1.50", "-0.25")}),
        (
            "a;b\n1;1.234,5\n2;-1.000.000,25\n3;7\n",
            "decimal=,&thousands=.",
            {"a": [1, 2, 3], "b": money("1234.50", "-1000000.25", "7")},
        ),
        ('a,b\n1,"1,234"\n2,"12"\n', "thousands=,", {"a": [1, 2], "b": [1234, 12]}),
        # A point is not a decimal sign where a comma is.
        ("a;b\n1;1.5\n2;2,5\n", "decimal=,", {"a": [1, 2], "b": ["1.5", "2,5"]}),
        ("a;b\n1;1.23\n2;1.234\n", "thousands=.&decimal=,", {"a": [1, 2], "b": ["1.23", "1.234"]}),
        ("a,b\n1,NA\n2,3\n3,-\n", "null=NA&null=-", {"a": [1, 2, 3], "b": [None, 3, None]}),
        ('a,b\n1,NA\n2,"NA"\n', "null=NA", {"a": [1, 2], "b": [None, "NA"]}),
        ("a|b,c\n1|x,y\n", "delimiter=|", {"a": [1], "b,c": ["x,y"]}),
        ("a\tb;c\n1\t2;3\n", "delimiter=tab", {"a": [1], "b;c": ["2;3"]}),
        ("a,b\n1,'x,''y'\n", "quote='", {"a": [1], "b": ["x,'y"]}),
        ("Report\n\na,b\n1,2\n", "header=3", {"a": [1], "b": [2]}),
        ("d\n25.07.2024\n01.02.1950\n", "dates=%d.%m.%Y", {"d": days("2024-07-25", "1950-02-01")}),
        (
            "d,e\n7/4/24,2024-01-31\n,\n",
            "dates=%-m/%-d/%y",
            {"d": [*days("2024-07-04"), None], "e": [*days("2024-01-31"), None]},
        ),
        ("d,n\n20240725,20241399\n", "dates=%Y%m%d", {"d": days("2024-07-25"), "n": [20241399]}),
        # A day that does not exist, a year of two digits, a day without its zero: a text.
        ("d\n30.02.2024\n", "dates=%d.%m.%Y", {"d": ["30.02.2024"]}),
        ("d\n25.07.24\n", "dates=%d.%m.%Y", {"d": ["25.07.24"]}),
        ("d\n25.07.2024\n5.7.2024\n", "dates=%d.%m.%Y", {"d": ["25.07.2024", "5.7.2024"]}),
        ("1,x\n2,y\n", "header=0", {"column_1": [1, 2], "column_2": ["x", "y"]}),
    ],
)
async def test_csv_is_read_as_stated(
    tmp_path: Path, content: str, query: str, expected: Mapping[str, list[Any]]
) -> None:
    (tmp_path / "x.csv").write_text(content, encoding="utf-8")
    rows = await rows_of(tmp_path, "x.csv", query)
    assert {name: [row[name] for row in rows] for name in expected} == expected
    assert list(rows[0]) == list(expected)


async def test_an_encoding_is_stated_or_marked(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("name,n\nGröße,1\n".encode("latin-1"))
    assert await rows_of(tmp_path, "x.csv", "encoding=latin-1") == [{"name": "Größe", "n": 1}]
    assert "line 2: byte 0xf6 is not" in await refusal(tmp_path, "x.csv", "encoding=ascii")
    assert "line 1: the start is not" in await refusal(tmp_path, "x.csv", "encoding=utf-16")
    (tmp_path / "u.csv").write_bytes("name,n\nGröße,1\n".encode("utf-16"))
    assert await rows_of(tmp_path, "u.csv") == [{"name": "Größe", "n": 1}]
    assert "begins with the mark" in await refusal(tmp_path, "u.csv", "encoding=latin-1")


async def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("Report\n\na,b\n1,2\n3\n", encoding="utf-8")
    said = await refusal(tmp_path, "x.csv", "header=3")
    assert said.startswith("x.csv, line 5: it has 1 value, but the header names 2 columns")
    assert said.endswith("a value with a delimiter in it")
    (tmp_path / "y.csv").write_text("1,2\n3\n", encoding="utf-8")
    assert (await refusal(tmp_path, "y.csv", "header=0")).startswith("y.csv, line 2: ")


async def test_packed_files_are_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "x.csv.gz", "wt", encoding="utf-8") as file:
        file.write("a,b\n1,2.50\n")
    assert await rows_of(tmp_path, "x.csv.gz") == [{"a": 1, "b": Decimal("2.50")}]
    whole = (tmp_path / "x.csv.gz").read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(whole[:-9])
    assert "not a complete gzip file; pack it again" in await refusal(tmp_path, "cut.csv.gz")


OBJECTS = (
    '{"id": 1, "code": "007", "v": 0.10, "d": "2024-01-31", "ok": true, "x": null}',
    '{"id": 2, "code": "12", "v": 12345678901234567890.25, "d": null, "tags": ["a", {"b": 1.5}]}',
)
LISTED = f"[{', '.join(OBJECTS)}]"
IN_ONE = f'{{"v": {LISTED}}}', f'{{\n"n": 2,\n"tags": [1],\n"v": {LISTED}}}\n'


@pytest.mark.parametrize("content", ["\n".join(OBJECTS) + "\n", LISTED, *IN_ONE])
@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.ndjson", "x.jsonl.gz"])
async def test_json_is_exact(tmp_path: Path, name: str, content: str) -> None:
    write: Any = gzip.open if name.endswith(".gz") else open
    with write(tmp_path / name, "wt", encoding="utf-8") as file:
        file.write(content)
    first, second = await rows_of(tmp_path, name)
    text = {"id": 1, "code": "007", "d": date(2024, 1, 31), "tags": None}
    assert first == {**text, "v": Decimal("0.10"), "ok": True, "x": None}
    assert (second["code"], second["tags"]) == ("12", '["a", {"b": 1.5}]')
    assert second["v"] == Decimal("12345678901234567890.25")


NOTATIONS = {
    "1.0": "1", "10.50": "1.05e1", "1E2": "100", "-0.0": "0", "1e-7": "0.00000010",
    "12345678901234567890.0": "12345678901234567890",
}  # fmt: skip


async def test_numbers_in_objects_of_json_have_one_notation(tmp_path: Path) -> None:
    objects = [f'{{"n": [{one}], "m": {one}}}' for pair in NOTATIONS.items() for one in pair]
    lines = "".join(f'{{"v": {each}}}\n' for each in objects)
    (tmp_path / "x.jsonl").write_text(lines, encoding="utf-8")
    rows = [row["v"] for row in await rows_of(tmp_path, "x.jsonl")]
    assert rows[::2] == rows[1::2]
    (tmp_path / "x.jsonl").write_text('{"v": [0.12345678901234567890123456789012, 1.50]}\n')
    assert await rows_of(tmp_path, "x.jsonl") == [
        {"v": "[0.12345678901234567890123456789012, 1.5]"}
    ]


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('{"count": 2, "next": null, "results": [{"id": 1}, {"id": 2}]}', "results"),
        ('{"meta": {"page": 1}, "data": {"rows": [{"id": 1}, {"id": 2}]}}', "data.rows"),
        ('{"a": [{"id": 1}], "b": [{"id": 1}]}', ""),
        ('{"a": {"x": [{"id": 1}]}, "b": {"y": [{"id": 1}]}}', ""),
        ('{"a": {"b": {"c": [{"id": 1}]}}}', ""),
    ],
)
async def test_a_page_of_an_api_has_rows(tmp_path: Path, content: str, where: str) -> None:
    (tmp_path / "x.json").write_text(content)
    (tmp_path / "x.jsonl").write_text(content)  # one object on each line, of which there is one
    page, line = await rows_of(tmp_path, "x.json"), await rows_of(tmp_path, "x.jsonl")
    assert [*line[0]] == [*json.loads(content)]
    assert page == ([{"id": 1}, {"id": 2}] if where else line)


async def test_members_of_one_object_may_be_rows(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"x": {"Key": 1}, "y": {"Key": 2}}')
    (tmp_path / "y.json").write_text('{"n": {"v": 1}, "v": {"id": 1}}')  # of two kinds
    assert await rows_of(tmp_path, "x.json") == [{"key_": "x", "Key": 1}, {"key_": "y", "Key": 2}]
    assert await rows_of(tmp_path, "y.json") == [{"n": '{"v": 1}', "v": '{"id": 1}'}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": \n', "x.jsonl, line 2: it is not JSON: "),
        ("[1, 2]", "x.jsonl, entry 1: it is not an object"),
        ('{"a": 1}\n7\n', "x.jsonl, line 2: it is not an object"),
        ('{"a": 1, "a": 2}\n', "x.jsonl, line 1: an object has the key 'a' twice"),
        ("", "x.jsonl: it has no objects"),
        ("[" * 100_000, "x.jsonl, line 1: "),
        (f'{{"a": 1}}\n{{"a": {"1" * 5000}}}\n', "x.jsonl, line 2: a number in it is too long"),
        ('{"a": 1e9999999999999999999}', "x.jsonl, line 1: a number in it is too long"),
        ('{\n"a": [{"b": 1}],\n"c": [{"b": 1}]}', "x.jsonl: it is one object with 2 arrays"),
    ],
)
async def test_what_is_not_json_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "x.jsonl").write_text(content, encoding="utf-8")
    assert (await refusal(tmp_path, "x.jsonl")).startswith(message)


async def test_a_workbook_is_read_as_stated(tmp_path: Path) -> None:
    one = [("Report",), (), ("id", "v"), (1, "NA")]
    write_workbook(tmp_path / "x.xlsx", {"One": one, "Two": [("k",), (7,)]})
    assert await rows_of(tmp_path, "x.xlsx", "header=3&null=NA") == [{"id": 1, "v": None}]
    assert (await rows_of(tmp_path, "x.xlsx", "sheet=Two&header=0"))[0] == {"A": "k"}


UNKNOWN = {
    "decimal=xx": "decimal='xx' is not a single sign",
    "delimiter=a": "delimiter='a' is not a single sign",
    "header=first": "header='first' is not the number of a line",
    "decimal=,&thousands=,": "are the same",
    "dates=%25d.%25m": "dates='%d.%m' is not how a date is written: it needs a day",
    "dates=%25d.%25m.%25Y %25H": "is not how a date is written",
    "dates=%25d.%25m.%25y %25Y": "is not how a date is written",
    "dates=%25Y%25m%25d%25": "is not how a date is written",
}


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    for query, message in UNKNOWN.items():
        with pytest.raises(UnavailableError) as refused:
            connect("c", f"files:///{tmp_path / 'x.csv'}?{query}", tmp_path)
        assert message in str(refused.value)


MEGABYTE = 10**6
X = "x" * 3 * MEGABYTE
TOO_LONG = "it is longer than 2097152 bytes"
LINES = {
    f"id,v\n1,a\n2,{X}": f"a.csv, last line: {TOO_LONG}",
    f"id,v\n1,a\n2,{X}\n": f"a.csv, last line: {TOO_LONG}",
    f"id,v\n1,a\n2,{X * 13}": f"a.csv, last line: {TOO_LONG}",
    f"id,v\n1,a\n2,{X}\n3,b\n": f"a.csv, line 3: {TOO_LONG}",
    f"id,v\n1,{X[:200_000]}\n2\n": "line 3: it has 1 value, but the first",  # below a long cell
}


async def test_a_line_that_is_too_long_is_named_and_never_left_out(tmp_path: Path) -> None:
    for content, said in LINES.items():
        (tmp_path / "a.csv").write_text(content)
        assert said in await refusal(tmp_path, "a.csv")


async def test_a_header_without_end_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x" * 20 * MEGABYTE)
    tracemalloc.start()
    try:
        found = await refusal(tmp_path, "a.csv")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "line 1: its column names are longer than 1000000 characters" in found
    assert peak < 20 * MEGABYTE


async def test_a_packed_file_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb") as packed:
        packed.write(b"id,v\n1," + b"0" * 110 * MEGABYTE)
    assert "a.csv.gz: it unpacks to more than 200 times its size" in await refusal(
        tmp_path, "a.csv.gz"
    )


async def test_a_workbook_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "plain.xlsx", {"One": [("id",), (1,)]})
    filled = b"</sheetData><!--" + b" " * 110 * MEGABYTE + b"-->"
    with (
        ZipFile(path) as plain,
        ZipFile(tmp_path / "a.xlsx", "w", ZIP_DEFLATED) as bomb,
    ):
        for part in plain.infolist():
            bomb.writestr(part.filename, plain.read(part).replace(b"</sheetData>", filled))
    assert "a.xlsx: it unpacks to more than 200 times its size" in await refusal(tmp_path, "a.xlsx")
