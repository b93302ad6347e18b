from __future__ import annotations

from tinyagent import Message, ToolCall
from tinyagent.core.items import SUMMARY_MARK
from tinyagent.core.turns import group_turns


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
    turns = group_turns(conversation)
    assert [len(turn.messages) for turn in turns] == [1, 1, 3, 1]
    assert [turn.kind for turn in turns] == ["system", "task", "action", "action"]


def test_ids_that_a_server_uses_again_do_not_join_two_turns() -> None:
    turns = group_turns([_calling("0"), _result("0"), _calling("0"), _result("0"), _result("0")])
    assert [len(turn.messages) for turn in turns] == [2, 2, 1]


def test_a_summary_is_a_note() -> None:
    turns = group_turns([Message("user", "go"), Message("user", f"{SUMMARY_MARK}\nseen it all")])
    assert [turn.kind for turn in turns] == ["task", "note"]


def test_what_a_user_says_after_the_current_task_is_a_note() -> None:
    conversation = [
        Message("user", "go"),
        Message("assistant", "gone"),
        Message("user", "go"),
        Message("assistant", "{"),
        Message("user", "that was no answer"),
    ]
    assert [turn.kind for turn in group_turns(conversation)][-1] == "task"
    turns = group_turns(conversation, "go")
    assert [turn.kind for turn in turns] == ["task", "action", "task", "action", "note"]


def test_a_task_that_is_not_there_changes_nothing() -> None:
    conversation = [Message("user", "go"), Message("user", "on")]
    assert group_turns(conversation, "elsewhere") == group_turns(conversation)


def test_a_turn_weighs_what_is_sent_of_it() -> None:
    (turn,) = group_turns([_calling("a"), _result("a", "x" * 50)])
    assert turn.size == len("look") + len('{"at": "a"}') + 50


def test_shortening_cuts_the_results_and_nothing_else() -> None:
    call = _calling("a", "b")
    (turn,) = group_turns([call, _result("a", "x" * 500), _result("b", "short")])
    short = turn.shortened(100)
    assert short.messages[0] == call
    assert short.messages[2] == _result("b", "short")
    assert short.messages[1].tool_call_id == "a"
    assert len(short.messages[1].content) <= 100
    assert "characters are left out here" in short.messages[1].content
    (words,) = group_turns([Message("assistant", "x" * 500)])
    assert words.shortened(100) is words
