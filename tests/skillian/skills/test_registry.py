from __future__ import annotations

import pytest
from pydantic import BaseModel

from skillian.errors import SkillianError, UnknownNameError
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import Skill, SkillTool


class Nothing(BaseModel):
    pass


async def _nothing(_: Nothing) -> dict[str, object]:
    return {}


def skill(name: str, *tools: str) -> Skill:
    made = tuple(SkillTool(tool, f"Does {tool}.", Nothing, _nothing) for tool in tools)
    return Skill(name, f"About {name}.", f"How to {name}.", made)


def test_tools_are_found_by_name_over_all_skills() -> None:
    registry = SkillRegistry([skill("one", "a", "b"), skill("two", "c")])
    assert [tool.name for tool in registry.get_all_tools()] == ["a", "b", "c"]
    assert registry.get_tool("c").description == "Does c."
    assert [s.name for s in registry.get_all_skills()] == ["one", "two"]


def test_an_unknown_tool_is_reported_with_the_nearest_names() -> None:
    with pytest.raises(UnknownNameError, match="compare_sources"):
        SkillRegistry([skill("one", "compare_sources")]).get_tool("compare_source")


def test_a_duplicate_tool_name_is_reported_with_both_skills() -> None:
    with pytest.raises(SkillianError, match="'one' and 'two' both have a tool 'a'"):
        SkillRegistry([skill("one", "a"), skill("two", "a")])


def test_a_duplicate_skill_name_is_refused() -> None:
    with pytest.raises(SkillianError, match="two skills with the name 'one'"):
        SkillRegistry([skill("one"), skill("one")])


def test_the_system_prompt_holds_each_skills_instructions() -> None:
    prompt = SkillRegistry([skill("one"), skill("two")]).system_prompt()
    assert "# Skill: one\nAbout one.\n\nHow to one." in prompt
    assert "How to two." in prompt
