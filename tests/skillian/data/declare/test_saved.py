"""Saved comparisons: read with the faults of the file and of its sources at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillian.data.declare.saved import Saved, read_saved
from skillian.errors import ConfigurationError

SOURCES = """
connections: {main: duckdb:///ledger.duckdb}
sources:
  ledger:
    connection: main
    table: t
    dimensions: {company: {column: company}, period: {column: period}}
    measures: {amount: {column: amount, aggregation: sum}}
  plan:
    connection: main
    table: u
    dimensions: {company: {column: company}}
    measures: {amount: {column: amount, aggregation: sum}}
"""


def read(tmp_path: Path, text: str, sources: str = SOURCES) -> Saved:
    (tmp_path / "sources.yaml").write_text(sources, encoding="utf-8")
    (tmp_path / "specs").mkdir()
    path = tmp_path / "specs" / "close.yaml"
    path.write_text(text, encoding="utf-8")
    return read_saved(path)


def faults(tmp_path: Path, text: str, sources: str = SOURCES) -> list[tuple[str, int, str]]:
    with pytest.raises(ConfigurationError) as raised:
        read(tmp_path, text, sources)
    return [(Path(each.file).name, each.line, str(each)) for each in raised.value.faults]


HEAD = "sources: ../sources.yaml\ncompare:\n  - name: x\n"


def test_faults_of_the_form_are_reported_with_their_lines(tmp_path: Path) -> None:
    given = "    a: ledger\n    measure: [amount]\n    measures: 7\n    fail_on: always\n"
    all_faults = faults(tmp_path, HEAD + given)
    assert [line for _, line, _ in all_faults] == [3, 5, 6, 7]
    assert "`b` is missing" in all_faults[0][2]
    assert "did you mean `measures`?" in all_faults[1][2]


def test_undeclared_names_are_reported_with_their_lines(tmp_path: Path) -> None:
    given = """    a: leger
    b: plan
    measures:
      - amount
      - amounts
    align_on: [period]
    filters:
      year: 2024
  - {name: x, a: ledger, b: plan, measures: [amount]}
"""
    all_faults = faults(tmp_path, HEAD + given)
    assert [line for _, line, _ in all_faults] == [4, 8, 9, 11, 12]
    messages = [message for *_, message in all_faults]
    assert "nearest first: ledger" in messages[0]
    assert "there is no dimension 'period' in plan" in messages[2]
    assert "is repeated" in messages[4]


def test_faults_of_both_files_are_reported_at_once(tmp_path: Path) -> None:
    text = "sources: ../sources.yaml\ncompare: [{name: yes, a: ledger, b: plan, measures: [v]}]\n"
    all_faults = faults(tmp_path, text, SOURCES.replace("sum", "summ", 1))
    assert [each[:2] for each in all_faults] == [("sources.yaml", 8), ("close.yaml", 2)]


def test_sources_that_are_not_there_are_a_fault_of_the_line_that_names_them(tmp_path: Path) -> None:
    text = "\nsources: sources.yaml\ncompare: [{name: x, a: ledger, b: plan, measures: [amount]}]\n"
    [(file, line, messages)] = faults(tmp_path, text)
    assert (file, line) == ("close.yaml", 2)
    assert "there is no file `sources.yaml`" in messages


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "close.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"close\.yaml:1"):
        read_saved(path)
