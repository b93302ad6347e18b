from __future__ import annotations

from typing import Any

from skillian.chat.export import session_markdown


def exported(*messages: dict[str, Any]) -> dict[str, Any]:
    session = {"id": "0" * 32, "title": "A *b*", "created": "2026-01-01", "updated": "2026-01-02"}
    return {"session": session, "messages": list(messages)}


def test_a_session_reads_from_top_to_bottom() -> None:
    call = {"id": "1", "name": "look", "arguments": {"a": 1}}
    text = session_markdown(
        exported(
            {"role": "user", "content": "Why?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": '{"ä":1}', "tool_call_id": "1"},
            {"role": "assistant", "content": "So.", "broken": True},
        )
    )
    places = [
        text.index(part)
        for part in (
            "# A \\*b\\*\n",
            "## You\n\n```text\nWhy?\n```",
            'Call of look:\n\n```json\n{\n  "a": 1\n}\n```',
            'Result:\n\n```json\n{\n  "ä": 1\n}\n```',
            "## Assistant (broken off)\n\n```text\nSo.\n```",
        )
    ]
    assert places == sorted(places)


def test_a_message_cannot_leave_its_fence() -> None:
    said = "```\n# Not a heading\n`````\n[link](http://example.com)"
    text = session_markdown(exported({"role": "user", "content": said}))
    assert f"``````text\n{said}\n``````" in text
