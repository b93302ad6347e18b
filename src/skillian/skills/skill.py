"""`Skill` and `SkillTool`: what a skill folder becomes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from skillian.errors import InvalidInputError, ToolError
from tinyagent import Tool

logger = logging.getLogger("skillian")


@dataclass(frozen=True)
class SkillTool:
    """A tool of a skill: its input is a Pydantic model, its result a JSON object.

    Attributes:
        name: what the model calls it by.
        description: what it does, as told to the model.
        input_model: the arguments.
        run: takes the validated input and gives the result; may raise `ToolError`.
    """

    name: str
    description: str
    input_model: type[BaseModel]
    run: Callable[[Any], Awaitable[Mapping[str, Any]]]

    async def aexecute(self, **arguments: Any) -> dict[str, Any]:
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
        )


@dataclass(frozen=True)
class Skill:
    """What a skill folder holds.

    `instructions` is the text of its `SKILL.md`: the part of the system prompt that is its own.
    """

    name: str
    description: str
    instructions: str
    tools: tuple[SkillTool, ...] = ()


def _faults(error: ValidationError) -> str:
    lines: list[str] = []
    for fault in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in fault["loc"]) or "(the whole)"
        lines.append(f"{where}: {fault['msg']}")
    return "; ".join(lines)
