"""Skill folders for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

TOOLS = """
from pydantic import BaseModel
from skillian.skills.skill import SkillTool

class Input(BaseModel):
    pass

async def run(asked):
    return {"said": "it"}

def tools(services):
    return [SkillTool("TOOL", "Do it.", Input, run)]
"""


def make_skill(parent: Path, name: str, files: Mapping[str, str] | None = None) -> Path:
    """Write a skill folder with the instructions `Use NAME.` and these files."""
    folder = parent / name
    folder.mkdir(parents=True)
    front = f"---\nname: {name}\ndescription: About {name}.\n---\n\nUse {name}.\n"
    for file, text in {"SKILL.md": front, **(files or {})}.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
