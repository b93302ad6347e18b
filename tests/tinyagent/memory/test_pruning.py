from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyagent import ConfigurationError, Memory, Message, ScriptedModel, ToolCall
from tinyagent.core import ModelServerError
from tinyagent.memory.items import MemoryItem, MessageGroup, pinned
from tinyagent.memory.memory import MemoryManager
from tinyagent.memory.pruning import (
    Strategy,
    keep_last_n_steps,
    keep_system_and_recent,
    no_pruning,
    prune_old_observations,
    token_budget,
)
from tinyagent.memory.steps import ActionStep, ScratchpadStep, Step, SystemPromptStep, TaskStep
from tinyagent.memory.summary import summarize

AnyItem = TypeVar("AnyItem", bound=MemoryItem)

texts = st.text(max_size=10)
numbers = st.integers(min_value=0, max_value=4)
observations = st.builds(
    "".join,
    st.tuples(st.sampled_from(["", "Error: "]), st.sampled_from(["x", "é" * 70, "y" * 400])),
)


def _calls(results: list[str]) -> list[Message]:
    """Parallel calls with ids that come again in every turn, and their results in another order."""
    calls = tuple(ToolCall(f"call_{i}", "look", {"at": i}) for i in range(len(results)))
    answers = [Message("tool", text, (), f"call_{i}") for i, text in enumerate(results)]
    return [Message("assistant", "", calls), *reversed(answers)]


actions = st.one_of(
    st.lists(observations, min_size=1, max_size=4).map(_calls),
    st.builds(lambda text: [Message("assistant", text)], texts),
    st.builds(lambda text: [Message("assistant", text), Message("user", "No JSON.")], texts),
)
runs = st.builds(
    lambda task, parts: [Message("user", task), *(message for part in parts for message in part)],
    texts,
    st.lists(actions, max_size=6),
)
conversations = st.builds(
    lambda prompts, parts: Memory([*prompts, *(message for part in parts for message in part)]),
    st.sampled_from([[Message("system", "be brief")], []]),
    st.lists(runs, max_size=3),
)
histories = st.builds(
    lambda prompts, rest: MemoryManager([*prompts, *rest]),
    st.sampled_from([[SystemPromptStep("be brief")], []]),
    st.lists(
        st.one_of(
            st.builds(TaskStep, texts),
            st.builds(ScratchpadStep, texts),
            st.builds(ActionStep, texts, texts, observations),
        ),
        max_size=12,
    ),
)
strategies: st.SearchStrategy[Strategy] = st.one_of(
    st.just(no_pruning),
    st.builds(keep_last_n_steps, numbers),
    st.builds(keep_system_and_recent, numbers),
    st.builds(prune_old_observations, numbers, st.integers(min_value=0, max_value=500)),
    st.builds(token_budget, st.integers(min_value=0, max_value=600)),
)


def _is_well_formed(messages: Sequence[Message]) -> bool:
    """Whether the results of each call, and nothing else, follow it."""
    open_calls: set[str | None] = set()
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in open_calls:
                return False
            open_calls.discard(message.tool_call_id)
            continue
        if open_calls:
            return False
        open_calls = {call.id for call in message.tool_calls}
    return not open_calls


def _is_part(part: Sequence[MemoryItem], whole: Sequence[MemoryItem]) -> bool:
    """Whether each item of `part`, observations aside, is in `whole`, in the same order."""
    rest = iter(_bare(item) for item in whole)
    return all(_bare(item) in rest for item in part)


def _bare(item: MemoryItem) -> object:
    if isinstance(item, ActionStep):
        return item.reasoning, item.code, item.timestamp
    if isinstance(item, MessageGroup):
        return [(m.role, m.tool_calls, m.role == "tool" or m.content) for m in item.messages]
    return item


def _pins(items: Sequence[AnyItem]) -> list[AnyItem]:
    return [items[at] for at in sorted(pinned(items))]


@settings(max_examples=5 * settings().max_examples)
@given(conversations, strategies)
def test_a_pruned_conversation_is_one_that_a_server_takes(
    memory: Memory, strategy: Strategy
) -> None:
    before = memory.items()
    size = sum(turn.size for turn in before)
    assert _is_well_formed(memory.messages)
    saved = memory.prune(strategy)
    after = memory.items()
    assert _is_well_formed(memory.messages)
    assert _is_part(after, before)
    assert _pins(after) == _pins(before)
    assert size - saved == sum(turn.size for turn in after) <= size
    assert Memory.from_list(json.loads(json.dumps(memory.to_list()))) == memory


@settings(max_examples=5 * settings().max_examples)
@given(histories, strategies)
def test_pruned_steps_are_a_part_of_the_history(manager: MemoryManager, strategy: Strategy) -> None:
    before = manager.steps
    size = sum(step.size for step in before)
    saved = manager.prune(strategy)
    assert _is_part(manager.steps, before)
    assert _pins(manager.steps) == _pins(before)
    assert size - saved == sum(step.size for step in manager.steps) <= size
    assert MemoryManager.from_list(json.loads(json.dumps(manager.to_list()))) == manager


@given(conversations, strategies)
def test_pruning_twice_prunes_no_more(memory: Memory, strategy: Strategy) -> None:
    memory.prune(strategy)
    once = memory.copy()
    memory.prune(strategy)
    assert memory == once


