"""`Tool` and `@tool`: a typed function that a model may call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from tinyagent.core.errors import ToolArgumentsError, ToolDefinitionError
from tinyagent.core.threads import run_in_thread
from tinyagent.tools.docstring import read_docstring
from tinyagent.tools.parameters import Parameters, describe_faults, tidy_schema
from tinyagent.tools.registry import get_registry

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tinyagent.core.context import RunContext

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")

Validate = Callable[[Mapping[str, Any]], dict[str, Any]]


class ToolOptions(TypedDict, total=False):
    """How calls of a tool are made; `Tool` says what each means."""

    requires_approval: bool
    timeout: float | None
    retries: int
    sequential: bool
    idempotent: bool


@dataclass(frozen=True)
class Tool:
    """A function with what a model needs to know to call it.

    Made by `@tool`, `Tool.from_function` or `Tool.from_model`.

    Attributes:
        name: what the model calls it by: letters, digits, underscores, at most 64.
        fn: the function, sync or async.
        doc: what it does, as told to the model.
        json_schema: JSON Schema of its arguments, an object.
        validate: turns a model's arguments into keyword arguments of `fn`;
            raises `ToolArgumentsError` naming each fault.
        context_name: the parameter that is given the run's `RunContext`, if there is one.
        requires_approval: a call waits for a yes (see `Approval`).
        timeout: seconds that a call may take; None leaves that to the run's limits.
        retries: how often a call that failed or ran out of time is made again before the model
            is told. Wrong arguments and `ToolRetry` are the model's to mend, at once.
        sequential: never run beside other calls of the same answer.
        idempotent: a durable run may make a call again that was begun and has no result because
            the process died; of other tools it asks first.
        is_agent: its calls are those of a run of its own.
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
                f"tool {self.name!r}: a name has letters, digits and underscores, starts with no"
                " digit and has at most 64 characters; give one with @tool(name=...)"
            )
        if self.retries < 0:
            raise ToolDefinitionError(
                f"tool {self.name!r}: retries must be 0 or more, got {self.retries}"
            )

    @property
    def description(self) -> str:
        """What the model is told: the docstring without its sections."""
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
        """Make a tool of a typed, documented function; `options` as the attributes.

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
                f"tool {tool_name!r} has no return type hint; write `-> str`, or whatever it gives"
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

        `fn` takes one argument, `arguments`: the validated model. `options` as the attributes.
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
    """Make a function a tool and put it into the registry.

    The function, sync or async, needs type hints on all parameters and the return value, and a
    docstring; what the docstring (Google, NumPy or reST style) says of a parameter goes into its
    schema. Use it as `@tool` or `@tool(name=..., requires_approval=..., timeout=seconds,
    retries=..., sequential=..., idempotent=...)`; `Tool` says what each means.

    Raises:
        ToolDefinitionError: naming the function, what is missing and the mend.
    """

    def decorate(function: Callable[..., Any]) -> Tool:
        return get_registry().add(Tool.from_function(function, name=name, **options))

    return decorate if fn is None else decorate(fn)
