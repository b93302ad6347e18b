"""Run these tests with `pytest`; they load the folder the same way as skillian."""

from __future__ import annotations

import asyncio
from pathlib import Path

from skillian.skills.loader import load_skill

SKILL = load_skill(Path(__file__).parents[1], None)


def test_the_tool_answers() -> None:
    result = asyncio.run(SKILL.tools[0].aexecute(topic="example"))
    assert result == {"topic": "example", "answer": "This is an example."}


def test_an_unknown_topic_is_an_error_that_a_model_can_read() -> None:
    result = asyncio.run(SKILL.tools[0].aexecute(topic="exampel"))
    assert (result["type"], result["available_topics"]) == ("not_found", ["example"])
