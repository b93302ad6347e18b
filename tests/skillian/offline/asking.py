"""Asks the planner the questions of a file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.skillian.offline.catalogues import CATALOGUES, before

from skillian.offline.planner import OfflinePlanner
from tinyagent import Message
from tinyagent.core import ModelRequest

QUESTIONS = Path(__file__).parent / "questions"


@dataclass(frozen=True)
class Question:
    """A question, and the call that answers it; without one it cannot be answered."""

    catalogue: str
    ask: str
    kind: str = "paraphrased"
    after: str = ""
    call: str = ""
    args: dict[str, Any] = field(default_factory=dict[str, Any])


def questions(name: str) -> list[Question]:
    """The questions of one file."""
    with (QUESTIONS / f"{name}.toml").open("rb") as file:
        return [Question(**each) for each in tomllib.load(file)["question"]]


async def asked(question: Question) -> tuple[str, dict[str, Any]]:
    """The call that the planner makes; ("", {}) where it says that it does not understand."""
    planner = OfflinePlanner(CATALOGUES[question.catalogue])
    messages = [*before(question.catalogue, question.after), Message("user", question.ask)]
    response = await planner.complete(ModelRequest(messages))
    if not response.tool_calls:
        assert response.content
        assert "You can ask" in response.content
        return "", {}
    return response.tool_calls[0].name, json.loads(response.tool_calls[0].arguments)
