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


async def ask(arguments: AskInput) -> Mapping[str, Any]:
    """Look up a topic. The model reads the `UnknownNameError` that this raises."""
    if arguments.topic not in TOPICS:
        raise UnknownNameError("topic", arguments.topic, TOPICS)
    return {"topic": arguments.topic, "answer": TOPICS[arguments.topic]}


def tools(_services: object) -> list[SkillTool]:
    """The tools; `_services` gives access to the configured sources."""
    return [
        SkillTool(
            name="ask_starter",
            description="Return what is known about one topic.",
            input_model=AskInput,
            run=ask,
            phrases=("ask starter about",),
            sink="free",
        )
    ]
