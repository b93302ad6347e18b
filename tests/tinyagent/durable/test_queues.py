"""Options of queues: what is read, what is refused; what they do: `test_worker.py`."""

from __future__ import annotations

from typing import Any

import pytest

from tinyagent.core.errors import ConfigurationError
from tinyagent.durable.queues import QueueOptions, Rate


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("60/m", Rate(60, 60.0)),
        ("5/s", Rate(5, 1.0)),
        ("100/30s", Rate(100, 30.0)),
        ("7/2", Rate(7, 2.0)),
        ("1/0.5h", Rate(1, 1800.0)),
    ],
)
def test_a_rate_is_read(text: str, rate: Rate) -> None:
    assert Rate.parse(text) == rate


@pytest.mark.parametrize("text", ["", "60", "60/", "m/60", "0/s", "5/0s", "-5/s", "5/d", "5/s "])
def test_an_invalid_rate_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a rate; write starts/time: 60/m"):
        Rate.parse(text)


@pytest.mark.parametrize("name", ["per_worker", "in_all", "per_key", "poll_seconds"])
def test_numbers_are_positive(name: str) -> None:
    given: dict[str, Any] = {name: 0}
    with pytest.raises(ConfigurationError, match=f"a queue's {name} must be more than 0, got 0"):
        QueueOptions(**given)
