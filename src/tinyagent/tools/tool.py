"""`Tool`, a typed function that a model may call, and a call of it from arguments to result.

`call_tool` is the place where a tool's failure becomes an observation.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, cast

from tinyagent.core.errors import (
    ModelMayRetry,
    RunEnded,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolRetry,
)
from tinyagent.core.logs import logger
from tinyagent.core.messages import ToolCall
from tinyagent.core.parts import ContentPart, Document, Image, Text
from tinyagent.core.provenance import Hints, Sink, Trust
from tinyagent.core.provenance.rules import Items
from tinyagent.core.threads import run_in_thread
from tinyagent.core.types import ToolResult
from tinyagent.options import checks_options
from tinyagent.tools.parameters import describe_faults, read_docstring, read_parameters
from tinyagent.tools.signature import python_signature

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tinyagent.core.context import RunContext

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")


class ToolOptions(TypedDict, total=False):
    """How a tool is called; see `Tool` for each option."""

    requires_approval: bool
    timeout: float | None
    retries: int
    sequential: bool
    idempotent: bool
    results: Trust
    sink: Sink | Literal["free"] | None
    hints: Hints


@dataclass(frozen=True)
class Tool:
    """A function with what a model needs to know to call it.

    Create it with `@tool` or `Tool.from_function`.

    Attributes:
        name: The name in calls: letters, digits and underscores, at most 64 characters.
        fn: The function, sync or async.
        doc: What it does, for the model.
        json_schema: JSON Schema of its arguments, an object.
        validate: Turns a model's arguments into keyword arguments of `fn`;
            raises `ToolArgumentsError` naming each fault.
        context_name: The parameter that receives the run's `RunContext`, if any.
        deps_type: The type of `context.deps` that it needs; None if it needs none.
        requires_approval: A call waits for approval (see `Approval`).
        timeout: Seconds that a call may take; None leaves that to the run's limits.
        retries: How often a call that failed or timed out is repeated before the model sees the
            error. Wrong arguments and `ToolRetry` go to the model at once.
        sequential: Never run concurrently with other calls of the same answer.
        idempotent: A durable run may repeat a call whose result was lost when the process died;
            for other tools it asks first.
        results: For a `Provenance`: whether its results are trusted, `Items` if a field says who
            wrote each item of them, or a function from a result to its label. They are not trusted
            unless this says so.
        sink: For a `Provenance`: what must hold for its arguments; `"free"` for a tool that changes
            nothing and sends nothing.
        is_agent: Each call is a run of another agent.
        described_by: The source of its name, description and schema, which models read; empty for
            the operator.
        returns: The type of its results, whose declared fields a sealed agent may tell apart.
        is_offered: Whether a `ReactAgent` describes it to its model; a call of one that is not
            described is run all the same.
        hints: What the draft of a policy assumes of it: `{"read_only": True}`, and so on.
    """

    name: str
    fn: Callable[..., Any]
    doc: str
    json_schema: Mapping[str, Any]
    validate: Callable[[Mapping[str, Any]], dict[str, Any]] = field(repr=False)
    context_name: str | None = None
    deps_type: Any = None
    requires_approval: bool = False
    timeout: float | None = None
    retries: int = 0
    sequential: bool = False
    idempotent: bool = False
    results: Trust = "untrusted"
    sink: Sink | Literal["free"] | None = None
    is_agent: bool = False
    described_by: str = ""
    returns: Any = None
    is_offered: bool = True
    hints: Hints = field(default_factory=Hints)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ToolDefinitionError(
                f"tool {self.name!r}: a name has letters, digits and underscores, does not"
                " start with a digit and has at most 64 characters; set one with @tool(name=...)"
            )
        if self.retries < 0:
            raise ToolDefinitionError(
                f"tool {self.name!r}: retries must be 0 or more, got {self.retries}"
            )
        if self.timeout is not None and not self.timeout > 0:
            raise ToolDefinitionError(
                f"tool {self.name!r}: timeout must be more than 0, got {self.timeout}"
            )
        is_known = isinstance(self.results, Items) or callable(self.results)
        if not (is_known or self.results in {"trusted", "untrusted"}):
            raise ToolDefinitionError(
                f"tool {self.name!r}: results must be 'trusted', 'untrusted', Items or a function"
            )
        if not (self.sink is None or self.sink == "free" or isinstance(self.sink, Sink)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ToolDefinitionError(f"tool {self.name!r}: sink must be 'free' or a Sink")

    @property
    def description(self) -> str:
        """The description for the model: the docstring without its sections."""
        return self.doc

    @property
    def is_async(self) -> bool:
        """Whether `fn` is awaited; a sync one runs in a thread."""
        return inspect.iscoroutinefunction(self.fn) or inspect.iscoroutinefunction(
            getattr(self.fn, "__call__", None)  # noqa: B004 - a callable object may be async
        )

    async def run(self, arguments: Mapping[str, Any], context: RunContext | None = None) -> Any:
        """Validate `arguments`, call the function and return what it returns.

        Raises:
            ToolArgumentsError: The arguments do not fit.
            Exception: Whatever the function raises.
        """
        kwargs = self.validate(arguments)
        if self.context_name is not None:
            kwargs[self.context_name] = context
        if self.is_async:
            return await self.fn(**kwargs)
        return await run_in_thread(self.fn, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it had not been decorated."""
        return self.fn(*args, **kwargs)

    @classmethod
    @checks_options(ToolOptions)
    def from_function(
        cls, fn: Callable[..., Any], *, name: str | None = None, **options: Unpack[ToolOptions]
    ) -> Tool:
        """Make a tool from a typed, documented function; `options` are the attributes.

        Raises:
            ToolDefinitionError: A hint or the docstring is missing, or a type has no JSON form.
        """
        tool_name = str(name or getattr(fn, "__name__", type(fn).__name__))
        doc, descriptions = read_docstring(fn)
        if not doc:
            raise ToolDefinitionError(
                f"tool {tool_name!r} has no docstring; the model needs one line that says"
                " what it does"
            )
        if inspect.signature(fn).return_annotation is inspect.Signature.empty:
            raise ToolDefinitionError(
                f"tool {tool_name!r} has no return type hint; write `-> str`, or its type"
            )
        parameters = read_parameters(fn, tool_name, descriptions)
        return cls(
            name=tool_name,
            fn=fn,
            doc=doc,
            json_schema=parameters.json_schema,
            validate=_validator(parameters.model, parameters.names),
            context_name=parameters.context_name,
            deps_type=parameters.deps_type,
            returns=parameters.returns,
            **options,
        )


