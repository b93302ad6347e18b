from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from tinyagent.core import events
from tinyagent.core.events import Event, StepStarted


def test_the_module_draws_every_event_in_its_place() -> None:
    for kind in get_args(Event):
        assert kind.__name__ in (events.__doc__ or "")


def test_an_event_cannot_be_changed_by_a_listener() -> None:
    event = StepStarted(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.step = 2  # type: ignore[misc]
