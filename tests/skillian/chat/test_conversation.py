from __future__ import annotations

import json

from skillian.chat.agent import Conversation
from tinyagent import ToolCall


def test_a_conversation_survives_json() -> None:
    conversation = Conversation()
    conversation.add_user("Compare")
    conversation.add_assistant("", [ToolCall("1", "compare_sources", {"source_a": "a"})])
    conversation.add_tool_result('{"summary": {}}', "1")
    conversation.add_assistant("Done.")
    again = Conversation.from_list(json.loads(json.dumps(conversation.to_list())))
    assert again.messages == conversation.messages
    assert [message.role for message in again.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
