from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import ConfigurationError, Memory, Message, ToolCall
from tinyagent.memory.items import MemoryItem, MessageGroup
from tinyagent.memory.memory import TokenEstimate

texts = st.lists(st.builds(Message, role=st.just("user"), content=st.text()))


@given(texts)
def test_a_memory_survives_json(messages: list[Message]) -> None:
    memory = Memory(messages)
    assert Memory.from_list(json.loads(json.dumps(memory.to_list()))) == memory


def test_messages_keep_the_order_in_which_they_were_added() -> None:
    memory = Memory()
    call = ToolCall("1", "add", {"a": 1})
    memory.add("user", "go")
    memory.add("assistant", "", tool_calls=[call])
    memory.add("tool", "2", tool_call_id="1")
    assert memory.messages == (
        Message("user", "go"),
        Message("assistant", "", (call,)),
        Message("tool", "2", (), "1"),
    )
    assert len(memory) == 3


def test_a_copy_goes_its_own_way() -> None:
    memory = Memory([Message("user", "go")])
    copy = memory.copy()
    copy.add("user", "on")
    assert len(memory) == 1
    assert memory != copy
    assert memory == Memory([Message("user", "go")])


def test_messages_given_out_do_not_change_later() -> None:
    memory = Memory([Message("user", "go")])
    before = memory.messages
    memory.add("user", "on")
    assert len(before) == 1


def test_a_memory_shows_its_size_and_not_its_content() -> None:
    assert repr(Memory([Message("user", "secret")])) == "Memory(1 messages)"


def _conversation() -> Memory:
    memory = Memory()
    memory.add("system", "be brief")
    memory.add("user", "first")
    memory.add("assistant", "", tool_calls=[ToolCall("a", "look"), ToolCall("b", "look")])
    memory.add("tool", "x" * 1_000, tool_call_id="a")
    memory.add("tool", "y" * 1_000, tool_call_id="b")
    memory.add("assistant", "seen")
    memory.add("user", "middle")
    memory.add("assistant", "fine")
    memory.add("user", "latest")
    memory.add("assistant", "", tool_calls=[ToolCall("a", "look")])
    memory.add("tool", "z", tool_call_id="a")
    return memory


def _texts(memory: Memory) -> list[str]:
    return [message.text for message in memory.messages]


def test_what_a_strategy_keeps_stays_in_its_order() -> None:
    memory = _conversation()
    saved = memory.prune(lambda turns: [turn for turn in turns if turn.kind != "action"])
    assert _texts(memory) == ["be brief", "first", "middle", "latest"]
    assert saved == sum(map(len, _texts(_conversation()))) - 25 + 3 * len("look{}")


def test_a_strategy_that_drops_everything_is_not_obeyed() -> None:
    memory = _conversation()
    memory.prune(lambda _: [])
    assert _texts(memory) == ["be brief", "first", "latest"]


def test_the_current_task_stays_where_complaints_came_after_it() -> None:
    memory = _conversation()
    memory.add("user", "that was no answer")
    other = memory.copy()
    memory.prune(lambda _: [], task="latest")
    assert _texts(memory) == ["be brief", "first", "latest"]
    other.prune(lambda _: [])
    assert _texts(other) == ["be brief", "first", "that was no answer"]


def test_what_is_new_comes_behind_what_it_follows_and_behind_the_task() -> None:
    memory = _conversation()

    def renew(turns: Sequence[MessageGroup]) -> list[MessageGroup]:
        at_the_start = MessageGroup((Message("user", "a summary"),), "note")
        return [at_the_start, turns[3], turns[2].shortened(100)]

    memory.prune(renew)
    assert [text[:9] for text in _texts(memory)] == [
        "be brief",
        "first",
        "a summary",
        "seen",
        "",
        memory.messages[5].content[:9],
        memory.messages[6].content[:9],
        "latest",
    ]
    assert all(len(text) <= 100 for text in _texts(memory))


def test_a_copy_of_a_pinned_turn_does_not_double_it() -> None:
    memory = _conversation()
    memory.prune(lambda turns: [MessageGroup(turn.messages, turn.kind) for turn in turns[:2]])
    assert _texts(memory) == ["be brief", "first", "latest"]


turns_of_any_kind = st.lists(
    st.one_of(
        st.builds(lambda text: [Message("user", text)], st.text(max_size=3)),
        st.builds(lambda text: [Message("assistant", text)], st.text(max_size=3)),
        st.integers(min_value=1, max_value=3).map(
            lambda n: [
                Message("assistant", "", tuple(ToolCall(f"{i}", "look") for i in range(n))),
                *(Message("tool", f"Error: {i}", (), f"{i}") for i in reversed(range(n))),
            ]
        ),
    ),
    max_size=12,
)


