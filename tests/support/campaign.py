"""What `make test` leaves to `make test-all`: the tests marked `campaign`.

Some have the mark in their file. Of a test with many parameters, all but a sample get it: the
sample is the first of each group if the parameters belong to groups, as attacks do, and otherwise
`SAMPLE` of them, evenly spaced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import pytest

SAMPLE = 2


def mark_campaign(items: Iterable[pytest.Item]) -> None:
    """Mark the tests beyond a sample of each parametrized one."""
    families: defaultdict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        is_marked = item.get_closest_marker("campaign") is not None
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and not is_marked:
            families[item.nodeid.partition("[")[0]].append(item)
    for family in families.values():
        for item in _beyond_sample(family):
            item.add_marker(pytest.mark.campaign)


def _beyond_sample(family: Sequence[pytest.Function]) -> list[pytest.Function]:
    first: dict[object, pytest.Function] = {}
    for item in family:
        for value in item.callspec.params.values():
            if hasattr(value, "group"):
                first.setdefault(value.group, item)
    if first:
        sample = set(first.values())
    else:
        sample = {family[index * len(family) // SAMPLE] for index in range(SAMPLE)}
    return [item for item in family if item not in sample]
