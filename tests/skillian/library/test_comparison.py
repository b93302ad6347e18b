"""The result of `skillian.compare`, and the ways to ask for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import timedelta
from decimal import Context, Decimal, Inexact, localcontext
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pytest

import skillian
from skillian.connectors.scratch import scratch
from skillian.data.declare.rules import Rule, Rules
from skillian.errors import InvalidInputError, SkillianError, UnavailableError, UnknownNameError

_arrow: Any = pa  # pyarrow carries no types
OLD = pl.DataFrame(
    {"id": [1, 2, 3, 4], "name": ["Ann", "Bob", "Cy", "<i>"], "amount": [1.0, 2.0, 3.0, 4.0]}
)
NEW = pl.DataFrame(
    {"id": [1, 2, 3, 5], "name": ["Ann", "bob", "Cy", "Di"], "amount": [1.0, 2.0, 3.5, 4.0]}
)


@pytest.fixture(scope="module")
def found() -> skillian.Comparison:
    return skillian.compare(OLD, NEW, key="id", names=("old", "new"))


def _loaded(program: str) -> set[str]:
    """The packages that a program loads besides the standard library."""
    code = f"{program}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-I", "-c", f"import sys; sys.path = {sys.path!r}\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split()) - set(sys.stdlib_module_names)


def test_importing_skillian_loads_no_library() -> None:
    assert _loaded("import skillian") - _loaded("") == {"skillian"}


def test_a_comparison_loads_no_library_of_data_frames() -> None:
    program = (
        "import duckdb, skillian\nside = duckdb.sql('SELECT 1 AS id')\n"
        "assert skillian.compare(side, side).equal"
    )
    assert not _loaded(program) & {"pandas", "polars"}


def test_each_name_of_the_library_is_there() -> None:
    assert set(skillian.__all__) <= set(dir(skillian))
    for name in skillian.__all__:
        assert getattr(skillian, name).__doc__
    with pytest.raises(AttributeError, match="module 'skillian' has no attribute 'compere'"):
        _ = skillian.compere


def test_the_result_is_words_counts_and_columns(found: skillian.Comparison) -> None:
    assert not found.equal
    assert found.sentences[0] == (
        "2 rows differ, 1 row is only in old, 1 row is only in new; 1 row matches."
    )
    assert found.counts["differing"] == 2
    assert {column.a: column.mismatches for column in found.columns} == {"name": 1, "amount": 1}
    assert found.schema is not None
    assert not found.schema.differences
    assert repr(found) == f"<Comparison of old and new: {found.sentences[0]}>"
    with pytest.raises(TypeError, match="ask for its `equal`"):
        bool(found)


def test_all_rows_that_differ_are_an_arrow_table(found: skillian.Comparison) -> None:
    rows = found.rows()
    assert len(rows) == 4
    assert rows.to_arrow()["id"].to_pylist() == [2, 3, 4, 5]
    assert list(rows.to_pandas()["class"]) == ["differs", "differs", "only in a", "only in b"]
    assert rows.to_polars()["differing"].to_list()[:2] == ["name", "amount"]
    assert _arrow.table(rows).equals(rows.to_arrow())
    assert pl.DataFrame(rows).equals(rows.to_polars())
    assert repr(rows).startswith("<4 rows: class, differing, rows a, rows b, id, name a, name b,")
    assert len(found.rows("only in b")) == 1
    assert len(found.rows(["differs", "only in a"])) == 3
    assert not len(found.rows("duplicate key"))
    assert not len(found.rows([]))
    with pytest.raises(InvalidInputError, match="no class 'equal'; classes: differs, only in a"):
        found.rows("equal")


def test_rows_outlive_their_comparison() -> None:
    rows = skillian.compare(OLD, NEW, key="id").rows()
    assert rows.to_arrow()["id"].to_pylist() == [2, 3, 4, 5]


def test_a_fork_leaves_the_files_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    found = skillian.compare(OLD, NEW, key="id")
    own, others = scratch(), len([*scratch().iterdir()])
    with monkeypatch.context() as in_fork:
        in_fork.setattr("os.getpid", lambda: 1)
        assert scratch() != own
        del found
    assert len([*own.iterdir()]) == others


def test_temporary_files_that_something_else_removed_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = skillian.compare(OLD, NEW, key="id")
    rmtree(scratch())
    with pytest.raises(UnavailableError, match=r"removed .*; compare again"):
        found.rows()
    assert len(skillian.compare(OLD, NEW, key="id").rows()) == 4


def test_equal_sides_have_no_rows_but_their_columns() -> None:
    found = skillian.compare(OLD, OLD, key="id")
    found.assert_equal()
    assert found.rows().column_names[:2] == ["class", "differing"]
    assert not len(found.rows())
    assert found.summary == "No row differs: all 4 rows of a and b match."


def test_a_failing_assertion_shows_what_differs(found: skillian.Comparison) -> None:
    with pytest.raises(AssertionError) as failure:
        found.assert_equal()
    lines = [" ".join(line.split()) for line in str(failure.value).splitlines()]
    assert lines[0] == found.sentences[0]
    for line in (
        "differs 2 name Bob bob",
        "differs 3 amount 3.0 3.5",
        "only in a 4",
        "only in b 5",
    ):
        assert line in lines


def test_a_summary_has_the_first_rows_and_counts_the_others() -> None:
    many = pl.DataFrame({"id": range(30), "v": ["x" * 100] * 30})
    other = many.with_columns(v=pl.lit("y, z"))
    summary = skillian.compare(many, other, key="id").summary
    assert summary.endswith("... and 20 more rows")
    assert "x" * 60 + "… y, z" in " ".join(summary.split())


def test_a_notebook_shows_the_rows_without_markup_of_values(found: skillian.Comparison) -> None:
    page = found._repr_html_()
    assert "<td>bob</td>" in page
    changed = OLD.with_columns(name=pl.lit("<b>"))
    page = skillian.compare(OLD, changed, key="id")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_rows_without_a_key_are_counted() -> None:
    found = skillian.compare(OLD, pl.concat([NEW, NEW]), multiset=True)
    assert found.counts["matched"] == 1
    rows = found.rows("only in b").to_arrow().to_pylist()
    assert {(row["id"], row["rows a"], row["rows b"]) for row in rows} == {
        *((1, 1, 2), (2, 0, 2), (3, 0, 2), (5, 0, 2))
    }
    assert "only in b" in found.summary


@pytest.mark.parametrize("suffix", ["html", "md", "json", "xml", "csv", "xlsx", "parquet", "jsonl"])
def test_a_report_is_written_by_its_suffix(
    found: skillian.Comparison, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"report.{suffix}"
    found.report(str(path))
    assert path.stat().st_size > 100
    if suffix == "parquet":
        assert pl.read_parquet(path).equals(found.rows().to_polars())


def test_dates_that_python_does_not_have_are_texts(tmp_path: Path) -> None:
    a, b = (
        _arrow.table({"id": [1], "v": _arrow.array([day], _arrow.date32())}) for day in (0, 2**22)
    )
    found = skillian.compare(a, b, key="id")
    assert found.rows().to_arrow()["v b"].to_pylist() == ["13453-08-13"]
    with pytest.raises(AssertionError, match="13453-08-13"):
        found.assert_equal()
    for suffix in ("csv", "xlsx", "jsonl"):
        found.report(tmp_path / f"report.{suffix}")


@pytest.mark.parametrize("name", ["report.docx", "report.txt", "report"])
def test_a_report_of_an_unknown_suffix_is_refused(
    found: skillian.Comparison, tmp_path: Path, name: str
) -> None:
    with pytest.raises(InvalidInputError, match=r"suffixes: \.json, "):
        found.report(tmp_path / name)


def test_the_zone_that_is_used_is_named(tmp_path: Path) -> None:
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("id,t\n1,2024-07-01T10:00:00Z\n")
    other.write_text("id,t\n1,2024-07-01 12:00:00\n")
    rules = {"columns": {"t": {"zone_b": "Europe/Berlin"}}}
    found = skillian.compare(one, other, key="id", rules=rules)
    assert found.equal
    assert "Times of t without a zone are read as Europe/Berlin." in found.sentences


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"factor": 100}, "by at most 1."),
        ({"plus": 100}, "by at most 197."),
        ({"factor": 100, "round": 0}, "compared)."),
    ],
)
def test_the_largest_gap_is_of_what_was_compared(rule: dict[str, int], said: str) -> None:
    a, b = (pl.DataFrame({"id": [1, 2, 3], "v": v}) for v in ([1, 2, 3], [100, 201, 300]))
    found = skillian.compare(a, b, key="id", rules={"columns": {"v": rule}})
    [sentence] = [each for each in found.sentences if each.startswith("v differs in")]
    assert sentence.endswith(said)


def test_a_report_never_replaces_what_was_compared(tmp_path: Path) -> None:
    one, other = (tmp_path / f"{name}.csv" for name in ("old", "new"))
    OLD.write_csv(one)
    NEW.write_csv(other)
    before = other.read_bytes()
    found = skillian.compare(one, f"{other}?encoding=utf-8", key="id")
    with pytest.raises(InvalidInputError, match="is what was compared"):
        found.report(tmp_path / "." / "new.csv")
    assert other.read_bytes() == before


def test_measures_are_compared_by_groups() -> None:
    found = skillian.compare(OLD, NEW, measures=["amount"], by="name")
    assert found.counts == {
        "match": 1,
        "minor_diff": 0,
        "major_diff": 1,
        "missing_in_a": 2,
        "missing_in_b": 2,
    }
    assert [measure.name for measure in found.measures] == ["amount"]
    assert not found.columns
    rows = found.rows("major").to_arrow().to_pylist()
    assert [(row["name"], row["amount a"], row["amount b"]) for row in rows] == [
        ("Cy", Decimal(3), Decimal("3.5"))
    ]
    assert "major" in found.summary
    wide = {"minor_diff": {"absolute": 1}}
    again = skillian.compare(OLD, NEW, measures="AMOUNT", by="NAME", thresholds=wide)
    assert again.counts["minor_diff"] == 1


def test_measures_without_differences_have_no_groups(tmp_path: Path) -> None:
    found = skillian.compare(OLD, OLD, measures="amount", by="name")
    found.assert_equal()
    assert not len(found.rows())
    for suffix in ("csv", "xlsx", "parquet", "jsonl", "html"):
        found.report(tmp_path / f"report.{suffix}")


@pytest.mark.parametrize(
    ("options", "differing"),
    [
        ({}, 2),
        ({"absolute": 0.5}, 1),
        ({"relative": "0.2"}, 1),
        ({"absolute": Decimal("0.4")}, 2),
        ({"rules": {"all": {"ignore_case": True}}}, 1),
        ({"rules": Rules(all=Rule(ignore_case=True)), "absolute": 0.5}, 0),
        ({"rules": {"all": Rule(ignore_case=True)}, "absolute": 0.5}, 0),
        ({"rules": {"columns": {"amount": {"absolute": 1}}}}, 1),
        ({"columns": ["amount"]}, 1),
        ({"columns": "name"}, 1),
        ({"ignore": "name"}, 1),
        ({"where": {"id": [1, 2]}}, 1),
        ({"where": {"id": {"lt": 2}}}, 0),
        ({"where": {"id": [np.int64(1), np.int64(2)]}}, 1),
        ({"where": {"id": np.array([2, 3])}}, 2),
        ({"where": {"amount": {"gt": 2}}}, 1),
        ({"where": {"amount": np.float64(2)}}, 1),
    ],
)
def test_an_option_is_that_of_a_saved_comparison(options: Any, differing: int) -> None:
    assert skillian.compare(OLD, NEW, key=["id"], **options).counts["differing"] == differing


def test_a_label_of_pandas_may_be_a_number() -> None:
    frame = pd.DataFrame([[1, 2], [2, 3]])
    found = skillian.compare(frame, frame.assign(**{"1": [2, 4]}).drop(columns=1), key=0)
    assert found.counts["differing"] == 1


def test_columns_with_other_names_are_mapped() -> None:
    renamed = NEW.rename({"id": "number", "name": "title"})
    found = skillian.compare(OLD, renamed, key="id", map={"id": "number", "name": "title"})
    assert found.counts["differing"] == 2
    found = skillian.compare(OLD, renamed, key="id", columns={"id": "number", "name": "title"})
    assert found.counts["differing"] == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kye": "id"}, r"no option 'kye'; did you mean 'key'\? options: key, "),
        ({"key": 5}, "no column '5'; columns, nearest"),
        ({"key": 5.5}, "key: it is not a list"),
        ({"absolute": "much"}, "rules.all.absolute: it is not a number"),
        ({"absolute": -1}, "rules.all.absolute: "),
        ({"rules": {"all": {"abs": 1}}}, "rules.all.abs: there is no .*, nearest first: absolute"),
        ({"rules": {"columns": {"v": {"tirm": True}}}}, r"rules.columns.v.tirm: .* first: trim, "),
        ({"thresholds": {"match": {"absolut": 1}}}, "thresholds"),
        ({"rules": 5}, "rules: "),
        ({"rules": {"all": 5}, "absolute": 1}, "rules.all: "),
        ({"by": "name"}, "`by` needs `measures`"),
        ({"measures": "amount", "key": "id"}, "`key` compares whole rows, without `measures`"),
        ({"accept": "name"}, "`name` is not of the form `schema:COLUMN`"),
        ({"multiset": True, "key": "id"}, "takes no key columns"),
        ({"names": ("x", "X")}, "differ only in case; name both sides, such as"),
        ({"names": "ab"}, "not a pair; name both sides, such as"),
        ({"names": ("x", 1)}, "not a text, .*; name both sides, such as"),
        ({"names": ("x\n", "y")}, "not printed; name both sides, such as"),
        ({"where": {"amount": "much"}}, "takes a number such as"),
        ({"where": {"id": [99]}}, "Neither .* nor b has rows that meet the filters"),
        ({"sources": "nowhere.yaml"}, "nowhere.yaml"),
    ],
)
def test_a_wrong_option_is_refused_in_words(options: Any, words: str, tmp_path: Path) -> None:
    OLD.write_csv(tmp_path / "old.csv")
    with pytest.raises(SkillianError, match=words):
        skillian.compare(tmp_path / "old.csv", NEW, **options)


def test_a_rule_does_not_apply_to_a_duration() -> None:
    frame = OLD.select("id", lasted=timedelta(seconds=1))
    assert skillian.compare(frame, frame, key="id", rules={"all": {"seconds": 5}}).equal
    with pytest.raises(InvalidInputError, match="does not apply to its type, which is INTERVAL"):
        skillian.compare(frame, frame, key="id", rules={"columns": {"lasted": {"seconds": 5}}})


@pytest.mark.parametrize("context", [Context(prec=3), Context(traps=[Inexact])])
def test_the_arithmetic_of_the_caller_changes_nothing(context: Context, tmp_path: Path) -> None:
    new = NEW.with_columns(amount=pl.col("amount") + 100.125)
    rules = {"columns": {"amount": {"plus": "1000.125"}}}
    expected = skillian.compare(OLD, new, key="id", rules=rules)
    expected.report(tmp_path / "expected.md")
    with localcontext(context):
        found = skillian.compare(OLD, new, key="id", rules=rules)
        assert found.sentences == expected.sentences
        assert [each.percentage for each in found.columns] == ["33.33 %", "100 %"]
        found.report(tmp_path / "found.md")
    assert (tmp_path / "found.md").read_text() == (tmp_path / "expected.md").read_text()


def test_a_wrong_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="nearest first: id"):
        skillian.compare(OLD, NEW, key="idd")
    with pytest.raises(SkillianError, match="no file 'people"):
        skillian.compare("people.csv", NEW)


def test_a_wrong_setting_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLIAN_PORT", "many")
    assert skillian.compare(OLD, OLD, key="id").equal
    with pytest.raises(InvalidInputError, match="the settings have faults: port"):
        skillian.compare("old", NEW)


async def test_it_works_where_an_event_loop_runs(tmp_path: Path) -> None:
    found = skillian.compare(OLD, NEW, key="id")
    awaited = await skillian.compare_async(OLD, NEW, key="id")
    assert found.sentences == awaited.sentences
    found.report(tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").exists()
    with pytest.raises(UnknownNameError):
        skillian.compare(OLD, NEW, key="idd")


async def test_several_comparisons_run_at_once() -> None:
    several = await asyncio.gather(*(skillian.compare_async(OLD, NEW, key="id") for _ in range(4)))
    assert {each.counts["differing"] for each in several} == {2}
