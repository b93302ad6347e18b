"""What a user gets wrong on the command line or in a file: said in the words of the command."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

_TWICE = ("--limit", "match:0.01", "--limit", "match:1%", "--limit", "match:20")

xlsxwriter: Any = pytest.importorskip("xlsxwriter")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "a\x01.csv"):
        (tmp_path / name).write_text("id,v\n1,2\n")
    (tmp_path / "a.jsonl").write_text('{"id": 1, "v": 2}\n')
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        for sheet, value in (("One", 1), ("Two", 2)):
            page = book.add_worksheet(sheet)
            page.write_row(0, 0, ["id", "v"])
            page.write_row(1, 0, [1, value])


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (
            ("a.csv", "b.csv", "--csv", "sheet=One"),
            "--csv sheet=One does not go with files of these kinds",
        ),
        (("a.csv?sheet=One", "b.csv"), "sheet= does not go with a .csv file"),
        (("a.jsonl", "a.jsonl", "--csv", "decimal=,"), "--csv decimal=, does not go with"),
        (("a.jsonl?header=2", "b.csv"), "header= does not go with a .jsonl file"),
        (("a\x01.csv", "b.csv"), "it has a control character"),
        (("a.csv", "b.csv", "--rule", "1e-400"), "is not understood"),
        (("a.csv", "b.csv", "--rule", "precision=week"), "it is not one of 'day', 'hour'"),
        (("files:////{folder}#../a.csv", "b.csv"), "'../a.csv' is not the name of a table"),
        (("a.csv", "b.csv", "--rule", "0,01"), "write a decimal point"),
        (("a.csv", "b.csv", "--rule", "v:factor=1.000,50"), "write a decimal point"),
        (("a.csv", "b.csv", "--rule", "v:factor=1,19"), "write a decimal point"),
        (("a.csv", "b.csv", "--rule", "0,5%"), "write a decimal point"),
        (("a.csv", "b.csv", "--rule", "v:0.01", "--rule", "v:20"), "'v:20' states again"),
        (("a.csv", "b.csv", "--rule", "trim,0.01", "--rule", "20"), "'20' states again"),
        (("a.csv", "b.csv", "--rule", "v:1", "--rule", "V:2"), "two rules for column 'v'"),
        (("a.csv", "b.csv", "--measure", "v", "--limit", "match:0,01"), "write a decimal point"),
        (("a.csv", "b.csv", "--measure", "v", *_TWICE), "'match:20' states again"),
        (("a.csv", "b.csv", "--where", "v=>2"), "write >= for an order, or ==>2 for the text"),
        (("a.csv", "b.csv", "--key", ""), "--key names nothing"),
        (("a.csv", "b.csv", "--output", "d"), "d has no suffix of a report format"),
        (("a.csv", "b.csv", "--output", "-", "--format", "json"), "- is not the name of a file"),
        (("a.csv", "b.csv", "--output", "no/d.csv"), "no/d.csv cannot be written: there is no"),
        (("a.csv", "b.csv", "--output", "{folder}"), "is a folder; name a file in it"),
        (("a.csv", "b.csv", "--save", "no/q"), "there is no folder no"),
        (("a.csv", "b.csv", "--key", "id", "--columns", ","), "--columns names nothing"),
        (("a.csv", "b.csv", "--ignore", "v", "--ignore", " "), "--ignore names nothing"),
        (("a.csv", "b.csv", "--accept", ""), "--accept names nothing"),
        (("a.csv", "b.csv", "--measure", "v", "--by", ""), "--by names nothing"),
    ],
)
def test_an_option_or_a_name(
    skillian: Run, tmp_path: Path, stated: tuple[str, ...], expected: str
) -> None:
    done = skillian("compare", *(each.format(folder=tmp_path) for each in stated))
    assert done.returncode == 2, done.stdout
    assert expected in " ".join(done.stderr.split())
    assert "Input should" not in done.stderr
    assert "String should" not in done.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ":1: the file is empty"),
        ("# only a comment\n", ":1: the file is empty"),
        ("- a\n", ":1: `the file`: it is not a mapping"),
        ("sources: *x\n", ":1: the alias `x` is not defined above this line"),
        ("\ncompare: &a [*a]\n", ":2: the alias `a` stands for itself"),
        ("a:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 30)), ":21: it is nested more than"),
        ("sources: a\ncompare: 1\n", ":2: `compare`: it is not a list, got '1'"),
        ("sources: a\ncompare: [{name: 'a\\n', a: [], b: x}]\n", ": it is not a text"),
    ],
)
def test_a_saved_file(skillian: Run, tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    done = skillian("compare", "x.yaml")
    assert done.returncode == 2
    assert expected in done.stderr, done.stderr
    assert "Input should" not in done.stderr
    done = skillian("compare", "a.csv", "b.csv", "--sources", "x.yaml")
    assert done.returncode == 2
    assert "Input should" not in done.stderr


def test_a_sheet_of_one_workbook_goes_with_a_text_file(skillian: Run) -> None:
    for sheet, code in (("One", 1), ("Two", 0)):
        done = skillian("compare", "a.xlsx", "a.csv", "--csv", f"sheet={sheet}", "--csv", "quote='")
        assert done.returncode == code, done.stderr


def test_the_form_of_files_in_folders(skillian: Run, tmp_path: Path) -> None:
    for name, text in (("old", "id;v\n1;1,50\n"), ("new", "id;v\n1;1,5\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text(text)
    assert skillian("compare", "old", "new", "--all").returncode == 1
    done = skillian("compare", "old", "new", "--all", "--csv", "decimal=,")
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_with_an_equals_sign_are_paired(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,a=b,q\n1,2,3\n")
    (tmp_path / "b.csv").write_text('id,c=d,"x""y"\n1,2,4\n')
    stated = ("--map", '"a=b"="c=d"', "--map", 'q="x""y"')
    done = skillian("compare", "a.csv", "b.csv", *stated)
    assert "q differs in 1 row" in done.stdout, done.stderr
    assert "only in" not in done.stdout
    assert skillian("schema", "a.csv", "b.csv", *stated).returncode == 0
    for wrong in ("a=b=c=d", "=x", "a=", '"a=b', "a"):
        for command in ("compare", "schema"):
            done = skillian(command, "a.csv", "b.csv", "--map", wrong)
            assert done.returncode == 2
            assert 'is not of the form a_name=b_name; write "a=b"=b_name' in done.stderr
    twice = ("--map", "q=id", "--map", "q=v")
    assert "names column 'q' of A twice" in skillian("compare", "a.csv", "b.csv", *twice).stderr


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"id":1,"v":"2024-01-01"}\n\n{"id":2,"v":"x"}\n', "line 3"),
        ('{"t":"a\\nb\\nc","id":1,"v":null}\n{"t":"","id":2,"v":"x"}\n', "line 2"),
        ('[{"id":1,"v":"2024-01-01"},\n\n {"id":2,"v":"x"}]', "entry 2"),
    ],
)
def test_the_line_of_a_value_in_json(skillian: Run, tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "b.csv").write_text("id,v\n1,2024-01-01\n2,2024-01-02\n")
    done = skillian("compare", "a.json", "b.csv", "--key", "id")
    assert f"holds 'x' ({place})" in done.stdout
    # What the message advises works.
    assert "add '?null=x'" in done.stdout
    done = skillian("compare", "a.json?null=x", "b.csv", "--key", "id")
    assert "v differs in" in done.stdout, done.stdout


def test_a_line_of_json_that_is_too_long_is_named(skillian: Run, tmp_path: Path) -> None:
    lines = ['{"id":1,"v":"a\\nb"}', '{"id":2,"v":"' + "x" * 2_200_000 + '"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    done = skillian("compare", "a.jsonl", "a.jsonl")
    assert done.returncode == 2
    assert "a.jsonl, line 2: it is longer than" in done.stderr


def test_nan_in_json_keeps_its_column_a_text(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id":1,"v":NaN}\n{"id":2,"v":1.5}\n')
    (tmp_path / "b.jsonl").write_text('{"id":1,"v":null}\n{"id":2,"v":1.5}\n')
    done = skillian("compare", "a.jsonl", "b.jsonl")
    assert done.returncode == 1
    assert "a.jsonl holds 'NaN' (line 1)" in done.stdout
    assert skillian("compare", "a.jsonl?null=NaN", "b.jsonl").returncode == 0


def test_one_row_that_differs_is_singular_in_junit(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("id,v\n1,3\n")
    assert skillian("compare", "a.csv", "b.csv", "--output", "r.xml").returncode == 1
    assert 'message="v differs in 1 row"' in (tmp_path / "r.xml").read_text()


def test_parts_of_a_rule_or_limit_in_one_option_and_in_several(skillian: Run) -> None:
    compare = ("compare", "a.csv", "b.csv")
    for rule in ("v:plus=1,1.5", "v:1%,1", "v:factor=2,plus=3,round=1"):
        assert skillian(*compare, "--key", "id", "--rule", rule).returncode in {0, 1}
    stated = ("--rule", "v:1", "--rule", "v:1%", "--rule", "1", "--rule", "trim")
    assert skillian(*compare, "--key", "id", *stated).returncode == 0
    for limit in ("match:1%,5", "match:5,1.0%"):
        limits = ("--measure", "v", "--by", "id", "--limit", limit, "--limit", "minor:9")
        assert skillian(*compare, *limits).returncode == 0
