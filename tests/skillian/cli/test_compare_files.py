"""Two files, and nothing else: no sources.yaml."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

OLD = "company,period,amount\n0001,2024-01,100.00\n0001,2024-02,250.50\n0002,2024-01,75.25\n"
NEW = "company;period;amount\r\n0001;2024-01;100.00\r\n0001;2024-02;250.40\r\n0003;2024-01;1\r\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(OLD, encoding="utf-8")
    (tmp_path / "new.csv").write_text(NEW, encoding="utf-8")


def test_two_files_are_compared_by_their_columns(skillian: Run) -> None:
    compare = ("compare", "old.csv", "new.csv", "--measure", "amount", "--by", "company")
    done = skillian(*compare)
    assert done.returncode == 1, done.stderr
    assert "0 of 3 groups match (0.0 %)" in done.stdout
    assert "0002" in done.stdout
    only = ("--where", "company=0001", "--match-absolute", "0.1", "--match-percent", "0.1")
    assert skillian(*compare, *only).returncode == 0


def test_one_limit_alone_decides_alone(skillian: Run) -> None:
    compare = ("compare", "old.csv", "new.csv", "--measure", "amount", "--by", "company")
    done = skillian(*compare, "--where", "company=0001", "--match-absolute", "0.1")
    assert done.returncode == 0, done.stderr
    assert "a match is up to 0.1 apart whatever the percentage" in done.stdout


def test_a_duplicated_row_worth_nothing_is_a_finding(skillian: Run, tmp_path: Path) -> None:
    rows = "id,amount\n1,5.00\n2,0.00\n3,7.00\n"
    (tmp_path / "one.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "two.csv").write_text(f"{rows}2,0.00\n", encoding="utf-8")
    compare = ("compare", "one.csv", "two.csv", "--measure", "amount", "--by", "id")
    done = skillian(*compare)
    assert done.returncode == 1, done.stderr
    assert "No differences" not in done.stdout
    assert "(id 2: 1 in one.csv, 2 in two.csv)" in done.stdout
    assert skillian(*compare, "--fail-on", "major").returncode == 1
    assert 'failures="1"' in skillian(*compare, "--format", "junit").stdout


def test_files_in_other_folders_are_compared_too(skillian: Run, tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "old.csv").write_text(OLD, encoding="utf-8")
    compare = ("compare", "old.csv", "later/old.csv", "--measure", "amount", "--by", "company")
    assert skillian(*compare).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("new.csv", "--measure", "amount"), "company, period"),
        (("new.csv", "--measure", "amnt", "--by", "company"), "amount"),
        (("newer.csv", "--measure", "amount", "--by", "company"), "newer.csv"),
        (("new.csv", "--measure", "amount", "--by", "town"), "company"),
    ],
)
def test_a_mistake_is_answered_in_a_sentence(
    arguments: tuple[str, ...], said: str, skillian: Run
) -> None:
    done = skillian("compare", "old.csv", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