@given(turns_of_any_kind, st.integers(min_value=0, max_value=1), st.randoms(use_true_random=False))
def test_no_strategy_parts_a_call_from_its_result_or_changes_the_order(
    parts: list[list[Message]], prompts: int, chance: random.Random
) -> None:
    parts = [[Message("system", "be brief")]] * prompts + parts
    memory = Memory(message for part in parts for message in part)

    def at_random(turns: Sequence[MessageGroup]) -> Iterable[MemoryItem]:
        chosen.extend(chance.choices(turns, k=chance.randrange(len(turns) + 3)) if turns else ())
        return chosen

    chosen: list[MessageGroup] = []
    before = memory.items()
    memory.prune(at_random)
    assert _is_subsequence([turn.messages for turn in memory.items()], [tuple(p) for p in parts])
    tasks = [turn for turn in before if turn.kind == "task"]
    kept = [turn for turn in memory.items() if turn.kind == "task"]
    assert kept[:1] == tasks[:1]
    assert kept[-1:] == tasks[-1:]
    assert len(kept) >= min(len(tasks), 2)
    assert memory.items()[:prompts] == before[:prompts]
    assert all(turn in memory.items() for turn in chosen)


def _is_subsequence(part: Iterable[object], whole: Iterable[object]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)


async def test_a_strategy_that_is_awaited_needs_the_other_method() -> None:
    async def latest(turns: Sequence[MessageGroup]) -> Sequence[MessageGroup]:
        return turns[-1:]

    memory = _conversation()
    with pytest.raises(ConfigurationError, match=r"prune_async"):
        memory.prune(latest)  # type: ignore[arg-type]
    assert memory == _conversation()
    await memory.prune_async(latest)
    assert _texts(memory) == ["be brief", "first", "latest", "", "z"]


async def test_prune_async_takes_a_plain_strategy_too() -> None:
    memory = _conversation()
    assert await memory.prune_async(lambda turns: turns[-1:]) > 2_000
    assert _texts(memory) == ["be brief", "first", "latest", "", "z"]


async def test_what_is_added_while_a_strategy_works_is_not_lost() -> None:
    memory = _conversation()

    async def slow(turns: Sequence[MessageGroup]) -> Sequence[MessageGroup]:
        memory.add("user", "wait")
        return turns[:0]

    await memory.prune_async(slow)
    assert _texts(memory) == ["be brief", "first", "latest", "wait"]


def test_the_servers_count_corrects_the_number_of_tokens() -> None:
    memory = Memory([Message("user", "x" * 2_000)])
    assert memory.tokens == 500
    memory.learn(1_000)
    assert memory.tokens == 1_000
    assert memory.copy().tokens == 1_000


def test_a_strategy_that_counts_tokens_gets_the_estimate() -> None:
    class Counting:
        def __init__(self, estimate: TokenEstimate | None = None) -> None:
            self.estimate = estimate

        def calibrated(self, estimate: TokenEstimate) -> Counting:
            return Counting(estimate)

        def __call__(self, turns: Sequence[MessageGroup]) -> Sequence[MessageGroup]:
            estimates.append(self.estimate)
            return turns

    estimates: list[TokenEstimate | None] = []
    memory = Memory([Message("user", "x" * 2_000)])
    memory.learn(1_000)
    memory.prune(Counting())
    assert estimates == [TokenEstimate(2.0)]


def test_a_token_has_four_characters_until_the_server_says_otherwise() -> None:
    assert TokenEstimate().tokens(401) == 101
    assert TokenEstimate().characters(100) == 400


def test_the_servers_numbers_correct_the_estimate() -> None:
    estimate = TokenEstimate().update(characters=3_000, tokens=1_500)
    assert estimate.characters_per_token == 2
    assert estimate.tokens(100) == 50
    assert estimate.update(characters=9_000, tokens=1_500).characters_per_token == 6


@pytest.mark.parametrize(("characters", "tokens"), [(999, 10), (5_000, 0), (0, 0), (5_000, -1)])
def test_numbers_that_say_nothing_teach_nothing(characters: int, tokens: int) -> None:
    assert TokenEstimate(3.0).update(characters, tokens) == TokenEstimate(3.0)


@given(st.integers(min_value=1_000, max_value=10**9), st.integers(min_value=1, max_value=10**9))
def test_absurd_numbers_do_not_lead_far_astray(characters: int, tokens: int) -> None:
    learned = TokenEstimate().update(characters, tokens)
    assert 0.5 <= learned.characters_per_token <= 8
    assert learned.tokens(learned.characters(tokens)) <= tokens + 1
