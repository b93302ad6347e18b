"""Any values of the kinds that are kept come back the same, with what they share."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict, deque
from pathlib import PurePosixPath
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyagent.execution.sandbox.worker.codec.objects import ObjectWriter
from tinyagent.execution.sandbox.worker.codec.rebuild import ObjectReader

ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.dates(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.timedeltas(),
    st.uuids(),
    st.complex_numbers(allow_nan=False),
    st.builds(PurePosixPath, st.text(alphabet="ab/.")),
)
KEYS = st.one_of(st.none(), st.integers(), st.text(), st.dates(), st.tuples(st.text()))


def _deque(items: list[Any]) -> Any:
    return deque(items)


def _ordered(items: dict[Any, Any]) -> Any:
    return OrderedDict(items)


def _counter(text: str) -> Any:
    return Counter(text)


VALUES: st.SearchStrategy[Any] = st.recursive(
    ATOMS,
    lambda items: st.one_of(
        st.lists(items),
        st.tuples(items, items),
        st.dictionaries(KEYS, items),
        st.lists(items).map(_deque),
        st.dictionaries(KEYS, items).map(_ordered),
        st.text().map(_counter),
        st.sets(KEYS),
        st.frozensets(KEYS),
    ),
)


def again(value: Any) -> Any:
    """The value as a session reads it."""
    text = json.dumps(ObjectWriter({}).value(value))
    return ObjectReader({}, lambda _: False).value(json.loads(text))


def shape(value: Any) -> Any:
    """The value with the exact type of each part, as plain data that can be compared."""
    kind = type(value).__name__
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return kind, [(shape(key), shape(item)) for key, item in pairs]
    if isinstance(value, list | tuple | deque):
        return kind, [shape(item) for item in cast("list[Any]", value)]
    if isinstance(value, set | frozenset):
        return kind, sorted(map(repr, cast("set[Any]", value)))
    return kind, repr(value)


@given(VALUES)
@settings(max_examples=150, deadline=None)
def test_values_come_back_with_their_types(value: Any) -> None:
    assert shape(again(value)) == shape(value)


@given(st.lists(st.integers(0, 9), min_size=10, max_size=10))
@settings(max_examples=100, deadline=None)
def test_links_between_objects_stay_as_they_are(links: list[int]) -> None:
    nodes: list[list[Any]] = [[] for _ in links]
    for node, target in zip(nodes, links, strict=True):
        node.append(nodes[target])
    copies = again(nodes)
    assert [_place(copies, node[0]) for node in copies] == links


@pytest.mark.parametrize("data", [["again", 0], ["list", 0, 1], ["nothing"], [], {}, [1]])
def test_what_no_writer_writes_is_refused(data: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        ObjectReader({}, lambda _: False).value(data)


def _place(nodes: list[Any], node: Any) -> int:
    return next(number for number, each in enumerate(nodes) if each is node)
