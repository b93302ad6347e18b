"""Files on the command line with a `sources.yaml`, and messages about values and names."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]

COMPARE = ("compare", "a.csv", "b.csv", "--measure", "v", "--by", "k")
SIDE = """
  {0}:
    connection: files
    table: {0}.csv
    dimensions: {{k: {{column: k, normalise: [trim]}}}}
    measures: {{v: {{expression: "{1}", aggregation: sum}}}}
"""


def write(folder: Path, a: str, b: str, expression: str = "") -> None:
    for name, text in (("a", a), ("b", b)):
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    if expression:
        text = "connections: {files: 'files:///.'}\nsources:"
        text += "".join(SIDE.format(name, expression) for name in "ab")
        text += "comparison: {thresholds: {match: {absolute: 5}}}\n"
        (folder / "sources.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("1,50", "-1.234,00"), "'1,50' (line 2), '-1.234,00'"),
        (("1.5", "NA"), "'NA' (line 3)"),
        (("n/a", "2,50 €"), "'n/a' (line 2), '2,50 €'"),
        (("1.5", "nan"), "'nan' (line 3)"),
        (("1.5", "2 €"), "'2 €'"),
        (("1.5", "3%"), "'3%'"),
        (('"1,000.5"', "7"), "'1,000.5'"),
    ],
)
def test_values_that_are_not_numbers_are_named_and_the_fix_works(
    skillian: Run, tmp_path: Path, values: tuple[str, str], message: str
) -> None:
    quoted = [value if value.startswith('"') else f'"{value}"' for value in values]
    text = "k,v\n" + "".join(f"{place},{value}\n" for place, value in enumerate(quoted))
    write(tmp_path, text, text)
    done = skillian(*COMPARE)
    assert done.returncode == 2
    assert message in done.stderr
    advice = done.stderr.partition("expression: ")[2].partition("`")[0]
    write(tmp_path, text, text, advice)
    done = skillian(*COMPARE)
    assert done.returncode == 0, done.stderr


def test_files_use_the_declarations_and_limits_of_a_sources_yaml(
    skillian: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "k,v\nx ,1.5\n", "k,v\nx,2.5\n", "CAST(v AS DECIMAL(18,2)) * 2")
    done = skillian(*COMPARE)
    assert done.returncode == 0, done.stderr
    assert "Total v: 3.00" in done.stdout
    assert "a match is up to 5 apart" in done.stdout
    (tmp_path / "sources.yaml").rename(tmp_path / "other.yaml")
    assert skillian(*COMPARE).returncode == 1
    monkeypatch.setenv("SKILLIAN_SOURCES", str(tmp_path / "other.yaml"))
    assert skillian(*COMPARE).returncode == 0


def test_a_typo_in_a_measure_lists_the_nearest_columns(skillian: Run, tmp_path: Path) -> None:
    text = "k,amount,other\nx,1.5,2\n"
    write(tmp_path, text, text)
    done = skillian("compare", "a.csv", "b.csv", "--measure", "amont", "--by", "k")
    assert done.returncode == 2
    assert "there is no column 'amont' in a.csv; columns, nearest first: amount" in done.stderr


def test_a_duplicate_column_is_never_chosen_silently(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path, "k,v,v\nx,1.5,2.5\n", "k,v\nx,2.5\n")
    done = skillian(*COMPARE)
    assert done.returncode == 2
    assert "there is no column 'v' in a.csv; columns, nearest first: v_1, v_2" in done.stderr
