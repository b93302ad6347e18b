from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

COMPARE = ("compare", "fi_reporting", "bpc_reporting", "--measure", "amount")


def test_the_exit_code_shows_the_verdict(skillian: Run, demo: Path) -> None:
    at = {"SKILLIAN_SOURCES": str(demo)}
    assert skillian(*COMPARE, **at).returncode == 1
    equal = skillian(*COMPARE, "--where", "company=1002", **at)
    assert (equal.returncode, "No differences beyond the limits." in equal.stdout) == (0, True)
    minor = ("--where", "company=1001", "--where", "period=2024006")
    assert skillian(*COMPARE, *minor, **at).returncode == 1
    assert skillian(*COMPARE, *minor, "--fail-on", "major", **at).returncode == 0


def test_the_table_ends_with_the_interpretation_and_the_explanation(
    skillian: Run, demo: Path
) -> None:
    shown = skillian(*COMPARE, "--sources", str(demo)).stdout
    assert "30 of 36 groups match (83.3 %)" in shown
    assert "98.3 % of the gross gap in amount: company 1001, with 33.1 % of the rows." in shown


def test_limits_on_the_command_line_override_those_of_the_file(skillian: Run, demo: Path) -> None:
    minor = ("--where", "company=1001", "--where", "period=2024006", "--sources", str(demo))
    wide = ("--limit", "match:0.37,0.0002%")
    assert skillian(*COMPARE, *minor, *wide).returncode == 0
    narrow = ("--limit", "minor:0.36", "--limit", "minor:1%", "--fail-on", "major")
    assert skillian(*COMPARE, *minor, *narrow).returncode == 1


def test_an_empty_comparison_is_a_failure(skillian: Run, demo: Path) -> None:
    done = skillian(*COMPARE, "--where", "company=typo", "--sources", str(demo))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "nothing to compare" in done.stderr


def test_several_values_of_one_dimension_mean_any_of_them(skillian: Run, demo: Path) -> None:
    done = skillian(
        *(*COMPARE, "--by", "company", "--where", "company=1001", "--where", "company=1003"),
        *("--format", "json", "--sources", str(demo)),
    )
    [comparison] = json.loads(done.stdout)["comparisons"]
    assert comparison["summary"]["groups"] == 2


def test_top_limits_the_largest_differences(skillian: Run, demo: Path) -> None:
    grain = ("--by", "company", "--by", "period", "--by", "account", "--sources", str(demo))
    for top in (2, 15):
        done = skillian(*COMPARE, *grain, "--top", str(top), "--format", "json")
        [comparison] = json.loads(done.stdout)["comparisons"]
        assert len(comparison["top_differences"]) == top


def test_json_has_amounts_as_text(skillian: Run, demo: Path) -> None:
    done = skillian(*COMPARE, "--by", "company", "--format", "json", "--sources", str(demo))
    [comparison] = json.loads(done.stdout)["comparisons"]
    assert comparison["summary"]["groups"] == 3
    assert comparison["summary"]["measures"]["amount"]["total_a"] == "6586678.06"


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("r.html", "<!DOCTYPE html>"),
        ("r.json", "{"),
        ("r.md", "## ❌ findings"),
        ("r.xml", "<?xml"),
        ("r.txt", "\nLargest differences"),
    ],
)
def test_the_suffix_of_the_file_selects_the_format(
    name: str, start: str, skillian: Run, demo: Path, tmp_path: Path
) -> None:
    done = skillian(*COMPARE, "--output", name, "--sources", str(demo))
    assert done.returncode == 1, done.stderr
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    assert done.stdout == ""
    assert "30 of 36 groups match" in done.stderr
    assert f"The report is in {name}" in done.stderr


def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    skillian: Run, demo: Path, tmp_path: Path
) -> None:
    for place in ("nowhere/r.html", "."):
        done = skillian(*COMPARE, "--output", place, "--sources", str(demo))
        assert done.returncode == 2
        assert "folder" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_values_control_neither_the_table_nor_the_terminal(started: Run, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("CREATE TABLE ta (k VARCHAR, v INTEGER)")
        connection.execute("CREATE TABLE tb (k VARCHAR, v INTEGER)")
        evil = ["\x1b]0;pwned\x07\x1b[31mX", "\\[/x]", "[red]a"]
        connection.executemany("INSERT INTO ta VALUES (?, 1)", [[value] for value in evil])
    source = (
        "connection: c, dimensions: {k: {column: k}}, measures: {v: {column: v, aggregation: sum}}"
    )
    (tmp_path / "sources.yaml").write_text(
        "connections: {c: 'duckdb:///t.duckdb'}\n"
        f"sources:\n  ta: {{table: ta, {source}}}\n  tb: {{table: tb, {source}}}\n"
        "comparison: {default_align_on: [k]}\n"
    )
    done = started("compare", "ta", "tb", "--measure", "v")
    assert done.returncode == 1, done.stderr
    assert "\x1b" not in done.stdout
    assert "[red]a" in done.stdout
    assert "\\[/x]" in done.stdout


def test_a_table_is_never_cut_at_the_edge_of_a_narrow_terminal(started: Run, demo: Path) -> None:
    done = started(*COMPARE, "--sources", str(demo), COLUMNS="30")
    assert "…" not in done.stdout
    assert "384,517.74" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "fi_report", "bpc_reporting", "--measure", "amount"), "fi_reporting"),
        (("compare", "fi_reporting", "bpc_reporting", "--measure", "amounts"), "amount"),
        ((*COMPARE, "--where", "x"), "x"),
        ((*COMPARE, "--limit", "match:a lot"), "is not understood"),
        ((*COMPARE, "--limit", "match:-1"), "is not understood"),
        ((*COMPARE, "--limit", "match:0.0000000001"), "thresholds.match.absolute"),
        (("compare", "fi_reporting"), "saved comparison (.yaml)"),
        (("compare", "fi_reporting", "bpc_reporting", "--by", "company"), "needs --measure"),
    ],
)
def test_a_wrong_command_line_is_reported(
    arguments: tuple[str, ...], message: str, skillian: Run, demo: Path
) -> None:
    done = skillian(*arguments, SKILLIAN_SOURCES=str(demo))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
