"""`skillian compare --why` says what explains the differences."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]
RULE = "--rule net:factor=100"


def write(folder: Path) -> None:
    for name, factor in (("a", 1), ("b", 100)):
        rows = "".join(f"{number},{(number * 7 % 50 + 1) * factor}\n" for number in range(1, 21))
        (folder / f"{name}.csv").write_text(f"id,net\n{rows}", encoding="utf-8")


def test_the_section_has_an_option_that_makes_the_rows_equal(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path)
    compare = ("compare", "a.csv", "b.csv", "--key", "id")
    done = skillian(*compare, "--why")
    assert done.returncode == 1
    assert f"\nWhy\n\nnet (a multiplied by 100) explains 20 of 20 differences; with `{RULE}`," in (
        done.stdout
    )
    assert skillian(*compare, *RULE.split()).returncode == 0
    assert "Why" not in skillian(*compare).stdout


def test_the_json_report_has_it_if_asked(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path)
    compare = ("compare", "a.csv", "b.csv", "--key", "id", "--format", "json")
    [plain] = json.loads(skillian(*compare).stdout)["comparisons"]
    [asked] = json.loads(skillian(*compare, "--why").stdout)["comparisons"]
    assert "why" not in plain
    [rule] = asked["why"]["rules"]
    assert (rule["option"], rule["matched"], rule["total"]) == (RULE, 20, 20)


def test_it_is_for_whole_rows(skillian: Run, tmp_path: Path) -> None:
    write(tmp_path)
    done = skillian("compare", "a.csv", "b.csv", "--measure", "net", "--why")
    assert done.returncode == 2
    assert "--why" in done.stderr
