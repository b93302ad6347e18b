from __future__ import annotations

from tinyagent import Message, ToolCall
from tinyagent.memory.items import SUMMARY_MARK, group_messages


def _calling(*ids: str) -> Message:
    return Message("assistant", "", tuple(ToolCall(i, "look", {"at": i}) for i in ids))


def _result(call_id: str, text: str = "seen") -> Message:
    return Message("tool", text, (), call_id)


def test_parallel_calls_and_their_results_are_one_turn() -> None:
    conversation = [
        Message("system", "be brief"),
        Message("user", "go"),
        _calling("a", "b"),
        _result("b"),
        _result("a"),
        Message("assistant", "done"),
    ]
    groups = group_messages(conversation)
    assert [len(group.messages) for group in groups] == [1, 1, 3, 1]
    assert [group.kind for group in groups] == ["system", "task", "action", "action"]


def test_ids_that_a_server_uses_again_do_not_join_two_turns() -> None:
    groups = group_messages(
        [_calling("0"), _result("0"), _calling("0"), _result("0"), _result("0")]
    )
    assert [len(group.messages) for group in groups] == [2, 2, 1]


def test_a_summary_is_a_note() -> None:
    groups = group_messages(
        [Message("user", "go"), Message("user", f"{SUMMARY_MARK}\nseen it all")]
    )
    assert [group.kind for group in groups] == ["task", "note"]


def test_what_a_user_says_after_the_current_task_is_a_note() -> None:
    conversation = [
        Message("user", "go"),
        Message("assistant", "gone"),
        Message("user", "go"),
        Message("assistant", "{"),
        Message("user", "that was no answer"),
    ]
    assert [group.kind for group in group_messages(conversation)][-1] == "task"
    groups = group_messages(conversation, "go")
    assert [group.kind for group in groups] == ["task", "action", "task", "action", "note"]


def test_a_task_that_is_not_there_changes_nothing() -> None:
    conversation = [Message("user", "go"), Message("user", "on")]
    assert group_messages(conversation, "elsewhere") == group_messages(conversation)


def test_a_turn_weighs_what_is_sent_of_it() -> None:
    (group,) = group_messages([_calling("a"), _result("a", "x" * 50)])
    assert group.size == len("look") + len('{"at": "a"}') + 50


def test_shortening_cuts_the_results_and_nothing_else() -> None:
    call = _calling("a", "b")
    (group,) = group_messages([call, _result("a", "x" * 500), _result("b", "short")])
    short = group.shortened(100)
    assert short.messages[0] == call
    assert short.messages[2] == _result("b", "short")
    assert short.messages[1].tool_call_id == "a"
    assert len(short.messages[1].content) <= 100
    assert "characters are left out here" in short.messages[1].content
    (words,) = group_messages([Message("assistant", "x" * 500)])
    assert words.shortened(100) is words
