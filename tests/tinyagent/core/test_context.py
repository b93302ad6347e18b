from __future__ import annotations

import time

from tinyagent import RunContext, StepStarted


def test_each_run_has_an_id_of_its_own() -> None:
    ids = {RunContext("go", 1, {}).run_id for _ in range(100)}
    assert len(ids) == 100


def test_seconds_count_from_the_start() -> None:
    context = RunContext("go", 1, {}, started=time.monotonic() - 5)
    assert 5 <= context.seconds < 60


def test_events_may_go_unheard() -> None:
    context = RunContext("go", 1, {})
    context.emit(StepStarted(1))
    assert context.step == 0