def _validator(
    model: type[BaseModel], names: Mapping[str, str]
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """`Tool.validate` by a Pydantic model, whose fields are named otherwise than the parameters."""
    from pydantic import ValidationError  # noqa: PLC0415 - see `import tinyagent`

    def validate(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            read = model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolArgumentsError(describe_faults(error)) from None
        return {name: getattr(read, field) for field, name in names.items()}

    return validate


class _ToolTimedOut(Exception):
    """The tool's own `timeout` has expired, not one inside the tool."""


class _Value(NamedTuple):
    """What a tool returned, and the text that the model reads."""

    text: str
    raw: Any
    parts: tuple[ContentPart, ...] = ()


_NOTHING = _Value("", None)


async def call_tool(tools: Mapping[str, Tool], call: ToolCall, context: RunContext) -> ToolResult:
    """Run one call. Any failure becomes a result that the model can read.

    The host's traceback goes to the log, never into the result. Only the end of the run and a
    cancellation are raised.
    """
    started = time.monotonic()
    result = await _attempt(tools, call, context)
    return replace(result, duration_seconds=time.monotonic() - started)


async def _attempt(tools: Mapping[str, Tool], call: ToolCall, context: RunContext) -> ToolResult:
    tool = tools.get(call.name)
    if tool is None:
        return ToolResult(call, f"Error: {unknown_tool(call.name, tools)}", is_error=True)
    if call.fault is not None:
        return not_run(call)
    error: BaseException | None = None
    for _ in range(1 + tool.retries):
        value, error = await _run_once(tool, call, context)
        if error is None:
            return ToolResult(call, value.text, value=value.raw, parts=value.parts)
        if isinstance(error, ModelMayRetry):
            break
    raised = error if isinstance(error, Exception) else None
    text = _explain(tool, error, with_traceback=not context.is_sealed)
    return ToolResult(call, text, is_error=True, error=raised)


async def _run_once(
    tool: Tool, call: ToolCall, context: RunContext
) -> tuple[_Value, BaseException | None]:
    """The value that the tool returned, or the error that it raised."""
    deadline = asyncio.timeout(tool.timeout)
    try:
        async with deadline:
            raw = await tool.run(call.arguments, context)
            return _read_value(raw), None
    except asyncio.CancelledError as error:
        if _is_being_cancelled():
            raise
        return _NOTHING, error
    except (Exception, SystemExit) as error:  # a tool may fail in any way
        if isinstance(error, RunEnded) and error.result is None:
            raise  # this run ends; an error with a result is the end of a run that the tool started
        return _NOTHING, _ToolTimedOut() if deadline.expired() else error


def _explain(tool: Tool, error: BaseException | None, *, with_traceback: bool) -> str:
    """The text of an error for the model; the host's traceback stays in the log."""
    if isinstance(error, ToolRetry):
        return f"Try again: {error}"
    if isinstance(error, ToolArgumentsError):
        return wrong_arguments(tool, error)
    if isinstance(error, _ToolTimedOut):
        return f"Error: {tool.name} did not finish within {tool.timeout:g} s"
    if isinstance(error, asyncio.CancelledError):
        return f"Error: {tool.name} cancelled itself"
    logger.warning("tool %s failed", tool.name, exc_info=error if with_traceback else None)
    return f"Error: {tool.name} failed: {type(error).__name__}: {error}"


def not_run(call: ToolCall) -> ToolResult:
    """The result of a call that has a fault."""
    text = f"Error: the call to {call.name} was not run: {call.fault}"
    return ToolResult(call, text, is_error=True)


def wrong_arguments(tool: Tool, error: ToolArgumentsError) -> str:
    """The result of a call with wrong arguments: its faults, and how the tool is called."""
    signature = python_signature(tool)
    return f"Error: wrong arguments for {tool.name}:\n{error}\nIt is called as {signature}"


def _is_being_cancelled() -> bool:
    """Whether the run itself is cancelled, rather than a task that the tool started."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _read_value(raw: Any) -> _Value:
    """The value for the model: images and documents unchanged, everything else as text."""
    items = cast("Sequence[Any]", raw) if isinstance(raw, list | tuple) else (raw,)
    if not any(isinstance(item, Image | Document) for item in items):
        return _Value(as_text(raw), raw)
    parts = tuple(item if isinstance(item, ContentPart) else Text(as_text(item)) for item in items)
    return _Value("\n".join(part.describe() for part in parts), raw, parts)


def as_text(value: Any) -> str:
    """A tool's result as text for the model: strings unchanged, everything else as JSON."""
    if isinstance(value, str):
        return value
    from pydantic_core import to_json  # noqa: PLC0415 - see `import tinyagent`

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    return to_json(value, fallback=str, inf_nan_mode="strings").decode()


def plain_text(value: Any) -> str:
    """The value as the text of an answer: a date or a decimal without the quotes of its JSON."""
    try:
        text = as_text(value)
    except ValueError:  # an integer of 5,000 digits has no text
        return f"<{type(value).__name__} too long to write out>"
    if text.startswith('"') and not isinstance(value, str):
        return str(json.loads(text))
    return text


def bind_arguments(
    tool: Tool, args: tuple[Any, ...] | list[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments by name, from a call with positional and keyword arguments.

    Raises:
        ToolArgumentsError: There are too many, or one is passed twice.
    """
    names = list(tool.json_schema.get("properties", ()))
    if len(args) > len(names):
        raise ToolArgumentsError(
            f"{len(args)} arguments by position, at most {len(names)} are taken"
        )
    by_name = dict(zip(names, args, strict=False))
    repeated = sorted(by_name.keys() & kwargs.keys())
    if repeated:
        raise ToolArgumentsError(f"{', '.join(repeated)} is passed both by position and by name")
    return {**by_name, **kwargs}


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """The error message for an unknown tool: similar names first, then all names."""
    names = list(known)
    if not names:
        return f"there is no tool {name!r}; there are no tools at all"
    import difflib  # noqa: PLC0415 - only for a model that gets a name wrong

    near = difflib.get_close_matches(name, names, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ";"
    return f"there is no tool {name!r}{hint} Tools: {', '.join(names)}"


def offered_of(tools: Mapping[str, Tool]) -> tuple[Tool, ...]:
    """The tools that an agent describes to its model."""
    return tuple(tool for tool in tools.values() if tool.is_offered)
