"""SkillRegistry: which skills there are, and whose a tool is."""

from __future__ import annotations

from collections.abc import Iterable

from skillian.errors import SkillianError, UnknownNameError
from skillian.skills.knowledge import Knowledge
from skillian.skills.skill import Holdings, Skill, SkillTool
from tinyagent import Artifact

FEW_SKILLS = 3
SHORT = 8000
"""Characters of instructions that a prompt may hold, of however many skills."""


class SkillRegistry:
    """Skills in the order in which they were registered."""

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self._skills: dict[str, Skill] = {}
        self._tool_index: dict[str, str] = {}
        self._knowledge: Knowledge | None = None
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
        self._knowledge = None
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

    @property
    def is_disclosed(self) -> bool:
        """Whether the system prompt holds all instructions: of few skills, or of short ones."""
        skills = [skill for skill in self._skills.values() if skill.folder is not None]
        return len(skills) <= FEW_SKILLS or sum(len(each.instructions) for each in skills) <= SHORT

    def system_prompt(self) -> str:
        """Each skill under its name, with its instructions.

        Where that is long, skills that come from a folder stand there with their description only:
        `read_skill` gives the rest.
        """
        return "\n\n".join(
            f"# Skill: {skill.name}\n{skill.description}"
            + (f"\n\n{skill.instructions}" if self.is_disclosed or skill.folder is None else "")
            for skill in self._skills.values()
        )

    def search_knowledge(self, query: str, limit: int = 5) -> list[dict[str, str]]:
        """The passages of all skills that fit best: skill, file, heading, text."""
        if self._knowledge is None:
            skills = self._skills.values()
            self._knowledge = Knowledge(each for skill in skills for each in skill.knowledge)
        return [passage.to_dict() for passage in self._knowledge.search(query, limit)]

    def find_artifact(self, name: str) -> Artifact | None:
        """The file that a tool's result named by this id, while it is kept."""
        found = (each.find_artifact(name) for each in self._holdings())
        return next((artifact for artifact in found if artifact is not None), None)

    async def aclose(self) -> None:
        """Close what the tools keep."""
        for each in self._holdings():
            await each.aclose()

    def _holdings(self) -> tuple[Holdings, ...]:
        return tuple(tool.holdings for tool in self.get_all_tools() if tool.holdings is not None)
