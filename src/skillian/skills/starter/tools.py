"""The tools of the skill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from skillian.errors import UnknownNameError
from skillian.skills.skill import SkillTool

TOPICS = {"example": "This is an example."}


class AskInput(BaseModel):
    """The arguments of `ask_starter`."""

    model_config = ConfigDict(extra="forbid")

    topic: str = Field(description="What to look up, for example: example.")


async def ask(asked: AskInput) -> Mapping[str, Any]:
    """What is known of a topic. Raises `UnknownNameError`, which the model reads."""
    if asked.topic not in TOPICS:
        raise UnknownNameError("topic", asked.topic, TOPICS)
    return {"topic": asked.topic, "answer": TOPICS[asked.topic]}


def tools(_services: object) -> list[SkillTool]:
    """The tools; `_services` is what looks into the configured sources."""
    return [
        SkillTool(
            name="ask_starter",
            description="Say what is known of one topic.",
            input_model=AskInput,
            run=ask,
            phrases=("ask starter about",),
        )
    ]
