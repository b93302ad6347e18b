from __future__ import annotations

import pytest

from tinyagent.core.json_shape import as_array, as_object, describe


def test_only_an_object_is_an_object() -> None:
    assert as_object({"a": 1}) == {"a": 1}
    assert as_object([]) is None
    assert as_object(None) is None


def test_only_an_array_is_an_array() -> None:
    assert as_array([1]) == [1]
    assert as_array({}) is None
    assert as_array("ab") is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "null"),
        ({}, "an object with the keys: none"),
        ({"b": 1, "a": 2}, "an object with the keys: a, b"),
        ("a secret", "a str"),
        ([1], "a list"),
    ],
)
def test_a_description_names_the_shape_and_quotes_nothing(value: object, said: str) -> None:
    assert describe(value) == said


def test_a_description_of_many_keys_stops_at_eight() -> None:
    assert describe({f"k{n}": n for n in range(10)}).endswith("k6, k7")