@settings(max_examples=2 * settings().max_examples)
@given(conversations, numbers, numbers, st.sampled_from(["Seen.", "", ModelServerError("down")]))
async def test_a_summary_parts_nothing_either(
    memory: Memory, keep: int, after: int, answer: str | Exception
) -> None:
    before = memory.items()
    await memory.prune_async(summarize(ScriptedModel([answer]), keep=keep, after=after))
    turns = memory.items()
    rest = [turn for turn in turns if turn.kind != "note"]
    free = len(before) - len(pinned(before))
    assert _is_well_formed(memory.messages)
    assert _is_part(rest, before)
    assert _pins(turns) == _pins(before)
    assert len(rest) == len(pinned(before)) + (min(free, keep) if free > after else free)
    assert len(turns) - len(rest) == (answer == "Seen." and free > max(after, keep))


@given(conversations, st.integers(min_value=0, max_value=600))
def test_a_budget_is_kept_where_the_pinned_part_allows(memory: Memory, max_tokens: int) -> None:
    before = memory.items()
    room = max_tokens * 4
    memory.prune(token_budget(max_tokens))
    after = memory.items()
    assert sum(turn.size for turn in after) <= max(room, sum(turn.size for turn in _pins(before)))
    if sum(turn.size for turn in before) <= room:
        assert after == before


@given(histories, numbers)
def test_the_newest_actions_stay(manager: MemoryManager, n: int) -> None:
    actions = [step for step in manager.steps if step.kind == "action"]
    manager.prune(keep_last_n_steps(n))
    assert [step for step in manager.steps if step.kind == "action"] == actions[
        max(len(actions) - n, 0) :
    ]


@given(histories, numbers)
def test_the_newest_items_stay(manager: MemoryManager, n: int) -> None:
    before = manager.steps
    manager.prune(keep_system_and_recent(n))
    assert manager.steps[max(len(manager.steps) - n, 0) :] == before[max(len(before) - n, 0) :]
    assert len(manager.steps) <= n + len(pinned(before))


@given(histories, numbers, st.integers(min_value=60, max_value=500))
def test_old_observations_are_cut_and_new_ones_whole(
    manager: MemoryManager, keep: int, max_chars: int
) -> None:
    actions = [step for step in manager.steps if isinstance(step, ActionStep)]
    manager.prune(prune_old_observations(keep, max_chars))
    after = [step for step in manager.steps if isinstance(step, ActionStep)]
    old = max(len(actions) - keep, 0)
    assert all(len(step.observation) <= max_chars for step in after[:old])
    assert after[old:] == actions[old:]
    assert len(after) == len(actions)


def _seen(*observations: str) -> list[Step]:
    return [
        SystemPromptStep("be brief"),
        TaskStep("go"),
        *(ActionStep("", "look()", observation) for observation in observations),
    ]


def test_no_pruning_keeps_everything() -> None:
    steps = _seen("a", "b")
    assert no_pruning(steps) == steps


def test_notes_older_than_the_oldest_action_kept_go() -> None:
    old, new = ScratchpadStep("old"), ScratchpadStep("new")
    system, task, first, second = _seen("a", "b")
    assert keep_last_n_steps(1)([system, task, old, first, second, new]) == [
        system,
        task,
        second,
        new,
    ]


def test_the_newest_observation_is_cut_rather_than_dropped() -> None:
    steps = _seen("old", "x" * 100_000)
    kept = token_budget(500)(steps)
    assert len(kept) == 3
    last = kept[-1]
    assert isinstance(last, ActionStep)
    assert "characters are left out here" in last.observation
    assert 1_900 <= sum(step.size for step in kept) <= 2_000


def test_a_budget_keeps_the_newest_without_a_gap() -> None:
    steps = _seen("a", "x" * 5_000, "b", "c")
    assert token_budget(500)(steps) == [*steps[:2], *steps[4:]]


def test_a_budget_with_a_given_token_length_does_not_learn() -> None:
    memory = Memory([Message("user", "go"), *(Message("assistant", "x" * 1_000),) * 3])
    other = memory.copy()
    memory.prune(token_budget(1_000))
    assert len(memory) == 4
    other.learn(6_000)
    other.prune(token_budget(1_000))
    assert len(other) == 1


def test_what_came_before_the_first_task_stays_before_it() -> None:
    system, task, action = _seen("x" * 400)
    manager = MemoryManager([system, action, task, action])
    manager.prune(prune_old_observations(keep=0, max_chars=100))
    assert [step.kind for step in manager.steps] == ["system", "action", "task", "action"]
    assert all(step.size < 200 for step in manager.steps)


def test_a_strategy_of_ones_own_is_a_function() -> None:
    memory = Memory([Message("user", "go"), Message("assistant", "a"), Message("assistant", "b")])
    memory.prune(lambda turns: turns[-1:])
    assert [message.content for message in memory.messages] == ["go", "b"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: keep_last_n_steps(-1),
        lambda: keep_system_and_recent(-1),
        lambda: prune_old_observations(-1),
        lambda: prune_old_observations(max_chars=-1),
        lambda: token_budget(-1),
    ],
)
def test_numbers_that_cannot_be_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ConfigurationError, match="must be"):
        make()
