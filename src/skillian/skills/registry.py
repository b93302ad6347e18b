"""SkillRegistry: all skills, and the skill of each tool."""

from __future__ import annotations

from collections.abc import Iterable

from skillian.errors import SkillianError, UnknownNameError
from skillian.skills.knowledge import Knowledge
from skillian.skills.skill import Skill, SkillTool, ToolState
from tinyagent import Artifact

FEW_SKILLS = 3
SHORT = 8000
"""The length of instructions, in characters, that always fits into a prompt."""


class SkillRegistry:
    """The skills, in the order in which they were registered."""

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self._skills: dict[str, Skill] = {}
        self._tool_index: dict[str, str] = {}
        self._knowledge: Knowledge | None = None
        for skill in skills:
            self.register(skill)

    def register(self, skill: Skill) -> None:
        """Add a skill.

        Raises:
            SkillianError: Another skill has its name or a tool of the same name.
        """
        if skill.name in self._skills:
            raise SkillianError(f"there are two skills with the name {skill.name!r}")
        for tool in skill.tools:
            owner = self._tool_index.get(tool.name)
            if owner is not None:
                raise SkillianError(
                    f"the skills {owner!r} and {skill.name!r} both have a tool {tool.name!r}"
                )
        self._skills[skill.name] = skill
        self._knowledge = None
        self._tool_index |= {tool.name: skill.name for tool in skill.tools}

    def get_all_skills(self) -> tuple[Skill, ...]:
        """All skills."""
        return tuple(self._skills.values())

    def get_all_tools(self) -> tuple[SkillTool, ...]:
        """The tools of all skills."""
        return tuple(tool for skill in self._skills.values() for tool in skill.tools)

    def get_tool(self, name: str) -> SkillTool:
        """The tool with this name.

        Raises:
            UnknownNameError: There is none; the error lists the nearest names.
        """
        owner = self._tool_index.get(name)
        if owner is None:
            raise UnknownNameError("tool", name, self._tool_index)
        return next(tool for tool in self._skills[owner].tools if tool.name == name)

    @property
    def is_disclosed(self) -> bool:
        """Whether the system prompt holds all instructions, because they are few or short."""
        skills = [skill for skill in self._skills.values() if skill.folder is not None]
        return len(skills) <= FEW_SKILLS or sum(len(each.instructions) for each in skills) <= SHORT

    def system_prompt(self, *, offered: bool = False) -> str:
        """Each skill with its name, description and instructions.

        Args:
            offered: Leave out the skills whose tools are all not offered to language models, and
                the descriptions of the others, by which a skill is chosen.

        If that is too long, skills from folders have only their description, and the model reads
        the instructions with `read_skill`.
        """
        parts: list[str] = []
        for skill in self._skills.values():
            if offered and skill.tools and not any(tool.is_offered for tool in skill.tools):
                continue
            is_whole = self.is_disclosed or skill.folder is None
            description = [] if offered and is_whole else [skill.description]
            instructions = ["", skill.instructions] if is_whole and skill.instructions else []
            parts.append("\n".join((f"# Skill: {skill.name}", *description, *instructions)))
        return "\n\n".join(parts)

    def search_knowledge(self, query: str, limit: int = 5) -> list[dict[str, str]]:
        """The passages of all skills that match a query best: skill, file, heading, text."""
        if self._knowledge is None:
            skills = self._skills.values()
            self._knowledge = Knowledge(each for skill in skills for each in skill.knowledge)
        return [passage.to_dict() for passage in self._knowledge.search(query, limit)]

    def find_artifact(self, name: str) -> Artifact | None:
        """The file with this id in a tool's result; None if it is no longer available."""
        artifacts = (state.find_artifact(name) for state in self._states())
        return next((artifact for artifact in artifacts if artifact is not None), None)

    async def aclose(self) -> None:
        """Close the state of the tools."""
        for state in self._states():
            await state.aclose()

    def _states(self) -> tuple[ToolState, ...]:
        return tuple(tool.state for tool in self.get_all_tools() if tool.state is not None)
