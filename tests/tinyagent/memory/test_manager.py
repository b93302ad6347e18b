from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import ConfigurationError, Message
from tinyagent.core.signals import Signal, SignalType
from tinyagent.memory.memory import MemoryManager
from tinyagent.memory.pruning import token_budget
from tinyagent.memory.steps import ActionStep, ScratchpadStep, Step, SystemPromptStep, TaskStep

NOW = datetime.now(UTC)
signals = st.builds(
    Signal, st.sampled_from(SignalType), st.text(), st.just(NOW), st.integers(min_value=1)
)
steps = st.one_of(
    st.builds(SystemPromptStep, st.text()),
    st.builds(TaskStep, st.text()),
    st.builds(ScratchpadStep, st.text()),
    st.builds(ActionStep, st.text(), st.text(), st.text(), st.lists(signals).map(tuple)),
)


def _manager() -> MemoryManager:
    return MemoryManager(
        [
            SystemPromptStep("be brief"),
            TaskStep("first"),
            ActionStep("", "look()", "x" * 1_000, (), NOW),
            TaskStep("latest"),
            ActionStep("", "look(2)", "y", (), NOW),
        ]
    )


@given(st.lists(steps, max_size=6))
def test_a_manager_survives_json(some: list[Step]) -> None:
    manager = MemoryManager(some)
    assert MemoryManager.from_list(json.loads(json.dumps(manager.to_list()))) == manager


def test_the_messages_are_those_of_the_steps_in_order() -> None:
    manager = MemoryManager()
    manager.add(TaskStep("go"))
    manager.add(ActionStep("", "look()", "seen"))
    assert manager.to_messages() == (
        Message("user", "go"),
        Message("assistant", "```python\nlook()\n```"),
        Message("user", "Observation:\nseen"),
    )
    assert len(manager) == 2
    assert repr(manager) == "MemoryManager(2 steps)"


def test_a_copy_goes_its_own_way() -> None:
    manager = _manager()
    copy = manager.copy()
    before = copy.steps
    copy.add(TaskStep("on"))
    assert manager == _manager()
    assert copy != manager
    assert len(before) == len(manager)


def test_a_strategy_that_drops_everything_is_not_obeyed() -> None:
    manager = _manager()
    saved = manager.prune(lambda _: [])
    assert manager.steps == (SystemPromptStep("be brief"), TaskStep("first"), TaskStep("latest"))
    assert saved > 1_000


async def test_strategies_of_both_kinds_can_be_awaited() -> None:
    async def last(steps: Sequence[Step]) -> Sequence[Step]:
        manager.add(TaskStep("meanwhile"))
        return steps[-1:]

    manager = _manager()
    with pytest.raises(ConfigurationError, match="prune_async"):
        manager.prune(last)  # type: ignore[arg-type]
    await manager.prune_async(last)
    kinds = [step.kind for step in manager.steps]
    assert kinds == ["system", "task", "task", "action", "task"]
    await manager.prune_async(lambda steps: steps[-1:])
    assert [step.kind for step in manager.steps] == ["system", "task", "task"]


def test_the_same_step_added_twice_is_two_steps() -> None:
    step = ActionStep("", "look()", "seen")
    other = ActionStep("", "listen()", "heard")
    manager = MemoryManager([step, other, step])
    manager.prune(lambda steps: steps[1:])
    assert manager.steps == (other, step)


def test_a_budget_counts_as_the_server_does() -> None:
    manager = _manager()
    fresh = manager.copy()
    manager.learn(manager.tokens * 4)
    assert manager.tokens == pytest.approx(fresh.tokens * 4, abs=4)
    budget = token_budget(fresh.tokens)
    fresh.prune(budget)
    manager.prune(budget)
    assert len(fresh) == 5
    assert len(manager) == 4
