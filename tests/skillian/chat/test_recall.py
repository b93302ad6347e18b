from __future__ import annotations

from skillian.chat.agent import Conversation
from skillian.chat.stateless import Recall

SAID = [("user", "Compare"), ("assistant", "3 differ.")]


def conversation(size: int = 1) -> Conversation:
    """The conversation in which that was said."""
    return Conversation.from_list(
        [
            {"role": "system", "content": "You are skillian."},
            {"role": "user", "content": "Compare"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "1", "name": "compare_sources", "arguments": {}}],
            },
            {"role": "tool", "content": "x" * size, "tool_call_id": "1"},
            {"role": "assistant", "content": "3 differ."},
        ]
    )


def roles(conversation: Conversation) -> list[str]:
    return [message.role for message in conversation.messages]


def test_the_texts_find_the_results() -> None:
    recall = Recall()
    recall.remember("me", SAID, conversation())
    found = recall.find("me", [("user", "Compare "), ("assistant", "\n3 differ.")])
    assert roles(found) == ["user", "assistant", "tool", "assistant"]


def test_other_texts_and_other_owners_find_only_the_texts() -> None:
    recall = Recall()
    recall.remember("me", SAID, conversation())
    for owner, said in (("you", SAID), ("me", [("user", "Compare"), ("assistant", "4 differ.")])):
        found = recall.find(owner, said)
        assert [(message.role, message.content) for message in found.messages] == said


def test_it_is_bounded() -> None:
    recall = Recall(max_bytes=3000)
    recall.remember("me", SAID, conversation(4000))
    assert "tool" not in roles(recall.find("me", SAID))
    for number in range(5):
        recall.remember(str(number), SAID, conversation(1000))
    kept = [number for number in range(5) if "tool" in roles(recall.find(str(number), SAID))]
    assert kept == [3, 4]


def test_a_conversation_without_results_is_not_kept() -> None:
    recall = Recall()
    plain = Conversation.from_list([{"role": "user", "content": "Hello"}])
    recall.remember("me", [("user", "Hi")], plain)
    [message] = recall.find("me", [("user", "Hi")]).messages
    assert message.content == "Hi"
