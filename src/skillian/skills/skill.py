"""`Skill` and `SkillTool`: a skill in memory, its tools, and the session that calls them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ValidationError

from skillian.errors import InvalidInputError, ToolError
from skillian.skills.knowledge import Passage
from skillian.skills.schema import compact
from tinyagent import Artifact, Tool
from tinyagent.provenance import Sink

logger = logging.getLogger("skillian")

OWN_WORDS = Sink()
"""Once a value of a source has been read, each argument must be in the user's questions."""


_SESSION: ContextVar[str] = ContextVar("skillian_session", default="")


def session_id() -> str:
    """The session of the current tool call; empty for a call without a session."""
    return _SESSION.get()


@contextmanager
def in_session(name: str) -> Generator[None, None, None]:
    """Make this the session of all calls in the block, and of the tasks that they start.

    Do not yield out of the block: the caller of a generator would be in the session too.
    """
    token = _SESSION.set(name)
    try:
        yield
    finally:
        _SESSION.reset(token)


class ToolState(Protocol):
    """What a tool keeps from call to call; it is closed with the skills."""

    def find_artifact(self, name: str) -> Artifact | None:
        """The file with this id in a result of the tool; None if it is no longer available."""
        ...

    async def aclose(self) -> None:
        """Release everything."""
        ...


@dataclass(frozen=True)
class SkillTool:
    """A tool of a skill: its input is a Pydantic model, its result a JSON object.

    Attributes:
        name: The name by which the model calls it.
        description: What it does, for the model.
        input_model: The arguments.
        run: Takes the validated input and returns the result; may raise `ToolError`.
        phrases: Words in a question that ask for this tool. The offline planner, which does not
            read descriptions, calls it by them.
        requires_approval: Whether a call waits for a person's approval; if nobody can be asked, it
            is denied.
        state: What the tool keeps from call to call.
        idempotent: Whether a call may be repeated if its process died while it ran; otherwise the
            model reads that the result is unknown. Matters only for durable turns.
        sink: What its arguments may be made of once the model has read values of a source, which
            may contain instructions; a call that breaks a rule is put to a person. `"free"` for a
            tool that changes nothing and sends nothing.
        results: `"trusted"` if no stranger can write what it returns.
        is_offered: Whether a language model reads what it is; otherwise only direct calls, the
            API and the planner without a model make use of it.
    """

    name: str
    description: str
    input_model: type[BaseModel]
    run: Callable[[Any], Awaitable[Mapping[str, Any]]]
    phrases: tuple[str, ...] = ()
    state: ToolState | None = None
    requires_approval: bool = False
    idempotent: bool = False
    sink: Sink | Literal["free"] = OWN_WORDS
    results: Literal["trusted", "untrusted"] = "untrusted"
    is_offered: bool = True

    async def aexecute(self, /, **arguments: Any) -> dict[str, Any]:
        """Validate the arguments, run the tool, and return its result.

        Raises nothing but a cancellation: a failure is the result
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
            message = f"{self.name} failed; the log of skillian has the reason"
            return {"error": True, "type": "runtime_error", "message": message}

    def as_tool(self) -> Tool:
        """This tool as a tinyagent tool, which takes any arguments: `aexecute` validates them."""

        async def execute(arguments: Mapping[str, Any]) -> dict[str, Any]:
            return await self.aexecute(**arguments)

        return Tool(
            name=self.name,
            fn=execute,
            doc=self.description,
            json_schema=compact(self.input_model.model_json_schema()),
            validate=lambda arguments: {"arguments": dict(arguments)},
            requires_approval=self.requires_approval,
            idempotent=self.idempotent,
            sink=self.sink,
            results=self.results,
            is_offered=self.is_offered,
        )


@dataclass(frozen=True)
class Skill:
    """A skill.

    Attributes:
        name, description, license, compatibility: Its front matter.
        instructions: The text of its `SKILL.md`.
        tools: The tools that its `tools.py` returns.
        knowledge: The passages of its `knowledge/*.md`.
        folder: Its folder; None for a skill made in code.
        files: The files that a model may read, relative to the folder.
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
        """The skill as JSON: its front matter, tools and files, without its path."""
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
        # Of a value that may have several forms, Pydantic adds the form to the path.
        field = ".".join(str(part) for part in fault["loc"] if "[" not in str(part))
        lines.append(f"{field or '(the whole)'}: {fault['msg']}")
    return "; ".join(dict.fromkeys(lines))
