"""`Tool` and `@tool`: a typed function that a model may call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from tinyagent.core.errors import ToolArgumentsError, ToolDefinitionError
from tinyagent.core.threads import run_in_thread
from tinyagent.tools.parameters import (
    Parameters,
    describe_faults,
    read_docstring,
    tidy_schema,
)
from tinyagent.tools.registry import get_registry

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tinyagent.core.context import RunContext

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")

Validate = Callable[[Mapping[str, Any]], dict[str, Any]]


class ToolOptions(TypedDict, total=False):
    """How a tool is called; see `Tool` for each option."""

    requires_approval: bool
    timeout: float | None
    retries: int
    sequential: bool
    idempotent: bool


@dataclass(frozen=True)
class Tool:
    """A function with what a model needs to know to call it.

    Create it with `@tool`, `Tool.from_function` or `Tool.from_model`.

    Attributes:
        name: the name in calls: letters, digits and underscores, at most 64 characters.
        fn: the function, sync or async.
        doc: what it does, for the model.
        json_schema: JSON Schema of its arguments, an object.
        validate: turns a model's arguments into keyword arguments of `fn`;
            raises `ToolArgumentsError` naming each fault.
        context_name: the parameter that receives the run's `RunContext`, if any.
        requires_approval: a call waits for approval (see `Approval`).
        timeout: seconds that a call may take; None leaves that to the run's limits.
        retries: how often a call that failed or timed out is repeated before the model sees the
            error. Wrong arguments and `ToolRetry` go to the model at once.
        sequential: never run concurrently with other calls of the same answer.
        idempotent: a durable run may repeat a call whose result was lost when the process died;
            for other tools it asks first.
        is_agent: each call is a run of another agent.
    """

    name: str
    fn: Callable[..., Any]
    doc: str
    json_schema: Mapping[str, Any]
    validate: Validate = field(repr=False)
    context_name: str | None = None
    requires_approval: bool = False
    timeout: float | None = None
    retries: int = 0
    sequential: bool = False
    idempotent: bool = False
    is_agent: bool = False

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
            ToolArgumentsError: the arguments do not fit.
            Exception: whatever the function raises.
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
    def from_function(
        cls, fn: Callable[..., Any], *, name: str | None = None, **options: Unpack[ToolOptions]
    ) -> Tool:
        """Make a tool from a typed, documented function; `options` are the attributes.

        Raises:
            ToolDefinitionError: a hint or the docstring is missing, or a type has no JSON form.
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
        parameters = Parameters(fn, tool_name, descriptions)
        return cls(
            name=tool_name,
            fn=fn,
            doc=doc,
            json_schema=parameters.json_schema,
            validate=parameters.validate,
            context_name=parameters.context_name,
            **options,
        )

    @classmethod
    def from_model(
        cls,
        model: type[BaseModel],
        fn: Callable[[Any], Any],
        *,
        name: str,
        doc: str,
        **options: Unpack[ToolOptions],
    ) -> Tool:
        """Make a tool whose arguments are the fields of a Pydantic model.

        `fn` takes one argument, `arguments`: the validated model. `options` are the attributes.
        """
        from pydantic import ValidationError  # noqa: PLC0415 - see `import tinyagent`

        def validate(arguments: Mapping[str, Any]) -> dict[str, Any]:
            try:
                return {"arguments": model.model_validate(dict(arguments))}
            except ValidationError as error:
                raise ToolArgumentsError(describe_faults(error)) from None

        schema = tidy_schema(model.model_json_schema())
        return cls(name, fn, doc, schema, validate, **options)


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, name: str | None = None, **options: Unpack[ToolOptions]
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    **options: Unpack[ToolOptions],
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool from a function and add it to the registry.

    The function, sync or async, needs type hints on all parameters and the return value, and a
    docstring; the descriptions of parameters (Google, NumPy or reST style) become part of the
    schema. Use it as `@tool` or `@tool(name=..., requires_approval=..., timeout=seconds,
    retries=..., sequential=..., idempotent=...)`; `Tool` says what each means.

    Raises:
        ToolDefinitionError: it names the function, what is missing and the fix.
    """

    def decorate(function: Callable[..., Any]) -> Tool:
        return get_registry().add(Tool.from_function(function, name=name, **options))

    return decorate if fn is None else decorate(fn)


def collect_tools(items: Iterable[Tool | Callable[..., Any]]) -> dict[str, Tool]:
    """The tools by name, in order.

    Raises:
        ToolDefinitionError: an item is not a tool, or two tools share a name.
    """
    tools: dict[str, Tool] = {}
    for item in items:
        collected = _as_tool(item)
        if collected.name in tools:
            raise ToolDefinitionError(
                f"two tools are called {collected.name!r}; rename one with @tool(name=...)"
            )
        tools[collected.name] = collected
    return tools


def _as_tool(item: object) -> Tool:
    if isinstance(item, Tool):
        return item
    if inspect.isfunction(item) or inspect.ismethod(item):
        return Tool.from_function(item)
    raise ToolDefinitionError(
        f"{item!r} is not a tool; give a function with type hints and a docstring, or a Tool"
    )
