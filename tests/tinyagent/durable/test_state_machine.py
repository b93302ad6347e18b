"""Runs that are started, interrupted, answered, cancelled and resumed in any order.

For each real run there is a model: how far it must have come, and what it waits for.
Whatever is done, in whatever order: nothing is done twice, and a run ends with all of it done.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.support.durable_runs import empty_database, opened, turns

from tinyagent import ReactAgent, Tool, scripted_call
from tinyagent.durable import DurableRuns, RunConflict

EXAMPLES = int(os.environ.get("DURABLE_EXAMPLES", "3"))
PATIENCE_SECONDS = 40


class Runs(RuleBasedStateMachine):
    """Runs that look, then pay (which waits for a yes), then post, each next to all others."""

    waiting: Bundle[str] = Bundle("waiting")
    cancelled: Bundle[str] = Bundle("cancelled")

    def __init__(self) -> None:
        super().__init__()
        self.done: Counter[str] = Counter()
        self.states: dict[str, str] = {}
        self.loop = asyncio.Runner()
        folder = tempfile.TemporaryDirectory()
        self.database = empty_database(Path(folder.name))
        self.clean = AsyncExitStack()
        self.clean.callback(folder.cleanup)
        self.process = AsyncExitStack()
        self.runs: DurableRuns
        self.loop.run(self._begin())

    def _agent(self) -> ReactAgent[str]:
        def step(name: str, **options: Any) -> Tool:
            def act(run: str) -> str:
                """Do it.

                Args:
                    run: of which run.
                """
                self.done[f"{name} {run}"] += 1
                return "done"

            return Tool.from_function(act, name=name, **options)

        def answer(request: Any) -> Any:
            run = next(message.content for message in request.messages if message.role == "user")
            names = ("look", "pay", "post")
            calls = [scripted_call(name, call_id=name, run=run) for name in names]
            return turns(*calls, f"{run} is done")._answer(request)

        model = turns()
        model._answer = answer
        tools = [step("look", idempotent=True), step("pay", requires_approval=True), step("post")]
        return ReactAgent(model, tools)

    async def _begin(self) -> None:
        agents = {"clerk": self._agent()}
        self.runs = await self.process.enter_async_context(opened(self.database, agents))

    async def _settle(self, run: str) -> None:
        record = await self.runs.wait(run, timeout=PATIENCE_SECONDS)
        assert record.state == self.states[run]
        if record.state == "completed":
            assert record.output == f"{run} is done"

    @rule(target=waiting, number=st.integers(0, 3))
    def start(self, number: int) -> str:
        run = f"run-{number}"
        self.loop.run(self.runs.start("clerk", run, run_id=run))
        self.states.setdefault(run, "waiting")
        self.loop.run(self._settle(run))
        return run

    @rule(run=waiting, approved=st.booleans())
    def answer(self, run: str, approved: bool) -> None:  # noqa: FBT001 - hypothesis gives it
        if self.states[run] != "waiting":
            with pytest.raises(RunConflict):
                self.loop.run(self.runs.approve(run, approved=approved))
            return
        self.loop.run(self.runs.approve(run, approved=approved))
        self.states[run] = "completed"
        self.loop.run(self._settle(run))
        assert self.done[f"pay {run}"] == int(approved)
        assert self.done[f"post {run}"] == 1

    @rule(target=cancelled, run=waiting)
    def cancel(self, run: str) -> str:
        if self.states[run] != "waiting":
            with pytest.raises(RunConflict):
                self.loop.run(self.runs.cancel(run))
        else:
            self.loop.run(self.runs.cancel(run))
            self.states[run] = "cancelled"
        return run

    @rule(target=waiting, run=consumes(cancelled))
    def resume(self, run: str) -> str:
        if self.states[run] != "cancelled":
            with pytest.raises(RunConflict):
                self.loop.run(self.runs.resume(run))
        else:
            self.loop.run(self.runs.resume(run))
            self.states[run] = "waiting"
            self.loop.run(self._settle(run))
        return run

    @rule()
    def begin_again_as_another_process(self) -> None:
        self.loop.run(self.process.aclose())
        self.loop.run(self._begin())

    @invariant()
    def nothing_is_done_twice(self) -> None:
        assert not [what for what, times in self.done.items() if times > 1]

    @invariant()
    def all_are_listed_as_they_are(self) -> None:
        listed = self.loop.run(self.runs.list())
        assert {record.run_id: record.state for record in listed} == self.states

    def teardown(self) -> None:
        self.loop.run(self.process.aclose())
        self.loop.run(self.clean.aclose())
        self.loop.close()


@pytest.mark.timeout(600)
def test_nothing_is_done_twice_or_lost_whatever_is_done_to_the_runs() -> None:
    checks = [HealthCheck.too_slow]
    run_state_machine_as_test(
        Runs,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=8,
            deadline=None,
            suppress_health_check=checks,
        ),
    )
