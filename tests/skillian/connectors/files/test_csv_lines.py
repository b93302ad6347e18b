from pathlib import Path

import pytest

from skillian.connectors.files import delimited
from skillian.connectors.files.delimited import (
    CsvFormat,
    column_names,
    find_fault,
    line_of,
    read_format,
)
from skillian.errors import QueryError


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
        ('\ufeff"a", b ,A,\n', ",", ["a_1", "b", "A_2", "column_4"]),
        ("company,2023,2024\n", ",", ["company", "2023", "2024"]),
        ('$p0,"a;b"', ",", ["$p0", "a;b"]),
        ("lonely", ",", ["lonely"]),
    ],
)
def test_the_first_line_tells_delimiter_and_names(
    tmp_path: Path, content: str, delimiter: str, names: list[str]
) -> None:
    form = read_format(file_of(tmp_path, content))
    assert list(form.names) == names
    assert form.delimiter == delimiter


@pytest.mark.parametrize("content", ["", "\n", "1001,5.5\n", "2024-01-31;-7,5;\n"])
def test_a_first_line_of_values_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(QueryError, match=r"a\.csv, line 1: it has no column names"):
        read_format(file_of(tmp_path, content))


def test_names_differ_in_more_than_case() -> None:
    names = column_names(["a", "A", "a_2", "", "column_4", " a\n b"])
    assert names == ("a_1", "A_3", "a_2", "column_4_1", "column_4_2", "a b")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("a,b\n1,2\n3\n", "a.csv, line 3: it has 1 values, but the first line names 2 columns"),
        ('a,b\n"x\ny",2\n\n1,2,3\n', "a.csv, line 5: it has 3 values"),
        ('a,b\n1,"open\n', "a.csv, line 2: unexpected end of data"),
        (b"a,b\n1,2\n3,\xff\n", "a.csv, line 3: it is not UTF-8 text; save it as UTF-8"),
        ("a,b\r\n1,2\n", "a.csv: it is not CSV as RFC 4180 defines it; are line endings mixed?"),
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
    monkeypatch.setattr(delimited, "_MAX_RECORDS", 3)
    path = file_of(tmp_path, "a\n1\n2\n3\n")
    assert [line_of(path, "a", value) for value in "123"] == [2, 3, None]
