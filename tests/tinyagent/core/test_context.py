from __future__ import annotations

import time

import pytest

from tinyagent import RunContext, StepStarted, Usage
from tinyagent.core import ModelUse, RunControl


def test_each_run_has_its_own_id() -> None:
    ids = {RunControl("go", 1, {}).run_id for _ in range(100)}
    assert len(ids) == 100


def test_seconds_count_from_the_start() -> None:
    control = RunControl("go", 1, {}, started=time.monotonic() - 5)
    assert 5 <= control.seconds < 60
    assert 5 <= control.context.seconds < 60


def test_events_may_go_unheard() -> None:
    control = RunControl("go", 1, {})
    control.emit(StepStarted(1))
    assert control.step == 0


def test_a_context_shows_the_run_as_it_is_now() -> None:
    control = RunControl("go", 7, {}, model="m")
    context = control.context
    control.step, control.run_id = 3, "r"
    assert (context.task, context.max_steps, context.model) == ("go", 7, "m")
    assert (context.step, context.run_id, context.tools) == (3, "r", {})


VIEW = (
    *("deps", "task", "max_steps", "tools", "model", "run_id"),
    *("step", "is_sealed", "usage", "uses", "seconds"),
)


@pytest.mark.parametrize("name", [*VIEW, "emit", "answer_only", "started"])
def test_nothing_can_be_set_through_a_context(name: str) -> None:
    context = RunControl("go", 1, {}).context
    with pytest.raises(AttributeError):
        setattr(context, name, None)


def test_a_context_has_no_way_to_steer_the_run() -> None:
    public = {name for name in dir(RunContext) if not name.startswith("_")}
    assert public == {*VIEW, "count"}


def test_what_a_tool_counts_is_use_of_the_run() -> None:
    control = RunControl("go", 1, {}, usage=Usage(1, 10, 1))
    use = ModelUse("openai", "gpt-4.1", 20, 2)
    control.context.count(Usage(2, 20, 2), [use])
    assert control.usage == Usage(3, 30, 3)
    assert control.context.uses == (use,)
