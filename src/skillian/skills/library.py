"""The library: a skill whose tools search and read the other skills."""

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
"""The number of characters of a file that one call returns."""

_SEARCHING = (
    "- `search_knowledge` searches the knowledge of the skills: what classes and figures mean, what"
    " usually causes a gap. Use it before you explain a cause, and name the file you quote."
)
_READING = (
    "- `read_skill` returns a skill's instructions, or a file that they name. Read the instructions"
    " of a skill before you use its tools, if you do not have them yet."
)


class SearchKnowledgeInput(BaseModel):
    """The arguments of `search_knowledge`."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=1000, description="What to look for, in words.")
    limit: int = Field(5, ge=1, le=MOST_PASSAGES, description="The maximum number of passages.")


class ReadSkillInput(BaseModel):
    """The arguments of `read_skill`."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="The skill's name.")
    file: str | None = Field(
        None, description="One of its files; leave out for its instructions and list of files."
    )
    offset: int = Field(0, ge=0, description="Where in the text to start, in characters.")


def make_library(registry: SkillRegistry) -> Skill | None:
    """The library over these skills; None if there is nothing to search or read."""
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
    description = "Searches and reads the skills: their knowledge, instructions and files."
    return Skill(NAME, description, "\n".join(instructions), tuple(tools))


def _search_tool(registry: SkillRegistry) -> SkillTool:
    async def search(arguments: SearchKnowledgeInput) -> Mapping[str, Any]:
        return {"passages": registry.search_knowledge(arguments.query, arguments.limit)}

    return SkillTool(
        "search_knowledge",
        "Search the knowledge of the skills. Returns passages with their file and heading.",
        SearchKnowledgeInput,
        search,
        phrases=("search the knowledge for", "what is known about", "what is written about"),
        idempotent=True,
        sink="free",
        results="trusted",
        is_offered=False,
    )


def _read_tool(registry: SkillRegistry) -> SkillTool:
    async def read(arguments: ReadSkillInput) -> Mapping[str, Any]:
        skill = _skill(registry, arguments.name)
        result: dict[str, Any] = {"skill": skill.name}
        if arguments.file is None or skill.folder is None:
            text = skill.instructions
            result["files"] = list(skill.files)
        else:
            text = read_text(skill.folder, arguments.file)
            result["file"] = arguments.file
        page = text[arguments.offset : arguments.offset + PAGE]
        end = arguments.offset + len(page)
        more = {"next_offset": end} if end < len(text) else {}
        return {**result, "text": page, **more}

    return SkillTool(
        "read_skill",
        "Read a skill's instructions, or one of its files.",
        ReadSkillInput,
        read,
        idempotent=True,
        sink="free",
        results="trusted",
    )


def _skill(registry: SkillRegistry, name: str) -> Skill:
    skills = {skill.name: skill for skill in registry.get_all_skills()}
    if name not in skills:
        raise UnknownNameError("skill", name, skills)
    return skills[name]
