"""The library: tools that read further in the skills that are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from skillian.errors import UnknownNameError
from skillian.skills.loader import read_text
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import Skill, SkillTool

NAME = "library"
MOST_PASSAGES = 10
PAGE = 8000
"""Characters of a file that are read at a time."""

_SEARCHING = (
    "- `search_knowledge` finds what is written down: what classes and figures mean, what usually"
    " causes a gap. Ask it before you explain a cause, and name the file you take it from."
)
_READING = (
    "- `read_skill` gives a skill's instructions, or a file that they name. Read the instructions"
    " of a skill before you use its tools, where you do not have them yet."
)


class SearchKnowledgeInput(BaseModel):
    """The arguments of `search_knowledge`."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=1000, description="What to look for, in words.")
    limit: int = Field(5, ge=1, le=MOST_PASSAGES, description="Passages at most.")


class ReadSkillInput(BaseModel):
    """The arguments of `read_skill`."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="The skill's name.")
    file: str | None = Field(
        None, description="One of its files; leave out for its instructions and list of files."
    )
    offset: int = Field(0, ge=0, description="Where in the text to start, in characters.")


def make_library(registry: SkillRegistry) -> Skill | None:
    """The skill that reads in the others; None where there is nothing more to read."""
    tools: list[SkillTool] = []
    instructions: list[str] = []
    if any(skill.knowledge for skill in registry.get_all_skills()):
        tools.append(_search_tool(registry))
        instructions.append(_SEARCHING)
    if not registry.is_disclosed or any(skill.files for skill in registry.get_all_skills()):
        tools.append(_read_tool(registry))
        instructions.append(_READING)
    if not tools:
        return None
    about = "Reads further in the skills: their knowledge, instructions and files."
    return Skill(NAME, about, "\n".join(instructions), tuple(tools))


def _search_tool(registry: SkillRegistry) -> SkillTool:
    async def search(asked: SearchKnowledgeInput) -> Mapping[str, Any]:
        return {"passages": registry.search_knowledge(asked.query, asked.limit)}

    return SkillTool(
        "search_knowledge",
        "Search what is written down in the skills. Gives passages with their file and heading.",
        SearchKnowledgeInput,
        search,
        phrases=("search the knowledge for", "what is known about", "what is written about"),
        idempotent=True,
    )


def _read_tool(registry: SkillRegistry) -> SkillTool:
    async def read(asked: ReadSkillInput) -> Mapping[str, Any]:
        skill = _skill(registry, asked.name)
        told: dict[str, Any] = {"skill": skill.name}
        if asked.file is None or skill.folder is None:
            text = skill.instructions
            told["files"] = list(skill.files)
        else:
            text = read_text(skill.folder, asked.file)
            told["file"] = asked.file
        page = text[asked.offset : asked.offset + PAGE]
        end = asked.offset + len(page)
        more = {"next_offset": end} if end < len(text) else {}
        return {**told, "text": page, **more}

    return SkillTool(
        "read_skill",
        "Read a skill's instructions, or one of its files.",
        ReadSkillInput,
        read,
        idempotent=True,
    )


def _skill(registry: SkillRegistry, name: str) -> Skill:
    skills = {skill.name: skill for skill in registry.get_all_skills()}
    if name not in skills:
        raise UnknownNameError("skill", name, skills)
    return skills[name]
