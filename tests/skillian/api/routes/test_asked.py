"""A question in the body of a request: bounds, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from skillian.api.routes.comparisons import MAX_COLUMNS, AskedComparison
from skillian.data.declare.saved import SavedComparison

SIDES = {"source_a": "old", "source_b": "new"}
ASKED: TypeAdapter[SavedComparison] = TypeAdapter(AskedComparison)


@pytest.mark.parametrize(
    ("stated", "fields"),
    [
        ({}, {}),
        ({"key": None, "measures": None, "multiset": None}, {}),
        ({"measures": ["n"], "multiset": False, "filters": {}}, {"measures": ("n",)}),
        ({"columns": ["c"] * MAX_COLUMNS}, {"columns": ("c",) * MAX_COLUMNS}),
        ({"map": {"x": "y"}}, {"map": {"x": "y"}}),
    ],
)
def test_a_question_has_what_is_stated(stated: dict[str, Any], fields: dict[str, Any]) -> None:
    expected = SavedComparison(name="comparison", a="old", b="new", **fields)
    asked = ASKED.validate_python({**SIDES, **stated})
    assert asked == expected
    assert asked.model_fields_set == expected.model_fields_set


@pytest.mark.parametrize(
    ("stated", "place"),
    [
        ({"measures": []}, ("measures",)),
        ({"measures": ["n"] * 11}, ("measures",)),
        ({"columns": ["c"] * (MAX_COLUMNS + 1)}, ("columns",)),
        ({"columns": {"x": "y"}}, ("columns",)),
        ({"key": ["x\x00"]}, ("key",)),
        ({"map": {"x": "y\n"}}, ("map",)),
        ({"filters": {"x": "\ud800"}}, ("filters",)),
        ({"filters": {str(number): 1 for number in range(21)}}, ("filters",)),
        ({"source_a": "x\n"}, ("source_a",)),
        ({"name": "x"}, ("name",)),
        ({"fail_on": "new"}, ("fail_on",)),
        ({"align_on": ["x"]}, ()),
    ],
    ids=repr,
)
def test_what_is_outside_of_the_bounds_is_refused(
    stated: dict[str, Any], place: tuple[str, ...]
) -> None:
    with pytest.raises(ValidationError) as raised:
        ASKED.validate_python({**SIDES, **stated})
    assert [fault["loc"] for fault in raised.value.errors()] == [place]
