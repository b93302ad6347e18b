"""`Skill` and `SkillTool`: what a skill folder becomes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from skillian.errors import InvalidInputError, ToolError
from skillian.skills.knowledge import Passage
from tinyagent import Artifact, Tool

logger = logging.getLogger("skillian")


class Holdings(Protocol):
    """What a tool keeps from call to call; it is closed with the skills."""

    def find_artifact(self, name: str) -> Artifact | None:
        """The file that a result of the tool names by this id, while it is kept."""
        ...

    async def aclose(self) -> None:
        """Give everything back."""
        ...


@dataclass(frozen=True)
class SkillTool:
    """A tool of a skill: its input is a Pydantic model, its result a JSON object.

    Attributes:
        name: what the model calls it by.
        description: what it does, as told to the model.
        input_model: the arguments.
        run: takes the validated input and gives the result; may raise `ToolError`.
        phrases: words of a question that plainly ask for this tool: the offline planner, which
            reads no descriptions, calls it by them.
        requires_approval: a call waits until a person says yes; where there is nobody, it is no.
        holdings: what it keeps from call to call.
        idempotent: a call that was begun, and whose process died, may be made again; else the model
            is told that nobody knows what came of it. Matters where turns are durable.
    """

    name: str
    description: str
    input_model: type[BaseModel]
    run: Callable[[Any], Awaitable[Mapping[str, Any]]]
    phrases: tuple[str, ...] = ()
    holdings: Holdings | None = None
    requires_approval: bool = False
    idempotent: bool = False

    async def aexecute(self, /, **arguments: Any) -> dict[str, Any]:
        """Validate the arguments, run the tool and give its result.

        Nothing is raised but a cancellation: a failure comes back as
        `{"error": true, "type": ..., "message": ...}`, without traces or connection strings.
        """
        try:
            return dict(await self.run(self.input_model.model_validate(arguments)))
        except ValidationError as error:
            return InvalidInputError(_faults(error)).to_dict()
        except ToolError as error:
            return error.to_dict()
        except Exception:
            logger.exception("tool %s failed", self.name)
            message = f"{self.name} failed; the reason is in the log of skillian"
            return {"error": True, "type": "runtime_error", "message": message}

    def as_tool(self) -> Tool:
        """The same as a tinyagent tool.

        It takes any arguments: what is wrong with them is for `aexecute` to say, in its own form.
        """

        async def execute(arguments: Mapping[str, Any]) -> dict[str, Any]:
            return await self.aexecute(**arguments)

        return Tool(
            name=self.name,
            fn=execute,
            doc=self.description,
            json_schema=self.input_model.model_json_schema(),
            validate=lambda arguments: {"arguments": dict(arguments)},
            requires_approval=self.requires_approval,
            idempotent=self.idempotent,
        )


@dataclass(frozen=True)
class Skill:
    """What a skill folder holds.

    Attributes:
        name, description, license, compatibility: as its front matter says.
        instructions: the text of its `SKILL.md`.
        tools: what its `tools.py` makes.
        knowledge: the passages of its `knowledge/*.md`.
        folder: where it lies; None for a skill made in code.
        files: what a model may read of it, relative to the folder.
    """

    name: str
    description: str
    instructions: str
    tools: tuple[SkillTool, ...] = ()
    license: str | None = None
    compatibility: str | None = None
    knowledge: tuple[Passage, ...] = ()
    folder: Path | None = None
    files: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The skill for JSON: what it says of itself, its tools and files; no path."""
        return {
            "name": self.name,
            "description": self.description,
            "license": self.license,
            "compatibility": self.compatibility,
            "tools": [{"name": each.name, "description": each.description} for each in self.tools],
            "files": list(self.files),
        }


def _faults(error: ValidationError) -> str:
    lines: list[str] = []
    for fault in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in fault["loc"]) or "(the whole)"
        lines.append(f"{where}: {fault['msg']}")
    return "; ".join(lines)
