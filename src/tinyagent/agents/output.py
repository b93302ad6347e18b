"""An answer read as the type that the caller wants."""

from __future__ import annotations

import json
from typing import Any, Generic, TypeVar

from tinyagent.core.errors import ConfigurationError, MalformedReply
from tinyagent.tools.parameters import describe_faults, tidy_schema

T = TypeVar("T")


class OutputReader(Generic[T]):
    """Reads answers as `output_type`.

    Args:
        output_type: Any type that Pydantic can read.
        by_call: Whether the answer is a value that is passed to a function, instead of JSON text.

    Attributes:
        schema: JSON Schema of the type.
        instruction: Describes the type to the model.

    Raises:
        ConfigurationError: No JSON can be read as this type.
    """

    def __init__(self, output_type: type[T], *, by_call: bool = False) -> None:
        from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415 - see `import tinyagent`

        try:
            self._adapter = TypeAdapter(output_type)
            self.schema: dict[str, Any] = tidy_schema(self._adapter.json_schema())
        except PydanticUserError as error:
            raise ConfigurationError(
                f"output_type {output_type!r} cannot be described as JSON"
                f" ({str(error).splitlines()[0]})"
            ) from None
        self._by_call = by_call
        what = "The value passed to final_answer must match"
        if not by_call:
            what = "Your answer must be JSON that matches"
        self.instruction = f"{what} this JSON Schema: {json.dumps(self.schema)}"

    def read(self, answer: Any) -> T:
        """The answer in its type.

        Raises:
            MalformedReply: It does not fit; the message says where, for the model.
        """
        from pydantic import ValidationError  # noqa: PLC0415 - see `import tinyagent`

        try:
            if self._by_call:
                return self._adapter.validate_python(answer)
            return self._adapter.validate_json(_without_fence(answer))
        except ValidationError as error:
            raise MalformedReply(
                f"Your answer does not match the required type:\n{describe_faults(error)}\n"
                f"{self.instruction}"
            ) from None


def output_reader(output_type: type[T] | None, *, by_call: bool) -> OutputReader[T] | None:
    """The reader for `output_type`; None for text, which is taken as it is."""
    if output_type is None or output_type is str:
        return None
    return OutputReader(output_type, by_call=by_call)


def _without_fence(text: str) -> str:
    """The JSON inside a Markdown fence, where the whole answer is one."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        return stripped.removesuffix("```").partition("\n")[2]
    return stripped
