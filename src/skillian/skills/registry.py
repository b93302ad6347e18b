"""SkillRegistry: which skills there are, and whose a tool is."""

from __future__ import annotations

from collections.abc import Iterable

from skillian.errors import SkillianError, UnknownNameError
from skillian.skills.skill import Skill, SkillTool


class SkillRegistry:
    """Skills in the order in which they were registered."""

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self._skills: dict[str, Skill] = {}
        self._tool_index: dict[str, str] = {}
        for skill in skills:
            self.register(skill)

    def register(self, skill: Skill) -> None:
        """Add a skill.

        Raises:
            SkillianError: its name or the name of one of its tools is taken; names both skills.
        """
        if skill.name in self._skills:
            raise SkillianError(f"there are two skills called {skill.name!r}")
        for tool in skill.tools:
            owner = self._tool_index.get(tool.name)
            if owner is not None:
                raise SkillianError(
                    f"the tool {tool.name!r} of skill {skill.name!r} is taken by skill {owner!r}"
                )
        self._skills[skill.name] = skill
        self._tool_index |= {tool.name: skill.name for tool in skill.tools}

    def get_all_skills(self) -> tuple[Skill, ...]:
        """All skills."""
        return tuple(self._skills.values())

    def get_all_tools(self) -> tuple[SkillTool, ...]:
        """The tools of all skills."""
        return tuple(tool for skill in self._skills.values() for tool in skill.tools)

    def get_tool(self, name: str) -> SkillTool:
        """The tool of that name.

        Raises:
            UnknownNameError: there is none; it names the nearest.
        """
        owner = self._tool_index.get(name)
        if owner is None:
            raise UnknownNameError("tool", name, self._tool_index)
        return next(tool for tool in self._skills[owner].tools if tool.name == name)

    def system_prompt(self) -> str:
        """The instructions of all skills, each under its name."""
        return "\n\n".join(
            f"# Skill: {skill.name}\n{skill.description}\n\n{skill.instructions}"
            for skill in self._skills.values()
        )
