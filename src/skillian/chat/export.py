"""A session as Markdown. Its JSON form is what the store exports."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_SPEAKERS = {"user": "You", "assistant": "Assistant"}


def session_markdown(exported: Mapping[str, Any]) -> str:
    """Write `SessionStore.export` as Markdown.

    Messages and results are fenced, so that nothing in them becomes a heading or a link.
    """
    session = exported["session"]
    parts = [f"# {_plain(session['title'] or 'Session')}"]
    parts.append(f"Session {session['id']}, from {session['created']} to {session['updated']}")
    for message in exported["messages"]:
        parts += _message(message)
    return "\n\n".join(parts) + "\n"


def _message(message: Mapping[str, Any]) -> list[str]:
    if message["role"] == "tool":
        return ["Result:", _fenced(_pretty(message["content"]))]
    parts: list[str] = []
    if message["content"]:
        broken = " (broken off)" if message.get("broken") else ""
        parts.append(f"## {_SPEAKERS.get(message['role'], 'Other')}{broken}")
        parts.append(_fenced(message["content"], "text"))
    for call in message.get("tool_calls", ()):
        parts += [
            f"Call of {_plain(call['name'])}:",
            _fenced(json.dumps(call["arguments"], indent=2)),
        ]
    return parts


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _fenced(text: str, kind: str = "json") -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]()#+!|<>~-])", r"\\\1", text)
