"""What `make house` prints may only fall."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.support.house import branches, files_that_name, tables_by_kind, types_for

FILES = {"align_on": 17, "thresholds": 16, "multiset": 8, "extra_imports": 0, "checkpoints": 2}
TYPES = {"a question": 1, "a result": 1, "a tool": 2, "a lease": 2, "the sandbox's options": 2}
BRANCHES, PLANNED = 5, 6


@pytest.mark.parametrize(("option", "most"), FILES.items())
def test_few_files_name_an_option(option: str, most: int) -> None:
    assert len(files_that_name(option)) <= most


@pytest.mark.parametrize(("concept", "most"), TYPES.items())
def test_few_types_stand_for_a_concept(concept: str, most: int) -> None:
    assert len(types_for(concept)) <= most


def test_few_places_ask_for_the_kind_of_a_comparison() -> None:
    counts = Counter(each.is_planned for each in branches())
    assert counts[False] <= BRANCHES
    assert counts[True] <= PLANNED


def test_no_table_has_an_entry_for_each_kind() -> None:
    assert not tables_by_kind()
