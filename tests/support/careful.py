"""A skill with a tool that needs approval."""

from __future__ import annotations

from pathlib import Path

SKILL = """\
---
name: careful
description: Posts corrections after approval.
---
Post a correction with `post_correction`.
"""
TOOLS = """\
from pydantic import BaseModel, ConfigDict

from skillian.skills.skill import SkillTool


class Input(BaseModel):
    model_config = ConfigDict(extra="forbid")

    document: str


async def post(arguments: Input) -> dict[str, str]:
    return {"posted": arguments.document}


def tools(_services: object) -> list[SkillTool]:
    text = "Post a correction."
    return [SkillTool("post_correction", text, Input, post, requires_approval=True)]
"""


def write_careful(folder: Path) -> Path:
    """Write the skill; returns the folder for `SKILLIAN_SKILLS`."""
    skill = folder / "skills" / "careful"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL, encoding="utf-8")
    (skill / "tools.py").write_text(TOOLS, encoding="utf-8")
    return skill.parent
