"""docs/models.md: each cell of the table of capabilities names a test that is there, or says no."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.tinyagent.models import test_capabilities
from tests.tinyagent.models.test_capabilities import MODELS, VERIFIED

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
HEAD = (
    "| provider | tools | strict schema | reasoning | images | documents | caching | price known |"
)
COLUMNS = [f"test_{name.strip().replace(' ', '_')}" for name in HEAD.split("|")[2:-1]]
ROWS = {
    row[1]: [cell.strip() for cell in row[2].split("|")]
    for row in re.finditer(
        r"^\| `([\w-]+)` \| (.+) \|$", PAGE.partition(HEAD)[2].partition("\n\n")[0], re.MULTILINE
    )
}


def test_there_is_a_row_for_each_provider_and_a_column_for_each_test() -> None:
    assert list(ROWS) == list(MODELS)
    assert list(VERIFIED) == COLUMNS


@pytest.mark.parametrize("provider", MODELS)
def test_each_cell_names_its_test_or_says_that_there_is_none(provider: str) -> None:
    assert len(ROWS[provider]) == len(COLUMNS)
    for test, cell in zip(COLUMNS, ROWS[provider], strict=True):
        if provider in VERIFIED[test]:
            assert cell == f"`{test}`"
            assert callable(getattr(test_capabilities, test))
        else:
            assert cell in {"no", "not verified"}, (test, cell)


@pytest.mark.parametrize("test", COLUMNS)
def test_each_test_runs_for_the_providers_that_the_table_names(test: str) -> None:
    (mark,) = getattr(test_capabilities, test).pytestmark[:1]
    assert mark.args == ("provider", VERIFIED[test])
