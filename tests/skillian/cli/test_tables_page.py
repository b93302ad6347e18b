"""The commands of docs/tables.md print what the page shows."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter  # pyright: ignore[reportMissingTypeStubs]

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PAGE = (Path(__file__).parents[3] / "docs" / "tables.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\n(.*?)```", PAGE, re.DOTALL))
EXAMPLES = re.findall(r"```console\n\$ skillian (.*?)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")


def plain(text: str) -> list[str]:
    """Return the lines of a text without spaces at their ends and without empty lines."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[each[0] for each in EXAMPLES])
def test_an_example_prints_what_the_page_shows(skillian: Run, command: str, output: str) -> None:
    done = skillian(*shlex.split(command))
    assert done.returncode in {0, 1}, done.stderr
    assert plain(done.stdout) == plain(output)


def test_two_workbooks_need_no_options(skillian: Run, tmp_path: Path) -> None:
    for name, text in FILES.items():
        with xlsxwriter.Workbook(str(tmp_path / name.replace("csv", "xlsx"))) as book:
            sheet: Any = book.add_worksheet()  # pyright: ignore[reportUnknownMemberType]
            for index, line in enumerate(text.splitlines()):
                sheet.write_row(index, 0, line.split(","))
    done = skillian("compare", "old.xlsx", "new.xlsx")
    assert done.returncode == 1, done.stderr
    assert "2 rows differ, 1 row is only in old.xlsx, 1 row is only in new.xlsx" in done.stdout
